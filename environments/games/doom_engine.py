"""One ViZDoom process that can be sent to any moment of an episode, and never outlives its owner.

ViZDoom saves no exact state. An episode is the same whenever the same buttons follow the same start, so a moment
is named by its start and its runs of buttons, and reached again by replaying them: 20,000 tics a second, because
nothing is rendered on the way (measured; a rendered tic takes 0.8 ms).

What would make a picture depend on how often one has looked is off: the status bar's face, the weapon's bobbing,
the messages in the corner, particles and bullet holes use the time or the dice of the renderer.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import vizdoom

from environments.env import Frame
from environments.errors import EngineError

FRAME_SIZE = (640, 400)
"""Width and height of the engine's picture, in pixels."""
BUTTONS = ("forward", "back", "strafe_left", "strafe_right", "turn_left", "turn_right", "fire", "use")
"""What can be held; a mask has the bit 1 << i for the i-th."""
Runs = list[list[int]]
"""[mask, tics] in order of time."""
Ending = Literal["", "exit", "dead"]

_B, _V = vizdoom.Button, vizdoom.GameVariable
_ENGINE_BUTTONS = [
    *(_B.MOVE_FORWARD, _B.MOVE_BACKWARD, _B.MOVE_LEFT, _B.MOVE_RIGHT, _B.ATTACK, _B.USE, _B.SPEED),
    _B.TURN_LEFT_RIGHT_DELTA,
]
_FIRST_TICS = 12
"""Idle tics before an episode is the player's: the engine ignores what is held during the first eight."""
_ARMING_TICS = 40
"""Idle tics in which one weapon goes down and another comes up."""
_SLOW_TICS, _SLOW, _FAST = 6, 1.0, 4.0
"""A turn begins with a few slow tics (degrees per tic), so that a tap aims and a long hold turns around."""
_PREFIX = "arena-doom-"
_PATIENCE_S = 20.0
"""A call takes half a second at most, a long replay; after so many an engine that does not answer is ended."""
_FAILURES = (
    vizdoom.ViZDoomErrorException,
    vizdoom.ViZDoomUnexpectedExitException,
    vizdoom.ViZDoomIsNotRunningException,
    vizdoom.FileDoesNotExistException,
    vizdoom.SharedMemoryException,
    vizdoom.MessageQueueException,
)


@dataclass(frozen=True, slots=True)
class Start:
    """How an episode begins."""

    level: str
    """The map's name in its file, for example `E1M1`."""
    seed: int
    """The engine's dice."""
    turn: int = 0
    """Degrees that the player is turned to the left before the first moment."""
    wait: int = 0
    """Tics that pass before it: others on the map have moved on meanwhile."""


@functools.cache
def turned(tics: int) -> float:
    """Degrees that holding a turn key for so many tics turns the player."""
    return sum(_SLOW if tic < _SLOW_TICS else _FAST for tic in range(tics))


