"""A person's episode: run by the loop of everybody, in real time, recorded so that it replays to the same states."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

import agents
import environments
from agents.errors import InvalidOptions
from arena import plan, run
from arena.cli.app import app
from arena.errors import InvalidExperiment
from arena.experiment import AgentEntry, parse
from arena.human import HumanSession, horizon, playable
from arena.human_input import QUEUE, SLICE_MS, Inputs
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.trial import TrialRunner
from arena.verification import verify
from environments.errors import DisplayError, InvalidAction, UnsupportedSpace
from storage.models import Episode
from storage.store import Store

display = [pytest.mark.display, pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed")]
MAZE, SNAKE, RACER = "games/maze-v1", "games/snake-v1", "games/racer-v1"
ROBOT = "tabletop/pick-place-bowl-v1"
PATIENCE_S = 60

Begin = Callable[..., HumanSession]


@pytest.fixture
def begin(store: Store, place: Location) -> Iterator[Begin]:
    """Starts sessions and waits until the game is on the screen; ends those that a test leaves open."""
    sessions: list[HumanSession] = []

    def start(task: str, **options: Any) -> HumanSession:
        session = HumanSession(store, place.scratch, task, **{"name": "ada", **options})
        sessions.append(session)
        session.start()
        wait_for(lambda: session.look().phase != "starting")
        return session

    yield start
    for session in sessions:
        session.close()


def wait_for(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.005)


def ended(session: HumanSession) -> Episode:
    wait_for(lambda: session.over)
    view = session.look()
    assert view.error == "" and view.episode is not None
    return view.episode


def win(session: HumanSession) -> Episode:
    """Play an untimed game to its end with the gestures of its expert, as another environment plans them."""
    with contextlib.closing(environments.make(session.task.id, "gui")) as twin:
        twin.reset(seed=session.seed)
        done = session.look().steps
        while not session.over:
            action = twin.expert_action()
            session.inputs.gesture(action)
            twin.step(action)
            done += 1
            wait_for(lambda: session.over or session.look().steps >= done)  # noqa: B023
    return ended(session)


class TestEpisode:
    pytestmark = display

    def test_is_recorded_like_an_agents_and_verifies(self, begin: Begin, store: Store) -> None:
        episode = win(begin(MAZE, seed=3))
        assert (episode.outcome, episode.scored, episode.success) == ("won", True, True)
        assert (episode.agent, episode.space, episode.seed) == ("human:ada", "gui", 3)
        assert episode.spec["agent"] == {"agent": "human", "version": 1, "options": {"name": "ada"}}
        assert episode.spec["clock"]["kind"] == "real-time"
        assert plan.identity(episode.spec) == episode.identity
        steps = store.steps(episode.id)
        assert len(steps) == episode.n_steps == episode.video_info["n_frames"] - 1
        assert {step.action["verb"] for step in steps} == {"press"}
        assert {verdict.judge for verdict in store.verdicts(episode.id)} == {"engine"}
        assert verify(store, episode).holds

    def test_is_a_row_of_the_leaderboard(self, begin: Begin, store: Store, place: Location) -> None:
        win(begin(MAZE))
        row = leaderboard(store, "human").rows[0]
        assert (row.task, row.agent, row.condition, row.instrument) == (MAZE, "human:ada", "single", "")
        assert row.scored == row.planned == 1
        told = CliRunner().invoke(app, ["leaderboard", "human", "--db", place.database])
        assert told.exit_code == 0 and "human:ada" in told.output

    def test_the_same_seed_played_again_is_the_next_repetition(self, begin: Begin) -> None:
        specs = []
        for name, seed in (("ada", 0), ("ada", 0), ("ada", 1), ("bob", 0)):
            session = begin(MAZE, name=name, seed=seed)
            session.close()
            specs.append(ended(session).spec)
        assert [spec["repetition"] for spec in specs] == [0, 1, 0, 0]

    def test_two_sessions_at_once_are_two_repetitions(self, begin: Begin) -> None:
        first, second = begin(MAZE), begin(MAZE)
        first.close()
        second.close()
        assert {ended(session).spec["repetition"] for session in (first, second)} == {0, 1}

    def test_refusal_of_the_rules_is_shown_and_recorded(self, begin: Begin, store: Store) -> None:
        session = begin(MAZE)
        for key in ("up", "down", "left", "right", "up", "up", "up", "up", "up", "up", "up", "up", "up"):
            session.inputs.key_down(key)
        wait_for(lambda: session.look().refusal)
        session.close()
        illegal = [step for step in store.steps(ended(session).id) if step.status == "illegal"]
        assert illegal and all(step.reason for step in illegal)


class TestTime:
    pytestmark = display

    def test_a_timed_game_runs_on_while_nobody_acts(self, begin: Begin, store: Store) -> None:
        """A snake that nobody steers reaches a wall; the record holds all the time that passed."""
        session = begin(SNAKE)
        number = session.look().number
        episode = ended(session)
        assert episode.outcome == "lost"
        steps = store.steps(episode.id)
        assert steps and all(step.action["verb"] == "wait" for step in steps)
        assert sum(step.world_ms for step in steps) > 0 and all(step.world_ms % 200 == 0 for step in steps)
        assert session.look().number > number + len(steps), "pictures came between the steps"
        assert verify(store, episode).holds

    def test_keys_turn_the_snake_in_time_and_the_record_verifies(self, begin: Begin, store: Store) -> None:
        session = begin(SNAKE, seed=1)
        for key in ("up", "left", "up", "right"):
            before = session.look().steps
            session.inputs.key_down(key)
            wait_for(lambda: session.over or session.look().steps > before)  # noqa: B023
        session.give_up()
        assert verify(store, ended(session)).holds

    def test_keys_that_stay_down_are_slices_without_a_gap(self, begin: Begin, store: Store) -> None:
        session = begin(RACER)
        assert session.inputs.held and session.timed
        session.inputs.key_down("up")
        wait_for(lambda: session.look().steps >= 4)
        session.inputs.key_down("left")
        wait_for(lambda: session.look().steps >= 8)
        session.inputs.key_up("up")
        session.inputs.key_up("left")
        session.close()
        episode = ended(session)
        steps = store.steps(episode.id)
        assert {"verb": "hold", "key": "up", "ms": SLICE_MS} in [step.action for step in steps]
        both = [step for step in steps if step.action["verb"] == "hotkey"]
        assert both and all(sorted(step.action["keys"]) == ["left", "up"] for step in both)
        held = [step for step in steps if step.action["verb"] != "wait"]
        assert all(step.world_ms == 0 for step in held[1:]), "no time passed with the keys up"
        assert verify(store, episode).holds

    def test_a_persons_slices_may_take_as_long_as_an_agents_steps(self) -> None:
        maze, racer = environments.get(MAZE), environments.get(RACER)
        assert horizon(maze, None) == maze.max_steps
        assert horizon(racer, 50) * SLICE_MS == racer.max_steps * 2_000


class TestRobot:
    pytestmark = display

    @pytest.mark.gl
    def test_a_key_that_stays_down_drives_the_arm_at_its_own_pace_and_the_record_verifies(
        self, begin: Begin, store: Store
    ) -> None:
        pytest.importorskip("robosuite", reason="pip install 'rewind-arena[robots]'")
        session = begin(ROBOT, seed=1)
        assert session.inputs.held and not session.timed
        assert session.max_steps * SLICE_MS == session.task.max_steps * 2_000
        number = session.look().number
        session.inputs.key_down("a")
        wait_for(lambda: session.over or session.look().steps >= 3)
        assert not session.over, session.look().error
        session.inputs.key_up("a")
        session.inputs.gesture({"verb": "click", "x": 194, "y": 383})
        wait_for(lambda: session.look().steps >= 4)
        session.give_up()
        episode = ended(session)
        assert session.look().number > number + episode.n_steps, "the arm was seen on its way"
        actions = [step.action for step in store.steps(episode.id)]
        assert {"verb": "hold", "key": "a", "ms": SLICE_MS} in actions and "click" in [a["verb"] for a in actions]
        assert verify(store, episode).holds


class TestEnd:
    pytestmark = display

    @pytest.mark.parametrize("task", [MAZE, SNAKE])
    def test_giving_up_is_no_score_and_keeps_what_was_played(self, begin: Begin, store: Store, task: str) -> None:
        session = begin(task)
        session.inputs.key_down("up")
        wait_for(lambda: session.look().steps == 1)
        session.give_up()
        episode = ended(session)
        assert (episode.outcome, episode.scored) == ("limit", False)
        assert "gave up" in episode.outcome_detail
        assert episode.n_steps == len(store.steps(episode.id)) >= 1
        assert episode.video is not None
        assert verify(store, episode).holds, "and the time since the last step is in it"

    def test_who_leaves_has_given_up(self, begin: Begin) -> None:
        assert "no input for 0.2 s" in ended(begin(MAZE, idle_s=0.2)).outcome_detail

    def test_an_episode_whose_process_died_is_closed_by_the_next(self, begin: Begin, store: Store) -> None:
        session = begin(MAZE)
        session.close()
        living = ended(session)
        entry = AgentEntry(name="human", label="human:ada", options={"name": "ada"})
        attempt = plan.single(MAZE, "gui", entry, 9, clock="real-time")
        columns = {"task_id": MAZE, "space": "gui", "agent": "human:ada", "seed": 9, "spec": attempt.spec}
        store.begin_episode(Episode(id=f"{attempt.identity}-0", identity=attempt.identity, try_no=0, **columns))
        store.link([attempt.link("human", "single", attempt.identity, final=True)])
        begin(MAZE).close()
        dead = store.episode(f"{attempt.identity}-0")
        assert (dead.status, dead.outcome, dead.scored) == ("finished", "limit", False)
        assert store.episode(living.id).outcome_detail == living.outcome_detail

    def test_a_display_that_fails_is_told_and_never_scored(
        self, begin: Begin, store: Store, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        session = begin(MAZE)

        def fail(self: Any, action: Any) -> None:
            raise DisplayError("the display died")

        monkeypatch.setattr("environments.game_env.GameEnv.step", fail)
        session.inputs.key_down("up")
        wait_for(lambda: session.over)
        view = session.look()
        assert view.phase == "failed" and "the display died" in view.error
        assert [episode.outcome for episode in store.episodes("human")] == ["infrastructure_error"]


class TestTutorial:
    pytestmark = display

    FILE = """
