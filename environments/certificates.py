"""The determinism certificates that the package ships: what each task's frames and states are, as hashes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cache
from importlib import resources
from typing import Any

_FILE = "certificates.json"


@dataclass(frozen=True, slots=True)
class Certificate:
    """Hashes over all frames and all states of some seeds, played by a fixed mixture of players."""

    seeds: tuple[int, ...]
    steps: tuple[int, ...]
    """Steps played of each seed."""
    frames: str
    """SHA-256 over the frames' hashes."""
    states: str
    """SHA-256 over the states' hashes."""
    machine: str
    """Where it was made."""

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return asdict(self)


@cache
def _all() -> dict[str, Certificate]:
    text = resources.files(__package__).joinpath(_FILE).read_text("utf-8")
    return {
        task: Certificate(**{**fields, "seeds": tuple(fields["seeds"]), "steps": tuple(fields["steps"])})
        for task, fields in json.loads(text).items()
    }


def shipped(task_id: str) -> Certificate | None:
    """The certificate of a task, or None if it has none."""
    return _all().get(task_id)
