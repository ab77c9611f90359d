"""The teleoperation window without a display: what gestures do to the arm, what the window remembers and shows."""

import math

import numpy as np
import pytest

import environments
from environments.errors import InvalidAction, InvalidSnapshot
from environments.game import FRAME_SIZE
from tests.environments.test_games_contract import EventDesk

pytest.importorskip("environments.robots._robosuite", reason="pip install 'rewind-arena[robots]'")

from environments.robots.teleop import STEP_SIZES
from environments.robots.teleop_controls import BY_ID, BY_KEY, CONTROLS, READ_OUTS, control_at
from environments.robots.teleop_motion import levelling_turn, rotate, rotation_between, view_frame

TASK = "tabletop/pick-place-bowl-v1"
FORWARD, LEFT, UP = np.array([-1.0, 0, 0]), np.array([0, -1.0, 0]), np.array([0, 0, 1.0])
"""The window's directions in the world: the main camera faces the robot."""


@pytest.fixture(scope="module")
def made():
    env = environments.make(TASK, "gui")
    yield env
    env.close()


@pytest.fixture
def env(made):
    """At the start of an episode, on a desktop that is made of events."""
    made.reset(seed=3)
    made._teleop._desktop = EventDesk()
    return made


def press(key):
    return {"verb": "press", "key": key}


def click(name, **more):
    x, y = BY_ID[name].centre
    return {"verb": "click", "x": x, "y": y, **more}


def moved(env, *gestures):
    """How far the hand goes by some gestures, (3,) m, and their refusals."""
    start = env.robot.arm.position
    illegal = [env.step(gesture)[4]["illegal"] for gesture in gestures]
    return env.robot.arm.position - start, illegal


class TestControls:
    def test_every_control_has_a_button_and_a_key_of_its_own(self):
        keys = [key for control in CONTROLS for key in (control.key, *control.also)]
        assert len(keys) == len(set(keys)) == len(BY_KEY)
        for control in CONTROLS:
            assert control_at(*control.centre) is control
            left, top, right, bottom = control.box
            assert 0 <= left < right <= FRAME_SIZE[0] and 0 <= top < bottom <= FRAME_SIZE[1]

    def test_buttons_do_not_overlap(self):
        for one in CONTROLS:
            corners = [(one.box[i], one.box[j]) for i in (0, 2) for j in (1, 3)]
            assert not any(other.contains(*corner) for other in CONTROLS if other is not one for corner in corners)

    def test_the_vocabulary_has_every_key(self, made):
        assert all(made.action_space.contains(press(key)) for key in BY_KEY)


class TestMotion:
    @pytest.mark.parametrize(
        ("name", "way"),
        [("forward", FORWARD), ("back", -FORWARD), ("left", LEFT), ("right", -LEFT), ("up", UP), ("down", -UP)],
    )
    def test_key_and_button_move_by_one_increment(self, env, name, way):
        start = env.snapshot()
        by_key, _ = moved(env, press(BY_ID[name].key))
        assert np.allclose(by_key, 0.01 * way, atol=0.003)
        hashed = env.state_hash()
        env.restore(start)
        moved(env, click(name))
        assert env.state_hash() == hashed, "the button does exactly what the key does"

    def test_coarse_steps_are_five_centimetres(self, env):
        way, _ = moved(env, press("2"), press("a"))
        assert np.allclose(way, 0.05 * LEFT, atol=0.004)

    def test_strokes_add_up(self, env):
        way, _ = moved(env, *[press("a")] * 6)
        assert np.allclose(way, 0.06 * LEFT, atol=0.004)

    def test_a_held_key_moves_as_long_as_it_is_held(self, env):
        way, _ = moved(env, {"verb": "hold", "key": "d", "ms": 1_000})
        assert np.allclose(way, -STEP_SIZES["fine"].speed_m_s * LEFT, atol=0.004)
        assert 20 <= env.telemetry()["control_step"] <= 20 + 14

    def test_keys_together_move_on_a_diagonal(self, env):
        way, _ = moved(env, {"verb": "hotkey", "keys": ["w", "a"], "ms": 600})
        assert np.allclose(way, 0.03 * (FORWARD + LEFT), atol=0.005)

    def test_turns_are_counter_clockwise_from_above_for_left(self, env):
        before = env.robot.arm.rotation
        env.step(press("2"))
        env.step(press("q"))
        turn = rotation_between(before, env.robot.arm.rotation)
        assert np.degrees(turn[2]) == pytest.approx(15, abs=3) and abs(turn[:2]).max() < 0.08

    def test_level_undoes_tilts(self, env):
        env.step({"verb": "hold", "key": "i", "ms": 1_000})
        assert math.degrees(np.linalg.norm(levelling_turn(env.robot.arm.rotation))) > 15
        env.step(press("h"))
        assert math.degrees(np.linalg.norm(levelling_turn(env.robot.arm.rotation))) < 3

    def test_the_gripper_closes_and_opens_completely(self, env):
        env.step(press("c"))
        assert env.robot.arm.width_m < 0.005 and env.telemetry()["gripper_command"] == 1.0
        env.step(press("a"))
        assert env.robot.arm.width_m < 0.005, "it stays closed on the way"
        env.step(click("open"))
        assert env.robot.arm.width_m > 0.07

    def test_every_native_action_is_within_the_space(self, env, monkeypatch):
        sent = []
        control = env.robot._control
        monkeypatch.setattr(env._teleop._rig, "control", lambda action: (sent.append(action), control(action)))
        for gesture in (press("2"), press("w"), press("q"), press("c"), {"verb": "hold", "key": "r", "ms": 500}):
            env.step(gesture)
        assert sent and all(len(action) == 7 and max(map(abs, action)) <= 1.0 for action in sent)


