"""Episodes in which the arm alone goes back: what is recorded, what counts, what is replayed, what is never mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete, update

from arena import plan
from arena.diagnosis import DiagnosisConfig, build
from arena.errors import InvalidExperiment
from arena.experiment import parse
from arena.supervision import REWIND
from arena.trial import TrialRunner
from arena.verification import verify
from environments.robots import rewind
from storage.models import Diagnosis, Episode, Intervention, Step
from storage.store import Store

TEXT = """
name: going-back
tasks: tabletop/pick-place-bowl-v1
spaces: native
seeds: 1
agents: scripted-policy
video: as-seen
conditions:
  - name: diagnose-and-rollback
    fault: gripper-opens-mid-carry
    diagnosis: {rollback: physical}
"""


def problems(text: str) -> dict[str, str]:
    with pytest.raises(InvalidExperiment) as caught:
        parse(text)
    return {problem.path: str(problem) for problem in caught.value.problems}


class Player:
    """Plays the one attempt of an experiment in this process, and keeps the simulator for the next."""

    def __init__(self, store: Store, scratch: Path, text: str = TEXT) -> None:
        self.plan = plan.build(parse(text))
        self.store, self.scratch = store, scratch

    def play(self) -> Episode:
        runner = TrialRunner(self.store, self.plan, self.scratch)
        try:
            return runner.attempt(self.plan.trials[0].first)
        finally:
            runner.close()


def told(rows: list[Step]) -> list[tuple[Any, ...]]:
    return [(r.index, r.branch, r.sim_step, r.action, r.score, r.frame, r.notes) for r in rows]


def cut(store: Store, episode: Episode, kept: int) -> None:
    """Leave the episode as a killed process does after `kept` steps."""
    with store.session() as session:
        session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= kept))
        session.execute(delete(Intervention).where(Intervention.at_step >= kept))
        session.execute(delete(Diagnosis).where(Diagnosis.step_index >= kept))
        session.execute(
            update(Episode).where(Episode.id == episode.id).values(status="running", outcome=None, scored=False)
        )


class TestEpisode:
    """With the simulator."""

    @pytest.fixture(autouse=True)
    def robots(self) -> None:
        pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

    def test_the_way_back_is_recorded_counted_and_replayed_even_from_its_middle(
        self, store: Store, tmp_path: Path
    ) -> None:
        player = Player(store, tmp_path)
        episode = player.play()
        assert episode.outcome == "won", "the dropped cube was picked up from where it had fallen"
        (fork,) = store.interventions(episode.id)
        assert (fork.kind, fork.exact, fork.snapshot) == ("physical", False, "")
        rows = store.steps(episode.id)
        back = [row for row in rows if row.notes.get(REWIND)]
        assert [row.index for row in back] == list(range(fork.at_step + 1, fork.at_step + 1 + len(back))) and back
        assert {row.branch for row in rows[fork.at_step + 1 :]} == {1}, "the way back opens the new branch"
        assert [row.sim_step for row in rows] == list(range(len(rows))), "the world's time goes on: every step counts"
        assert {row.notes["rewind_to"] for row in back} == {fork.to_step}
        assert ["rewind_end" in row.notes for row in back] == [False] * (len(back) - 1) + [True]
        last = back[-1].notes
        assert last["rewind_end"] == "reached"
        assert last["off_m"] <= rewind.ARRIVED_M and last["off_rad"] <= rewind.ARRIVED_RAD
        assert episode.summary["notes"][REWIND] == {"true": len(back), "n": len(back)}
        assert verify(store, episode).holds

        for kept in (fork.at_step, fork.at_step + 1, fork.at_step + 6, back[-1].index + 1):
            cut(store, episode, kept)
            again = player.play()
            assert (again.id, again.state_hash, again.video_info) == (
                episode.id,
                episode.state_hash,
                episode.video_info,
            )
            assert told(store.steps(again.id)) == told(rows)

    def test_steps_on_the_way_back_count_against_the_horizon_and_the_budget(self, store: Store, tmp_path: Path) -> None:
        bounded = TEXT.replace("rollback: physical", "rollback: physical, max_added_steps: 4")
        episode = Player(store, tmp_path, bounded + "limits: {max_steps: 60}\n").play()
        assert (episode.outcome, episode.n_steps) == ("horizon", 60)
        back = [row for row in store.steps(episode.id) if row.notes.get(REWIND)]
        assert len(back) == 4 and back[-1].notes["rewind_end"] == "out of steps"
        assert verify(store, episode).holds


def test_the_kind_is_part_of_what_an_episode_is_and_the_default_leaves_names_as_they_were() -> None:
    kinds = {kind: build(DiagnosisConfig(rollback=kind)) for kind in ("sim", "physical")}
    prints = {kind: supervisor.fingerprint() for kind, supervisor in kinds.items() if supervisor}
    assert "rollback" not in prints["sim"] and "max_added_steps" not in prints["sim"]
    assert prints["physical"].pop("rollback") == {"kind": "physical", **rewind.settings()}
    assert prints["physical"] == prints["sim"]
    bounded = build(DiagnosisConfig(max_added_steps=9))
    assert bounded and bounded.fingerprint()["max_added_steps"] == 9


def test_a_physical_condition_says_so_in_the_table_unless_it_has_a_label() -> None:
    (condition,) = parse(TEXT).blocks[0].conditions
    assert condition.label == "diagnose-and-rollback (physical)"
    (named,) = parse(TEXT.replace("    fault:", "    label: arm alone\n    fault:")).blocks[0].conditions
    assert named.label == "arm alone"


@pytest.mark.parametrize("task", ["tabletop/pick-place-bowl-v1", "tabletop/goal-open-drawer-v1"])
def test_the_two_kinds_never_share_a_label_even_on_different_tasks(task: str) -> None:
    blocks = """
name: mixed
spaces: native
seeds: 1
agents: scripted-policy
blocks:
  - {tasks: tabletop/pick-place-bowl-v1, conditions: [{name: diagnose-and-rollback, label: ours}]}
  - {tasks: %s, conditions: [{name: diagnose-and-rollback, label: ours, diagnosis: {rollback: physical}}]}
"""
    with pytest.raises(InvalidExperiment) as caught:
        parse(blocks % task)
    (found,) = [problem for problem in caught.value.problems if "`rollback: sim` already" in problem.message]
    assert found.path == "blocks[1].conditions[0].label"
    assert "here for `rollback: physical`" in found.message and "another `label`" in found.message


def test_what_has_no_arm_or_no_native_action_cannot_be_sent_back() -> None:
    game = TEXT.replace("tabletop/pick-place-bowl-v1", "games/snake-v1").replace("native", "semantic")
    game = game.replace("scripted-policy", "random").replace("    fault: gripper-opens-mid-carry\n", "")
    assert "games/snake-v1 has no arm" in problems(game)["conditions[0].diagnosis.rollback"]
    skills = TEXT.replace("spaces: native", "spaces: [native, semantic]").replace("scripted-policy", "scripted")
    assert "this block plays semantic" in problems(skills)["conditions[0].diagnosis.rollback"]
