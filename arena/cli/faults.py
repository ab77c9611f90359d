"""`arena faults`: build datasets of robot episodes with faults, export them, and let diagnosers look at them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.progress import Progress

from agents.gateway import ModelGateway
from arena.cli.common import (
    AsJson,
    checked,
    console,
    counted,
    errors,
    listed,
    listing,
    only_given,
    plain,
    print_json,
)
from arena.cli.diagnose import tracks
from arena.cli.diagnose_options import kinds_of, refuse, severities_of, tasks_of
from arena.cli.endpoints import agent_of, model_of, player_of
from arena.cli.libero import use_libero
from arena.cli.static_tables import tell
from arena.diagnosis.conformal import Calibration, NoCalibration
from arena.diagnosis.static import StaticDiagnoser, StaticRules, StaticVlm
from arena.errors import InvalidExperiment, Problem
from arena.faults import build as building
from arena.faults import lerobot
from arena.faults.dataset import Dataset, Episode, checked_name
from arena.faults.evaluation import evaluate
from arena.faults.plan import DEFAULT_PLAYERS, BuildConfig, Player
from arena.location import DEFAULT_FOLDER
from arena.models import ModelOptions
from environments.robots.faults import KINDS

app = typer.Typer(
    no_args_is_help=True, help="Datasets of robot episodes with faults, and diagnosers that look at them."
)

Name = Annotated[str, typer.Argument(help="Of the dataset.", show_default=False)]
Home = Annotated[
    Path | None,
    typer.Option("--home", help="Folder of the datasets.  [default: faults in $ARENA_DATA or ./arena-data]"),
]


def add_to(main: typer.Typer) -> None:
    """Register the commands of this file; the static track under both of its names."""
    main.add_typer(app, name="faults")
    tracks.command("static")(evaluation)


@app.command("build")
def build(
    name: Name,
    tasks: Annotated[str, typer.Option(help="Globs over task ids, separated by commas.")] = "tabletop/*",
    policies: Annotated[
        str | None,
        typer.Option(help="Agents separated by ';', options behind a colon.  [default: scripted-policy; noisy-expert"),
    ] = None,
    kinds: Annotated[str, typer.Option(help="Kinds, types or globs, such as 'stuck,C5,P*'; or `all`.")] = "all",
    severities: Annotated[str, typer.Option(help="0 is the benign twin.")] = "0,1,2,3",
    per_cell: Annotated[int, typer.Option(help="Episodes of each kind at each severity.")] = 7,
    clean: Annotated[
        int | None, typer.Option(help="Episodes without a fault.  [default: as many as a severity has]")
    ] = None,
    tries: Annotated[int, typer.Option(help="Episodes tried for one that is kept.")] = 6,
    seeds: Annotated[int, typer.Option(help="Seeds of each task that may be used.")] = 60,
    seed: Annotated[int, typer.Option(help="Of the dataset.")] = 0,
    every: Annotated[int, typer.Option(help="Control steps from one picture to the next: 1, 2, 4, 5, 10 or 20.")] = 5,
    pictures: Annotated[bool, typer.Option(help="Draw clips of both cameras.")] = True,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes.  [default: one a core]")] = None,
    patience_s: Annotated[
        float,
        typer.Option("--patience", min=0, help="Seconds that a served policy is awaited without a new slot."),
    ] = building.PATIENCE_S,
    libero: Annotated[
        Path | None,
        typer.Option(help="LIBERO's assets; all its tasks are added unless --tasks names some.", show_default=False),
    ] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Build a dataset: clean episodes, benign injections, and faults that make the same seed fail.

    The same options give the same bytes, with any number of workers. Interrupted, the same command goes on.
    """
    config = _config(
        tasks, policies, kinds, severities, libero,
        {
            "per_cell": per_cell, "clean": clean, "tries": tries, "seeds": seeds, "seed": seed, "every": every,
            "pictures": "clips" if pictures else "none",
        },
    )  # fmt: skip
    began = time.monotonic()
    with Progress(console=errors, transient=True) as bars:
        running: dict[str, Any] = {}

        def tell(phase: str, done: int, of: int) -> None:
            if phase not in running:
                running[phase] = bars.add_task(phase, total=of)
            bars.update(running[phase], completed=done)

        found = building.build(
            _folder(name, home),
            config,
            workers=workers or os.cpu_count() or 1,
            tell=tell,
            warn=lambda line: errors.print(plain(line)),
            patience_s=patience_s,
        )
    manifest = found.dataset.manifest
    if as_json:
        print_json(_summary(found.dataset) | {"seconds": time.monotonic() - began, "reused": found.reused})
        return
    console.print(
        f"{name}: {counted(manifest.episodes, 'episode')} of {manifest.wanted} wanted, "
        f"{counted(sum(manifest.dropped.values()), 'try', 'tries')} dropped, in {time.monotonic() - began:.0f} s"
    )


