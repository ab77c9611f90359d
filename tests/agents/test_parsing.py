"""Replies in many shapes give the one action they hold; everything else gives a reason."""

from __future__ import annotations

import json
import random
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from agents.errors import UnreadableReply
from agents.parsing import MAX_CHARACTERS, read_action, read_json
from environments.actions import GuiAction, NativeActions, TypedActions


class Turn(BaseModel):
    """Turn."""

    model_config = ConfigDict(extra="forbid")
    turn: Literal["up", "down"]


class Named(BaseModel):
    """An action with a field that is called action."""

    model_config = ConfigDict(extra="forbid")
    action: Literal["push", "pull"]


TURN = TypedActions(Turn)
UP = {"turn": "up"}


@pytest.mark.parametrize(
    "text",
    [
        '{"rationale": "r", "action": {"turn": "up"}}',
        '```json\n{"rationale": "r", "action": {"turn": "up"}}\n```',
        'I see {a wall}.\n```\n{"rationale": "r", "action": {"turn": "up"}}\n```\nGood luck!',
        'Thinking: maybe {"turn": "down"}? No.\n{"rationale": "r", "action": {"turn": "up"}} there.',
        '{"rationale": "r", "action": {"turn": "up",},}',
        "{'rationale': 'r', 'action': {'turn': 'up'}}",
        '{"rationale": "r", "action": "{\\"turn\\": \\"up\\"}"}',
        'It\'s simple: {"rationale": "r", "action": {"turn": "up"}}',
        'Row 1: [0, 2, 4]\nRow 2: [2, 2, 8]\n{"rationale": "r", "action": {"turn": "up"}}\nSee [1].',
        '<tool_call>\n{"name": "act", "arguments": {"rationale": "r", "action": {"turn": "up"}}}\n</tool_call>',
        '\ufeff {"rationale": "r", "action": {"turn": "up"}}',
    ],
)
def test_shapes_that_models_write(text: str) -> None:
    assert read_action(text, TURN) == (UP, "r")


def test_a_bare_action_is_taken_and_quotes_within_strings_are_left_alone() -> None:
    assert read_action('{"turn": "up"}', TURN) == (UP, "")
    assert read_action('{"rationale": "so", "turn": "up"}', TURN)[0] == UP
    assert read_json('{"a": "x, ] } \\" ,}", "b": [1,],}') == {"a": 'x, ] } " ,}', "b": [1]}
    assert read_json("{'a': True, 'b': None, 'c': 'it\\'s'}") == {"a": True, "b": None, "c": "it's"}
    assert read_action("[0,0,0,0,0,0,1]", NativeActions())[0] == [0, 0, 0, 0, 0, 0, 1]


def test_an_action_with_a_field_called_action_is_read_in_both_forms() -> None:
    named = TypedActions(Named)
    assert read_action('{"rationale": "r", "action": {"action": "push"}}', named) == ({"action": "push"}, "r")
    assert read_action('{"action": "push"}', named) == ({"action": "push"}, "")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        ("go up", "no JSON object"),
        ('{"rationale": "I am going to', "cut off"),
        ('{"rationale": "r", "action": {"turn": "up"', "cut off"),
        ('{"action": {"turn": "sideways"}}', "sideways"),
        ('{"action": null}', "none"),
        ('{"action": {"turn": "up", "speed": 3}}', "speed"),
        ('{"rationale": "r"}', "turn"),
        ("{" * 5000 + "}" * 5000, "nested"),
        ("[" * 99_999, "cut off"),
        ("x" * (MAX_CHARACTERS + 1), "characters"),
        ('{"turn": __import__("os").system("true")}', "no readable JSON"),
        ('{"turn": "u" + "p"}', "no readable JSON"),
        ('{"turn": NaN}', "not a number"),
        ('{"turn": 1e999}', "not a number"),
        ('{"turn": "\\ud800"}', "surrogate"),
        ("{1, 2}", "no readable JSON"),
        ('{"turn": b"up"}', "no readable JSON"),
        ('{"a": ' + "9" * 5000 + "}", "no readable JSON"),
    ],
)
def test_nonsense_is_refused_with_a_reason(text: str, reason: str) -> None:
    with pytest.raises(UnreadableReply) as caught:
        read_action(text, TURN)
    assert reason.lower() in str(caught.value).lower()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"action": {"turn": "up", "turn": "down"}}', "the key 'turn' stands twice"),
        ('{"turn": "up", "turn": "up"}', "the key 'turn' stands twice"),
        ("{'turn': 'up', 'turn': 'down'}", "the key 'turn' stands twice"),
        ('{"action": "{\\"turn\\": \\"up\\", \\"turn\\": \\"down\\"}"}', "the key 'turn' stands twice"),
        ('{"turn": "up"} or {"turn": "up", "turn": "down",}', "the key 'turn' stands twice"),
        ("{'turn': 1_0}", "'1_0' is not a number in JSON"),
        ("{'turn':\r\n 0x10}", "'0x10' is not a number in JSON"),
        ("{'turn': 'é', 'speed': .5}", "'.5' is not a number in JSON"),
        ("{'turn': +1}", "plus sign"),
    ],
)
def test_what_two_readers_could_read_in_two_ways_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UnreadableReply) as caught:
        read_action(text, TURN)
    assert reason in str(caught.value)


