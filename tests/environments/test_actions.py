"""Action spaces: one pydantic model is schema, parser, help and sampler; junk is refused with reasons."""

import importlib
import json
import pkgutil
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from environments import games
from environments.actions import GuiAction, NativeActions, TypedActions
from environments.actions.sampling import sample_schema
from environments.errors import InvalidAction
from environments.game import Game
from environments.games.maze import MazeAction
from environments.games.snake import SnakeAction
from environments.robots.object_skills import ObjectSkillAction
from environments.robots.skills import SkillAction

SPACES = [TypedActions(GuiAction), TypedActions(SnakeAction), TypedActions(MazeAction)]

scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary()
junk = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4), max_leaves=12
)
verbs = ["move", "click", "drag", "scroll", "type", "press", "hold", "key_down", "key_up", "hotkey", "wait"]
nearly_gui = st.fixed_dictionaries(
    {"verb": st.sampled_from([*verbs, "exec"])},
    optional=dict.fromkeys(("x", "y", "to_x", "to_y", "button", "count", "key", "keys", "text", "ms"), junk),
)


@settings(max_examples=150, deadline=None)
@given(action=junk | nearly_gui)
def test_junk_is_refused_with_reasons_or_has_one_canonical_form(action):
    for space in SPACES:
        try:
            parsed = space.parse(action)
        except InvalidAction as error:
            assert error.problems and all(len(line) < 700 for line in error.problems)
            assert not space.contains(action)
        else:
            assert space.contains(action)
            assert space.parse(parsed) == parsed, "parsing is idempotent"
            assert json.loads(json.dumps(parsed)) == parsed, "the form is JSON"


@settings(max_examples=100, deadline=None)
@given(seed=st.integers(0, 2**31 - 1))
def test_samples_are_valid_and_seeded(seed):
    for space in SPACES:
        space.seed(seed)
        first = [space.sample() for _ in range(5)]
        assert all(space.contains(action) for action in first)
        space.seed(seed)
        assert [space.sample() for _ in range(5)] == first


def test_sampling_reaches_every_verb_and_every_move():
    gui, snake = SPACES[0], SPACES[1]
    gui.seed(0)
    snake.seed(0)
    assert {gui.sample()["verb"] for _ in range(400)} == set(verbs)
    assert {snake.sample()["turn"] for _ in range(100)} == {"up", "down", "left", "right", "straight"}


def test_problems_say_where_what_and_what_is_expected():
    with pytest.raises(InvalidAction) as error:
        TypedActions(GuiAction).parse({"verb": "click", "x": 640, "y": "top", "buton": "left"})
    x, y, extra = error.value.problems
    assert x.startswith("click.x:") and "less than 640" in x and "got 640" in x
    assert y.startswith("click.y:") and "'top'" in y
    assert "buton" in extra
    with pytest.raises(InvalidAction, match=r"'up', 'down', 'left', 'right' or 'straight'.*got 'north'"):
        TypedActions(SnakeAction).parse({"turn": "north"})


def test_long_hostile_input_gives_a_short_message():
    with pytest.raises(InvalidAction) as error:
        TypedActions(SnakeAction).parse({"turn": "x" * 1_000_000, "y" * 1_000_000: 1})
    assert len(str(error.value)) < 1_500


def test_defaults_are_filled_in():
    parsed = TypedActions(GuiAction).parse({"verb": "click", "x": 1, "y": 2})
    assert parsed == {"verb": "click", "x": 1, "y": 2, "button": "left", "count": 1}
    assert TypedActions(GuiAction).parse({"verb": "hold", "key": "up"})["ms"] == 200


@pytest.mark.parametrize(
    "action",
    [
        {"verb": "click", "x": -1, "y": 0},
        {"verb": "click", "x": 0, "y": 480},
        {"verb": "click", "x": 0, "y": 0, "count": 4},
        {"verb": "press", "key": "volumeup"},
        {"verb": "hotkey", "keys": ["ctrl"]},
        {"verb": "type", "text": ""},
        {"verb": "type", "text": "a" * 201},
        {"verb": "wait", "ms": 2001},
        {"verb": "scroll", "x": 0, "y": 0, "clicks": 11},
        {"x": 1, "y": 2},
    ],
)
def test_gui_bounds(action):
    assert not TypedActions(GuiAction).contains(action)


def test_gui_schema_is_a_discriminated_union_of_all_verbs():
    schema = TypedActions(GuiAction).schema()
    assert set(schema["discriminator"]["mapping"]) == set(verbs)
    assert schema["$defs"]["Click"]["properties"]["x"]["exclusiveMaximum"] == 640
    assert all(definition.get("additionalProperties") is False for definition in schema["$defs"].values())
    json.dumps(schema)
    schema.clear()
    assert TypedActions(GuiAction).schema() and SPACES[0].sample(), "the caller's copy is its own"


