"""The robot interface: server and client over a real socket, the environment on it, and what goes wrong on the way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

pytest.importorskip("msgpack")
pytest.importorskip("websockets")

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from environments.errors import InvalidAction, InvalidProfile, Irreversible, NoExpert, RobotError
from environments.real import messages, profile, tasks
from environments.real.client import RobotClient
from environments.real.env import RealRobotEnv, make_real
from environments.real.messages import BadMessage
from environments.real.robot import PROTOCOL, Picture, RobotFault
from environments.real.server import RobotServer
from environments.real.timing import Stopwatch
from environments.task import ActionSpace
from tests.fakes.robot import Misbehaving, PointRobot

FORWARD = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, -1.0]
STILL = [0.0] * 7
PROFILE = "name: point\ntitle: Point\ngoal: go there\nurl: %s\nmax_steps: 40\npicture: [32, 32]\n"


@pytest.fixture
def robot() -> PointRobot:
    return PointRobot()


@pytest.fixture
def server(robot: PointRobot) -> Iterator[RobotServer]:
    with RobotServer(robot, watchdog_s=20) as served:
        yield served


@pytest.fixture
def client(server: RobotServer) -> Iterator[RobotClient]:
    with_time = RobotClient(server.url, timeout_s=5)
    yield with_time
    with_time.close()


def make(url: str, more: str = "") -> RealRobotEnv:
    return make_real(tasks.task_of(profile.parse(PROFILE % url + more)), ActionSpace.NATIVE)


def until(true: Callable[[], bool]) -> None:
    for _ in range(500):
        if true():
            return
        time.sleep(0.01)
    raise AssertionError("it never came to that")


class Raw:
    """A client that sends what it is told, for requests that ours would never send."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def ask(self, message: Any) -> dict[str, Any]:
        self.socket.send(message if isinstance(message, bytes | str) else messages.pack({"seq": 7, **message}))
        return messages.unpack(self.socket.recv(timeout=5), 2**20)

    def code(self, message: Any) -> str:
        return str(self.ask(message)["error"]["code"])


# --- server and client ----------------------------------------------------------------------------------------------


def test_an_episode_goes_over_the_wire(robot: PointRobot, client: RobotClient) -> None:
    said = client.describe()
    assert (said.name, said.cameras, client.watchdog_s) == ("point", {"agentview": (32, 32), "wrist": (32, 32)}, 20)
    assert client.reset("go there", 5).position.tolist() == [0, 0, 0]
    acted = client.act(FORWARD)
    assert acted.reading.position.tolist() == [0.05, 0, 0] and (acted.clipped, acted.done) == (False, False)
    seen = client.observe(["wrist"]).pictures
    assert list(seen) == ["wrist"] and seen["wrist"].pixels.shape == (32, 32, 3) and (seen["wrist"].pixels == 1).all()
    client.hold()
    assert client.success() is False
    assert robot.done[:3] == [("reset", 5), ("act", FORWARD), "hold"]


def test_actions_are_clipped_to_the_robots_limits_and_the_client_is_told() -> None:
    robot = PointRobot(high=(0.5, *[1.0] * 6), workspace=((-1.0, -0.01, 0.0), (0.04, 0.01, 1.0)))
    with RobotServer(robot) as server:
        client = RobotClient(server.url)
        client.reset("go", 0)
        first = client.act([1.0, 1.0, -1.0, 0.0, 0.0, 0.0, 1.0])
        assert first.clipped and first.applied == pytest.approx([0.5, 0.2, 0.0, 0, 0, 0, 1])
        assert client.act(FORWARD).reading.position == pytest.approx([0.04, 0.01, 0.0])
        robot.position = np.array([0.2, 0.0, 0.5])  # somebody pushed it out
        assert client.act([0.2, 0, 0, 0, 0, 0, 0]).applied[0] == 0, "no further out"
        assert client.act([-1.0, 0, 0, 0, 0, 0, 0]).applied[0] == -1, "but back"
        client.close()


def test_no_action_in_the_watchdogs_time_makes_it_hold_and_refuse_the_next(robot: PointRobot) -> None:
    with RobotServer(robot, watchdog_s=0.1) as server:
        client = RobotClient(server.url)
        client.reset("go", 0)
        time.sleep(0.3)  # a robot that has not moved yet waits as long as it likes
        client.act(STILL)
        until(lambda: server.state == "watchdog")
        assert robot.done[-1] == "hold"
        with pytest.raises(RobotError, match=r"refuses `act`: watchdog: no action came"):
            client.act(STILL)
        client.reset("again", 0)
        assert client.act(STILL).done is False
        client.hold()
        time.sleep(0.3)
        assert client.act(STILL).done is False, "a pause that was asked for is no failure"
        client.close()


