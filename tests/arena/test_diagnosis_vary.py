"""Retries that are varied: when they are, what a policy does otherwise then, and that the record still replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, update

import agents
import environments
from agents.agent import Agent, Briefing
from agents.policies.agent import varied_replan
from arena import plan, run
from arena.diagnosis import Case, DiagnosingSupervisor, Diagnosis, DiagnosisConfig, Opinion, build, counterfactual
from arena.diagnosis.dynamic import Scenario, configs, experiment
from arena.diagnosis.schema import Repair
from arena.diagnosis.supervisor import SAME_PLACE_STEPS
from arena.experiment import AgentEntry
from arena.identity import player_seed
from arena.location import Location
from arena.play import Play
from arena.recorder import Recorder
from arena.supervision import Directive, Moment
from arena.verification import verify
from environments import registry
from environments.env import ArenaEnv
from environments.robots.faults import Fault
from environments.task import ActionSpace, Task
from storage.models import Diagnosis as DiagnosisRow
from storage.models import Episode, Intervention, Step
from storage.store import Store
from tests.fakes import policy_servers
from tests.fakes.policy_servers import OpenPi
from tests.fakes.policy_world import TASK as ARM

TABLETOP = "tabletop/pick-place-bowl-v1"


# --- when -----------------------------------------------------------------------------------------------------------


class Goes:
    """Finds a fault at every look and goes back to where it is told; asks for a variation that it may not ask for."""

    name = "goes"
    wants_pictures = False

    def __init__(self, *places: int) -> None:
        self.places = list(places)

    def fingerprint(self) -> dict[str, Any]:
        return {"diagnoser": self.name}

    def diagnose(self, case: Case) -> Opinion:
        target = case.readings[self.places.pop(0)].step
        said = Diagnosis(
            step_now=case.step_now, verdict="fault", confidence=1.0, fault_class="control", fault_type="C5",
            onset_step=case.step_now, rollback_step=target, repair=Repair(kind="retry", vary=7),
        )  # fmt: skip
        return Opinion(diagnosis=said)


def variations(*places: int, vary: bool = True, most: int = 9) -> list[int]:
    """The variation of each of several rollbacks to places on the timeline, that is to world steps."""
    supervisor = DiagnosingSupervisor(Goes(*places), max_interventions=most, vary=vary)
    supervisor.begin(environments.get(TABLETOP), "put it there")
    closing = [(1.0, mm) for mm in (78, 60, 42, 40, 40, 40, 40, 40)]
    steps = [(-1.0, 79.0)] * 60 + closing + [(1.0, 60.0)]
    found: list[int] = []
    place, index = 0, 0
    while len(found) < len(places):
        command, mm = steps[place]
        telemetry = {"gripper_width_m": mm / 1000, "eef_pos_m": [0.01 * place, 0, 0.9], "eef_speed_m_s": 0.2}
        said = supervisor.watch(
            Moment(
                index=index, sim_step=place, branch=len(found), action=[0.5, 0, 0, 0, 0, 0, command],
                telemetry=telemetry, observation={}, snapshots=tuple(range(index + 1)),
            )
        )  # fmt: skip
        index, place = index + 1, place + 1
        if said is not None:
            found.append(int(said.body["repair"].get("vary", 0)))
            if said.rollback_to is None:
                break
            place = places[len(found) - 1]
            supervisor.rolled_back(said.rollback_to)
    return found


def test_the_first_try_at_a_place_is_the_usual_one_and_each_further_one_another():
    assert variations(20, 20, 20) == [0, 1, 2]
    assert variations(40, 20, 40) == [0, 1, 1], "whoever begins earlier comes by there again"


def test_a_place_that_was_not_tried_from_is_not_varied():
    assert variations(20, 20 + SAME_PLACE_STEPS, 50) == [0, 1, 0]


def test_without_the_option_nothing_is_varied_whatever_a_diagnoser_says():
    assert variations(20, 20, 20, vary=False) == [0, 0, 0]
    assert variations(20, most=0) == [0], "nothing is done, so nothing is varied"


def test_a_variation_is_an_option_that_is_said_only_where_it_is_chosen_and_no_model_is_asked_for_it():
    plain, varied = DiagnosisConfig(), DiagnosisConfig(vary=True)
    assert "vary" not in plain.model_dump(mode="json") and varied.model_dump(mode="json")["vary"] is True
    marks = [supervisor.fingerprint() for config in (plain, varied) if (supervisor := build(config))]
    assert "vary" not in marks[0] and marks[1]["vary"] == {"same_place_steps": SAME_PLACE_STEPS}
    assert all(asked["vary"] for asked in configs(["rules", "restart"], calibration=None, vary=True).values())
    assert "vary" not in Repair().model_dump(mode="json") and Repair(vary=2).model_dump(mode="json")["vary"] == 2
    assert "vary" not in Diagnosis.answer_schema()["properties"]["repair"]["properties"]


# --- what -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usual", "horizon", "found"), [(5, 10, [2, 10, 1, 2]), (10, 10, [5, 2, 5, 2]), (1, 4, [2] * 4), (1, 1, [1] * 4)]
)
def test_a_varied_policy_executes_other_lengths_of_its_chunks_in_turn(usual: int, horizon: int, found: list[int]):
    assert varied_replan(usual, horizon, 0) == usual
    assert [varied_replan(usual, horizon, variation) for variation in (1, 2, 3, 4)] == found


class Back:
    """A supervisor that goes back at given steps, each time in a given variation."""

    wants_subgoals = privileged = False

    def __init__(self, script: Mapping[int, tuple[int, int]]) -> None:
        self.script = script

    def fingerprint(self) -> dict[str, Any]:
        return {"back": sorted(self.script)}

    def begin(self, task: Task, instruction: str, seed: int = 0) -> None: ...

    def watch(self, moment: Moment) -> Directive | None:
        if moment.index not in self.script:
            return None
        target, variation = self.script[moment.index]
        body = Diagnosis(
            step_now=moment.index, verdict="fault", confidence=1.0, fault_class="control", fault_type="C6",
            onset_step=moment.index, rollback_step=target, repair=Repair(kind="retry", vary=variation),
        )  # fmt: skip
        return Directive(trigger="told", diagnoser="told", body=body.to_json(), rollback_to=target)

    def recall(self, moment: Moment) -> None: ...

    def rolled_back(self, to: int) -> None: ...

    def repaired(self) -> None: ...

    def undone(self) -> None: ...


class Player:
    """Plays one episode in a shared world, again and again."""

    def __init__(
        self,
        store: Store,
        scratch: Path,
        env: ArenaEnv,
        agent: Mapping[str, Any],
        script: Mapping[int, tuple[int, int]],
    ) -> None:
        entry = AgentEntry.model_validate(agent)
        self.attempt = plan.single(env.task.id, "native", entry, 1, limits={"max_steps": 120})
        self.attempt.spec["video"] = "as-seen"
        self.attempt.spec["supervision"] = Back(script).fingerprint()
        self.store, self.scratch, self.env, self.script = store, scratch, env, script
        self.agent: Agent = agents.create(entry.name, entry.options)

    def play(self) -> tuple[Episode, list[Step]]:
        with Recorder(self.store, self.attempt, 0, self.scratch) as recorder:
            Play(self.attempt, self.env, self.agent, recorder, Back(self.script)).run()
        episode = self.store.episode(f"{self.attempt.identity}-0")
        return episode, self.store.steps(episode.id)

    def cut(self, episode: Episode, kept: int) -> None:
        """Leave the episode as a killed process does after `kept` steps."""
        with self.store.session() as session:
            session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= kept))
            session.execute(delete(Intervention).where(Intervention.at_step >= kept))
            session.execute(delete(DiagnosisRow).where(DiagnosisRow.step_index >= kept))
            session.execute(
                update(Episode).where(Episode.id == episode.id).values(status="running", outcome=None, scored=False)
            )


def actions(rows: Sequence[Step], start: int, count: int) -> list[Any]:
    return [row.action for row in rows[start : start + count]]


@pytest.fixture
def arm(monkeypatch: pytest.MonkeyPatch) -> ArenaEnv:
    """The arm of the tests as a task like others."""
    monkeypatch.setattr(registry, "_tasks", {**registry._tasks, ARM.id: ARM})
    return environments.make(ARM.id, "native")


TWICE = {8: (0, 0), 17: (0, 1)}
"""Back to the beginning in the usual way, and once more in another."""


def policy(url: str) -> dict[str, Any]:
    return {"name": "policy", "protocol": "openpi", "url": url, "timeout_s": 20}


def test_a_policy_that_answers_the_same_fails_the_same_until_its_chunks_are_cut_otherwise(
    store: Store, tmp_path: Path, arm: ArenaEnv
):
    with OpenPi() as server:
        player = Player(store, tmp_path, arm, policy(server.url), TWICE)
        episode, rows = player.play()
    assert actions(rows, 0, 9) == actions(rows, 9, 9), "same state, same policy, same actions"
    assert actions(rows, 18, 2) == actions(rows, 0, 2) and actions(rows, 18, 9) != actions(rows, 0, 9)
    assert [row.notes["position"] for row in rows[18:24]] == [0, 1, 0, 1, 0, 1]
    assert rows[18].notes["replan"] == 2
    assert {(row.notes["variation"], row.notes["varied"]) for row in rows[18:]} == {(1, "replan length")}
    assert not any("variation" in row.notes for row in rows[:18])
    bodies = [row.body["repair"].get("vary", 0) for row in store.diagnoses(episode.id)]
    assert bodies == [0, 1] and all(fork.exact for fork in store.interventions(episode.id))
    assert verify(store, episode).holds


def test_a_stochastic_policy_acts_otherwise_after_a_varied_retry_and_the_record_holds(
    store: Store, tmp_path: Path, arm: ArenaEnv, monkeypatch: pytest.MonkeyPatch
):
    rng, plain = np.random.default_rng(5), policy_servers.rows

    def noisy(state: Any, length: int = 10) -> np.ndarray:
        drawn = plain(state, length)
        drawn[:, :6] += rng.normal(0, 0.01, (length, 6))
        return drawn

    monkeypatch.setattr(policy_servers, "rows", noisy)
    with OpenPi() as server:
        episode, rows = Player(store, tmp_path, arm, policy(server.url), TWICE).play()
    first, second, third = (actions(rows, start, 9) for start in (0, 9, 18))
    assert first != second and second != third and first != third
    assert [row.notes["position"] for row in rows[9:18]] == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert [row.notes["position"] for row in rows[18:24]] == [0, 1, 0, 1, 0, 1]
    assert verify(store, episode).holds


@pytest.mark.parametrize("kept", [18, 19, 21])
def test_an_interrupted_varied_retry_goes_on_in_its_own_way(store: Store, tmp_path: Path, arm: ArenaEnv, kept: int):
    with OpenPi() as server:
        player = Player(store, tmp_path, arm, policy(server.url), TWICE)
        episode, rows = player.play()
        player.cut(episode, kept)
        again, resumed = player.play()
    assert actions(resumed, 0, len(rows)) == actions(rows, 0, len(rows))
    assert [row.notes["position"] for row in resumed] == [row.notes["position"] for row in rows]
    assert again.state_hash == episode.state_hash


@pytest.fixture(scope="module")
def tabletop() -> Any:
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    made = environments.make(TABLETOP, "native")
    yield made
    made.close()


def test_a_scripted_policy_repeats_itself_until_its_hand_is_given_noise(store: Store, tmp_path: Path, tabletop: Any):
    script = {20: (5, 0), 36: (5, 1), 52: (5, 2)}
    player = Player(store, tmp_path, tabletop, {"name": "scripted-policy"}, script)
    episode, rows = player.play()
    assert actions(rows, 21, 16) == actions(rows, 5, 16)
    third, fourth = actions(rows, 37, 16), actions(rows, 53, 16)
    assert third != actions(rows, 5, 16) and fourth != third
    apart = np.abs(np.array(third)[0, :3] - np.array(actions(rows, 5, 1))[0, :3])
    assert 0 < apart.max() < 0.25 and [row[3:] for row in third[:1]] == [row[3:] for row in actions(rows, 5, 1)]
    assert episode.outcome == "won" and verify(store, episode).holds
    player.cut(episode, 60)
    again, resumed = player.play()
    assert (again.state_hash, actions(resumed, 0, len(rows))) == (episode.state_hash, actions(rows, 0, len(rows)))


def test_a_noisy_expert_that_is_pulled_aside_is_drawn_anew(store: Store, tmp_path: Path, tabletop: Any):
    """At a rate of one half some ways are pulled and some are not; one that is not succeeds, and the record holds."""
    noisy = {"name": "noisy-expert", "failure_rate": 0.5}

    player = Player(store, tmp_path, tabletop, noisy, {})
    seed = player_seed(player.attempt.spec)
    briefing = Briefing(
        task=tabletop.task, space=ActionSpace.NATIVE, actions=tabletop.action_space, seed=seed, privileged=tabletop
    )

    def pulled(variation: int) -> bool:
        player.agent.reset(briefing)
        player.agent.vary(variation)
        return player.agent._pull is not None  # type: ignore[attr-defined]

    drawn = [pulled(variation) for variation in range(12)]
    assert len(set(drawn)) == 2 and drawn == [pulled(variation) for variation in range(12)]
    free = next(variation for variation in range(1, 12) if not drawn[variation])
    player.script = {20: (5, free)}
    episode, rows = player.play()
    assert actions(rows, 21, 10) != actions(rows, 5, 10)
    assert {row.notes["pulled"] for row in rows[21:]} == {False} and {row.notes["varied"] for row in rows[21:]} == {
        "noise"
    }
    assert episode.outcome == "won" and verify(store, episode).holds


def test_rules_that_go_back_to_the_same_place_vary_and_the_other_way_is_still_exact(tmp_path: Path):
    """A fault that comes back whenever it is rolled back from: the second retry is another one than the first."""
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    place = Location.of(str(tmp_path / "v.db"))
    scene = Scenario(TABLETOP, 1, Fault(kind="gripper-opens-mid-carry", severity=2, repeat=True))
    with place.open() as store:
        asked = configs(["rules"], calibration=None, vary=True)
        run_id = run.run(experiment("varied", [scene], asked), store, place, workers=0)
        (episode,) = store.episodes(run_id)
        said = [
            row.body["repair"].get("vary", 0) for row in store.diagnoses(episode.id) if row.rollback_step is not None
        ]
        assert said == [0, 1, 2][: len(said)] and len(said) >= 2
        assert verify(store, episode).holds
        found = list(counterfactual.of_run(store, run_id))
    assert len(found) >= 2 and all(item.exact for item in found)
