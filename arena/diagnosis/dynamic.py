"""The dynamic track: supervised episodes beside the same ones left alone, for every condition, paired by seed.

A dynamic run is an ordinary experiment: each scenario (task, seed, fault) is played once under each condition, so that
it can be interrupted and continued, replayed in the browser, and verified. `dynamic_table` reads the numbers.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from arena import plan, run
from arena.diagnosis import opinions
from arena.diagnosis.condition_names import (
    CONDITIONS,
    PLANTED,
    RANDOM,
    WITH_MODEL,
    name_problems,
    planted_rates,
    run_problems,
)
from arena.diagnosis.dynamic_rows import ALONE, SEPARATOR, Row, rows_of, rule_rate
from arena.errors import InvalidExperiment
from arena.experiment import EVERY_STEP, Experiment, Video
from arena.location import Location
from arena.run import Observer
from environments.robots.faults import KINDS, Fault
from storage.models import Run
from storage.store import Store

CLEAN = "clean"


@dataclass(frozen=True, slots=True)
class Scenario:
    """One episode to be played under every condition."""

    task: str
    seed: int
    fault: Fault | None = None

    @property
    def label(self) -> str:
        """Of its fault, within a condition's label."""
        if self.fault is None:
            return CLEAN
        again = "+" if self.fault.repeat else ""
        default = KINDS[self.fault.kind].stage
        stage = "" if self.fault.stage == default else f"@{self.fault.stage}"
        return f"{self.fault.kind}/{self.fault.severity}{stage}{again}"


def scenarios(
    tasks: Sequence[str],
    seeds: Sequence[int],
    faults: Sequence[Mapping[str, Any] | str | None] = (),
    severities: Sequence[int] = (2,),
) -> list[Scenario]:
    """Every task with every seed: clean, and with each fault at each severity; without faults named, with all kinds.

    Faults whose stage a task does not have, such as a lift where a drawer is opened, never begin; their episodes count
    as clean ones.
    """
    named: list[Fault | None] = [None]
    for given in faults or list(KINDS):
        if given is None:
            continue
        asked = {"kind": given} if isinstance(given, str) else dict(given)
        named += [Fault.parse({"severity": severity, **asked}) for severity in severities]
    unique = list(dict.fromkeys(named))
    return [Scenario(task, seed, fault) for task in tasks for seed in seeds for fault in unique]


def configs(
    names: Iterable[str],
    *,
    calibration: str | None,
    model: Mapping[str, Any] | str | None = None,
    max_interventions: int = 3,
    horizon: str = "charged",
    rollback: str = "sim",
    vary: bool = False,
    random: tuple[float, int] | None = None,
    opinion: Mapping[str, Any] | None = None,
) -> dict[str, dict[str, Any]]:
    """What each named condition asks of the supervisor, as an experiment file would say it.

    Args:
        names: of conditions (`arena.diagnosis.condition_names`).
        calibration: file of the monitors' limits.
        model: for `vlm` and `vlm-stages`.
        max_interventions: in an episode.
        horizon: `charged` counts what was undone.
        rollback: `sim` or `physical`.
        vary: have the policy act otherwise from the second try at the same place on.
        random: rate and spread of the random trigger; without them it is left out.
        opinion: what a person said of the one scenario that is configured; without it `human` is left out.

    Raises:
        InvalidExperiment: with every name that is wrong, or asks a model where there is none.
    """
    names = list(names)
    if wrong := name_problems(names, model=model is not None):
        raise InvalidExperiment("dynamic track", wrong)
    shared: dict[str, Any] = {"max_interventions": max_interventions}
    if horizon != "world":
        shared["horizon"] = horizon
    if rollback != "sim":
        shared["rollback"] = rollback
    if vary:
        shared["vary"] = True
    watched = {**shared, **({"calibration": calibration} if calibration else {})}
    found: dict[str, dict[str, Any]] = {}
    for name in names:
        if name == ALONE:
            found[name] = {"diagnoser": ALONE}
        elif name in ("rules", "restart", "monitors-only"):
            found[name] = {"diagnoser": name, **watched}
        elif name == "rules-subgoals":
            found[name] = {"diagnoser": "rules", "subgoals": True, **watched}
        elif name in ("oracle-detection", "oracle-everything"):
            found[name] = {"diagnoser": name, **shared}
        elif name in WITH_MODEL:
            looks = {"stages": True} if name == "vlm-stages" else {}
            found[name] = {"diagnoser": "vlm", "model": model, "unanswered": "stop", **looks, **watched}
        elif name == RANDOM:
            if random is not None:
                found[name] = {"diagnoser": name, "rate": random[0], "spread_steps": random[1], **shared}
        elif opinions.is_human(name):
            if opinion is not None:
                found[name] = {"diagnoser": opinions.HUMAN, "opinion": opinion, **shared}
        else:
            detection, false_alarm = planted_rates(name)
            rates = {"detection": detection, "false_alarm": false_alarm, "every": PLANTED_EVERY}
            bounds = {"max_diagnoses": 100, "max_interventions": PLANTED_INTERVENTIONS}
            found[name] = {"diagnoser": PLANTED, **rates, **shared, **bounds}
    return found


