"""What a diagnoser is worth that looks at whole recordings: the figures of the static track.

Pure functions over pairs of truth and answer; formulas and sources are in docs/faults-dataset.md. An abstention claims
nothing: it is a miss where there was a fault and quiet where there was none, and is counted beside. Where the provider
failed nothing was measured, and the pair is left out. Every figure is None where there was nothing to measure.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arena.diagnosis.metrics import ALARMS
from arena.faults.dataset import Episode
from arena.judging.trust import auroc
from arena.statistics import Interval, calibration_error, proportion

HIT_STEPS = (5, 10, 20)
MOST_M = 2.0
"""A true deviation beyond what the schema can say along one axis (something that was struck off the table) is not
compared."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An episode and what was said of it."""

    episode: Episode
    body: dict[str, Any]
    """The validated answer, as JSON."""
    noticed_step: int | None = None
    """Where a monitor raised the alarm; None: the claimed onset stands for it."""

    @property
    def faulty(self) -> bool:
        """Whether there is a fault to be found: one that made the episode fail."""
        return self.episode.truth.faulty

    @property
    def claimed(self) -> bool:
        """Whether a fault was claimed; `suspect` claims nothing, since nothing would be done."""
        return self.body["verdict"] in ALARMS

    @property
    def detected(self) -> bool:
        """Whether there is a fault and one was claimed."""
        return self.faulty and self.claimed

    @property
    def cause(self) -> str | None:
        """Of an abstention: `declined`, `invalid` or `provider`; else None."""
        return (self.body.get("abstain_cause") or "declined") if self.body["verdict"] == "abstain" else None

    @property
    def score(self) -> float | None:
        """How likely a fault was said to be, 0..1; None for an abstention."""
        confidence = float(self.body["confidence"])
        by_verdict = {"fault": confidence, "unrecoverable": confidence, "suspect": 0.5, "ok": 1.0 - confidence}
        return by_verdict.get(self.body["verdict"])


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticScores:
    """The figures over some pairs; rates are 0..1."""

    n: int
    """Pairs that were measured."""
    faulty: int
    detected: int
    false_alarms: int
    precision: float | None
    recall: float | None
    f1: float | None
    false_positive_rate: float | None
    """Share of successful episodes (N0 and N1) in which a fault was claimed."""
    auroc: float | None
    ece: float | None
    class_macro_f1: float | None
    type_macro_f1: float | None
    class_accuracy: float | None
    """Over detected faults, as are all that follow but the sub-tasks."""
    type_accuracy: float | None
    stage_accuracy: float | None
    severity_mae: float | None
    onset_n: int
    """Detections that name an onset."""
    onset_median: float | None
    """Claimed minus true, steps: positive is late."""
    onset_p90_abs: float | None
    interval_iou: float | None
    hits: dict[str, float]
    """Steps k -> share of the onsets within k."""
    lead_median: float | None
    """Steps from the alarm to the point of no return: positive is in time."""
    lead_in_time: float | None
    """Share of alarms before the point of no return."""
    spatial_n: int
    """Detections that name a deviation in the world frame where the truth has one."""
    spatial_cosine: float | None
    """Medians."""
    magnitude_ratio: float | None
    error_cm: float | None
    rollback_named: float | None
    rollback_valid: float | None
    """Of the named ones: not after the true onset, nor after the point of no return."""
    repair_accuracy: float | None
    subtask_accuracy: float | None
    """Over the sub-tasks that were answered..."""
    subtask_answered: float | None
    """...which are this share of all."""
    abstained: dict[str, int]
    """Cause -> answers; `provider` is not among the measured."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


def score(pairs: Sequence[Pair]) -> StaticScores:
    """All figures over some pairs."""
    measured = [pair for pair in pairs if pair.cause != "provider"]
    faulty = [pair for pair in measured if pair.faulty]
    good = [pair for pair in measured if not pair.faulty]
    found = [pair for pair in faulty if pair.claimed]
    alarms = sum(pair.claimed for pair in good)
    precision, recall = _rate(len(found), len(found) + alarms), _rate(len(found), len(faulty))
    told = [pair for pair in measured if pair.score is not None]
    onsets = [error for pair in found if (error := _onset_error(pair)) is not None]
    sizes = sorted(abs(error) for error in onsets)
    leads = [lead for pair in found if (lead := _lead(pair)) is not None]
    spatial = [three for pair in found if (three := _spatial(pair)) is not None]
    targets = [pair for pair in found if pair.body.get("rollback_step") is not None]
    done = [_subtasks(pair) for pair in measured]
    named = sum(len(pair.episode.subtasks) for pair in measured)
    return StaticScores(
        n=len(measured),
        faulty=len(faulty),
        detected=len(found),
        false_alarms=alarms,
        precision=precision,
        recall=recall,
        f1=_rate(2 * len(found), 2 * len(found) + alarms + len(faulty) - len(found)),
        false_positive_rate=_rate(alarms, len(good)),
        auroc=auroc([pair.score or 0.0 for pair in told], [pair.faulty for pair in told]),
        ece=calibration_error(_sure(measured)),
        class_macro_f1=macro_f1([(p.episode.truth.fault_class, _said(p, "fault_class", "none")) for p in measured]),
        type_macro_f1=macro_f1([(_type(p.episode.truth.fault_type), _said(p, "fault_type", "N0")) for p in measured]),
        class_accuracy=_share(found, lambda p: p.body["fault_class"] == p.episode.truth.fault_class),
        type_accuracy=_share(found, lambda p: p.body["fault_type"] == p.episode.truth.fault_type),
        stage_accuracy=_share(found, lambda p: str(p.body["stage"]).strip().lower() == p.episode.truth.stage),
        severity_mae=_mean([abs(pair.body["severity"] - pair.episode.truth.severity) for pair in found]),
        onset_n=len(onsets),
        onset_median=_median(onsets),
        onset_p90_abs=float(sizes[math.ceil(0.9 * len(sizes)) - 1]) if sizes else None,
        interval_iou=_mean([overlap for pair in found if (overlap := _interval_iou(pair)) is not None]),
        hits={str(k): sum(size <= k for size in sizes) / len(sizes) for k in HIT_STEPS} if sizes else {},
        lead_median=_median(leads),
        lead_in_time=_rate(sum(lead > 0 for lead in leads), len(leads)),
        spatial_n=len(spatial),
        spatial_cosine=_median([one for one, _, _ in spatial]),
        magnitude_ratio=_median([one for _, one, _ in spatial]),
        error_cm=_median([one for _, _, one in spatial]),
        rollback_named=_rate(len(targets), len(found)),
        rollback_valid=_share(targets, _valid_target),
        repair_accuracy=_share(found, lambda p: p.body["repair"]["kind"] == p.episode.truth.repair),
        subtask_accuracy=_rate(sum(right for right, _ in done), sum(answered for _, answered in done)),
        subtask_answered=_rate(sum(answered for _, answered in done), named),
        abstained=dict(sorted(Counter(pair.cause for pair in pairs if pair.cause is not None).items())),
    )


def by_type(pairs: Sequence[Pair]) -> dict[str, StaticScores]:
    """The figures of every sub-type in itself, and of N0 and N1, whose false alarms are the ones that matter."""
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.episode.truth.fault_type, []).append(pair)
    return {name: score(found[name]) for name in sorted(found)}


def intervals(scores: StaticScores) -> dict[str, Interval | None]:
    """Wilson's 95 % intervals of precision, recall and false positive rate."""
    good = scores.n - scores.faulty
    counts = {
        "precision": (scores.detected, scores.detected + scores.false_alarms),
        "recall": (scores.detected, scores.faulty),
        "false_positive_rate": (scores.false_alarms, good),
    }
    return {name: proportion(hits, n) if n else None for name, (hits, n) in counts.items()}


