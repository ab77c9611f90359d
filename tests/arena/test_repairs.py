"""What the engine carries out of a diagnosis: repairs, their undoing, giving up; recorded, charged, played again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

import agents
import environments
from agents.agent import Agent, Briefing, Decision
from arena import plan
from arena.diagnosis.schema import Diagnosis as Schema
from arena.experiment import AgentEntry
from arena.play import Play
from arena.recorder import Recorder
from arena.repairs import told
from arena.supervision import REPAIR, UNDO, Directive, Moment
from arena.timeline import Timeline
from arena.verification import verify
from environments.robots import repairs
from environments.task import Task
from storage.models import Diagnosis, Episode, Intervention, Step
from storage.store import Store

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

TASK = "tabletop/pick-place-bowl-v1"


class Told:
    """A supervisor that says at given steps what it was told to say."""

    wants_subgoals = privileged = False

    def __init__(self, script: Mapping[int, Mapping[str, Any]]) -> None:
        self.script = script
        self.seen: list[str] = []

    def fingerprint(self) -> dict[str, Any]:
        return {"told": sorted(self.script)}

    def begin(self, task: Task, instruction: str, seed: int = 0) -> None:
        self.seen = []

    def watch(self, moment: Moment) -> Directive | None:
        said = self.script.get(moment.index)
        if said is None:
            return None
        fields = dict(said)
        undo, act = bool(fields.pop("undo", False)), bool(fields.pop("act", False))
        target = fields.get("rollback_step")
        body = Schema(
            step_now=moment.index, verdict="suspect" if undo else "fault", confidence=1.0,
            fault_type="N0" if undo else "C6", fault_class="none" if undo else "control",
            onset_step=None if undo else moment.index, **fields,
        )  # fmt: skip
        return Directive(trigger="told", diagnoser="told", body=body.to_json(), rollback_to=target, act=act, undo=undo)

    def recall(self, moment: Moment) -> None:
        self.seen.append("recall")

    def rolled_back(self, to: int) -> None:
        self.seen.append(f"rolled back to {to}")

    def repaired(self) -> None:
        self.seen.append("repaired")

    def undone(self) -> None:
        self.seen.append("undone")


class Listener(Agent):
    """Holds still, and notes what it is told to do."""

    name = "listener"
    told: Sequence[str] = ()

    def reset(self, briefing: Briefing) -> None:
        super().reset(briefing)
        self.told = []

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        self.told = [*self.told, observation["instruction"]]
        return Decision(action=[0.0] * 6 + [-1.0])


@pytest.fixture(scope="module")
def env() -> Any:
    made = environments.make(TASK, "native")
    yield made
    made.close()


class Player:
    """Plays one episode on the shared simulator, again and again."""

    def __init__(self, store: Store, scratch: Path, env: Any, script: Mapping[int, Mapping[str, Any]], **limits: Any):
        entry = AgentEntry.model_validate("scripted-policy")
        self.attempt = plan.single(TASK, "native", entry, 1, limits={"max_steps": 150, **limits})
        self.attempt.spec["video"] = "as-seen"
        self.store, self.scratch, self.env = store, scratch, env
        self.supervisor = Told(script)
        self.attempt.spec["supervision"] = self.supervisor.fingerprint()
        self.agent: Agent = agents.create("scripted-policy", {})

    def play(self) -> Episode:
        with Recorder(self.store, self.attempt, 0, self.scratch) as recorder:
            Play(self.attempt, self.env, self.agent, recorder, self.supervisor).run()
        return self.store.episode(f"{self.attempt.identity}-0")


def told_rows(rows: Sequence[Step]) -> list[tuple[Any, ...]]:
    return [(r.index, r.branch, r.sim_step, r.action, r.score, r.notes) for r in rows]


def cut(store: Store, episode: Episode, kept: int) -> None:
    """Leave the episode as a killed process does after `kept` steps."""
    with store.session() as session:
        session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= kept))
        session.execute(delete(Intervention).where(Intervention.at_step >= kept))
        session.execute(delete(Diagnosis).where(Diagnosis.step_index >= kept))
        session.execute(
            update(Episode).where(Episode.id == episode.id).values(status="running", outcome=None, scored=False)
        )


def test_a_regrasp_lets_go_rises_is_recorded_and_the_policy_looks_afresh(store: Store, tmp_path: Path, env: Any):
    """In the middle of a carry the hand opens: the cube falls, and is fetched again."""
    player = Player(store, tmp_path, env, {50: {"repair": {"kind": "regrasp"}, "act": True}})
    episode = player.play()
    assert episode.outcome == "won" and player.supervisor.seen == ["repaired"]
    rows = store.steps(episode.id)
    mended = [row for row in rows if row.notes.get(REPAIR)]
    assert [row.index for row in mended] == list(range(51, 51 + len(mended))) and 12 < len(mended) < 40
    assert {row.notes[REPAIR] for row in mended} == {"regrasp"} and {row.action[6] for row in mended} == {-1.0}
    assert all(abs(value) <= 1 for row in mended for value in row.action)
    (fork,) = store.interventions(episode.id)
    assert (fork.kind, fork.at_step, fork.branch) == (REPAIR, 50, 1)
    assert [row.sim_step for row in rows] == list(range(len(rows))), "every step of a repair is a step"
    assert verify(store, episode).holds
    before = told_rows(rows)
    for kept in (51, 55, mended[-1].index + 1):
        cut(store, episode, kept)
        again = player.play()
        assert (again.state_hash, told_rows(store.steps(again.id))) == (episode.state_hash, before)


def test_an_offset_after_a_rollback_moves_the_hand_by_bounded_steps_with_clearance(
    store: Store, tmp_path: Path, env: Any
):
    repair = {"kind": "offset", "offset_m": [0.06, 0.0, 0.0], "apply_steps": 3}
    player = Player(store, tmp_path, env, {30: {"rollback_step": 10, "repair": repair}})
    episode = player.play()
    (fork,) = store.interventions(episode.id)
    assert (fork.kind, fork.exact) == ("sim", True) and player.supervisor.seen[0] == "rolled back to 10"
    rows = store.steps(episode.id)
    mended = [row for row in rows if row.notes.get(REPAIR) == "offset"]
    assert mended[0].index == 31 and mended[0].sim_step == 10 and verify(store, episode).holds
    moved = [max(abs(value) for value in row.action[:3]) for row in mended]
    assert max(moved) <= 1.0 and mended[0].action[2] > 0.5, "up first, 5 cm a step at most"
    assert episode.outcome == "won"


def test_a_manoeuvre_gets_where_it_is_to_go(env: Any):
    env.reset(seed=2)
    before = env.arm.position.copy()
    manoeuvre = repairs.offset(env, [0.05, -0.04, 0.0], "world", 4)
    while not manoeuvre.done:
        env.override(manoeuvre.action())
        manoeuvre.moved()
    assert abs(env.arm.position - before - [0.05, -0.04, 0.0]).max() < 0.01
    assert repairs.begin(env, {"kind": "retry"}) is None


def test_what_made_things_worse_is_taken_back_exactly(store: Store, tmp_path: Path, env: Any):
    script = {40: {"rollback_step": 20, "repair": {"kind": "retry"}}, 50: {"undo": True}}
    player = Player(store, tmp_path, env, script)
    episode = player.play()
    back, undone = store.interventions(episode.id)
    assert (undone.kind, undone.to_step, undone.exact, undone.branch) == (UNDO, 40, True, 2)
    rows = store.steps(episode.id)
    assert [row.sim_step for row in rows[40:43]] == [40, 20, 21]
    assert [row.sim_step for row in rows[50:53]] == [29, 41, 42], "the branch that was left goes on"
    assert episode.outcome == "won" and verify(store, episode).holds
    before = told_rows(rows)
    cut(store, episode, 53)
    assert told_rows(store.steps(player.play().id)) == before
    assert player.supervisor.seen.count("undone") == 1 and back.kind == "sim"


def test_a_rollback_that_is_taken_back_costs_what_was_played_in_between(env: Any):
    env.reset(seed=2)
    time = Timeline()
    time.keep(env)
    time.index = time.sim_step = 40
    time.go_back(env, 0)
    assert (time.charged, time.added) == (40, 40), "the 40 steps that were gone back over"
    time.index, time.sim_step = 50, 10
    time.undo()
    assert (time.sim_step, time.charged, time.added) == (40, 50, 10), "they count again; the 10 since were for nothing"


def test_giving_up_ends_the_episode(store: Store, tmp_path: Path, env: Any):
    episode = Player(store, tmp_path, env, {10: {"repair": {"kind": "abort"}, "act": True}}).play()
    assert (episode.outcome, episode.n_steps) == ("lost", 11) and "abort" in episode.outcome_detail


def test_a_reprompt_tells_the_policy_something_else_from_then_on(store: Store, tmp_path: Path, env: Any):
    repair = {"kind": "reprompt", "reprompt": "put the cube into the bowl, gently"}
    player = Player(store, tmp_path, env, {5: {"rollback_step": 2, "repair": repair}}, max_steps=12)
    player.agent = Listener()
    player.play()
    assert set(player.agent.told[:6]) == {env.task.goal}  # type: ignore[attr-defined]
    assert set(player.agent.told[6:]) == {repair["reprompt"]}  # type: ignore[attr-defined]


def test_telling_renders_nothing(env: Any):
    observation, _ = env.reset(seed=0)
    again = told(observation, "do something else")
    assert again["instruction"] == "do something else" and observation["instruction"] == env.task.goal
    assert not observation.rendered("agentview") and told(observation, "") is observation
