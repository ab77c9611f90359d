"""What games on ale-py share: the emulator frame by frame, its exact state, its screen, the joystick.

Built on the emulator's own interface. Its Gymnasium environments skip frames, repeat actions at random and keep
no state that survives in another process.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any, ClassVar

import ale_py
import numpy as np
from ale_py import roms

from environments import drawing
from environments.drawing import Box, Canvas, Colour
from environments.env import Frame
from environments.game import Game, InputEvent

FRAME_MS = 17
"""Game time of one picture of the television, in milliseconds (60 a second)."""

Stick = tuple[int, int, bool]
"""Right minus left, down minus up, and whether the button is held."""
CENTRED: Stick = (0, 0, False)

_SCALE = (3, 2)
"""Screen pixels per pixel of the television: its pixels are wider than high."""
_SCREEN_TOP = 30
SCREEN: Box = (6, 6, 474, 474)
"""The television, for the banner of the end."""
_SIDE_LEFT, _SIDE_RIGHT = 494, 626
_ARROWS = {"left": (-1, 0), "right": (1, 0), "up": (0, -1), "down": (0, 1)}
_NAMES = {(0, 0): "", (-1, 0): "LEFT", (1, 0): "RIGHT", (0, -1): "UP", (0, 1): "DOWN", (-1, -1): "UPLEFT",
          (1, -1): "UPRIGHT", (-1, 1): "DOWNLEFT", (1, 1): "DOWNRIGHT"}  # fmt: skip


def code(stick: Stick) -> int:
    """The emulator's number for a position of the joystick."""
    name = _NAMES[stick[0], stick[1]] + ("FIRE" if stick[2] else "")
    return int(getattr(ale_py.Action, name or "NOOP").value)