def test_help_is_the_docstring_and_names_every_verb():
    text = TypedActions(GuiAction).help()
    assert all(f"{verb}(" in text for verb in verbs)


def test_load_gives_the_variant():
    loaded = TypedActions(GuiAction).load({"verb": "press", "key": "up"})
    assert type(loaded).__name__ == "Press" and loaded.key == "up"
    with pytest.raises(InvalidAction):
        TypedActions(GuiAction).load({"verb": "press"})


def test_spaces_are_equal_by_model():
    assert TypedActions(GuiAction) == TypedActions(GuiAction) != TypedActions(SnakeAction)
    assert SPACES[1].from_jsonable(SPACES[1].to_jsonable([{"turn": "up"}])) == [{"turn": "up"}]


class Everything(BaseModel):
    """One field of each kind that the sampler knows."""

    model_config = ConfigDict(extra="forbid")
    long_text: Annotated[str, Field(min_length=20, max_length=30)]
    maybe: Annotated[int, Field(gt=3, lt=5)] | None
    ratio: Annotated[float, Field(ge=0, le=1)]
    many: Annotated[list[bool], Field(min_length=1, max_length=1000)]
    fixed: Literal["only"]


def test_sampler_covers_every_kind():
    space = TypedActions(Everything, seed=1)
    drawn = [space.sample() for _ in range(100)]
    assert {value["maybe"] for value in drawn} == {4, None}
    assert all(20 <= len(value["long_text"]) <= 30 for value in drawn)


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"type": "number", "minimum": 0}, {"type": "strange"}, {}])
def test_sampler_refuses_what_it_cannot_bound(schema):
    with pytest.raises(ValueError, match="cannot sample"):
        sample_schema(schema, np.random.default_rng(0))


@settings(max_examples=100, deadline=None)
@given(action=junk | st.lists(st.floats() | st.integers() | st.text(), min_size=7, max_size=7))
def test_native_junk_is_refused_with_reasons_or_is_seven_numbers(action):
    space = NativeActions()
    try:
        parsed = space.parse(action)
    except InvalidAction as error:
        assert error.problems
        assert not space.contains(action)
    else:
        assert len(parsed) == 7 and all(-1 <= value <= 1 for value in parsed)
        assert space.parse(parsed) == parsed


@pytest.mark.parametrize(
    "action", [[0] * 6, [0] * 8, [2] + [0] * 6, [float("nan")] + [0] * 6, ["0"] * 7, [10**400] + [0] * 6, [True] * 7, 3]
)
def test_native_refuses(action):
    with pytest.raises(InvalidAction):
        NativeActions().parse(action)


def test_native_accepts_arrays_of_either_width():
    space = NativeActions(seed=0)
    assert space.contains(space.sample())
    assert space.contains(np.zeros(7)) and space.contains([0] * 7)


# -- nothing is turned into what the schema says -----------------------------------------------------------------------


def every_model() -> list[type[BaseModel]]:
    """The actions of every game whose engine is here, of the robots, and the gestures."""
    for module in pkgutil.iter_modules(games.__path__, "environments.games."):
        try:
            importlib.import_module(module.name)
        except ModuleNotFoundError:
            continue
    todo: list[type] = [Game]
    found: dict[type[BaseModel], None] = dict.fromkeys((GuiAction, SkillAction, ObjectSkillAction))
    while todo:
        kind = todo.pop()
        todo += kind.__subclasses__()
        model = getattr(kind, "Action", None)
        if model is not None:
            found[model] = None
    return list(found)


ALL = [TypedActions(model) for model in every_model()]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where the scalars of a JSON value stand."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return [place for key, item in items for place in places(item, (*at, key))]
    return [at]


