"""Each protocol as its servers see it, and each misbehaviour as the error that it is: never a policy's failure."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import agents
from agents import errors
from agents.gateway.retry import Clock
from agents.policies import wire
from agents.policies.agent import PolicyAgent
from agents.policies.options import PolicyOptions
from environments import ActionSpace
from tests.fakes.policy_servers import Deaf, OpenPi, OpenVLA, RoboArena, VlaEval, rows
from tests.fakes.policy_world import TASK, ArmWorld, brief

USUAL = {"timeout_s": 20, "retries": 2}


@pytest.fixture
def world() -> ArmWorld:
    return ArmWorld(TASK, ActionSpace.NATIVE)


def player(server: Any, protocol: str, pauses: list[float] | None = None, **options: Any) -> PolicyAgent:
    """A player whose pauses are written down and not waited for."""
    waits = [] if pauses is None else pauses
    told = {"protocol": protocol, "url": server if isinstance(server, str) else server.url, **USUAL, **options}
    return PolicyAgent(PolicyOptions.model_validate(told), clock=Clock(sleep=waits.append))


def steps(agent: PolicyAgent, world: ArmWorld, number: int) -> list[agents.Decision]:
    agent.reset(brief(world))
    observation, _ = world.reset(seed=3)
    decisions = []
    for _ in range(number):
        decisions.append(agent.act(observation))
        observation, *_ = world.step(decisions[-1].action)
    return decisions


# --- what is sent ---------------------------------------------------------------------------------------------------


def test_openpi_is_sent_liberos_flat_map(world: ArmWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_KEY", "abcdefghij")
    with OpenPi() as server:
        steps(player(server, "openpi", key_env="POLICY_KEY"), world, 1)
    (request,) = server.seen
    assert set(request) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    image, wrist = request["observation/image"], request["observation/wrist_image"]
    assert image.shape == wrist.shape == (224, 224, 3) and image.dtype == wrist.dtype == np.uint8
    assert image[10, -10].tolist() == [200, 0, 0] and wrist[10, -10].tolist() == [0, 0, 200]  # mirrored
    assert request["observation/state"].shape == (8,) and request["prompt"] == "go there"
    headers = {name.lower(): value for name, value in server.headers[0].items()}
    assert headers["authorization"] == "Api-Key abcdefghij"
    assert "sec-websocket-extensions" not in headers  # no compression


def test_prompt_size_orientation_and_gripper_are_options(world: ArmWorld) -> None:
    with OpenPi() as server:
        agent = player(server, "openpi", prompt="Do it!", image_size=96, orientation="upright", gripper="unit-close")
        decision = steps(agent, world, 1)[0]
    assert server.seen[0]["prompt"] == "Do it!" and server.seen[0]["observation/image"].shape == (96, 96, 3)
    assert server.seen[0]["observation/image"][10, 10].tolist() == [200, 0, 0]
    assert decision.action[6] == 1.0  # the server says 1: closed in either of these conventions


def test_the_observations_own_instruction_is_told_whatever_the_task_says(world: ArmWorld) -> None:
    """An injected fault may change what the policy is told, and nobody else."""
    with OpenPi() as server:
        agent = player(server, "openpi", replan=1)
        agent.reset(brief(world))
        observation, _ = world.reset(seed=3)
        agent.act({**observation, "instruction": "go elsewhere"})
        agent.act({key: observation[key] for key in ("agentview", "wrist", "state")})
    assert [request["prompt"] for request in server.seen] == ["go elsewhere", "go there"]


def test_roboarena_is_sent_what_its_server_asks_for(world: ArmWorld) -> None:
    with RoboArena() as server:
        decisions = steps(player(server, "roboarena"), world, 11)
    reset, request, _ = server.seen
    assert reset["endpoint"] == "reset" and reset["session_id"] == request["session_id"]
    assert set(request) == {
        "endpoint", "session_id", "prompt", "observation/exterior_image_0_left", "observation/wrist_image_left",
        "observation/cartesian_position", "observation/gripper_position",
    }  # fmt: skip
    assert request["observation/exterior_image_0_left"].shape == (180, 320, 3)
    assert request["observation/cartesian_position"].shape == (6,) and request[
        "observation/gripper_position"
    ].shape == (1,)
    assert [decision.notes["chunk"] for decision in decisions] == [0] * 10 + [1]  # all of a chunk are executed


def test_roboarena_without_cameras_renders_none(world: ArmWorld) -> None:
    told = 'metadata:{"n_external_cameras": 0, "needs_wrist_camera": false, "needs_session_id": false}'
    with RoboArena(connections=[told]) as server:
        steps(player(server, "roboarena"), world, 1)
    assert not world.rendered and "session_id" not in server.seen[1]


def test_openvla_is_sent_one_picture_and_the_instruction(world: ArmWorld) -> None:
    with OpenVLA() as server:
        decisions = steps(player(server, "openvla", unnorm_key="libero_spatial"), world, 3)
    assert [set(request) for request in server.seen] == [{"image", "instruction", "unnorm_key"}] * 3
    assert server.seen[0]["image"].shape == (224, 224, 3) and server.seen[0]["unnorm_key"] == "libero_spatial"
    assert {camera for camera, _ in world.rendered} == {"agentview"}  # the wrist is not sent, so not drawn
    assert [decision.action[6] for decision in decisions] == [1.0] * 3  # 0 is closed in OpenVLA's words


def test_openvla_oft_is_sent_two_pictures_and_the_state_and_its_chunk_is_executed(world: ArmWorld) -> None:
    with OpenVLA(oft=True) as server:
        decisions = steps(player(server, "openvla-oft"), world, 9)
    assert [set(request) for request in server.seen] == [{"full_image", "wrist_image", "state", "instruction"}] * 2
    assert [decision.notes["chunk"] for decision in decisions] == [0] * 8 + [1]
    expected = np.float32(rows(server.seen[0]["state"], 8)[:, :6])
    assert np.array_equal(np.float32([decision.action[:6] for decision in decisions[:8]]), expected)


def test_openvlas_path_may_be_another(world: ArmWorld) -> None:
    with OpenVLA() as server:
        steps(player(f"{server.url}/act", "openvla"), world, 1)
        with pytest.raises(errors.BadRequest, match=r"HTTP 404 to POST /predict"):
            steps(player(f"{server.url}/predict", "openvla"), world, 1)


def test_vla_eval_is_sent_what_its_hello_asks_for(world: ArmWorld) -> None:
    with VlaEval() as server:
        steps(player(server, "vla-eval"), world, 1)
    hello, start, observation = server.seen
    assert hello["payload"]["protocol_version"] == 1
    assert start["payload"]["task"] == {"name": "go there", "task_id": TASK.id}
    payload = observation["payload"]
    assert payload["images"]["agentview"].shape == payload["images"]["wrist"].shape == (256, 256, 3)
    assert payload["states"].shape == (8,) and payload["task_description"] == "go there"
    world.rendered.clear()
    with VlaEval(connections=["asks-nothing"], requests=["single"] * 2) as server:
        decisions = steps(player(server, "vla-eval"), world, 2)
    assert [decision.notes["chunk"] for decision in decisions] == [0, 1]
    assert set(server.seen[2]["payload"]) == {"images", "task_description"} and list(
        server.seen[2]["payload"]["images"]
    ) == ["agentview"]
    assert {camera for camera, _ in world.rendered} == {"agentview"}


# --- what goes wrong: connections -----------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["openpi", "roboarena", "vla-eval"])
def test_a_bad_handshake_is_tried_again_with_growing_pauses(world: ArmWorld, protocol: str) -> None:
    server_of = {"openpi": OpenPi, "roboarena": RoboArena, "vla-eval": VlaEval}
    bad = ["http-503", "http-502"] if protocol == "vla-eval" else ["http-503", "silent-close"]
    pauses: list[float] = []
    with server_of[protocol](connections=bad) as server:
        assert len(steps(player(server, protocol, pauses), world, 1)) == 1
        assert server.opened == 3
    assert len(pauses) == 2 and 0 <= pauses[0] <= 0.5 and 0 <= pauses[1] <= 1.0


def test_a_server_that_never_shakes_hands_is_told_from_one_that_is_not_there(world: ArmWorld) -> None:
    with OpenPi(connections=["http-503"] * 3) as server:
        url = server.url
        with pytest.raises(errors.NetworkError, match=r"HTTP 503 \(3 attempts\); its /healthz answers HTTP 200"):
            steps(player(url, "openpi"), world, 1)
    with pytest.raises(
        errors.NetworkError, match=r"no connection: .*refused \(3 attempts\); start the server, or check"
    ):
        steps(player(url, "openpi"), world, 1)
    with pytest.raises(errors.NetworkError, match=r"refused.*; start the server, or check `url` \(3 attempts\)"):
        steps(player(url.replace("ws:", "http:"), "openvla"), world, 1)


@pytest.mark.parametrize(
    ("key", "said"), [(None, "name its environment variable in `key_env`"), ("POLICY_KEY", "POLICY_KEY is not set")]
)
def test_a_refused_key_is_not_tried_again(world: ArmWorld, key: str | None, said: str) -> None:
    with OpenPi(connections=["http-401"]) as server:
        with pytest.raises(errors.AuthenticationFailed, match=said):
            steps(player(server, "openpi", key_env=key), world, 1)
        assert server.opened == 1


def test_a_connection_lost_mid_episode_is_opened_again_and_the_record_tells(world: ArmWorld) -> None:
    """openpi's requests stand alone, so the same is asked once more; the trajectory is the undisturbed one."""
    with OpenPi() as server:
        undisturbed = steps(player(server, "openpi"), world, 12)
    with OpenPi(requests=["ok", "drop", "ok"]) as server:
        decisions = steps(player(server, "openpi"), world, 12)
        assert server.opened == 2
    assert [decision.action for decision in decisions] == [decision.action for decision in undisturbed]
    assert "connection broke" in decisions[5].notes["reconnected"]


