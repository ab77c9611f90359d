"""The progress bar of a run, on standard error: standard output belongs to the results."""

from __future__ import annotations

from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from arena.cli.common import counted, plain
from arena.outcomes import Outcome
from arena.plan import Plan
from arena.workers import Progress as Finished
from storage.store import Store


def amount(plan: Plan) -> str:
    """What is to be played, in words. No trials: the table counts a first attempt once for each of its conditions."""
    attempts, tutorials = len(plan.trials), len(plan.tutorials)
    told = counted(attempts, "first attempt")
    return f"{told} and {counted(tutorials, 'tutorial')}" if tutorials else told


def unmeasured(store: Store, run_id: str) -> Counter[str]:
    """Why episodes of a run have no result though nobody played badly, with how many; the next start plays them."""
    tries = store.latest_tries({link.identity for link in store.plan(run_id)})
    return Counter(e.outcome_detail for e in tries.values() if e.outcome and Outcome(e.outcome).rerun)


def tell_unmeasured(details: Counter[str], console: Console) -> None:
    """Say the most frequent reasons, and what to do about them."""
    for detail, count in details.most_common(5):
        console.print(plain(f"{count} not measured: {detail}"), soft_wrap=True)
    console.print("Mend what is said above and start the same command again: it tries only these.")


class ProgressBar:
    """Implements `arena.run.Observer`."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=12),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            # What room is left, and no more: a note that wraps would tear the bar.
            TextColumn(
                "{task.fields[note]}",
                style="dim",
                markup=False,
                table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1),
            ),
            console=console,
            expand=True,
        )
        self._task = self._bar.add_task("planning", total=None, note="")
        self._outcomes: Counter[str] = Counter()
        self.failures = 0
        """Trials that ended in an error of the program."""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if error is not None and self._bar.tasks[0].total is None:
            self._bar.live.transient = True  # what was refused leaves no bar
        self._bar.stop()

    def planned(self, plan: Plan, *, done: int) -> None:
        """Show what is to be done; say what is reused."""
        total = len(plan.trials) + len(plan.tutorials)
        repeated = f"; {done} of {total} are done already and are not repeated" if done else ""
        self._console.print(f"{plan.run_id}: {amount(plan)}{repeated}", highlight=False, soft_wrap=True)
        self._bar.update(self._task, total=total, completed=done, description="played")

    def checking(self, task_id: str, number: int, of: int) -> None:
        """Say what holds up the trials for some seconds."""
        self._bar.update(self._task, note=f"testing rollback, task {number} of {of} | {task_id}")

    def finished(self, progress: Finished) -> None:
        """Advance, and name what was just played; show at once what went wrong."""
        if progress.error:
            self.failures += 1
            self._console.print(plain(f"{progress.trial.first.identity} failed:\n{progress.error}"))
        self._outcomes.update(str(outcome) for _, outcome, _ in progress.episodes)
        spec = progress.trial.first.spec
        counts = ", ".join(f"{count} {outcome}" for outcome, count in self._outcomes.most_common(4))
        self._bar.update(self._task, advance=1, note=f"{counts} | {spec['task']} {spec['space']}")
