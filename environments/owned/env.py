"""A title that somebody owns as an environment: a region of their own screen, their own keyboard and mouse."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
import time
from typing import Any, ClassVar, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from environments.actions.gui import GuiAction
from environments.actions.spec import Action, TypedActions
from environments.env import ArenaEnv, Frame, Views
from environments.errors import DisplayError, Irreversible, NoExpert, PersonTookOver
from environments.owned.letterbox import FRAME_SIZE
from environments.owned.process import WorkerProcess
from environments.owned.profile import Profile
from environments.task import ActionSpace, Task

log = logging.getLogger(__name__)

READY = "ARENA_OWNED_READY"
"""What counts as the person's sign: `switch` (see `OwnedEnv`) or `front`."""
WAIT = "ARENA_OWNED_WAIT_S"
"""How long to wait for the sign, in seconds."""
Sign = Literal["switch", "front"]
_LOOK_S = 0.2
_SPARE_S = 20.0
"""How much longer than its gesture a step may take before the desktop counts as hung, in seconds."""
_OF_THE_DESKTOP = frozenset({"tab", "esc", "space", *(f"f{number}" for number in range(1, 13))})
"""With Alt, these switch windows, close them or open the desktop's own menus."""
_MODIFIERS = {"altleft": "alt", "altright": "alt", "ctrlleft": "ctrl", "ctrlright": "ctrl"}


def make_owned(task: Task, space: ActionSpace) -> OwnedEnv:
    """Build the environment of a profile; nothing on the desktop is touched before `reset`.

    Raises:
        DisplayError: if the profile names no window for this platform.
    """
    profile = Profile.model_validate(task.params["profile"])
    if not profile.windows.on(sys.platform):
        raise DisplayError(f"{task.id}: the profile names no window on {sys.platform}; add one under `windows`")
    return OwnedEnv(task, space, profile)


