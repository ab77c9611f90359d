"""How the static track is told at a terminal: who was asked, what came of each type of fault, and all the figures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from arena.cli.common import console, listing, plain, say
from arena.diagnosis.static_metrics import HIT_STEPS, StaticScores, intervals
from arena.faults.evaluation import Evaluation
from arena.statistics import Interval

UNMEASURED = "-"


def tell(found: Evaluation) -> None:
    """Print who was asked about what, and two tables; each fits into 80 columns."""
    total = found.overall
    say(f"static track: {found.title}")
    say(f"{found.dataset}, split {found.split}: {total.n} episodes, {total.faulty} with a fault\n")
    _tell_types(found)
    _tell_figures(total)
    say(_costs(found))


def _tell_types(found: Evaluation) -> None:
    heads = ("type", "n", "found", "alarms", "class", "named", "onset", "in 10", "cosine", "target", "repair")
    shown = listing(*heads, whole=heads)
    for name, row in [*found.by_type.items(), ("all", found.overall)]:
        good = row.n - row.faulty
        shown.add_row(
            plain(name),
            str(row.n),
            f"{row.detected}/{row.faulty}" if row.faulty else UNMEASURED,
            f"{row.false_alarms}/{good}" if good else UNMEASURED,
            _number(row.class_accuracy),
            _number(row.type_accuracy),
            _signed(row.onset_median),
            _number(row.hits.get("10")),
            _number(row.spatial_cosine),
            _number(row.rollback_valid),
            _number(row.repair_accuracy),
        )
    console.print(shown)
    say(
        "found: of the episodes with a fault; alarms: faults claimed where there is none to find; the others are of "
        "what was found: class and type right, onset error (steps, median), share within 10 steps, cosine of the "
        f"deviation, rollback target valid, repair right; {UNMEASURED}: nothing there to measure\n"
    )


class _Figure(NamedTuple):
    name: str
    shown: str
    why: str
    """Why it would not be measured."""


def _tell_figures(total: StaticScores) -> None:
    shown = listing("", "over all episodes", whole=("",))
    for group, figures in _groups(total):
        measured = [f"{figure.name} {figure.shown}" for figure in figures if figure.shown != UNMEASURED]
        lacking: dict[str, list[str]] = {}
        for figure in figures:
            if figure.shown == UNMEASURED:
                lacking.setdefault(figure.why, []).append(figure.name)
        parts = [", ".join(measured)] if measured else []
        if lacking:
            told = [f"{', '.join(names)} ({why})" for why, names in lacking.items()]
            parts.append(f"not measured: {'; '.join(told)}")
        shown.add_row(group, "; ".join(parts))
    console.print(shown)
    say("95 % intervals in brackets; the same of every type: --json; formulas: docs/faults-dataset.md\n")


def _groups(total: StaticScores) -> Iterator[tuple[str, list[_Figure]]]:
    """The figures in the order of the page that defines them."""
    bounds = intervals(total)
    none, onset, end = "no fault was found", "no onset was named", "no fault that was found has a point of no return"
    apart = "no deviation in the world frame was named"
    yield (
        "detection",
        [
            _Figure("precision", _bounded(bounds["precision"]), "no fault was claimed"),
            _Figure("recall", _bounded(bounds["recall"]), "no episode has a fault"),
            _Figure("false positive rate", _bounded(bounds["false_positive_rate"]), "every episode has a fault"),
            _Figure("F1", _number(total.f1), "no episode has a fault, and none was claimed"),
            _Figure("AUROC", _number(total.auroc), "it takes answers about episodes with a fault and without"),
            _Figure("ECE", _number(total.ece), "no answer takes a side"),
        ],
    )
    yield (
        "naming",
        [
            _Figure("class right", _number(total.class_accuracy), none),
            _Figure("type right", _number(total.type_accuracy), none),
            _Figure("stage right", _number(total.stage_accuracy), none),
            _Figure("class macro-F1", _number(total.class_macro_f1), "no episode was measured"),
            _Figure("type macro-F1", _number(total.type_macro_f1), "no episode was measured"),
            _Figure("severity MAE", _number(total.severity_mae), none),
        ],
    )
    yield (
        "time",
        [
            _Figure("onset error", _signed(total.onset_median), onset),
            _Figure("90th percentile", _number(total.onset_p90_abs, 0), onset),
            *(_Figure(f"within {k}", _number(total.hits.get(str(k))), onset) for k in HIT_STEPS),
            _Figure("interval IoU", _number(total.interval_iou), "no interval was named"),
            _Figure("lead time", _signed(total.lead_median), end),
            _Figure("in time", _number(total.lead_in_time), end),
        ],
    )
    yield (
        "space",
        [
            _Figure("cosine", _number(total.spatial_cosine), apart),
            _Figure("magnitude ratio", _number(total.magnitude_ratio), apart),
            _Figure("error in cm", _number(total.error_cm, 1), apart),
        ],
    )
    yield (
        "repair",
        [
            _Figure("rollback named", _number(total.rollback_named), none),
            _Figure("rollback valid", _number(total.rollback_valid), "no target was named"),
            _Figure("repair right", _number(total.repair_accuracy), none),
        ],
    )
    yield (
        "sub-tasks",
        [
            _Figure("right", _number(total.subtask_accuracy), "none was answered"),
            _Figure("answered", _number(total.subtask_answered), "no episode has any"),
        ],
    )


def _costs(found: Evaluation) -> str:
    causes = ", ".join(f"{count} {cause}" for cause, count in found.overall.abstained.items()) or "none"
    if not found.calls:
        return f"abstentions: {causes}; no model was asked"
    tokens = "tokens unknown" if found.tokens is None else f"{found.tokens:,} tokens"
    cost = "unknown (no price is known)" if found.cost_usd is None else f"${found.cost_usd}"
    return f"abstentions: {causes}; {found.calls} calls, {tokens}, {found.latency_s:.0f} s, cost {cost}"


def _bounded(interval: Interval | None) -> str:
    return UNMEASURED if interval is None else f"{interval.estimate:.2f} [{interval.low:.2f}, {interval.high:.2f}]"


def _number(value: float | None, digits: int = 2) -> str:
    return UNMEASURED if value is None else f"{value:.{digits}f}"


def _signed(value: float | None) -> str:
    return UNMEASURED if value is None else f"{value:+.1f}".removesuffix(".0")