def test_a_client_that_goes_away_makes_the_robot_hold(robot: PointRobot, server: RobotServer) -> None:
    client = RobotClient(server.url)
    client.reset("go", 0)
    client.act(STILL)
    client.close()
    until(lambda: server.state == "watchdog")
    assert robot.done[-1] == "hold"


def test_the_stop_comes_from_anybody_at_once_and_only_a_reset_releases_it(
    robot: PointRobot, server: RobotServer, client: RobotClient
) -> None:
    client.reset("go", 0)
    robot.period_s = 0.5
    failed: list[RobotError] = []

    def act() -> None:
        try:
            client.act(STILL)
        except RobotError as error:
            failed.append(error)

    acting = threading.Thread(target=act)
    acting.start()
    time.sleep(0.1)
    RobotClient(server.url).stop()
    assert robot.done[-1] == "stop", "while the action was running"
    acting.join()
    assert "stopped" in str(failed[0])
    with pytest.raises(RobotError, match="stopped"):
        client.act(STILL)
    robot.period_s = 0.0
    client.reset("go", 0)
    assert client.act(STILL).done is False


def test_a_robot_that_cannot_hold_is_stopped(robot: PointRobot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody asked for the watchdog's hold, so nobody would hear of its failure."""

    def fail() -> None:
        raise OSError("the bus is silent")

    with RobotServer(robot, watchdog_s=0.1) as server:
        client = RobotClient(server.url)
        client.reset("go", 0)
        monkeypatch.setattr(robot, "hold", fail)
        client.act(STILL)
        until(lambda: server.state == "stopped")
        assert robot.done[-1] == "stop"
        with pytest.raises(RobotError, match="stopped"):
            client.act(STILL)
        client.close()


def test_a_stop_needs_no_greeting(robot: PointRobot, server: RobotServer) -> None:
    """Whoever sends one may not have the time for it, or speak another version."""
    with connect(server.url, compression=None, proxy=None) as socket:
        assert Raw(socket).ask({"do": "stop"})["ok"] == {} and robot.done == ["stop"]


def test_one_client_plays_and_others_are_told(client: RobotClient, server: RobotServer) -> None:
    client.reset("go", 0)
    other = RobotClient(server.url)
    assert other.describe().name == "point"
    with pytest.raises(RobotError, match="busy: another client"):
        other.reset("mine", 0)
    other.close()
    client.close()
    third = RobotClient(server.url)
    until(lambda: server._owner is None)
    third.reset("mine", 1)
    third.close()


def test_the_robots_own_words_and_a_bug_in_its_code_both_stop_it(
    robot: PointRobot, server: RobotServer, client: RobotClient
) -> None:
    robot.declines = True
    with pytest.raises(RobotError, match="robot: the operator declined"):
        client.reset("go", 0)
    robot.declines = False
    client.reset("go", 0)
    robot.fault = RobotFault("joint 4 is too hot")
    with pytest.raises(RobotError, match="joint 4 is too hot"):
        client.act(STILL)
    client.reset("go", 0)
    robot.fault = ZeroDivisionError("secret path")
    with pytest.raises(RobotError, match=r"own code failed in `act` \(ZeroDivisionError\)") as caught:
        client.act(STILL)
    assert "secret" not in str(caught.value)
    assert server.state == "stopped" and robot.done[-1] == "stop"


@pytest.mark.parametrize(
    ("pixels", "said"),
    [
        (np.full((32, 32, 3), 0.5), r"the picture of 'wrist' is \(32, 32, 3\) float64; expected .* uint8"),
        (np.zeros((32, 32), np.uint8), r"is \(32, 32\) uint8; expected \(height, width, 3\)"),
    ],
)
def test_a_picture_of_another_kind_stops_the_robot_and_is_not_sent_as_something_else(
    robot: PointRobot, client: RobotClient, monkeypatch: pytest.MonkeyPatch, pixels: Any, said: str
) -> None:
    seen = robot.observe
    wrong = {"wrist": Picture(0.0, pixels)}
    monkeypatch.setattr(robot, "observe", lambda cameras: replace(seen(cameras), pictures=wrong if cameras else {}))
    client.reset("go", 0)
    with pytest.raises(RobotError, match=said):
        client.observe(["wrist"])
    assert robot.done[-1] == "stop"


def test_readings_may_be_plain_lists(robot: PointRobot, client: RobotClient, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = robot.observe
    listed: Any = {"position": [0.1, 0.2, 0.3], "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]]}
    monkeypatch.setattr(robot, "observe", lambda cameras: replace(seen(cameras), **listed))
    reading = client.reset("go", 0)
    assert reading.position.tolist() == [0.1, 0.2, 0.3] and (reading.rotation == np.eye(3)).all()


def test_hostile_requests_are_refused_by_name_and_the_robot_does_not_move(
    robot: PointRobot, server: RobotServer
) -> None:
    with connect(server.url, compression=None, proxy=None) as socket:
        _be_hostile(Raw(socket), robot)


def _be_hostile(raw: Raw, robot: PointRobot) -> None:
    assert raw.code({"do": "reset", "instruction": "x", "seed": 0}) == "protocol", "describe comes first"
    assert raw.code({"do": "describe", "protocol": "arena-robot/2"}) == "version"
    assert raw.ask({"do": "describe", "protocol": PROTOCOL})["ok"]["name"] == "point"
    assert raw.code({"do": "act", "action": STILL}) == "not-ready"
    assert raw.code({"do": "reset", "instruction": "x", "seed": -1}) == "protocol"
    assert raw.code({"do": "reset", "instruction": "x" * 3000, "seed": 1}) == "protocol"
    assert "ok" in raw.ask({"do": "reset", "instruction": "x", "seed": 1})
    for action in ([0.0] * 6, [float("nan")] * 7, [float("inf")] * 7, "go", None, ["0"] * 7, [True] * 7):
        assert raw.code({"do": "act", "action": action}) == "bad-action"
        assert robot.done[-1] == "hold"
    assert raw.ask({"do": "act", "action": [9.0] + [0.0] * 6})["ok"]["clipped"] is True
    for message in (b"\xc1", b"\x93abc", "text", messages.pack({"do": "act"}), {"do": "fly"}, {"do": 3}):
        assert raw.code(message) == "protocol"
    assert raw.code({"do": "observe", "cameras": ["../etc"]}) == "protocol"
    assert raw.code({"do": "observe", "cameras": ["wrist"] * 9}) == "protocol"
    assert [item for item in robot.done if item[0] == "act"] == [("act", [1.0] + [0.0] * 6)]
    with pytest.raises(ConnectionClosed):
        raw.ask(b"x" * (messages.MAX_REQUEST + 1))


def spoiled(where: str, value: Any) -> Callable[[dict[str, Any]], Any]:
    """The answer with one part replaced, by a dotted path into `ok`."""

    def spoil(answer: dict[str, Any]) -> dict[str, Any]:
        *path, last = where.split(".")
        inner = answer["ok"]
        for name in path:
            inner = inner[name]
        inner[last] = value
        return answer

    return spoil


ANSWERS = [
    ("describe", spoiled("protocol", "arena-robot/9"), "speaks 'arena-robot/9'; this arena speaks"),
    ("describe", spoiled("cameras", {"agentview": [10**6, 10**6]}), "not height and width in 1..4096"),
    ("describe", spoiled("cameras", {f"c{i}": [9, 9] for i in range(99)}), "at most 8 cameras"),
    ("describe", spoiled("high", [float("nan")] * 7), r"`high\[0\]` is float 'nan', not a finite number"),
    ("describe", spoiled("rate_hz", 1e9), "expected 1..1000"),
    ("act", spoiled("reading.position", [0, 0]), "`position` is a list of 2, not 3 numbers"),
    ("act", spoiled("reading.velocity", [0, float("nan"), 0]), r"`velocity\[1\]` is float 'nan'"),
    ("act", spoiled("reading.rotation", [1.0] * 9), "no rotation"),
    ("act", spoiled("applied", None), "`applied`"),
    ("act", lambda answer: {"seq": answer["seq"] + 1, "ok": answer["ok"]}, "has `seq`"),
    ("act", lambda answer: b"\xc1", "is no msgpack"),
    ("act", lambda answer: "oh no", "is a text frame"),
    ("act", lambda answer: {"seq": answer["seq"]}, "has no `ok`"),
    ("act", lambda answer: b"x" * (messages.MAX_ANSWER + 1), "more than the 33,554,432 bytes"),
    ("act", lambda answer: None, "gave no answer to `act` within 0.5 s"),
    ("observe", spoiled("reading.pictures", {}), "no picture of 'wrist'"),
    ("observe", spoiled("reading.pictures.wrist.rgb", b"123"), "has 3 bytes, not 3,072"),
    ("observe", spoiled("reading.pictures.wrist.height", 64), "has 3,072 bytes, not 6,144"),
]


@pytest.mark.parametrize(("do", "spoil", "said"), ANSWERS)
def test_each_bad_answer_is_one_clear_error(do: str, spoil: Any, said: str) -> None:
    with Misbehaving(do, spoil) as bad:
        client = RobotClient(bad.url, timeout_s=0.5)
        with pytest.raises(RobotError, match=said):
            client.reset("go", 0)
            client.act(STILL)
            client.observe(["wrist"])
        with pytest.raises(RobotError):  # the link is given up: no answer is taken for that of another request
            client.act(STILL)


def test_a_refusal_with_a_hostile_text_is_bounded() -> None:
    with Misbehaving("act", lambda a: {"seq": a["seq"], "error": {"code": "x" * 9999, "message": "m"}}) as bad:
        client = RobotClient(bad.url)
        client.reset("go", 0)
        with pytest.raises(RobotError, match="not a text of at most 40"):
            client.act(STILL)


def test_no_server_says_what_to_do() -> None:
    with pytest.raises(RobotError, match=r"no robot answers at ws://127.0.0.1:9 .*start its server"):
        RobotClient("ws://127.0.0.1:9").describe()


def test_a_robot_that_describes_itself_wrongly_is_told_before_anybody_connects() -> None:
    with pytest.raises(BadMessage, match="rate_hz"):
        RobotServer(PointRobot(rate_hz=0.0))


# --- the environment ------------------------------------------------------------------------------------------------


def test_the_environment_observes_acts_and_ends_as_the_judge_says(robot: PointRobot, server: RobotServer) -> None:
    robot.goal_steps = 2
    env = make(server.url)
    observation, _ = env.reset(seed=11)
    assert robot.done == [("reset", 11)]
    assert env.observation_space.contains(dict(observation.copy()))
    assert observation["state"].tolist() == pytest.approx([0, 0, 0, np.pi, 0, 0, 0.04, -0.04])
    observation, reward, terminated, _, info = env.step(FORWARD)
    assert (reward, terminated, info["illegal"]) == (0.0, False, None)
    assert (observation["wrist"] == 1).all() and env.telemetry()["eef_pos_m"] == [0.05, 0, 0]
    _, reward, terminated, truncated, info = env.step(FORWARD)
    assert (reward, terminated, truncated, info["notes"]["paused"]) == (100.0, True, False, True)
    assert env.success() and env.milestones() == {"done"} and robot.done[-1] == "hold"
    assert info["notes"]["picture_lag_s"] >= 0
    env.close()


def test_the_arm_goes_on_telling_where_it_is(server: RobotServer) -> None:
    """Whoever steers it back holds on to it, and must not see where it was."""
    env = make(server.url)
    env.reset(seed=0)
    arm = env.arm
    env.step(FORWARD)
    assert arm.position.tolist() == [0.05, 0, 0] and arm is env.arm
    env.close()


def test_it_pauses_after_each_cycle_and_tells_where_the_time_went(robot: PointRobot, server: RobotServer) -> None:
    env = make(server.url, "execute_s: 0.2\n")  # four steps at 20 Hz
    observation, _ = env.reset(seed=0)
    told = []
    for _ in range(9):
        env.perceived(observation)
        observation, _, _, _, info = env.step(STILL)
        told.append(info["notes"])
    assert [note.get("paused", False) for note in told] == [i % 4 == 3 for i in range(9)]
    assert [note["loop"]["cycle"] for note in told] == [0] * 4 + [1] * 4 + [2]
    assert all({"think_s", "execute_s"} <= note["loop"].keys() for note in told)
    assert all("inspect_s" in note["loop"] for note in told[1:]) and "inspect_s" not in told[0]["loop"]
    env.close()


def test_whoever_thinks_long_pauses_the_robot_and_the_watchdog_stays_silent(robot: PointRobot) -> None:
    with RobotServer(robot, watchdog_s=1.0) as server:
        env = make(server.url)
        env.reset(seed=0)
        env.step(STILL)
        until(lambda: robot.done[-1] == "hold")
        assert server.state == "held"
        env.step(STILL)
        env.close()


def test_at_the_horizon_the_operator_is_asked_once_and_a_silent_one_leaves_no_score() -> None:
    for verdict in (True, False, None):
        robot = PointRobot(judge="operator", check="")
        robot.verdict = verdict
        with RobotServer(robot, watchdog_s=20) as server:
            env = make(server.url)
            env.reset(seed=0)
            for _ in range(39):
                assert env.step(STILL)[2:4] == (False, False)
            if verdict is None:
                with pytest.raises(RobotError, match="nobody says whether"):
                    env.step(STILL)
            else:
                _, reward, terminated, truncated, _ = env.step(STILL)
                assert (terminated, truncated, env.success()) == (verdict, not verdict, verdict)
                assert reward == 100.0 * verdict
            env.close()


def test_what_hardware_cannot_do_is_said(robot: PointRobot, server: RobotServer) -> None:
    env = make(server.url)
    with pytest.raises(ValueError, match="it is a real robot"):
        env.reset(seed=0, options={"fault": {"kind": "stuck"}})
    env.reset(seed=0)
    with pytest.raises(Irreversible, match="`rollback: sim` is impossible; use `rollback: physical`"):
        env.snapshot()
    with pytest.raises(NoExpert):
        env.expert_action()
    before = list(robot.done)
    for bad in ([0.0] * 6, [float("nan")] * 7, [1.5] + [0.0] * 6):
        with pytest.raises(InvalidAction):
            env.step(bad)
    assert robot.done == before, "the robot has heard nothing of it"
    env.close()


def test_a_camera_that_the_profile_wants_must_be_there_in_that_size(server: RobotServer) -> None:
    for more, said in (
        ("wrist: hand\n", "`wrist: hand` in 32 x 32"),
        ("", "`agentview: agentview` in 64 x 64.* in `picture` the size of both"),
    ):
        text = PROFILE % server.url + more
        text = text if more else text.replace("[32, 32]", "[64, 64]")
        env = make_real(tasks.task_of(profile.parse(text)), ActionSpace.NATIVE)
        with pytest.raises(RobotError, match=said):
            env.reset(seed=0)


PYTHON = "import environments; print(environments.suggestion('real/bench-v1'))"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("", "ARENA_ROBOTS names, and it is not set (docs/real-robot.md)"),
        ("{0}/nowhere", "ARENA_ROBOTS names; {0}/nowhere has no profile that can be used"),
        ("{0}/far.yaml", "ARENA_ROBOTS names; {0}/far.yaml has real/far-v1"),
        ("{0}", "did you mean 'real/bnech-v1'?; robots are registered"),
    ],
)
def test_an_unknown_robot_is_answered_with_what_registers_robots(named: str, said: str, tmp_path: Path) -> None:
    """As a command that is started with that ARENA_ROBOTS answers."""
    for name in ("far", "bnech"):
        text = (PROFILE % "ws://127.0.0.1:1").replace("name: point", f"name: {name}")
        (tmp_path / f"{name}.yaml").write_text(text, "utf-8")
    seen = subprocess.run(
        [sys.executable, "-c", PYTHON],
        env={**os.environ, tasks.VARIABLE: named.format(tmp_path)},
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert said.format(tmp_path) in seen.stdout
    assert "games/" not in seen.stdout, "no task of another family is a robot"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (PROFILE % "http://x", "url: .*expected ws://host:port"),
        (PROFILE % "ws://x" + "speed: 3\n", "speed: Extra inputs"),
        ((PROFILE % "ws://x").replace("name: point", "name: ../x"), "name: "),
        ("[1, 2]", "file: "),
        ("x: *y", "alias"),
    ],
)
def test_a_wrong_profile_says_which_field(text: str, said: str) -> None:
    with pytest.raises(InvalidProfile, match=said):
        profile.parse(text)