PLANTED_EVERY = 20
"""Steps between two looks of a planted diagnoser: one second, as the published judges are asked."""

PLANTED_INTERVENTIONS = 20
"""It may intervene as often as it likes, as the published judges may."""


def experiment(
    name: str,
    scenes: Sequence[Scenario],
    conditions: Mapping[str, Mapping[str, Any]],
    agent: str | Mapping[str, Any] = "scripted-policy",
    *,
    horizons: Mapping[str, int] | None = None,
    own: Mapping[Scenario, Mapping[str, Mapping[str, Any]]] | None = None,
    filmed: bool = False,
    video: Video = "as-seen",
) -> Experiment:
    """The experiment that plays every scenario under every condition.

    Args:
        name: of the run.
        scenes: what is played.
        conditions: label -> what it asks of the supervisor (see `configs`).
        agent: the policy, by name or with its options.
        horizons: control steps by task; a task that is not named has its own.
        own: conditions of single scenarios beside those of all.
        filmed: draw every step of the episodes that are left alone, so that people can watch them.
        video: what is drawn of the others.
    """
    blocks = []
    ordered = sorted(scenes, key=lambda scene: (scene.task, scene.seed, scene.label))
    for (task, seed), group in groupby(ordered, key=lambda scene: (scene.task, scene.seed)):
        listed: dict[Video, list[dict[str, Any]]] = {EVERY_STEP: [], "as-seen": []}
        for scene in group:
            for label, config in {**conditions, **(own or {}).get(scene, {})}.items():
                drawn: Video = EVERY_STEP if filmed and label == ALONE else video
                listed[drawn].append(_condition(scene, label, config))
        limits = {"limits": {"max_steps": horizons[task]}} if horizons and task in horizons else {}
        blocks += [
            {"tasks": task, "seeds": [seed], "conditions": found, "video": drawn, **limits}
            for drawn, found in listed.items()
            if found
        ]
    shared: dict[str, Any] = {"spaces": "native", "agents": [agent]}
    return Experiment.model_validate({"name": name, "blocks": [{**shared, **block} for block in blocks]})


def _condition(scene: Scenario, label: str, config: Mapping[str, Any]) -> dict[str, Any]:
    """One condition of one scenario, as an experiment file would say it."""
    fault = {} if scene.fault is None else {"fault": scene.fault.model_dump(mode="json")}
    labelled = {"name": "diagnose-and-rollback", "label": f"{label}{SEPARATOR}{scene.label}"}
    return {**labelled, "diagnosis": dict(config), **fault}


