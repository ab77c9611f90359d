"""Thresholds from clean episodes, so that false alarms stay as rare as was asked for: split conformal prediction.

One half of the clean episodes says what is normal: how long phases last, how wide grasps are, how high each monitor's
score gets. The other half sets one factor q for all limits together. An episode's nonconformity is the largest ratio,
over its steps and monitors, of score to limit. With n such episodes, q is the k-th smallest ratio,
k = ceil((n + 1) (1 - alpha)): then a new clean episode from the same policy and task raises any alarm with probability
at most alpha (Vovk et al. 2005; Lei et al. 2018, theorem 2.2; the n + 1 is the finite-sample correction). Where k > n
there are too few episodes for any threshold, and nothing is ever raised. The guarantee is one for the whole episode,
with all monitors, up to the first intervention; it says nothing of episodes that were disturbed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, NonNegativeInt, ValidationError
from pydantic_core import ErrorDetails, from_json

import agents
import environments
from agents.agent import Agent
from arena.diagnosis.monitors import ClosingSettings, GraspWidth, GripperLost, Monitor, Stall, Unclosed
from arena.diagnosis.motion import ChunkDisagreement, Idle, Lag, Loop
from arena.diagnosis.rollout import Journal, Rollout, roll_out
from arena.diagnosis.signals import Reading
from arena.diagnosis.tempo import Count, Profile, Subgoals, Tempo
from arena.errors import ArenaError, Problem
from arena.files import put
from arena.identity import canonical, digest
from arena.text import clean
from environments.env import ArenaEnv

VERSION = 1
"""Raise it with any change of what is learned or how."""
FIRST_SEED = 50_000
"""Calibration seeds begin here: far from public ones (0 to 9,999), tutorials (10,000) and held-out seeds (20,000)."""
_NOTHING = Profile(phases=(), total=0, widths_m=(), subgoals={})
_TIE = 1.0 + 1e-9
"""An alarm needs more than the largest clean score, not as much."""


_MAX_BYTES = 16 * 2**20
"""Of a calibration file; one of forty tasks has a tenth of a megabyte."""
_MAX_TOLD = 20
"""Problems of a file that are told of."""
_AGAIN = "`arena diagnose calibrate TASKS --to FILE` makes such a file"


class NoCalibration(ArenaError):
    """A policy cannot be calibrated on a task, or a file holds no calibration."""


def _json(value: dict[str, Any]) -> dict[str, Any]:
    canonical(value)  # raises ValueError for what JSON cannot hold
    return value


# What `learn` can find: a score that is graded at all, and no less than the monitor's own idea of too far.
Ratio = Annotated[float, Field(ge=1, le=1e6, allow_inf_nan=False)]
Json = Annotated[dict[str, Any], AfterValidator(_json)]


class TaskCalibration(BaseModel):
    """What was learned of one policy on one task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    profile: Profile
    limits: dict[str, Ratio]
    """By monitor: the score that its clean episodes of the first half reached at most, 1 at least."""
    limits_subgoals: dict[str, Ratio]
    """The same for `Subgoals`."""
    factor: Ratio | None
    """q for the monitors of the robot's own sensors; None: too few episodes, or one that no limit holds: no alarm."""
    factor_subgoals: Ratio | None
    """q with `Subgoals` among them."""
    learned_on: Count
    """Clean episodes of the first half..."""
    set_on: Count
    """...and of the second."""
    failed: Count
    """Episodes left out because the policy did not succeed."""
    seeds: tuple[NonNegativeInt, NonNegativeInt]
    """First and last."""


