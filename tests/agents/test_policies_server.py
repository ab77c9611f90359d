"""Our policy servers: the same policy through every protocol is the same trajectory, and a wrong client is told so."""

from __future__ import annotations

import importlib.util
import json
import threading
import urllib.request
from collections.abc import Iterator
from typing import Any

import msgpack
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

import agents
import environments
from agents import errors
from agents.policies import wire
from agents.policies.server import PROTOCOLS, serve
from agents.policies.server.path import ExpertPath, Refusal
from environments.errors import NoExpert, RenderError, UnknownTask, UnsupportedSpace
from tests.fakes.policy_world import brief

TASK = "tabletop/pick-place-bowl-v1"
SEED = 3
needs_robots = pytest.mark.skipif(importlib.util.find_spec("robosuite") is None, reason="robosuite is not installed")


@pytest.fixture(scope="module")
def table() -> Iterator[Any]:
    env = environments.make(TASK, "native")
    yield env
    env.close()


@pytest.fixture(scope="module")
def expert() -> Iterator[ExpertPath]:
    policy = ExpertPath(TASK, SEED)
    yield policy
    policy.close()


@pytest.fixture(scope="module")
def in_process(table: Any) -> tuple[list[str], list[Any]]:
    """State hashes and actions of the scripted expert, played in this process."""
    agent = agents.create("scripted")
    observation, _ = table.reset(seed=SEED)
    agent.reset(agents.Briefing(**{**vars_of(brief(table)), "privileged": table}))
    hashes, actions = [], []
    while not table.success():
        actions.append(agent.act(observation).action)
        observation, *_ = table.step(actions[-1])
        hashes.append(table.state_hash())
    assert 40 < len(hashes) < table.task.max_steps
    return hashes, actions


def vars_of(briefing: agents.Briefing) -> dict[str, Any]:
    return {name: getattr(briefing, name) for name in briefing.__slots__}


@pytest.fixture
def gl() -> Any:
    """Skips where nothing can be rendered, saying what to install."""
    from environments.robots import rendering

    try:
        return rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))


def follow(agent: Any, table: Any, observation: Any, steps: int) -> list[str]:
    hashes = []
    for _ in range(steps):
        observation, *_ = table.step(agent.act(observation).action)
        hashes.append(table.state_hash())
    return hashes


# --- the same policy through every protocol -------------------------------------------------------------------------


@needs_robots
@pytest.mark.gl
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_same_trajectory_as_in_process_step_by_step(
    protocol: str, table: Any, expert: ExpertPath, in_process: Any, gl: Any
) -> None:
    hashes, _ = in_process
    with serve(protocol, expert, chunk=7) as server:
        agent = agents.create("policy", {"protocol": protocol, "url": server.url})
        agent.reset(brief(table))
        observation, _ = table.reset(seed=SEED)
        assert follow(agent, table, observation, len(hashes)) == hashes
        assert table.success()
        agent.close()