def run_dynamic(
    store: Store,
    location: Location,
    scenes: Sequence[Scenario],
    names: Sequence[str] = CONDITIONS,
    *,
    agent: str | Mapping[str, Any] = "scripted-policy",
    calibration: str | None = None,
    model: Mapping[str, Any] | str | None = None,
    max_interventions: int = 3,
    horizon: str = "charged",
    rollback: str = "sim",
    vary: bool = False,
    video: Video = "as-seen",
    horizons: Mapping[str, int] | None = None,
    workers: int | None = None,
    name: str = "diagnosis",
    observer: Observer | None = None,
    tell: Callable[[str], None] | None = None,
) -> str:
    """Play every scenario under every condition; returns the run's id.

    The random trigger needs to know how often `rules` intervenes, and people must have seen the episodes that are left
    alone: so everything else is played first, and filmed for them if `human` is among the names. Scenarios that nobody
    has looked at yet have no episode under it. What is done already is not repeated.

    What those two go by is part of the run: where it has changed since the same call was made before, the run is a new
    one, so that no opinion that was taken back stays in its table. `tell` is given a line about it.

    Raises:
        InvalidExperiment: with every condition that is wrong, or lacks what it needs, before anything is played.
    """
    wanted = list(dict.fromkeys([ALONE, *names]))
    told = {
        "calibration": calibration,
        "model": model,
        "max_interventions": max_interventions,
        "horizon": horizon,
        "rollback": rollback,
        "vary": vary,
    }
    if wrong := list(run_problems(wanted, {scene.label for scene in scenes}, model=model is not None)):
        raise InvalidExperiment("dynamic track", wrong)
    people = [one for one in wanted if opinions.is_human(one)]
    first = configs([one for one in wanted if one != RANDOM], **told)  # type: ignore[arg-type]
    earlier = store.runs()
    asked: dict[str, Any] = {"horizons": horizons, "filmed": bool(people), "video": video}
    planned = experiment(name, scenes, first, agent, **asked)
    if RANDOM in wanted and tell is not None and plan.build(planned).run_id not in {one.id for one in earlier}:
        tell(f"{RANDOM} intervenes as often as `rules`: one run tells how often that is, a second one has it too")
    run_id = run.run(planned, store, location, workers=workers, observer=observer)
    own = _of_people(store, run_id, scenes, people, told)
    every = first
    if RANDOM in wanted:
        played = rows_of(store, run_id)
        if missing := len(scenes) - sum(row.condition == "rules" for row in played):
            if tell is not None:
                lacking = f"{missing} of {len(scenes)} episodes are missing"
                tell(f"{RANDOM} is not played: its rate is that of `rules`, of which {lacking}")
        else:
            every = configs(wanted, random=(rule_rate(played), _usual_steps(played)), **told)  # type: ignore[arg-type]
    if every == first and not own:
        return run_id
    planned = experiment(name, scenes, every, agent, own=own, **asked)
    if tell is not None:
        reasons = {"what people said of the recordings": bool(own), "how often `rules` intervened": every is not first}
        # A run without its random trigger is a beginning, and no result of the same call.
        results = [one for one in earlier if RANDOM not in wanted or one.id != run_id]
        _tell_new(planned, results, " or ".join(what for what, counts in reasons.items() if counts), tell)
    return run.run(planned, store, location, workers=workers, observer=observer)


def _tell_new(planned: Experiment, earlier: Sequence[Run], reason: str, tell: Callable[[str], None]) -> None:
    """Say so if the plan is a new run although an earlier one, of those newest first, asked for the same."""
    asked = _foreseen(planned.model_dump(mode="json"))
    same = [one.id for one in earlier if one.name == planned.name and _foreseen(one.experiment) == asked]
    if same and (run_id := plan.build(planned).run_id) not in same:
        told = f"{run_id} is a new run, and {same[0]} stays as it is: {reason} is part of a run"
        tell(f"{told}; what both ask for is not played again")


def _foreseen(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's experiment does not follow from what was played before."""
    blocks = []
    for block in asked["blocks"]:
        kept = [one for one in block["conditions"] if one["diagnosis"]["diagnoser"] not in (RANDOM, opinions.HUMAN)]
        if kept:
            blocks.append({**block, "conditions": kept})
    return {**asked, "blocks": blocks}


def _of_people(
    store: Store, run_id: str, scenes: Sequence[Scenario], people: Sequence[str], told: Mapping[str, Any]
) -> dict[Scenario, dict[str, dict[str, Any]]]:
    """By scenario, the conditions of people who have looked at its recording."""
    if not people:
        return {}
    watched = opinions.recordings(store, run_id)
    found: dict[Scenario, dict[str, dict[str, Any]]] = {}
    for name in people:
        said = opinions.by_scene(watched, name)
        for scene in scenes:
            opinion = said.get((scene.task, scene.seed, scene.label))
            if opinion is not None:
                found.setdefault(scene, {}).update(configs([name], opinion=opinion.to_json(), **told))
    return found


def _usual_steps(played: Sequence[Row]) -> int:
    """Steps of a usual episode that nobody disturbs."""
    lengths = [row.steps for row in played if row.condition == ALONE and row.onset is None]
    return int(statistics.median(lengths)) if lengths else 100