class Calibration(BaseModel):
    """A calibration file: a policy, how it was calibrated, and what came of it task by task."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = VERSION
    alpha: float = Field(gt=0, lt=1)
    """Clean episodes with an alarm, at most."""
    agent: Json
    """The policy's fingerprint."""
    monitors: dict[str, Any]
    """Their settings."""
    tasks: dict[str, TaskCalibration]

    @property
    def digest(self) -> str:
        """What it is, for fingerprints."""
        return digest(self.model_dump(mode="json"))

    @property
    def size(self) -> str:
        """Of how many clean episodes its limits are, in words."""
        counts = sorted({task.learned_on + task.set_on for task in self.tasks.values()}) or [0]
        each = str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        where = next(iter(self.tasks)) if len(self.tasks) == 1 else f"each of {len(self.tasks)} tasks"
        return f"{each} clean episodes on {where}"

    def save(self, path: Path) -> None:
        """Write it as JSON, whole or not at all."""
        text = json.dumps(self.model_dump(mode="json"), indent=1, sort_keys=True, allow_nan=False)
        put(path, f"{text}\n".encode())

    @classmethod
    def load(cls, path: str | Path) -> Calibration:
        """Read a file.

        Raises:
            NoCalibration: if there is none, or it is no calibration of this version; tells of every problem.
        """
        path = Path(path)
        try:
            with path.open("rb") as file:
                data = file.read(_MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            raise NoCalibration(f"{path}: cannot be read: {error}; {_AGAIN}") from None
        if len(data) > _MAX_BYTES:
            raise NoCalibration(f"{path}: more than {_MAX_BYTES // 2**20} MiB, which no calibration has; {_AGAIN}")
        return _parsed(data, path.name)


@lru_cache(maxsize=16)
def _parsed(data: bytes, name: str) -> Calibration:
    try:
        given = from_json(data)
    except ValueError as error:
        raise NoCalibration(f"{name}: not JSON, or cut off: {error}; {_AGAIN}") from None
    if not isinstance(given, dict):
        raise NoCalibration(f"{name}: expected a JSON object, got {type(given).__name__}; {_AGAIN}")
    version = given.get("version")
    if type(version) is not int or version != VERSION:
        raise NoCalibration(f"{name}: version: expected {VERSION} (got {version!r:.60}); calibrate again")
    if isinstance(given.get("monitors"), dict) and given["monitors"] != _settings():
        raise NoCalibration(f"{name} was made for monitors that are set otherwise now; calibrate again")
    problems = [*_wrong_names(given.get("tasks"))]
    try:
        found = Calibration.model_validate_json(data, strict=True)
    except ValidationError as error:
        problems = [*map(_problem, error.errors(include_url=False)), *problems]
    if problems:
        told = [f"  {problem}" for problem in problems[:_MAX_TOLD]]
        told += [f"  and {len(problems) - _MAX_TOLD} more"] * (len(problems) > _MAX_TOLD)
        count = f"{len(problems)} problem{'s' * (len(problems) != 1)}"
        raise NoCalibration("\n".join([f"{name}: {count}; {_AGAIN}", *told]))
    return found


def _problem(error: ErrorDetails) -> Problem:
    """What does not fit a field; what is missing has no value."""
    value = "" if error["type"] == "missing" else error["input"]
    return Problem(clean(".".join(map(str, error["loc"])), 120), value, error["msg"].removeprefix("Value error, "))


def _wrong_names(tasks: Any) -> Iterator[Problem]:
    """Limits of monitors that there are none of, and monitors without a limit; what has another form is told elsewhere.

    Without its limit a monitor could not watch; with another's name it would watch with none.
    """
    wanted = {"limits": {it.name for it in own_monitors(_NOTHING)}, "limits_subgoals": {Subgoals.name}}
    for task, found in tasks.items() if isinstance(tasks, dict) else ():
        for field, names in wanted.items():
            given = found.get(field) if isinstance(found, dict) else None
            if not isinstance(given, dict):
                continue
            for name in sorted(names - given.keys()):
                yield Problem(clean(f"tasks.{task}.{field}.{name}", 120), "", "missing: the monitor needs a limit")
            for name in sorted(given.keys() - names):
                told = f"there is no such monitor; there are {', '.join(sorted(names))}"
                yield Problem(clean(f"tasks.{task}.{field}.{name}", 120), given[name], told)


def own_monitors(profile: Profile | None) -> tuple[Monitor, ...]:
    """The monitors of what a robot knows of itself; those of progress need a profile."""
    widths = profile.widths_m if profile else ()
    known: tuple[Monitor, ...] = (
        GripperLost(), GraspWidth(ClosingSettings(), widths), Unclosed(), Stall(), Idle(), Loop(), Lag(),
        ChunkDisagreement(),
    )  # fmt: skip
    return (*known, Tempo(profile)) if profile else known


def calibrated_monitors(found: TaskCalibration, *, subgoals: bool) -> tuple[Monitor, ...]:
    """The monitors of a task with their limits set; none at all if no threshold keeps the promise."""
    factor = found.factor_subgoals if subgoals else found.factor
    if factor is None:
        return ()
    monitors = own_monitors(found.profile)
    limits = dict(found.limits)
    if subgoals:
        monitors, limits = (*monitors, Subgoals(found.profile)), {**limits, **found.limits_subgoals}
    for monitor in monitors:
        monitor.limit = limits[monitor.name] * factor * _TIE
    return monitors


def highest_scores(monitors: Sequence[Monitor], readings: Sequence[Reading]) -> dict[str, float]:
    """How high each monitor's score gets in an episode in which none is allowed to speak."""
    highest = {monitor.name: 0.0 for monitor in monitors}
    for monitor in monitors:
        monitor.limit = math.inf
        monitor.reset()
    for reading in readings:
        for monitor in monitors:
            monitor.update(reading)
            highest[monitor.name] = max(highest[monitor.name], monitor.score)
    return highest


def quantile(ratios: Sequence[float], alpha: float) -> float | None:
    """The k-th smallest ratio, k = ceil((n + 1) (1 - alpha)), but 1 at least; None where there are too few."""
    k = math.ceil((len(ratios) + 1) * (1 - alpha) - 1e-9)
    return None if k > len(ratios) else max(1.0, sorted(ratios)[k - 1])


def learn(rollouts: Sequence[Rollout], alpha: float, seeds: tuple[int, int]) -> TaskCalibration:
    """Profile, limits and factors from a policy's unsupervised episodes.

    Raises:
        NoCalibration: with fewer than four successes.
    """
    clean = [rollout.readings for rollout in rollouts if rollout.success]
    if len(clean) < 4:
        raise NoCalibration(f"{len(clean)} of {len(rollouts)} clean episodes succeed: too few to learn from")
    fit, held = clean[: len(clean) // 2], clean[len(clean) // 2 :]
    profile = Profile.learn(fit)
    own, goals = own_monitors(profile), (Subgoals(profile),)
    limits, limits_subgoals = _limits(own, fit), _limits(goals, fit)
    ratios = [_ratio(own, limits, readings) for readings in held]
    with_goals = [
        max(ratio, _ratio(goals, limits_subgoals, readings)) for ratio, readings in zip(ratios, held, strict=True)
    ]
    return TaskCalibration(
        profile=profile,
        limits=limits,
        limits_subgoals=limits_subgoals,
        factor=quantile(ratios, alpha),
        factor_subgoals=quantile(with_goals, alpha),
        learned_on=len(fit),
        set_on=len(held),
        failed=len(rollouts) - len(clean),
        seeds=seeds,
    )


def _limits(monitors: Sequence[Monitor], episodes: Sequence[Sequence[Reading]]) -> dict[str, float]:
    scores = [highest_scores(monitors, readings) for readings in episodes]
    return {monitor.name: round(max([1.0, *(row[monitor.name] for row in scores)]), 6) for monitor in monitors}


def _ratio(monitors: Sequence[Monitor], limits: Mapping[str, float], readings: Sequence[Reading]) -> float:
    return max(score / limits[name] for name, score in highest_scores(monitors, readings).items())


def needed(alpha: float) -> int:
    """Clean episodes that the second half needs at least for any threshold: ceil(1 / alpha) - 1."""
    return math.ceil(1 / alpha - 1e-9) - 1


def calibrate_task(
    env: ArenaEnv,
    agent: Agent,
    *,
    episodes: int,
    alpha: float,
    first_seed: int = FIRST_SEED,
    journal: Journal | None = None,
) -> TaskCalibration:
    """Play a policy's clean episodes of one task, except for those on file, and learn from them."""
    seeds = range(first_seed, first_seed + episodes)
    kept = journal or Journal()
    rollouts = [kept.rollout(env.task.id, seed, partial(roll_out, env, agent, seed)) for seed in seeds]
    return learn(rollouts, alpha, (seeds[0], seeds[-1]))


def calibrate(
    tasks: Sequence[str],
    agent: str = "scripted-policy",
    options: Mapping[str, Any] | None = None,
    *,
    episodes: int = 60,
    alpha: float = 0.05,
    first_seed: int = FIRST_SEED,
    to: Path | None = None,
    tell: Any = None,
) -> Calibration:
    """Calibrate a policy on tasks.

    Args:
        tasks: their ids, behind the native space.
        agent: the policy's name, and its options.
        options: of the policy.
        episodes: clean episodes a task; half of them set the threshold.
        alpha: clean episodes with an alarm, at most.
        first_seed: of the seeds, which must not be among those that are evaluated.
        to: the file to write, if given. The episodes played so far lie beside it until it is there: an interrupted
            calibration goes on with them.
        tell: called with each task's id and what was learned, if given.

    Raises:
        NoCalibration: if the policy hardly ever succeeds on a task.
        ProviderError: if a served policy's server fails, which is no failure of the policy.
    """
    player = agents.create(agent, dict(options or {}))
    journal = None if to is None else to.with_name(f"{to.name}.episodes.jsonl")
    kept = Journal(journal, player.fingerprint())
    found: dict[str, TaskCalibration] = {}
    for task_id in tasks:
        env = environments.make(task_id, "native")
        try:
            found[task_id] = calibrate_task(
                env, player, episodes=episodes, alpha=alpha, first_seed=first_seed, journal=kept
            )
        except NoCalibration as error:
            raise NoCalibration(f"{agent} on {task_id}: {error}") from None
        finally:
            env.close()
            player.close()
        if tell is not None:
            tell(task_id, found[task_id])
    made = Calibration(alpha=alpha, agent=player.fingerprint(), monitors=_settings(), tasks=found)
    if to is not None:
        made.save(to)
    kept.remove()
    return made


def _settings() -> dict[str, Any]:
    return {monitor.name: monitor.settings() for monitor in (*own_monitors(_NOTHING), Subgoals(_NOTHING))}


def name_of(tasks: Sequence[str]) -> str:
    """A short name for a set of tasks, for files."""
    return digest(sorted(tasks), 10)