class TestTime:
    @pytest.mark.parametrize(
        ("gesture", "steps"),
        [
            ({"verb": "wait", "ms": 0}, 2),
            ({"verb": "wait", "ms": 1_000}, 20),
            ({"verb": "move", "x": 5, "y": 5}, 2),
            ({"verb": "scroll", "x": 5, "y": 5, "clicks": 1}, 2),
            (press("z"), 2),
            (press("1"), 2),
            (press("space"), 4),
        ],
    )
    def test_a_gesture_that_moves_nothing_takes_its_own_time(self, env, gesture, steps):
        """60 ms of a tap are two control steps of 50 ms."""
        way, _ = moved(env, gesture)
        assert env.telemetry()["control_step"] == steps
        assert np.linalg.norm(way) < 0.006

    def test_typing_is_no_way_around_the_step_limit(self, env):
        _, illegal = moved(env, {"verb": "type", "text": "a" * 200})
        assert illegal == ["a gesture makes 20 strokes at most"]
        assert env.telemetry()["control_step"] < 20 * 22


class TestRefusals:
    def test_the_edge_of_the_workspace_is_told(self, env):
        env.step(press("2"))
        outcomes = [env.step({"verb": "hold", "key": "a", "ms": 2_000})[4]["illegal"] for _ in range(4)]
        assert outcomes[0] is None and outcomes[-1] == "at the edge of the workspace: no farther left"
        assert env._teleop.state()["bad"]

    def test_a_blocked_move_says_so(self, env):
        for _ in range(3):
            env.step({"verb": "hold", "key": "f", "ms": 2_000})
        assert env.robot.arm.position[2] < 0.83
        env.step(press("2"))
        env._teleop._rig.workspace = ((-1, -1, 0.0), (1, 1, 2.0))
        env.step(press("f"))
        assert env._teleop.state()["message"].startswith("Blocked. Down: moved ")

    def test_a_gesture_outside_the_vocabulary_changes_nothing(self, env):
        before = env.snapshot()
        for gesture in ({"verb": "press", "key": "ä"}, {"verb": "click", "x": 640, "y": 1}, [0.0] * 7, "up"):
            with pytest.raises(InvalidAction):
                env.step(gesture)
        assert env.snapshot() == before


class TestState:
    GESTURES = (
        *(press(key) for key in "2w1aqc"),
        {"verb": "hotkey", "keys": ["r", "d"], "ms": 400},
        {"verb": "type", "text": "wa"},
        {"verb": "drag", "x": 440, "y": 270, "to_x": 5, "to_y": 5},
        click("open", count=2),
        {"verb": "wait", "ms": 300},
    )

    def test_from_a_snapshot_the_same_gestures_give_the_same_states(self, env):
        for at in (0, 3, 7):
            env.reset(seed=4)
            env._teleop._desktop = EventDesk()
            for gesture in self.GESTURES[:at]:
                env.step(gesture)
            snap = env.snapshot()
            first = [(env.step(gesture)[4], env.snapshot()) for gesture in self.GESTURES[at:]]
            assert env.restore(snap) is not None and env.snapshot() == snap
            assert [(env.step(gesture)[4], env.snapshot()) for gesture in self.GESTURES[at:]] == first

    def test_the_state_is_that_of_the_other_spaces(self, env):
        """A snapshot goes from one space to the other, and hashes are equal: the window is no part of the world."""
        native = environments.make(TASK, "native")
        native.reset(seed=3)
        assert native.state_hash() == env.state_hash()
        env.step(press("w"))
        native.restore(env.snapshot())
        assert native.state_hash() == env.state_hash()
        native.step([0.2] * 7)
        env.restore(native.snapshot())
        assert native.state_hash() == env.state_hash() and env._teleop.state()["steps"] == 0
        native.close()

    @pytest.mark.parametrize("damage", [{"size": "huge"}, {"lit": ["nothing"]}, {"click": [1]}, {"setpoint": [1, 2]}])
    def test_damaged_state_is_refused(self, env, damage):
        with pytest.raises(InvalidSnapshot):
            env._teleop.load({**env._teleop.state(), **damage})

    def test_a_new_episode_forgets_the_window(self, env):
        env.step(press("2"))
        env.reset(seed=3)
        assert env._teleop.state()["size"] == "fine" and env._teleop.state()["steps"] == 0


