"""Whether two databases hold the same results of a run: what must be equal, however often it was interrupted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from storage.models import Base, Episode
from storage.store import Store

Facts = Mapping[str, Mapping[str, Any]]
"""By kind of row, by the row's name: the columns that are results."""

_MEASURED = frozenset({"created_at", "finished_at", "think_s", "env_s", "call_id", "call_ids"})
"""Columns that may differ between two recordings of the same: clocks, and names of calls."""


def facts(store: Store, run_id: str) -> Facts:
    """All results of a run, without what only a clock decides.

    Model calls are left out: their ids and durations are accidents, and what a model said is in the
    steps, lessons, verdicts and diagnoses.

    Args:
        store: An open store.
        run_id: The run's whole id.
    """
    links = store.plan(run_id)
    episodes = store.episodes(run_id)
    found: dict[str, dict[str, Any]] = {
        "links": {f"{link.condition} {link.identity}": _columns(link) for link in links},
        "episodes": {episode.id: _columns(episode) for episode in episodes},
    }
    for kind, read in (
        ("steps", store.steps),
        ("milestones", store.truths),
        ("verdicts", store.verdicts),
        ("lessons", store.lessons),
        ("faults", store.faults),
        ("diagnoses", store.diagnoses),
        ("interventions", store.interventions),
    ):
        found[kind] = {
            f"{episode.id} {position}": columns
            for episode in episodes
            for position, columns in enumerate(_ordered([_columns(row) for row in read(episode.id)]))
        }
    found["videos"] = {episode.id: _video(store, episode) for episode in episodes}
    return found


def differences(left: Facts, right: Facts) -> list[str]:
    """What differs, one line each: a row that only one side has, or a column with both values."""
    found = []
    for kind in left:
        for name in sorted(left[kind].keys() | right[kind].keys()):
            if name not in left[kind] or name not in right[kind]:
                found.append(f"{kind} {name}: only {'left' if name in left[kind] else 'right'}")
                continue
            one, other = left[kind][name], right[kind][name]
            found += [
                f"{kind} {name}: {column}: {value!r} and {other[column]!r}"
                for column, value in one.items()
                if value != other[column]
            ]
    return found


def _columns(row: Base) -> dict[str, Any]:
    keys = [attribute.key for attribute in type(row).__mapper__.column_attrs]
    return {key: getattr(row, key) for key in keys if key not in _MEASURED}


def _ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    # The stores order some kinds by the clock first.
    return sorted(rows, key=lambda row: str(sorted(row.items(), key=lambda item: item[0])))


def _video(store: Store, episode: Episode) -> dict[str, Any]:
    """Whether the bytes that a finished episode names are there and are what their name says."""
    if episode.video is None:
        return {"whole": False}
    store.artifacts.get(episode.video)
    return {"whole": True}