class OwnedEnv(ArenaEnv):
    """A commercial title on the desktop of the person who owns it, played through its window.

    The person starts the title and leads it to where the task begins. `reset` says so, and waits for their sign: the
    game's window comes to the front after another one was there (`switch`), so that an episode never begins in the
    state in which the last one ended; or, for those who restart the title by a script of their own, it is in front at
    all (`front`). A profile whose `reset` gestures lead back to the start needs the sign for the first episode only.

    The title runs in real time, always: while the player thinks too. A step does one gesture, waits `settle_ms`, and
    takes the picture. Nothing of a title's state can be known, so `score` is 0, `milestones` are none, and progress is
    judged by who looks at the frames; nor can it be copied or taken back. Seeds mean nothing to it.

    The person stops everything by moving the pointer into a corner of the screen, or by bringing another window to
    the front: every key is released, and the episode ends unscored. After that the sign is `switch` in any case:
    nothing takes the screen back from somebody who has just pulled the brake.

    Args:
        task: the task of the profile.
        space: `gui`, the only one.
        profile: what is known of the title.
        sign: what counts as the person's sign; by default ARENA_OWNED_READY, or else `switch`.
        wait_s: how long to wait for it, in seconds; by default ARENA_OWNED_WAIT_S, or else 180.
        countdown_s: how long the window must have been in front before the hands move, in seconds.
    """

    reversible = False
    action_space: TypedActions
    _stopped: ClassVar[bool] = False
    """Whether the brake was the last that this process heard of the person. Of the class: an episode that is run again
    gets a new environment."""

    def __init__(
        self,
        task: Task,
        space: ActionSpace,
        profile: Profile,
        *,
        sign: Sign | None = None,
        wait_s: float | None = None,
        countdown_s: float = 3.0,
    ) -> None:
        super().__init__(task, space)
        self.profile = profile
        width, height = FRAME_SIZE
        self.observation_space = spaces.Dict({"frame": spaces.Box(0, 255, (height, width, 3), np.uint8)})
        self.action_space = TypedActions(GuiAction)
        self._sign = _sign() if sign is None else sign
        self._wait_s = _wait_s() if wait_s is None else wait_s
        self._countdown_s = countdown_s
        self._worker: WorkerProcess | None = None
        self._at_start = False
        """Whether the window is in the arena's hands, so that the profile's own gestures can lead back."""
        self._frame: Frame | None = None
        self._seen_at = self._began_at = 0.0
        self._owed_s = 0.0

    @property
    def main_view(self) -> str:
        """The only view, `frame`: the window's client area, as large as fits, on black."""
        return "frame"

    @property
    def clock_ms(self) -> int:
        """Wall time since the episode began, in milliseconds."""
        return int((time.monotonic() - self._began_at) * 1000) if self._began_at else 0

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Wait until the person has led the title to its start, and take the first picture. The seed has no effect.

        Raises:
            DisplayError: if the desktop cannot be used, or the sign does not come in time.
            PersonTookOver: if the person stops the profile's reset gestures.
        """
        super().reset(seed=seed)
        if not (self._at_start and self.profile.reset and self._in_front()):
            self._wait_for_the_person()
        self._at_start = False
        for gesture in self.profile.reset:
            if reason := self._do(gesture.model_dump(mode="json")):
                raise DisplayError(f"{self.task.id}: the reset gesture {gesture.root!r} cannot be done: {reason}")
        self._began_at = time.monotonic()
        self._look()
        return self.observe(), {"illegal": None}

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Do a gesture, let the title answer it, and take the picture; the reward is always 0.

        A combination of keys that belongs to the desktop, a point in the black bars and a character without a key are
        refused as `illegal`: nothing is done then, and time passes all the same.

        Raises:
            InvalidAction: for an action that the schema refuses; nothing has happened then.
            PersonTookOver: if the person stopped the hands.
            DisplayError: if the window or the desktop is gone.
            ResetNeeded: Gymnasium's, before the first `reset`.
        """
        if self._frame is None and not self._began_at:
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() before step()")
        illegal = self._do(self.action_space.parse(action))
        self._look()
        return self.observe(), 0.0, False, False, {"illegal": illegal}

    def advance(self, ms: int) -> bool:
        """See to it that `ms` milliseconds more have passed since the last picture; the title did not wait for them."""
        self._owed_s += ms / 1000
        time.sleep(max(0.0, self._seen_at + self._owed_s - time.monotonic()))
        self._frame = None
        self.moment += 1
        return False

    def observe(self) -> Views:
        """The window as it was when the step ended; after `advance`, as it is now."""
        return Views({}, {"frame": self._grab}, self)

    def milestones(self) -> frozenset[str]:
        """None: only who looks at the frames can tell."""
        return frozenset()

    def score(self) -> float:
        """0: a title tells nothing that a score could be made of; the judged milestones are its measure."""
        return 0.0

    def success(self) -> bool:
        """False: nobody but a judge can tell."""
        return False

    def expert_action(self) -> Action:
        """Not offered.

        Raises:
            NoExpert: always.
        """
        raise NoExpert(f"{self.task.id} has no scripted expert; play it with `random`, a model or a person")

    def state_hash(self) -> str:
        """SHA-256 of the last picture: all that can be known."""
        return hashlib.sha256(self._grab().tobytes()).hexdigest()

    def close(self) -> None:
        """Let go of the desktop; the title runs on."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
        self._at_start = False

    def snapshot(self) -> bytes:
        """Not possible.

        Raises:
            Irreversible: always.
        """
        raise self._irreversible()

    def restore(self, snapshot: bytes) -> Views:
        """Not possible.

        Raises:
            Irreversible: always.
        """
        raise self._irreversible()

    def _get_state(self) -> bytes:
        raise self._irreversible()

    def _set_state(self, state: bytes) -> None:
        raise self._irreversible()

    def _irreversible(self) -> Irreversible:
        return Irreversible(
            f"{self.task.id} is {self.profile.title} on a person's desktop, whose state cannot be taken or put back;"
            " play the episode again from its start"
        )

    def _desk(self) -> WorkerProcess:
        if self._worker is None:
            self._worker = WorkerProcess()
        return self._worker

    def _look_for_window(self) -> dict[str, Any]:
        seen: dict[str, Any] = self._desk().ask("look for", titles=list(self.profile.windows.on(sys.platform)))[0]
        return seen

    def _in_front(self) -> bool:
        seen = self._look_for_window()
        return bool(seen["active"]) and not seen["problem"] and not seen["cornered"]

    def _wait_for_the_person(self) -> None:
        """Say what is to be done, and wait until it is.

        Nothing is read from standard input: a worker process has none, and the person is about to leave the terminal.
        """
        front = self._sign == "front" and not OwnedEnv._stopped
        log.warning(
            "%s: %s Then %s; play begins %g s later. To stop it, move the pointer into a corner of the screen, or bring"
            " another window to the front.",
            self.profile.title,
            self.profile.launch,
            "its window is taken to the front"
            if front
            else "bring its window to the front (if it is, go elsewhere and come back)",
            self._countdown_s,
        )
        deadline = time.monotonic() + self._wait_s
        away, since = front, None
        while True:
            seen = self._look_for_window()
            if front and not seen["problem"] and not seen["active"]:
                self._desk().ask("activate")
            away = away or not seen["active"]
            good = away and seen["active"] and not seen["problem"] and not seen["cornered"]
            now = time.monotonic()
            since = (since or now) if good else None
            if since is not None and now - since >= self._countdown_s:
                OwnedEnv._stopped = False
                return
            if now > deadline:
                raise DisplayError(
                    f"{self.task.id}: no sign to begin within {self._wait_s:g} s: {_why_not(seen, away)}"
                )
            time.sleep(_LOOK_S)

    def _do(self, gesture: dict[str, Any]) -> str | None:
        """Do a gesture with the title's keys; the reason if that cannot be."""
        profile = self.profile
        gesture = _with_keys(gesture, profile)
        reason = _of_the_desktop(gesture)
        if reason is not None:
            gesture = {"verb": "wait", "ms": 0}
        lasting_s = (
            gesture.get("ms", 0) + profile.settle_ms + 2 * profile.tap_ms * len(gesture.get("text", "x"))
        ) / 1000
        try:
            refused, _ = self._desk().ask(
                "gesture",
                gesture=gesture,
                tap_s=profile.tap_ms / 1000,
                settle_s=profile.settle_ms / 1000,
                timeout_s=lasting_s + _SPARE_S,
            )
        except PersonTookOver:
            self._at_start, OwnedEnv._stopped = False, True
            raise
        return reason or refused

    def _look(self) -> None:
        """Take the picture of this moment now: the title goes on while nobody looks."""
        self._frame = None
        self.moment += 1
        self._grab()
        self._at_start = True

    def _grab(self) -> Frame:
        if self._frame is None:
            if not self._began_at:
                raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() first")
            width, height = FRAME_SIZE
            pixels = self._desk().ask("grab")[1]
            self._frame = np.frombuffer(pixels, np.uint8).reshape(height, width, 3)
            self._seen_at, self._owed_s = time.monotonic(), 0.0
        return self._frame.copy()