class Engine:
    """A ViZDoom process; it starts with the first `go` and ends with `close`, this object, or this process."""

    def __init__(
        self, wad: str, scenario: str | None = None, *, skill: int, sectors: bool = False, gifts: Sequence[str] = ()
    ) -> None:
        """Play the maps of `wad`, or those of `scenario` with the sprites of `wad`; both lie in the package.

        `skill` is Doom's own, 1 (easiest) to 5. It holds for the life of the engine: changed between episodes, as
        ViZDoom allows, it came out as another one than that asked for (measured: 5 played like 1).
        `sectors` asks the engine for the present heights of floors and ceilings. `gifts` are what the player is
        given before the first moment, by the engine's names for them, such as `chaingun` or `clip 50`, the weapon
        to hold first.

        Raises:
            ValueError: for another skill, or a gift that is no name with an amount.
        """
        self.wad = str(Path(vizdoom.root_path) / wad)
        self.scenario = str(Path(vizdoom.scenarios_path) / scenario) if scenario else None
        if not 1 <= skill <= 5:
            raise ValueError(f"skill: expected 1 to 5, got {skill}")
        if wrong := [gift for gift in gifts if not re.fullmatch(r"[a-z]+( [0-9]+)?", gift)]:
            raise ValueError(f"gifts: expected names such as 'chaingun' or 'clip 50', got {wrong[0]!r}")
        self.skill, self.gifts = skill, tuple(gifts)
        self._sectors = sectors
        self._doom: Any = None
        self._watch = _Watch(None)
        self._end: weakref.finalize[Any, Any] | None = None
        self._start: Start | None = None
        self._done: Runs = []
        self._ending: Ending = ""
        self._ended_after = 0

    def go(self, start: Start, runs: Runs) -> Ending:
        """Show the moment after `runs`, or the last one before the episode's end, and say how it ended.

        Goes on from where it is if it can, else replays from the start.

        Raises:
            EngineError: if the process died, did not answer, or could not be started. The next call starts another.
        """
        try:
            if self._doom is None:
                self._launch(start)
            with self._watch:
                way = self._rest(start, runs)
                if way is None:
                    self._begin(start)
                    way = runs, 0
                self._play(start, *way)
            self._done = [list(run) for run in runs]
        except _FAILURES as error:
            self.close()
            raise EngineError(f"the ViZDoom process failed on {start}: {type(error).__name__}: {error}") from error
        return self._ending

    @property
    def ended_after(self) -> int:
        """Tics of the runs at which the episode ended; 0 while it goes on."""
        return self._ended_after

    def frame(self) -> Frame:
        """The picture of the moment, (400, 640, 3) uint8, as a new array."""
        return np.array(self._doom.get_state().screen_buffer, dtype=np.uint8)

    def variable(self, name: str) -> float:
        """A variable of the game, by ViZDoom's name for it (`HEALTH`, `POSITION_X`, ...)."""
        return float(self._doom.get_game_variable(getattr(_V, name)))

    def objects(self) -> Sequence[Any]:
        """Every thing on the map, ViZDoom's `Object`: what an expert knows and no player."""
        return self._doom.get_state().objects or ()

    def heights(self) -> list[tuple[float, float]]:
        """Floor and ceiling of every sector now, in the order of the map's file."""
        return [(sector.floor_height, sector.ceiling_height) for sector in self._doom.get_state().sectors or ()]

    def close(self) -> None:
        """End the process and forget the moment; safe to repeat."""
        if self._end is not None:
            self._end()
        self._doom = self._end = self._start = None

    def _launch(self, start: Start) -> None:
        self.close()
        _sweep()
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
        doom = vizdoom.DoomGame()
        # Registered before the process exists: whatever happens in between, its end is certain.
        self._watch = _Watch(folder / "pid")
        self._end = weakref.finalize(self, _end, doom, folder, os.getpid(), self._watch)
        if sys.platform == "linux":
            doom.set_vizdoom_path(str(_leash(folder)))
        doom.set_doom_config_path(str(folder / "engine.ini"))
        doom.set_doom_game_path(self.wad)
        if self.scenario:
            doom.set_doom_scenario_path(self.scenario)
        doom.set_doom_map(start.level)
        doom.set_doom_skill(self.skill)
        doom.set_mode(vizdoom.Mode.PLAYER)
        doom.set_window_visible(False)
        doom.set_sound_enabled(False)
        doom.set_screen_resolution(vizdoom.ScreenResolution.RES_640X400)
        doom.set_screen_format(vizdoom.ScreenFormat.RGB24)
        doom.set_render_crosshair(True)
        for off in ("hud", "messages", "decals", "particles"):
            getattr(doom, f"set_render_{off}")(False)
        doom.add_game_args("+movebob 0 +stillbob 0")
        doom.set_objects_info_enabled(True)
        doom.set_sectors_info_enabled(self._sectors)
        doom.set_available_buttons(_ENGINE_BUTTONS)
        doom.set_episode_start_time(1)
        doom.set_episode_timeout(0)
        doom.set_seed(start.seed)
        with self._watch, _KeepSignals():
            doom.init()
        (folder / "owner").write_text(f"{os.getpid()} {doom.get_instance_id()}", encoding="ascii")
        self._doom = doom

    def _begin(self, start: Start) -> None:
        self._doom.set_doom_map(start.level)
        self._doom.set_seed(start.seed)
        self._doom.new_episode()
        self._start, self._done, self._ending, self._ended_after = start, [], "", 0
        if self.gifts:  # the weapon given is kept: no key changes it back when another is picked up
            self._doom.send_game_command("neverswitchonpickup 1")
            for gift in self.gifts:
                self._doom.send_game_command(f"give {gift}")
            self._advance(0, 0.0, 2, show=False)  # they are his from the next tic on
            self._doom.send_game_command(f"use {self.gifts[0]}")
            self._advance(0, 0.0, _ARMING_TICS, show=False)
        self._advance(0, 0.0, _FIRST_TICS + start.wait, show=False)
        self._advance(0, -float(start.turn), 1, show=True)

    def _rest(self, start: Start, runs: Runs) -> tuple[Runs, int] | None:
        """What is still to be played, and how much of its first run is done; None if that is not the way."""
        done = self._done
        if start != self._start or len(done) > len(runs):
            return None
        if not done:
            return runs, 0
        last = len(done) - 1
        if done[:last] != runs[:last] or runs[last][0] != done[last][0] or runs[last][1] < done[last][1]:
            return None
        return ([], 0) if self._ending else (runs[last:], done[last][1])

    def _play(self, start: Start, runs: Runs, offset: int) -> None:
        """Play runs, the first from its tic `offset` on; only the last tic is rendered."""
        played = sum(tics for _, tics in self._done)
        for number, (mask, tics) in enumerate(runs):
            for tic in range(0 if number else offset, tics):
                show = number == len(runs) - 1 and tic == tics - 1
                played += 1
                sign = (mask >> 5 & 1) - (mask >> 4 & 1)
                self._advance(mask, sign * (_SLOW if tic < _SLOW_TICS else _FAST), 1, show)
                if self._doom.is_episode_finished():
                    before = self._done[:-1] if offset else self._done
                    self._rewind_from_end(start, [*before, *runs[:number], [mask, tic]], played)
                    return

    def _rewind_from_end(self, start: Start, before: Runs, played: int) -> None:
        """Go back to the tic before the end: the engine shows nothing of an episode that is over."""
        ending: Ending = "dead" if self._doom.is_player_dead() else "exit"
        self._begin(start)
        self._play(start, [run for run in before if run[1]], 0)
        self._ending, self._ended_after = ending, played

    def _advance(self, mask: int, turn: float, tics: int, show: bool) -> None:
        held = [mask >> bit & 1 for bit in (0, 1, 2, 3, 6, 7)]
        self._doom.set_action([*held, 1, turn])
        self._doom.advance_action(tics, show)


