"""Rows as the JSON that the pages read."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from typing import Any

import environments
from environments.errors import UnknownTask
from storage.models import Base, Episode, Lesson, Verdict
from storage.store import Store
from ui import queries, timeline
from ui.timeline import StepRow


def plain(row: Base) -> dict[str, Any]:
    """The columns of a row as JSON values; decimals become strings, so that nothing is rounded."""
    return {column.key: jsonable(getattr(row, column.key)) for column in type(row).__mapper__.column_attrs}


def jsonable(value: Any) -> Any:
    """A value as JSON has it: times in ISO 8601 UTC, exact decimals as strings, no NaN."""
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, dt.datetime):
        return (value if value.tzinfo else value.replace(tzinfo=dt.UTC)).isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): jsonable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [jsonable(item) for item in value]
    return value


def task(task_id: str) -> dict[str, Any] | None:
    """Title, goal and milestones; None for a task that this installation does not know."""
    try:
        found = environments.get(task_id)
    except UnknownTask:
        return None
    return {
        "id": found.id,
        "title": found.title,
        "goal": found.goal,
        "max_steps": found.max_steps,
        "category": found.category,
        "tier": found.tier,
        "milestones": [{"id": item.id, "text": item.text, "after": list(item.after)} for item in found.milestones],
    }


def brief(episode: Episode) -> dict[str, Any]:
    """What a link to an episode shows."""
    keys = ("id", "try_no", "round", "seed", "agent", "task_id", "status", "outcome", "scored", "score")
    return {key: jsonable(getattr(episode, key)) for key in keys}


def video(store: Store, episode: Episode) -> dict[str, Any]:
    """Address and shape of the video; `state` is ok, none (never recorded) or missing (its file is gone)."""
    info = episode.video_info or {}
    state = "none" if episode.video is None else "ok" if store.artifacts.exists(episode.video) else "missing"
    shape = {key: info.get(key) for key in ("fps", "width", "height", "n_frames", "codec")}
    return {"state": state, "url": f"/media/{episode.video}" if episode.video else None, **shape}


def outline(store: Store, episode: Episode) -> dict[str, Any]:
    """Everything about an episode except its steps: of bounded size however long it is."""
    rows = queries.outline_rows(store, episode.id)
    facts = plain(episode)
    if episode.status == "running":  # the count is written at the end
        facts["n_steps"] = len(rows)
    truths, verdicts = store.truths(episode.id), store.verdicts(episode.id)
    faults, forks = store.faults(episode.id), store.interventions(episode.id)
    diagnoses = store.diagnoses(episode.id)
    events = timeline.events(rows, truths=truths, faults=faults, diagnoses=diagnoses, interventions=forks)
    return {
        "episode": facts,
        "task": task(episode.task_id),
        "video": video(store, episode),
        "runs": [plain(link) for link in queries.links_of(store, episode.identity)],
        "related": _related(store, episode),
        "truths": [{**plain(item), **timeline.after(rows, item.step_index)} for item in truths],
        "verdicts": [_verdict(item, episode, rows) for item in verdicts],
        "faults": [plain(item) for item in faults],
        "diagnoses": [plain(item) for item in diagnoses],
        "interventions": [plain(item) for item in forks],
        **_lessons(store, episode, rows),
        "branches": timeline.branches(rows, forks),
        "frame_map": timeline.frame_map(rows),
        "curve": jsonable(timeline.curve(rows)),
        "events": events,
    }


def _related(store: Store, episode: Episode) -> dict[str, Any]:
    parents = store.episodes(id=episode.parent_id) if episode.parent_id else []
    children = store.episodes(parent_id=episode.id)
    tries = [item for item in store.episodes(identity=episode.identity) if item.id != episode.id]
    return {
        "parent": brief(parents[0]) if parents else None,
        "children": [brief(item) for item in children],
        "tries": [brief(item) for item in sorted(tries, key=lambda item: item.try_no)],
    }


def _evidence(episode: Episode, rows: Sequence[StepRow], frame: int) -> dict[str, Any]:
    """A frame that somebody relied on: where it is, and its picture."""
    return {
        "frame": frame,
        "step": timeline.step_of_frame(rows, frame),
        "episode_id": episode.id,
        "thumb": f"/media/{episode.video}/frames/{frame}" if episode.video else None,
    }


def _verdict(item: Verdict, episode: Episode, rows: Sequence[StepRow]) -> dict[str, Any]:
    evidence = _evidence(episode, rows, item.frame) if item.frame is not None else {}
    return {**plain(item), **evidence}


def _lessons(store: Store, episode: Episode, rows: Sequence[StepRow]) -> dict[str, Any]:
    used = queries.lesson(store, episode.lesson_id) if episode.lesson_id else None
    drawn = store.lessons(episode.id)
    known: dict[str, tuple[Episode, Sequence[StepRow]]] = {episode.id: (episode, rows)}
    retries = queries.retries_with(store, [item.id for item in (*drawn, *([used] if used else []))])
    return {
        "lesson_used": _lesson(store, used, known, retries) if used else None,
        "lessons": [_lesson(store, item, known, retries) for item in drawn],
    }


def _lesson(
    store: Store,
    item: Lesson,
    known: dict[str, tuple[Episode, Sequence[StepRow]]],
    retries: dict[str, list[str]],
) -> dict[str, Any]:
    frames: dict[str, list[dict[str, Any]]] = {}
    for name, source in (("failure", item.episode_id), ("tutorial", item.tutorial_id)):
        chosen = [frame for frame in item.frames.get(name, []) if isinstance(frame, int)]
        if source is None or not chosen:
            frames[name] = []
            continue
        if source not in known:
            known[source] = (store.episode(source), queries.outline_rows(store, source))
        frames[name] = [_evidence(*known[source], frame) for frame in chosen]
    return {**plain(item), "frames": frames, "retries": retries.get(item.id, [])}