def test_a_connection_lost_twice_is_an_error(world: ArmWorld) -> None:
    with OpenPi(requests=["ok", "drop", "drop"]) as server, pytest.raises(errors.NetworkError, match="broke"):
        steps(player(server, "openpi"), world, 12)


def test_vla_evals_episode_ends_with_its_connection_and_is_not_taken_up_silently(world: ArmWorld) -> None:
    with VlaEval(requests=["ok", "drop"]) as server:
        agent = player(server, "vla-eval")
        with pytest.raises(errors.NetworkError, match="the connection broke"):
            steps(agent, world, 12)
        assert server.opened == 1
        assert len(steps(agent, world, 3)) == 3  # the next episode connects anew


def test_a_connection_lost_before_the_first_action_has_lost_nothing(world: ArmWorld) -> None:
    with VlaEval(requests=["drop"]) as server:
        assert len(steps(player(server, "vla-eval"), world, 3)) == 3
    kinds = [request["type"] for request in server.seen]
    assert kinds == ["hello", "episode_start", "observation"] * 2


def test_a_server_that_reads_nothing_is_given_up_on(world: ArmWorld) -> None:
    with (
        Deaf() as server,
        pytest.raises(errors.ProviderTimeout, match=r"did not read a request within `timeout_s` = 1 s"),
    ):
        steps(player(server, "openpi", timeout_s=1, image_size=1024), world, 1)


