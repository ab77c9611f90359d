"""`arena milestones`: have a model read milestones out of a recording, and review what it proposes."""

from __future__ import annotations

import contextlib
from typing import Annotated, Any, Literal

import typer

import environments
from arena import milestones
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
from arena.errors import InvalidExperiment, Problem
from arena.judging.extraction import Extractor
from arena.judging.human import InvalidReview, checked_note, reviewer
from arena.models import ModelOptions
from environments.task import Task
from storage.errors import NoDatabase
from storage.models import Episode, Tutorial
from storage.store import Store

app = typer.Typer(no_args_is_help=True, help="Milestones that a model reads out of a recording, and their review.")

TaskId = Annotated[str, typer.Argument(help="The task.", show_default=False)]


def add_to(main: typer.Typer) -> None:
    """Register the commands of this file."""
    main.add_typer(app, name="milestones")


@app.command("extract")
def extract(
    task: TaskId,
    video: Annotated[str, typer.Argument(help="The recording: an episode's id, or `t-...` of a video that was added.")],
    model: Annotated[str, typer.Option("--model", help="The model that watches.", show_default=False)],
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Its OpenAI-compatible endpoint; else litellm's providers.")
    ] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Name of the variable that holds its key.")] = None,
    frames: Annotated[int, typer.Option(min=2, max=128, help="Frames that it is shown.")] = 24,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Propose milestones from a recording; they are the task's next version, and count when they are accepted."""
    options = checked(ModelOptions, only_given(model=model, base_url=base_url, key_env=key_env))
    known = environments.get(task)
    with location(database, artifacts).existing() as store:
        source = _source(store, known, video)
        with errors.status(f"{model} watches {source.id}"):
            found, rows = milestones.extract(store, known, source, Extractor(options, frames=frames))
        if as_json:
            print_json({"proposals": [_columns(row) for row in rows], "dropped": list(found.dropped)})
        else:
            _print(milestones.reviewed(store, known.id), {row.version for row in rows})
            for told in found.dropped:
                errors.print(plain(f"left out: {told}"))
    if not rows:
        errors.print("No milestone was proposed that can be used.")
        raise typer.Exit(1)


@app.command("list")
def show(task: TaskId, database: Database = None, artifacts: Artifacts = None, as_json: AsJson = False) -> None:
    """List the proposals of a task, with who decided what."""
    known = environments.get(task)
    found: list[milestones.Reviewed] = []
    with contextlib.suppress(NoDatabase), location(database, artifacts).existing() as store:
        found = milestones.reviewed(store, known.id)
    if as_json:
        print_json([
            {**_columns(item.proposal), "state": item.state, "reviewer": item.review.reviewer if item.review else None,
             "matches": item.review.matches if item.review else ""}
            for item in found
        ])  # fmt: skip
    elif not found:
        console.print(f"No milestones were proposed for {known.id}; `arena milestones extract` has a model do it.")
    else:
        _print(found, {item.proposal.version for item in found})


@app.command("review")
def review(
    proposal: Annotated[str, typer.Argument(help="Id of a proposal, or its beginning.", show_default=False)],
    state: Annotated[Literal["accepted", "rejected", "proposed"], typer.Argument(help="What you decide.")],
    name: Annotated[str, typer.Option("--as", help="Who decides.", show_default=False)],
    note: Annotated[str, typer.Option(help="Why.")] = "",
    database: Database = None,
    artifacts: Artifacts = None,
) -> None:
    """Accept or reject a proposal. Earlier decisions stay in the database; the latest counts."""
    try:
        by, note = reviewer(name), checked_note(note)
    except InvalidReview as error:
        option = "--as" if error.problem.path == "name" else "--note"
        raise InvalidExperiment("arguments", [error.problem._replace(path=option)]) from None
    with location(database, artifacts).existing() as store:
        row = store.proposal(proposal)
        milestones.review(store, row, state, by, note=note)
    console.print(plain(f"{row.id} is {state}: {row.text}"))


@app.command("agree")
def agree(
    task: TaskId,
    version: Annotated[int | None, typer.Option(help="Of the proposals.  [default: the latest]")] = None,
    database: Database = None,
    artifacts: Artifacts = None,
) -> None:
    """Accept the proposals that the engine agrees with: it saw a milestone reached in the same stretch."""
    known = environments.get(task)
    with location(database, artifacts).existing() as store:
        found = milestones.reviewed(store, known.id)
        versions = sorted({item.proposal.version for item in found})
        if not versions:
            told = "no milestones were proposed for it yet; `arena milestones extract` has a model do it"
            raise InvalidExperiment("arguments", [Problem("TASK", known.id, told)])
        if version is not None and version not in versions:
            told = f"no such version; there are {', '.join(map(str, versions))}"
            raise InvalidExperiment("arguments", [Problem("--version", version, told)])
        chosen = versions[-1] if version is None else version
        try:
            accepted = milestones.agree(store, known, chosen)
        except ValueError as error:
            raise InvalidExperiment("arguments", [Problem("--version", chosen, str(error))]) from None
        _print(milestones.reviewed(store, known.id), {chosen})
    console.print(f"{len(accepted)} accepted now")


def _source(store: Store, task: Task, video: str) -> Episode | Tutorial:
    """The recording of that id, if it is one of the task."""
    if video.startswith("t-"):
        film = store.tutorial(video)
        if film is None:
            told = "no such video; `arena tutorial add` adds one, `arena tutorial list` lists them"
            raise InvalidExperiment("arguments", [Problem("VIDEO", video, told)])
        source: Episode | Tutorial = film
    else:
        source = store.episode(video)
    if source.task_id != task.id:
        raise InvalidExperiment("arguments", [Problem("VIDEO", source.id, f"shows {source.task_id}, not {task.id}")])
    if source.video is None:
        raise InvalidExperiment("arguments", [Problem("VIDEO", source.id, "has no video; only finished episodes do")])
    return source


def _print(found: list[milestones.Reviewed], versions: set[int]) -> None:
    table = listing("id", "version", "frames", "milestone", "state", "by", whole=("id", "version", "frames", "state"))
    for item in found:
        row = item.proposal
        if row.version not in versions:
            continue
        by = "" if item.review is None else item.review.reviewer
        if item.review is not None and item.review.matches:
            by = f"{by} ({item.review.matches})"
        stretch = f"{row.first_frame}-{row.last_frame}"
        table.add_row(row.id[:10], str(row.version), stretch, plain(row.text), item.state, plain(by))
    console.print(table)


def _columns(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in row.__dataclass_fields__}
