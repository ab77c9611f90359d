"""The door to recordings that people watch without knowing the fault, and to what they say of them.

Registered only with `arena view --review`. What is shown here holds no fault, no score, no outcome, no condition and no
opinion of anybody else; nor how long a recording is, for one that runs on to its horizon has failed. Its pictures are
asked for one by one, and that there are no more is told where they end. What is said is added by
`arena.diagnosis.opinions`; nothing that was said before is changed.
"""

from __future__ import annotations

import io
from typing import Annotated, Any, Final

from fastapi import APIRouter, HTTPException, Path, Query
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from arena.diagnosis import opinions
from arena.diagnosis.baselines import ROLLBACK_STEPS
from arena.diagnosis.opinions import Watched
from arena.diagnosis.schema import CLASS_OF, FaultType, Repair, Verdict
from arena.judging import InvalidReview
from arena.judging.human import reviewer
from environments.robots.faults import KINDS
from storage.errors import VideoError
from storage.models import Episode
from storage.store import Store
from storage.video import read_frames
from ui import views
from ui.answers import JsonRoute
from ui.media import IMMUTABLE

FAULTY: Final = ("suspect", "fault", "unrecoverable")
_FORM: Final = {
    "types": [{"type": it.fault_type, "class": it.fault_class, "text": it.summary} for it in KINDS.values()],
    "back_steps": ROLLBACK_STEPS,
}
"""What can go wrong, in the order of the taxonomy, and how far one goes back unless one says otherwise: most faults
show within 25 steps of their onset (docs/fault-taxonomy.md)."""

Name = Annotated[str, Field(max_length=200)]
StepIndex = Annotated[int, Field(strict=True, ge=0, le=1_000_000)]


class NewOpinion(BaseModel):
    """What a person says of a recording; the fields are those of the diagnosis schema."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    step_now: StepIndex
    """The last step that they saw."""
    verdict: Verdict
    name: Name
    confidence: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False, strict=True)] = 0.9
    fault_type: FaultType = "N0"
    onset_step: StepIndex | None = None
    rollback_step: StepIndex | None = None
    repair: Repair = Repair()
    note: Annotated[str, Field(max_length=2_000)] = ""

    def fields(self) -> dict[str, Any]:
        """As the schema has them: the class follows from the type, and the note says why."""
        cannot_tell = self.verdict == "abstain"
        return {
            "step_now": self.step_now,
            "verdict": self.verdict,
            "confidence": 0.0 if cannot_tell else self.confidence,
            "fault_class": CLASS_OF[self.fault_type[0]],
            "fault_type": self.fault_type,
            "severity": 2 if self.verdict in FAULTY and self.fault_type != "N0" else 0,
            "onset_step": self.onset_step,
            "rollback_step": self.rollback_step,
            "repair": self.repair.model_dump(),
            "rationale": "" if cannot_tell else self.note,
            "abstain_reason": (self.note.strip() or "cannot tell") if cannot_tell else "",
            "abstain_cause": "declined" if cannot_tell else None,
        }


def create_router(store: Store) -> APIRouter:
    """Three routes that show, one that writes. Handlers are plain functions: FastAPI runs them in its thread pool."""
    router = APIRouter(prefix="/api", tags=["review"], route_class=JsonRoute)

    @router.get("/watch")
    def runs() -> dict[str, Any]:
        """Runs with recordings that can be watched, newest first, and how many there are."""
        counts = ((run_id, len(opinions.recordings(store, run_id))) for run_id in opinions.runs_to_watch(store))
        return {"runs": [{"id": run_id, "recordings": count} for run_id, count in counts if count]}

    @router.get("/watch/{run_id}")
    def recordings(run_id: str, name: Annotated[str, Query(max_length=200)] = "") -> dict[str, Any]:
        """The recordings of a run to be watched, and which of them the person of this name has looked at."""
        if run_id not in opinions.runs_to_watch(store):  # exact ids only
            raise HTTPException(404, f"There is no run {run_id[:80]} with episodes that were left alone.")
        found = opinions.recordings(store, run_id)
        return {"run": run_id, **_FORM, "items": [_item(it, _by(name)) for it in found]}

    @router.get("/episodes/{episode_id}/watch/{picture}")
    def watch(episode_id: str, picture: Annotated[int, Path(ge=0, le=1_000_000)]) -> Response:
        """One picture of a recording as JPEG: number 0 is of the beginning, number i + 1 was taken after step i.

        204 where the recording is over. The picture after the last step is not shown: it tells how the episode ended.
        """
        found = store.episodes(id=episode_id)
        if not found or not opinions.watchable(store, found[0]):
            raise HTTPException(404, f"There is no recording {episode_id[:80]} that can be watched.")
        if picture >= found[0].n_steps:
            return Response(status_code=204, headers={"Cache-Control": "no-store"})
        try:
            data = _picture(store, found[0], picture)
        except VideoError:  # its message may name a file of this machine
            raise HTTPException(404, f"Picture {picture} of recording {episode_id[:80]} cannot be read.") from None
        return Response(data, media_type="image/jpeg", headers={"Cache-Control": IMMUTABLE})

    @router.post("/episodes/{episode_id}/diagnoses", status_code=201)
    def diagnose(episode_id: str, body: NewOpinion) -> dict[str, Any]:
        """Add a person's opinion of a recording."""
        found = store.episodes(id=episode_id)
        if not found:
            raise HTTPException(404, f"There is no episode {episode_id[:80]} in this database.")
        try:
            row = opinions.add_opinion(store, found[0], body.fields(), name=body.name)
        except InvalidReview as error:
            raise HTTPException(422, str(error)) from None
        return {"episode_id": row.episode_id, "diagnoser": row.diagnoser, "body": row.body}

    return router


def _by(name: str) -> str | None:
    try:
        return reviewer(name)
    except InvalidReview:  # not entered yet
        return None


def _picture(store: Store, episode: Episode, index: int) -> bytes:
    with store.artifacts.open(episode.video or "") as file:
        [frame] = read_frames(file, [index])
    buffer = io.BytesIO()
    Image.fromarray(frame).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def _item(watched: Watched, by: str | None) -> dict[str, Any]:
    """One recording as its watcher sees it, with the size of its pictures."""
    episode = watched.episode
    task = views.task(episode.task_id) or {"title": episode.task_id, "goal": ""}
    return {
        "id": episode.id,
        "title": task["title"],
        "goal": task["goal"],
        "width": episode.video_info.get("width"),
        "height": episode.video_info.get("height"),
        "looked_at": by is not None and watched.latest(by) is not None,
    }
