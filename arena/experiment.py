"""The experiment file: YAML in, a validated `Experiment` out, or every problem at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

import agents
import environments
from agents.errors import AgentsError, InvalidOptions
from arena.conditions import Condition, Label
from arena.diagnosis import DiagnosisConfig
from arena.errors import InvalidExperiment, Problem
from arena.identity import digest
from arena.judging import JudgeConfig
from arena.models import ModelOptions
from arena.reflection import ReflectionConfig
from environments import plain_yaml
from environments.errors import InvalidParams, NotPlainYaml, UnknownTask
from environments.robots.faults import Fault
from environments.task import IRREVERSIBLE, NO_EXPERT, ActionSpace, Task, nearest

_Strict = ConfigDict(extra="forbid", frozen=True)


class Limits(BaseModel):
    """Budgets of one episode. None leaves a budget open. All but `max_steps` end an episode unscored."""

    model_config = _Strict

    max_steps: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Horizon in steps; None takes the task's own."""
    max_bad_in_a_row: Annotated[int, Field(ge=1, le=1_000)] = 5
    """Unparsable replies in a row that end the episode as `unparsable`."""
    max_illegal_in_a_row: Annotated[int, Field(ge=1, le=100_000)] = 50
    """Illegal actions in a row that end the episode as `illegal`."""
    max_calls: Annotated[int, Field(ge=1)] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_cost_usd: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_working_s: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Wall time without waiting for rate limits."""


class Clock(BaseModel):
    """How time passes in the world while the player thinks: not at all, by a declared latency, or as on the wall.

    Under `real-time` a game with a clock runs at its own rate until the answer is there, and a step lasts as long as
    its game time. How long each answer took is recorded, and `arena verify` plays the episode again from that.
    """

    model_config = _Strict

    kind: Literal["stepped", "latency", "real-time"] = "stepped"
    ms: Annotated[int, Field(ge=0, le=600_000)] = 0
    """For `latency`: milliseconds that the world runs on before each action."""

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"kind": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _latency_needs_ms(self) -> Clock:
        if (self.kind == "latency") != (self.ms > 0):
            raise ValueError("clock 'latency' needs ms > 0, and 'stepped' and 'real-time' take none")
        return self


Video = Literal["every-step", "as-seen"]
"""What is drawn for an episode's video: the picture after every step, or the first one, those that somebody looked at
(player, supervisor), those around a rollback and the last one. Drawing is most of a robot's step, and a policy that
executes chunks looks seldom; see `arena.recorder`."""
EVERY_STEP: Video = "every-step"


class AgentEntry(BaseModel):
    """A player: its name, a label for the table, and its own options."""

    model_config = _Strict

    name: str
    label: Label
    options: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_short_form(cls, value: Any) -> Any:
        if isinstance(value, str):
            value = {"name": value}
        if isinstance(value, dict) and "name" in value:
            given = value.get("options") or {}
            if not isinstance(given, Mapping):
                raise ValueError(f"options must be a mapping of names to values, not {given!r:.80}")
            options = {**given}
            options |= {key: item for key, item in value.items() if key not in ("name", "label", "options")}
            default = f"{value['name']}:{options['model']}" if "model" in options else value["name"]
            return {"name": value["name"], "label": value.get("label", default), "options": options}
        return value


class Block(BaseModel):
    """One full product: every task behind every space by every agent under every condition on every seed."""

    model_config = _Strict

    tasks: Annotated[list[str], Field(min_length=1)]
    params: dict[str, Any] = Field(default_factory=dict)
    """What is set of every task of the block, such as LIBERO's `convention`; see `Task.vary`."""
    spaces: Annotated[list[Literal["semantic", "gui", "native"]], Field(min_length=1)]
    agents: Annotated[list[AgentEntry], Field(min_length=1)]
    conditions: Annotated[list[Condition], Field(min_length=1)]
    seeds: Annotated[list[Annotated[int, Field(ge=0, lt=2**31)]], Field(min_length=1)]
    repetitions: Annotated[int, Field(ge=1, le=1_000)] = 1
    limits: Limits = Field(default_factory=Limits)
    judge: Annotated[tuple[JudgeConfig, ...], Field(min_length=1, max_length=20)] = (JudgeConfig(),)
    """One judge, or several: each adds verdicts of its own."""
    clock: Clock = Field(default_factory=Clock)
    video: Video = EVERY_STEP

    @field_validator("seeds", mode="before")
    @classmethod
    def _count_of_seeds(cls, value: Any) -> Any:
        if isinstance(value, bool) or (isinstance(value, int) and not 0 < value <= 10_000):
            raise ValueError("seeds are a list of numbers, or how many: 1 to 10000")
        return list(range(value)) if isinstance(value, int) else value

    @field_validator("tasks", "spaces", "seeds")
    @classmethod
    def _nothing_twice(cls, value: list[Any]) -> list[Any]:
        repeated = sorted(str(item) for item, count in Counter(value).items() if count > 1)
        if repeated:
            raise ValueError(
                f"{', '.join(repeated[:5])} is listed twice; for more episodes on a seed use `repetitions`"
            )
        return value

    @field_validator("tasks", "spaces", "agents", "conditions", "judge", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return [value] if isinstance(value, str | dict) else value

    def found(self) -> list[Task]:
        """Its tasks, set as `params` says; without those that there are none of or that cannot be set so."""
        return [task for pattern in self.tasks for task in _known(pattern, self.params)]


class Experiment(BaseModel):
    """A named list of blocks. In the file, what stands beside `blocks` is the default for each of them."""

    model_config = _Strict

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,60}$")]
    description: str = ""
    blocks: Annotated[list[Block], Field(min_length=1)]


