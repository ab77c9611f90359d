"""Served policies in whole runs: outcomes, resumption in the middle of a chunk, and `arena serve-policy`."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import delete, update
from typer.testing import CliRunner

import agents
import environments
from agents.policies.options import USUAL, PolicyOptions
from agents.policies.server import PROTOCOLS, serve
from agents.policies.server.path import ExpertPath
from arena import run
from arena.cli.app import app
from arena.errors import InvalidExperiment
from arena.experiment import parse
from arena.leaderboard import leaderboard
from arena.location import Location
from arena.outcomes import Outcome
from environments import registry
from environments.errors import RenderError
from storage.models import Episode, Step
from storage.store import Store
from tests.fakes.policy_servers import OpenPi, OpenVLA, RoboArena, VlaEval
from tests.fakes.policy_world import TASK, brief

needs_robots = pytest.mark.skipif(importlib.util.find_spec("robosuite") is None, reason="robosuite is not installed")


@pytest.fixture(autouse=True)
def arm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The arm of the tests as a task like others."""
    monkeypatch.setattr(registry, "_tasks", {**registry._tasks, TASK.id: TASK})


def experiment(url: str, protocol: str = "openpi", space: str = "native", **options: Any) -> Any:
    agent = {"name": "policy", "protocol": protocol, "url": url, "timeout_s": 20, "retries": 0, **options}
    return parse(
        f"name: policies\ntasks: {TASK.id}\nspaces: {space}\nseeds: 1\nagents: [{json.dumps(agent)}]\n"
        "conditions: single\n"
    )


def play(store: Store, place: Location, told: Any) -> list[Episode]:
    """Play in this process; the tries, in order."""
    return list(store.episodes(run.run(told, store, place, workers=0)))


def test_a_good_server_is_scored_and_its_times_are_in_the_record(store: Store, place: Location) -> None:
    with OpenPi() as server:
        [episode] = play(store, place, experiment(server.url))
    steps = store.steps(episode.id)
    assert (episode.outcome, episode.score, len(steps)) == (Outcome.WON, 100.0, 12)
    assert [step.notes["chunk"] for step in steps] == [0] * 5 + [1] * 5 + [2] * 2
    assert steps[0].notes["server_timing"] == {"infer_ms": 12.5} and len(steps[0].notes["rest"]) == 4
    assert "rest" not in steps[1].notes


SERVERS = {"openpi": OpenPi, "roboarena": RoboArena, "vla-eval": VlaEval, "openvla": OpenVLA}
MISBEHAVIOURS = [
    ("openpi", "traceback", "UnusableAnswer: openpi policy at 127.0.0.1:"),
    ("openpi", "nan", "is nan, not a finite number"),
    ("openpi", "object", "is refused"),
    ("openpi", "garbage", "is no msgpack message"),
    ("openpi", "oversize", "more than the 33,554,432 bytes"),
    ("openpi", "slow", "ProviderTimeout: "),
    ("roboarena", "narrow", "has shape (10, 6)"),
    ("roboarena", "range", "outside [-1, 1]"),
    ("vla-eval", "seq", "`seq` is"),
    ("vla-eval", "error", "observation_failed"),
    ("vla-eval", "drop", "NetworkError: "),
    ("openvla", "error", 'HTTP 200 with "error"'),
    ("openvla", "500", "ServerError: "),
    ("openvla", "401", "AuthenticationFailed: "),
    ("openvla", "drop", "NetworkError: "),
]


@pytest.mark.parametrize(("protocol", "kind", "said"), MISBEHAVIOURS)
def test_a_misbehaving_server_is_never_scored_and_the_next_start_tries_again(
    store: Store, place: Location, protocol: str, kind: str, said: str
) -> None:
    """The episode has no score, the table no success rate, and with the server mended the same command fills it in."""
    slow = {"slow_s": 1.5} if kind == "slow" else {}
    with SERVERS[protocol](requests=["ok", kind, *([kind] if kind == "drop" else [])], **slow) as server:  # type: ignore[abstract]
        told = experiment(server.url, protocol, timeout_s=1 if kind == "slow" else 20)
        run_id = run.run(told, store, place, workers=0)
        [episode] = store.episodes(run_id)
        assert episode.outcome == Outcome.PROVIDER_ERROR and not episode.scored
        assert said in episode.outcome_detail
        [row] = leaderboard(store, run_id).rows
        assert row.scored == 0 and row.success is None
        server.script.clear()
        assert run.run(told, store, place, workers=0) == run_id
        last = list(store.episodes(run_id))[-1]
    assert last.outcome == Outcome.WON and last.try_no == 1


def test_a_server_that_is_down_is_a_provider_error(store: Store, place: Location) -> None:
    [episode] = play(store, place, experiment("ws://127.0.0.1:9"))
    assert episode.outcome == Outcome.PROVIDER_ERROR
    assert "start the server, or check `url`" in episode.outcome_detail


