"""Where the ways part: the branch not taken beside the one taken, and what its replay to the end came to.

Pure functions over a few columns of all steps, like `ui.timeline`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from arena.supervision import UNDO
from storage.models import Counterfactual, Intervention
from ui.timeline import StepRow, curve


def latest(others: Iterable[Counterfactual]) -> dict[str, tuple[Counterfactual, Counterfactual]]:
    """By diagnosis the latest replay of the other way, and the one whose video shows it.

    A replay that was not filmed does not hide the film of an earlier one, if both ended in the same state.
    """
    found: dict[str, tuple[Counterfactual, Counterfactual]] = {}
    for item in others:  # the oldest first
        _, filmed = found.get(item.diagnosis_id, (item, item))
        keeps = filmed.video is not None and item.video is None and filmed.state_hash == item.state_hash
        found[item.diagnosis_id] = item, filmed if keeps else item
    return found


def scores(other: Counterfactual) -> list[dict[str, Any]]:
    """The score curve of the other way, by its own steps from 0, as `timeline.curve` gives it."""
    values = [value for value in other.scores if isinstance(value, int | float)]
    return curve([StepRow(i, 0, i, "ok", 0.0, float(value), i) for i, value in enumerate(values)])


def comparisons(
    rows: Sequence[StepRow],
    interventions: Sequence[Intervention],
    rewinding: Collection[int] = (),
    others: Iterable[Counterfactual] = (),
) -> list[dict[str, Any]]:
    """For each fork the branch not taken beside the one taken, both from the fork point on.

    After a physical rollback nothing went back but the arm, so the branch taken is compared from where the arm has
    arrived: its rewind rows are left out and counted. An intervention that was suppressed is no fork of the record; its
    other way, where one was replayed, lies beside the record from the step that it went back to.

    Returns:
        By fork: `key`, which names it in addresses: the branch that it opened, or the suppressed diagnosis;
        `diagnosis_id`; `branch`, which it opened, or null; `left` and `right`, runs `[start, stop)` of step indices in
        order of play; `rewound`, the rows left out; `left_branch`, on which play stopped.
    """
    history = _History(rows, interventions)
    found = []
    for item in interventions:
        start, stop = history.starts.get(item.branch, 0), history.stops.get(item.branch, 0)
        begin = start
        while begin < stop and begin in rewinding:
            begin += 1
        since = item.to_step if item.kind == "physical" else resumes_at(item)
        found.append(
            {
                "key": str(item.branch),
                "diagnosis_id": item.diagnosis_id,
                "branch": item.branch,
                "left_branch": history.branch_of.get(item.at_step, 0),
                "left": history.runs(since, item.at_step),
                "right": [[begin, stop]] if begin < stop else [],
                "rewound": begin - start,
            }
        )
    for diagnosis_id, (other, _) in latest(others).items():
        if other.suppressed:
            branch = history.branch_of.get(other.at_step, 0)
            end = history.stops.get(branch, 0) - 1
            found.append(
                {
                    "key": diagnosis_id,
                    "diagnosis_id": diagnosis_id,
                    "branch": None,
                    "left_branch": branch,
                    "left": [],
                    "right": history.runs(other.from_step, max(end, other.at_step)),
                    "rewound": 0,
                }
            )
    return found


def taken_back(rows: Sequence[StepRow], interventions: Sequence[Intervention]) -> set[int]:
    """The steps that an undo took back: those of the intervention that had made things worse."""
    history = _History(rows, interventions)
    undos = [item for item in interventions if item.kind == UNDO]
    runs = [run for item in undos for run in history.runs(resumes_at(item), item.at_step)]
    return {step for start, stop in runs for step in range(start, stop)}


def resumes_at(fork: Intervention) -> int:
    """The step at whose beginning the world is when the branch of a fork begins.

    Of an undo `to_step` is the last step of the branch that is taken up again; a repair and a rewind of the arm go on
    from where the world is.
    """
    if fork.kind == "sim":
        return fork.to_step
    return (fork.to_step if fork.kind == UNDO else fork.at_step) + 1


class _History:
    """Which steps led to a step, along the branches on which they were played."""

    def __init__(self, rows: Sequence[StepRow], interventions: Sequence[Intervention]) -> None:
        self.branch_of = {row.step: row.branch for row in rows}
        self.starts: dict[int, int] = {}
        self.stops: dict[int, int] = {}
        for row in rows:
            self.starts.setdefault(row.branch, row.step)
            self.stops[row.branch] = row.step + 1
        self._opened: Mapping[int, Intervention] = {item.branch: item for item in interventions}

    def runs(self, first: int, last: int) -> list[list[int]]:
        """The steps from `first` to `last` as runs `[start, stop)` in order of play."""
        runs: list[list[int]] = []
        stop = last + 1
        while stop - 1 in self.branch_of and stop > first:
            branch = self.branch_of[stop - 1]
            begin = self.starts[branch]
            runs.insert(0, [max(begin, first), stop])
            before = self._opened.get(branch)
            if begin <= first or before is None:
                break
            stop = min(begin, resumes_at(before))
        return runs