name: taught
tasks: games/maze-v1
spaces: gui
seeds: [{seed}]
agents: random
limits: {{max_steps: 3}}
conditions:
  - {{name: reflect-and-retry, reflection: {{reflector: rules, tutorial: {tutorial}}}}}
"""

    def test_a_won_episode_reaches_the_reflector(self, begin: Begin, store: Store, place: Location) -> None:
        shown = win(begin(MAZE, seed=500))
        experiment = parse(self.FILE.format(seed=0, tutorial=shown.id))
        assert plan.build(experiment).tutorials == {}, "no expert is asked in its place"
        run.run(experiment, store, place, workers=0)
        retry = store.episodes(round=1)[0]
        assert retry.spec["retry"]["tutorial"] == shown.identity
        lesson = store.lessons(retry.parent_id or "")[0]
        assert lesson.tutorial_id == shown.id and retry.lesson_id == lesson.id
        assert f"took {shown.n_steps} steps" in lesson.text

    def test_what_cannot_be_a_tutorial_is_refused_with_the_reason(
        self, begin: Begin, store: Store, place: Location
    ) -> None:
        won = win(begin(MAZE, seed=0))
        lost = begin(MAZE, seed=501)
        lost.close()
        for episode, reason in (
            (won.id, "seed 0 is one of the experiment's own"),
            (ended(lost).id, "ended as limit"),
            (f"e1-{'0' * 24}-0", "no such episode"),
        ):
            with pytest.raises(InvalidExperiment, match=reason):
                run.run(parse(self.FILE.format(seed=0, tutorial=episode)), store, place, workers=0)
        elsewhere = self.FILE.format(seed=7, tutorial=won.id).replace("spaces: gui", "spaces: semantic")
        with pytest.raises(InvalidExperiment, match="is to be the tutorial of games/maze-v1 semantic"):
            run.run(parse(elsewhere), store, place, workers=0)

    def test_only_an_id_or_a_truth_value_is_a_tutorial(self) -> None:
        with pytest.raises(InvalidExperiment, match="tutorial"):
            parse(self.FILE.format(seed=0, tutorial="human"))


class TestWhoMayPlay:
    def test_a_person_is_no_agent_of_an_experiment(self, store: Store) -> None:
        with pytest.raises(InvalidExperiment, match="a person plays with `arena play games/maze-v1`"):
            parse("{name: x, tasks: games/maze-v1, spaces: gui, seeds: 1, agents: human, conditions: [single]}")

    @pytest.mark.parametrize("name", ["", "x" * 41, "a\nb", "a\x1b[0m", "ab\u202ecd", " a", "a\u2028"])
    def test_names_that_cannot_be_shown_are_refused(self, name: str) -> None:
        with pytest.raises(InvalidOptions):
            agents.create("human", {"name": name})

    @pytest.mark.parametrize("name", ["ada", "Ada Lovelace", "<b>ada</b>", "阿達", "x" * 40])
    def test_names_in_any_writing_are_taken(self, name: str) -> None:
        assert agents.create("human", {"name": name}).fingerprint()["options"] == {"name": name}

    def test_native_programs_are_not_offered(self, store: Store, place: Location) -> None:
        program = environments.get("desktop/mines-v1")
        assert not playable(program)
        with pytest.raises(UnsupportedSpace):
            HumanSession(store, place.scratch, program.id)

    def test_a_machine_without_a_display_says_what_to_install(
        self, store: Store, place: Location, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("environments.desktop.check", lambda: ["Xvfb is not installed; apt-get install xvfb"])
        with pytest.raises(DisplayError, match="apt-get install xvfb"):
            HumanSession(store, place.scratch, MAZE)
        assert store.runs() == []

    def test_a_trial_runner_cannot_play_for_a_person(self, store: Store, place: Location) -> None:
        entry = AgentEntry(name="human", label="human:ada", options={"name": "ada"})
        attempt = plan.single(MAZE, "semantic", entry, 0)
        empty = plan.Plan(run_id="x", experiment=None, trials=[])  # type: ignore[arg-type]  # nothing of it is read
        place.scratch.mkdir(parents=True)
        with (
            contextlib.closing(TrialRunner(store, empty, place.scratch)) as runner,
            pytest.raises(RuntimeError, match="nobody is playing"),
        ):
            runner.attempt(attempt)

    def test_the_command_lists_games_and_refuses_what_is_none(self) -> None:
        listed = CliRunner().invoke(app, ["play"])
        assert listed.exit_code == 0 and MAZE in listed.output and "desktop/" not in listed.output
        refused = CliRunner().invoke(app, ["play", "games/mase-v1"])
        assert "did you mean" in str(refused.exception)


class TestInputs:
    def test_a_stroke_shorter_than_a_slice_is_played_once(self) -> None:
        inputs = held()
        inputs.key_down("up")
        inputs.key_up("up")
        assert inputs.take() == {"verb": "hold", "key": "up", "ms": SLICE_MS}
        assert not inputs.wait(0) and inputs.take()["verb"] == "wait"

    def test_the_last_four_keys_are_held_together(self) -> None:
        inputs = held()
        for key in ("a", "b", "c", "d", "e"):
            inputs.key_down(key)
        assert inputs.take() == {"verb": "hotkey", "keys": ["b", "c", "d", "e"], "ms": SLICE_MS}

    def test_where_strokes_count_a_key_is_one_press(self) -> None:
        inputs = Inputs()
        inputs.key_down("up")
        inputs.key_up("up")
        assert inputs.take() == {"verb": "press", "key": "up"}
        assert not inputs.wait(0)

    def test_keys_of_a_window_that_fell_silent_come_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        inputs = held()
        inputs.key_down("up")
        inputs.take()
        assert inputs.wait(0)
        now = time.monotonic()
        monkeypatch.setattr("arena.human_input.time.monotonic", lambda: now + 10)
        assert not inputs.wait(0)

    def test_too_many_gestures_are_dropped_and_wrong_ones_refused(self) -> None:
        inputs = Inputs()
        assert [inputs.gesture({"verb": "press", "key": "up"}) for _ in range(QUEUE + 1)] == [True] * QUEUE + [False]
        for wrong in ({"verb": "click", "x": 640, "y": 0}, {"verb": "press", "key": "meta"}, {}):
            with pytest.raises(InvalidAction):
                inputs.gesture(wrong)
        with pytest.raises(InvalidAction):
            held().key_down("meta")


def held() -> Inputs:
    inputs = Inputs()
    inputs.held = True
    return inputs