@pytest.mark.parametrize("kept", [3, 5, 8])
def test_an_interrupted_episode_goes_on_in_the_middle_of_its_chunk(store: Store, place: Location, kept: int) -> None:
    with OpenPi() as server:
        told = experiment(server.url)
        [episode] = play(store, place, told)
        whole = [(step.action, step.notes["chunk"], step.notes["position"]) for step in store.steps(episode.id)]
        asked = len(server.seen)
        with store.session() as session:  # as a killed process leaves it
            session.execute(delete(Step).where(Step.episode_id == episode.id, Step.index >= kept))
            session.execute(
                update(Episode).where(Episode.id == episode.id).values(status="running", outcome=None, scored=False)
            )
        server.seen.clear()
        [again] = play(store, place, told)
        assert len(server.seen) == asked - -(-kept // 5)
    assert again.id == episode.id and again.outcome == Outcome.WON
    assert [(step.action, step.notes["chunk"], step.notes["position"]) for step in store.steps(again.id)] == whole


def test_what_it_cannot_play_is_said_when_the_file_is_read() -> None:
    with pytest.raises(InvalidExperiment, match="plays the native space of robot tasks"):
        parse(
            "name: x\ntasks: games/snake-v1\nspaces: semantic\nseeds: 1\nconditions: single\n"
            "agents: [{name: policy, protocol: openpi, url: 'ws://127.0.0.1:9'}]\n"
        )


# --- arena serve-policy ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["scriptd"], "did you mean 'scripted'?"),
        (["scripted", "--protocol", "open-pi"], "did you mean 'openpi'?"),
        (["scripted", "--port", "70000"], "65535"),
        (["scripted", "--seed", "-1"], "equal to 0"),
    ],
)
def test_serve_policy_explains_wrong_arguments(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["serve-policy", *arguments])
    assert result.exit_code == 2 and said in result.output


@needs_robots
def test_serve_policy_serves_as_a_program_and_stops_when_told(tmp_path: Any) -> None:
    """One JSON object on standard output, then it serves; SIGTERM ends it without an error."""
    command = [sys.executable, "-c", "from arena.cli import main; main()", "serve-policy", "scripted"]
    process = subprocess.Popen(
        [*command, "--protocol", "openvla", "--port", "0", "--seed", "5", "--json"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout is not None
        text = ""
        while not text.endswith("}\n"):
            line = process.stdout.readline()
            assert line, "it ended without a word"
            text += line
        told = json.loads(text)
        assert (told["protocol"], told["policy"], told["seed"]) == ("openvla", "scripted", 5)

        env = environments.make(told["task"], "native")
        observation, _ = env.reset(seed=5)
        agent = agents.create("policy", {"protocol": "openvla", "url": told["url"]})
        agent.reset(brief(env))
        black = np.zeros((8, 8, 3), np.uint8)  # the server does not look at pictures
        decision = agent.act({"agentview": black, "state": observation["state"]})
        assert decision.action == env.expert_action()
        env.close()
        agent.close()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


@needs_robots
@pytest.mark.gl
def test_neighbour_says_that_it_plays_first_and_then_which_seeds_it_knows() -> None:
    """What is going on goes to standard error at once; the address stands in a line of its own."""
    command = [sys.executable, "-c", "from arena.cli import main; main()", "serve-policy", "neighbour", "--port", "0"]
    with subprocess.Popen(
        [*command, "--seed", "3", "--demonstrations", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        try:
            told = "".join(iter(process.stdout.readline, "Stop it with Ctrl-C.\n"))
        finally:
            process.terminate()
        assert process.wait(20) == 0
        text = " ".join(told.split())
        assert re.fullmatch(
            r"neighbour policy, openpi protocol, tabletop/pick-place-bowl-v1, seeds 3 to 4, at ws://127\.0\.0\.1:\d+",
            text,
        )
        assert told.splitlines()[-1].startswith("ws://")
        assert "neighbour: the expert plays 2 demonstrations of 1 task first" in process.stderr.read()


# --- the documentation ----------------------------------------------------------------------------------------------

PAGE = (Path(__file__).parents[2] / "docs" / "adding-a-policy.md").read_text("utf-8")


@needs_robots
@pytest.mark.gl
@pytest.mark.slow
def test_the_pages_example_plays_by_every_protocol(store: Store, place: Location) -> None:
    """Its commands start what its file plays; only the ports are others. All rows of the table are the same."""
    from environments.robots import rendering

    try:
        rendering.backend()
    except RenderError as error:
        pytest.skip(str(error))
    commands = re.findall(r"^arena serve-policy scripted --protocol (\S+) --port (\d+)$", PAGE, re.MULTILINE)
    assert [protocol for protocol, _ in commands] == list(PROTOCOLS)
    [text] = [
        block for block in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE) if "served" in block
    ]
    expert = ExpertPath(parse(text).blocks[0].tasks[0])
    with contextlib.ExitStack() as stack:
        stack.callback(expert.close)
        for protocol, port in commands:
            server = stack.enter_context(serve(protocol, expert))
            assert f"127.0.0.1:{port}" in text
            text = text.replace(f"127.0.0.1:{port}", server.url.partition("://")[2])
        found = store.episodes(run.run(parse(text), store, place, workers=0))
    assert len(found) == 5 and {episode.outcome for episode in found} == {Outcome.WON}
    assert len({tuple(map(tuple, (step.action for step in store.steps(episode.id)))) for episode in found}) == 1


def test_the_page_names_every_option_and_protocol() -> None:
    section = PAGE[PAGE.index("## Robot policies") :]
    named = set(re.findall(r"`([a-z0-9_-]+)`", section))
    assert {*PolicyOptions.model_fields, *USUAL} <= named
