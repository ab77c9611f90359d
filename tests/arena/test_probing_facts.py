"""What engines tell of their pictures: places that show what they say, and nothing that is hidden."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import environments
from environments import drawing
from environments.env import ArenaEnv
from environments.facts import Facts

GAMES = ("maze", "snake", "sokoban", "minesweeper", "2048")


def play(name: str, seed: int = 3, steps: int = 9) -> ArenaEnv:
    env = environments.make(f"games/{name}-v1", "semantic")
    env.reset(seed=seed)
    for _ in range(steps):
        env.step(env.expert_action())
    return env


def shows(env: ArenaEnv, x: int, y: int, radius: int, colour: tuple[int, int, int]) -> bool:
    """Whether a colour is seen within a place."""
    part = env.render()[max(0, y - radius) : y + radius, max(0, x - radius) : x + radius].astype(int)
    return bool((np.abs(part - colour).max(axis=-1) < 12).any())


@pytest.mark.parametrize("name", GAMES)
def test_cells_hold_what_they_may_and_lie_in_the_picture(name: str) -> None:
    env = play(name)
    facts = env.facts()
    assert facts.cells and len(set(facts.contents)) == len(facts.contents) >= 4
    for cell in facts.cells:
        left, top, right, bottom = cell.box
        assert 0 <= left < right <= 640 and 0 <= top < bottom <= 480 and cell.holds in facts.contents
    assert len({cell.box for cell in facts.cells}) == len(facts.cells)
    for statement in facts.statements:
        assert statement.answer in statement.options


@pytest.mark.parametrize("name", GAMES)
def test_facts_are_no_part_of_an_observation_and_change_nothing(name: str) -> None:
    env = play(name)
    before = env.state_hash()
    env.facts()
    assert env.state_hash() == before and set(env.observe()) == {"frame"}


@pytest.mark.parametrize("name", GAMES)
def test_things_and_cells_of_one_name_agree(name: str) -> None:
    facts = play(name).facts()
    for thing in facts.things:
        for cell in facts.cells:
            left, top, right, bottom = cell.box
            inside = left <= thing.x < right and top <= thing.y < bottom
            assert inside == (cell.holds == thing.name) or thing.name == "the highest tile"


def test_in_the_maze_places_have_the_colours_of_what_is_there() -> None:
    env = play("maze")
    places = {thing.name: thing for thing in env.facts().things}
    colours = {"the player": drawing.BLUE, "the key": drawing.GOLD, "the door": drawing.BROWN}
    for name, colour in colours.items():
        assert shows(env, places[name].x, places[name].y, places[name].radius, colour)


def test_the_key_is_no_longer_there_once_it_is_held() -> None:
    env = environments.make("games/maze-v1", "semantic")
    env.reset(seed=0)
    answers = []
    while not env.success():
        facts = env.facts()
        answers.append(facts.statements[0].answer)
        assert (answers[-1] == "yes") == ("the key" not in {thing.name for thing in facts.things})
        env.step(env.expert_action())
    assert set(answers) == {"yes", "no"}
    assert env.facts() == Facts()  # a banner now lies over the board


def test_the_apple_is_red_where_it_is_said_to_be() -> None:
    env = play("snake")
    [apple] = [thing for thing in env.facts().things if thing.name == "the apple"]
    assert shows(env, apple.x, apple.y, 4, drawing.RED)


def test_a_hidden_mine_is_no_fact() -> None:
    """Two boards that look alike have the same facts, whatever lies below."""
    env: Any = play("minesweeper", steps=0)
    before = env.facts()
    closed = sorted(set(range(64)) - env.game.opened)
    field = type(env.game.field)
    hidden = [cell for cell in closed if cell not in env.game.field.mines]
    assert "mine" not in " ".join(cell.holds for cell in before.cells)
    env.game.flags = {hidden[0]}
    assert [cell.holds for cell in env.facts().cells].count("a flag") == 1
    env.game.flags = set()
    shown = {cell: env.game.field.number(cell) for cell in env.game.opened}
    swapped = field(8, [*sorted(env.game.field.mines)[1:], hidden[-1]])
    if all(swapped.number(cell) == number for cell, number in shown.items()):
        env.game.field = swapped
        assert env.facts() == before


def test_tiles_are_called_by_the_number_on_them() -> None:
    env: Any = play("2048", steps=30)
    for cell, exponent in zip(env.facts().cells, [e for row in env.game.board for e in row], strict=True):
        assert cell.holds == (f"the tile {1 << exponent}" if exponent else "no tile")


def test_a_game_that_tells_nothing_has_no_facts() -> None:
    env = environments.make("games/tictactoe-v1", "semantic")
    env.reset(seed=0)
    assert env.facts() == Facts()


def test_the_gripper_opens_closes_and_is_above_what_it_takes() -> None:
    env = environments.make("tabletop/pick-place-bowl-v1", "native")
    env.reset(seed=3)
    seen: dict[str, set[str]] = {}
    held_with_fingers_open = 0
    for _ in range(90):
        answers = {statement.question: statement.answer for statement in env.facts().statements}
        for question, answer in answers.items():
            seen.setdefault(question, set()).add(answer)
        held = answers["What does the gripper hold?"] == "the red cube"
        held_with_fingers_open += held and answers.get("Is the gripper wide open?") == "yes"
        env.step(env.expert_action())
    env.close()
    assert seen["Is the gripper wide open?"] == {"yes", "no"} and not held_with_fingers_open
    assert seen["What does the gripper hold?"] == {"nothing", "the red cube"}
    assert {"none of them", "the red cube"} <= seen["Which of these is the gripper right above, or at?"]


@pytest.mark.gl
def test_things_on_the_table_are_seen_where_the_camera_has_them() -> None:
    env = environments.make("tabletop/pick-place-bowl-v1", "native")
    env.reset(seed=3)
    places = {thing.name: thing for thing in env.facts().things}
    picture = env.render().astype(int)
    red, blue = (picture[places[f"the {name} cube"].y, places[f"the {name} cube"].x] for name in ("red", "blue"))
    assert red[0] > 2 * red[2] and blue[2] > 2 * blue[0]
    env.close()


@pytest.mark.gl
def test_the_suite_tells_what_is_seen_and_leaves_out_things_called_alike() -> None:
    """Both bowls are `the black bowl`: a statement may name them, a place may not. What stands upright is narrow."""
    env = environments.make("tabletop/spatial-bowl-beside-plate-v1", "native")
    env.reset(seed=3)
    facts = env.facts()
    places = {thing.name: thing for thing in facts.things}
    assert set(places) == {"the plate", "the milk carton", "the yellow cube"}
    picture = env.render().astype(int)
    cube, plate = (picture[places[name].y, places[name].x] for name in ("the yellow cube", "the plate"))
    assert cube[0] > 2 * cube[2] and min(plate) > 150
    assert places["the milk carton"].radius < places["the plate"].radius / 2
    [held] = [statement for statement in facts.statements if "hold" in statement.question]
    assert held.options.count("the black bowl") == 1 and held.answer == "nothing"
    env.close()


@pytest.mark.gl
def test_a_thing_behind_the_hand_has_no_place() -> None:
    env = environments.make("tabletop/object-can-basket-v1", "native")
    env.reset(seed=3)
    assert "the milk carton" in {thing.name for thing in env.facts().things}
    for _ in range(45):
        env.step(env.expert_action())
    names = {thing.name for thing in env.facts().things}
    env.close()
    assert "the milk carton" not in names and "the bottle" in names


def test_the_teleoperation_window_tells_no_places() -> None:
    robot: Any = environments.make("tabletop/pick-place-bowl-v1", "gui")
    robot.robot.reset(seed=3)
    facts = robot.facts()
    assert facts.things == () and facts.statements == robot.robot.facts().statements
    robot.close()
