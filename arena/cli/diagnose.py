"""`arena diagnose`: fault diagnosis in closed loop; its thresholds, and what each intervention was worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.progress import track
from typer.core import TyperGroup

from arena import run as runs
from arena.cli.common import (
    Artifacts,
    AsJson,
    Database,
    console,
    errors,
    listing,
    location,
    only_given,
    plain,
    print_json,
    say,
)
from arena.cli.diagnose_options import (
    MAX_SEEDS,
    Asked,
    calibration_asked,
    conditions_played,
    dynamic_asked,
    experiment_asked,
)
from arena.cli.dynamic_tables import tell
from arena.cli.endpoints import entry_of, require_model, require_policy
from arena.cli.progress import ProgressBar, tell_unmeasured, unmeasured
from arena.diagnosis import conformal, counterfactual
from arena.diagnosis.condition_names import CONDITIONS, WATCHED
from arena.diagnosis.conformal import Calibration
from arena.diagnosis.dynamic import run_dynamic
from arena.diagnosis.dynamic_rows import ALONE, SEPARATOR
from arena.diagnosis.dynamic_table import dynamic_table
from arena.diagnosis.opinions import is_human
from arena.errors import Problem
from arena.faults.plan import Player
from arena.identity import digest

DYNAMIC = "dynamic"


class _Tracks(TyperGroup):
    """A group whose first argument may be what the dynamic track is to be run on."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Name the dynamic track where no track is named."""
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h"):
            args = [DYNAMIC, *args]
        return super().parse_args(ctx, args)


tracks = typer.Typer(
    cls=_Tracks,
    no_args_is_help=True,
    help="Diagnose faults in closed loop: watch, roll back, repair. `arena diagnose TASKS` is the dynamic track.",
)
"""Other tracks add their commands here."""


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.add_typer(tracks, name="diagnose")


Agent = Annotated[
    str,
    typer.Option("--agent", help="The policy; options behind a colon: `policy:protocol=openpi,url=ws://HOST:PORT`."),
]