# --- time -----------------------------------------------------------------------------------------------------------


def test_the_parts_of_a_cycle_add_up_to_its_length() -> None:
    """With a clock of whole numbers: nothing is counted twice, and nothing lost."""
    now = [0.0]

    def tick(seconds: float) -> None:
        now[0] += seconds

    watch = Stopwatch(2, lambda: now[0])
    tick(100)  # preparation
    told = []
    for back in (False, False, True, True, False):
        if not back:
            watch.enter("think")
            tick(1)
        watch.acting(back=back)
        tick(10)
        told.append(watch.step())
        tick(1000)  # somebody inspects, or writes
    assert told == [
        {"cycle": 0, "execute_s": 10, "think_s": 1},
        {"cycle": 0, "execute_s": 10, "think_s": 1, "inspect_s": 1000},
        {"cycle": 0, "inspect_s": 1000, "rollback_s": 10},
        {"cycle": 0, "rollback_s": 1010},
        {"cycle": 1, "rollback_s": 1000, "think_s": 1, "execute_s": 10},
    ]


# --- the page -------------------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "real-robot.md").read_text("utf-8")


class Arm(ModuleType):
    """The driver of the page's skeleton."""

    def __init__(self) -> None:
        super().__init__("my_arm")
        self.log: list[Any] = []
        self.place = np.array([0.5, 0.0, 0.2])

    def sensors(self) -> dict[str, Any]:
        still = PointRobot().observe(())
        return {"position": self.place.copy(), "rotation": still.rotation, "axis_angle": still.axis_angle,
                "velocity": still.velocity, "fingers": still.fingers}  # fmt: skip

    def grab(self, name: str) -> Any:
        return np.zeros((240, 320, 3), np.uint8)

    def fault(self) -> str:
        return ""

    def servo(self, move: Any, turn: Any) -> None:
        self.place = self.place + move

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: self.log.append(name)


