"""The policy player: chunks, lazy cameras, exact resumption and rollback, conventions, options."""

from __future__ import annotations

import dataclasses
import importlib.util
import json
from typing import Any

import numpy as np
import pytest

import agents
from agents.errors import InvalidOptions
from agents.policies import sight
from agents.policies.chunks import gripper_from_native, gripper_to_native, read_rows, to_native
from agents.policies.lerobot import IMAGE, STATE, WRIST, LeRobotClient
from agents.policies.options import USUAL, Conventions, PolicyOptions
from agents.policies.wire import WireError
from environments import ActionSpace
from environments.errors import UnsupportedSpace
from tests.fakes.policy_servers import OpenPi, OpenVLA, RoboArena, VlaEval, rows
from tests.fakes.policy_world import TASK, ArmWorld, brief


@pytest.fixture
def world() -> ArmWorld:
    return ArmWorld(TASK, ActionSpace.NATIVE)


def player(url: str, protocol: str = "openpi", **options: Any) -> Any:
    return agents.create("policy", {"protocol": protocol, "url": url, "timeout_s": 20, **options})


def run(agent: Any, world: ArmWorld, steps: int, observation: Any = None) -> list[agents.Decision]:
    """Play on; with no observation, from the beginning."""
    if observation is None:
        agent.reset(brief(world))
        observation, _ = world.reset(seed=3)
    decisions = []
    for _ in range(steps):
        decisions.append(agent.act(observation))
        observation, *_ = world.step(decisions[-1].action)
    return decisions


# --- chunks ---------------------------------------------------------------------------------------------------------


def test_a_chunk_is_executed_for_replan_steps_and_cameras_are_drawn_once_in_it(world: ArmWorld) -> None:
    """5 of 10, as openpi's example: 20 steps are 4 requests, and only their pictures are drawn."""
    with OpenPi() as server:
        agent = player(server.url)
        decisions = run(agent, world, 20)
        agent.close()
    assert [decision.notes["chunk"] for decision in decisions] == [0] * 5 + [1] * 5 + [2] * 5 + [3] * 5
    assert [decision.notes["position"] for decision in decisions] == [0, 1, 2, 3, 4] * 4
    assert [i for i, decision in enumerate(decisions) if "disagreement" in decision.notes] == [5, 10, 15]
    foreseen = np.array(decisions[0].notes["foreseen"])
    now = np.array([decision.action for decision in decisions[5:10]])
    apart = float(np.linalg.norm(foreseen - now, axis=1).mean())
    assert decisions[5].notes["disagreement"] == pytest.approx(apart, abs=1e-5)
    assert len(server.seen) == 4
    assert world.rendered == [(camera, step) for step in (0, 5, 10, 15) for camera in ("agentview", "wrist")]
    expected = np.float32(rows(server.seen[1]["observation/state"])[:5])
    assert np.array_equal(np.float32([decision.action for decision in decisions[5:10]]), expected)


def test_notes_tell_what_came_and_are_json(world: ArmWorld) -> None:
    with OpenPi() as server:
        first, second = run(player(server.url), world, 2)
    assert json.loads(json.dumps(dict(first.notes))) == first.notes
    assert first.notes["reset"] == "episode start: new connection"
    assert first.notes["horizon"] == 10 and len(first.notes["rest"]) == 4 and first.notes["rest"][0] == second.action
    assert first.notes["server_timing"] == {"infer_ms": 12.5} and first.notes["latency_ms"] > 0
    assert second.notes == {"chunk": 0, "position": 1}