def replaced(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    copied = value.copy()
    copied[at[0]] = replaced(value[at[0]], at[1:], new)
    return copied


def of_another_type(value: Any) -> list[Any]:
    """What looks like a scalar and is none of its type."""
    match value:
        case bool():
            return [int(value), float(value), str(value), str(value).lower()]
        case int():
            return [str(value), f"{value}.0", f"1_{value}", value + 0.5, bool(value), float("nan"), [value]]
        case float():
            return [str(value), "1_0", True, False, float("nan"), float("inf"), [value]]
        case str():
            return [5, 5.0, True, value.encode(), [value]]
        case _:
            return [0, False, ""]


def test_every_game_is_looked_at():
    assert len(ALL) >= 20


@settings(max_examples=200, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_a_value_of_another_type_is_refused_with_where_and_what(data, seed):
    space = data.draw(st.sampled_from(ALL))
    space.seed(seed)
    action = space.sample()
    at = data.draw(st.sampled_from(places(action)))
    value = action
    for key in at:
        value = value[key]
    other = data.draw(st.sampled_from(of_another_type(value)))
    with pytest.raises(InvalidAction) as error:
        space.parse(replaced(action, at, other))
    named = {str(key) for key in at} | {"action"}
    assert any(named & set(line.split(":")[0].split(".")) and "(got " in line for line in error.value.problems)


@settings(max_examples=200, deadline=None)
@given(data=st.data(), seed=st.integers(0, 2**31 - 1))
def test_a_valid_action_stays_as_it_is_through_json_and_with_whole_floats(data, seed):
    space = data.draw(st.sampled_from(ALL))
    space.seed(seed)
    action = space.sample()
    text = json.dumps(action)
    assert json.dumps(space.parse(json.loads(text))) == text
    whole = action
    for at in places(action):
        value = action
        for key in at:
            value = value[key]
        if type(value) is int:
            whole = replaced(whole, at, data.draw(st.sampled_from([float(value), np.int64(value), np.float32(value)])))
    assert json.dumps(space.parse(whole)) == text


def test_values_to_choose_from_are_strings():
    """Pydantic takes True for a literal 1, and 1 for a literal True, in strict mode too: no action has such."""

    def values(node: Any) -> list[Any]:
        if isinstance(node, dict):
            own = [*node.get("enum", ()), *([node["const"]] if "const" in node else ())]
            return own + [value for item in node.values() for value in values(item)]
        return [value for item in node for value in values(item)] if isinstance(node, list) else []

    for space in ALL:
        assert all(isinstance(value, str) for value in values(space.schema())), space


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": True}, "click.x: input should be a valid integer (got True)"),
        ({"y": "5"}, "click.y: input should be a valid integer (got '5')"),
        ({"y": "1_0"}, "click.y: input should be a valid integer (got '1_0')"),
        ({"x": 5.5}, "click.x: input should be a valid integer (got 5.5)"),
        ({"x": float("nan")}, "click.x: input should be a valid integer (got nan)"),
        ({"button": "Left"}, "click.button: input should be 'left', 'right' or 'middle' (got 'Left')"),
        ({"button": " left"}, "click.button: input should be 'left', 'right' or 'middle' (got ' left')"),
    ],
)
def test_a_refusal_names_field_value_and_what_is_expected(change, said):
    with pytest.raises(InvalidAction) as error:
        TypedActions(GuiAction).parse({"verb": "click", "x": 1, "y": 2, **change})
    assert error.value.problems == [said]


def test_a_hotkey_names_each_key_once_and_its_samples_do():
    gui = TypedActions(GuiAction, seed=0)
    with pytest.raises(InvalidAction, match=r"hotkey.keys: expected each key once, 'ctrl' is named twice"):
        gui.parse({"verb": "hotkey", "keys": ["ctrl", "a", "ctrl"]})
    schema = {"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 2, "maxItems": 2, "uniqueItems": True}
    rng = np.random.default_rng(0)
    assert all(sorted(sample_schema(schema, rng)) == ["a", "b"] for _ in range(50))
    with pytest.raises(ValueError, match="too few different"):
        sample_schema({**schema, "minItems": 3, "maxItems": 3}, rng)


def test_endless_nesting_is_refused():
    endless: list[Any] = []
    endless.append(endless)
    assert not TypedActions(GuiAction).contains({"verb": "move", "x": 1.0, "y": endless})


@pytest.mark.parametrize("action", [np.ones(7, bool), [np.bool_(1)] * 7, np.ones(7, complex), np.full(7, "1")])
def test_native_takes_arrays_of_numbers_only(action):
    with pytest.raises(InvalidAction, match=r"action\[0\]: expected a number"):
        NativeActions().parse(action)


class Macro(BaseModel):
    """Gestures within somebody else's model, as a profile has them."""

    steps: list[GuiAction]


@pytest.mark.parametrize("change", [{"x": True}, {"x": "5"}, {"y": 5.5}, {"button": 1}])
def test_gestures_are_strict_in_other_models_too(change):
    good = {"verb": "click", "x": 1, "y": 2}
    assert Macro.model_validate({"steps": [good]}).steps[0].root.x == 1
    with pytest.raises(ValidationError):
        Macro.model_validate({"steps": [{**good, **change}]})