def test_a_late_answer_is_not_taken_for_the_next_one(world: ArmWorld) -> None:
    with OpenPi(requests=["slow"], slow_s=1.5) as server:
        agent = player(server, "openpi", timeout_s=1)
        with pytest.raises(errors.ProviderTimeout, match=r"no answer within `timeout_s` = 1 s"):
            steps(agent, world, 1)
        world.goal_steps = 99
        agent.reset(brief(world))
        observation, _ = world.reset(seed=4)  # another state, so another answer
        action = agent.act(observation).action
        assert server.opened == 2
        assert np.array_equal(np.float32(action), np.float32(rows(observation["state"])[0]))


# --- what goes wrong: answers ---------------------------------------------------------------------------------------

OPENPI = {
    "traceback": r'raised an error; its traceback ends ".*RuntimeError: \\u001b\[31mno memory"',
    "close-1011": r'closed the connection with code 1011 \(an error inside the server; see its log\), saying "out of',
    "narrow": r"`actions` has shape \(10, 6\), expected \(H, 7\)",
    "flat": r"`actions` has shape \(70,\), expected \(H, 7\)",
    "empty": r"`actions` has shape \(0, 7\)",
    "words": r"`actions` holds <U4, not numbers",
    "nan": r"`actions`\[0, 3\] is nan, not a finite number",
    "infinite": r"`actions`\[0, 3\] is inf",
    "range": r"`actions`\[0, 2\] is 1.7, outside \[-1, 1\] by more than the tolerance of 0.1",
    "object": r"dtype '\|O' is refused",
    "void": r"dtype '\|V8' is refused",
    "complex": r"dtype '<c16' is refused",
    "lying-shape": r"a size that is no whole number in range",
    "no-actions": r"no 'actions'; it has 'action'",
    "list": r"is list, not a map",
    "garbage": r"is no msgpack message",
    "cut": r"is no msgpack message",
    "oversize": r"more than the 33,554,432 bytes that are read",
}
CLASSES = {"close-1011": errors.NetworkError}


