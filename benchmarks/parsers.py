"""Random and hostile action strings through every parser: `python benchmarks/parsers.py [--strings N]`.

Three sorts of string, for every dialect of every GUI vocabulary, every game's semantic actions and the robot's native
ones: valid ones (must be taken), nonsense by construction (must be refused, with a reason), and mutations of valid
ones (either, but what is taken must be valid). Exits with 1 if any parser crashed, took nonsense, refused a valid
string or gave no reason.
"""

from __future__ import annotations

import argparse
import json
import random
import string
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import environments
from agents.coordinates import Coordinates
from agents.dialects import speak
from agents.errors import UnreadableReply
from agents.parsing import read_action
from environments.actions import GuiAction, NativeActions, TypedActions
from environments.errors import EnvironmentsError

FRAME = (640, 480)
CONVENTIONS = ("pixel", "unit", "thousand", "smart-resize")
_POISON = (
    "__import__('os').system('true')", "{{7*7}}", "${jndi:ldap://x}", "'; DROP TABLE step; --", "\x00", "\ud800",
    "../../etc/passwd", "<script>alert(1)</script>", "NaN", "Infinity", "-Infinity", "1e999", "9" * 5000, "[" * 500,
    "{" * 500, "(" * 300, "\u202e", "🐍" * 50, "'" * 99, "\\" * 99, "None", "True", "lambda: 0", "%s%s%n", "\n\n\n",
    "Action: ", "Thought: ", "```", "<|box_start|>",
)  # fmt: skip


class Parser(NamedTuple):
    """One parser, what it takes, and what it must not take."""

    name: str
    read: Callable[[str], Any]
    holds: Callable[[Any], bool]
    """Whether what it returned is a valid action."""
    valid: Callable[[random.Random], str]
    nonsense: Callable[[random.Random], str]


class Tally(NamedTuple):
    """What one parser did."""

    taken: int
    refused: int
    faults: list[str]


def parsers() -> list[Parser]:
    """Every parser there is."""
    return [*_gui(), *_semantic(), _native()]


def try_out(parser: Parser, strings: int, seed: int = 0) -> Tally:
    """Give one parser so many strings."""
    rng = random.Random(f"{parser.name}:{seed}")
    taken = refused = 0
    faults: list[str] = []
    for _ in range(strings):
        sort, text = _draw(parser, rng)
        try:
            result = parser.read(text)
        except UnreadableReply as refusal:
            refused += 1
            if not str(refusal).strip():
                faults.append(f"no reason for the refusal of {text[:200]!r}")
            if sort == "valid":
                faults.append(f"refused {text[:200]!r}: {refusal}")
        except Exception as error:  # noqa: BLE001  a crash of any kind is what is looked for
            faults.append(f"{type(error).__name__} on {text[:200]!r}: {error}")
        else:
            taken += 1
            if sort == "nonsense" or not parser.holds(result):
                faults.append(f"took {text[:200]!r} as {result!r:.200}")
    return Tally(taken, refused, faults)


def _draw(parser: Parser, rng: random.Random) -> tuple[str, str]:
    sort = rng.choices(("valid", "nonsense", "mutation", "noise"), (1, 4, 4, 1))[0]
    if sort == "noise":
        return "mutation", "".join(rng.choices(string.printable + "é日\u200b", k=rng.randrange(200)))
    text = parser.nonsense(rng) if sort == "nonsense" else parser.valid(rng)
    return sort, _mutated(text, rng) if sort == "mutation" else text


def _mutated(text: str, rng: random.Random) -> str:
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        match rng.randrange(5):
            case 0:
                text = text[:at] + rng.choice(_POISON) + text[at:]
            case 1:
                text = text[:at] + text[at + rng.randrange(1, 9) :]
            case 2:
                text = text[:at] + rng.choice(string.printable) + text[at + 1 :]
            case 3:
                text = text[:at]
            case _:
                text = text + text[:at]
    return text


def _object(action: Any, rng: random.Random) -> str:
    """An answer with that action, in one of the forms that models write."""
    answer = json.dumps({"rationale": "because", "action": action})
    return rng.choice((answer, f"```json\n{answer}\n```", f"I think so.\n{answer}", json.dumps(action)))


# -- keyboard and mouse ------------------------------------------------------------------------------------------------


def _gui() -> Iterator[Parser]:
    space = TypedActions(GuiAction)
    for convention in CONVENTIONS:
        for sent in (FRAME, (320, 240)):
            coordinates = Coordinates(FRAME, sent, convention)  # type: ignore[arg-type]
            for dialect, (valid, nonsense) in _VOCABULARIES.items():
                yield Parser(
                    f"{dialect} {convention} {sent[0]}x{sent[1]}",
                    speak(dialect, coordinates).read,  # type: ignore[arg-type]
                    lambda reading: space.contains(reading.action),
                    lambda rng, c=coordinates, v=valid: v(rng, c),
                    lambda rng, c=coordinates, n=nonsense: n(rng, c),
                )


