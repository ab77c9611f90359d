"""The leaderboard as tables: rows task by task, rows over tasks, comparisons of conditions, strengths of agents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from rich.console import Group
from rich.table import Table
from rich.text import Text

from arena.cli.common import console, plain
from arena.leaderboard import Aggregate, Comparison, HeadToHead, Leaderboard, Row
from arena.statistics import Interval

WIDE = 110
"""Columns of a terminal from which there is room for all that is not looked at first."""
_ENDS = {"": "", "floor": "\N{BLACK DOWN-POINTING SMALL TRIANGLE}", "ceiling": "\N{BLACK UP-POINTING SMALL TRIANGLE}"}


def leaderboard_tables(board: Leaderboard) -> Group:
    """Everything of a run that fits a terminal: `--json` has the rest."""
    parts: list[Group | Text] = [_rows(board)]
    over = [row for row in board.aggregates if row.of_tasks > 1]
    if over:
        parts += [Text(), _aggregates(over)]
    compared = [made for made in board.comparisons if not made.task]
    if compared:
        parts += [Text(), _comparisons(compared, board.correction)]
    strengths = list(_strengths(board.strengths))
    if strengths:
        parts += [Text(), *strengths]
    return Group(*parts)


def _rows(board: Leaderboard) -> Group:
    """A section per task and space; columns that are empty throughout are left out."""
    title = f"{board.run_id}: {board.done} of {board.planned} trials done; score 0..100 with 95 % interval"
    columns: list[tuple[str, Callable[[Row], str]]] = [
        ("score", lambda row: interval(row.score)),
        ("success", lambda row: f"{row.success.estimate:.0%}" if row.success else "-"),
        ("gain", lambda row: interval(row.gain, signed=True)),
        ("rank", lambda row: _band(row.rank) + _ENDS[row.extreme]),
        ("n", _count),
        ("excluded", lambda row: _wide(row.excluded)),
        ("retries", lambda row: _wide(row.retries)),
        ("failures", lambda row: _wide(sum(row.failures.values()))),
        ("illegal", lambda row: _wide(row.illegal)),
        ("cost", _cost),
    ]
    counts = {_count(row) for row in board.rows}
    notes = []
    if len(counts) == 1:  # said once below is better than a column of one number
        columns = [column for column in columns if column[0] != "n"]
        notes.append(f"n = {counts.pop()} in every row; gain: reported round minus first, paired by seed")
    columns = [(name, show) for name, show in columns if any(show(row) for row in board.rows)]
    table = _table("agent, condition", *(name for name, _ in columns))
    previous: tuple[str, str] | None = None
    for row in board.rows:
        if (row.task, row.space) != previous:
            previous = (row.task, row.space)
            table.add_row()
            table.add_row(Text(f"{row.task} {row.space}", style="bold cyan"))
        table.add_row(_label(row), *(Text(show(row)) for _, show in columns))  # "[one seed]" is no markup
    notes += _notes(board)
    # Beside the table and not its title and caption, which would wrap at the table's width.
    return Group(Text(title), table, plain("\n".join(["", *notes])))


def _notes(board: Leaderboard) -> Iterator[str]:
    """What all rows together have to say."""
    if any(row.extreme for row in board.rows):
        ends = f"{_ENDS['floor']} floor, {_ENDS['ceiling']} ceiling"
        yield f"{ends}: within 5 % of an end of the scale, where differences say little"
    excluded = sum(row.excluded for row in board.rows)
    if excluded:
        endings = Counter[str]()
        for row in board.rows:
            endings.update(
                {name: count for name, count in row.outcomes.items() if name not in ("won", "lost", "horizon")}
            )
        yield f"left out, as no scores: {_listed(endings)}"
    if board.retries or board.failures:
        told = _listed(Counter(board.failures)) or "none left"
        yield f"failures of machine and provider: {told}; tries beyond the first: {board.retries}"
    labels = sorted({f"  {row.agent}*: {row.instrument}" for row in board.rows if row.instrument})
    if labels:
        yield "* an instrument, no contestant"
        yield from labels
    for name in sorted({row.judge for row in board.rows if row.judge}):
        yield f"scores of worlds that tell none: share of milestones reached, judged by {name}"


def _aggregates(found: list[Aggregate]) -> Group:
    """A section per space, where a run has several tasks in it."""
    normalised, wide = any(row.normalised for row in found), console.width >= WIDE
    columns: list[tuple[str, Callable[[Aggregate], str]]] = [
        ("score", lambda row: interval(row.score) if wide or not normalised else ""),
        ("normalised", lambda row: interval(row.normalised, decimals=2)),
        ("IQM", lambda row: interval(row.iqm, decimals=2 if row.iqm_normalised else 0)),
        ("success", lambda row: f"{row.success.estimate:.0%}" if wide or not normalised else ""),
        ("rank", lambda row: _band(row.rank)),
        ("tasks", lambda row: str(row.tasks) if wide or row.tasks < row.of_tasks else ""),
        ("n", lambda row: str(row.n) if wide else ""),
    ]
    columns = [(name, show) for name, show in columns if any(show(row) for row in found)]
    table = _table("agent, condition", *(name for name, _ in columns))
    previous = ""
    for row in found:
        if row.space != previous:
            previous = row.space
            table.add_row()
            table.add_row(Text(f"over {row.of_tasks} tasks, {row.space}", style="bold cyan"))
        table.add_row(_label(row), *(Text(show(row)) for _, show in columns))
    notes = ["every task weighs alike; IQM: the middle half of all tasks and seeds"]
    if normalised:
        notes.append("normalised: random = 0, expert = 1, both taken for known")
    return Group(table, plain("\n".join(["", *notes])))


def _comparisons(found: list[Comparison], correction: str) -> Group:
    """What conditions gain, over tasks."""
    columns: list[tuple[str, Callable[[Comparison], str]]] = [
        ("points", lambda made: interval(made.difference, signed=True)),
        ("P(up)", lambda made: f"{made.improvement.estimate:.2f}"),
        ("effect", lambda made: "" if made.effect is None or console.width < WIDE else f"{made.effect:+.2f}"),
        ("p", lambda made: f"{made.p_corrected:.3f}" if made.p_corrected >= 0.0005 else "<0.001"),
        ("n", lambda made: str(made.pairs)),
        ("", lambda made: made.verdict),
    ]
    columns = [(name, show) for name, show in columns if any(show(made) for made in found)]
    table = _table("condition - reference", *(name for name, _ in columns))
    previous: tuple[str, str] | None = None
    for made in found:
        if (made.space, made.agent) != previous:
            previous = (made.space, made.agent)
            table.add_row()
            table.add_row(Text(f"{plain(made.agent).plain}, {made.space}", style="bold cyan"))
        label = plain(f"{made.condition} - {made.reference}")
        table.add_row(label, *(Text(show(made)) for _, show in columns))
    notes = [
        f"n pairs on shared seeds; p of a sign-flip test, {correction}-corrected for each agent's comparisons",
        "P(up): how likely a seed improves; better, worse: p at most 0.05",
        "a retry gains by luck alone: a gain over plain-retry or placebo is learning",
    ]
    return Group(table, plain("\n".join(["", *notes])))


def _strengths(found: list[HeadToHead]) -> Iterator[Text]:
    """Bradley-Terry of each space and condition; why there is none, once for all that share the reason."""
    missing: dict[str, list[str]] = {}
    for made in found:
        if made.strengths.reason:
            missing.setdefault(made.strengths.reason, []).append(f"{made.space} {made.condition}")
            continue
        players = sorted(made.strengths.players.items(), key=lambda item: -item[1].estimate)
        drawn = all(value.drawn for _, value in players)
        shown = [
            f"{name} {interval(v, signed=True, decimals=1) if drawn else f'{v.estimate:+.1f}'}" for name, v in players
        ]
        told = ", ".join(shown) + ("" if drawn else f"; no intervals: {players[0][1].why}")
        yield plain(f"Bradley-Terry, {made.space} {made.condition}, {made.strengths.duels} duels: {told}")
    for reason, places in missing.items():
        yield plain(f"no Bradley-Terry for {', '.join(places)}: {reason}")


def _table(first: str, *heads: str) -> Table:
    table = Table(header_style="bold underline", box=None, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=True)
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _label(row: Row | Aggregate) -> Text:
    label = plain(f"{row.agent}{'*' if row.instrument else ''}")
    return label.append(plain(f"  {row.condition}").plain, style="dim")


def interval(value: Interval | None, *, signed: bool = False, decimals: int = 0) -> str:
    """An interval in few characters; the bounds are known to no more than points."""
    if value is None:
        return ""
    sign = "+" if signed else ""

    def shown(number: float, places: int) -> str:
        return f"{round(number, places) + 0.0:{sign}.{places}f}"  # + 0.0: no minus before nothing

    estimate = shown(value.estimate, max(1, decimals))
    if not value.drawn:
        return f"{estimate} [{value.why}]"
    return f"{estimate} [{shown(value.low, decimals)}, {shown(value.high, decimals)}]"


def _band(rank: tuple[int, int] | None) -> str:
    if rank is None:
        return ""
    return str(rank[0]) if rank[0] == rank[1] else f"{rank[0]}-{rank[1]}"


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common())


def _wide(count: int) -> str:
    return str(count or "") if console.width >= WIDE else ""


def _count(row: Row) -> str:
    return str(row.scored) if row.scored == row.planned else f"{row.scored}/{row.planned}"


def _cost(row: Row) -> str:
    if row.calls == 0:
        return ""
    return "unknown" if row.cost_usd is None else f"${row.cost_usd:.4f}"
