"""Rows as the JSON that the pages read."""

from __future__ import annotations

import datetime as dt
import decimal
import math
from collections.abc import Sequence
from typing import Any

import environments
from arena import milestones
from arena.supervision import REWIND
from environments.errors import UnknownTask
from environments.task import VLM_JUDGED
from storage.models import (
    Base,
    Counterfactual,
    Episode,
    Lesson,
    MilestoneProposal,
    MilestoneReview,
    MilestoneTruth,
    Verdict,
)
from storage.store import Store
from ui import judgements as judged
from ui import queries, timeline
from ui.forks import comparisons, latest, scores, taken_back
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
        "engine_knows": VLM_JUDGED not in found.tags,
        "milestones": [{"id": item.id, "text": item.text, "after": list(item.after)} for item in found.milestones],
    }


def brief(episode: Episode) -> dict[str, Any]:
    """What a link to an episode shows."""
    keys = ("id", "try_no", "round", "seed", "agent", "task_id", "status", "outcome", "scored", "score")
    return {key: jsonable(getattr(episode, key)) for key in keys}


def video(store: Store, episode: Episode) -> dict[str, Any]:
    """Address and shape of an episode's video."""
    return _film(store, episode.video, episode.video_info)


def _film(store: Store, sha256: str | None, info: dict[str, Any] | None) -> dict[str, Any]:
    """Address and shape of a video; `state` is ok, none (never recorded) or missing (its file is gone)."""
    state = "none" if sha256 is None else "ok" if store.artifacts.exists(sha256) else "missing"
    shape = {key: (info or {}).get(key) for key in ("fps", "width", "height", "n_frames", "codec")}
    return {"state": state, "url": f"/media/{sha256}" if sha256 else None, **shape}


def outline(store: Store, episode: Episode) -> dict[str, Any]:
    """Everything about an episode except its steps: of bounded size however long it is."""
    rows = queries.outline_rows(store, episode.id)
    facts = plain(episode)
    if episode.status == "running":  # the count is written at the end
        facts["n_steps"] = len(rows)
    truths, verdicts = store.truths(episode.id), store.verdicts(episode.id)
    faults, forks = store.faults(episode.id), store.interventions(episode.id)
    diagnoses = store.diagnoses(episode.id)
    others = store.counterfactuals(episode.id) if diagnoses else []
    led = queries.arm_steps(store, episode.id) if forks else {}
    undone = dict.fromkeys(taken_back(rows, forks), "undone")
    events = timeline.events(rows, truths=truths, faults=faults, diagnoses=diagnoses, interventions=forks)
    return {
        "episode": facts,
        "task": task(episode.task_id),
        "video": video(store, episode),
        "runs": _uses(store, episode),
        "related": _related(store, episode),
        "truths": [{**plain(item), **timeline.after(rows, item.step_index)} for item in truths],
        **_judgements(episode, rows, truths, verdicts),
        "faults": [plain(item) for item in faults],
        "diagnoses": [plain(item) for item in diagnoses],
        "interventions": [plain(item) for item in forks],
        **_lessons(store, episode, rows),
        "branches": timeline.branches(rows, forks),
        "bands": [*timeline.bands(rows, undone), *timeline.bands(rows, led)],
        "comparisons": comparisons(rows, forks, {step for step, kind in led.items() if kind == REWIND}, others),
        "counterfactuals": [_counterfactual(store, *pair) for pair in latest(others).values()],
        "frame_map": timeline.frame_map(rows),
        "curve": jsonable(timeline.curve(rows)),
        "events": events,
    }


def _counterfactual(store: Store, item: Counterfactual, filmed: Counterfactual) -> dict[str, Any]:
    """The latest replay of the other way at a diagnosis, with the video that shows it."""
    shown = {**plain(item), "curve": jsonable(scores(item)), "video": _film(store, filmed.video, filmed.video_info)}
    del shown["scores"]
    return shown


def _uses(store: Store, episode: Episode) -> list[dict[str, Any]]:
    """As what which runs use an episode, the newest run first."""
    links = queries.links_of(store, episode.identity)
    begun = {run_id: store.run(run_id).created_at for run_id in {link.run_id for link in links}}
    return [plain(link) for link in sorted(links, key=lambda link: begun[link.run_id], reverse=True)]


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


def judgements(store: Store, episode: Episode) -> dict[str, Any]:
    """What all judges say of an episode: the part of `outline` that a new verdict changes."""
    rows = queries.outline_rows(store, episode.id)
    return _judgements(episode, rows, store.truths(episode.id), store.verdicts(episode.id))