def _inside(rng: random.Random, coordinates: Coordinates) -> tuple[float, float]:
    return coordinates.to_model(rng.randrange(FRAME[0]), rng.randrange(FRAME[1]))


def _outside(rng: random.Random, coordinates: Coordinates) -> tuple[float, float]:
    right, lower = coordinates.extent
    return rng.choice(
        ((-1, 0), (right * 1.01 + 1, 0), (0, lower * 2 + 1), (1e300, 1), (right / 2, -1e-3), (10**400, 1))
    )


def _own_valid(rng: random.Random, c: Coordinates) -> str:
    x, y = _inside(rng, c)
    to_x, to_y = _inside(rng, c)
    action = rng.choice(
        (
            {"verb": "click", "x": x, "y": y, "count": 2},
            {"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y},
            {"verb": "type", "text": "é日🐍"},
            {"verb": "hotkey", "keys": ["ctrl", "a"], "ms": 500},
            {"verb": "scroll", "x": x, "y": y, "clicks": -3},
        )
    )
    return _object(action, rng)


def _own_nonsense(rng: random.Random, c: Coordinates) -> str:
    x, y = _outside(rng, c)
    action = rng.choice(
        (
            {"verb": "click", "x": x, "y": y},
            {"verb": "click", "x": "12", "y": [3]},
            {"verb": "press", "key": rng.choice(_POISON)},
            {"verb": "hold", "key": "up", "ms": rng.choice((-1, 2001, 1e9, "long"))},
            {"verb": rng.choice(("teleport", "", "CLICK", "eval")), "x": 1, "y": 1},
            {"verb": "hotkey", "keys": ["ctrl"] * rng.choice((0, 1, 5))},
            {"verb": "type", "text": ""},
            {"verb": "wait", "ms": 10, "also": 1},
            [],
            {},
        )
    )
    return json.dumps({"rationale": "r", "action": action})


def _openai_valid(rng: random.Random, c: Coordinates) -> str:
    x, y = _inside(rng, c)
    action = rng.choice(
        (
            {"type": "click", "x": x, "y": y, "button": "left"},
            {"type": "double_click", "x": x, "y": y},
            {"type": "drag", "path": [{"x": x, "y": y}, {"x": y if c.extent[0] <= 1 else x, "y": y}]},
            {"type": "keypress", "keys": rng.choice((["ARROWUP"], ["CTRL", "A"], ["ENTER"], ["?"]))},
            {"type": "scroll", "x": x, "y": y, "scroll_x": 0, "scroll_y": 300},
            {"type": "type", "text": "hello"},
            {"type": "wait"},
            {"type": "screenshot"},
        )
    )
    return _object(action, rng)


def _openai_nonsense(rng: random.Random, c: Coordinates) -> str:
    x, y = _outside(rng, c)
    far = c.extent
    action = rng.choice(
        (
            {"type": "click", "x": x, "y": y},
            {"type": "click", "x": 0, "y": 0, "button": "back"},
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 0, "y": far[1] / 2}, {"x": far[0] / 2, "y": 0}]},
            {"type": "drag", "path": [{"x": 0, "y": 0}]},
            {"type": "keypress", "keys": ["HYPERSPACE"]},
            {"type": "keypress", "keys": []},
            {"type": "scroll", "x": 0, "y": 0, "scroll_x": 100, "scroll_y": 0},
            {"type": "exec", "command": "true"},
            {"type": "type"},
        )
    )
    return json.dumps({"rationale": "r", "action": action})


def _anthropic_valid(rng: random.Random, c: Coordinates) -> str:
    place = list(_inside(rng, c))
    action = rng.choice(
        (
            {"action": rng.choice(("left_click", "right_click", "triple_click", "mouse_move")), "coordinate": place},
            {"action": "left_click_drag", "start_coordinate": place, "coordinate": list(_inside(rng, c))},
            {"action": "key", "text": rng.choice(("Up", "ctrl+a", "Return", "Page_Down"))},
            {"action": "hold_key", "text": "Left", "duration": 0.5},
            {"action": "scroll", "coordinate": place, "scroll_direction": "down", "scroll_amount": 3},
            {"action": "wait", "duration": 2},
            {"action": "type", "text": "hello"},
            {"action": "screenshot"},
        )
    )
    return _object(action, rng)


