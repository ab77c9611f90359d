"""Each dialect's words become the gestures that they mean, or a refusal that says why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import TypeAdapter

import agents
from agents.agent import Briefing
from agents.coordinates import Coordinates
from agents.dialects import DialectName, Spoken, speak
from agents.errors import UnreadableReply
from agents.gateway.messages import plain_schema
from benchmarks import parsers
from environments import ActionSpace, get
from environments.actions import GuiAction, TypedActions
from environments.actions.sampling import sample_schema
from environments.errors import InvalidAction

PIXELS = Coordinates((640, 480), (640, 480), "pixel")
NAMES: tuple[DialectName, ...] = ("arena", "openai", "anthropic", "ui-tars")


@pytest.mark.parametrize(
    ("dialect", "said", "gesture"),
    [
        ("arena", {"verb": "click", "x": 5, "y": 6}, {"verb": "click", "x": 5, "y": 6, "button": "left", "count": 1}),
        ("openai", {"type": "click", "x": 5, "y": 6, "button": "wheel"}, {"button": "middle", "count": 1}),
        ("openai", {"type": "double_click", "x": 5, "y": 6}, {"verb": "click", "count": 2}),
        (
            "openai",
            {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 50, "y": 51}, {"x": 100, "y": 100}]},
            {"verb": "drag", "x": 0, "y": 0, "to_x": 100, "to_y": 100},
        ),
        ("openai", {"type": "keypress", "keys": ["ARROWUP"]}, {"verb": "press", "key": "up"}),
        ("openai", {"type": "keypress", "keys": ["CTRL", "A"]}, {"verb": "hotkey", "keys": ["ctrl", "a"]}),
        ("openai", {"type": "keypress", "keys": ["?"]}, {"verb": "type", "text": "?"}),
        ("openai", {"type": "keypress", "keys": [" "]}, {"verb": "press", "key": "space"}),
        ("openai", {"type": "scroll", "x": 5, "y": 6, "scroll_y": 320}, {"verb": "scroll", "clicks": -3}),
        ("openai", {"type": "wait"}, {"verb": "wait", "ms": 2000}),
        ("openai", {"type": "click", "x": 5, "y": 6, "keys": None}, {"verb": "click", "x": 5}),
        ("openai", {"type": "drag", "path": [[1, 2], [3, 4]]}, {"verb": "drag", "x": 1, "to_y": 4}),
        ("openai", {"type": "keypress", "keys": ["CTRL+C"]}, {"verb": "hotkey", "keys": ["ctrl", "c"]}),
        ("openai", {"type": "scroll", "x": 5, "y": 6, "scrollX": 0, "scrollY": 300}, {"clicks": -3}),
        ("openai", {"type": "computer_call", "actions": [{"type": "wait"}]}, {"verb": "wait"}),
        ("anthropic", {"action": "key", "text": "Return"}, {"verb": "press", "key": "enter"}),
        ("anthropic", {"action": "key", "text": "+"}, {"verb": "type", "text": "+"}),
        ("anthropic", {"action": "key", "text": "question"}, {"verb": "type", "text": "?"}),
        ("anthropic", {"action": "key", "text": "A"}, {"verb": "hotkey", "keys": ["shift", "a"]}),
        ("anthropic", {"action": "key", "text": "KP_Left"}, {"verb": "press", "key": "left"}),
        ("anthropic", {"action": "key", "text": "Shift_R+Tab"}, {"keys": ["shift", "tab"]}),
        ("anthropic", {"action": "left_click", "coordinate": "(5, 6)"}, {"verb": "click", "x": 5, "y": 6}),
        ("anthropic", {"action": "left_click", "coordinate": "[5,6]", "text": ""}, {"x": 5, "y": 6}),
        ("anthropic", {"action": "key", "text": "ctrl+shift+Page_Down"}, {"keys": ["ctrl", "shift", "pagedown"]}),
        ("anthropic", {"action": "hold_key", "text": "Left", "duration": 0.4}, {"verb": "hold", "ms": 400}),
        ("anthropic", {"action": "hold_key", "text": "Up+Left", "duration": 1}, {"verb": "hotkey", "ms": 1000}),
        ("anthropic", {"action": "triple_click", "coordinate": [5, 6]}, {"verb": "click", "count": 3}),
        (
            "anthropic",
            {"action": "left_click_drag", "start_coordinate": [1, 2], "coordinate": [3, 4]},
            {"verb": "drag", "x": 1, "y": 2, "to_x": 3, "to_y": 4},
        ),
        (
            "anthropic",
            {"action": "scroll", "coordinate": [5, 6], "scroll_direction": "up", "scroll_amount": 2},
            {"verb": "scroll", "clicks": 2},
        ),
        ("ui-tars", "click(start_box='(5,6)')", {"verb": "click", "x": 5, "y": 6}),
        ("ui-tars", "click(point='<point>5 6</point>')", {"verb": "click", "x": 5, "y": 6}),
        ("ui-tars", "click(start_box='<|box_start|>(4,4,6,8)<|box_end|>')", {"x": 5, "y": 6}),
        ("ui-tars", "right_single(start_box='(5,6)')", {"button": "right"}),
        ("ui-tars", "left_double(start_box='(5,6)')", {"count": 2}),
        ("ui-tars", "hotkey(key='ctrl c')", {"verb": "hotkey", "keys": ["ctrl", "c"]}),
        ("ui-tars", "type(content='it\\'s\n')", {"verb": "type", "text": "it's\n"}),
        ("ui-tars", "type(content='it's')", {"verb": "type", "text": "it's"}),
        ("ui-tars", "type(content='\\n')", {"verb": "press", "key": "enter"}),
        ("ui-tars", "hotkey(key='ctrl+c')", {"verb": "hotkey", "keys": ["ctrl", "c"]}),
        ("ui-tars", "press(press='arrowup')", {"verb": "press", "key": "up"}),
        ("ui-tars", "keydown(key='a')", {"verb": "key_down", "key": "a"}),
        ("ui-tars", "hover(start_box='(5,6)')", {"verb": "move", "x": 5, "y": 6}),
        ("ui-tars", "scroll(direction='down')", {"verb": "scroll", "x": 320, "y": 240, "clicks": -5}),
        ("ui-tars", "finished(content='done')", {"verb": "wait", "ms": 0}),
    ],
)
def test_words_become_gestures(dialect: DialectName, said: Any, gesture: dict[str, Any]) -> None:
    made = speak(dialect, PIXELS).parse(said)
    assert made.items() >= gesture.items()


@pytest.mark.parametrize(
    ("dialect", "said", "reason"),
    [
        ("arena", {"verb": "click", "x": 640, "y": 6}, "x: 640 is outside the picture"),
        ("openai", {"type": "click", "x": 1, "y": -1}, "y: -1 is outside the picture"),
        ("openai", {"type": "keypress", "keys": ["ARROWUPP"]}, "did you mean"),
        ("openai", {"type": "drag", "path": [{"x": 0, "y": 0}, {"x": 9, "y": 300}, {"x": 300, "y": 0}]}, "straight"),
        ("openai", {"type": "drag", "path": [[0, 0], [300, 0], [100, 0]]}, "straight"),
        ("openai", {"type": "keypress", "keys": ["LEFT", "LEFT"]}, "once per step"),
        ("openai", {"type": "click", "x": 5, "y": 6, "keys": ["CTRL"]}, "keys"),
        ("openai", {"actions": [{"type": "wait"}, {"type": "wait"}]}, "exactly one action a turn, got 2"),
        ("anthropic", {"action": "key", "text": "Insert"}, "no key 'Insert'; there are letters"),
        ("anthropic", {"action": "key", "text": "Up", "repeat": 5}, "once per step"),
        ("anthropic", {"action": "zoom", "region": [0, 0, 9, 9]}, "zoom is not offered"),
        (
            "anthropic",
            {
                "action": "scroll",
                "coordinate": [1, 2],
                "scroll_direction": "up",
                "scroll_amount": 1,
                "text": "ctrl",
            },
            "text: scroll does not take it",
        ),
        (
            "anthropic",
            {"action": "scroll", "coordinate": [1, 2], "scroll_direction": "up", "scroll_amount": 0},
            "some distance",
        ),
        ("anthropic", {"action": "left_mouse_down"}, "left_click_drag"),
        ("anthropic", {"action": "left_click"}, "coordinate: left_click needs it"),
        ("anthropic", {"action": "wait", "duration": 60}, "0 to 2 seconds, got 60"),
        ("ui-tars", "wait()\n\nwait()", "exactly one call"),
        ("ui-tars", "hotkey(key=str(1))", "text in quotes"),
        ("arena", {"verb": "click", "x": True, "y": 5}, "x: expected a whole number from 0 to 639 (got True)"),
        ("arena", {"verb": "click", "x": "5", "y": 5.5}, "x: .*'5'.*y: expected a whole number .*5.5"),
        ("arena", {"verb": "hotkey", "keys": ["a", "a"]}, "each key once"),
        ("openai", {"type": "click", "x": "5", "y": True}, "click.x: .*'5'.*click.y: .*True"),
        ("openai", {"type": "scroll", "x": 5, "y": 6, "scrollY": 300, "scroll_y": 1}, "scroll_y once"),
        ("anthropic", {"action": "left_click", "coordinate": ["5", 6]}, "coordinate.0: .*'5'"),
        ("anthropic", {"action": "left_click", "coordinate": "(1_0, 6)"}, "coordinate: .*1_0"),
        ("anthropic", {"action": "wait", "duration": "1"}, "duration: .*'1'"),
        ("ui-tars", "click(start_box='(1_0)')", "start_box: expected a place"),
        ("ui-tars", "click(start_box='(1.2.3)')", "start_box: expected a place"),
        ("ui-tars", "click(start_box='(1,2)', point='(3,4)')", "start_box: given twice"),
        ("ui-tars", "click(start_box='(1,2)', start_box='(3,4)')", "start_box: given twice"),
        ("ui-tars", "clack(start_box='(1,2)')", "no verb 'clack'"),
    ],
)
def test_refusals_say_why(dialect: DialectName, said: Any, reason: str) -> None:
    with pytest.raises(InvalidAction, match="(?s)" + reason.replace("(", r"\(").replace(")", r"\)")):
        speak(dialect, PIXELS).parse(said)


def test_a_thought_and_a_call_in_plain_text() -> None:
    reading = speak("ui-tars", PIXELS).read("Thought: A wall.\nI turn.\nAction: hotkey(key='up')")
    assert reading == ({"verb": "press", "key": "up"}, "A wall.\nI turn.", "hotkey(key='up')")
    with pytest.raises(UnreadableReply, match="exactly one call"):
        speak("ui-tars", PIXELS).read("I would rather not.")


@pytest.mark.parametrize(
    ("reply", "rationale"),
    [
        ("Thought: My Action: is a turn.\nAction: hotkey(key='up')", "My Action: is a turn."),
        ("Thought: A wall. Action: hotkey(key='up')", "A wall."),
        ("Thought\uff1a\u8f6c\nAction\uff1ahotkey(key='up')", "\u8f6c"),
        ("```\nThought: A wall.\nAction: hotkey(key='up')\n```<|im_end|>\n", "A wall."),
        ("Reflection: r\nAction_Summary: s\nAction: `hotkey(key='up')`", "Reflection: r\nAction_Summary: s"),
        ("hotkey(key='up')", ""),
    ],
)
def test_the_call_is_found_in_what_stands_around_it(reply: str, rationale: str) -> None:
    reading = speak("ui-tars", PIXELS).read(reply)
    assert reading.action == {"verb": "press", "key": "up"}
    assert reading.rationale == rationale


@pytest.mark.parametrize(
    "reply",
    [
        "Action: wait()\nAction: finished()",
        "Action: wait()\n\nfinished()",
        "Action: type(content='a') type(content='b')",
    ],
)
def test_of_two_calls_none_is_chosen(reply: str) -> None:
    with pytest.raises(UnreadableReply, match="exactly one call"):
        speak("ui-tars", PIXELS).read(reply)


def test_a_bare_action_that_names_its_verb_action_is_refused_for_what_is_wrong_with_it() -> None:
    """Not for not being an object: a model can act upon the one, not upon the other."""
    spoken = speak("anthropic", PIXELS)
    with pytest.raises(UnreadableReply, match="x: 9999 is outside the picture"):
        spoken.read('{"action": "left_click", "coordinate": [9999, 2]}')
    with pytest.raises(UnreadableReply, match="coordinate: left_click needs it"):
        spoken.read('{"rationale": "there", "action": "left_click"}')
    reading = spoken.read('{"type": "tool_use", "id": "t", "name": "computer", "input": {"action": "screenshot"}}')
    assert reading.action == {"verb": "wait", "ms": 0}
    assert spoken.read('{"action": "type", "text": "\u4f60"}').said == '{"action": "type", "text": "\u4f60"}'


def test_numbers_are_the_models_own() -> None:
    """The same place in four conventions; the help says which."""
    for convention, sent, said in (
        ("pixel", (320, 240), (160, 120)),
        ("unit", (640, 480), (0.501, 0.501)),
        ("thousand", (640, 480), (501, 501)),
        ("smart-resize", (640, 480), (322, 238)),
    ):
        spoken = speak("anthropic", Coordinates((640, 480), sent, convention))  # type: ignore[arg-type]
        gesture = spoken.parse({"action": "left_click", "coordinate": list(said)})
        assert (gesture["x"], gesture["y"]) in {(321, 241), (320, 240)}
        assert spoken.coordinates.describe() in spoken.help()


@pytest.mark.parametrize("convention", ["pixel", "unit", "thousand", "smart-resize"])
def test_our_own_schema_has_the_conventions_bounds_and_its_samples_are_gestures(convention: Any) -> None:
    spoken = speak("arena", Coordinates((640, 480), (320, 240), convention))
    rng = np.random.default_rng(0)
    for _ in range(200):
        assert TypedActions(GuiAction).contains(spoken.parse(sample_schema(spoken.schema(), rng)))
    assert "640x480" not in spoken.help()
    assert "$ref" not in str(plain_schema(spoken.schema()))
    assert "uniqueItems" not in str(plain_schema(spoken.schema())), "which some servers refuse"


def test_every_dialects_name_is_an_option() -> None:
    adapter = TypeAdapter(DialectName)
    assert [adapter.validate_python(name) for name in NAMES] == list(NAMES)


# -- a player that speaks them -----------------------------------------------------------------------------------------

ANSWERS = {
    "arena": {"verb": "click", "x": 80, "y": 60},
    "openai": {"type": "click", "x": 80, "y": 60},
    "anthropic": {"action": "left_click", "coordinate": [80, 60]},
    "ui-tars": None,
}


@pytest.mark.parametrize("name", NAMES)
def test_a_model_speaks_its_dialect_about_the_picture_as_sent(provider: Any, name: DialectName) -> None:
    """The picture is sent at a quarter of its size: the model's (80, 60) is the frame's (322, 242)."""
    if ANSWERS[name] is None:
        provider.policy = lambda seen: "Thought: there.\nAction: click(start_box='(80,60)')"
    else:
        provider.policy = lambda seen: ANSWERS[name]
    options = {"model": "fake/ok", "base_url": provider.url, "dialect": name}
    agent = agents.create("vlm", {**options, "image_size": 160, "mode": "prompt"})
    task = get("games/snake-v1")
    agent.reset(Briefing(task=task, space=ActionSpace.GUI, actions=TypedActions(GuiAction), max_steps=9, seed=1))
    frame = np.zeros((480, 640, 3), np.uint8)
    for _ in range(2):
        decision = agent.act({"frame": frame})
        agent.observe_result(illegal=None, reward=0.0)
        assert decision.status == "ok", decision.reason
        assert decision.action == {"verb": "click", "x": 322, "y": 242, "button": "left", "count": 1}
    first, second = provider.requests
    assert first.images[0].shape == (120, 160, 3)
    assert "pixels of the picture of 160 x 120" in first.text
    assert "80" in second.text.split("Your last turns:")[1] and "322" not in second.text


def test_behind_other_spaces_nothing_is_translated(provider: Any) -> None:
    agent: Any = agents.create("vlm", {"model": "fake/ok", "base_url": provider.url, "dialect": "openai"})
    task = get("games/snake-v1")
    actions = TypedActions(GuiAction)
    agent.reset(Briefing(task=task, space=ActionSpace.SEMANTIC, actions=actions, max_steps=9, seed=1))
    agent._find_words({"frame": np.zeros((480, 640, 3), np.uint8)})
    assert not isinstance(agent._actions, Spoken)


# -- hostile strings ---------------------------------------------------------------------------------------------------


def test_hostile_strings_are_taken_only_if_valid_and_refused_with_a_reason() -> None:
    """A small share of `benchmarks/parsers.py`, through every parser."""
    for parser in parsers.parsers():
        assert parsers.try_out(parser, 40, seed=1).faults == []