@needs_robots
@pytest.mark.gl
@pytest.mark.parametrize("protocol", ["openpi", "roboarena", "openvla-oft", "vla-eval"])
def test_after_a_rollback_and_after_an_interruption_too(
    protocol: str, table: Any, expert: ExpertPath, in_process: Any, gl: Any
) -> None:
    hashes, actions = in_process
    with serve(protocol, expert) as server:
        agent = agents.create("policy", {"protocol": protocol, "url": server.url, "replan": 4})
        agent.reset(brief(table))
        observation, _ = table.reset(seed=SEED)
        follow(agent, table, observation, 10)
        kept = table.snapshot()
        assert follow(agent, table, table.observe(), 13) == hashes[10:23]
        agent.rolled_back()
        assert follow(agent, table, table.restore(kept), 20) == hashes[10:30]
        agent.close()

        fresh = agents.create("policy", {"protocol": protocol, "url": server.url, "replan": 4})
        fresh.reset(brief(table))
        observation, _ = table.reset(seed=SEED)
        for number, action in enumerate(actions[:22]):
            rest = actions[number + 1 : number + 4] if number % 4 == 0 else None
            notes = {"chunk": number // 4, "position": number % 4} | ({"rest": rest} if rest else {})
            fresh.replay(observation, agents.Decision(action=action, notes=notes))
            observation, *_ = table.step(action)
        assert follow(fresh, table, observation, 10) == hashes[22:32]
        fresh.close()


@needs_robots
@pytest.mark.gl
def test_a_client_that_alters_the_actions_is_told(table: Any, expert: ExpertPath, gl: Any) -> None:
    with serve("openpi", expert) as server:
        agent = agents.create("policy", {"protocol": "openpi", "url": server.url})
        agent.reset(brief(table))
        observation, _ = table.reset(seed=SEED)
        with pytest.raises(errors.UnusableAnswer, match=r"the arm is at .* off the expert's path by 0\.\d+"):
            for _ in range(20):
                action = agent.act(observation).action
                observation, *_ = table.step([-action[0], *action[1:]])
        agent.close()


# --- the path, and what the servers refuse --------------------------------------------------------------------------


class Line:
    """A served policy without a world: actions count up from where the client is."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def chunk(self, seed: Any, at: Any, length: int, told: Any = None) -> np.ndarray:
        self.asked.append((seed, at if isinstance(at, int) else at.tolist(), length))
        return np.tile(np.linspace(-1, 1, length)[:, None], (1, 7)) if length > 1 else np.full((1, 7), 1.0)


@needs_robots
def test_the_path_goes_by_state_or_count_and_holds_still_at_its_end(expert: ExpertPath, in_process: Any) -> None:
    _, actions = in_process
    chunk = expert.chunk(None, 5, 8)
    assert np.float32(chunk).tolist() == np.float32(actions[5:13]).tolist()
    end = expert.chunk(None, len(actions) - 1, 4)
    assert np.array_equal(end[0], actions[-1]) and not end[1:, :6].any() and set(end[1:, 6]) == {actions[-1][6]}
    assert np.array_equal(expert.chunk(None, len(actions) + 50, 2), end[2:])
    assert not np.array_equal(expert.chunk(SEED + 1, 0, 8), expert.chunk(None, 0, 8))
    for bad in (-1, 2**31, 1.0, True, "3"):
        with pytest.raises(Refusal, match="the seed is"):
            expert.chunk(bad, 0, 1)


def test_a_task_without_a_native_space_or_an_id_is_refused() -> None:
    with pytest.raises(UnsupportedSpace, match="there is no 'native' space"):
        ExpertPath("games/snake-v1")
    with pytest.raises(UnknownTask, match="did you mean"):
        ExpertPath("tabletop/pick-place-bowl-v2")
    assert NoExpert is not None


def test_an_unknown_protocol_is_refused_with_the_nearest() -> None:
    with pytest.raises(ValueError, match="no protocol 'open-pi'; did you mean 'openpi'"):
        serve("open-pi", Line())


FRAME = np.zeros((224, 224, 3), np.uint8)
GOOD = {
    "observation/image": FRAME, "observation/wrist_image": FRAME,
    "observation/state": np.arange(8, dtype=np.float64), "prompt": "go",
}  # fmt: skip


def test_openpis_server_speaks_first_tells_times_and_has_a_health_page() -> None:
    policy = Line()
    with serve("openpi", policy, chunk=3) as server:
        page = server.url.replace("ws:", "http:") + "/healthz"
        assert urllib.request.urlopen(page, timeout=10).read() == b"OK\n"
        with connect(server.url, proxy=None) as client:
            assert msgpack.unpackb(client.recv()) == {"server": "rewind-arena"}
            client.send(wire.pack(GOOD))
            first = wire.unpack(client.recv())
            client.send(wire.pack({**GOOD, "arena/seed": 7}))
            second = wire.unpack(client.recv())
    assert first["actions"].shape == (3, 7) and set(first["server_timing"]) == {"infer_ms"}
    assert set(second["server_timing"]) == {"infer_ms", "prev_total_ms"}
    assert policy.asked == [(None, list(range(8)), 3), (7, list(range(8)), 3)]


@pytest.mark.parametrize(
    ("request_of", "said"),
    [
        (
            {key: GOOD[key] for key in GOOD if key != "prompt"},
            "there is no 'prompt'; the request has observation/image",
        ),
        ({**GOOD, "prompt": " "}, "'prompt' is str ' '; expected the instruction in words"),
        ({**GOOD, "observation/image": FRAME.astype(np.float32)}, "'observation/image' is an array of float32, shape"),
        ({**GOOD, "observation/image": FRAME[0]}, "expected a picture, (H, W, 3) uint8"),
        ({**GOOD, "observation/state": np.zeros(7)}, "'observation/state' is an array of float64, shape (7,)"),
        ({**GOOD, "observation/state": np.full(8, np.nan)}, "expected (8,) finite numbers"),
        ({**GOOD, "observation/state": [[1], [2, 3]]}, "is a ragged list"),
        ([GOOD], "the request is list"),
        ("text frame", "the request is a text frame; expected msgpack in a binary one"),
        (b"\xc1", "is no msgpack message"),
    ],
)
def test_openpis_server_answers_a_fault_with_a_traceback_and_closes(request_of: Any, said: str) -> None:
    message = request_of if isinstance(request_of, str | bytes) else wire.pack(request_of)
    with serve("openpi", Line()) as server, connect(server.url, proxy=None) as client:
        client.recv()
        client.send(message)
        told = client.recv()
        assert isinstance(told, str) and told.startswith("Traceback") and said in told
        with pytest.raises(ConnectionClosed) as closed:
            client.recv()
        assert closed.value.rcvd is not None and closed.value.rcvd.code == 1011


def test_roboarenas_server_resets_and_demands_an_endpoint() -> None:
    request = {
        "endpoint": "infer", "session_id": "s", "prompt": "go", "observation/exterior_image_0_left": FRAME,
        "observation/wrist_image_left": FRAME, "observation/cartesian_position": np.zeros(6),
        "observation/gripper_position": np.ones(1),
    }  # fmt: skip
    with serve("roboarena", Line(), chunk=2) as server, connect(server.url, proxy=None) as client:
        assert wire.unpack(client.recv())["action_space"] == "cartesian_velocity"
        client.send(wire.pack({"endpoint": "reset", "session_id": "s"}))
        assert client.recv() == "reset successful"
        client.send(wire.pack(request))
        actions = wire.unpack(client.recv())["actions"]
        assert actions[:, 0].tolist() == [-1, 1] and actions[:, 6].tolist() == [0, 1]  # DROID's gripper: 0 open
        client.send(wire.pack({**request, "endpoint": "explode"}))
        assert "'endpoint' is 'explode'; there are infer and reset" in str(client.recv())


def post(url: str, body: bytes) -> tuple[int, Any]:
    call = urllib.request.Request(url, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(call, timeout=10) as answer:
            return answer.status, wire.from_json(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def test_openvlas_server_answers_with_one_action_and_faults_with_error_and_200() -> None:
    policy = Line()
    with serve("openvla", policy) as server:
        act = f"{server.url}/act"
        status, action = post(act, wire.to_json({"image": FRAME, "instruction": "go"}))
        assert status == 200 and action.tolist() == [1.0] * 6 + [0.0]  # OpenVLA's gripper: 0 closed
        post(act, wire.to_json({"image": FRAME, "instruction": "go", "state": np.arange(8), "arena/seed": 5}))
        assert policy.asked == [(None, 0, 1), (5, list(range(8)), 1)]
        for fault in ({"image": FRAME}, {"image": [1], "instruction": "go"}, [1]):
            assert post(act, wire.to_json(fault)) == (200, "error")
        assert post(act, b"{") == (200, "error")
        assert post(f"{server.url}/predict", b"{}")[0] == 404


def test_openvla_ofts_server_answers_with_a_list_of_actions() -> None:
    request = {"full_image": FRAME, "wrist_image": FRAME, "state": np.zeros(8), "instruction": "go"}
    with serve("openvla-oft", Line(), chunk=8) as server:
        status, actions = post(f"{server.url}/act", wire.to_json(request))
    assert status == 200 and isinstance(actions, list) and np.shape(actions) == (8, 7)


def test_vla_evals_server_echoes_seq_and_says_what_is_wrong() -> None:
    observation = {
        "images": {"agentview": FRAME, "wrist": FRAME}, "states": np.zeros(8), "task_description": "go"
    }  # fmt: skip

    def talk(client: Any, kind: Any, payload: Any, seq: Any = 9) -> Any:
        client.send(wire.pack_text_keys({"type": kind, "payload": payload, "seq": seq, "timestamp": 0.0}))
        return wire.unpack_text_keys(client.recv())

    policy = Line()
    with serve("vla-eval", policy, chunk=1) as server, connect(server.url, proxy=None) as client:
        hello = talk(client, "hello", {"protocol_version": 1}, 1)
        assert hello["payload"]["observation_params"] == {"send_wrist_image": True, "send_state": True}
        assert "send episode_start first" in talk(client, "observation", observation)["payload"]["error"]
        client.send(
            wire.pack_text_keys({"type": "episode_start", "payload": {"arena/seed": 4}, "seq": 3, "timestamp": 0.0})
        )
        action = talk(client, "observation", observation, 4)
        assert (action["type"], action["seq"]) == ("action", 4) and action["payload"]["actions"].shape == (7,)
        assert policy.asked == [(4, [0.0] * 8, 1)]
        for kind, payload, said in (
            ("hello", {"protocol_version": 2}, "'protocol_version' is '2'"),
            ("dance", {}, "'type' is 'dance'"),
            ("observation", {**observation, "images": {"agentview": FRAME}}, "there is no 'wrist'"),
        ):
            told = talk(client, kind, payload, 11)
            assert (told["type"], told["seq"]) == ("error", 11) and said in told["payload"]["error"]


def test_a_server_that_is_closed_leaves_no_thread_and_no_port() -> None:
    before = threading.active_count()
    for protocol in PROTOCOLS:
        with serve(protocol, Line()) as server:
            port = int(server.url.rpartition(":")[2])
        with serve(protocol, Line(), port=port):
            pass
    assert threading.active_count() <= before + 1
