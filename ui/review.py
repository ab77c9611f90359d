"""The door to a person's decisions: verdicts on milestones, and the review of proposed ones.

Registered only when the server was started with it (`arena view --review`). What is decided is added by
`arena.review` and `arena.milestones`; nothing that was decided before is changed.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, HTTPException
from pydantic import BaseModel, ConfigDict, Field

import environments
from arena import milestones
from arena.judging import InvalidReview
from arena.judging.human import MAX_NOTE, HumanAnswer, checked_note, reviewer
from arena.review import add_human_verdict
from environments.errors import UnknownTask
from storage.errors import UnknownRow
from storage.store import Store
from ui import views
from ui.answers import JsonRoute

_STRICT: Final = ConfigDict(extra="forbid", frozen=True)
_LONGEST: Final = 4 * MAX_NOTE
"""Characters of a note that are looked at at all."""

Name = Annotated[str, Field(max_length=200)]
Note = Annotated[str, Field(max_length=_LONGEST)]


class NewVerdict(BaseModel):
    """What a person says of a milestone."""

    model_config = _STRICT

    milestone: Annotated[str, Field(max_length=200)]
    verdict: HumanAnswer
    frame: Annotated[int, Field(strict=True, ge=0, le=10**9)]
    name: Name
    note: Note = ""


class NewReview(BaseModel):
    """What a person decides about a proposed milestone."""

    model_config = _STRICT

    state: Literal["accepted", "rejected", "proposed"]
    name: Name
    note: Note = ""


def create_router(store: Store) -> APIRouter:
    """The two routes that write. Handlers are plain functions: FastAPI runs them in its thread pool."""
    router = APIRouter(prefix="/api", tags=["review"], route_class=JsonRoute)

    @router.post("/episodes/{episode_id}/verdicts", status_code=201)
    def judge(episode_id: str, body: NewVerdict) -> dict[str, Any]:
        """Add a person's verdict; answers with all judgements of the episode."""
        found = store.episodes(id=episode_id)
        if not found:
            raise HTTPException(404, f"There is no episode {episode_id[:80]} in this database.")
        [episode] = found
        try:
            task = environments.get(episode.task_id)
            add_human_verdict(
                store, task, episode, body.milestone, body.verdict, body.frame, name=body.name, note=body.note
            )
        except (InvalidReview, UnknownTask) as error:
            raise HTTPException(422, str(error)) from None
        return views.judgements(store, episode)

    @router.post("/proposals/{proposal_id}/reviews", status_code=201)
    def review(proposal_id: str, body: NewReview) -> dict[str, Any]:
        """Add a person's decision about a proposal; answers with the proposal as it stands then."""
        try:
            proposal = store.proposal(proposal_id)
        except UnknownRow:
            proposal = None
        if proposal is None or proposal.id != proposal_id:  # exact ids only
            raise HTTPException(404, f"There is no proposal {proposal_id[:80]} in this database.")
        try:
            by, note = reviewer(body.name), checked_note(body.note)
        except InvalidReview as error:
            raise HTTPException(422, str(error)) from None
        milestones.review(store, proposal, body.state, by, note=note)
        return views.proposal(store, proposal)

    return router