class TestExpert:
    @pytest.mark.parametrize("seed", range(3))
    def test_solves_the_task_with_clicks_and_held_keys(self, env, seed):
        env.reset(seed=seed)
        env._teleop._desktop = EventDesk()
        verbs = set()
        for _ in range(40):
            action = env.expert_action()
            verbs.add(action["verb"])
            _, _, done, _, info = env.step(action)
            assert info["illegal"] is None
            if done:
                break
        assert env.success() and env.score() == 100.0 and verbs == {"click", "hold"}
        assert {"reach", "grasp", "lift", "carry", "place", "release"} == env.milestones()

    def test_reaches_a_place_to_within_a_timed_key(self, env):
        """Nearer than half a stroke too: it backs off and comes back with a key held a little longer."""
        for offset in ([0.004, -0.004, 0.012], [0.033, 0.061, -0.097]):
            place = env.robot.arm.position + offset
            for _ in range(16):
                gesture = env._teleop.gesture_towards(place, 0.0, -1.0)
                if gesture["verb"] == "wait":
                    break
                env.step(gesture)
            assert gesture["verb"] == "wait" and np.abs(env.robot.arm.position - place).max() < 0.004

    def test_goes_back_to_fine_steps_and_an_upright_hand(self, env):
        env.step(press("2"))
        env.step({"verb": "hold", "key": "j", "ms": 500})
        env.step(env.expert_action())
        assert env._teleop.state()["size"] == "fine"
        assert env.expert_action() == {**click("level"), "button": "left", "count": 1}


class TestGeometry:
    def test_rotations_are_inverse_to_their_difference(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            start = rotate(np.eye(3), rng.uniform(-1, 1, 3))
            turn = rng.uniform(-1.5, 1.5, 3)
            assert np.allclose(rotation_between(start, rotate(start, turn)), turn, atol=1e-9)

    def test_half_a_turn_has_an_axis(self):
        turn = rotation_between(np.eye(3), np.diag([-1.0, 1.0, -1.0]))
        assert np.allclose(np.abs(turn), [0, math.pi, 0])

    @pytest.mark.parametrize("down", [0.0, 0.5, 1.0])
    def test_forward_leads_into_the_picture(self, down):
        """Of a camera that stands at +x and looks towards -x, more or less from above."""
        back = np.array([1 - down, 0, down]) / np.hypot(1 - down, down)
        right = np.array([0.0, 1, 0])
        camera = np.stack([right, np.cross(back, right), back], axis=1)
        assert np.allclose(view_frame(camera), np.stack([FORWARD, LEFT, UP], axis=1))


@pytest.mark.gl
class TestPicture:
    def test_nothing_is_drawn_for_steps_that_nobody_looks_at(self):
        env = environments.make(TASK, "gui")
        env.reset(seed=0)
        env._teleop._desktop = EventDesk()
        observation, *_ = env.step(press("a"))
        assert env.robot._camera is None and not observation.rendered("frame")
        assert observation["frame"].shape == (480, 640, 3) and env.robot._camera is not None
        env.close()

    def test_the_pressed_button_lights_up_and_goes_out(self, env):
        x, y = BY_ID["left"].box[0] + 8, BY_ID["left"].box[1] + 10
        before = env.render()[y, x]
        env.step(press("a"))
        lit = env.render()[y, x]
        env.step({"verb": "wait", "ms": 0})
        assert (before == env.render()[y, x]).all() and not (before == lit).all()

    def test_the_cameras_show_what_they_see(self, env):
        """The main view is the picture of the camera, pixel for pixel where nothing is written on it."""
        frame = env.render()
        picture = env.robot._picture("agentview")
        assert np.array_equal(frame[46 + 100 : 46 + 200, 8:320], picture[100:200])

    def test_equal_histories_give_equal_windows(self, env):
        snap = env.snapshot()
        env.step(press("2"))
        first = env.render()
        env.restore(snap)
        assert not np.array_equal(env.render(), first)
        env.step(press("2"))
        assert np.array_equal(env.render(), first)

    def test_a_long_instruction_stays_in_the_header(self, env):
        from environments.robots.teleop_window import _still

        words = "put both the alphabet soup and the tomato sauce in the basket and close the top drawer of the cabinet"
        frame = _still(words).frame()
        assert (frame[2:40, 2:638] != frame[1, 1]).any() and (frame[1, :] == frame[1, 1]).all()

    def test_a_fault_of_perception_is_in_the_window_and_not_in_the_record(self, env):
        env.reset(seed=3, options={"fault": {"kind": "proprio-bias", "stage": "reach", "severity": 2}})
        env._teleop._desktop = EventDesk()
        assert env.perceived(observation := env.observe()) is observation
        env.step({"verb": "wait", "ms": 500})
        recorded, seen = env.observe(), env.perceived(env.observe())
        changed = np.argwhere((recorded["frame"] != seen["frame"]).any(axis=2))
        left, top, right, bottom = READ_OUTS
        assert len(changed) and (changed >= [top, left]).all() and (changed < [bottom, right]).all()