@pytest.mark.parametrize("kind", OPENPI)
@pytest.mark.parametrize("protocol", ["openpi", "roboarena"])
def test_openpis_bad_answers(world: ArmWorld, protocol: str, kind: str) -> None:
    """In the middle of an episode; the next one is played as if nothing had been."""
    server_of = {"openpi": OpenPi, "roboarena": RoboArena}[protocol]
    with server_of(requests=["ok", kind, kind] if kind in CLASSES else ["ok", kind]) as server:
        agent = player(server, protocol)
        with pytest.raises(CLASSES.get(kind, errors.UnusableAnswer), match=OPENPI[kind]) as caught:
            steps(agent, world, 20)
        assert str(caught.value).startswith(f"{protocol} policy at 127.0.0.1:{server.port}")
        assert str(caught.value).isprintable() and len(str(caught.value)) < 1500
        assert len(steps(agent, world, 12)) == 12


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("text", "raised an error; its traceback ends"),
        ("list", "first message is list, not a map of metadata"),
        ("garbage", "is no msgpack message"),
    ],
)
def test_openpis_bad_greetings(world: ArmWorld, kind: str, said: str) -> None:
    with OpenPi(connections=[kind]) as server:
        with pytest.raises(errors.UnusableAnswer, match=said):
            steps(player(server, "openpi"), world, 1)
        assert server.opened == 1


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (
            '{"action_space": "joint_position"}',
            "`action_space` is 'joint_position'; the native space is 'cartesian_vel",
        ),
        ('{"needs_stereo_camera": true}', "`needs_stereo_camera` is true"),
        ('{"n_external_cameras": 2}', "`n_external_cameras` is 2; there is one"),
        ('{"image_resolution": [224, 1000000]}', "`image_resolution` is"),
        ('{"image_resolution": "large"}', "`image_resolution` is large"),
    ],
)
def test_roboarenas_configurations_that_cannot_be_served(world: ArmWorld, told: str, said: str) -> None:
    with RoboArena(connections=[f"metadata:{told}"]) as server, pytest.raises(errors.UnusableAnswer, match=said):
        steps(player(server, "roboarena"), world, 1)


def test_roboarenas_failed_reset(world: ArmWorld) -> None:
    with RoboArena(requests=["reset-traceback"]) as server, pytest.raises(errors.UnusableAnswer, match="no memory"):
        steps(player(server, "roboarena"), world, 1)


VLA_EVAL = {
    "error": r"answers with an error: \"observation_failed: KeyError: 'wrist'\"",
    "seq": r"the action's `seq` is \d+, the observation's was \d+",
    "type": r"expected a message of type 'action' with a map, got 'hello'",
    "narrow": r"`actions` has shape \(4, 6\), expected \(H, 7\) or \(7,\)",
    "nan": r"`actions`\[0, 3\] is nan",
    "range": r"`actions`\[0, 2\] is 1.7",
    "object": r"'\|O' is refused",
    "garbage": r"is no msgpack message",
    "cut": r"is no msgpack message",
    "oversize": r"more than the 33,554,432 bytes",
}


@pytest.mark.parametrize("kind", VLA_EVAL)
def test_vla_evals_bad_answers(world: ArmWorld, kind: str) -> None:
    with VlaEval(requests=["ok", kind]) as server:
        agent = player(server, "vla-eval")
        with pytest.raises(errors.UnusableAnswer, match=VLA_EVAL[kind]):
            steps(agent, world, 20)
        assert len(steps(agent, world, 12)) == 12


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("version-2", "`protocol_version` is 2; 1 is spoken here"),
        ("no-version", "no 'protocol_version'"),
        ("not-hello", "expected a message of type 'hello'"),
        ("start-error", "episode_start_failed: no such task"),
    ],
)
def test_vla_evals_bad_beginnings(world: ArmWorld, kind: str, said: str) -> None:
    with VlaEval(connections=[kind]) as server, pytest.raises(errors.UnusableAnswer, match=said):
        steps(player(server, "vla-eval"), world, 1)


OPENVLA = {
    "error": (errors.UnusableAnswer, r'answers HTTP 200 with "error": its own log has the traceback'),
    "error-map": (errors.UnusableAnswer, r"answers HTTP 200 with .*CUDA out of memory"),
    "text": (errors.UnusableAnswer, r'answers with text: "hello"'),
    "html": (errors.UnusableAnswer, r"is no JSON"),
    "oversize": (errors.UnusableAnswer, r"its body has more than the 33,554,432 bytes"),
    "bomb": (errors.UnusableAnswer, r"its body has more than the 33,554,432 bytes"),
    "packed-br": (errors.UnusableAnswer, r"its body is packed as 'br', where gzip, deflate were asked for"),
    "object": (errors.UnusableAnswer, r"'\|O' is refused"),
    "structured": (errors.UnusableAnswer, r"is refused"),
    "narrow": (errors.UnusableAnswer, r"`action` has shape \(6,\), expected \(H, 7\) or \(7,\)"),
    "nan": (errors.UnusableAnswer, r"`action`\[0, 3\] is nan"),
    "range": (errors.UnusableAnswer, r"`action`\[0, 2\] is 1.7"),
    "words": (errors.UnusableAnswer, r"`action` holds <U4, not numbers"),
    "401": (errors.AuthenticationFailed, r"HTTP 401; check the key that `key_env` names: .*no: .*red"),
    "422": (errors.BadRequest, r"HTTP 422 to POST /act"),
    "slow": (errors.ProviderTimeout, r"`timeout_s` = 1 s"),
    "trickle": (errors.ProviderTimeout, r"`timeout_s` = 1 s"),
}


