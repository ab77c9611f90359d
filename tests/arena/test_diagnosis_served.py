"""A team's view of the dynamic track: policy and model in processes of their own, the page's commands between them."""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

pytest.importorskip("msgpack")
pytest.importorskip("websockets")
pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

import agents
from agents.errors import AgentsError, NetworkError, ProviderError
from agents.policies.server import serve
from agents.policies.server.path import ExpertPath
from arena.cli.app import app
from arena.cli.endpoints import player_of
from arena.cli.progress import unmeasured
from arena.diagnosis import DiagnosisConfig, build, conformal
from arena.diagnosis.dynamic import Scenario, run_dynamic
from arena.diagnosis.dynamic_table import dynamic_table
from arena.diagnosis.rollout import Journal, Rollout
from arena.diagnosis.signals import Reading
from arena.errors import InvalidExperiment
from arena.location import Location
from environments.errors import RenderError
from tests.fakes.provider import FakeProvider

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "diagnosis.md").read_text("utf-8")
SECTION = PAGE[PAGE.index("## Your policy, your model") :].partition("\n## ")[0]
TASK = "tabletop/pick-place-bowl-v1"
SMALL = {
    "--demonstrations": "9", "--first-seed": "1", "--episodes": "8", "--alpha": "0.2", "--seeds": "1",
    "--faults": "gripper-opens-mid-carry",
}  # fmt: skip
"""What is made smaller in the page's commands; nothing else but ports and places is changed."""


@pytest.fixture(scope="module", autouse=True)
def gl() -> None:
    """The policy is shown pictures."""
    from environments.robots import rendering

    try:
        rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))


def commands(ports: dict[str, int], folder: Path) -> list[list[str]]:
    """The page's command lines, in words."""
    found = []
    for block in re.findall(r"^```sh\n(.*?)^```", SECTION, re.DOTALL | re.MULTILINE):
        for line in block.splitlines():
            for page, own in ports.items():
                line = line.replace(f"--port {page}", "--port 0").replace(f"127.0.0.1:{page}", f"127.0.0.1:{own}")
            words = shlex.split(line.replace("arena-data/limits.json", str(folder / "limits.json")))
            for option, value in SMALL.items():
                if option in words:
                    words[words.index(option) + 1] = value
            found.append(words)
    return found