def test_an_object_that_says_a_thing_twice_does_no_harm_where_it_is_not_the_answer() -> None:
    assert read_action('Perhaps {"turn": "up", "turn": "down"}? No: {"turn": "up"}', TURN)[0] == UP


def test_several_problems_are_all_told() -> None:
    with pytest.raises(UnreadableReply) as caught:
        read_action('{"action": {"verb": "click", "x": 9999, "y": -1}}', TypedActions(GuiAction))
    assert len(caught.value.problems) == 2


def outcome(text: str, actions: Any) -> Any:
    """The action, or None for a refusal with a reason; anything else is a crash."""
    try:
        action, rationale = read_action(text, actions)
    except UnreadableReply as error:
        assert error.problems
        assert all(error.problems)
        return None
    assert actions.parse(action) == action
    assert isinstance(rationale, str)
    json.dumps(action, allow_nan=False).encode("utf-8")
    return action


@settings(max_examples=600, deadline=None)
@given(st.text(max_size=300) | st.text(alphabet="{}[]\"':,\\ \nturnup01.eE-`", max_size=200))
def test_no_text_crashes_it(text: str) -> None:
    outcome(text, TURN)
    outcome(text, NativeActions())


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(json_values, st.sampled_from(["{}", "so: {}", "```json\n{}\n```", "{} and that is it"]))
def test_every_json_value_is_read_or_refused(value: Any, around: str) -> None:
    text = around.replace("{}", json.dumps(value))
    try:
        read = read_json(text)
    except UnreadableReply:
        return
    if around == "{}" and isinstance(value, dict | list):
        assert json.dumps(read) == json.dumps(value)


def test_thousands_of_damaged_replies_never_crash_and_never_become_another_move() -> None:
    """A valid reply is cut, spliced and stirred; what is still accepted is one of the game's own moves."""
    rng = random.Random(7)
    seeds = [
        '{"rationale": "the wall is left", "action": {"turn": "up"}}',
        "```json\n{'action': {'turn': 'down'}, 'rationale': 'it\\'s \\u00e9'}\n```",
        '<tool_call>{"name": "act", "arguments": {"action": {"turn": "up"}}}</tool_call>',
        "[0.1, -0.2, 0.3, 0, 0, 0, 1]",
    ]
    noise = ["{", "}", "[", "]", '"', "'", ",", ":", "\\", "\x00", "\u202e", "```", "NaN", "\ud83d", "(", "lambda:0"]
    accepted = 0
    for _ in range(4000):
        text = rng.choice(seeds)
        for _ in range(rng.randint(1, 6)):
            at = rng.randrange(len(text) + 1)
            match rng.randrange(4):
                case 0:
                    text = text[:at]
                case 1:
                    text = text[:at] + rng.choice(noise) + text[at:]
                case 2:
                    text = text[:at] + text[at + rng.randint(1, 4) :]
                case _:
                    text = text[:at] + rng.choice(seeds) + text[at:]
        action = outcome(text, TURN)
        accepted += action is not None
        assert action is None or action in ({"turn": "up"}, {"turn": "down"})
        outcome(text, NativeActions())
    assert accepted > 200