@pytest.mark.parametrize("kind", OPENVLA)
def test_openvlas_bad_answers(world: ArmWorld, kind: str) -> None:
    kind_of, said = OPENVLA[kind]
    with OpenVLA(requests=["ok", kind], slow_s=60) as server:
        agent = player(server, "openvla", timeout_s=1 if kind in ("slow", "trickle") else 20)
        with pytest.raises(kind_of, match=said) as caught:
            steps(agent, world, 3)
        assert str(caught.value).isprintable()
        assert len(server.seen) == 2  # what is wrong in itself is not asked again


def test_openvlas_packed_answers_are_unpacked(world: ArmWorld) -> None:
    with OpenVLA() as plain, OpenVLA(requests=["packed"] * 2) as packing:
        played = [[tuple(d.action) for d in steps(player(at, "openvla"), world, 2)] for at in (plain, packing)]
        assert played[0] == played[1]
        assert packing.headers[-1]["accept-encoding"] == "gzip, deflate"


@pytest.mark.parametrize("kind", ["500", "drop"])
def test_openvlas_passing_failures_are_tried_again(world: ArmWorld, kind: str) -> None:
    pauses: list[float] = []
    with OpenVLA(requests=[kind, kind]) as server:
        assert len(steps(player(server, "openvla", pauses), world, 1)) == 1
    assert len(pauses) == 2
    with OpenVLA(requests=[kind] * 3) as server:
        kind_of = errors.ServerError if kind == "500" else errors.NetworkError
        with pytest.raises(kind_of, match=r"\(3 attempts\)"):
            steps(player(server, "openvla"), world, 1)


def test_a_servers_words_are_bounded_escaped_and_hold_no_key(world: ArmWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLICY_KEY", "topsecret-topsecret")
    import tests.fakes.policy_servers as fakes

    monkeypatch.setattr(fakes, "TRACEBACK", "x" * 10**6 + "\n\x1b[2J\u202e got topsecret-topsecret")
    with OpenPi(requests=["traceback"]) as server, pytest.raises(errors.UnusableAnswer) as caught:
        steps(player(server, "openpi", key_env="POLICY_KEY"), world, 1)
    said = str(caught.value)
    assert "topsecret" not in said and "got [key]" in said and said.isprintable() and len(said) < 1200


def test_a_key_that_comes_back_as_a_name_is_neither_told_nor_kept(
    world: ArmWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names are cut short where they are told and kept: a key must be gone before, not only whole ones."""
    monkeypatch.setenv("POLICY_KEY", "topsecret-topsecret-topsecret")
    with OpenPi(requests=["echo-timing", "echo"]) as server:
        agent = player(server, "openpi", key_env="POLICY_KEY", replan=1)
        (first,) = steps(agent, world, 1)
        with pytest.raises(errors.UnusableAnswer, match=r"it has 'Api-Key \*+'") as caught:
            steps(agent, world, 1)
    assert list(first.notes["server_timing"]) == ["Api-Key " + "*" * 29]
    assert "topsecret" not in str(caught.value)


def test_a_little_outside_the_range_is_clipped_and_noted(world: ArmWorld) -> None:
    with OpenPi(requests=["slightly-outside"]) as server:
        first = steps(player(server, "openpi"), world, 1)[0]
    assert first.action[2] == 1.0 and first.notes["clipped"] == 10


def test_nothing_is_connected_before_the_first_decision() -> None:
    """A player is made, and told of an episode, without a server."""
    before = set(threading.enumerate())  # among them may be some of earlier tests that are just ending
    agent = player("ws://127.0.0.1:9", "openpi")
    agent.reset(brief(ArmWorld(TASK, ActionSpace.NATIVE)))
    agent.close()
    assert set(threading.enumerate()) <= before
    assert wire.MAX_BYTES == 33_554_432