def load(path: Path | str, *, model: Mapping[str, Any] | None = None) -> Experiment:
    """Read and validate an experiment file.

    Args:
        path: The file.
        model: Options for every `vlm` of the file (player, reflector, judge, diagnoser) that names no model itself.

    Raises:
        InvalidExperiment: with every problem of the file, each with its path, value and remedy.
    """
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidExperiment(str(path), [Problem("file", path.name, f"cannot be read: {error}")]) from None
    return parse(text, str(path), model=model)


def parse(text: str, source: str = "experiment", *, model: Mapping[str, Any] | None = None) -> Experiment:
    """Validate the YAML text of an experiment; `model` as in `load`.

    Raises:
        InvalidExperiment: with every problem, each with its path, value and remedy.
    """
    try:
        data = plain_yaml.load(text)
    except NotPlainYaml as error:
        raise InvalidExperiment(source, [Problem(where, "", message) for where, message in error.problems]) from None
    if not isinstance(data, dict):
        raise InvalidExperiment(
            source, [Problem("file", data, "expected a mapping with `name`, `tasks`, `agents`, ...")]
        )
    try:
        data, flat = _spread_defaults(_with_model(data, model) if model else data)
        experiment = Experiment.model_validate(data)
    except ValidationError as error:
        found = [_problem(item, flat) for item in error.errors(include_url=False)]
        raise InvalidExperiment(source, [*found, *_check_raw_tasks(data, flat)]) from None
    except RecursionError:
        raise InvalidExperiment(source, [Problem("file", "", "refers to itself, or is nested too deeply")]) from None
    problems = list(_check(experiment, flat))
    if problems:
        raise InvalidExperiment(source, problems)
    return experiment


def _with_model(data: Any, model: Mapping[str, Any], under: str = "") -> Any:
    """The file's data with `model` given to every `vlm` that names none; `under` is the field that holds `data`."""
    if isinstance(data, list):
        return [_with_model(item, model, under) for item in data]
    if not isinstance(data, dict):
        return data
    filled = {key: _with_model(item, model, str(key)) for key, item in data.items()}
    players = filled.get("agents")
    if players is not None:
        listed = players if isinstance(players, list) else [players]
        filled["agents"] = [{"name": "vlm", **model} if player == "vlm" else player for player in listed]
    if isinstance(judges := filled.get("judge"), list):
        filled["judge"] = [{"judge": "vlm", "model": dict(model)} if judge == "vlm" else judge for judge in judges]
    for role in ("reflection", "judge", "diagnosis"):
        if filled.get(role) == "vlm" and under != role:  # `judge: {judge: vlm}` is the long form already
            filled[role] = {_ROLES[role]: "vlm", "model": dict(model)}
    if "model" not in filled:
        if filled.get("name") == "vlm":
            filled |= model
        elif any(filled.get(key) == "vlm" for key in _ROLES.values()):
            filled["model"] = dict(model)
    return filled