def _with_keys(gesture: dict[str, Any], profile: Profile) -> dict[str, Any]:
    """The gesture with the title's keys in place of the vocabulary's."""
    names = {str(key): str(other) for key, other in profile.key_map.items()}
    if "key" in gesture:
        return {**gesture, "key": names.get(gesture["key"], gesture["key"])}
    if "keys" in gesture:
        return {**gesture, "keys": [names.get(key, key) for key in gesture["keys"]]}
    return gesture


def _of_the_desktop(gesture: dict[str, Any]) -> str | None:
    """Why a combination of keys is refused: it would leave the game's window, close it, or reach the system."""
    keys = {_MODIFIERS.get(key, key) for key in gesture.get("keys", ())}
    if {"ctrl", "alt"} <= keys or {"ctrl", "esc"} <= keys or ("alt" in keys and keys & _OF_THE_DESKTOP):
        return "this combination of keys belongs to the desktop, not to the game"
    return None


def _why_not(seen: dict[str, Any], away: bool) -> str:
    if seen["problem"]:
        return str(seen["problem"])
    if not seen["active"]:
        return f"the window {seen['title']!r} is open, but another one is in front"
    if seen["cornered"]:
        return "the pointer is in a corner of the screen"
    if not away:
        return f"{seen['title']!r} was in front all the time; go elsewhere, and come back when it is at its start"
    return "it was not in front for long enough"


def _sign() -> Sign:
    given = os.environ.get(READY, "switch")
    if given not in ("switch", "front"):
        raise DisplayError(f"{READY}={given!r}: expected 'switch' or 'front'")
    return "front" if given == "front" else "switch"


def _wait_s() -> float:
    given = os.environ.get(WAIT, "180")
    try:
        seconds = float(given)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86_400:
        raise DisplayError(f"{WAIT}={given!r}: expected seconds from 0 to 86400")
    return seconds