@tracks.command(DYNAMIC)
def run_tasks(
    context: typer.Context,
    what: Annotated[
        list[str], typer.Argument(help="Tasks (globs), or one experiment file (YAML).", show_default=False)
    ],
    seeds: Annotated[int, typer.Option("--seeds", min=1, max=MAX_SEEDS, help="Seeds of each task, from 0.")] = 2,
    faults: Annotated[
        str,
        typer.Option(
            "--faults",
            help="Kinds, types or globs with commas, such as `stuck,C5,P*`; `all`, or `none` for clean episodes alone.",
        ),
    ] = "all",
    severities: Annotated[str, typer.Option("--severities", help="0 (benign) to 3, with commas.")] = "0,2",
    repeat: Annotated[bool, typer.Option("--repeat", help="Faults come back when they are rolled back from.")] = False,
    conditions: Annotated[
        str, typer.Option("--conditions", help="With commas; also `rules-subgoals`, `vlm`, `vlm-stages`, `human`.")
    ] = ",".join(CONDITIONS),
    agent: Agent = "scripted-policy",
    calibration: Annotated[
        Path | None,
        typer.Option(
            "--calibration",
            help="Thresholds, by `arena diagnose calibrate`.  [default: made if needed]",
            show_default=False,
        ),
    ] = None,
    model: Annotated[str | None, typer.Option("--model", help="For `vlm`.", show_default=False)] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="Its endpoint.", show_default=False)] = None,
    key_env: Annotated[
        str | None, typer.Option("--key-env", help="Name of the variable that holds its key.", show_default=False)
    ] = None,
    rollback: Annotated[str, typer.Option("--rollback", help="`sim`, or `physical`: the arm alone.")] = "sim",
    interventions: Annotated[int, typer.Option("--interventions", min=1, max=20, help="In one episode.")] = 3,
    vary: Annotated[
        bool, typer.Option("--vary", help="A second try at the same place has other noise, or replans at other steps.")
    ] = False,
    video: Annotated[
        bool, typer.Option("--video", help="Film every step, to be watched; else what somebody saw.")
    ] = False,
    workers: Annotated[int | None, typer.Option("--workers", "-j", min=0, help="Processes.")] = None,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Run the dynamic track: every scenario alone and under every condition; continue after any interruption."""
    given = only_given(model=model, base_url=base_url, key_env=key_env)
    place = location(database, artifacts)
    asked: Asked | None = None
    play: Callable[..., str]
    if len(what) == 1 and Path(what[0]).is_file():
        planned, options = experiment_asked(Path(what[0]), given, _beside_a_file(context))
        play = partial(runs.run, planned)
    else:
        asked = dynamic_asked(
            what, seeds=seeds, faults=faults, severities=severities, repeat=repeat, conditions=conditions, agent=agent,
            calibration=calibration, model=given, rollback=rollback,
        )  # fmt: skip
        options = asked.model
        require_policy(asked.player)
        play = partial(
            run_dynamic, scenes=asked.scenes, names=asked.names, agent=entry_of(asked.player), model=options,
            max_interventions=interventions, rollback=rollback, vary=vary, video="every-step" if video else "as-seen",
            tell=_say,
        )  # fmt: skip
    if options is not None:
        require_model(options)
    with place.open() as store:
        if asked is not None:
            play = partial(play, calibration=_calibration(calibration, place.scratch.parent, asked))
        with ProgressBar(errors) as bar:
            run_id = play(store=store, location=place, workers=workers, observer=bar)
        table, missing = dynamic_table(store, run_id), unmeasured(store, run_id)
    tell(table, as_json)
    known = [line.condition for line in table.lines]
    for name in asked.names if asked is not None else ():
        if is_human(name) and name not in known:
            _say(f"{name}: nobody has looked at {run_id} yet; `arena view --review` has a page for that")
    if bar.failures or missing:
        tell_unmeasured(missing, errors)
        raise typer.Exit(1)


_OF_TASKS = (
    "seeds", "faults", "severities", "repeat", "conditions", "agent", "calibration", "rollback", "interventions",
    "vary", "video",
)  # fmt: skip
"""Options of the dynamic track that an experiment file decides itself."""


def _beside_a_file(context: typer.Context) -> list[Problem]:
    """Options that were given beside an experiment file, and would count for nothing."""
    sources = {name: context.get_parameter_source(name) for name in _OF_TASKS}
    given = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    return [Problem(f"--{name}", "", "is for tasks; an experiment file says this itself") for name in given]


@tracks.command("table")
def show_table(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Print the dynamic table of a run."""
    with location(database, artifacts).existing() as store:
        table = dynamic_table(store, run)
    tell(table, as_json)


@tracks.command("calibrate")
def calibrate(
    what: Annotated[list[str], typer.Argument(help="Tasks (globs).", show_default=False)],
    to: Annotated[Path, typer.Option("--to", help="The file to write.", show_default=False)],
    agent: Agent = "scripted-policy",
    episodes: Annotated[int, typer.Option("--episodes", min=8, help="Clean episodes of each task.")] = 60,
    alpha: Annotated[
        float, typer.Option("--alpha", min=0.001, max=0.5, help="Clean episodes with an alarm, at most.")
    ] = 0.05,
    first_seed: Annotated[
        int, typer.Option("--first-seed", min=0, max=2**31 - 1, help="Of the episodes; keep them apart from others.")
    ] = conformal.FIRST_SEED,
) -> None:
    """Set the monitors' thresholds from a policy's clean episodes, on seeds that nothing else uses.

    What was played when it is interrupted, or when a served policy fails, lies beside the file until it is written:
    the same command goes on there.
    """
    tasks, player = calibration_asked(what, to, agent=agent, episodes=episodes, alpha=alpha, first_seed=first_seed)
    require_policy(player)
    _learn(to, tasks, player, episodes=episodes, alpha=alpha, first_seed=first_seed)
    console.print(f"wrote {to}", markup=False, highlight=False)


