"""How an episode ends for everything that a model's provider can do to it, as a table in Markdown.

    python benchmarks/provider_outcomes.py            # through the openai SDK and through litellm
    python benchmarks/provider_outcomes.py --way openai

Each row is an episode of the maze (snake for `lost`) that the agent `vlm` plays against the fake provider in
`tests/fakes/`, over HTTP, with the real engine, store and leaderboard; nothing is mocked. `tests/arena/` holds the
same table to its expected endings.
"""

from __future__ import annotations

import argparse
import re
import socket
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `tests`, which no package holds

import environments
from arena import run
from arena.experiment import parse
from arena.leaderboard import Row, leaderboard
from arena.location import Location
from arena.outcomes import Outcome
from storage.models import Episode
from storage.store import Store
from tests.fakes.provider import FakeProvider, Seen

Way = Literal["openai", "litellm"]
MAZE, SNAKE, SEED = "games/maze-v1", "games/snake-v1", 0
LIMITS = {"max_steps": 3, "max_bad_in_a_row": 2, "max_illegal_in_a_row": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One behaviour, and the ending that it must lead to."""

    label: str
    outcome: Outcome
    behaviour: str = "ok"
    options: dict[str, Any] = field(default_factory=dict)
    limits: dict[str, Any] = field(default_factory=dict)
    task: str = MAZE
    nobody: bool = False
    """Point the player at a port where nobody listens."""


def _case(label: str, outcome: Outcome, behaviour: str = "ok", **more: Any) -> Case:
    return Case(label=label, outcome=outcome, behaviour=behaviour, **more)


_PROVIDER, _UNPARSABLE, _REFUSED = Outcome.PROVIDER_ERROR, Outcome.UNPARSABLE, Outcome.REFUSED
_ONE_RETRY = {"max_retries": 1}
CASES: tuple[Case, ...] = (
    # The game decides.
    _case("answers, and reaches the goal", Outcome.WON, limits={"max_steps": 60}),
    _case("answers, until the steps run out", Outcome.HORIZON),
    _case("drives into the wall (snake)", Outcome.LOST, 'play:{"turn": "up"}', task=SNAKE, limits={"max_steps": 20}),
    _case("slow answer", Outcome.HORIZON, "slow:0.05"),
    _case("answer as text instead of a tool call", Outcome.HORIZON, "text"),
    _case("usage missing", Outcome.HORIZON, "no-usage"),
    _case("429 with Retry-After, then an answer", Outcome.HORIZON, "429:0-then-ok", options=_ONE_RETRY),
    _case("429 with Retry-After as a date, then an answer", Outcome.HORIZON, "429-date:0-then-ok", options=_ONE_RETRY),
    _case("500, then an answer", Outcome.HORIZON, "500-then-ok", options=_ONE_RETRY, limits={"max_steps": 1}),
    _case("connection dropped, then an answer", Outcome.HORIZON, "drop-then-ok", options=_ONE_RETRY,
          limits={"max_steps": 1}),
    _case("malformed, then an answer", Outcome.HORIZON, "malformed-then-ok"),
    _case("truncated, then an answer", Outcome.HORIZON, "truncated-then-ok"),
    # The reply holds no action.
    _case("malformed JSON", _UNPARSABLE, "malformed"),
    _case("truncated reply", _UNPARSABLE, "truncated"),
    _case("prose without JSON", _UNPARSABLE, "prose"),
    _case("empty reply", _UNPARSABLE, "empty"),
    _case("action that the schema refuses", _UNPARSABLE, "invalid"),
    _case("no action ever, on a short horizon", _UNPARSABLE, "prose", limits={"max_steps": 1}),
    _case("illegal action again and again", Outcome.ILLEGAL, "illegal", limits={"max_steps": 20}),
    _case("refusal", _REFUSED, "refusal"),
    _case("content filter (finish_reason)", _REFUSED, "filter"),
    _case("content filter (HTTP 400)", _REFUSED, "filter-400"),
    _case("refuses ever, on a short horizon", _REFUSED, "refusal", limits={"max_steps": 1}),
    # The provider fails. (`seed` makes players of two rows that differ from a third in nothing but key or port.)
    _case("429 with Retry-After, for ever", _PROVIDER, "429:0", options=_ONE_RETRY),
    _case("429, quota used up", _PROVIDER, "429-quota", options=_ONE_RETRY),
    _case("500, for ever", _PROVIDER, "500"),
    _case("503, for ever", _PROVIDER, "503"),
    _case("400, parameter not supported", _PROVIDER, "400"),
    _case("401, key not accepted", _PROVIDER, "401"),
    _case("key variable not set", _PROVIDER, options={"key_env": "ARENA_KEY_THAT_IS_NOT_SET", "seed": 1}),
    _case("404, no such model", _PROVIDER, "no-such-model"),
    _case("web page instead of JSON", _PROVIDER, "html"),
    _case("half a JSON document", _PROVIDER, "broken-json"),
    _case("JSON that is no chat completion", _PROVIDER, "no-choices"),
    _case("hangs", _PROVIDER, "hang", options={"timeout_s": 0.5}),
    _case("slower than the timeout", _PROVIDER, "slow:20", options={"timeout_s": 0.5}),
    _case("trickles white space", _PROVIDER, "trickle", options={"timeout_s": 0.5}),
    _case("drops the connection", _PROVIDER, "drop"),
    _case("connection refused", _PROVIDER, nobody=True, options={"seed": 2}),
    _case("malformed, then 500 at the repair", _PROVIDER, "malformed-then-500"),
    # A budget of the experiment.
    _case("budget of calls used up", Outcome.LIMIT, limits={"max_calls": 2}),
    _case("budget of tokens used up", Outcome.LIMIT, limits={"max_tokens": 100}),
    _case("budget in dollars, price unknown", Outcome.LIMIT, limits={"max_cost_usd": 1.0}),
    _case("budget in dollars used up", Outcome.LIMIT, limits={"max_cost_usd": 0.01},
          options={"input_price": "1000", "output_price": "1000"}),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What came of a case: its row of the leaderboard, and the episode behind it."""

    case: Case
    row: Row
    episode: Episode


def experiment(cases: Sequence[Case], url: str, way: Way) -> str:
    """The experiment file, in YAML: a block for each case."""
    blocks = [
        {
            "tasks": case.task,
            "agents": [{"name": "vlm", "label": case.label, "options": _options(case, url, way)}],
            "limits": LIMITS | case.limits,
        }
        for case in cases
    ]
    file = {
        "name": f"provider-outcomes-{way}",
        "spaces": "semantic",
        "seeds": [SEED],
        "conditions": "single",
        "blocks": blocks,
    }
    return yaml.safe_dump(file, sort_keys=False)


def play(cases: Sequence[Case], provider: FakeProvider, way: Way, place: Location, store: Store) -> list[Result]:
    """Run the experiment in this process and read its leaderboard."""
    run_id = run.run(parse(experiment(cases, provider.url, way)), store, place, workers=0)
    rows = {row.agent: row for row in leaderboard(store, run_id).rows}
    return [
        Result(case=case, row=rows[case.label], episode=store.episode(rows[case.label].episodes[0])) for case in cases
    ]


def expert_policy(seen: Seen) -> Any:
    """The maze's expert, who knows the way by heart: the turn's number in the prompt is enough."""
    return _way_out()[seen.number(r"This is turn (\d+) of") - 1]


@cache
def _way_out() -> list[Any]:
    env = environments.make(MAZE, "semantic")
    env.reset(seed=SEED)
    moves = []
    while not env.success():
        moves.append(env.expert_action())
        env.step(moves[-1])
    return moves


def _options(case: Case, url: str, way: Way) -> dict[str, Any]:
    prefix = "openai/" if way == "litellm" else ""  # of litellm's names, that of the protocol
    address = f"http://127.0.0.1:{_free_port()}/v1" if case.nobody else url
    where = {"model": f"{prefix}fake/{case.behaviour}", "base_url": address, "backend": way}
    # A timeout that a busy machine does not reach: what is measured is the ending, not the speed.
    return {**where, "max_retries": 0, "timeout_s": 30.0, "history_images": 0, **case.options}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def table(results: dict[Way, list[Result]]) -> str:
    """The results as a table in Markdown."""
    ways = list(results)
    head = ["the provider", *(f"outcome through `{way}`" for way in ways), "scored", "what is told"]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    for number, case in enumerate(CASES):
        found = [results[way][number] for way in ways]
        outcomes = [
            f"`{result.episode.outcome}`" + ("" if result.episode.outcome == case.outcome else " (!)")
            for result in found
        ]
        scored = " / ".join(dict.fromkeys(f"{result.row.scored} of {result.row.planned}" for result in found))
        told = " ".join(found[0].episode.outcome_detail.split()).replace("|", "\\|")
        told = re.sub(r"http://127\.0\.0\.1:\d+", "http://127.0.0.1:PORT", told)
        lines.append(f"| {' | '.join([case.label, *outcomes, scored, told[:110]])} |")
    return "\n".join(lines)


def main() -> None:
    """Play every case and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--way", choices=["openai", "litellm"], action="append", help="default: both")
    ways: list[Way] = parser.parse_args().way or ["openai", "litellm"]
    results: dict[Way, list[Result]] = {}
    with tempfile.TemporaryDirectory() as folder, FakeProvider(policy=expert_policy) as provider:
        place = Location.of(str(Path(folder) / "arena.db"))
        with place.open() as store:
            for way in ways:
                started = time.perf_counter()
                results[way] = play(CASES, provider, way, place, store)
                print(f"{way}: {len(CASES)} episodes in {time.perf_counter() - started:.1f} s", file=sys.stderr)
    print(table(results))
    wrong = [result for found in results.values() for result in found if result.episode.outcome != result.case.outcome]
    sys.exit(f"{len(wrong)} ended otherwise than they should" if wrong else 0)


if __name__ == "__main__":
    main()
