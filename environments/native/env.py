"""An installed program as an environment: real input, real time while a step lasts, no way back."""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import shutil
import tempfile
import weakref
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from environments.actions.gui import GuiAction
from environments.actions.spec import Action, TypedActions
from environments.desktop import ProgramDesktop, Ran
from environments.env import ArenaEnv, Frame, Views
from environments.errors import DisplayError, Irreversible, MissingProgram, NoExpert
from environments.game import FRAME_SIZE
from environments.native.program import Program
from environments.native.truth import Reading, Sources, Truth, Unknown
from environments.task import ActionSpace, Task

TAP_MS = 80
"""How long a tapped key or button stays down. Programs that poll at 30 Hz miss half of the taps of 15 ms."""


def make_native(task: Task, space: ActionSpace) -> NativeEnv:
    """Build a native task; `task.params["program"]` names its `Program` as `module:NAME`.

    Raises:
        MissingProgram: if the program or libfaketime is not installed.
    """
    program = program_of(task)
    if missing := program.missing():
        raise MissingProgram(task.id, missing)
    return NativeEnv(task, space, program)


def program_of(task: Task) -> Program:
    """The program that a native task is played in."""
    module, _, name = str(task.params["program"]).partition(":")
    program: Program = getattr(importlib.import_module(module), name)
    return program


class NativeEnv(ArenaEnv):
    """A program on a private display, played with keyboard and mouse.

    The program runs in real time while a step lasts and is stopped between the steps, its clock included
    (`Program.pause`). A step lasts `least_ms`, or as long as its gesture, and then until the picture stands still,
    to `most_ms` at most. A program cannot be copied or taken back: `snapshot` and `restore` raise `Irreversible`,
    and the same actions need not give the same frames. The episode is over when the truth says so, or when the
    program has ended; a program that is killed by a signal has crashed, which is an infrastructure error.

    Each episode has a display, a process and a home of its own; nothing of the user's home is read or written.
    """

    reversible = False
    action_space: TypedActions

    def __init__(self, task: Task, space: ActionSpace, program: Program) -> None:
        super().__init__(task, space)
        self.program = program
        width, height = FRAME_SIZE
        self.observation_space = spaces.Dict({"frame": spaces.Box(0, 255, (height, width, 3), np.uint8)})
        self.action_space = TypedActions(GuiAction)
        self._desktop: ProgramDesktop | None = None
        self._frame: Frame | None = None
        self._scratch: weakref.finalize[[str], NativeEnv] | None = None
        self._truth: Truth
        self._reading = Reading()
        self._reached: set[str] = set()
        self._declared = frozenset(milestone.id for milestone in task.milestones)
        self._ended = False

    @property
    def main_view(self) -> str:
        """The only view, `frame`."""
        return "frame"

    @property
    def desktop(self) -> ProgramDesktop:
        """The display of the present episode.

        Raises:
            ResetNeeded: Gymnasium's, where there is none.
        """
        if self._desktop is None:
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() first")
        return self._desktop

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """End the last program, start another with a fresh home, and lead it to where the task begins.

        Raises:
            DisplayError: if display or program does not start.
        """
        super().reset(seed=seed)
        number = int(self.np_random.integers(2**31)) if seed is None else seed
        self.close()
        scratch = Path(tempfile.mkdtemp(prefix="arena-native-"))
        self._scratch = weakref.finalize(self, _remove, str(scratch))
        launch = self.program.launch(scratch, number)
        self._desktop = ProgramDesktop(FRAME_SIZE, self.task.title, launch, tap_ms=TAP_MS)
        module, _, name = self.program.truth.partition(":")
        reader: type[Truth] = getattr(importlib.import_module(module), name) if module else Unknown
        self._truth = reader(Sources(Path(launch.home), Path(launch.log), number))
        self._reading, self._reached, self._ended = Reading(), set(), False
        self._play(None)
        for gesture in self.program.opening:
            self._play(gesture)
        self._after_change()
        return self.observe(), {"illegal": None}

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Do a gesture and let the program run; the reward is the change of `score`.

        Raises:
            InvalidAction: for an action that the schema refuses; nothing has happened then.
            DisplayError: if display or program died.
            ResetNeeded: Gymnasium's, before the first `reset`.
        """
        before = self._reading.score
        gesture = self.action_space.parse(action)
        if not self._over():
            self._play(gesture)
        self._after_change()
        return self.observe(), self._reading.score - before, self._over(), False, {"illegal": None}

    def advance(self, ms: int) -> bool:
        """Let the program run on for `ms` milliseconds."""
        if not self._over():
            self._heed(self.desktop.play(None, least_ms=ms, most_ms=ms))
            self._after_change()
        return self._over()

    def observe(self) -> Views:
        """The screen, grabbed while the program stands still."""
        return Views({}, {"frame": self._grab}, self)

    def milestones(self) -> frozenset[str]:
        """Milestones that the program's own state has shown so far; none where only a judge can tell."""
        return frozenset(self._reached)

    def score(self) -> float:
        """What the program's `Truth` reads, whose docstring has the formula; 0 for tasks tagged `vlm-judged`."""
        return self._reading.score

    def success(self) -> bool:
        """Whether the program's own state says that the goal is reached."""
        return self._reading.won

    def expert_action(self) -> Action:
        """The gesture that the truth advises.

        Raises:
            NoExpert: for a task tagged `no-expert`, which has none.
        """
        advice = self._truth.advise(self._grab()) if self._desktop else None
        if advice is not None:
            return self.action_space.parse(advice)
        raise NoExpert(f"{self.task.id} has no scripted expert; play it with `random`, a model or a person")

    def state_hash(self) -> str:
        """SHA-256 of the screen: all that can be known of every program."""
        return hashlib.sha256(self._grab().tobytes()).hexdigest()

    def close(self) -> None:
        """End program and display, and delete the private home."""
        if self._desktop is not None:
            self._desktop.close()
            self._desktop = None
        if self._scratch is not None:
            self._scratch()
            self._scratch = None
        self._frame = None

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
            f"{self.task.id} runs in {self.program.executable}, whose state cannot be taken or put back; play the"
            " episode again from its start"
        )

    def _over(self) -> bool:
        return self._ended or self._reading.over

    def _play(self, gesture: dict[str, Any] | None) -> None:
        """One gesture in its time. An opening may hold longer waits than the schema grants a player."""
        program = self.program
        duration_ms = int(gesture.get("ms", 0)) if gesture and gesture["verb"] == "wait" else 0
        least_ms = max(program.least_ms, duration_ms)
        parsed = None if gesture is None or gesture["verb"] == "wait" else self.action_space.load(gesture)
        self._heed(self.desktop.play(parsed, least_ms=least_ms, most_ms=max(program.most_ms, least_ms)))

    def _heed(self, ran: Ran) -> None:
        if ran.status is not None and not self._ended:
            if ran.status < 0:
                raise DisplayError(
                    f"{self.program.executable} was killed by signal {-ran.status}{_last_line(self._truth.sources.log)}"
                )
            self._ended = True

    def _grab(self) -> Frame:
        if self._frame is None:
            self._frame = self.desktop.grab()
        return self._frame.copy()

    def _after_change(self) -> None:
        self._frame = None
        self.moment += 1
        self._reading = self._truth.read(self._grab())
        self._reached |= self._reading.reached & self._declared


def _last_line(log: Path) -> str:
    with contextlib.suppress(OSError):
        lines = log.read_text(errors="replace").strip().splitlines()
        if lines:
            return f"; its last line: {lines[-1][:300]}"
    return ""


def _remove(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
