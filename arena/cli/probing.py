"""`arena probe`: ask a model questions about recorded episodes whose answers are known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, get_args

import typer
from rich.progress import track

import environments
from arena import probing
from arena.cli.common import (
    Artifacts,
    AsJson,
    Database,
    checked,
    console,
    errors,
    listed,
    listing,
    location,
    only_given,
    plain,
    print_json,
)
from arena.errors import InvalidExperiment, Problem
from arena.location import Location
from arena.models import ModelOptions
from arena.probing import KINDS, FormReport, Kind, Probing, Question
from arena.probing.report import report, to_json
from arena.statistics import Interval
from storage.models import Episode, ProbeAnswer
from storage.store import Store


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("probe")(probe)


def probe(
    what: Annotated[
        str,
        typer.Argument(
            help="A run's id or its beginning, or a task or glob such as 'games/*'.", metavar="RUN_OR_TASKS"
        ),
    ],
    model: Annotated[str, typer.Option("--model", help="The model that is asked.", show_default=False)],
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Its OpenAI-compatible endpoint; else litellm's providers.")
    ] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Name of the variable that holds its key.")] = None,
    per_kind: Annotated[int, typer.Option("--per-kind", min=1, max=10_000, help="Questions of each kind.")] = 48,
    kinds: Annotated[
        str, typer.Option(help="What to ask, with commas between: perception, chronology, planning.")
    ] = ",".join(KINDS),
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Decides what is asked.")] = 0,
    coordinates: Annotated[
        Literal["pixel", "unit", "thousand", "smart-resize"],
        typer.Option(help="What the model's coordinates mean, where it is asked for a place."),
    ] = "pixel",
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Ask a model what it sees, what came first and what comes next, in episodes where the engine knows.

    Tasks without a recorded episode are played first, by their expert and at random. Questions that were answered are
    not asked again: the same command goes on after an interruption.
    """
    options = checked(ModelOptions, only_given(model=model, base_url=base_url, key_env=key_env))
    wanted = _kinds(kinds)
    place = location(database, artifacts)
    with place.open() as store:
        episodes = _episodes(store, place, what)
        with errors.status("looking for questions") as status:

            def watched(questions: Sequence[Question]) -> Iterable[Question]:
                status.stop()
                return track(questions, "asking", console=errors, transient=True)

            found = probing.probe(
                store,
                episodes,
                options,
                coordinates=coordinates,
                kinds=wanted,
                per_kind=per_kind,
                seed=seed,
                track=watched,
            )
    rows = report(found.asked)
    if as_json:
        print_json(
            {
                "probing": found.id,
                "model": model,
                "seed": seed,
                "missing": found.missing,
                "forms": [to_json(row) for row in rows],
                "answers": [_answer(found, question, answer) for question, answer in found.asked],
            }
        )
    else:
        _print(found, rows)
    if found.missing:
        errors.print(f"{found.missing} questions have no answer; start the same command again: it asks only these.")
        raise typer.Exit(1)


def _kinds(given: str) -> list[Kind]:
    names = listed(given)
    unknown = [name for name in names if name not in get_args(Kind)]
    if unknown or not names:
        raise InvalidExperiment("arguments", [Problem("--kinds", given, f"expected some of {', '.join(KINDS)}")])
    return [kind for kind in KINDS if kind in names]


def _episodes(store: Store, place: Location, what: str) -> list[Episode]:
    if "/" not in what:  # task ids have one, run ids do not
        return probing.of_run(store, store.run(what).id)
    with errors.status(f"playing {what}, unless there are recordings"):
        return probing.of_tasks(store, place, environments.match(what))


def _answer(found: Probing, question: Question, answer: ProbeAnswer) -> dict[str, Any]:
    """An answer as JSON, with the addresses at which the viewer (`arena view`) shows its episode and its frames."""
    recording = found.episodes[question.episode_id]
    step = max((row.index for row in recording.rows if row.frame <= min(question.frames)), default=0)
    columns = ("id", "kind", "name", "task_id", "episode_id", "frames", "question", "options", "truth", "answer")
    return {
        **{name: getattr(answer, name) for name in (*columns, "correct", "status", "call_id")},
        "chance": question.chance,
        "address": f"/episode/{question.episode_id}?step={step}",
        "pictures": [f"/media/{recording.episode.video}/frames/{frame}" for frame in question.frames],
    }


def _print(found: Probing, rows: Sequence[FormReport]) -> None:
    table = listing(
        "kind", "question", "right", "accuracy", "chance", "invalid", "refused", "", whole=("kind", "right")
    )
    for row in rows:
        error = "" if row.median_error_px is None else f"median {row.median_error_px:.0f} px off"
        table.add_row(
            row.kind,
            row.form,
            f"{row.n_correct}/{row.n_answered}",
            _interval(row.accuracy),
            "" if row.chance is None else f"{row.chance:.2f}",
            str(row.n_invalid or ""),
            str(row.n_refused or ""),
            "; ".join(text for text in (error, *row.flags) if text),
        )
    console.print(table)
    for row in rows:
        if row.bias is not None:
            console.print(f'{row.form}: says "as shown" in {_interval(row.bias)} of the answers; the truth is 0.50')
    console.print(
        f"{len({question.episode_id for question, _ in found.asked})} episodes; 95 % intervals over questions."
        " --json has every answer, with its episode and frames as `arena view` addresses them:"
        " /episode/ID?step=N and /media/SHA256/frames/N",
        style="dim",
        soft_wrap=True,
    )
    wrong = [(question, answer) for question, answer in found.asked if answer.correct is False][:3]
    for question, answer in wrong:
        told = _answer(found, question, answer)
        console.print(plain(f"wrong on {question.form}: {told['address']}"), style="dim", soft_wrap=True)


def _interval(value: Interval | None) -> str:
    return "" if value is None else f"{value.estimate:.2f} [{value.low:.2f}, {value.high:.2f}]"
