"""The JSON API below `/api`: read-only, paged, windowed; no answer holds the whole of a long episode."""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Query

from arena.diagnosis.dynamic_table import dynamic_table, is_dynamic
from arena.leaderboard import leaderboard
from storage.models import Episode
from storage.store import Store
from ui import queries, views
from ui.answers import JsonRoute

WINDOW: Final = 256
"""Steps in one answer, at most."""
PAGE: Final = 200
"""Episodes in one answer, at most."""

Natural = Annotated[int, Query(ge=0)]


def create_router(store: Store) -> APIRouter:
    """The routes, reading from `store`. Handlers are plain functions: FastAPI runs them in its thread pool."""
    router = APIRouter(prefix="/api", tags=["arena"], route_class=JsonRoute)

    def known_episode(episode_id: str) -> Episode:
        # Exact ids only: an address that is shared must not come to mean something else.
        found = store.episodes(id=episode_id)
        if not found:
            raise HTTPException(404, f"There is no episode {episode_id[:80]} in this database.")
        return found[0]

    @router.get("/runs")
    def runs() -> dict[str, Any]:
        """All runs, newest first."""
        keys = ("id", "name", "status", "created_at", "finished_at")
        return {"items": [{key: views.jsonable(getattr(run, key)) for key in keys} for run in store.runs()]}

    @router.get("/runs/{run_id}")
    def run(run_id: str) -> dict[str, Any]:
        """One run with its experiment and the machine that ran it."""
        return views.plain(_known_run(store, run_id))

    @router.get("/leaderboard")
    def board(run: str) -> dict[str, Any]:
        """The table of a run, computed from its rows; the same rows give the same digits.

        `dynamic`: of a run of the dynamic track, what supervision changed, as `arena diagnose table --json` prints it.
        """
        known_run = _known_run(store, run)
        if known_run.status == "finished":
            return finished_board(known_run.id, known_run.finished_at)
        return table_of(known_run.id)

    def table_of(run_id: str) -> dict[str, Any]:
        table = leaderboard(store, run_id).to_json()
        table["dynamic"] = dynamic_table(store, run_id).to_json() if is_dynamic(store, run_id) else None
        titles = {row["task"]: views.task(row["task"]) for row in table["rows"]}
        for row in table["rows"]:
            known = titles[row["task"]]
            row["title"] = known["title"] if known else None
        return table

    @lru_cache(maxsize=32)
    def finished_board(run_id: str, finished_at: dt.datetime | None) -> dict[str, Any]:
        # The resamples of all cells take a second for a large run; going on with a run gives it a new end.
        return table_of(run_id)

    @router.get("/episodes")
    def episodes(
        run: str = "",
        task: str = "",
        agent: str = "",
        space: str = "",
        condition: str = "",
        outcome: str = "",
        status: str = "",
        sort: str = "-created",
        limit: Annotated[int, Query(ge=1, le=PAGE)] = 50,
        offset: Annotated[int, Query(ge=0, le=10**9)] = 0,
    ) -> dict[str, Any]:
        """One page of episodes, with the values that each filter offers."""
        filters = {"run": run, "task": task, "agent": agent, "space": space}
        filters |= {"condition": condition, "outcome": outcome, "status": status}
        try:
            page = queries.episode_page(store, filters, sort, limit, offset)
        except queries.UnknownSort as error:
            raise HTTPException(422, str(error)) from None
        marks = queries.marks(store, [item.id for item in page.items])
        latest = store.latest_tries({item.identity for item in page.items})
        items = [
            {**views.plain(item), "n_tries": latest[item.identity].try_no + 1, "n_faults": 0, "n_forks": 0}
            | marks.get(item.id, {})
            for item in page.items
        ]
        for item in items:
            del item["spec"]
        return {
            "items": items,
            "total": page.total,
            "total_unfiltered": page.total_unfiltered,
            "offset": offset,
            "facets": queries.facets(store, filters),
        }

    @router.get("/episodes/{episode_id}")
    def episode(episode_id: str) -> dict[str, Any]:
        """An episode in outline: facts, task, video, judgements, branches, events, score curve."""
        return views.outline(store, known_episode(episode_id))

    @router.get("/episodes/{episode_id}/steps")
    def steps(
        episode_id: str, start: Annotated[int, Query(ge=0, le=10**9)] = 0, stop: int | None = None
    ) -> dict[str, Any]:
        """Steps with `start <= index < stop`, at most 256 of them."""
        stop = start + WINDOW if stop is None else stop
        if not start <= stop <= start + WINDOW:
            raise HTTPException(422, f"stop must lie between start and start + {WINDOW}; got {start} to {stop}")
        found = known_episode(episode_id)
        calls = queries.calls_by_step(store, found.id, start, stop)
        rows = store.steps(found.id, start, stop)
        return {"items": [{**views.plain(row), "n_calls": calls.get(row.index, 0)} for row in rows]}

    @router.get("/episodes/{episode_id}/steps/{index}/calls")
    def calls(episode_id: str, index: int) -> dict[str, Any]:
        """The model calls of one step, with their exact requests and replies."""
        if not 0 <= index <= 10**9:
            raise HTTPException(422, f"a step index is a number from 0; got {index}")
        return {"items": [views.plain(row) for row in store.calls(known_episode(episode_id).id, index)]}

    @router.get("/proposals")
    def proposals(task: str = "", version: Annotated[int | None, Query(ge=0, le=10**9)] = None) -> dict[str, Any]:
        """The tasks for which models proposed milestones; with `task`, what was proposed for it in one version."""
        tasks = queries.proposed_tasks(store)
        for item in tasks:
            known = views.task(item["id"])
            item["title"] = known["title"] if known else item["id"]
        if not task:
            return {"tasks": tasks}
        if task not in {item["id"] for item in tasks}:
            raise HTTPException(404, f"No milestones were proposed for a task {task[:80]} in this database.")
        return {"tasks": tasks, **views.proposals(store, task, version)}

    @router.get("/{path:path}", include_in_schema=False)
    def unknown(path: str) -> None:
        """Say so in JSON, where a page would otherwise be sent."""
        raise HTTPException(404, f"There is no /api/{path[:80]}.")

    return router


def _known_run(store: Store, run_id: str) -> Any:
    for run in store.runs():
        if run.id == run_id:
            return run
    raise HTTPException(404, f"There is no run {run_id[:80]} in this database.")
