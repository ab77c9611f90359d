"""Every error this package raises, as one tree.

    EnvironmentsError
    ├── UnknownTask            no such task id (also a LookupError)
    ├── UnsupportedSpace       the task does not offer that action space
    ├── InvalidParams          the task cannot be set that way (also a ValueError)
    ├── MissingEngine          a package that the task plays on is not installed
    │   └── MissingProgram     a system program that the task is played in is not installed
    │       └── MissingBenchmark  a benchmark that the task belongs to, or its files, are not on this machine
    ├── Irreversible           the world cannot be copied or taken back (also a NotImplementedError)
    ├── NoExpert               the task has no scripted expert (also a NotImplementedError)
    ├── InvalidAction          an action that the space's schema refuses
    ├── InvalidSnapshot        bytes that this environment did not write
    ├── NotPlainYaml           text that is no YAML, or does not mean what it looks like (also a ValueError)
    ├── InvalidProfile         the profile of a game that somebody owns, with problems (also a ValueError)
    ├── StaleObservation       an observation read after the world has moved on
    └── InfrastructureError    the machine's fault, never the player's: re-run
        ├── DisplayError       the private X display or its window died
        ├── PersonTookOver     the person at the desktop has stopped the hands
        ├── RenderError        no usable OpenGL
        ├── EngineError        the program that is a game's engine died
        └── RobotError         a real robot's server is gone, breaks the protocol, or reports a fault

Catch `InfrastructureError` to decide on a re-run; everything else is a bug or bad input.
"""


class EnvironmentsError(Exception):
    """Root of this package's errors."""


class UnknownTask(EnvironmentsError, LookupError):
    """No task of that id is registered; the message names the closest one."""


class UnsupportedSpace(EnvironmentsError, ValueError):
    """The task does not offer the action space that was asked for."""


class InvalidParams(EnvironmentsError, ValueError):
    """A task cannot be set so. `problems` maps each parameter to what is wrong with it and what to do."""

    def __init__(self, task_id: str, problems: dict[str, str]) -> None:
        self.task_id, self.problems = task_id, problems
        super().__init__(task_id, problems)  # the arguments as given, so that the error survives pickling

    def __str__(self) -> str:
        return f"{self.task_id}: {'; '.join(f'{name}: {problem}' for name, problem in self.problems.items())}"


class MissingEngine(EnvironmentsError, ImportError):
    """The package that a task plays on is not installed; the message has the command."""

    def __init__(self, task_id: str, module: str, extra: str) -> None:
        self.task_id, self.module, self.extra = task_id, module, extra
        super().__init__(task_id, module, extra)

    def __str__(self) -> str:
        return (
            f"{self.task_id} needs the Python package {self.module!r}, which is not installed;"
            f" install it with: pip install 'rewind-arena[{self.extra}]'"
        )


class MissingProgram(MissingEngine):
    """The program that a task is played in is not installed; `problems` has one line for each thing, with its cure."""

    def __init__(self, task_id: str, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(task_id, "", "")
        self.args = (task_id, problems)  # what the error is rebuilt from in another process

    def __str__(self) -> str:
        return f"{self.task_id}: {'; '.join(self.problems)}"


class MissingBenchmark(MissingProgram):
    """The benchmark that a task belongs to, or the files that it loads, are not on this machine."""


class Irreversible(EnvironmentsError, NotImplementedError):
    """This world can neither be copied nor taken back: an interrupted episode begins anew."""


class NoExpert(EnvironmentsError, NotImplementedError):
    """This task has no scripted expert."""


class InvalidAction(EnvironmentsError, ValueError):
    """An action outside its space. `problems` holds one readable line per fault."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__(problems)  # the argument as given, so that the error survives pickling between processes

    def __str__(self) -> str:
        return "; ".join(self.problems)


class InvalidSnapshot(EnvironmentsError, ValueError):
    """Bytes that are not a snapshot of this environment, or of another version of it."""


class NotPlainYaml(EnvironmentsError, ValueError):
    """Text that is no YAML, or that does not mean what it looks like. `problems` lists all: where, and what to do."""

    def __init__(self, problems: list[tuple[str, str]]) -> None:
        self.problems = problems
        super().__init__(problems)  # the argument as given, so that the error survives pickling between processes

    def __str__(self) -> str:
        return "; ".join(f"{where}: {message}" for where, message in self.problems)


class InvalidProfile(EnvironmentsError, ValueError):
    """A profile that cannot be used. `problems` holds one line per fault: where, what was given, what to do."""

    def __init__(self, source: str, problems: list[str]) -> None:
        self.source, self.problems = source, problems
        super().__init__(source, problems)  # the arguments as given, so that the error survives pickling

    def __str__(self) -> str:
        count = f"{len(self.problems)} problem{'s' if len(self.problems) != 1 else ''}"
        return "\n".join([f"{self.source}: {count}", *(f"  {problem}" for problem in self.problems)])


class StaleObservation(EnvironmentsError, RuntimeError):
    """A lazily rendered view was first read after the environment had moved on."""


class InfrastructureError(EnvironmentsError, RuntimeError):
    """The machine failed, not the player: the episode is run again and never scored."""


class DisplayError(InfrastructureError):
    """The private X display, its input, or the game's window failed."""


class PersonTookOver(InfrastructureError):
    """The person whose desktop it is pulled the brake, or brought another window to the front."""


class RenderError(InfrastructureError):
    """No OpenGL back end could render."""


class EngineError(InfrastructureError):
    """The engine of a game, a program of its own, died or could not be started."""


class RobotError(InfrastructureError):
    """A real robot, its server or the link to it failed, or a person stopped it."""