def _judgements(
    episode: Episode, rows: Sequence[StepRow], truths: Sequence[MilestoneTruth], verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    known = task(episode.task_id)
    ids = [item["id"] for item in known["milestones"]] if known else []
    # What is still being played may reach it yet; a task that is not installed may be one that only models can judge.
    knows = known is not None and known["engine_knows"] and episode.status == "finished"
    return {
        "verdicts": [_verdict(item, episode, rows) for item in verdicts],
        "judgements": judged.fold(ids, truths, verdicts, engine_knows=knows),
    }


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
    film = store.tutorial(item.film_id) if item.film_id else None
    beside = bool(item.tutorial_id or film)
    shown = item.frames if isinstance(item.frames, dict) else {}
    source_of = {"failure": item.episode_id, "tutorial": item.tutorial_id, "other": item.tutorial_id}

    def picture(video: str, frame: int) -> dict[str, Any]:
        source = source_of.get(video)
        if source is not None:
            if source not in known:
                known[source] = (store.episode(source), queries.outline_rows(store, source))
            return _evidence(*known[source], frame)
        thumb = f"/media/{film.video}/frames/{frame}" if film and video != "blank" else None
        return {"frame": frame, "thumb": thumb}

    def of_video(video: str) -> list[int]:
        listed = shown.get(video)
        return [frame for frame in listed if type(frame) is int] if isinstance(listed, list) else []

    return {
        **plain(item),
        "frames": {
            "failure": [picture("failure", frame) for frame in of_video("failure")],
            "tutorial": [picture("tutorial", frame) for frame in of_video("tutorial")] if beside else [],
        },
        "pictures": [
            {**told, **picture(told["video"], told["frame"])}
            for told in timeline.pictures(shown, {video: of_video(video) for video in timeline.PICTURE_VIDEOS})
        ],
        "film": {"id": film.id, "source": film.source, "url": f"/media/{film.video}"} if film else None,
        "retries": retries.get(item.id, []),
    }


def proposals(store: Store, task_id: str, version: int | None) -> dict[str, Any]:
    """The proposed milestones of a task: its versions, and all of one of them, the latest by default."""
    found = milestones.reviewed(store, task_id)
    versions: dict[int, dict[str, Any]] = {}
    for item in found:
        row = item.proposal
        first = {"version": row.version, "model": row.model, "created_at": jsonable(row.created_at), "n": 0, "open": 0}
        entry = versions.setdefault(row.version, first)
        entry["n"] += 1
        entry["open"] += item.state == "proposed"
    chosen = max(versions, default=None) if version is None else version
    sources: _Sources = {}
    history = _by_proposal(store.reviews(task_id))
    items = [item for item in found if item.proposal.version == chosen]
    return {
        "task": task(task_id) or {"id": task_id, "title": task_id, "milestones": []},
        "versions": sorted(versions.values(), key=lambda entry: -entry["version"]),
        "version": chosen,
        "items": [_proposal(store, item, history.get(item.proposal.id, []), sources) for item in items],
    }


def proposal(store: Store, row: MilestoneProposal) -> dict[str, Any]:
    """One proposal as it stands."""
    [item] = [item for item in milestones.reviewed(store, row.task_id) if item.proposal.id == row.id]
    return _proposal(store, item, _by_proposal(store.reviews(row.task_id)).get(row.id, []), {})


_Sources = dict[str, tuple[Episode, Sequence[StepRow]] | str | None]
"""Recordings by id: an episode with its steps, or the address of a person's own video; None if it is gone."""


def _by_proposal(reviews: Sequence[MilestoneReview]) -> dict[str, list[MilestoneReview]]:
    found: dict[str, list[MilestoneReview]] = {}
    for review in reviews:
        found.setdefault(review.proposal_id, []).append(review)
    return found


def _proposal(
    store: Store, item: milestones.Reviewed, reviews: Sequence[MilestoneReview], sources: _Sources
) -> dict[str, Any]:
    row = item.proposal
    frames = [frame for frame in row.frames if isinstance(frame, int)] or [row.first_frame]
    return {
        **plain(row),
        "state": item.state,
        "frames": [_frame_of(store, row, frame, sources) for frame in frames],
        "first": _frame_of(store, row, row.first_frame, sources),
        "reviews": [plain(review) for review in reviews],
    }


def _frame_of(store: Store, row: MilestoneProposal, frame: int, sources: _Sources) -> dict[str, Any]:
    """A frame of a proposal's recording: with its step in an episode, with its picture alone in a person's video."""
    key = row.episode_id or row.tutorial_id or ""
    if key not in sources:
        film = store.tutorial(row.tutorial_id) if row.tutorial_id else None
        source = (store.episode(key), queries.outline_rows(store, key)) if row.episode_id else None
        sources[key] = source or (film.video if film else None)
    source_of = sources[key]
    if isinstance(source_of, tuple):
        return _evidence(*source_of, frame)
    return {"frame": frame, "thumb": f"/media/{source_of}/frames/{frame}" if source_of else None}
