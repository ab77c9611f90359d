"""The `human` condition: people's opinions of recordings are kept, and carried out in the same episode played again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from arena.cli.app import app
from arena.diagnosis import Case, Diagnosis, DiagnosisConfig, build, counterfactual
from arena.diagnosis.dynamic import Scenario, configs, experiment, run_dynamic
from arena.diagnosis.dynamic_table import dynamic_table
from arena.diagnosis.human import HumanDiagnoser, PersonStops, is_review
from arena.diagnosis.monitors import Alarm
from arena.diagnosis.opinions import Watched, add_opinion, by_scene, recordings, runs_to_watch
from arena.diagnosis.signals import Reading
from arena.judging import InvalidReview
from arena.location import Location
from arena.supervision import LEFT_STATE
from environments.robots.faults import Fault
from storage.models import Diagnosis as Row
from storage.models import Episode
from storage.store import Store

TASK = "tabletop/pick-place-bowl-v1"
STUCK = Fault(kind="stuck", severity=2)
HORIZON = 110
OK = {"step_now": 10, "verdict": "ok", "confidence": 0.9}
SEEN_STUCK = {
    "step_now": 62, "verdict": "fault", "confidence": 0.9, "fault_class": "control", "fault_type": "C6", "severity": 2,
    "onset_step": 50, "rollback_step": 44, "repair": {"kind": "retry"}, "rationale": "it does not move any more",
}  # fmt: skip


def opinion(**change: Any) -> Diagnosis:
    return Diagnosis.model_validate({**SEEN_STUCK, **change})


def reading(step: int, *, width_m: float = 0.04) -> Reading:
    return Reading(step=step, closing=True, push=0.1, width_m=width_m, eef_pos_m=(0.0, 0.0, 0.1), speed_m_s=0.1)


# the diagnoser and its trigger


def test_the_alarm_is_raised_where_the_person_stopped_and_never_again():
    monitor = PersonStops(62)
    assert [step for step in (61, 62, 63) if monitor.update(reading(step))] == [62]
    monitor.reset()
    assert monitor.update(reading(64)) is None and monitor.settings() == {"step": 62}


def test_the_diagnoser_says_what_the_person_said_and_goes_back_to_a_verified_snapshot():
    readings = [reading(step, width_m=0.04 - 0.002 * (40 <= step <= 43) * (step - 39)) for step in range(63)]
    alarm = Alarm(monitor="person", step=62, onset=62, since=0, note="")
    case = Case(
        task_id=TASK, instruction="", alarm=alarm, step_now=62, snapshots=tuple(range(63)), readings=readings
    )  # fmt: skip
    said = HumanDiagnoser(opinion()).diagnose(case).diagnosis
    assert said.rollback_step == 40, "the fingers moved in steps 40 to 43, before the moment that was chosen"
    assert said == opinion(rollback_step=40)
    stays = opinion(rollback_step=None, repair={"kind": "regrasp"})
    assert HumanDiagnoser(stays).diagnose(case).diagnosis == stays


def test_the_opinion_is_the_fingerprint():
    def fingerprint(said: Diagnosis) -> dict[str, Any]:
        supervisor = build(DiagnosisConfig(diagnoser="human", opinion=said))
        assert supervisor is not None and not supervisor.privileged
        return supervisor.fingerprint()

    assert fingerprint(opinion()) == fingerprint(opinion())
    assert fingerprint(opinion()) != fingerprint(opinion(rollback_step=43))
    assert fingerprint(opinion())["monitors"] == {"person": {"step": 62}}
    with pytest.raises(ValueError, match="diagnoser 'human' needs opinion"):
        DiagnosisConfig(diagnoser="human")
    with pytest.raises(ValueError, match="opinion: for diagnoser 'human' alone"):
        DiagnosisConfig(diagnoser="rules", opinion=opinion())


def test_human_is_a_condition_of_those_scenarios_that_were_looked_at():
    assert configs(["none", "human"], calibration=None) == {"none": {"diagnoser": "none"}}
    said = configs(["human:ada"], calibration=None, opinion=opinion().to_json())
    clean, stuck = Scenario(TASK, 1), Scenario(TASK, 1, STUCK)
    planned = experiment("h", [clean, stuck], {"none": {"diagnoser": "none"}}, own={stuck: said}, filmed=True)
    found = {block.video: [condition.label for condition in block.conditions] for block in planned.blocks}
    assert found == {"every-step": ["none | clean", "none | stuck/2"], "as-seen": ["human:ada | stuck/2"]}


def test_of_opinions_the_latest_counts_of_all_or_of_one_person():
    def said(by: str, step: int) -> Any:
        body = opinion(step_now=step).to_json()
        return Row(
            id=f"{by}{step}", episode_id="e", step_index=step, trigger="review", diagnoser=by, fingerprint="",
            verdict="fault", body=body,
        )  # fmt: skip

    episode = Episode(
        id="e", identity="e", try_no=0, spec={}, task_id=TASK, space="native", agent="scripted-policy", seed=3
    )
    rows = (said("human:ada", 60), said("human:eve", 61))
    watched = [Watched(episode=episode, label="none | stuck/2", said=rows)]
    scene = (TASK, 3, "stuck/2")
    assert by_scene(watched, "human")[scene].step_now == 61
    assert by_scene(watched, "human:ada")[scene].step_now == 60
    assert by_scene(watched, "human:bob") == {}


# on the real tabletop, filmed


LookedAt = tuple[Store, str, str]
"""The store, the run before anybody looked, and the one with their opinions."""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("human") / "h.db")


@pytest.fixture(scope="module")
def lines() -> list[str]:
    """What the calls below were told about their runs."""
    return []


@pytest.fixture(scope="module")
def looked_at(database: str, lines: list[str]) -> Iterator[LookedAt]:
    """Three scenarios left alone; a person has looked at two of them; then the run with their opinions."""
    pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")
    place = Location.of(database)
    scenes = [Scenario(TASK, 1), Scenario(TASK, 1, STUCK), Scenario(TASK, 1, Fault(kind="stuck", severity=0))]
    with place.open() as store:

        def play() -> str:
            asked: dict[str, Any] = {"horizons": {TASK: HORIZON}, "workers": 0, "tell": lines.append}
            return run_dynamic(store, place, scenes, ["human"], **asked)

        alone = play()
        before = {item.label: item for item in recordings(store, alone)}
        add_opinion(store, before["none | clean"].episode, OK, name="ada")
        add_opinion(store, before["none | stuck/2"].episode, {**OK, "step_now": 20}, name="eve")
        add_opinion(store, before["none | stuck/2"].episode, SEEN_STUCK, name="ada")
        run_id = play()
        assert play() == run_id
        yield store, alone, run_id


@pytest.mark.gl
def test_the_human_line_stands_for_what_was_looked_at(looked_at: LookedAt):
    store, alone, run_id = looked_at
    table = dynamic_table(store, run_id)
    human, none = table.line("human"), table.line("none")
    assert (table.scenarios, none.episodes, human.episodes) == (3, 3, 2)
    assert (human.alone, human.success, human.rescued, human.broken) == (0.5, 1.0, 1, 0)
    assert human.interventions == 0.5 and human.added_steps > 0 and human.false_alarm_rate == 0.0
    assert none.false_alarm_rate == 0.0, "what people say of a recording is nothing that its episode's diagnoser said"
    assert "human" not in [line.condition for line in dynamic_table(store, alone).lines], "nobody had looked yet"
    assert runs_to_watch(store) == [run_id, alone]


@pytest.mark.gl
def test_the_same_call_says_once_that_opinions_have_made_another_run_of_it(looked_at: LookedAt, lines: list[str]):
    """Nothing is said as the first one begins, nor where the one with these opinions is continued."""
    _, alone, run_id = looked_at
    [told] = lines
    assert told.startswith(f"{run_id} is a new run, and {alone} stays as it is: what people said of the recordings is")


@pytest.mark.gl
def test_until_the_person_stopped_it_is_the_episode_that_they_watched_bit_for_bit(looked_at: LookedAt):
    store, _, run_id = looked_at
    [watched] = [item for item in recordings(store, run_id) if item.label == "none | stuck/2"]
    [played] = store.episodes(run_id, condition="human | stuck/2")
    [said] = store.diagnoses(played.id)
    [fork] = store.interventions(played.id)
    assert (said.trigger, said.diagnoser, said.step_index, fork.at_step) == ("person", "human", 62, 62)
    assert fork.exact and fork.to_step <= 44 and said.body["rationale"] == SEEN_STUCK["rationale"]

    def told(episode: Episode) -> list[Any]:
        rows = store.steps(episode.id, 0, 63)
        return [(row.action, row.reward, row.score, row.sim_step, row.branch, row.notes) for row in rows]

    *before, last = told(played)
    assert last[-1].pop(LEFT_STATE), "the step at which it forked says what was left"
    assert [*before, last] == told(watched.episode) and len(before) == 62
    assert [row.diagnoser for row in watched.said] == ["human:eve", "human:ada"], "the first opinion is kept"


@pytest.mark.gl
def test_an_opinion_makes_no_counterfactual_of_the_recording(looked_at: LookedAt):
    store, alone, _ = looked_at
    said = [row for item in recordings(store, alone) for row in item.said]
    assert said and all(is_review(row) and row.trigger == "review" for row in said)
    assert list(counterfactual.of_run(store, alone)) == []


@pytest.mark.gl
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"step_now": HORIZON - 1}, "step_now: must be a step of the recording, and before its last one (got 109)"),
        ({"rollback_step": 51}, "diagnosis: rollback_step 51 is after onset_step 50"),
        ({"onset_step": 63}, "diagnosis: onset_step 63 is in the future: step_now is 62"),
        ({"onset_step": None, "rollback_step": None}, "diagnosis: verdict 'fault' needs an onset_step"),
        ({"verdict": "ok"}, "diagnosis: verdict 'ok' goes with fault_class 'none'"),
        ({"confidence": 2}, "confidence: Input should be less than or equal to 1"),
        ({"repair": {"kind": "reprompt"}}, "repair: repair.reprompt belongs to kind 'reprompt', which needs it"),
    ],
)
def test_what_cannot_be_taken_in_is_refused_with_its_field(looked_at: LookedAt, change: dict[str, Any], told: str):
    store, _, run_id = looked_at
    [watched] = [item for item in recordings(store, run_id) if item.label == "none | stuck/2"]
    with pytest.raises(InvalidReview) as refused:
        add_opinion(store, watched.episode, {**SEEN_STUCK, **change}, name="ada")
    assert str(refused.value).startswith(told)
    with pytest.raises(InvalidReview, match="episode: cannot be watched"):
        [supervised] = store.episodes(run_id, condition="human | stuck/2")
        add_opinion(store, supervised, SEEN_STUCK, name="ada")


@pytest.mark.gl
def test_the_command_says_how_many_were_looked_at(looked_at: LookedAt, database: str):
    _, _, run_id = looked_at
    result = CliRunner().invoke(app, ["diagnose", "table", run_id, "--db", database])
    assert result.exit_code == 0, result.output
    assert "human: 2 of 3 scenarios were looked at, and it is paired on those alone" in result.output
