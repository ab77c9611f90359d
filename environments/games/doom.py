"""What the games on the Doom engine share: keys, time, exact return by replay, the picture with its panel."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from environments import drawing
from environments.drawing import Canvas, Colour
from environments.env import Frame
from environments.game import FRAME_SIZE, Game, InputEvent
from environments.games.doom_engine import BUTTONS, Engine, Runs, Start, turned

KEYS = {
    "up": "forward",
    "down": "back",
    "a": "strafe_left",
    "d": "strafe_right",
    "left": "turn_left",
    "right": "turn_right",
    "ctrl": "fire",
    "space": "use",
}
"""The key of each button."""
_KEY_OF = {button: key for key, button in KEYS.items()}
_GLANCE = 7
"""Tics between two looks at the engine's variables, 5 a second: a look costs a rendered picture."""
_VARIABLES = {
    "health": "HEALTH",
    "armour": "ARMOR",
    "ammo": "SELECTED_WEAPON_AMMO",
    "weapon": "SELECTED_WEAPON",
    "kills": "KILLCOUNT",
    "secrets": "SECRETCOUNT",
    "x": "POSITION_X",
    "y": "POSITION_Y",
    "z": "POSITION_Z",
    "damage": "DAMAGECOUNT",
}
_WEAPONS = ("fist", "fist", "pistol", "shotgun", "chaingun", "rockets", "plasma", "big gun")