class Emulator:
    """One console with one cartridge. Nothing in it depends on time or on another console.

    A state of the emulator does not hold the picture, which is drawn anew with each frame. So `save` gives the
    state before the last two frames, and what the joystick did in them: `load` plays them again, and all is as it
    was, the picture too.
    """

    def __init__(self, rom: str) -> None:
        """Load the cartridge that ale-py ships under this name."""
        ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
        self._ale = ale_py.ALEInterface()
        self._ale.setInt("random_seed", 1)
        self._ale.setFloat("repeat_action_probability", 0.0)
        self._ale.setBool("truncate_on_loss_of_life", False)
        self._ale.loadROM(roms.get_rom_path(rom))
        self._boot = self._ale.cloneState()
        self._state_size = len(self._boot.serialize())
        self._tail: list[tuple[Any, int]] = []
        """The last two frames: the state before, and the joystick's code."""
        self._screens = [self._ale.getScreenRGB()] * 2

    def boot(self, mode: int = 0) -> None:
        """Switch the console off and on, with one of the cartridge's own variants of the game."""
        self._ale.restoreState(self._boot)
        self._ale.setMode(mode)
        self._ale.reset_game()
        self._tail = []
        for _ in range(2):
            self.frame(0)

    def frame(self, joystick: int) -> None:
        """Play one frame."""
        self._tail = [*self._tail[-1:], (self._ale.cloneState(), joystick)]
        self._ale.act(joystick)
        self._screens = [self._screens[-1], self._ale.getScreenRGB()]

    def run(self, joystick: int, frames: int) -> None:
        """Play frames without keeping what `save` and `picture` need: for looking ahead."""
        for _ in range(frames):
            self._ale.act(joystick)

    def mark(self) -> Any:
        """The present state, for `rewind` in any emulator of the same cartridge."""
        return self._ale.cloneState()

    def rewind(self, mark: Any) -> None:
        """Put back a state that `mark` returned; the picture follows with the next frame."""
        self._ale.restoreState(mark)

    def save(self) -> dict[str, Any]:
        """The exact state, as JSON values."""
        engine = self._tail[0][0].serialize()
        return {
            "engine": base64.b64encode(engine).decode("ascii"),
            "check": _check(engine),
            "joystick": [joystick for _, joystick in self._tail],
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `save` returned, the picture included.

        Raises:
            ValueError: if the text is not such a state, or the joystick has other than two positions of 0 to 17.
        """
        sticks = [int(joystick) for joystick in state["joystick"]]
        if len(sticks) != 2 or not all(0 <= joystick < len(ale_py.Action.__members__) for joystick in sticks):
            # The emulator ends the whole process for a position that it does not know.
            raise ValueError(f"joystick: expected two positions of 0 to 17, got {sticks!r:.80}")
        engine = base64.b64decode(state["engine"], validate=True)
        if len(engine) != self._state_size or _check(engine) != state["check"]:
            # The emulator believes every length that it reads: a damaged state costs gigabytes, or the process.
            raise ValueError("engine: not a state of this cartridge's emulator, or damaged")
        try:
            self._ale.restoreState(ale_py.ALEState(engine))
        except (RuntimeError, SystemError) as error:  # the second where the binding cannot translate the first
            raise ValueError("engine: not a state of this cartridge's emulator") from error
        self._tail = []
        for joystick in sticks:
            self.frame(joystick)

    @property
    def ram(self) -> Frame:
        """The console's 128 bytes, (128,) uint8."""
        memory: Frame = self._ale.getRAM()
        return memory

    @property
    def lives(self) -> int:
        """Lives that are left."""
        return int(self._ale.lives())

    @property
    def ended(self) -> bool:
        """Whether the console's game is over."""
        return bool(self._ale.game_over())

    def picture(self) -> Frame:
        """The television, (210, 160, 3) uint8: the brighter of the last two frames, as the eye sees it.

        Several games draw a part of their sprites in every other frame only.
        """
        return np.maximum(*self._screens)


def _check(engine: bytes) -> str:
    """A sum that tells damage; it is no proof against somebody who forges states."""
    return hashlib.sha256(engine).hexdigest()


class AtariGame(Game):
    """A game on the console: the joystick is what the keys or the action hold, the truth is in the memory."""

    tick_ms: ClassVar[int | None] = FRAME_MS
    ROM: ClassVar[str]
    TITLE: ClassVar[str]
    HELP: ClassVar[tuple[str, ...]]
    """Lines of help, up to 17 characters each."""

    def __init__(self) -> None:
        """Switch the console on."""
        self.console = Emulator(self.ROM)
        self._scout: Emulator | None = None
        self._keys: list[str] = []
        """Keys that are down, the last one last; empty between steps."""
        self._stick = CENTRED
        """What a semantic action holds; centred between steps."""
        self._drawn: Canvas | None = None

    @property
    def scout(self) -> Emulator:
        """A second console, for an expert who tries things out."""
        if self._scout is None:
            self._scout = Emulator(self.ROM)
        return self._scout

    def hold(self, stick: Stick) -> None:
        """Hold the joystick so until the end of the step."""
        self._stick = stick

    def on_input(self, event: InputEvent) -> str | None:
        """The arrow keys are the joystick, space is its button; of two opposite keys the later one counts."""
        if event.kind == "key_up" and event.key in self._keys:
            self._keys.remove(event.key)
        elif event.kind == "key_down" and event.key in (*_ARROWS, "space") and event.key not in self._keys:
            self._keys.append(event.key)
        return None

    def tick(self) -> None:
        """One frame."""
        if not self.over:
            self.console.frame(code(self._held()))

    def release(self) -> None:
        """Let go of the joystick."""
        self._keys, self._stick = [], CENTRED

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """The keys of the action's joystick held together, or none of them, for the action's time."""
        across, along, fire = self.stick_of(action)
        keys = [key for key, (dx, dy) in _ARROWS.items() if (dx and dx == across) or (dy and dy == along)]
        keys += ["space"] if fire else []
        match keys:
            case []:
                return [{"verb": "wait", "ms": action["ms"]}]
            case [key]:
                return [{"verb": "hold", "key": key, "ms": action["ms"]}]
        return [{"verb": "hotkey", "keys": keys, "ms": action["ms"]}]

    def stick_of(self, action: dict[str, Any]) -> Stick:
        """The joystick's position in a semantic action."""
        raise NotImplementedError

    def screen(self, figures: Sequence[tuple[str, str]]) -> Canvas:
        """The television and beside it the name, up to three figures (label, value) and the help."""
        canvas = self._backdrop().copy()
        picture = self.console.picture().repeat(_SCALE[1], axis=0).repeat(_SCALE[0], axis=1)
        canvas.picture(0, _SCREEN_TOP, picture)
        for row, (label, value) in enumerate(figures):
            y = 92 + 72 * row
            canvas.panel((_SIDE_LEFT, y, _SIDE_RIGHT, y + 62), drawing.CARD, 8)
            canvas.text(_SIDE_LEFT + 12, y + 9, label, 13, drawing.MUTED)
            canvas.text(_SIDE_LEFT + 12, y + 26, value, 22 if len(value) <= 9 else 16, bold=True)
        return canvas

    def _held(self) -> Stick:
        if not self._keys:
            return self._stick
        across, along = 0, 0
        for key in self._keys:
            dx, dy = _ARROWS.get(key, (0, 0))
            across, along = dx or across, dy or along
        return across, along, "space" in self._keys

    def _backdrop(self) -> Canvas:
        if self._drawn is None:
            self._drawn = _side(self.TITLE, self.HELP)
        return self._drawn


def _side(title: str, lines: Sequence[str]) -> Canvas:
    canvas = Canvas()
    black: Colour = (0, 0, 0)
    canvas.panel((0, 0, 480, 480), black)
    words = title.split("\n")
    size = 22 if max(map(len, words)) <= 9 else 17
    for index, word in enumerate(words):
        canvas.text(_SIDE_LEFT, 20 + 28 * index, word, size, bold=True)
    canvas.panel((_SIDE_LEFT, 80, _SIDE_RIGHT, 83), drawing.TEAL)
    for index, line in enumerate(lines):
        canvas.text(_SIDE_LEFT, 462 - 18 * (len(lines) - index), line, 13, drawing.MUTED)
    return canvas