class _Watch:
    """Ends an engine that does not answer: its owner's call then fails, as when the engine dies by itself.

    Entered around every call that waits for the engine. A thread of its own looks at the clock, because the call
    does not come back to do it; the engine notes its process id in a file when it starts.
    """

    def __init__(self, pid_file: Path | None) -> None:
        self._pid_file = pid_file
        self._since = math.inf
        self._over = threading.Event()
        if pid_file is not None:
            threading.Thread(target=self._look, name="doom-watch", daemon=True).start()

    def __enter__(self) -> None:
        self._since = time.monotonic()

    def __exit__(self, *_: object) -> None:
        self._since = math.inf

    def stop(self) -> None:
        """End the engine if it still runs, and the thread."""
        if not self._over.is_set():
            self._over.set()
            self._kill()

    def _look(self) -> None:
        while not self._over.wait(min(1.0, _PATIENCE_S / 4)):
            if time.monotonic() - self._since > _PATIENCE_S:
                self._over.set()
                self._kill()

    def _kill(self) -> None:
        if self._pid_file is None or not self._pid_file.exists():
            return
        pid = int(self._pid_file.read_text(encoding="ascii"))
        with contextlib.suppress(OSError):  # it has ended by itself
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
            if int(stat.rpartition(")")[2].split()[1]) == os.getpid():  # and its number is not yet another's
                os.kill(pid, signal.SIGKILL)


def _end(doom: Any, folder: Path, owner: int, watch: _Watch) -> None:
    """Close the engine and remove what it left on disk; in a forked child both still belong to its parent."""
    if os.getpid() == owner:
        watch.stop()  # the engine has nothing to save, and ViZDoom's `close` waits for ever for one that hangs
        with _KeepSignals():
            doom.close()
        shutil.rmtree(folder, ignore_errors=True)


def _leash(folder: Path) -> Path:
    """A program that becomes the engine: in its own folder, away from the terminal's Ctrl-C, and killed with us.

    Without it the engine of a process that was killed stays for ever (measured), and every engine leaves its
    configuration in the folder from which the player was started.
    """
    become = (
        "import ctypes, os, sys; os.chdir(sys.argv[1]); os.setsid(); ctypes.CDLL(None).prctl(1, 9);"
        " open('pid', 'w').write(str(os.getpid()));"
        " os.getppid() == int(sys.argv[2]) or sys.exit(1); os.execv(sys.argv[3], sys.argv[3:])"
    )
    script = folder / "vizdoom"
    command = [sys.executable, "-ISc", become, str(folder), str(os.getpid()), vizdoom.exe_path]
    script.write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n', encoding="utf-8")
    script.chmod(0o700)
    return script


def _sweep() -> None:
    """Remove what engines of killed processes left: their folder, and 11 MB of shared memory each."""
    for owner in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/owner"):
        try:
            pid, instance = owner.read_text(encoding="ascii").split()
            os.kill(int(pid), 0)
        except ProcessLookupError:
            for kind in ("MQCtr", "MQDoom", "SM"):
                Path(f"/dev/shm/ViZDoom{kind}{instance}").unlink(missing_ok=True)
            shutil.rmtree(owner.parent, ignore_errors=True)
        except (OSError, ValueError):  # another user's, or being removed by somebody else at this moment
            continue


class _KeepSignals:
    """Put back the handlers of SIGINT, SIGTERM and SIGABRT: ViZDoom's library may replace them while it works."""

    def __enter__(self) -> None:
        self._kept: list[tuple[int, Any]] = []
        if os.name == "posix":
            self._libc = ctypes.CDLL(None)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGABRT):
                action = ctypes.create_string_buffer(256)  # more than any platform's struct sigaction
                self._libc.sigaction(int(number), None, action)
                self._kept.append((int(number), action))

    def __exit__(self, *_: object) -> None:
        for number, action in self._kept:
            self._libc.sigaction(number, action, None)
