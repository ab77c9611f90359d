"""The GUI space of robot tasks: a teleoperation window, so that whoever has a keyboard and a mouse drives the arm.

Gestures are real, as for games: PyAutoGUI presses on a private X display, the window reports what it received, and
only that moves the arm, through the same native action that a policy sends. World time passes only in gestures: a
stroke lasts until the hand has arrived, a held key as long as its `ms`, `wait` as long as its own, and nothing less
than a tap. The window is drawn, and its cameras are rendered, when somebody looks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from environments.actions.gui import GuiAction
from environments.actions.spec import TypedActions
from environments.env import Frame
from environments.errors import DisplayError, InvalidSnapshot
from environments.game import FRAME_SIZE, InputEvent
from environments.robots.skills import EpisodeOver
from environments.robots.teleop_controls import BY_ID, BY_KEY, STEP_SIZES, Control, control_at
from environments.robots.teleop_motion import (
    STEP_MS,
    Driver,
    Moved,
    Rig,
    levelling_turn,
    rotation_between,
    view_frame,
)
from environments.robots.teleop_window import Panel, draw, in_picture
from environments.robots.world import Vector

if TYPE_CHECKING:
    from environments.desktop import Desktop

T = TypeVar("T")
VIEW_PX = 312
"""Edge of the main view in the window: cameras rendered in this size need no scaling."""
MIN_STEPS = 2
"""Control steps that a gesture lasts at least: a tap of 60 ms in whole steps of 50 ms."""
STOP_STEPS = 4
MAX_STROKES = 20
"""Strokes that one gesture makes at most: a typed text is no way around the limit on steps."""
BLOCKED_M, BLOCKED_RAD = 0.004, math.radians(4)
"""A hand that ends farther from its goal has met something."""
_BIT_M = 0.015
"""How far a leaning hand goes at once along the line on which it points: then it is at most 1 cm beside it."""
_MOVES = (("back", "forward"), ("right", "left"), ("down", "up"))
_TURNS = (("tilt_right", "tilt_left"), ("tilt_forward", "tilt_back"), ("turn_right", "turn_left"))
"""Controls that turn about forward, left and up, the other way and this way."""
_STEADY_M, _EXACT_M = 0.005, 0.0025
"""The expert's tolerances: half a fine stroke; and what a held key can be timed to, if that was not enough."""