@pytest.mark.parametrize("replan", [1, 3, 10])
def test_replan_is_an_option(world: ArmWorld, replan: int) -> None:
    with OpenPi() as server:
        run(player(server.url, replan=replan), world, 10)
    assert len(server.seen) == -(-10 // replan)


def test_the_usual_replan_takes_shorter_chunks_and_one_that_was_asked_for_does_not(world: ArmWorld) -> None:
    with OpenPi(requests=["one"] * 9) as server:
        run(player(server.url), world, 3)
        assert len(server.seen) == 3
        with pytest.raises(agents.errors.UnusableAnswer, match=r"holds 1 steps, fewer than `replan` = 2; lower"):
            run(player(server.url, replan=2), world, 1)


# --- resumed, rolled back -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cut", [1, 4, 5, 7, 10])
def test_an_interrupted_episode_goes_on_exactly(world: ArmWorld, cut: int) -> None:
    """Inside a chunk and at its border: its rest is played before anything is asked, no picture drawn."""
    with OpenPi() as server:
        whole = run(player(server.url), world, 14)
        asked = len(server.seen)
        server.seen.clear()
        fresh = player(server.url)
        fresh.reset(brief(world))
        observation, _ = world.reset(seed=3)
        for decision in whole[:cut]:
            fresh.replay(observation, json_copy(decision))
            observation, *_ = world.step(decision.action)
        assert not server.seen and not world.rendered
        rest = run(fresh, world, 14 - cut, observation)
    assert [decision.action for decision in rest] == [decision.action for decision in whole[cut:]]
    assert [decision.notes["chunk"] for decision in rest] == [decision.notes["chunk"] for decision in whole[cut:]]
    assert [decision.notes["position"] for decision in rest] == [decision.notes["position"] for decision in whole[cut:]]
    assert len(server.seen) == asked - -(-cut // 5)
    asking = [decision for decision in rest if "rest" in decision.notes]
    assert [decision.notes.get("reset") for decision in asking] == ["resumed: new connection"] + [None] * (
        len(asking) - 1
    )


def json_copy(decision: agents.Decision) -> agents.Decision:
    """As it comes back from the database."""
    return agents.Decision(action=decision.action, notes=json.loads(json.dumps(dict(decision.notes))))


def test_a_rollback_drops_the_chunk_and_resets_the_policy(world: ArmWorld) -> None:
    with OpenPi() as server:
        agent = player(server.url)
        agent.reset(brief(world))
        observation, _ = world.reset(seed=3)
        start, first = world.snapshot(), run(agent, world, 7, observation)
        observation = world.restore(start)
        agent.rolled_back()
        second = run(agent, world, 7, observation)
        assert server.opened == 2
    assert [decision.action for decision in second] == [decision.action for decision in first]
    assert second[0].notes["reset"] == "rollback: new connection" and second[0].notes["chunk"] == 2


def test_a_replayed_rollback_leads_to_the_same_place(world: ArmWorld) -> None:
    with OpenPi() as server:
        agent = player(server.url)
        agent.reset(brief(world))
        observation, _ = world.reset(seed=3)
        start, before = world.snapshot(), run(agent, world, 7, observation)
        agent.rolled_back()
        after = run(agent, world, 3, world.restore(start))
        going_on = run(agent, world, 4, world.observe())

        fresh = player(server.url)
        fresh.reset(brief(world))
        for decision in before:
            fresh.replay({}, json_copy(decision))
        fresh.rolled_back()
        observation = world.restore(start)
        for decision in after:
            fresh.replay({}, json_copy(decision))
            observation, *_ = world.step(decision.action)
        rest = run(fresh, world, 4, observation)
    assert [decision.action for decision in rest] == [decision.action for decision in going_on]


def test_each_episode_begins_with_a_reset_in_the_protocols_own_way(world: ArmWorld) -> None:
    with RoboArena() as server:
        agent = player(server.url, "roboarena")
        for _ in range(2):
            run(agent, world, 11)
        agent.rolled_back()
        run(agent, world, 1, world.observe())
        told = [(request["endpoint"], request["session_id"]) for request in server.seen]
    assert [endpoint for endpoint, _ in told] == ["reset", "infer", "infer"] * 2 + ["reset", "infer"]
    assert len({session for _, session in told}) == 1 and len(told[0][1]) == 32
    with VlaEval() as server:
        agent = player(server.url, "vla-eval")
        run(agent, world, 8)
        agent.rolled_back()
        run(agent, world, 1, world.observe())
        assert server.opened == 1
    kinds = [request["type"] for request in server.seen]
    assert kinds == ["hello", "episode_start", *["observation"] * 2, "episode_end", "episode_start", "observation"]
    assert [request["seq"] for request in server.seen] == list(range(1, 8))
    with OpenVLA() as server:
        first = run(player(server.url, "openvla"), world, 1)[0]
    assert first.notes["reset"] == "episode start: none needed: each request stands alone"


# --- what it is told ------------------------------------------------------------------------------------------------


def test_fingerprint_holds_what_changes_the_policy_and_nothing_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_KEY", "secret-secret")
    told = player("ws://10.0.0.7:8000", key_env="POLICY_KEY", model="pi05_libero").fingerprint()
    assert told == {
        "agent": "policy", "version": 1, "protocol": "openpi", "host": "10.0.0.7", "model": "pi05_libero", "replan": 5,
        "image": {"size": 224, "orientation": "mirror", "resize": "pad"},
        "action": {"gripper": "signed", "binarise": False, "tolerance": 0.1}, "prompt": None, "unnorm_key": None,
    }  # fmt: skip
    assert player("ws://10.0.0.7:9000", model="pi05_libero", retries=1).fingerprint() == told
    for other in ({"replan": 4}, {"orientation": "upright"}, {"prompt": "do it"}, {"gripper": "unit-open"}):
        assert player("ws://10.0.0.7:8000", model="pi05_libero", **other).fingerprint() != told


@pytest.mark.parametrize(
    ("url", "other", "alike"),
    [
        ("ws://10.0.0.7:8000", "ws://10.0.0.7:8001", False),
        ("ws://10.0.0.7:8000/bowl", "ws://10.0.0.7:8000/plate", False),
        ("ws://10.0.0.7", "wss://10.0.0.7", False),
        ("ws://[::1]:8000", "ws://[::2]:8000", False),
        ("ws://10.0.0.7", "ws://10.0.0.7:80/", True),
        ("ws://Robot.Lab:8000", "ws://robot.lab:8000/", True),
    ],
)
def test_without_a_model_the_whole_address_tells_policies_apart(url: str, other: str, alike: bool) -> None:
    """Two checkpoints on two ports of one host are not one player; a named model may move to another port."""
    assert (player(url).fingerprint() == player(other).fingerprint()) is alike
    moved = [player(place, model="pi05_libero").fingerprint() for place in ("ws://10.0.0.7:8000", "ws://10.0.0.7:8001")]
    assert moved[0] == moved[1] != player("ws://10.0.0.7:8000").fingerprint()


def test_it_plays_robots_natively_and_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, env: Any, conf: Any
) -> None:
    agent = player("ws://127.0.0.1:9")
    assert agent.unfit(TASK, ActionSpace.NATIVE) is None
    assert "not the semantic space" in agent.unfit(TASK, ActionSpace.SEMANTIC)
    with pytest.raises(UnsupportedSpace, match="native space of robot tasks, not the semantic space of tests/walker"):
        agent.reset(conf.brief(env))
    present = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "msgpack" else present(name))
    assert "needs msgpack, not installed; install with: pip install 'rewind-arena[policies]'" in agent.unfit(
        TASK, ActionSpace.NATIVE
    )


