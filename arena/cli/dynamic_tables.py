"""How the dynamic track is told at a terminal: what came of each condition, what it cost, and by type of fault."""

from __future__ import annotations

from arena.cli.common import console, listing, plain, print_json, say
from arena.diagnosis.dynamic_rows import ALONE
from arena.diagnosis.dynamic_table import Line, Noticed, Table
from arena.diagnosis.opinions import is_human


def tell(table: Table, as_json: bool = False) -> None:
    """Print a run's tables; each fits into 80 columns."""
    if as_json:
        print_json(table.to_json())
        return
    say(f"run {table.run_id}: {table.scenarios} scenarios, each alone and under every condition\n")
    _tell_outcomes(table)
    _tell_costs(table)
    _tell_noticed(table)
    _tell_types(table)
    _tell_named(table)


def _tell_outcomes(table: Table) -> None:
    shown = listing(
        "condition", "won", "rescued", "broken", "net [95 %]", "p", "FPR", "N1", "lost",
        whole=("condition", "net [95 %]", "p"),
    )  # fmt: skip
    for line in table.lines:
        known = None not in (line.net_low, line.net_high)
        net = f"{line.net:+d} [{line.net_low:.0f}, {line.net_high:.0f}]" if known else f"{line.net:+d} (one seed)"
        claimed = [line.false_alarm_rate, line.false_alarm_rate_benign, line.broken_clean]
        cells = [line.condition, share(line.success), str(line.rescued), str(line.broken), net, _rare(line.p)]
        shown.add_row(*map(plain, [*cells, *map(share, claimed)]))
    console.print(shown)
    for line in table.lines:
        if line.episodes < table.scenarios:
            those = "scenarios were looked at" if is_human(line.condition) else "scenarios were played"
            say(f"{line.condition}: {line.episodes} of {table.scenarios} {those}, and it is paired on those alone")
    if instruments := [line.condition for line in table.lines if line.instrument]:
        say(f"instruments, which go by chance or by the truth: {', '.join(instruments)}")
    say(
        "won: share of all episodes; rescued, broken: against the same episodes left alone; FPR: share of the episodes "
        "without a fault in which one was claimed, N1: of those with a benign one; lost: share of both, of those "
        "that are won alone, that were not\n"
    )


def _tell_costs(table: Table) -> None:
    shown = listing(
        "condition", "forks", "undone", "added", "silent", "calls", "tokens", "s", "cost",
        whole=("condition", "tokens", "cost"),
    )  # fmt: skip
    for line in table.lines:
        shown.add_row(*map(plain, _costs(line)))
    console.print(shown)
    say(
        "an episode: interventions, those taken back, added steps, diagnoses that said nothing, model calls, seconds; "
        "in all: tokens, dollars\n"
    )


def _costs(line: Line) -> list[str]:
    return [
        line.condition,
        f"{line.interventions:.2f}",
        f"{line.undone:.2f}",
        f"{line.added_steps:.0f}",
        f"{line.abstained:.2f}",
        f"{line.calls:.1f}",
        "unknown" if line.tokens is None else f"{line.tokens:,}",
        f"{line.seconds:.1f}",
        line.cost_usd or "unknown",
    ]


def _tell_noticed(table: Table) -> None:
    """What each condition did where nothing was wrong, and what it noticed of what was."""
    heads = ("condition", "touched", "detected", "class", "type", "onset")
    shown = listing(*heads, whole=heads)
    for line in table.lines:
        if line.condition != ALONE:
            named = _named(line) if line.diagnoser else ["-"] * 3
            shown.add_row(*map(plain, [line.condition, share(line.touched), _detected(line), *named]))
    if shown.row_count:
        console.print(shown)
        say(
            "touched: share of the episodes that are won alone in which it intervened; detected: of those with a "
            "harmful fault; of the detected, where a diagnoser names them: class and type right, onset error (steps; "
            "median, and 90th percentile of its size)\n"
        )


def _tell_named(table: Table) -> None:
    """The same by type of fault, of those that diagnose."""
    diagnosers = {line.condition for line in table.lines if line.diagnoser}
    lines = [line for line in table.types if line.condition in diagnosers and line.harmful]
    if not lines:
        return
    heads = ("condition", "fault", "detected", "class", "type", "onset")
    shown = listing(*heads, whole=heads)
    for line in lines:
        shown.add_row(*map(plain, [line.condition, line.fault_type, _detected(line), *_named(line)]))
    console.print(shown)
    say("what diagnosers noticed, by type of fault")


def _detected(found: Noticed) -> str:
    return f"{found.detected}/{found.harmful}" if found.harmful else "-"


def _named(found: Noticed) -> list[str]:
    """Class right, type right, onset error."""
    onset = "-" if found.onset_median is None else f"{found.onset_median:+g} ({found.onset_p90:g})"
    return [share(found.class_accuracy), share(found.type_accuracy), onset]


def _tell_types(table: Table) -> None:
    """Rescues by fault type, one column a condition."""
    names = [line.condition for line in table.lines if line.condition != ALONE]
    if not names:
        return
    kinds = list(dict.fromkeys(line.fault_type for line in table.types))
    by_place = {(line.condition, line.fault_type): line for line in table.types}
    heads = [name.replace("-", "-\n") for name in names]
    shown = listing("fault", "n", "failed\nalone", *heads, whole=("fault",))
    for kind in kinds:
        lines = [by_place.get((name, kind)) for name in names]
        first = next(line for line in lines if line is not None)
        rescued = [
            "-" if line is None else f"{line.rescued}" + (f" -{line.broken}" * bool(line.broken)) for line in lines
        ]
        shown.add_row(kind, str(first.episodes), str(first.failed_alone), *rescued)
    console.print(shown)
    say("rescued by type of fault, and after a minus sign broken\n")


def _rare(p: float) -> str:
    return f"{p:.3f}".lstrip("0") if 0.001 <= p < 1 else "1" if p >= 1 else "<.001"


def share(value: float | None) -> str:
    """A share as percent; a dash for none, and never 100 % of what is less."""
    if value is None:
        return "-"
    if 0.995 <= value < 1:
        return ">99%"
    digits = 0 if value in (0, 1) or value >= 0.0995 else 1
    return f"{100 * value:.{digits}f}%"