class Teleop:
    """The window of one robot environment: takes gestures, moves the arm, shows what there is to see.

    Args:
        rig: the robot's sensors, cameras and control step.
        title: of the window.
        instruction: the goal in words.
    """

    def __init__(self, rig: Rig, title: str, instruction: str) -> None:
        self._rig, self._title, self._instruction = rig, title, instruction
        self._driver = Driver(rig)
        self._frame = view_frame(rig.camera_axes(rig.main_camera))
        self._desktop: Desktop | None = None
        self.actions = TypedActions(GuiAction)
        """The action space."""
        self._size, self._steps = "fine", 0
        self._lit: set[str] = set()
        self._click: tuple[int, int] | None = None
        self._message, self._bad = "", False
        self.load(None)

    def reset(self) -> None:
        """Begin an episode: fine steps, nothing pressed. The display is replaced: nothing on it outlives an episode."""
        self.close()
        self.load(None)

    def step(self, gesture: Any) -> str | None:
        """Do one gesture on the display, and let its time pass.

        Args:
            gesture: validated, as `actions.load` returns it.

        Returns:
            The reason, if the window refused it; time has passed all the same.

        Raises:
            DisplayError: if the private display failed.
        """
        events = self._on_screen(lambda screen: screen.perform(gesture))
        return self.take(events, getattr(gesture, "ms", 0))

    def take(self, events: Sequence[InputEvent], ms: int) -> str | None:
        """What the window does with the events of one gesture that lasts `ms`; see `step`.

        Keys that are down together act together: once before one of them comes up, if another has gone down since.
        """
        self._steps += 1
        self._lit, self._click, self._message, self._bad = set(), None, "", False
        try:
            return self._play(events, ms)
        except EpisodeOver:
            self._say("The episode is over.")
            return None

    def _play(self, events: Sequence[InputEvent], ms: int) -> str | None:
        start = self._rig.control_steps
        reasons: list[str | None] = []
        down: dict[str, Control] = {}
        fresh = False  # whether a control went down since the last stroke
        for event in events:
            source = event.button or event.key.lower()
            if event.kind in ("key_down", "button_down"):
                if control := self._hit(event):
                    down[source], fresh = control, True
            elif event.kind in ("key_up", "button_up") and source in down:
                if fresh:
                    reasons.append(self._act(list(down.values()), ms, len(reasons)))
                fresh = False
                del down[source]
        if fresh:
            reasons.append(self._act(list(down.values()), ms, len(reasons)))
        passed = self._rig.control_steps - start
        rest = max(MIN_STEPS, 0 if reasons else ms // STEP_MS) - passed
        if rest > 0:
            self._driver.hold(rest)
        if not self._message:
            self._say(f"Waited {rest * STEP_MS} ms.")
        return next((reason for reason in reasons if reason), None)

    def draw(self, see: Callable[[str], Frame] | None = None, position: Vector | None = None) -> Frame:
        """The window as it is now, (480, 640, 3) uint8; renders both cameras.

        Args:
            see: what the cameras deliver instead of what they see.
            position: where the robot believes its hand to be, (3,) m, world frame.
        """
        rig = self._rig
        keys = (rig.main_camera, rig.wrist_camera)
        pictures = [(see or rig.picture)(key) for key in keys]
        ways = [in_picture(rig.camera_axes(key), self._frame) for key in keys]
        return draw(
            self._panel(rig.position if position is None else position), pictures[0], pictures[1], (ways[0], ways[1])
        )

    def grab(self, see: Callable[[str], Frame] | None = None, position: Vector | None = None) -> Frame:
        """Draw the window, put it on the display, and look at the screen: (480, 640, 3) uint8; see `draw`.

        Raises:
            DisplayError: if the private display failed.
        """
        picture = self.draw(see, position)
        self._on_screen(lambda screen: screen.show(picture))
        return self._on_screen(lambda screen: screen.grab())

    def state(self) -> dict[str, Any]:
        """What the window remembers, as JSON values. No key is held between gestures, so none is in it."""
        setpoint = self._driver.setpoint
        return {
            "size": self._size,
            "steps": self._steps,
            "lit": sorted(self._lit),
            "click": None if self._click is None else list(self._click),
            "message": self._message,
            "bad": self._bad,
            "setpoint": None if setpoint is None else [float(value) for value in setpoint],
        }

    def load(self, state: Mapping[str, Any] | None) -> None:
        """Put back what `state` returned; None is a window in which nothing has been done.

        Raises:
            InvalidSnapshot: for anything else.
        """
        saved: Mapping[str, Any] = state if state is not None else {
            "size": "fine", "steps": 0, "lit": [], "click": None, "setpoint": None, "bad": False,
            "message": "Press a key or click a button. Forward goes into the picture, left is left in it.",
        }  # fmt: skip
        try:
            size, steps, lit, click = str(saved["size"]), int(saved["steps"]), set(saved["lit"]), saved["click"]
            bad, message, setpoint = bool(saved["bad"]), str(saved["message"]), saved["setpoint"]
            place = None if click is None else (int(click[0]), int(click[1]))
            goal = None if setpoint is None else np.array(setpoint, np.float64).reshape(3)
            if size not in STEP_SIZES or not lit <= BY_ID.keys():
                raise ValueError(f"size {size!r}, lit {sorted(lit)}")
        except (KeyError, ValueError, TypeError, IndexError) as error:
            raise InvalidSnapshot(f"the teleoperation window's state is damaged: {error!r:.200}") from None
        self._size, self._steps, self._click = size, steps, place
        self._lit = lit
        self._bad, self._message = bad, message
        self._driver.setpoint = goal

    def gesture_towards(
        self, position: Vector, yaw_rad: float, gripper: float, leaning: Vector | None = None, *, into: bool = False
    ) -> dict[str, Any]:
        """The next gesture of somebody who wants the hand elsewhere, pointing down or leaning.

        Big errors are made good with a held key, small ones with a click. Who still wants the hand elsewhere when it
        is within half a stroke backs off by a click, and comes back with a key held for a little longer.

        Args:
            position: where the grip site should be, (3,) m, world frame.
            yaw_rad: turn still to make about the vertical, counter-clockwise from above.
            gripper: -1 open, +1 closed.
            leaning: how the hand should be turned if not straight down, (3, 3), world frame; `yaw_rad` is then unused.
            into: whether the hand goes straight to where it points, as around a bar, and must not leave that line.
        """
        rig, size = self._rig, STEP_SIZES[self._size]
        if self._size != "fine":
            return _click("fine")
        if leaning is None and float(np.linalg.norm(levelling_turn(rig.rotation))) > math.radians(8):
            return _click("level")
        if gripper != (rig.gripper_command or -1.0):
            return _click("close" if gripper > 0 else "open")
        turns = np.array([0.0, 0.0, yaw_rad])
        if leaning is not None:
            turns = self._frame.T @ rotation_between(rig.rotation, leaning)
        axis = int(np.argmax(np.abs(turns)))
        if abs(turns[axis]) > math.radians(size.turn_deg / 2):
            name = _TURNS[axis][int(turns[axis] > 0)]
            return _stroke(name, math.degrees(abs(turns[axis])), size.turn_deg, size.turn_deg_s)
        errors = self._frame.T @ (position - rig.position)
        if leaning is not None and into:
            pointing = self._frame.T @ leaning[:, 2]
            beside = errors - pointing * float(errors @ pointing)
            if float(np.abs(beside).max()) <= _STEADY_M:
                return self._onwards(errors, pointing)
            errors = beside
        # Up before sideways before down: whatever stands on the table is lower than a hand on its way.
        order = [2, 0, 1] if errors[2] > 0 else [*sorted((0, 1), key=lambda axis: -abs(errors[axis])), 2]
        for axis in order:
            if abs(errors[axis]) > _STEADY_M:
                return _stroke(_MOVES[axis][int(errors[axis] > 0)], abs(errors[axis]), size.move_m, size.speed_m_s)
        for axis in order:
            if abs(errors[axis]) > _EXACT_M:
                return _click(_MOVES[axis][int(errors[axis] < 0)])
        return {"verb": "wait", "ms": 200}

    def _onwards(self, errors: Vector, pointing: Vector) -> dict[str, Any]:
        """A bit of the way along a line: all keys at once whose directions lead along it about equally."""
        keys = [
            BY_ID[_MOVES[axis][int(pointing[axis] > 0)]].key
            for axis in range(3)
            if abs(pointing[axis]) > 0.6 * float(np.abs(pointing).max())
        ]
        length = min(_BIT_M, float(np.abs(errors).max()))
        ms = STEP_MS * round(1000 * length / STEP_SIZES["fine"].speed_m_s / STEP_MS)
        return (
            {"verb": "hotkey", "keys": keys, "ms": ms} if len(keys) > 1 else {"verb": "hold", "key": keys[0], "ms": ms}
        )

    def close(self) -> None:
        """End the private display, if there is one. Safe to repeat."""
        if self._desktop is not None:
            self._desktop.close()
            self._desktop = None

    def _hit(self, event: InputEvent) -> Control | None:
        """The control that a key or a button of the mouse went down on; says so if there is none."""
        if event.kind == "key_down":
            control = BY_KEY.get(event.key.lower())
            if control is None and event.key != "shift":  # which is but a part of a capital letter
                self._say(f"The key {event.key if event.key.isprintable() else '?'} does nothing here.")
            return control
        if event.button != "left":
            return None
        self._click = (event.x, event.y)
        control = control_at(event.x, event.y)
        if control is None:
            self._say(f"There is no button at ({event.x}, {event.y}).")
        return control

    def _act(self, controls: list[Control], ms: int, number: int) -> str | None:
        """One stroke, the `number`th of its gesture, of the controls that are down; the reason, if it is refused."""
        if number >= MAX_STROKES:
            reason = f"a gesture makes {MAX_STROKES} strokes at most"
            self._say(f"{reason.capitalize()}: the rest did nothing.", bad=True)
            return reason
        self._lit |= {control.id for control in controls}
        kinds = {control.kind for control in controls}
        if "stop" in kinds:
            self._driver.halt(max(STOP_STEPS, ms // STEP_MS))
            self._say("Stopped: the hand stays where it is.")
            return None
        for control in controls:
            if control.kind == "step":
                self._size = control.id
                size = STEP_SIZES[control.id]
                self._say(
                    f"{control.id.capitalize()} steps: {100 * size.move_m:.0f} cm and {size.turn_deg:.0f} degrees."
                )
            elif control.kind == "gripper":
                self._driver.grip(control.way[0])
                said = "closed" if control.way[0] > 0 else "opened"
                self._say(f"Gripper {said}: {100 * self._rig.width_m:.1f} cm between the fingers.")
        if kinds & {"move", "turn", "level"}:
            return self._move([control for control in controls if control.kind in ("move", "turn", "level")], ms)
        return None

    def _move(self, controls: list[Control], ms: int) -> str | None:
        size, rig = STEP_SIZES[self._size], self._rig
        way = self._sum(controls, "move") * max(size.move_m, size.speed_m_s * ms / 1000)
        angle = math.radians(max(size.turn_deg, size.turn_deg_s * ms / 1000))
        turn = self._frame @ (self._sum(controls, "turn") * angle)
        tilt = levelling_turn(rig.rotation) if any(control.kind == "level" for control in controls) else np.zeros(3)
        wanted = self._frame @ way
        low, high = (np.array(corner) for corner in rig.workspace)
        base = self._driver.base()
        # A hand that is outside already may come back, and may not go farther out.
        shift = np.clip(base + wanted, np.minimum(low, base), np.maximum(high, base)) - base
        if way.any() and float(np.linalg.norm(shift)) < 1e-3 and not (turn.any() or tilt.any()):
            reason = f"at the edge of the workspace: no farther {_words(controls)}"
            self._say(reason[0].upper() + reason[1:] + ".", bad=True)
            return reason
        here = rig.position
        least_ms = 1000 * max(
            float(np.abs(shift).max()) / size.speed_m_s, float(np.linalg.norm(tilt + turn)) / math.radians(60)
        )
        moved = self._driver.go(shift, tilt if tilt.any() else turn, max(ms, math.ceil(least_ms)))
        self._report(controls, wanted, shift, here, moved)
        return None

    def _report(self, controls: list[Control], wanted: Vector, shift: Vector, here: Vector, moved: Moved) -> None:
        length = float(np.linalg.norm(wanted))
        words = _words(controls).capitalize()
        if length:
            done = float((self._rig.position - here) @ wanted) / length
            words += f": moved {100 * done:.1f} cm"
        if moved.left_m > BLOCKED_M or moved.left_rad > BLOCKED_RAD:
            what = f" of {100 * length:.1f} cm" if length else ", the turn was not finished"
            self._say(f"Blocked. {words}{what}.", bad=True)
        elif length and not np.allclose(shift, wanted, atol=1e-6):
            self._say(f"{words}, to the edge of the workspace.", bad=True)
        else:
            self._say(f"{words}.")

    def _sum(self, controls: list[Control], kind: str) -> Vector:
        """The directions of the controls of one kind together, (3,) along forward, left and up."""
        ways = {control.id: control.way for control in controls if control.kind == kind}
        total = np.zeros(3)
        for way in ways.values():
            total += way
        return total

    def _say(self, message: str, *, bad: bool = False) -> None:
        self._message, self._bad = message, bad

    def _panel(self, position: Vector) -> Panel:
        rig = self._rig
        forward, left, up = (100 * float(value) for value in self._frame.T @ (position - np.array(rig.origin)))
        return Panel(
            instruction=self._instruction,
            step=self._steps,
            time_s=rig.control_steps * STEP_MS / 1000,
            position_cm=(forward, left, up),
            width_cm=100 * rig.width_m,
            closing=rig.gripper_command > 0,
            size=self._size,
            lit=frozenset(self._lit),
            click=self._click,
            message=self._message,
            bad=self._bad,
        )

    def _on_screen(self, use: Callable[[Desktop], T]) -> T:
        """Use the private desktop; after a failure it is gone, and the next use starts another."""
        if self._desktop is None:
            # Only who plays through the screen needs the libraries for it.
            from environments.desktop import Desktop

            self._desktop = Desktop(size=FRAME_SIZE, title=self._title)
        try:
            return use(self._desktop)
        except DisplayError:
            self.close()
            raise


def _click(name: str) -> dict[str, Any]:
    x, y = BY_ID[name].centre
    return {"verb": "click", "x": x, "y": y, "button": "left", "count": 1}


def _stroke(name: str, error: float, step: float, speed: float) -> dict[str, Any]:
    """A click for one step or less, else the key held for as long as the error needs, in whole control steps."""
    if error < 1.1 * step:
        return _click(name)
    return {"verb": "hold", "key": BY_ID[name].key, "ms": min(2000, STEP_MS * round(1000 * error / speed / STEP_MS))}


def _words(controls: list[Control]) -> str:
    return " and ".join(dict.fromkeys(control.label.lower() for control in controls))
