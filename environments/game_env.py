"""A game as a Gymnasium environment, behind the semantic or the GUI action space."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import gymnasium
import numpy as np
from gymnasium import spaces

from environments.actions.gui import GuiAction
from environments.actions.spec import Action, TypedActions
from environments.env import ArenaEnv, Frame, Views
from environments.errors import DisplayError, InvalidSnapshot, MissingEngine
from environments.facts import Facts
from environments.game import FRAME_SIZE, Game, InputEvent
from environments.task import ActionSpace, Task

if TYPE_CHECKING:
    from environments.desktop import Desktop

T = TypeVar("T")
TAP_MS = 60
"""The shortest time that a key is held in a game with a clock, in milliseconds of game time. Programs that poll
their keyboard miss shorter taps (measured: 15 ms are seen half of the time, 30 ms always)."""
_RELEASES = ("key_up", "button_up")


def make_game(task: Task, space: ActionSpace) -> GameEnv:
    """Build a game task; `task.params["game"]` names its class as `module:Class`.

    Raises:
        MissingEngine: if the package that the game plays on is not installed.
    """
    params = dict(task.params)
    module, _, name = params.pop("game").partition(":")
    try:
        game: Game = getattr(importlib.import_module(module), name)(**params)
    except ModuleNotFoundError as error:
        if not task.extra or error.name is None or error.name.startswith("environments"):
            raise
        raise MissingEngine(task.id, error.name, task.extra) from error
    return GameEnv(task, space, game)


class GameEnv(ArenaEnv):
    """Both action spaces drive the same engine, and show the same pixels.

    Semantic: the action goes to the rules. GUI: real keyboard and mouse events go to a real window
    on a private X display, what the window receives goes to the rules, and the observation is
    grabbed from the screen. Either way one step lets one tick pass in a game that waits for its player.
    In a game that has a clock it lasts as long as the action's own `ms`, in whole ticks, and never less
    than a tap: one tick, or the whole ticks in `TAP_MS`, so that a game that polls its keys sees them.
    """

    action_space: TypedActions

    def __init__(self, task: Task, space: ActionSpace, game: Game) -> None:
        super().__init__(task, space)
        self.game = game
        width, height = FRAME_SIZE
        self.observation_space = spaces.Dict({"frame": spaces.Box(0, 255, (height, width, 3), np.uint8)})
        self.action_space = TypedActions(GuiAction if space == ActionSpace.GUI else game.Action)
        self._desktop: Desktop | None = None
        self._reached: set[str] = set()
        self._shown = -1
        self._pending: list[dict[str, Any]] = []
        self._declared = frozenset(milestone.id for milestone in task.milestones)
        self._owed_ms = 0
        """Time that `advance` was given and that is not yet a whole tick."""
        self._ticks = 0
        """Ticks of a game with a clock since the episode began."""

    @property
    def main_view(self) -> str:
        """The only view, `frame`."""
        return "frame"

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Start an episode. The same seed gives the same game, in any process."""
        self._close_screen()  # every episode has a display of its own: nothing that one did to it meets the next
        super().reset(seed=seed)
        # A generator of its own: what a wrapper draws from `np_random` must not move the game.
        self.game.reset(np.random.default_rng(self.np_random.integers(2**63)))
        self._reached = set()
        self._owed_ms = self._ticks = 0
        self._after_change()
        return self.observe(), {"illegal": None}

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Play one action and let its time pass; the reward is the change of `score`.

        Raises:
            InvalidAction: for an action that the schema refuses; nothing has changed then.
            DisplayError: if the private display failed.
            ResetNeeded: Gymnasium's, before the first `reset` or `restore`.
        """
        if self.moment == 0:
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() or restore() before step()")
        before = self.game.score()
        parsed = self.action_space.load(action)
        # The expert's gestures belong together; whoever departs from them gets a fresh plan.
        follows = bool(self._pending) and self.action_space.parse(action) == self._pending[0]
        rest = self._pending[1:] if follows else []
        illegal: str | None = None
        if not self.game.over:
            if self.space == ActionSpace.GUI:
                illegal = self._take(self._on_screen(lambda screen: screen.perform(parsed)), parsed)
            else:
                illegal = self.game.apply(parsed)
                self._let_pass(parsed)
            self.game.release()
        self._after_change()
        self._pending = rest
        reward = self.game.score() - before
        return self.observe(), reward, self.game.over, False, {"illegal": illegal}

    def advance(self, ms: int) -> bool:
        """Let whole ticks of game time pass, and keep the rest for the next call.

        A game without a clock, and one that is over, stands still.
        """
        if not self.game.tick_ms:
            return self.game.over
        ticks, self._owed_ms = divmod(self._owed_ms + ms, self.game.tick_ms)
        for _ in range(ticks):
            if self.game.over:
                break
            self.game.tick()
            self._ticks += 1
            self._after_change()
        if self.game.over:
            self._owed_ms = 0  # nothing will come of it, and equal ends are to be equal states
        return self.game.over

    @property
    def clock_ms(self) -> int:
        """Game time since the start of the episode; 0 for a game that waits for its player."""
        return self._ticks * (self.game.tick_ms or 0)

    def refresh(self) -> None:
        """Show the present picture in the window, behind the GUI space."""
        if self.space == ActionSpace.GUI:
            self._on_screen(lambda screen: None)

    def observe(self) -> Views:
        """The frame: drawn by the engine, or grabbed from the screen that shows it."""
        return Views({}, {"frame": self._grab if self.space == ActionSpace.GUI else self.game.draw}, self)

    def facts(self) -> Facts:
        """The game's own; none once it is over, as a banner then hides a part of the picture."""
        return Facts() if self.game.over else self.game.facts()

    def milestones(self) -> frozenset[str]:
        """Milestones reached so far."""
        return frozenset(self._reached)

    def score(self) -> float:
        """The game's own score; its formula is in the game's docstring."""
        return self.game.score()

    def success(self) -> bool:
        """Whether the game is won."""
        return self.game.won

    def expert_action(self) -> Action:
        """The expert's move, or the next gesture of it behind the GUI space."""
        if self.space != ActionSpace.GUI:
            return self.game.expert()
        if not self._pending:
            self._pending = [self.action_space.parse(g) for g in self.game.gestures(self.game.expert())]
        return self._pending[0]

    def close(self) -> None:
        """End the private display, if there is one, and what the game holds open."""
        self._close_screen()
        self.game.close()

    def _close_screen(self) -> None:
        if self._desktop is not None:
            self._desktop.close()
            self._desktop = None
            self._shown = -1

    def _get_state(self) -> bytes:
        if not hasattr(self.game, "rng"):
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() before snapshot()")
        state = {
            "game": self.game.state(),
            "rng": self.game.rng.bit_generator.state,
            "reached": sorted(self._reached),
            "clock": [self._ticks, self._owed_ms],
        }
        return json.dumps(state, sort_keys=True).encode()

    def _set_state(self, state: bytes) -> None:
        rng = np.random.default_rng()
        try:
            saved = json.loads(state)
            rng.bit_generator.state = saved["rng"]
            self._reached = set(saved["reached"])
            self._ticks, self._owed_ms = (int(number) for number in saved["clock"])
            self.game.load(saved["game"])
        except (ValueError, TypeError, LookupError) as error:
            raise InvalidSnapshot(f"{self.task.id}: the snapshot's body is damaged: {error!r:.200}") from error
        self.game.rng = rng
        self._after_change()

    def _take(self, events: list[InputEvent], gesture: Any) -> str | None:
        """Give the game what its window received; its first refusal. What is held at the end is held meanwhile."""
        held = len(events)
        while self.game.tick_ms and held and events[held - 1].kind in _RELEASES:
            held -= 1
        refusals = [self.game.on_input(event) for event in events[:held]]
        self._let_pass(gesture)
        refusals += [self.game.on_input(event) for event in events[held:]]
        return next((reason for reason in refusals if reason), None)

    def _let_pass(self, action: Any) -> None:
        """The time of one step: ticks of a game with a clock, else one turn."""
        tick_ms = self.game.tick_ms
        ticks = max(1, -(-TAP_MS // tick_ms), getattr(action, "ms", 0) // tick_ms) if tick_ms else 1
        self._tick()  # the winning move takes its tick too
        for _ in range(ticks - 1):
            if self.game.over:
                break
            self._reached |= self.game.reached() & self._declared
            self._tick()

    def _tick(self) -> None:
        self.game.tick()
        if self.game.tick_ms:  # turns are no time, and the GUI may need several gestures for one of them
            self._ticks += 1
            if self.on_tick is not None:
                self.on_tick()

    def _after_change(self) -> None:
        self._reached |= self.game.reached() & self._declared
        self._pending = []
        self.moment += 1

    def _on_screen(self, use: Callable[[Desktop], T]) -> T:
        """Use the private desktop; after a failure it is gone, and the next use starts another.

        Raises:
            DisplayError: if the display failed.
        """
        try:
            return use(self._screen())
        except DisplayError:
            self._close_screen()
            raise

    def _screen(self) -> Desktop:
        """The private desktop, started on first use, showing the present moment."""
        if self._desktop is None:
            # Only who plays through the screen needs the libraries for it.
            from environments.desktop import Desktop

            self._desktop = Desktop(size=FRAME_SIZE, title=self.task.title)
        if self._shown != self.moment:
            self._desktop.show(self.game.draw())
            self._shown = self.moment
        return self._desktop

    def _grab(self) -> Frame:
        return self._on_screen(lambda screen: screen.grab())
