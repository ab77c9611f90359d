"""A game behind the GUI space, end to end: its twin behind the semantic space ends in the same state."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from pydantic import BaseModel, Field

from environments.desktop import check
from environments.env import Frame, Views
from environments.errors import DisplayError
from environments.game import Game, InputEvent
from environments.game_env import GameEnv
from environments.task import ActionSpace, Milestone, Task

pytestmark = [pytest.mark.display, pytest.mark.skipif(bool(check()), reason="; ".join(check()))]

CELLS, CELL = 8, 60


class Step(BaseModel):
    """Walk one cell, or jump to a cell of the row."""

    move: Literal["left", "right", "jump"]
    to: int = Field(default=0, ge=0, lt=CELLS)


class Corridor(Game):
    """A token on a row of eight cells, to be brought to the one that glows. Score: 100 there, else 0."""

    Action: ClassVar[type[BaseModel]] = Step
    tick_ms: ClassVar[int | None] = 100

    def __init__(self) -> None:
        self.at = self.goal = self.ticks = 0

    def reset(self, rng: np.random.Generator) -> None:
        self.rng = rng
        self.at, self.ticks = 0, 0
        self.goal = int(rng.integers(1, CELLS))

    def _go(self, cell: int) -> str | None:
        if not 0 <= cell < CELLS:
            return "there is a wall"
        self.at = cell
        return None

    def apply(self, action: Step) -> str | None:
        return self._go({"left": self.at - 1, "right": self.at + 1, "jump": action.to}[action.move])

    def on_input(self, event: InputEvent) -> str | None:
        if event.kind == "key_down" and event.key in ("left", "right"):
            return self._go(self.at + (1 if event.key == "right" else -1))
        if event.kind == "button_down" and event.x // CELL < CELLS:
            return self._go(event.x // CELL)
        return None

    def tick(self) -> None:
        self.ticks += 1

    def draw(self) -> Frame:
        frame = np.full((480, 640, 3), (16, 24, 32), np.uint8)
        for cell, colour in ((self.goal, (250, 200, 40)), (self.at, (40, 120, 250))):
            frame[200:260, cell * CELL : (cell + 1) * CELL] = colour
        frame[0, : self.ticks % 640] = 255
        return frame

    @property
    def over(self) -> bool:
        return self.won

    @property
    def won(self) -> bool:
        return self.at == self.goal

    def score(self) -> float:
        return 100.0 * self.won

    def reached(self) -> set[str]:
        return {"goal"} if self.won else set()

    def expert(self) -> dict[str, Any]:
        if self.goal > 4 and self.at == 0:
            return {"move": "jump", "to": self.goal - 1}
        return {"move": "right"}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        if action["move"] == "jump":
            return [{"verb": "click", "x": action["to"] * CELL + CELL // 2, "y": 230}]
        return [{"verb": "press", "key": action["move"]}]

    def state(self) -> dict[str, Any]:
        return {"at": self.at, "goal": self.goal, "ticks": self.ticks}

    def load(self, state: dict[str, Any]) -> None:
        self.at, self.goal, self.ticks = state["at"], state["goal"], state["ticks"]


TASK = Task(
    id="test/corridor-v1",
    title="Corridor",
    goal="Reach the glowing cell.",
    entry_point="unused:unused",
    spaces=(ActionSpace.SEMANTIC, ActionSpace.GUI),
    milestones=(Milestone("goal", "The token is on the glowing cell."),),
    max_steps=20,
)


def make(space: ActionSpace) -> GameEnv:
    return GameEnv(TASK, space, Corridor())


class Looking(GameEnv):
    """Looks at each picture at once, because Gymnasium's check compares them after further steps."""

    def observe(self) -> Views:
        views = super().observe()
        assert views["frame"] is not None
        return views


def play(env: GameEnv, seed: int) -> tuple[list[Frame], str]:
    observation, _ = env.reset(seed=seed)
    frames, over = [observation["frame"]], False
    while not over:
        observation, _, over, _, info = env.step(env.expert_action())
        assert info["illegal"] is None
        frames.append(observation["frame"])
    assert env.success()
    return frames, env.state_hash()


def test_the_gui_environment_passes_gymnasiums_own_check() -> None:
    env = Looking(TASK, ActionSpace.GUI, Corridor())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it misses a `spec` and a Box action space, which we do not have
        check_env(env, skip_render_check=True)
    env.close()


def test_gui_and_semantic_twins_show_the_same_pixels_and_end_in_the_same_state() -> None:
    gui, semantic = make(ActionSpace.GUI), make(ActionSpace.SEMANTIC)
    for seed in range(4):  # the same desktop serves all episodes
        frames, end = play(gui, seed)
        twin_frames, twin_end = play(semantic, seed)
        assert end == twin_end
        assert len(frames) == len(twin_frames)
        for frame, twin in zip(frames, twin_frames, strict=True):
            np.testing.assert_array_equal(frame, twin)
    gui.close()


def test_an_illegal_gesture_is_reported_and_time_passes() -> None:
    env = make(ActionSpace.GUI)
    env.reset(seed=1)
    _, reward, over, _, info = env.step({"verb": "press", "key": "left"})
    assert (info["illegal"], reward, over) == ("there is a wall", 0.0, False)
    assert env.game.state()["ticks"] == 1
    env.close()


def test_restore_shows_the_restored_moment() -> None:
    env = make(ActionSpace.GUI)
    env.reset(seed=3)
    before, saved = env.observe()["frame"], env.snapshot()
    env.step({"verb": "press", "key": "right"})
    assert not np.array_equal(env.observe()["frame"], before)
    np.testing.assert_array_equal(env.restore(saved)["frame"], before)
    env.close()


def test_a_dead_display_is_the_machines_fault_and_a_closed_environment_starts_another() -> None:
    env = make(ActionSpace.GUI)
    env.reset(seed=1)
    env.step({"verb": "wait"})
    assert env._desktop is not None
    env._desktop.close()
    with pytest.raises(DisplayError):
        env.step({"verb": "wait"})
    env.close()
    observation, _ = env.reset(seed=1)
    np.testing.assert_array_equal(observation["frame"], env.game.draw())
    env.close()
