"""What the teleoperation window offers: its controls, their keys, and where they are.

Directions are those of the picture, as a person in front of the robot would call them: `forward` goes into the
picture of the main camera, `left` is left in it, `up` is up. The window is `FRAME_SIZE` like every other window, so
that one vocabulary of gestures and one set of pixel bounds serve games and robots alike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from environments.drawing import Box

Kind = Literal["move", "turn", "level", "gripper", "step", "stop"]
Triple = tuple[float, float, float]
"""Along (or about) forward, left and up."""

HEADER: Box = (0, 0, 640, 42)
MAIN_VIEW: Box = (8, 46, 320, 358)
WRIST_VIEW: Box = (328, 46, 520, 238)
READ_OUTS: Box = (528, 46, 632, 238)
STATUS: Box = (8, 444, 632, 474)


@dataclass(frozen=True, slots=True)
class Control:
    """A button of the window and the key that does the same."""

    id: str
    kind: Kind
    label: str
    key: str
    """Name in the GUI vocabulary, shown on the button."""
    box: Box
    way: Triple = (0.0, 0.0, 0.0)
    """For `move` the direction, for `turn` the axis; for `gripper` the command is in the first place."""
    also: tuple[str, ...] = ()
    """More keys that do the same."""
    glyph: str = ""

    def contains(self, x: int, y: int) -> bool:
        """Whether a pixel belongs to the button."""
        left, top, right, bottom = self.box
        return left <= x < right and top <= y < bottom

    @property
    def centre(self) -> tuple[int, int]:
        """Where to click it."""
        left, top, right, bottom = self.box
        return (left + right) // 2, (top + bottom) // 2


@dataclass(frozen=True, slots=True)
class StepSize:
    """What one stroke of a direction does, and how fast a key that is held goes on."""

    id: str
    move_m: float
    turn_deg: float
    speed_m_s: float
    turn_deg_s: float


STEP_SIZES = {
    "fine": StepSize("fine", 0.01, 5.0, 0.05, 25.0),
    "coarse": StepSize("coarse", 0.05, 15.0, 0.20, 60.0),
}


def _pad(column: int, row: int) -> Box:
    left, top = 328 + 77 * column, 246 + 58 * row
    return left, top, left + 73, top + 54


def _bar(column: int, row: int) -> Box:
    left, top = 8 + 126 * column, 366 + 38 * row
    return left, top, left + 120, top + 34


CONTROLS = (
    Control("turn_left", "turn", "turn left", "q", _pad(0, 0), (0, 0, 1), glyph="↺"),
    Control("forward", "move", "forward", "w", _pad(1, 0), (1, 0, 0), ("up",), "↑"),
    Control("turn_right", "turn", "turn right", "e", _pad(2, 0), (0, 0, -1), glyph="↻"),
    Control("up", "move", "up", "r", _pad(3, 0), (0, 0, 1), ("pageup",), "▲"),
    Control("left", "move", "left", "a", _pad(0, 1), (0, 1, 0), ("left",), "←"),
    Control("back", "move", "back", "s", _pad(1, 1), (-1, 0, 0), ("down",), "↓"),
    Control("right", "move", "right", "d", _pad(2, 1), (0, -1, 0), ("right",), "→"),
    Control("down", "move", "down", "f", _pad(3, 1), (0, 0, -1), ("pagedown",), "▼"),
    Control("open", "gripper", "Open hand", "o", _bar(0, 0), (-1, 0, 0)),
    Control("close", "gripper", "Close hand", "c", _bar(1, 0), (1, 0, 0)),
    Control("fine", "step", "Fine 1 cm", "1", _bar(2, 0)),
    Control("coarse", "step", "Coarse 5 cm", "2", _bar(3, 0)),
    Control("stop", "stop", "Stop", "space", _bar(4, 0)),
    # Tilting is named by where the finger tips go. Seen from above, +forward turns them left, -left turns them forward.
    Control("tilt_forward", "turn", "Tilt forward", "i", _bar(0, 1), (0, -1, 0)),
    Control("tilt_back", "turn", "Tilt back", "k", _bar(1, 1), (0, 1, 0)),
    Control("tilt_left", "turn", "Tilt left", "j", _bar(2, 1), (1, 0, 0)),
    Control("tilt_right", "turn", "Tilt right", "l", _bar(3, 1), (-1, 0, 0)),
    Control("level", "level", "Level", "h", _bar(4, 1)),
)

BY_ID = {control.id: control for control in CONTROLS}
BY_KEY = {key: control for control in CONTROLS for key in (control.key, *control.also)}


def control_at(x: int, y: int) -> Control | None:
    """The button at a pixel of the window, if there is one."""
    return next((control for control in CONTROLS if control.contains(x, y)), None)