@app.command("show")
def show(
    name: Name,
    check: Annotated[bool, typer.Option("--check", help="Compare every file with its hash.")] = False,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Show what is in a dataset; its DATASHEET.md says it at length."""
    dataset = Dataset.open(_folder(name, home))
    problems = dataset.problems() if check else []
    if as_json:
        print_json(_summary(dataset) | ({"problems": problems} if check else {}))
    else:
        table = listing("type", "fault", "train", "heldout", "severities")
        for kind, about in [(None, None), *KINDS.items()]:
            rows = [episode for episode in dataset.episodes if episode.truth.kind == kind]
            if rows:
                table.add_row(about.fault_type if about else "N0", kind or "none", *_counts(rows))
        console.print(table)
        manifest = dataset.manifest
        empty = counted(len(manifest.unfilled), "slot")
        console.print(f"{counted(manifest.episodes, 'episode')}, {empty} empty, format {manifest.format}")
        for reason, n in manifest.dropped.items():
            console.print(plain(f"dropped {n}: {reason}"))
        if check:
            told = counted(len(problems), "problem") if problems else "all are as it says"
            size = sum(size for _, size in manifest.files.values()) / 1e6
            console.print(f"{len(manifest.files)} files, {size:.1f} MB, compared with the manifest: {told}")
    for problem in problems:
        errors.print(plain(problem))
    if problems:
        raise typer.Exit(1)


@app.command("export")
def export(
    name: Name,
    folder: Annotated[Path, typer.Argument(help="A new folder.", show_default=False)],
    form: Annotated[Literal["lerobot", "bundle"], typer.Option("--format", help="Which form.")] = "lerobot",
    videos: Annotated[bool, typer.Option(help="For lerobot: with pictures, at their rate; else 20 Hz without.")] = True,
    home: Home = None,
) -> None:
    """Export a dataset as a LeRobot dataset v3.0, or copy the plain bundle."""
    dataset = Dataset.open(_folder(name, home))
    if form == "lerobot":
        lerobot.export(dataset, folder, videos=videos)
    else:
        dataset.copy_to(folder)
    console.print(plain(f"{name} was written to {folder}"))


@app.command("eval")
def evaluation(
    name: Name,
    diagnoser: Annotated[Literal["rules", "vlm"], typer.Option(help="Who looks.")] = "rules",
    model: Annotated[str | None, typer.Option("--model", help="For vlm: the model.")] = None,
    base_url: Annotated[
        str | None, typer.Option("--base-url", help="Its OpenAI-compatible endpoint; else litellm's providers.")
    ] = None,
    key_env: Annotated[str | None, typer.Option("--key-env", help="Name of the variable that holds its key.")] = None,
    mode: Annotated[str, typer.Option(help="How the form is asked for: tool, json_schema or prompt.")] = "tool",
    frames: Annotated[int, typer.Option(min=2, max=64, help="For vlm: moments that it is shown.")] = 12,
    calibration: Annotated[
        list[Path] | None,
        typer.Option("--calibration", help="For rules: thresholds of a policy (`arena diagnose calibrate`)."),
    ] = None,
    split: Annotated[Literal["train", "heldout", "all"], typer.Option(help="Which side of the tasks.")] = "heldout",
    limit: Annotated[int | None, typer.Option(min=1, help="Episodes at most.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """The static track: let a diagnoser look at whole recordings and score what it says.

    Answers are remembered beside the dataset: after an interruption only the missing ones are asked for.
    """
    problems: list[Problem] = []
    limits = _limits(calibration or [], problems)
    options: ModelOptions | None = None
    if diagnoser == "vlm":
        options = _model(only_given(model=model, base_url=base_url, key_env=key_env, mode=mode), problems)
        problems += [Problem("--calibration", path.name, "belongs to --diagnoser rules") for path in calibration or []]
    else:
        for option, value in {"--model": model, "--base-url": base_url, "--key-env": key_env}.items():
            if value is not None:
                shown = value if option == "--model" else ""  # what else is written there may hold a key
                problems.append(Problem(option, shown, "belongs to --diagnoser vlm"))
    refuse(problems)
    dataset = Dataset.open(_folder(name, home))
    who: StaticDiagnoser
    if options is None:
        who = StaticRules(_by_player(dataset, limits))
    else:
        who = StaticVlm(ModelGateway(options), options, frames=frames)
    with Progress(console=errors, transient=True) as bars:
        bar = bars.add_task(who.name, total=None)
        found = evaluate(
            dataset, who, split=split, limit=limit, tell=lambda done, of: bars.update(bar, completed=done, total=of)
        )
    if as_json:
        print_json(found.to_json())
    else:
        tell(found)
    if found.overall.abstained.get("provider"):
        errors.print("The provider failed in some episodes; the same command asks only those again.")
        raise typer.Exit(1)


# --- options ------------------------------------------------------------------------------------------------------


def _folder(name: str, home: Path | None) -> Path:
    place = home or Path(os.environ.get("ARENA_DATA") or DEFAULT_FOLDER).expanduser() / "faults"
    return place.absolute() / checked_name(name)


def _config(
    tasks: str, policies: str | None, kinds: str, severities: str, libero: Path | None, others: dict[str, Any]
) -> BuildConfig:
    """What a build is to hold; LIBERO's assets are made known to this process and its workers.

    Raises:
        InvalidExperiment: with everything that is wrong.
    """
    problems: list[Problem] = []
    use_libero(libero, problems)
    if libero is not None and "libero/" not in tasks:
        tasks = f"{tasks},libero/*"
    asked = {
        "tasks": tasks_of(listed(tasks), problems, "--tasks"),
        "players": DEFAULT_PLAYERS if policies is None else _players(policies, problems),
        "kinds": kinds_of(kinds, problems, "--kinds"),
        "severities": severities_of(severities, problems),
    }
    try:
        config = checked(BuildConfig, asked | others)
    except InvalidExperiment as error:
        told = {problem.path for problem in problems}  # an option of which nothing is left is not told twice
        problems += [problem for problem in error.problems if problem.path not in told]
        raise InvalidExperiment(error.source, problems) from None
    refuse(problems)
    return config


def _players(text: str, problems: list[Problem]) -> list[Player]:
    """The policies of `--policies`; what is wrong with each is added to the problems."""
    found = []
    for part in text.split(";"):
        try:
            player = player_of(part, "--policies")
        except InvalidExperiment as error:
            problems += error.problems
            continue
        agent_of(player, problems, "--policies")
        found.append(player)
    return found


def _model(given: dict[str, Any], problems: list[Problem]) -> ModelOptions | None:
    """The model of `--diagnoser vlm`; what is wrong with its options is added to the problems."""
    if "model" not in given:
        problems.append(Problem("--model", "", "--diagnoser vlm needs --model NAME"))
        given = {"model": "unnamed", **given}  # so that what else is wrong is told too
    before = len(problems)
    model_of(given, problems)
    return None if len(problems) > before else checked(ModelOptions, given)


def _limits(paths: list[Path], problems: list[Problem]) -> dict[Path, Calibration]:
    """The calibration files that can be read; what is wrong with each other one is added to the problems."""
    found = {}
    for path in paths:
        try:
            found[path] = Calibration.load(path)
        except NoCalibration as error:
            problems.append(Problem("--calibration", "", str(error)))
    return found


def _by_player(dataset: Dataset, limits: dict[Path, Calibration]) -> dict[str, Calibration]:
    """By the player that each is of.

    Raises:
        InvalidExperiment: with every one of a policy that is not in the dataset.
    """
    from agents import create

    players = {
        player.label: create(player.agent, player.options).fingerprint() for player in dataset.manifest.config.players
    }
    told = f"is of a policy that is not in {dataset.manifest.name}"
    others = [path.name for path, found in limits.items() if found.agent not in players.values()]
    refuse([Problem("--calibration", name, told) for name in others])
    return {label: found for found in limits.values() for label, own in players.items() if found.agent == own}


# --- what is shown ------------------------------------------------------------------------------------------------


def _summary(dataset: Dataset) -> dict[str, Any]:
    manifest = dataset.manifest
    told = manifest.model_dump(mode="json", exclude={"files"})
    return told | {
        "files": len(manifest.files),
        "bytes": sum(size for _, size in manifest.files.values()),
        "by_type": _tally([episode.truth.fault_type for episode in dataset.episodes]),
        "by_class": _tally([episode.truth.fault_class for episode in dataset.episodes]),
        "by_severity": _tally([str(episode.truth.severity) for episode in dataset.episodes if episode.fault]),
        "by_stage": _tally([episode.truth.stage or "none" for episode in dataset.episodes]),
        "by_split": _tally([episode.split for episode in dataset.episodes]),
    }


def _tally(values: list[str]) -> dict[str, int]:
    return {value: values.count(value) for value in sorted(set(values))}


def _counts(rows: list[Episode]) -> tuple[str, str, str]:
    severities = _tally([str(episode.truth.severity) for episode in rows])
    told = "  ".join(f"{name}: {n}" for name, n in severities.items()) if rows[0].fault else ""
    train = sum(episode.split == "train" for episode in rows)
    return str(train), str(len(rows) - train), told