def test_pictures_that_are_mirrored_already_are_not_mirrored_again() -> None:
    """LIBERO's tasks may be had with their pictures as published."""
    task = dataclasses.replace(TASK, id="libero/spatial/0-published-v1", params={"orientation": "published"})
    assert "set the agent's `orientation: upright`" in player("ws://h:1").unfit(task, ActionSpace.NATIVE)
    assert player("ws://h:1", orientation="upright").unfit(task, ActionSpace.NATIVE) is None


@pytest.mark.skipif(importlib.util.find_spec("lerobot") is not None, reason="LeRobot is installed here")
def test_lerobot_says_that_its_package_is_missing() -> None:
    agent = agents.create("policy", {"protocol": "lerobot", "model": "lerobot/smolvla_libero"})
    assert "rewind-arena[lerobot]" in str(agent.unfit(TASK, ActionSpace.NATIVE))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"protocol": "openpi"}, "`url` must be ws://.* it is missing"),
        ({"protocol": "openpi", "url": "http://h:1"}, "`url` must be ws:// or wss://"),
        ({"protocol": "openvla", "url": "ws://h:1"}, "`url` must be http:// or https://"),
        ({"protocol": "openpi", "url": "ws://h:99999"}, "cannot be read"),
        ({"protocol": "openpi", "url": "ws://u:hush@h:1"}, "must hold no user, password"),
        ({"protocol": "lerobot"}, "needs `model`"),
        ({"protocol": "lerobot", "model": "x", "url": "ws://h:1"}, "takes no `url`"),
        ({"protocol": "open-pi", "url": "ws://h:1"}, "protocol: Input should be 'openpi', 'roboarena'"),
        ({"protocol": "openpi", "url": "ws://h:1", "replann": 3}, "did you mean 'replan'"),
        (
            {"protocol": "openpi", "url": "ws://h:1", "key_env": "sk-hush!"},
            "name of an environment variable, not a key",
        ),
        ({"protocol": "openpi", "url": "ws://h:1", "prompt": "a\nb"}, "one line of printable"),
    ],
)
def test_wrong_options_are_explained_and_no_secret_is_shown(options: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidOptions, match=said) as caught:
        agents.create("policy", options)
    assert "hush" not in str(caught.value)


# --- pictures -------------------------------------------------------------------------------------------------------


def test_pictures_are_mirrored_as_liberos_data_are() -> None:
    """LIBERO's frame (bottom row first) turned by 180 degrees is the upright picture with left and right swapped."""
    upright = np.random.default_rng(0).integers(0, 255, (6, 8, 3), np.uint8)
    raw = upright[::-1]
    assert np.array_equal(sight.turn(upright, "mirror"), raw[::-1, ::-1])
    assert np.array_equal(sight.turn(upright, "rotate180"), upright[::-1, ::-1])
    assert np.array_equal(sight.turn(upright, "upright"), upright)


