"""The episode loop: reset, then act, step, record until something ends it. Resumes where it was cut off."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from agents.agent import Agent, Briefing, Decision
from agents.calls import ModelCall
from agents.errors import BudgetExceeded, ProviderError
from agents.gateway import Budget
from arena.clocks import Clock, clock_of
from arena.errors import NotReproduced
from arena.experiment import Limits
from arena.identity import derived_seed, player_seed
from arena.outcomes import Outcome
from arena.plan import Attempt
from arena.recorder import Recorder
from arena.repairs import executable, told
from arena.supervision import LEFT_STATE, REPAIR, UNDO, Directive, Moment, Supervisor
from arena.timeline import Kept, Timeline
from environments.env import ArenaEnv
from environments.robots import repairs as manoeuvres
from environments.task import ActionSpace
from storage.models import Call, Intervention, Step

if TYPE_CHECKING:
    from environments.robots.robot_env import RobotEnv


class Ending(NamedTuple):
    """How an episode ended, and the detail that explains it."""

    outcome: Outcome
    detail: str


@dataclass(slots=True)
class _Budget:
    """What the episode has used of its limits."""

    limits: Limits
    last: Decision | None = None
    acted: bool = False
    """Whether any decision so far held an action."""
    bad: int = 0
    illegal: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    working_s: float = 0.0

    def spend(self, decision: Decision, step: Step, working_s: float) -> None:
        self.bad = 0 if decision.status == "ok" else self.bad + 1
        self.illegal = self.illegal + 1 if step.status == "illegal" else 0
        self.last = decision
        self.acted = self.acted or decision.action is not None
        self.working_s += working_s
        self.recall(decision.calls)

    def recall(self, calls: Iterable[ModelCall | Call]) -> None:
        """Count calls: of this step, or those that an interrupted episode had made."""
        for call in calls:
            self.calls += 1
            self.tokens += (call.input_tokens or 0) + (call.output_tokens or 0)
            self.cost_usd += call.cost_usd or 0
            self.working_s -= call.waited_s

    def for_gateway(self) -> Budget:
        """The same limits for the player's gateway, which checks them before a call is sent."""
        cost = self.limits.max_cost_usd
        return Budget(
            max_calls=self.limits.max_calls,
            max_tokens=self.limits.max_tokens,
            max_cost_usd=None if cost is None else Decimal(str(cost)),
            calls=self.calls,
            tokens=self.tokens,
            cost_usd=self.cost_usd,
        )

    def exceeded(self) -> Ending | None:
        """The ending that the used budget asks for, with its reason."""
        limits = self.limits
        if self.last is not None and self.bad >= limits.max_bad_in_a_row:
            outcome = Outcome.REFUSED if self.last.status == "refused" else Outcome.UNPARSABLE
            return Ending(
                outcome, f"{self.bad} replies in a row without a readable action; the last: {self.last.reason}"
            )
        if self.illegal >= limits.max_illegal_in_a_row:
            return Ending(Outcome.ILLEGAL, f"{self.illegal} illegal actions in a row")
        for name, used in (
            ("max_calls", self.calls),
            ("max_tokens", self.tokens),
            ("max_cost_usd", self.cost_usd),
            ("max_working_s", self.working_s),
        ):
            bound = getattr(limits, name)
            if bound is not None and float(used) >= bound:
                return Ending(Outcome.LIMIT, f"{name}: {float(used):.6g} of {bound:.6g} used")
        return None