def _anthropic_nonsense(rng: random.Random, c: Coordinates) -> str:
    place = list(_outside(rng, c))
    action = rng.choice(
        (
            {"action": "left_click", "coordinate": place},
            {"action": "left_click"},
            {"action": "left_click", "coordinate": [0, 0], "text": "shift"},
            {"action": "left_click", "coordinate": [0, 0, 0]},
            {"action": "left_mouse_down"},
            {"action": "hold_key", "text": "Left", "duration": rng.choice((-1, 3, 1e9))},
            {"action": "key", "text": "super+l"},
            {"action": "scroll", "coordinate": [0, 0], "scroll_direction": "left", "scroll_amount": 3},
            {"action": "zoom"},
            {"action": "bash", "text": "true"},
        )
    )
    return json.dumps({"rationale": "r", "action": action})


def _tars_valid(rng: random.Random, c: Coordinates) -> str:
    x, y = _inside(rng, c)
    place = rng.choice((f"({x},{y})", f"<|box_start|>({x},{y})<|box_end|>", f"<point>{x} {y}</point>", f"[{x}, {y}]"))
    call = rng.choice(
        (
            f"click(start_box='{place}')",
            f"left_double(point='{place}')",
            f"drag(start_box='{place}', end_box='{place}')",
            "hotkey(key='ctrl c')",
            "hotkey(key='up')",
            "type(content='it\\'s\n')",
            f"scroll(start_box='{place}', direction='down')",
            "wait()",
            "finished(content='done')",
        )
    )
    return rng.choice((f"Thought: I act.\nAction: {call}", f"Action: {call}", call))


def _tars_nonsense(rng: random.Random, c: Coordinates) -> str:
    x, y = _outside(rng, c)
    call = rng.choice(
        (
            f"click(start_box='({x},{y})')",
            "click(start_box='(1)')",
            "click()",
            "click(10, 20)",
            "click(start_box=(1,2))",
            "__import__('os').system('true')",
            "type(content=open('/etc/passwd').read())",
            "type(content='a') or wait()",
            "wait()\n\nwait()",
            "wait(); wait()",
            "hotkey(key='warp')",
            "scroll(direction='left')",
            "[wait() for _ in range(9)]",
            "wait(seconds='5')",
        )
    )
    return f"Thought: I act.\nAction: {call}"


_VOCABULARIES = {
    "arena": (_own_valid, _own_nonsense),
    "openai": (_openai_valid, _openai_nonsense),
    "anthropic": (_anthropic_valid, _anthropic_nonsense),
    "ui-tars": (_tars_valid, _tars_nonsense),
}


# -- games and robots --------------------------------------------------------------------------------------------------


def _semantic() -> Iterator[Parser]:
    for task in environments.tasks():
        try:
            env = environments.make(task.id, "semantic")
        except EnvironmentsError:  # an engine that is not installed, or no such space
            continue
        space = env.action_space
        env.close()
        yield Parser(
            f"{task.id} semantic",
            lambda text, s=space: read_action(text, s)[0],
            space.contains,
            lambda rng, s=space: _sampled(s, rng),
            _strange,
        )


def _sampled(space: Any, rng: random.Random) -> str:
    space.seed(rng.randrange(2**31))
    return _object(space.sample(), rng)


def _strange(rng: random.Random) -> str:
    action = rng.choice(
        ({}, [], [1, 2], "up", 7, None, True, {"no-such-field": 1}, {rng.choice(_POISON): rng.choice(_POISON)}, [[]])
    )
    return json.dumps({"rationale": "r", "action": action})


def _native() -> Parser:
    space = NativeActions()
    bad = (
        [0] * 6, [0] * 8, [2] * 7, ["0"] * 7, [None] * 7, [[0] * 7], {}, "stop", [1e999] * 7, [True] * 7, [10**400] * 7,
    )  # fmt: skip
    return Parser(
        "native",
        lambda text: read_action(text, space)[0],
        space.contains,
        lambda rng: _object([rng.uniform(-1, 1) for _ in range(7)], rng),
        lambda rng: json.dumps({"rationale": "r", "action": rng.choice(bad)}),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strings", type=int, default=100_000, help="strings in all (default: 100000)")
    total = parser.parse_args().strings
    found = parsers()
    share = -(-total // len(found))
    started = time.perf_counter()
    counts: Counter[str] = Counter()
    faults: list[str] = []
    for one in found:
        tally = try_out(one, share)
        counts.update(taken=tally.taken, refused=tally.refused)
        faults += [f"{one.name}: {fault}" for fault in tally.faults]
        print(f"{one.name:34} taken {tally.taken:6} refused {tally.refused:6} faults {len(tally.faults):4}")
    seconds = time.perf_counter() - started
    print(
        f"{share * len(found)} strings, {len(found)} parsers, {counts['taken']} taken, {counts['refused']} refused with"
        f" a reason, {len(faults)} faults, {1e6 * seconds / (share * len(found)):.0f} us a string"
    )
    for fault in faults[:20]:
        print("  " + fault.encode("unicode_escape").decode())
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