@tracks.command("counterfactual")
def replay_forks(
    run: Annotated[str, typer.Argument(help="Run id, or its beginning.", show_default=False)],
    conditions: Annotated[str, typer.Option("--conditions", help="With commas.  [default: all]")] = "",
    limit: Annotated[int | None, typer.Option("--limit", min=1, help="Episodes at most.", show_default=False)] = None,
    video: Annotated[bool, typer.Option("--video", help="Film the other way, for the viewer.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Play also what was played before.")] = False,
    database: Database = None,
    artifacts: Artifacts = None,
    as_json: AsJson = False,
) -> None:
    """Play each intervention the other way and keep what came of it: was it needed, did it help?

    What was played before is not played again, so that the same command goes on after an interruption. Exits with 1
    if a replay is not exact.
    """
    place = location(database, artifacts)
    with place.existing() as store:
        films = place.scratch if video else None
        played = {link.condition.partition(SEPARATOR)[0] for link in store.plan(store.run(run).id)}
        names = conditions_played(conditions, played)
        asked = counterfactual.of_run(store, run, conditions=names, limit=limit, films=films, keeping=True, again=again)
        found = list(track(asked, "Playing the other way", console=errors, transient=True))
    counts = counterfactual.tally(found)
    if as_json:
        print_json({"tally": asdict(counts), "forks": [item.to_json() for item in found]})
    else:
        table = listing("episode", "step", "trigger", "with", "without", "verdict", "prefix", whole=("episode", "step"))
        words = {True: "success", False: "failure"}
        for item in found:
            trigger = item.trigger + " (suppressed)" * item.suppressed
            same = f"{item.prefix_steps} steps" if item.exact else "; ".join(item.differences)
            cells = (item.episode, str(item.step), trigger, words[item.with_it], words[item.without], item.verdict)
            table.add_row(*map(plain, (*cells, same)))
        if not found:
            say(_nothing_replayed(names or sorted(played)))
            return
        console.print(table)
        console.print(
            f"{counts.exact} of {counts.forks} equal the record bit for bit until the fork; {counts.helped} helped, "
            f"{counts.harmed} harmed, {counts.not_needed} not needed, {counts.did_not_help} did not help",
            markup=False,
            highlight=False,
        )
    if counts.exact < counts.forks:
        raise typer.Exit(1)


def _nothing_replayed(names: Sequence[str]) -> str:
    """Why no intervention was played the other way."""
    told = "nothing to replay: no diagnosis led to an intervention, or to one that was suppressed, under"
    never = f"; `{ALONE}` never intervenes" if ALONE in names else ""
    return f"{told} {', '.join(f'`{name}`' for name in names)}{never}"


def _tell_calibrated(task_id: str, found: conformal.TaskCalibration) -> None:
    factor = "no threshold keeps that promise" if found.factor is None else f"factor {found.factor:.2f}"
    _say(f"{task_id}: learned on {found.learned_on}, set on {found.set_on} clean episodes; {factor}")


def _say(line: str) -> None:
    errors.print(plain(line), soft_wrap=True)


def _learn(path: Path, tasks: Sequence[str], player: Player, **bounds: Any) -> None:
    """Write a policy's limits; the episodes played so far lie beside the file meanwhile."""
    conformal.calibrate(tasks, player.agent, player.options, to=path, tell=_tell_calibrated, **bounds)


def _calibration(given: Path | None, folder: Path, asked: Asked) -> str | None:
    """The file of the policy's limits on the tasks: the given one, or one made before, or a new one."""
    if given is not None:
        _say(f"limits of {given}: {Calibration.load(given).size}")
        return str(given)
    if not set(WATCHED) & set(asked.names):
        return None
    player = asked.player
    told = f"-{digest(asked.playing.fingerprint(), 10)}" if player.options else ""
    path = folder / "calibrations" / f"{player.agent}{told}-{conformal.name_of(asked.tasks)}.json"
    if path.exists():
        try:
            Calibration.load(path)
        except conformal.NoCalibration as error:
            _say(str(error))
        else:
            return str(path)
    _say(f"calibrating {player.label} on {len(asked.tasks)} tasks")
    _learn(path, asked.tasks, player)
    return str(path)
