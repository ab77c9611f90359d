"""What a replay draws above its steps: branches, score curve, events, and the map from step to frame.

Pure functions over a few columns of all steps, so that the browser receives an outline of fixed size and never
the whole of a long episode.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from arena.supervision import REPAIR, UNDO
from storage.models import Diagnosis, Fault, Intervention, MilestoneTruth

CURVE_POINTS: Final = 600
"""Buckets of a whole score curve: more than the pixels of a narrow plot."""
PICTURE_VIDEOS: Final = ("failure", "tutorial", "other", "blank")
"""Where a lesson's pictures come from: the attempt, the tutorial, another game's tutorial, nowhere."""
EVENT_LIMIT: Final = 1_000
_ORDER: Final = ("fault", "trigger", "diagnosis")
"""Of what shows in one frame: a fault is there before it raises an alarm, and an alarm before it is looked into."""


class StepRow(NamedTuple):
    """The columns of a step that the outline needs."""

    step: int
    branch: int
    sim_step: int
    status: str
    reward: float
    score: float
    frame: int


def branches(rows: Sequence[StepRow], interventions: Iterable[Intervention]) -> list[dict[str, Any]]:
    """One lane a branch: its steps in order of play, and where on the world's timeline it lies.

    Returns:
        By branch: `start` and `stop` (step indices, half open), `sim_start` and `sim_stop` (world steps, half
        open), and `fork` (`at_step`, `to_step`, `at_sim`, `kind`, `exact`, `diagnosis_id`) for a branch that a
        rollback opened.
    """
    opened = {item.branch: item for item in interventions}
    lanes: dict[int, list[StepRow]] = {}
    for row in rows:
        lanes.setdefault(row.branch, []).append(row)
    sim_of = {row.step: row.sim_step for row in rows} if opened else {}
    result = []
    for branch in sorted(lanes.keys() | opened.keys()):
        lane, fork = lanes.get(branch, []), opened.get(branch)
        begin = lane[0].sim_step if lane else sim_of.get(fork.to_step, 0) if fork else 0
        result.append(
            {
                "branch": branch,
                "start": lane[0].step if lane else None,
                "stop": lane[-1].step + 1 if lane else None,
                "sim_start": begin,
                "sim_stop": lane[-1].sim_step + 1 if lane else begin,
                "fork": None
                if fork is None
                else {
                    "at_step": fork.at_step,
                    "to_step": fork.to_step,
                    "at_sim": sim_of.get(fork.at_step, begin) + 1,
                    "kind": fork.kind,
                    "exact": fork.exact,
                    "diagnosis_id": fork.diagnosis_id,
                },
            }
        )
    return result


def bands(rows: Sequence[StepRow], kinds: Mapping[int, str]) -> list[dict[str, Any]]:
    """Steps of a kind of their own, by step index, as runs on one branch each.

    Returns:
        By run: `kind`, `branch`, `start` and `stop` (step indices, half open), `sim_start`, `sim_stop` (world steps).
    """
    runs: list[dict[str, Any]] = []
    for row in rows:
        kind = kinds.get(row.step)
        if kind is None:
            continue
        last = runs[-1] if runs else None
        if last and (last["kind"], last["stop"], last["branch"]) == (kind, row.step, row.branch):
            last |= {"stop": row.step + 1, "sim_stop": row.sim_step + 1}
        else:
            place = {"start": row.step, "stop": row.step + 1, "sim_start": row.sim_step, "sim_stop": row.sim_step + 1}
            runs.append({"kind": kind, "branch": row.branch, **place})
    return runs


def pictures(frames: Mapping[str, Any], by_video: Mapping[str, Sequence[int]]) -> list[dict[str, Any]]:
    """The pictures of a lesson's matched budget in the order in which they were shown; none of an older lesson.

    Args:
        frames: a lesson's `frames` as `arena.reflection.pictures.record` writes them.
        by_video: its frame numbers by video.

    Returns:
        By picture: `number` from 1, `video`, `frame`, `place` (the frame that its label named), `filled`.
    """
    order = frames.get("order")
    places, filled = frames.get("places"), frames.get("filled")
    left = {video: iter(found) for video, found in by_video.items()}
    shown: list[dict[str, Any]] = []
    for i, video in enumerate(order if isinstance(order, list) else []):
        frame = next(left[video], None) if video in left else None
        if frame is None:
            continue
        place = places[i] if isinstance(places, list) and i < len(places) else frame
        repeated = isinstance(filled, list) and i in filled
        shown.append({"number": i + 1, "video": video, "frame": frame, "place": place, "filled": repeated})
    return shown


def frame_map(rows: Sequence[StepRow]) -> list[list[int]]:
    """Runs `[index, frame]` within which the frame grows by one a step; the browser fills in the rest.

    A plain episode is a single run however long it is.
    """
    runs: list[list[int]] = []
    expected: tuple[int, int] | None = None
    for row in rows:
        if (row.step, row.frame) != expected:
            runs.append([row.step, row.frame])
        expected = (row.step + 1, row.frame + 1)
    return runs


def step_of_frame(rows: Sequence[StepRow], frame: int) -> int:
    """The step at which a player saw this frame; the number of steps for a frame after the last action."""
    low, high = 0, len(rows)
    while low < high:  # frames never go back: a rollback appends to the video
        middle = (low + high) // 2
        if rows[middle].frame < frame:
            low = middle + 1
        else:
            high = middle
    return rows[low].step if low < len(rows) else len(rows)


def curve(rows: Sequence[StepRow], limit: int = CURVE_POINTS) -> list[dict[str, Any]]:
    """The score over time in at most about `limit` buckets, never across a branch.

    A bucket keeps the last score, the lowest and the highest, and the sum of its rewards: a spike of one step
    stays visible however long the episode is.
    """
    size = max(1, -(-len(rows) // limit))
    points: list[dict[str, Any]] = []
    bucket: list[StepRow] = []

    def close() -> None:
        if bucket:
            last, scores = bucket[-1], [row.score for row in bucket]
            points.append(
                {
                    "index": last.step,
                    "branch": last.branch,
                    "sim_step": last.sim_step,
                    "score": last.score,
                    "low": min(scores),
                    "high": max(scores),
                    "reward": sum(row.reward for row in bucket),
                }
            )
            bucket.clear()

    for row in rows:
        if bucket and (row.branch != bucket[0].branch or len(bucket) == size):
            close()
        bucket.append(row)
    close()
    return points


def events(
    rows: Sequence[StepRow],
    *,
    truths: Iterable[MilestoneTruth] = (),
    faults: Iterable[Fault] = (),
    diagnoses: Iterable[Diagnosis] = (),
    interventions: Iterable[Intervention] = (),
) -> list[dict[str, Any]]:
    """What happened when, by step.

    Refused steps of one kind in a row are one event, and where there would be more than `EVENT_LIMIT` of those, so are
    steps that lie close together.

    Returns:
        Events with `kind`, `label`, where to jump (`step`, `frame`; `until` is the last step of a row of them), and
        where to draw (`branch`, `sim` in world steps).
    """
    gap = 1
    while len(found := _refused(rows, gap)) > EVENT_LIMIT:
        gap *= 4
    for truth in truths:
        found.append({"kind": "milestone", "label": truth.milestone_id, **after(rows, truth.step_index)})
    for fault in faults:
        if fault.onset_step is not None:
            found.append({"kind": "fault", "label": fault.kind, **_at(rows, fault.onset_step)})
    for item in diagnoses:
        label, place = f"{item.diagnoser}: {item.verdict}", after(rows, item.step_index)
        found.append({"kind": "diagnosis", "label": label, **place})
        if item.trigger:
            found.append({"kind": "trigger", "label": item.trigger, **place})
    starts: dict[int, int] = {}
    for row in rows:
        starts.setdefault(row.branch, row.step)
    for fork in interventions:
        step = starts.get(fork.branch, fork.at_step)
        kind = fork.kind if fork.kind in (REPAIR, UNDO) else "fork"
        found.append({"kind": kind, "label": _what(fork), **_at(rows, step)})
    found.sort(key=lambda event: (event["step"], event["frame"], _rank(event["kind"]), event["kind"]))
    return found


def _rank(kind: str) -> int:
    return _ORDER.index(kind) if kind in _ORDER else len(_ORDER)


def _what(fork: Intervention) -> str:
    """What an intervention does, in a few words."""
    if fork.kind == REPAIR:
        return f"after step {fork.at_step}, from where the world is"
    if fork.kind == UNDO:
        return f"back to after step {fork.to_step}"
    what = "the arm goes back towards step" if fork.kind == "physical" else "rollback to step"
    return f"{what} {fork.to_step}"


def _refused(rows: Sequence[StepRow], gap: int) -> list[dict[str, Any]]:
    """Steps without effect, those of one kind within `gap` steps of each other as one event."""
    found: list[dict[str, Any]] = []
    count = 0
    for row in rows:
        if row.status == "ok":
            continue
        last = found[-1] if found else None
        if last and last["kind"] == row.status and last["branch"] == row.branch and row.step - last["until"] <= gap:
            count += 1
            last |= {"until": row.step, "label": f"{row.status} ×{count}"}
        else:
            count = 1
            place = {"step": row.step, "until": row.step, "frame": row.frame, "branch": row.branch, "sim": row.sim_step}
            found.append({"kind": row.status, "label": row.status, **place})
    return found


def _at(rows: Sequence[StepRow], step: int) -> dict[str, int]:
    """The place of a step: what the player saw before acting."""
    if not rows:
        return {"step": 0, "until": 0, "frame": 0, "branch": 0, "sim": 0}
    row = rows[min(max(step, 0), len(rows) - 1)]
    return {"step": row.step, "until": row.step, "frame": row.frame, "branch": row.branch, "sim": row.sim_step}


def after(rows: Sequence[StepRow], step: int) -> dict[str, int]:
    """The place of what a step brought about; -1 means the start.

    It shows in the frame after the step's own. That is the next step's frame, unless a rollback came between: then it
    belongs to the step itself, on its own branch.
    """
    place = _at(rows, step)
    if step < 0 or not rows:
        return place
    following = step + 1
    same_branch = following >= len(rows) or rows[following].branch == place["branch"]
    shown = following if same_branch else place["step"]
    return {**place, "step": shown, "until": shown, "frame": place["frame"] + 1, "sim": place["sim"] + 1}
