"""A run on Ray gives what a run in this process gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from arena import run
from arena.experiment import parse
from arena.location import Location
from storage.store import Store
from tests.arena.conftest import SMALL

pytest.importorskip("ray", reason="the extra `ray` is not installed")


def endings(store: Store, run_id: str) -> dict[str, tuple[str | None, float | None, str | None]]:
    return {e.id: (e.outcome, e.score, e.state_hash) for e in store.episodes(run_id=run_id)}


@pytest.mark.slow
def test_ray_gives_the_same_results_as_one_process(store: Store, place: Location, tmp_path: Path) -> None:
    here = run.run(parse(SMALL), store, place, workers=0)
    elsewhere = Location.of(str(tmp_path / "elsewhere" / "arena.db"))
    with elsewhere.open() as other:
        assert run.run(parse(SMALL), other, elsewhere, workers=1, on_ray=True) == here
        assert endings(other, here) == endings(store, here)
