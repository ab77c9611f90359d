"""A fault dataset on LIBERO of a scripted, a noisy and a served policy, twice the same bytes.

Needs the benchmark's assets in `ARENA_LIBERO_ASSETS`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("robosuite", reason="the robot tasks need robosuite: pip install 'rewind-arena[robots]'")

from agents.policies.server.neighbour import Neighbour, NeighbourServer
from arena.faults.build import build
from arena.faults.dataset import files_below
from arena.faults.plan import FIRST_SEED, BuildConfig, Player
from environments.robots.libero import loading

pytestmark = [
    pytest.mark.shared,
    pytest.mark.gl,
    pytest.mark.skipif(
        not os.environ.get(loading.ASSETS) or bool(loading.problems()),
        reason=f"{loading.ASSETS} names no folder with the assets of the LIBERO benchmark",
    ),
]
TASK, SEEDS = "libero/object/0-v1", 2


@pytest.fixture(scope="module")
def server() -> Iterator[NeighbourServer]:
    with NeighbourServer(Neighbour([TASK], range(FIRST_SEED, FIRST_SEED + SEEDS))) as served:
        yield served


def test_scripted_noisy_and_served_policies_fill_a_dataset_twice_the_same(
    server: NeighbourServer, tmp_path: Path
) -> None:
    """The served policy's demonstrations are of the initial states that the dataset's seeds lead to."""
    players = (
        Player(agent="scripted-policy"),
        Player(agent="noisy-expert", options={"failure_rate": 0.0, "noise": 0.1}),
        Player(agent="policy", options={"protocol": "openpi", "url": server.url, "model": "neighbour", "replan": 10}),
    )
    config = BuildConfig(
        tasks=(TASK,), players=players, kinds=("gripper-opens-mid-carry",), severities=(0,), per_cell=1, clean=3,
        seeds=SEEDS, every=20,
    )  # fmt: skip
    made = [build(tmp_path / name / "tiny", config).dataset for name in "ab"]
    (first, second) = made
    assert first.manifest.unfilled == []
    clean = [episode.player.partition("(")[0] for episode in first.episodes if episode.fault is None]
    assert sorted(clean) == ["noisy-expert", "policy", "scripted-policy"]
    (benign,) = (episode for episode in first.episodes if episode.fault)
    assert benign.success and benign.truth.injected_type == "C5" and benign.split == "heldout"
    files = sorted(files_below(first.folder))
    assert files == sorted(files_below(second.folder)) and any(path.endswith(".mp4") for path in files)
    assert all((first.folder / path).read_bytes() == (second.folder / path).read_bytes() for path in files)
