"""What a game is: rules, a picture, keys, the truth. One game is one file, one subclass of `Game`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel

from environments.env import Frame
from environments.facts import Facts

FRAME_SIZE = (640, 480)
"""Width and height of every game's picture, in pixels."""


@dataclass(frozen=True, slots=True)
class InputEvent:
    """What the window got from the keyboard or the mouse. Positions are pixels of the frame."""

    kind: Literal["key_down", "key_up", "button_down", "button_up", "motion", "scroll"]
    key: str = ""
    """PyAutoGUI key name, or the character typed."""
    button: Literal["", "left", "right", "middle"] = ""
    x: int = 0
    y: int = 0
    clicks: int = 0
    """Wheel clicks, positive is up."""


class Game(ABC):
    """A seeded game without display, player or clock of its own.

    The environment calls, per step, either `apply` (semantic) or `on_input` (GUI), then `tick`, then
    `release`. In a game with a clock, what the step's gesture holds (`hold`, `hotkey`, `press`, a mouse
    button) is held while its ticks pass: the closing `key_up` and `button_up` come after them.
    All randomness comes from `self.rng`; all state is in attributes that `state` returns.
    """

    Action: ClassVar[type[BaseModel]]
    """The semantic action; its docstring is the help that players read. A field `ms` is the time that the
    action lasts, in a game with a clock."""
    tick_ms: ClassVar[int | None] = None
    """Game time of one tick in milliseconds; None for a game that waits for its player."""

    rng: np.random.Generator

    @abstractmethod
    def __init__(self, **params: Any) -> None:
        """Take the task's parameters; `reset` follows before anything else."""

    @abstractmethod
    def reset(self, rng: np.random.Generator) -> None:
        """Start a new episode; keep `rng` as the only source of chance."""

    @abstractmethod
    def apply(self, action: Any) -> str | None:
        """Carry out a validated semantic action; the reason, if the rules refuse it."""

    @abstractmethod
    def on_input(self, event: InputEvent) -> str | None:
        """The same, for what a person does in the window; events that mean nothing are ignored."""

    def tick(self) -> None:
        """Let one tick of game time pass."""

    def release(self) -> None:
        """The step is over: let go of what it held. Here, because a semantic step has no key to lift."""

    def close(self) -> None:
        """End what the game holds open, such as an engine's process; safe to repeat, and not the end of the game."""

    @abstractmethod
    def draw(self) -> Frame:
        """The picture of this moment, (480, 640, 3) uint8."""

    @property
    @abstractmethod
    def over(self) -> bool:
        """Whether the game has ended, won or lost."""

    @property
    @abstractmethod
    def won(self) -> bool:
        """Whether the goal is reached."""

    @abstractmethod
    def score(self) -> float:
        """Progress in 0..100; the formula is in the docstring."""

    @abstractmethod
    def reached(self) -> set[str]:
        """Milestones whose condition holds now (the environment remembers them)."""

    def facts(self) -> Facts:
        """What is to be seen in the picture of this moment, for questions about it; none unless a game tells some.

        Asked while the game goes on: the banner at its end may hide anything.
        """
        return Facts()

    @abstractmethod
    def expert(self) -> dict[str, Any]:
        """The semantic action, as JSON, of a player who sees the engine's state."""

    @abstractmethod
    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """How a person does a semantic action with keyboard and mouse: GUI actions, as JSON."""

    @abstractmethod
    def state(self) -> dict[str, Any]:
        """All mutable state but `rng`, as JSON values."""

    @abstractmethod
    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