def test_resizing_keeps_the_shape_and_pads_with_black_or_fills() -> None:
    wide = np.full((90, 160, 3), 200, np.uint8)
    padded = sight.resized_with_pad(wide, 224, 224)
    assert padded.shape == (224, 224, 3)
    assert (padded[:49] == 0).all() and (padded[49:175] == 200).all() and (padded[175:] == 0).all()
    assert (sight.stretched(wide, 224, 224) == 200).all()
    same = np.zeros((224, 224, 3), np.uint8)
    assert sight.resized_with_pad(same, 224, 224) is same


# --- actions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gripper", ["signed", "unit-open", "unit-close"])
def test_grippers_there_and_back(gripper: Any) -> None:
    native = np.array([-1.0, 0.0, 1.0])
    assert np.array_equal(gripper_to_native(gripper_from_native(native, gripper), gripper), native)


def test_openvlas_gripper_is_binarised_and_turned_around() -> None:
    """OpenVLA says 1 for open and 0 for closed; LIBERO's controller takes -1 and 1."""
    chunk = np.zeros((4, 7))
    chunk[:, 6] = [0.0, 0.3, 0.7, 1.0]
    native, clipped = to_native(chunk, USUAL["openvla"], 0.1, "action")
    assert native[:, 6].tolist() == [1, 1, -1, -1] and clipped == 0


def test_values_a_little_outside_are_clipped_and_counted() -> None:
    chunk = np.full((2, 7), 1.05)
    native, clipped = to_native(chunk, USUAL["openpi"], 0.1, "actions")
    assert (native == 1.0).all() and clipped == 14
    far = Conventions("mirror", 224, "pad", "signed", False, 5)
    assert to_native(np.full((1, 7), 50.0), far, 1e9, "actions")[1] == 7  # as the controller does, if that is wanted
    with pytest.raises(
        WireError, match=r"`actions`\[0, 0\] is 50, outside \[-1, 1\] by more than the tolerance of 0.1"
    ):
        to_native(np.full((1, 7), 50.0), far, 0.1, "actions")
    with pytest.raises(WireError, match=r"\[0, 6\] is -1, outside \[0, 1\].*`gripper` \(now unit-open\)"):
        to_native(np.array([[0, 0, 0, 0, 0, 0, -1.0]]), USUAL["openvla"], 0.1, "action")


@pytest.mark.parametrize("value", [None, "x", [[1, 2], [3]], [["1"] * 7], [[True] * 7], {}, [], np.zeros((2, 7, 1))])
def test_what_is_no_chunk_is_refused(value: Any) -> None:
    with pytest.raises(WireError, match="`actions`"):
        read_rows(value, "actions")


# --- LeRobot, without LeRobot ---------------------------------------------------------------------------------------


class Loaded:
    """Stands where a loaded LeRobot policy stands: NumPy in, NumPy out."""

    n_action_steps = 3

    def __init__(self) -> None:
        self.resets, self.seen = 0, []

    def reset(self) -> None:
        self.resets += 1

    def chunk(self, batch: dict[str, np.ndarray], task: str) -> np.ndarray:
        self.seen.append((batch, task))
        return rows(batch[STATE][0], 8)


def test_lerobots_batch_has_liberos_names_and_its_configured_steps_are_executed(world: ArmWorld) -> None:
    loaded = Loaded()
    agent = agents.create("policy", {"protocol": "lerobot", "model": "some/policy"})
    agent.unfit = lambda task, space: None  # what is not installed here
    agent._client = LeRobotClient(PolicyOptions(protocol="lerobot", model="some/policy"), None, loaded)
    run(agent, world, 7)
    batch, task = loaded.seen[0]
    assert (len(loaded.seen), loaded.resets, task) == (3, 1, "go there")
    assert batch[IMAGE].shape == batch[WRIST].shape == (1, 3, 64, 64) and batch[STATE].shape == (1, 8)
    assert batch[IMAGE].dtype == np.float32 and batch[IMAGE].max() == np.float32(200) / np.float32(255)
    assert batch[IMAGE][0, 0, 0, -1] > 0.7 > batch[IMAGE][0, 0, 0, 0]  # red was upper left; mirrored it is upper right


def test_what_fails_inside_lerobot_is_no_failure_of_the_policy(world: ArmWorld) -> None:
    class OutOfMemory(Loaded):
        def chunk(self, batch: dict[str, np.ndarray], task: str) -> np.ndarray:
            raise RuntimeError("CUDA out of memory")

    options = PolicyOptions(protocol="lerobot", model="some/policy")
    agent = agents.create("policy", options.model_dump(exclude_none=True))
    agent.unfit = lambda task, space: None
    agent._client = LeRobotClient(options, None, OutOfMemory())
    with pytest.raises(agents.errors.UnusableAnswer, match=r"'some/policy' failed: RuntimeError: .*out of memory"):
        run(agent, world, 1)
