"""A place of its own for every test, and small experiments."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.location import Location
from storage.store import Store

SMALL = """
name: small
tasks: games/maze-v1
spaces: semantic
seeds: 2
agents:
  - random
  - scripted
  - {name: calibrated, p: 0.5, gain: 0.5}
conditions: [single, reflect-and-retry]
limits: {max_steps: 40}
"""


@pytest.fixture
def place(tmp_path: Path) -> Location:
    return Location.of(str(tmp_path / "arena.db"))


@pytest.fixture
def store(place: Location) -> Iterator[Store]:
    with place.open() as opened:
        yield opened
