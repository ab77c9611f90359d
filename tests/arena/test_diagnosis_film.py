"""A film under way is nobody else's to clean up; one that a killed process left is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

from arena.diagnosis.film import Film
from arena.location import Location
from arena.run import _clean
from storage.store import Store
from storage.video import read_frames

FRAME = np.full((64, 64, 3), 90, np.uint8)
KILLED = """
import os, sys
import numpy as np
from pathlib import Path
from arena.diagnosis.film import Film
from arena.location import Location
with Location.of(sys.argv[1]).open() as store, Film(store, Path(sys.argv[2]), 20) as film:
    film.write(np.zeros((64, 64, 3), np.uint8))
    os.kill(os.getpid(), 9)
"""


def test_a_run_that_begins_leaves_a_film_under_way_alone(store: Store, place: Location) -> None:
    with Film(store, place.scratch, 20) as film:
        film.write(FRAME)
        with place.open() as other:
            _clean(other, place.scratch)
        film.write(FRAME)
        sha, info = film.keep()
    assert info["n_frames"] == 2 and list(place.scratch.iterdir()) == []
    with store.artifacts.open(sha) as video:
        assert len(list(read_frames(video, [0, 1]))) == 2


def test_a_run_that_begins_removes_what_a_killed_film_has_left(store: Store, place: Location) -> None:
    told = [place.database, str(place.scratch)]
    killed = subprocess.run([sys.executable, "-c", KILLED, *told], cwd=Path(__file__).parents[2], timeout=120)
    assert killed.returncode == -9 and list(place.scratch.glob("other-way-*/*"))
    _clean(store, place.scratch)
    assert list(place.scratch.iterdir()) == []
