"""What the arena knows of an installed program: how to start it, to see it, to stop it, and what it needs."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from environments.desktop.clock import SYSTEM_PACKAGE, environment, find_library
from environments.desktop.launch import Launch

SEARCH_PATH = os.pathsep.join(("/usr/local/bin", "/usr/bin", "/bin", "/usr/local/games", "/usr/games"))
"""Where programs are looked for, and what they get as PATH. Debian's games lie where root does not look."""
EPOCH = 2_051_222_400
"""Where the programs' clocks begin: 2035-01-01 00:00 UTC, and a minute later for each seed. A clock can only be set
forward (`environments.desktop.clock`), and a program that is seeded by its clock gets the same dice again."""
_DAY_MINUTES = 60 * 24
_SEED = re.compile(r"\{seed(?:%(\d+))?(?:\+(\d+))?\}")


class Program(BaseModel):
    """One program of somebody else's, in one setting.

    `{seed}`, `{home}` and `{scratch}` in arguments, environment and files stand for the episode's seed, its private
    home and the folder around that; `{seed%70+1}` is a number from 1 to 70 for programs with as many levels.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    executable: str
    """Name of the program, found in `SEARCH_PATH`."""
    packages: tuple[str, ...]
    """What to install with apt-get."""
    arguments: tuple[str, ...] = ()
    environment: dict[str, str] = {}
    files: dict[str, str] = {}
    """Files in the private home, by relative path, that are written before the start: settings, mostly."""
    window: str = ""
    """A regular expression for the title or class of the main window; "" takes the first window."""
    fill: bool = True
    """Whether the main window is made 640x480. False for programs whose window has that size or cannot change."""
    start_s: Annotated[float, Field(gt=0, le=60)] = 15.0
    """How long the main window may take to appear, in seconds."""
    pause: Literal["clock", "stop"] = "clock"
    """`clock`: between steps the program is stopped and its clock with it. `stop`: stopped only, for programs that
    cannot live under libfaketime."""
    least_ms: Annotated[int, Field(ge=50, le=2_000)] = 150
    """How long the program runs in a step at least, in milliseconds."""
    most_ms: Annotated[int, Field(ge=50, le=5_000)] = 1_000
    """How long it may run on until its picture stands still. Equal to `least_ms` for a game that moves by itself:
    every step then lasts equally long, unless its gesture lasts longer."""
    opening: tuple[dict[str, Any], ...] = ()
    """Gestures before the first observation, for example from the title screen into the game."""
    keys: str = ""
    """What the program's own help says of its keys, for the goal."""
    truth: str = ""
    """`module:Class` of the `Truth` that reads this program's state, or "" where nothing but the screen tells."""

    def path(self) -> Path | None:
        """Where the program is, or None where it is not installed."""
        found = shutil.which(self.executable, path=SEARCH_PATH)
        return Path(found) if found else None

    def missing(self) -> list[str]:
        """What keeps the program from starting, each with its cure; nothing is started."""
        problems = []
        if self.path() is None:
            problems.append(
                f"the program {self.executable} is not installed; install it with: apt-get install"
                f" {' '.join(self.packages)}"
            )
        if self.pause == "clock" and find_library() is None:
            problems.append(
                f"libfaketime, which stops the program's clock, is not installed; install it with: apt-get install"
                f" {SYSTEM_PACKAGE}"
            )
        return problems

    def launch(self, scratch: Path, seed: int) -> Launch:
        """Write the private home into an empty folder; returns how to start there.

        Raises:
            FileNotFoundError: if something is missing; ask `missing` first.
        """
        executable = self.path()
        if executable is None:
            raise FileNotFoundError(self.executable)
        home = scratch / "home"
        for folder in (home, scratch / "tmp", scratch / "run"):
            folder.mkdir(mode=0o700)
        names = {"{home}": str(home), "{scratch}": str(scratch)}
        for name, text in self.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(_filled(text, names, seed))
        variables = _basic_environment(home, scratch) | {
            name: _filled(value, names, seed) for name, value in self.environment.items()
        }
        clock = ""
        if self.pause == "clock":
            library = find_library()
            if library is None:
                raise FileNotFoundError(SYSTEM_PACKAGE)
            clock = str(scratch / "clock")
            variables |= environment(library, Path(clock)) | {"FAKERANDOM_SEED": f"0x{seed % 2**64:016X}"}
        return Launch(
            argv=[str(executable), *(_filled(argument, names, seed) for argument in self.arguments)],
            environment=variables,
            scratch=str(scratch),
            home=str(home),
            log=str(scratch / "log"),
            window=self.window,
            fill=self.fill,
            start_s=self.start_s,
            clock=clock,
            date=EPOCH + 60.0 * (seed % (365 * _DAY_MINUTES)) if clock else None,
        )


def _filled(text: str, names: dict[str, str], seed: int) -> str:
    def number(match: re.Match[str]) -> str:
        modulus, offset = match.group(1), int(match.group(2) or 0)
        return str((seed % int(modulus) if modulus else seed) + offset)

    text = _SEED.sub(number, text)
    for name, value in names.items():  # not str.format: settings are full of braces
        text = text.replace(name, value)
    return text


def _basic_environment(home: Path, scratch: Path) -> dict[str, str]:
    """A whole environment: the arena's own, with its keys and its session bus, is not handed on."""
    return {
        "PATH": SEARCH_PATH,
        "HOME": str(home),
        "USER": "player",
        "LOGNAME": "player",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TMPDIR": str(scratch / "tmp"),
        "XDG_RUNTIME_DIR": str(scratch / "run"),
        "XDG_SESSION_TYPE": "x11",
        # GNOME's libraries: no bus of the user's, settings in a file of the private home, no helpers.
        "DBUS_SESSION_BUS_ADDRESS": f"unix:path={scratch}/run/no-bus",
        "GSETTINGS_BACKEND": "keyfile",
        "GIO_USE_VFS": "local",
        "GTK_USE_PORTAL": "0",
        "GDK_BACKEND": "x11",
        "NO_AT_BRIDGE": "1",
        # Silence, and pictures from the CPU: the same on every machine.
        "SDL_VIDEODRIVER": "x11",
        "SDL_AUDIODRIVER": "dummy",
        "ALSOFT_DRIVERS": "null",
        "LIBGL_ALWAYS_SOFTWARE": "1",
        "LP_NUM_THREADS": "1",
    }