class DoomAction(BaseModel):
    """Hold a combination of keys for `ms` milliseconds: walk, turn, step aside, and fire or use.

    move: "forward", "back" or "stay". turn: "left", "right" or "none"; a turn starts slowly, so that short ones aim:
    90 ms turn by 3 degrees, 180 by 6, 400 by 34, 700 by 78, 1000 by 118, 1500 by 186. step: "left", "right" or
    "none", sideways without turning. hands: "fire", "use" (doors and switches straight ahead, within reach) or
    "none". ms: 60 to 2000; walking for one second covers about ten times the width of a man.
    Example: {"move": "forward", "turn": "none", "step": "none", "hands": "fire", "ms": 600}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    move: Literal["forward", "back", "stay"] = "stay"
    turn: Literal["left", "right", "none"] = "none"
    step: Literal["left", "right", "none"] = "none"
    hands: Literal["fire", "use", "none"] = "none"
    ms: int = Field(ge=60, le=2000)

    def buttons(self) -> list[str]:
        """The buttons that it holds, at most four: as many as a hotkey has keys."""
        held: list[str] = []
        if self.move != "stay":
            held.append(self.move)
        if self.turn != "none":
            held.append(f"turn_{self.turn}")
        if self.step != "none":
            held.append(f"strafe_{self.step}")
        if self.hands != "none":
            held.append(self.hands)
        return held


class DoomGame(Game):
    """A level that is played at 35 tics a second by holding keys; games say how it begins and what counts.

    The state is the start, the runs of buttons so far, and `seen`: the facts that were read from the engine every
    fifth of a second and after every step. It never depends on when somebody looked at the picture.
    """

    Action: ClassVar[type[BaseModel]] = DoomAction
    tick_ms: ClassVar[int | None] = 29
    help_line: ClassVar[str] = "Arrow keys walk and turn.  A and D step aside.  Ctrl fires.  Space opens and uses."

    def __init__(self, engine: Engine) -> None:
        """Play on `engine`; its process starts with the first reset."""
        self.engine = engine
        self.start = Start("", 0)
        self.runs: Runs = []
        self.tics = 0
        self.held: list[str] = []
        """Buttons held now, in the order in which they went down."""
        self.seen: dict[str, Any] = {}
        self._fresh = False
        """Whether the next tic begins a run: a step has begun, or ended, since the last."""
        self._picture: Frame | None = None
        """What `draw` last made, while it is still true."""

    @abstractmethod
    def begin(self) -> Start:
        """Draw the start of an episode from `rng`."""

    @abstractmethod
    def notice(self, now: dict[str, Any]) -> None:
        """Take what counts from the variables `now` into `seen`; `seen["ending"]` is set before."""

    @abstractmethod
    def figures(self) -> list[tuple[str, str, Colour]]:
        """The cards of the panel beside the common ones: label, value, colour."""

    @abstractmethod
    def verdict(self) -> tuple[str, str]:
        """Headline and detail of the end."""

    def reset(self, rng: np.random.Generator) -> None:
        """Another start."""
        self.rng = rng
        self.start = self.begin()
        self.runs, self.tics, self.held, self.seen = [], 0, [], {}
        self._fresh = True
        self._look()

    def apply(self, action: DoomAction) -> str | None:
        """Hold the action's buttons; every combination is allowed."""
        self.held = action.buttons()
        self._fresh = True
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """The keys of `KEYS`, held as long as they are down; everything else means nothing."""
        button = KEYS.get(event.key)
        if event.kind == "key_down" and button and button not in self.held:
            self.held.append(button)
            self._fresh = True
        elif event.kind == "key_up" and button in self.held:
            self.held.remove(button)
            self._fresh = True
        return None

    def tick(self) -> None:
        """One tic, 1/35 of a second. Its buttons are noted; the engine plays them when it is asked."""
        if self.over:
            return
        mask = sum(1 << BUTTONS.index(button) for button in self.held)
        if self.runs and self.runs[-1][0] == mask and not (self._fresh and mask):
            self.runs[-1][1] += 1
        else:
            self.runs.append([mask, 1])
        self._fresh, self._picture = False, None
        self.tics += 1
        if self.tics % _GLANCE == 0:
            self._look()

    def release(self) -> None:
        """Let go of everything, and read what the step has changed."""
        self.held, self._fresh = [], True
        self._look()

    @property
    def over(self) -> bool:
        """The exit is reached, or the player is dead."""
        return bool(self.seen["ending"])

    @property
    def won(self) -> bool:
        """The exit is reached."""
        return bool(self.seen["ending"] == "exit")

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """Hold the keys of the action's buttons together, for its time."""
        parsed = DoomAction.model_validate(action)
        keys = [_KEY_OF[button] for button in parsed.buttons()]
        if not keys:
            return [{"verb": "wait", "ms": parsed.ms}]
        if len(keys) == 1:
            return [{"verb": "hold", "key": keys[0], "ms": parsed.ms}]
        return [{"verb": "hotkey", "keys": keys, "ms": parsed.ms}]

    def state(self) -> dict[str, Any]:
        """The start, what was held since, what has been seen: enough to play the same again."""
        start = [self.start.level, self.start.seed, self.start.turn, self.start.wait]
        runs = [list(run) for run in self.runs]
        return {"start": start, "runs": runs, "held": list(self.held), "fresh": self._fresh, "seen": _copy(self.seen)}

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned; the engine follows when it is asked.

        Raises:
            ValueError: for buttons or times that no play leads to.
        """
        level, seed, turn, wait = state["start"]
        runs = [[int(mask), int(tics)] for mask, tics in state["runs"]]
        if any(not 0 <= mask < 1 << len(BUTTONS) or tics < 1 for mask, tics in runs):
            raise ValueError(f"runs: expected masks below {1 << len(BUTTONS)} and at least one tic each")
        self.start, self.runs = Start(str(level), int(seed), int(turn), int(wait)), runs
        self.tics = sum(tics for _, tics in runs)
        self.held, self._fresh, self.seen = list(state["held"]), bool(state["fresh"]), _copy(state["seen"])
        self._picture = None

    def draw(self) -> Frame:
        """The engine's picture over a panel with the figures and the keys; the end as a banner."""
        if self._picture is None:
            self.engine.go(self.start, self.runs)
            self._picture = self._compose()
        return self._picture.copy()

    def aim(self, point: tuple[float, float], begin: tuple[float, float] | None = None) -> tuple[float, float]:
        """Distance to a point of the map, and the degrees to turn to face it, positive to the left.

        Seen from where the player is, or from `begin`. What experts use: the engine must stand at this moment.
        """
        x, y, angle = (self.engine.variable(name) for name in ("POSITION_X", "POSITION_Y", "ANGLE"))
        x, y = begin or (x, y)
        dx, dy = point[0] - x, point[1] - y
        return math.hypot(dx, dy), (math.degrees(math.atan2(dy, dx)) - angle + 180) % 360 - 180

    def close(self) -> None:
        """End the engine's process; the next use starts another."""
        self.engine.close()

    def _look(self) -> None:
        """Read the engine's variables of this moment."""
        if self.seen.get("tic") == self.tics:
            return  # looking twice changes nothing
        self.seen["tic"] = self.tics
        ending = self.engine.go(self.start, self.runs)
        self._picture = None  # its panel shows what is read now
        now = {name: self.engine.variable(variable) for name, variable in _VARIABLES.items()}
        self.seen["ending"] = ending
        self.seen["health"] = 0 if ending == "dead" else int(now["health"])
        for name in ("armour", "ammo", "weapon", "kills"):
            self.seen[name] = int(now[name])
        self.notice(now)

    def _compose(self) -> Frame:
        canvas = Canvas()
        canvas.picture(0, 0, self.engine.frame())
        self._draw_panel(canvas)
        if self.over:
            headline, detail = self.verdict()
            canvas.panel((90, 30, 550, 142), drawing.CARD, 16)
            canvas.panel((92, 32, 548, 140), drawing.GREEN if self.won else drawing.RED, 14)
            canvas.fitted(FRAME_SIZE[0] // 2, 70, headline, 36, 430, drawing.CARD)
            canvas.fitted(FRAME_SIZE[0] // 2, 113, detail, 17, 420, drawing.CARD)
        return canvas.frame()

    def _draw_panel(self, canvas: Canvas) -> None:
        weapon = _WEAPONS[self.seen["weapon"]] if 0 <= self.seen["weapon"] < len(_WEAPONS) else "gun"
        hurt = drawing.RED if self.seen["health"] <= 30 else drawing.INK
        cards = [
            ("Health", str(self.seen["health"]), hurt),
            ("Armour", str(self.seen["armour"]), drawing.INK),
            (weapon.capitalize(), "-" if weapon == "fist" else str(max(self.seen["ammo"], 0)), drawing.INK),
            *self.figures(),
        ]
        width, gap = FRAME_SIZE[0] - 2 * 8, 6
        side = (width - gap * (len(cards) - 1)) / len(cards)
        for index, (label, value, colour) in enumerate(cards):
            left = round(8 + index * (side + gap))
            canvas.panel((left, 405, round(left + side), 455), drawing.CARD, 6)
            canvas.text(left + 8, 408, label, 12, drawing.MUTED)
            canvas.fitted(left + side / 2, 439, value, 22, round(side) - 12, colour)
        canvas.text(FRAME_SIZE[0] // 2, 467, self.help_line, 13, drawing.MUTED, anchor="mm")


def turn_by(degrees: float) -> dict[str, Any]:
    """The fields of the action that turns nearest to so many degrees, positive to the left."""
    tics = min(range(3, 69), key=lambda tics: abs(turned(tics) - abs(degrees)))
    return {"turn": "left" if degrees > 0 else "right", "ms": tics * 29}


def _copy(seen: dict[str, Any]) -> dict[str, Any]:
    """A copy that later changes do not reach: values are JSON's, lists of numbers at most."""
    return {name: [*value] if isinstance(value, list) else value for name, value in seen.items()}
