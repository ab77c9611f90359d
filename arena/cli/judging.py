"""`arena judge`: add a judge's verdicts to a run, and weigh all judges against the engine and each other."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.progress import track

import environments
from agents.gateway import GatewaySettings
from agents.gateway.embeddings import embed
from arena.cli.common import (
    Artifacts,
    AsJson,
    Database,
    checked,
    console,
    errors,
    listing,
    location,
    only_given,
    plain,
    print_json,
)
from arena.judging import Agreement, JudgeConfig
from arena.judging.human import fingerprint
from arena.judging.report import Judged, JudgesReport, report
from arena.leaderboard import TUTORIAL
from arena.review import is_judged, judge_episode
from arena.statistics import Interval
from environments.errors import UnknownTask
from storage.models import Episode
from storage.store import Store


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command("judge")(judge_run)


def judge_run(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    model: Annotated[
        str | None, typer.Option("--model", help="A model that judges now; without one, the report alone.")
    ] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Its OpenAI-compatible endpoint; else litellm's providers.")
    ] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Name of the variable that holds its key.")] = None,
    frames: Annotated[int, typer.Option(help="Frames of the first look.")] = 12,
    refine: Annotated[int, typer.Option(help="Frames of a second look at what is open; 0 for none.")] = 8,
    repeats: Annotated[int, typer.Option(help="How often each episode is judged.")] = 1,
    objects_first: Annotated[
        bool, typer.Option("--objects-first", help="Ask what is in the frames, and then how it stands.")
    ] = False,
    temperature: Annotated[float, typer.Option(help="Repeats differ only above 0.")] = 0.0,
    embeddings: Annotated[
        str | None,
        typer.Option(help="Embedding model for the trust of repeated answers; without one, words are compared."),
    ] = None,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Let a model judge the milestones of a run that is played, and show how good its judges are.

    Verdicts are added; older ones stay as they are. The same command goes on after an interruption.
    """
    place = only_given(base_url=base_url, key_env=key_env)
    config = None
    if model is not None:
        options = {"model": model, "temperature": temperature, **place}
        asked = {"frames": frames, "refine": refine, "repeats": repeats, "objects_first": objects_first}
        config = checked(JudgeConfig, {"judge": "vlm", "model": options, **asked})
    settings = checked(GatewaySettings, {"model": embeddings, **place}) if embeddings else None
    missing = 0
    with location(database, artifacts).existing() as store:
        episodes = _episodes(store, store.run(run).id)
        if config is not None:
            waiting = [episode for episode in episodes if not is_judged(store, episode, config)]
            for episode in track(waiting, "judging", console=errors, transient=True):
                missing += not judge_episode(store, environments.get(episode.task_id), episode, config)
        found = report(
            [_judged(store, episode) for episode in episodes],
            (lambda texts: embed(texts, settings)) if settings else None,
        )
    if as_json:
        print_json(found.to_json())
    else:
        _print(found)
    if missing:
        errors.print(f"{missing} episodes were not judged; start the same command again: it asks only these.")
        raise typer.Exit(1)


def _episodes(store: Store, run_id: str) -> list[Episode]:
    """The scored episodes of a run, its tutorials left out, whose tasks this version has."""
    wanted = {link.identity for link in store.plan(run_id) if link.condition != TUTORIAL}
    return sorted(
        (e for e in store.latest_tries(wanted).values() if e.status == "finished" and e.scored and _has_task(e)),
        key=lambda episode: episode.id,
    )


def _has_task(episode: Episode) -> bool:
    try:
        environments.get(episode.task_id)
    except UnknownTask:
        return False
    return True


def _judged(store: Store, episode: Episode) -> Judged:
    return Judged(
        task=environments.get(episode.task_id),
        episode=episode,
        truths=store.truths(episode.id),
        verdicts=store.verdicts(episode.id),
    )


def _print(found: JudgesReport) -> None:
    if not found.judges:
        console.print(
            f"{found.n_episodes} scored episodes, and no judge but the engine. `--model NAME` lets one judge."
        )
        return
    columns: list[tuple[str, Any]] = [
        ("episodes", lambda row: str(row.episodes) + (f" x {row.repeats}" if row.repeats > 1 else "")),
        ("precision", lambda row: _interval(row.precision)),
        ("recall", lambda row: _interval(row.recall)),
        ("right", lambda row: _interval(row.accuracy)),
        ("cannot tell", lambda row: _part(row.counts.n_uncertain, row.counts)),
        ("invalid", lambda row: _part(row.counts.n_invalid, row.counts)),
        ("Brier", lambda row: _number(row.brier)),
        ("ECE", lambda row: _number(row.calibration_error)),
        ("flips", lambda row: _interval(row.flip_rate)),
        ("AUROC trust", lambda row: _number(row.trust_auroc)),
        ("entropy", lambda row: _number(row.entropy_auroc)),
    ]
    shown = [(name, show) for name, show in columns if any(show(row) for row in found.judges)]
    table = listing("judge", *(name for name, _ in shown), whole=("episodes",))
    for row in found.judges:
        # A person is one judge by name; a model is told apart by what it was asked, and may even be called `human:...`.
        told = row.judge if row.fingerprint == fingerprint(row.judge) else f"{row.judge} {row.fingerprint[:6]}"
        table.add_row(plain(told), *(show(row) for _, show in shown))
    console.print(table)
    console.print(f"against the engine's truth, over {found.n_episodes} scored episodes; 95 % intervals", style="dim")
    if found.alpha is not None:
        console.print(f"agreement of the judges, Krippendorff's alpha: {_interval(found.alpha)}")
    if found.majority is not None and found.majority.n_answered:
        majority = found.majority
        right = majority.true_positive + majority.true_negative
        console.print(f"majority of the judges: {right} of {majority.n_answered} answers right")
    for warning in sorted({warning for row in found.judges for warning in row.warnings}):
        console.print(plain(warning))


def _interval(value: Interval | None) -> str:
    return "" if value is None else f"{value.estimate:.2f} [{value.low:.2f}, {value.high:.2f}]"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _part(count: int, of: Agreement) -> str:
    return f"{count}/{of.n}" if count else ""