def macro_f1(labels: Sequence[tuple[str, str]]) -> float | None:
    """Mean F1 over the labels that occur in truth.

    Args:
        labels: true and said; a said label that never occurs in truth costs recall and has no F1 of its own.
    """
    truths = sorted({true for true, _ in labels})
    scores = []
    for label in truths:
        right = sum(true == said == label for true, said in labels)
        wrong = sum((true == label) != (said == label) for true, said in labels)
        scores.append(2 * right / (2 * right + wrong))
    return _mean(scores)


def _sure(pairs: Sequence[Pair]) -> list[tuple[float, bool]]:
    """Confidence and rightness of the verdicts that take a side."""
    return [
        (float(pair.body["confidence"]), pair.claimed == pair.faulty)
        for pair in pairs
        if pair.claimed or pair.body["verdict"] == "ok"
    ]


def _said(pair: Pair, key: str, nothing: str) -> str:
    """The label that an answer amounts to; an abstention is no label at all, and right about nothing."""
    if pair.cause is not None:
        return "abstain"
    return str(pair.body[key]) if pair.claimed else nothing


def _type(fault_type: str) -> str:
    return "N0" if fault_type == "N1" else fault_type


def _onset_error(pair: Pair) -> int | None:
    said, true = pair.body.get("onset_step"), pair.episode.truth.onset_step
    return None if said is None or true is None else int(said) - true