class Play:
    """One episode, from reset to outcome.

    Every step is durable before the next begins. An interrupted episode is played again from its
    recorded actions (no model is asked twice), checked against the record, and goes on from there.
    """

    def __init__(
        self,
        attempt: Attempt,
        env: ArenaEnv,
        agent: Agent,
        recorder: Recorder,
        supervisor: Supervisor | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._attempt = attempt
        self._env = env
        self._agent = agent
        self._recorder = recorder
        self._supervisor = supervisor
        self._limits = Limits.model_validate(attempt.spec["limits"])
        self._clock = clock or clock_of(attempt.spec["clock"], env, agent)
        diagnosis = attempt.condition.diagnosis
        self._time = Timeline(diagnosis.rollback)
        self._max_added = diagnosis.max_added_steps
        self._charged = diagnosis.horizon == "charged"
        self._prompt = ""
        """What a repair has the player told instead of the instruction."""
        self._given_up = False
        self._pending: Mapping[str, Any] = {}
        """The repair that is to follow a way back."""
        self._budget = _Budget(self._limits)
        self._observation: Mapping[str, Any]

    def run(self) -> Outcome:
        """Play to the end and record the outcome.

        Raises:
            NotReproduced: if the recorded beginning of an interrupted episode does not replay.
            InfrastructureError: if the machine failed; nothing is scored.
        """
        self._begin()
        ended = self._replay()
        while ended is None:
            ended = self._budget.exceeded() or self._next_step()
        self._recorder.finish(self._env, *ended)
        return ended.outcome

    def _begin(self) -> None:
        attempt, env = self._attempt, self._env
        fault = attempt.spec["fault"]
        self._observation, _ = env.reset(seed=attempt.spec["seed"], options={"fault": fault} if fault else None)
        self._agent.reset(
            Briefing(
                task=attempt.task,
                space=ActionSpace(attempt.spec["space"]),
                actions=env.action_space,
                max_steps=self._limits.max_steps,
                lesson=attempt.lesson,
                lesson_kind=attempt.lesson_kind if self._agent.instrument else "",
                seed=player_seed(attempt.spec),
                privileged=env if self._agent.privileged else None,
            )
        )
        if self._supervisor:
            chance = derived_seed(attempt.identity, "supervisor")
            self._supervisor.begin(attempt.task, attempt.task.goal, chance)
        self._recorder.begin(env, self._observation)
        # What an interrupted process had spent is spent; the gateway refuses what would go beyond.
        self._budget.recall(self._recorder.recorded_calls())
        self._agent.limit(self._budget.for_gateway())

    def _next_step(self) -> Ending | None:
        if self._given_up:
            return Ending(Outcome.LOST, "given up: a diagnosis asked for `abort`")
        if self._time.retrace or self._time.manoeuvre:
            return self._arm_step()
        return self._play_step()

    def _seen(self) -> Mapping[str, Any]:
        """What the player gets to see and to be told now."""
        return told(self._env.perceived(self._observation), self._prompt)

    def _play_step(self) -> Ending | None:
        started = time.perf_counter()
        if self._supervisor:
            self._time.keep(self._env)
        try:
            decision, world_ms = self._clock.think(self._seen())
        except ProviderError as error:
            return self._unanswered(error)
        thought = time.perf_counter()
        self._recorder.looked(self._env, self._observation)
        step, ended = self._carry_out(decision, world_ms)
        step.think_s, step.env_s = thought - started, time.perf_counter() - thought
        self._budget.spend(decision, step, step.think_s + step.env_s)
        self._recorder.see(self._env, self._observation, step.index)
        directive = None
        if self._supervisor and ended is None:
            try:
                directive = self._supervisor.watch(self._moment(step))
            except ProviderError as error:  # the step was played, the question about it has no answer
                ended = self._unanswered(error)
        fork = self._intervene(directive, step) if directive is not None and directive.acts else None
        # The step, its calls, the diagnosis and the fork become durable together or not at all.
        self._recorder.step(step, decision, directive, fork)
        self._time.index += 1
        self._see_fork(fork)
        return ended

    def _unanswered(self, error: ProviderError) -> Ending:
        """The end of an episode whose player's or diagnoser's side failed; its calls are kept."""
        self._recorder.failed_calls(error.calls, self._time.index)
        outcome = Outcome.LIMIT if isinstance(error, BudgetExceeded) else Outcome.PROVIDER_ERROR
        return Ending(outcome, f"{type(error).__name__}: {error}")

    def _arm_step(self) -> Ending | None:
        """One step of the arm on its way back or of a repair: recorded and counted like any other; nobody is asked."""
        started = time.perf_counter()
        decision, step, ended = self._retrace() if self._time.retrace else self._repair()
        step.env_s = time.perf_counter() - started
        self._budget.working_s += step.env_s
        self._recorder.see(self._env, self._observation, step.index)
        self._recorder.step(step, decision)
        self._time.index += 1
        self._end_arm_steps(ended)
        return ended

    def _retrace(self) -> tuple[Decision, Step, Ending | None]:
        """Play the next step of the way back."""
        retrace = self._time.retrace
        if retrace is None:
            raise RuntimeError("no rewind is under way")
        decision = Decision(action=self._env.action_space.parse(retrace.rewind.action()))
        step, ended = self._carry_out(decision, 0)
        retrace.rewind.moved()
        step.notes |= retrace.notes()
        return decision, step, ended

    def _repair(self) -> tuple[Decision, Step, Ending | None]:
        """Play the next step of a repair."""
        manoeuvre = self._time.manoeuvre
        if manoeuvre is None:
            raise RuntimeError("no repair is under way")
        if self._time.rollback == "physical":  # its path is a path to go back by
            self._time.keep(self._env)
        decision = Decision(action=self._env.action_space.parse(manoeuvre.action()))
        step, ended = self._carry_out(decision, 0)
        manoeuvre.moved()
        step.notes |= {REPAIR: self._time.repair}
        return decision, step, ended

    def _end_arm_steps(self, ended: Ending | None) -> None:
        """Hand over to the repair that is to follow a way back, and then to the player."""
        if ended is not None:
            return
        reached = self._time.end_retrace()
        if reached is not None:
            self._recorder.show(self._env, self._observation)
            self._tell_of_rollback(reached)
            self._begin_repair(self._pending)
        if self._time.end_repair():
            self._recorder.show(self._env, self._observation)
            self._agent.rolled_back()
            if self._supervisor:
                self._supervisor.repaired()

    def _carry_out(self, decision: Decision, world_ms: int) -> tuple[Step, Ending | None]:
        """Let the world answer a decision that it waited for; a decision without an action changes nothing."""
        env, timeline = self._env, self._time
        terminated = env.advance(0) if world_ms else False  # the world may have ended while the player thought
        truncated = False
        step = Step(
            episode_id=self._recorder.episode_id,
            index=timeline.index,
            branch=timeline.branch,
            sim_step=timeline.sim_step,
            action=decision.action,
            status=decision.status,
            reason=decision.reason,
            rationale=decision.rationale,
            frame=self._recorder.n_frames - 1,
            world_ms=world_ms,
            notes=dict(decision.notes),
        )
        if decision.action is not None:
            taken_over = bool(timeline.retrace or timeline.manoeuvre)
            act = env.override if taken_over else env.step
            self._observation, reward, terminated, truncated, info = act(decision.action)
            step.reward = float(reward)
            step.notes |= info.get("notes", {})
            if info["illegal"]:
                step.status, step.reason = "illegal", info["illegal"]
            if not taken_over:  # else it was no decision of the player
                self._agent.observe_result(illegal=info["illegal"], reward=step.reward)
        elif world_ms:
            self._observation = env.observe()
        step.score = env.score()
        timeline.sim_step += 1
        return step, self._ending(decision, terminated, truncated)

    def _ending(self, decision: Decision, terminated: bool, truncated: bool) -> Ending | None:
        if terminated:
            return Ending(Outcome.WON if self._env.success() else Outcome.LOST, "")
        spent = self._time.charged if self._charged else self._time.sim_step
        if truncated or spent >= (self._limits.max_steps or self._attempt.task.max_steps):
            if decision.action is None and not self._budget.acted:
                # A horizon shorter than `max_bad_in_a_row`: nobody has played, so there is nothing to score.
                outcome = Outcome.REFUSED if decision.status == "refused" else Outcome.UNPARSABLE
                return Ending(outcome, f"no readable action in {spent} steps; the last: {decision.reason}")
            return Ending(Outcome.HORIZON, f"{spent} steps")
        return None

    def _moment(self, step: Step) -> Moment:
        return self._time.moment(step, self._env, self._observation, self._supervisor)

    def _intervene(self, directive: Directive, step: Step) -> Intervention:
        """Carry out what a supervisor asks for after a step; returns the row of the fork."""
        kind = UNDO if directive.undo else self._time.rollback if directive.rollback_to is not None else REPAIR
        if kind in ("sim", UNDO):  # nothing that comes later would show what the undone steps have led to
            step.notes[LEFT_STATE] = self._env.state_hash()
        to = self._time.index if directive.rollback_to is None else directive.rollback_to
        return self._fork(kind, to, directive.body.get("repair") or {})

    def _fork(self, kind: str, to: int, repair: Mapping[str, Any]) -> Intervention:
        """Open a new branch: restore a moment and check it bit by bit, send the arm back, or go on with a repair."""
        self._recorder.show(self._env, self._observation)  # the end of the branch that is left
        timeline = self._time
        fork = Intervention(
            episode_id=self._recorder.episode_id,
            branch=timeline.branch + 1,
            diagnosis_id="",  # the recorder knows it
            kind=kind,
            at_step=timeline.index,
            to_step=to,
            snapshot="",
            exact=False,
        )
        self._pending = dict(repair)
        self._given_up = self._pending.get("kind") == "abort" and kind != UNDO
        if kind != UNDO:
            self._agent.vary(int(self._pending.get("vary", 0)))
        if kind == "physical":
            timeline.begin_retrace(self._env, to, self._max_added)
        elif kind == UNDO:
            left = timeline.undo()
            fork.to_step = left.at
            self._restore(left.kept, fork)
            self._agent.rolled_back()
            if self._supervisor:
                self._supervisor.undone()
        elif kind == REPAIR:
            timeline.branch += 1
            self._begin_repair(self._pending)
            if timeline.manoeuvre is None:  # nothing but a fresh look
                self._agent.rolled_back()
                if self._supervisor:
                    self._supervisor.repaired()
        else:
            self._restore(timeline.go_back(self._env, to), fork)
            self._tell_of_rollback(to)
            self._begin_repair(self._pending)
        return fork

    def _restore(self, kept: Kept, fork: Intervention) -> None:
        self._observation = self._env.restore(kept.snapshot)
        fork.snapshot = hashlib.sha256(kept.snapshot).hexdigest()
        fork.exact = self._env.state_hash() == kept.state_hash

    def _begin_repair(self, repair: Mapping[str, Any]) -> None:
        """What is to be done once the world, or the arm, is where it is to be."""
        if not executable(repair, self._env):
            return
        if repair["kind"] == "reprompt":
            self._prompt = str(repair["reprompt"])
        manoeuvre = manoeuvres.begin(cast("RobotEnv", self._env), dict(repair))
        if manoeuvre is not None:
            self._time.begin_repair(manoeuvre, str(repair["kind"]))

    def _tell_of_rollback(self, to: int) -> None:
        self._agent.rolled_back()
        if self._supervisor:
            self._supervisor.rolled_back(to)

    def _see_fork(self, fork: Intervention | None) -> None:
        """Record the moment that the world went back to: what comes next follows from it."""
        if fork is None:
            return
        if fork.kind in ("physical", REPAIR):
            self._end_arm_steps(None)  # it may be there already
            return
        self._recorder.see(self._env, self._observation, fork.at_step)
        self._recorder.show(self._env, self._observation)

    def _replay(self) -> Ending | None:
        """Play the recorded beginning of an interrupted episode again, and check it.

        Raises:
            NotReproduced: if it does not replay, or the world is one that nobody can bring back to where it was.
        """
        if self._recorder.recorded_steps() and not self._env.reversible:
            raise NotReproduced(
                f"{self._recorder.episode_id}: {self._attempt.task.id} cannot be brought back to where the episode was"
                " interrupted; it is played afresh"
            )
        forks = {fork.at_step: fork for fork in self._recorder.recorded_forks()}
        bodies = {diagnosis.id: diagnosis.body for diagnosis in self._recorder.recorded_diagnoses()}
        for row in self._recorder.recorded_steps():
            by_arm = bool(self._time.retrace or self._time.manoeuvre)
            ended = self._replay_arm_step(row) if by_arm else self._replay_step(row)
            fork = forks.get(row.index)
            if fork is not None:
                self._fork(fork.kind, fork.to_step, bodies[fork.diagnosis_id].get("repair") or {})
            self._recorder.replayed(row)
            self._time.index += 1
            self._see_fork(fork)
            if by_arm:
                self._end_arm_steps(ended)
            if ended is not None:
                return ended
        return None

    def _replay_step(self, row: Step) -> Ending | None:
        decision = _as_decision(row)
        if self._supervisor:
            self._time.keep(self._env)
        self._agent.replay(self._seen(), decision)
        if row.frame >= self._recorder.n_frames:  # somebody looked, who is not asked again
            self._recorder.show(self._env, self._observation)
        if row.world_ms:
            self._env.advance(row.world_ms)
        step, ended = self._carry_out(decision, row.world_ms)
        self._check_replayed(row, step)
        self._budget.spend(decision, step, row.think_s + row.env_s)
        self._recorder.see(self._env, self._observation, row.index)
        if self._supervisor and ended is None:
            self._supervisor.recall(self._moment(step))
        return ended

    def _replay_arm_step(self, row: Step) -> Ending | None:
        _, step, ended = self._retrace() if self._time.retrace else self._repair()
        self._check_replayed(row, step)
        self._budget.working_s += row.env_s
        self._recorder.see(self._env, self._observation, row.index)
        return ended

    def _check_replayed(self, row: Step, step: Step) -> None:
        recorded = (row.status, row.reason, row.reward, row.score, row.frame, row.action)
        replayed = (step.status, step.reason, step.reward, step.score, step.frame, step.action)
        if replayed != recorded:
            raise NotReproduced(
                f"{self._recorder.episode_id} step {row.index}: recorded {recorded}, replayed {replayed} "
                "(status, reason, reward, score, frame, action)"
            )


def _as_decision(row: Step) -> Decision:
    status: Any = "ok" if row.status == "illegal" else row.status
    return Decision(
        action=row.action,
        status=status,
        reason="" if row.status == "illegal" else row.reason,
        rationale=row.rationale,
        notes=row.notes,
    )
