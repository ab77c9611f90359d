"""The register: exact look-up, globs, and errors that name the way out."""

from dataclasses import replace

import pytest

import environments
from environments import registry
from environments.errors import EnvironmentsError, InvalidParams, UnknownTask, UnsupportedSpace
from environments.task import Milestone


@pytest.fixture(autouse=True)
def untouched_register(monkeypatch):
    monkeypatch.setattr(registry, "_tasks", dict(registry._tasks))


def test_built_in_games_are_registered():
    assert {"games/snake-v1", "games/2048-v1", "games/maze-v1"} <= {task.id for task in environments.tasks()}
    ids = [task.id for task in environments.tasks()]
    assert ids == sorted(ids)


@pytest.mark.parametrize(
    ("wrong", "hint"),
    [
        ("games/snake-v9", "games/snake-v1"),  # another version
        ("games/snake", "games/snake-v1"),  # no version
        ("games/snaek-v1", "games/snake-v1"),  # mistyped
        ("snake", "games/snake-v1"),  # the name alone
        ("Games/2048-v1", "games/2048-v1"),
        ("maze", "games/maze-v1"),
    ],
)
def test_wrong_id_names_the_right_one(wrong, hint):
    with pytest.raises(UnknownTask) as error:
        environments.get(wrong)
    assert f"did you mean '{hint}'" in str(error.value)
    assert repr(wrong) in str(error.value)


def test_hopeless_id_names_the_families():
    with pytest.raises(UnknownTask, match=r"the families are .*games"):
        environments.get("zzzzqqqq")


def test_unknown_task_is_a_lookup_error_and_one_of_ours():
    with pytest.raises(LookupError):
        environments.make("no/such-v1", "semantic")
    assert issubclass(UnknownTask, EnvironmentsError)


def test_glob_matches_and_refuses():
    assert "games/maze-v1" in [task.id for task in environments.match("games/*")]
    assert [task.id for task in environments.match("games/maze-v1")] == ["games/maze-v1"]
    with pytest.raises(UnknownTask, match="did you mean"):
        environments.match("gamez/snake-*")


def test_space_that_is_not_offered():
    with pytest.raises(UnsupportedSpace, match="offers semantic, gui"):
        environments.make("games/snake-v1", "native")


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"id": "games/snake-v1"}, "taken"),
        ({"id": "games/snake"}, "not of the form"),
        ({"id": "games/snake-v2\n"}, "not of the form"),
        ({"id": "../snake-v2"}, "not of the form"),
        ({"milestones": (Milestone("a", "A"), Milestone("a", "A"))}, "twice"),
        ({"milestones": (Milestone("a", "A", after=("b",)),)}, "not declared before"),
        ({"milestones": (Milestone("a", "A", after=("b",)), Milestone("b", "B", after=("a",)))}, "not declared before"),
        ({"tutorial_seed": 3}, "public seed"),
        ({"spaces": ()}, "action space"),
        ({"max_steps": 0}, "max_steps"),
        ({"entry_point": "environments.game_env"}, "module:callable"),
    ],
)
def test_register_refuses(changes, complaint):
    task = replace(environments.get("games/snake-v1"), id="games/fresh-v1")
    with pytest.raises(ValueError, match=complaint):
        environments.register(replace(task, **changes))


def test_register_adds():
    task = replace(environments.get("games/snake-v1"), id="games/snake-v2")
    environments.register(task)
    assert environments.get("games/snake-v2") is task
    with pytest.raises(UnknownTask, match="did you mean 'games/snake-v1' or 'games/snake-v2'"):
        environments.get("games/snake-v3")


def test_every_task_is_well_described():
    for task in environments.tasks():
        assert 5 <= len(task.milestones) <= 12, task.id
        assert task.category and task.tier and task.title and task.goal, task.id
        assert all(milestone.text for milestone in task.milestones), task.id


def bare(task_id, **params):
    """What a family makes of the chosen settings; here nothing but another id."""
    stem, _, version = task_id.rpartition("-")
    return replace(
        environments.get(task_id), id="-".join([stem, *sorted(params.values()), version]), params=params, settings={}
    )


def varied(**changes):
    return replace(
        environments.get("games/snake-v1"),
        **{"id": "games/long-snake-v1", "settings": {"size": ("small", "big"), "walls": ("solid", "open")},
           "varied_by": f"{__name__}:bare", **changes},
    )  # fmt: skip


def test_a_variant_is_found_by_its_id_and_by_its_settings():
    task = environments.register(varied())
    assert task.vary({}) is task and task.vary({"size": "small"}) is task
    big = environments.get("games/long-snake-big-v1")
    assert big == task.vary({"size": "big"}) and big.params == {"size": "big"}
    assert environments.match(big.id) == [big] and big not in environments.tasks()
    assert environments.get("games/long-snake-big-open-v1").params == {"size": "big", "walls": "open"}
    for wrong in ("open-big", "small", "big-big", "huge"):
        with pytest.raises(UnknownTask, match="did you mean 'games/long-snake-v1'"):
            environments.get(f"games/long-snake-{wrong}-v1")


def test_settings_that_a_task_does_not_have_are_refused_all_at_once():
    with pytest.raises(InvalidParams) as error:
        varied().vary({"sise": "big", "walls": "opn"})
    assert error.value.problems == {
        "sise": "games/long-snake-v1 has no parameter 'sise'; did you mean 'size'?; it takes 'size', 'walls'",
        "walls": "expected one of solid, open; did you mean 'open'?",
    }


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"settings": {"size": ("small", "big"), "mouse": ("small", "big")}}, "none of them twice"),
        ({"settings": {"size": ("small", "very-big")}}, "single words"),
        ({"varied_by": ""}, "module:callable"),
    ],
)
def test_settings_that_no_id_could_tell_apart_are_not_registered(changes, complaint):
    with pytest.raises(ValueError, match=complaint):
        environments.register(varied(**changes))