def _lead(pair: Pair) -> int | None:
    noticed = pair.noticed_step if pair.noticed_step is not None else pair.body.get("onset_step")
    end = pair.episode.truth.no_return_step
    return None if noticed is None or end is None else end - int(noticed)


def _interval_iou(pair: Pair) -> float | None:
    """Steps that both intervals have, over steps that either has; the true one goes from onset to manifest."""
    truth, said = pair.episode.truth, pair.body.get("onset_interval")
    if said is None or truth.onset_step is None or truth.manifest_step is None:
        return None
    (a, b), (c, d) = said, (truth.onset_step, truth.manifest_step)
    both = max(0, min(b, d) - max(a, c) + 1)
    return float(both / ((b - a + 1) + (d - c + 1) - both))


def _spatial(pair: Pair) -> tuple[float, float, float] | None:
    """Cosine, ratio of the lengths (said over true), and distance in centimetres."""
    said, true = pair.body.get("deviation"), pair.episode.truth.dxyz_m
    if said is None or true is None or said["frame"] != "world":
        return None
    one, other = np.array(said["dxyz_m"], float), np.array(true, float)
    length, wanted = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if wanted < 1e-9 or max(map(abs, true)) > MOST_M:
        return None
    cosine = float(one @ other) / (length * wanted) if length > 1e-9 else 0.0
    return cosine, length / wanted, 100 * float(np.linalg.norm(one - other))


def _valid_target(pair: Pair) -> bool:
    truth, target = pair.episode.truth, int(pair.body["rollback_step"])
    after_onset = truth.onset_step is not None and target > truth.onset_step
    too_late = truth.no_return_step is not None and target > truth.no_return_step
    return not after_onset and not too_late


def _subtasks(pair: Pair) -> tuple[int, int]:
    """How many sub-tasks were answered rightly, and how many at all; a name said twice counts by its last answer."""
    said = {item["name"]: bool(item["done"]) for item in pair.body.get("subtasks", ())}
    truth = pair.episode.subtasks
    answered = [name for name in truth if name in said]
    return sum(said[name] == (truth[name] is not None) for name in answered), len(answered)


def _share(pairs: Sequence[Pair], holds: Callable[[Pair], bool]) -> float | None:
    return _rate(sum(holds(pair) for pair in pairs), len(pairs))


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


def _median(values: Sequence[float]) -> float | None:
    return float(statistics.median(values)) if values else None
