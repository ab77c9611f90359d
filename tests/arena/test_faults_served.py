"""Served policies in a fault dataset: a server that fails ends nothing, thins nothing, and is nobody's failure."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

from agents.policies.chunks import Rows
from agents.policies.server.neighbour import Neighbour, NeighbourServer
from agents.policies.server.path import Refusal, State
from arena.faults import build as building
from arena.faults.build import build
from arena.faults.dataset import Dataset, files_below
from arena.faults.making import PolicyUnavailable
from arena.faults.plan import FIRST_SEED, BuildConfig, Player

TASK, SEEDS = "tabletop/pick-place-bowl-v1", 3
pytestmark = [pytest.mark.gl, pytest.mark.slow]


def config_of(port: int, **options: Any) -> BuildConfig:
    """Three slots: none, benign and a drop, all of a served policy."""
    told = {"protocol": "openpi", "url": f"ws://127.0.0.1:{port}", "model": "neighbour", "replan": 10, **options}
    return BuildConfig(
        tasks=(TASK,), players=(Player(agent="policy", options=told),), kinds=("gripper-opens-mid-carry",),
        severities=(0, 3), per_cell=1, clean=1, seeds=SEEDS, pictures="none",
    )  # fmt: skip


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {path: (folder / path).read_bytes() for path in files_below(folder)}


@pytest.fixture(scope="module")
def neighbour() -> Neighbour:
    return Neighbour([TASK], range(FIRST_SEED, FIRST_SEED + SEEDS))


@pytest.fixture(scope="module")
def port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.fixture(scope="module")
def undisturbed(neighbour: Neighbour, port: int, tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    with NeighbourServer(neighbour, port=port):
        return build(tmp_path_factory.mktemp("served") / "tiny", config_of(port)).dataset


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(building, "FIRST_PAUSE_S", 0.05)


class Unwell(NeighbourServer):
    """Breaks the connection, gives a traceback, or hangs, at some requests; is well at all others."""

    asked = 0

    def rows(self, request: Any, state: State) -> Rows:
        self.asked += 1
        if self.asked in (7, 8):  # the client asks once more by itself; that fails too
            for connection in list(self._connections):
                connection.socket.shutdown(socket.SHUT_RDWR)
        elif self.asked == 15:
            raise Refusal("CUDA error: out of memory")
        elif self.asked == 30:
            time.sleep(3)
        return super().rows(request, state)


def test_all_episodes_are_of_the_served_policy(undisturbed: Dataset):
    assert [episode.success for episode in undisturbed.episodes].count(True) == 2
    assert {episode.player for episode in undisturbed.episodes} == {
        "policy(model=neighbour, protocol=openpi, replan=10)"
    }, "neither address nor patience tells one policy from another"


def test_a_server_that_fails_in_the_middle_changes_no_byte(
    neighbour: Neighbour, port: int, undisturbed: Dataset, tmp_path: Path
):
    """A broken connection, a traceback and a timeout: a line each, the slot is made again, nothing is dropped."""
    warnings: list[str] = []
    with Unwell(neighbour, port=port) as server:
        config = config_of(port, retries=0, timeout_s=1.0)
        found = build(tmp_path / "tiny", config, warn=warnings.append).dataset
        assert server.asked > 30
    assert len(warnings) == 3
    assert "broke" in warnings[0] and "out of memory" in warnings[1] and "timeout_s" in warnings[2]
    assert all("of 3 slots are done; the slot is made again in" in line for line in warnings)
    assert found.manifest.dropped == undisturbed.manifest.dropped
    assert found.manifest.fingerprint == undisturbed.manifest.fingerprint
    mine, other = bytes_of(found.folder), bytes_of(undisturbed.folder)
    del mine["manifest.json"], other["manifest.json"]  # it names how patient the client was
    assert mine == other


def test_without_a_server_the_build_stops_and_can_go_on_elsewhere(
    neighbour: Neighbour, port: int, undisturbed: Dataset, tmp_path: Path
):
    """The stop says how far it was; another port serves as well, for `model` says what is there."""
    folder = tmp_path / "tiny"
    with pytest.raises(PolicyUnavailable, match=r"stops with 0 of 3 slots done; .* same command again"):
        build(folder, config_of(port, retries=0), patience_s=0.2, warn=lambda line: None)
    assert list(folder.with_name("tiny.building").glob("*.npz")) == [], "no slot is empty because of a server"
    with NeighbourServer(neighbour) as server:
        moved = config_of(int(server.url.rpartition(":")[2]))
        found = build(folder, moved).dataset
    assert (found.folder / "episodes.jsonl").read_bytes() == (undisturbed.folder / "episodes.jsonl").read_bytes()


def test_a_refused_key_is_not_asked_for_again():
    said = building.Waiting(60.0, lambda line: pytest.fail(line), lambda: 2, 9)
    with pytest.raises(PolicyUnavailable, match="2 of 9 slots done"):
        said.after(PolicyUnavailable("HTTP 401", lasting=True))


@pytest.fixture
def process(port: int) -> Iterator[Any]:
    """Starts `arena serve-policy neighbour` and waits until it listens; all are ended at last."""
    begun: list[subprocess.Popen[str]] = []

    def start() -> subprocess.Popen[str]:
        told = ["serve-policy", "neighbour", "--task", TASK, "--seed", str(FIRST_SEED), "--demonstrations", str(SEEDS),
                "--port", str(port), "--json"]  # fmt: skip
        made = subprocess.Popen([sys.executable, "-m", "arena", *told], stdout=subprocess.PIPE, text=True)
        begun.append(made)
        assert made.stdout is not None
        said = "".join(iter(made.stdout.readline, "}\n"))  # it listens when it has said so
        assert f"ws://127.0.0.1:{port}" in said
        return made

    yield start
    for made in begun:
        made.kill()
        made.wait()
        assert made.stdout is not None
        made.stdout.close()


def test_a_server_process_that_is_killed_and_started_again(
    process: Any, port: int, undisturbed: Dataset, tmp_path: Path
):
    """Killed after the first slot, started at the first warning; two workers, and the bytes of an undisturbed build."""
    server = process()
    warnings: list[str] = []

    def kill_once(phase: str, done: int, of: int) -> None:
        if done == 1 and server.poll() is None:
            server.kill()
            server.wait()

    def restart_once(line: str) -> None:
        warnings.append(line)
        if len(warnings) == 1:
            process()

    config = config_of(port).model_copy()
    by_task = building._by_task
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(building, "_by_task", lambda wanted: [[slot] for batch in by_task(wanted) for slot in batch])
        found = build(tmp_path / "tiny", config_with(config, retries=0), tell=kill_once, warn=restart_once, workers=1)
    assert warnings and "no connection" in warnings[0]
    mine = (found.dataset.folder / "episodes.jsonl").read_bytes()
    assert mine == (undisturbed.folder / "episodes.jsonl").read_bytes()
    again = build(tmp_path / "again" / "tiny", config, workers=2).dataset
    assert bytes_of(again.folder) == bytes_of(undisturbed.folder)


def config_with(config: BuildConfig, **options: Any) -> BuildConfig:
    (player,) = config.players
    changed = Player(agent=player.agent, options={**player.options, **options})
    return config.model_copy(update={"players": (changed,)})