def begin(stack: contextlib.ExitStack, words: list[str]) -> int:
    """Start a server as a program; returns its port once it has told it."""
    arena = [sys.executable, "-c", "from arena.cli import main; main()"]
    command = [*arena, *words[1:]] if words[0] == "arena" else [sys.executable, *words[1:]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    stack.callback(process.wait, 20)
    stack.callback(process.terminate)
    assert process.stdout is not None
    for line in process.stdout:
        if told := re.search(r"127\.0\.0\.1:(\d+)", line):
            return int(told[1])
    raise AssertionError(f"{words} ended without a word")


def arena(words: list[str], place: Location, *more: str) -> Any:
    return CliRunner().invoke(app, [*words[1:], *more, *(["--db", place.database] if "dynamic" in words else [])])


@pytest.mark.gl
@pytest.mark.slow
def test_the_pages_commands_diagnose_a_policy_and_ask_a_model_in_two_other_processes(
    place: Location, tmp_path: Path
) -> None:
    """A drop: lost alone, rescued by `rules` and by the model; the clean episode is left alone by both."""
    policy, model, *_ = commands({"8000": 0, "8123": 0}, tmp_path)
    with contextlib.ExitStack() as stack:
        ports = {"8000": begin(stack, policy), "8123": begin(stack, model)}
        _, _, calibrate, diagnose = commands(ports, tmp_path)
        told = arena(calibrate, place)
        assert told.exit_code == 0, told.output
        told = arena(diagnose, place, "-j", "0", "--json")
        assert told.exit_code == 0, told.output + str(told.exception)
    lines = {line["condition"]: line for line in json.loads(told.stdout)["conditions"]}
    found = {name: (line["episodes"], line["success"], line["broken"], line["calls"]) for name, line in lines.items()}
    assert found == {"none": (2, 0.5, 0, 0.0), "rules": (2, 1.0, 0, 0.0), "vlm": (2, 1.0, 0, 0.5)}
    assert {line["false_alarm_rate"] for line in lines.values()} == {0.0}
    assert not (tmp_path / "limits.json.episodes.jsonl").exists()
    with pytest.raises(NetworkError, match=r"no connection: Connection refused .*nothing was played"):
        raise arena(diagnose, place).exception


# --- servers that fail -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def expert() -> Iterator[ExpertPath]:
    policy = ExpertPath(TASK, 0)
    yield policy
    policy.close()


@pytest.fixture
def model() -> Iterator[FakeProvider]:
    with FakeProvider() as provider:
        yield provider


def diagnose(place: Location, policy_url: str, *more: str) -> Any:
    agent = f"policy:protocol=openpi,url={policy_url},model=expert,timeout_s=1.5,retries=0"
    words = ["arena", "diagnose", "dynamic", TASK, "--seeds", "1", "--faults", "none", "--agent", agent, "-j", "0"]
    return arena([*words, *more], place)


def asking(model: FakeProvider, name: str) -> tuple[str, ...]:
    """Stages are looked at, so that a model is asked in an undisturbed episode too."""
    return ("--conditions", "none,vlm-stages", "--model", name, "--base-url", model.url)


def test_servers_are_asked_before_anything_is_played(place: Location, expert: ExpertPath, model: FakeProvider) -> None:
    """Not there, or something else there: the message says which and what, and no run begins."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        nobody = f"127.0.0.1:{free.getsockname()[1]}"
    http = model.url.removesuffix("/v1").partition("//")[2]
    with serve("openpi", expert) as policy, serve("vla-eval", expert) as other:
        here = policy.url.partition("//")[2]
        wrong: list[tuple[str, tuple[str, ...], type[AgentsError], str]] = [
            (f"ws://{nobody}", (), NetworkError, f"openpi policy at {nobody}: no connection: Connection refused"),
            (f"ws://{http}", (), NetworkError, "the handshake is refused with HTTP 404"),
            (other.url, (), AgentsError, "openpi policy at .* gave no answer within `timeout_s` = 1.5 s"),
            (policy.url, ("--base-url", f"http://{nobody}/v1"), NetworkError, "no connection.*nothing was played"),
            (policy.url, ("--base-url", f"http://{here}/v1"), ProviderError, "nothing was played"),
        ]
        for url, more, kind, said in wrong:
            limits = ("--conditions", "none,vlm", "--model", "fake/ok", "--calibration", str(limits_of(place, url)))
            result = diagnose(place, url, *limits, *(more or ("--base-url", model.url)))
            with pytest.raises(kind, match=said):
                raise result.exception
        refused = diagnose(place, policy.url, *asking(model, "fake/401"))
        assert "incorrect API key" in str(refused.exception)
    with place.open() as store:
        assert not store.runs()


def limits_of(place: Location, url: str) -> Path:
    """Limits of this policy that raise no alarm, without an episode played for them."""
    agent = player_of(f"policy:protocol=openpi,url={url},model=expert,timeout_s=1.5,retries=0")
    found = conformal.Calibration(
        alpha=0.05,
        agent=agents.create(agent.agent, agent.options).fingerprint(),
        monitors=conformal._settings(),
        tasks={TASK: conformal.learn([Rollout(True, READINGS)] * 8, 0.05, (0, 7))},
    )
    path = place.scratch.parent / "limits.json"
    found.save(path)
    return path


READINGS = tuple(
    Reading(step=i, closing=i > 5, push=0.3, width_m=0.04, eef_pos_m=(0.01 * i, 0.0, 0.9), speed_m_s=0.2)
    for i in range(12)
)


class Dying(ExpertPath):
    """The expert, in the midst of whose answers something happens."""

    def __init__(self, at: int, happens: Callable[[], Any]) -> None:
        super().__init__(TASK, 0)
        self.left, self.happens = at, happens

    def chunk(self, *args: Any, **more: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            self.happens()
        return super().chunk(*args, **more)


def test_a_policy_server_that_goes_or_sleeps_is_no_failure_and_the_same_command_goes_on(
    place: Location, expert: ExpertPath
) -> None:
    release = threading.Event()
    policy = Dying(3, lambda: str(release.wait(20)))
    with contextlib.ExitStack() as stack:
        stack.callback(policy.close)
        server = stack.enter_context(serve("openpi", policy))
        stack.callback(release.set)
        told = diagnose(place, server.url, "--conditions", "none")
        assert told.exit_code == 1, told.output + str(told.exception)
        assert "1 not measured: ProviderTimeout: openpi policy at" in told.output
        assert (
            "gave no answer within `timeout_s` = 1.5 s" in told.output and "start the same command again" in told.output
        )
        release.set()
        again = diagnose(place, server.url, "--conditions", "none", "--json")
    assert again.exit_code == 0, again.output
    with place.open() as store:
        [run] = store.runs()
        assert [(e.outcome, e.scored) for e in store.episodes(run.id)] == [("provider_error", False), ("won", True)]


@pytest.mark.parametrize("failure", ["500", "hang", "drop"])
def test_a_model_that_fails_in_the_middle_makes_no_result_and_the_same_again_goes_on(
    place: Location, expert: ExpertPath, model: FakeProvider, failure: str
) -> None:
    """It is asked as a stage begins. Where it gives no answer, the episode is none; later it is there again."""
    with serve("openpi", expert) as policy, place.open() as store:
        asked: dict[str, Any] = {
            "agent": {"name": "policy", "protocol": "openpi", "url": policy.url, "model": "expert"},
            "calibration": str(limits_of(place, policy.url)),
            "model": {"model": "fake/diagnose", "base_url": model.url, "max_retries": 0, "timeout_s": 1.0},
            "workers": 0,
        }
        model.say_by(lambda seen: failure)
        run_id = run_dynamic(store, place, [Scenario(TASK, 0)], ["vlm-stages"], **asked)
        [(detail, count)] = unmeasured(store, run_id).items()
        assert count == 1 and detail.startswith("DiagnoserUnavailable: the diagnoser's model 'fake/diagnose': ")
        assert [(line.condition, line.episodes) for line in dynamic_table(store, run_id).lines] == [("none", 1)]
        model.reset()
        assert run_dynamic(store, place, [Scenario(TASK, 0)], ["vlm-stages"], **asked) == run_id
        assert not unmeasured(store, run_id)
        lines = {line.condition: (line.episodes, line.success) for line in dynamic_table(store, run_id).lines}
        assert lines == {"none": (1, 1.0), "vlm-stages": (1, 1.0)}
        ended = sorted(str(episode.outcome) for episode in store.episodes(run_id))
        assert ended == ["provider_error", "won", "won"]
        [failed] = [episode for episode in store.episodes(run_id) if episode.outcome == "provider_error"]
        assert store.calls(failed.id), "the call that failed is on record"


# --- limits ----------------------------------------------------------------------------------------------------------


def test_limits_of_another_policy_or_without_the_task_are_refused(place: Location, expert: ExpertPath) -> None:
    with serve("openpi", expert) as policy:
        path = limits_of(place, policy.url)
        more = ("--conditions", "rules", "--calibration", str(path))
        whose = path.read_text("utf-8")
        path.write_text(whose.replace('"model": "expert"', '"model": "another"'), "utf-8")
        with pytest.raises(InvalidExperiment, match="not of this policy but of policy openpi another 127"):
            raise diagnose(place, policy.url, *more).exception
        path.write_text(whose.replace(TASK, "tabletop/another-v1"), "utf-8")
        with pytest.raises(InvalidExperiment, match=f"lacks {TASK}, where nothing would ever be noticed"):
            raise diagnose(place, policy.url, *more).exception


def test_an_interrupted_calibration_goes_on_where_it_was(tmp_path: Path) -> None:
    """Episodes on file are not played again, a line that was cut off is, and another policy's file is begun anew."""
    path, played = tmp_path / "limits.json.episodes.jsonl", []

    def play(seed: int) -> Callable[[], Rollout]:
        return lambda: played.append(seed) or Rollout(True, READINGS)  # type: ignore[func-returns-value]

    first = Journal(path, {"agent": "a"})
    for seed in (1, 2, 3):
        first.rollout("t", seed, play(seed))
    path.write_bytes(path.read_bytes()[:-20])
    second = Journal(path, {"agent": "a"})
    assert [second.rollout("t", seed, play(seed)) for seed in (1, 2, 3, 4)] == [Rollout(True, READINGS)] * 4
    assert played == [1, 2, 3, 3, 4]
    third = Journal(path, {"agent": "a"})
    third.rollout("t", 4, play(4))
    assert played == [1, 2, 3, 3, 4], "what came behind the line that was cut off is read too"
    Journal(path, {"agent": "b"}).rollout("t", 1, play(1))
    assert played[-1] == 1
    first.remove()
    assert not path.exists()


def test_a_policy_on_the_command_line_is_its_name_and_its_options() -> None:
    player = player_of("policy:protocol=openpi,url=ws://127.0.0.1:8000,replan=5")
    assert player.options == {"protocol": "openpi", "url": "ws://127.0.0.1:8000", "replan": 5}
    assert player_of("scripted-policy").options == {}
    with pytest.raises(InvalidExperiment, match=r"--agent: options are KEY=VALUE behind a colon"):
        player_of("policy:openpi")


def test_going_on_without_an_answer_is_another_supervision() -> None:
    asked = {"diagnoser": "vlm", "model": "m"}
    go_on, stop = (build(DiagnosisConfig.model_validate({**asked, "unanswered": what})) for what in ("abstain", "stop"))
    assert go_on is not None and stop is not None and go_on.fingerprint() != stop.fingerprint()
    assert "unanswered" not in DiagnosisConfig.model_validate(asked).model_dump(mode="json")