def test_the_pages_skeleton_is_a_robot_that_the_arena_plays(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code as printed, with a driver of ours and an operator who says yes; it is about forty lines."""
    [code] = [block for block in re.findall(r"^```python\n(.*?)^```", PAGE, re.DOTALL | re.M) if "OurRobot" in block]
    assert sum(bool(line.strip()) for line in code.splitlines()) <= 45
    arm, asked = Arm(), []
    monkeypatch.setitem(sys.modules, "my_arm", arm)

    def operator(question: str) -> str:
        asked.append(question)
        return "y"

    monkeypatch.setattr("builtins.input", operator)
    space: dict[str, Any] = {"__name__": "bench"}
    exec(compile(code, "real-robot.md", "exec"), space)
    with RobotServer(space["OurRobot"](), watchdog_s=20) as server:
        text = PROFILE % server.url + "agentview: front\nwrist: hand\n"
        for was, now in (("max_steps: 40", "max_steps: 2"), ("[32, 32]", "[240, 320]")):
            text = text.replace(was, now)
        env = make_real(tasks.task_of(profile.parse(text)), ActionSpace.NATIVE)
        env.reset(seed=3)
        assert env.step(FORWARD)[0]["agentview"].shape == (240, 320, 3)
        _, _, terminated, _, _ = env.step([0.0, 0, 0, 0, 0, 0, 1.0])
        assert terminated and env.arm.position == pytest.approx([0.55, 0, 0.2])
        RobotClient(server.url).stop()
        env.close()
    assert asked == ["Set layout 3 for: go there. Step back, then type y: ", "Is it done? y or n: "]
    assert {"go_home", "gripper", "servo_to", "emergency_stop"} <= set(arm.log)


def test_the_page_names_every_code_and_every_field_of_the_profile() -> None:
    named = set(re.findall(r"`([a-z0-9_-]+)`", PAGE))
    assert {*messages.CODES, *profile.RobotProfile.model_fields} <= named


# --- going back ------------------------------------------------------------------------------------------------------


def test_a_rewind_and_a_repair_steer_the_robot_through_the_interface(robot: PointRobot, server: RobotServer) -> None:
    """The same classes that steer the simulated arm: they know poses and commands, and nothing else."""
    pytest.importorskip("mujoco", reason="a rewind turns rotations by MuJoCo")
    from environments.robots import repairs
    from environments.robots.rewind import Rewind, Waypoint

    env: Any = make(server.url)
    env.reset(seed=0)
    path = [Waypoint.of(env)]
    for _ in range(6):
        env.step(FORWARD)
        path.append(Waypoint.of(env))
    rewind = Rewind(env, path[-2::-1])
    while rewind.end is None:
        env.override(rewind.action())
        rewind.moved()
    assert rewind.end == "reached" and np.abs(robot.position).max() <= 0.005

    repair = repairs.regrasp(env)
    while not repair.done:
        env.override(repair.action())
        repair.moved()
    assert robot.position[2] > 0.05 and env.command == -1
    env.close()