_ROLES = {"reflection": "reflector", "judge": "judge", "diagnosis": "diagnoser"}
"""Where a model may be asked, and the field that says so."""
_TOP = ("name", "description", "blocks")


def _spread_defaults(data: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Give each block what the file says beside `blocks`; a file without blocks is one block."""
    shared = {key: value for key, value in data.items() if key not in _TOP}
    blocks = data.get("blocks")
    flat = blocks is None
    if flat:
        blocks = [shared]
    elif isinstance(blocks, list):
        blocks = [{**shared, **block} if isinstance(block, dict) else block for block in blocks]
    return {**{key: data[key] for key in _TOP if key in data}, "blocks": blocks}, flat


def _problem(item: Any, flat: bool) -> Problem:
    location = [part for part in item["loc"] if part not in ("before", "after")]
    if flat and location[:2] == ["blocks", 0]:
        location = location[2:]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location).lstrip(".")
    message = item["msg"].removeprefix("Value error, ")
    message = message[:1].lower() + message[1:]
    context = item.get("ctx", {})
    if item["type"] == "literal_error":
        options = [option.strip("'") for option in context["expected"].replace(" or ", ", ").split(", ")]
        message = f"expected one of {', '.join(options)}{nearest(str(item['input']), options)}"
    elif item["type"] == "extra_forbidden":
        message = f"unknown field{nearest(str(location[-1]), _known_fields(location))}"
    return Problem(path or "file", item.get("input"), message)


_MODELS: dict[Any, type[BaseModel]] = {
    "limits": Limits,
    "clock": Clock,
    "reflection": ReflectionConfig,
    "diagnosis": DiagnosisConfig,
    "judge": JudgeConfig,
    "conditions": Condition,
    "fault": Fault,
    "model": ModelOptions,
    "writer": ModelOptions,
}


def _known_fields(location: list[Any]) -> list[str]:
    """The fields that stand where an unknown one was found."""
    for part in reversed(location[:-1]):
        if part in _MODELS:
            return list(_MODELS[part].model_fields)
    return sorted({*Experiment.model_fields, *Block.model_fields})


def _check_raw_tasks(data: dict[str, Any], flat: bool) -> Iterator[Problem]:
    """Wrong task ids of a file that the schema refuses already: so that they are not told one mending later."""
    blocks = data["blocks"] if isinstance(data["blocks"], list) else []
    for number, block in enumerate(blocks):
        listed = block.get("tasks") if isinstance(block, dict) else None
        patterns = [listed] if isinstance(listed, str) else listed if isinstance(listed, list) else []
        yield from _check_tasks("" if flat else f"blocks[{number}].", patterns)


def _check_tasks(at: str, patterns: list[Any]) -> Iterator[Problem]:
    for i, pattern in enumerate(patterns):
        try:
            if isinstance(pattern, str):
                environments.match(pattern)
        except UnknownTask as error:
            yield Problem(f"{at}tasks[{i}]", pattern, str(error))


def _check(experiment: Experiment, flat: bool) -> Iterator[Problem]:
    """What the schema cannot know: ids, spaces that tasks offer, agents and their options, rows that would merge."""
    labels_of: dict[str, str] = {}
    rows: dict[tuple[str, ...], str] = {}
    rollbacks: dict[str, str] = {}
    for number, block in enumerate(experiment.blocks):
        at = "" if flat else f"blocks[{number}]."
        yield from _check_tasks(at, block.tasks)
        yield from _check_params(at, block)
        for i, pattern in enumerate(block.tasks):
            found = _known(pattern, block.params)
            for j, space in enumerate(block.spaces):
                without = [task.id for task in found if space not in task.spaces]
                if without:
                    yield Problem(
                        f"{at}spaces[{j}]",
                        space,
                        f"{', '.join(without)} (tasks[{i}]) does not offer it; use a block of its own",
                    )
        for i, entry in enumerate(block.agents):
            yield from _check_agent(f"{at}agents[{i}]", entry, block, labels_of)
        for field, labels in (
            ("agents", [entry.label for entry in block.agents]),
            ("conditions", [condition.label for condition in block.conditions]),
        ):
            for i, label in enumerate(labels):
                if label in labels[:i]:
                    yield Problem(f"{at}{field}[{i}].label", label, "is used twice in this block; give each a `label`")
        for i, condition in enumerate(block.conditions):
            if condition.fault is not None:
                yield from _check_fault(f"{at}conditions[{i}].fault", condition.fault, block)
            yield from _check_world(f"{at}conditions[{i}]", condition, block)
            yield from _check_writer(f"{at}conditions[{i}]", condition, block)
        yield from _check_rollbacks(f"{at}conditions", block, rollbacks)
        yield from _check_rows(f"{at}conditions", block, rows)


def _check_rollbacks(path: str, block: Block, kinds: dict[str, str]) -> Iterator[Problem]:
    """A rollback of the whole world and one of the arm alone are never compared under one name, on any task."""
    for i, condition in enumerate(block.conditions):
        if condition.name == "diagnose-and-rollback":
            kind = condition.diagnosis.rollback
            if kinds.setdefault(condition.label, kind) != kind:
                told = f"stands for `rollback: {kinds[condition.label]}` already, and here for `rollback: {kind}`"
                yield Problem(f"{path}[{i}].label", condition.label, f"{told}; give one of them another `label`")


def _check_rows(path: str, block: Block, rows: dict[tuple[str, ...], str]) -> Iterator[Problem]:
    """One row of the table is one thing: the same labels on the same task may not mean something else in two blocks."""
    setting: list[Any] = [block.limits.model_dump(mode="json"), block.clock.model_dump(mode="json"), block.video]
    setting += [judge.model_dump(mode="json") for judge in block.judge]
    places = [(task.id, space) for task in block.found() for space in block.spaces]
    for place in places:
        for entry in block.agents:
            for i, condition in enumerate(block.conditions):
                meaning = digest([entry.options, entry.name, condition.model_dump(mode="json"), *setting])
                if rows.setdefault((*place, entry.label, condition.label), meaning) != meaning:
                    row = f"{entry.label!r} under {condition.label!r} on {' '.join(place)}"
                    yield Problem(
                        f"{path}[{i}].label",
                        condition.label,
                        f"{row} is something else in an earlier block (options, limits, clock, judge, video or "
                        "condition differ); give the agent or the condition another `label`",
                    )
                    return


def _check_agent(path: str, entry: AgentEntry, block: Block, labels_of: dict[str, str]) -> Iterator[Problem]:
    try:
        player = agents.create(entry.name, entry.options)
    except InvalidOptions as error:
        for field, message in error.problems:
            yield Problem(f"{path}.{field}", entry.options.get(field), message)
        return
    except AgentsError as error:
        yield Problem(f"{path}.name", entry.name, str(error))
        return
    setting: list[Any] = [block.limits.model_dump(mode="json"), block.clock.model_dump(mode="json"), block.video]
    setting.append(player.fingerprint())
    for task in block.found():
        for space in block.spaces:
            reason = player.unfit(task, ActionSpace(space))
            if reason:
                yield Problem(f"{path}.name", entry.name, reason)
                return
            # Equal players play equal episodes, which are played once and have one row: two labels would lose one.
            label = labels_of.setdefault(digest([task.id, space, *setting]), entry.label)
            if label != entry.label:
                yield Problem(f"{path}.label", entry.label, f"is the same player as {label!r}; leave one out")
                return


def _known(pattern: str, params: Mapping[str, Any]) -> list[Task]:
    """The tasks of a pattern, set as `params` says; none for a wrong one, of which is told elsewhere."""
    try:
        return [task.vary(params) for task in environments.match(pattern)]
    except (UnknownTask, InvalidParams):
        return []


def _check_params(at: str, block: Block) -> Iterator[Problem]:
    """Each parameter that a task of the block does not have, or that has no such value; once, for the first task."""
    told: set[str] = set()
    for task in (task for pattern in block.tasks for task in _known(pattern, {})):
        try:
            task.vary(block.params)
        except InvalidParams as error:
            for name in sorted(error.problems.keys() - told):
                yield Problem(f"{at}params.{name}", block.params[name], error.problems[name])
            told |= error.problems.keys()


def _check_world(path: str, condition: Condition, block: Block) -> Iterator[Problem]:
    """What a condition asks of a world that somebody else's program is."""
    tasks = block.found()
    if condition.name == "diagnose-and-rollback":
        fixed = [task.id for task in tasks if IRREVERSIBLE in task.tags]
        robots = [task.id for task in tasks if IRREVERSIBLE in task.tags and "robot" in task.tags]
        if fixed and condition.diagnosis.rollback == "sim" and fixed == robots:
            told = f"{', '.join(fixed)} is a real robot, of whose world no snapshot exists; use `rollback: physical`"
            yield Problem(f"{path}.diagnosis.rollback", "sim", told)
        elif fixed and fixed != robots:
            yield Problem(f"{path}.name", condition.name, f"{', '.join(fixed)} cannot be rolled back")
        yield from _check_physical(f"{path}.diagnosis.rollback", condition, block)
    if condition.retries and condition.reflection.demonstration is True:
        alone = [task.id for task in tasks if NO_EXPERT in task.tags]
        if alone:
            remedy = "set it to false" if condition.reflection.evidence is None else "give the id of a tutorial"
            told = f"{', '.join(alone)} has no scripted expert to record a tutorial from; {remedy}"
            yield Problem(f"{path}.reflection.tutorial", True, told)


def _check_physical(path: str, condition: Condition, block: Block) -> Iterator[Problem]:
    """What goes back physically is an arm, and it is sent back by native actions."""
    if condition.diagnosis.rollback != "physical":
        return
    armless = [task.id for task in block.found() if "robot" not in task.tags]
    if armless:
        yield Problem(path, "physical", f"{', '.join(armless)} has no arm that could retrace its path; take `sim`")
    others = [space for space in block.spaces if space != "native"]
    if others and not armless:
        told = f"an arm retraces its path by native actions, and this block plays {', '.join(others)}"
        yield Problem(path, "physical", f"{told}; use `spaces: native`")


def _check_writer(path: str, condition: Condition, block: Block) -> Iterator[Problem]:
    """A model's own lessons under the name of another's would measure nothing."""
    writer = condition.reflection.writer
    if not isinstance(writer, ModelOptions):
        return
    for entry in block.agents:
        if str(entry.options.get("model", "")).casefold() == writer.model.casefold():
            told = f"is the model of agent {entry.label!r}; another model writes the lessons"
            yield Problem(f"{path}.reflection.writer", writer.model, told)
            return


def _check_fault(path: str, fault: Fault, block: Block) -> Iterator[Problem]:
    for i, pattern in enumerate(block.tasks):
        without = [task.id for task in _known(pattern, block.params) if "robot" not in task.tags]
        if without:
            yield Problem(path, fault.kind, f"{', '.join(without)} (tasks[{i}]) takes no faults; only robot tasks do")
        real = [task.id for task in _known(pattern, block.params) if {"robot", IRREVERSIBLE} <= set(task.tags)]
        if real:
            told = f"{', '.join(real)} (tasks[{i}]) is a real robot; cause the fault there, and leave `fault` out"
            yield Problem(path, fault.kind, told)
