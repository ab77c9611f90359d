"""The door to a game that a person plays: `arena.human` runs it, the page shows its picture and sends what is done.

Registered only when the server was started with it (`arena view --play`, `arena play`). One game at a time.
"""

from __future__ import annotations

import io
import json
import re
import secrets
import threading
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, HTTPException, Query
from fastapi.responses import Response
from PIL import Image
from pydantic import BaseModel, ConfigDict, Field

import environments
from agents.errors import InvalidOptions
from arena.human import HumanSession, Occupied, View, playable
from arena.human_input import keys
from environments.env import Frame
from environments.errors import EnvironmentsError, InfrastructureError, InvalidAction
from environments.robots.libero.conventions import SUITES
from environments.task import CATEGORIES, TIERS, Task
from storage.models import Episode
from storage.store import Store
from ui.answers import JsonRoute

POLL_S: Final = 2.0
"""How long a question for the next picture stays open: short, for the server ends only when all are answered."""
_JPEG_QUALITY: Final = 90
ROBOTS: Final = "robots"
"""The group of tasks that are no games: robots have categories of their own."""
_LIBERO: Final = tuple(f"libero/{suite}" for suite in SUITES)
_STRICT: Final = ConfigDict(extra="forbid", frozen=True)


class Start(BaseModel):
    """Which game to begin, and who plays."""

    model_config = _STRICT

    task: Annotated[str, Field(max_length=120)]
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 0
    name: Annotated[str, Field(max_length=40)] = "player"


class Key(BaseModel):
    """A key that went down or up."""

    model_config = _STRICT

    kind: Literal["down", "up"]
    key: Annotated[str, Field(max_length=20)]


class Gesture(BaseModel):
    """A whole gesture of the GUI space."""

    model_config = _STRICT

    kind: Literal["gesture"]
    action: dict[str, Any]


class Input(BaseModel):
    """What the person did since the last message, in order."""

    model_config = _STRICT

    events: Annotated[list[Annotated[Key | Gesture, Field(discriminator="kind")]], Field(max_length=64)]


class PlayDesk:
    """The one game that is played through this server.

    Args:
        store: Where it is recorded.
        scratch: Folder for unfinished videos.
        name: Whom the page proposes as the player.
    """

    def __init__(self, store: Store, scratch: Path, name: str = "player") -> None:
        self.name = name
        self._store, self._scratch = store, scratch
        self._lock = threading.Lock()
        self._id = ""
        self._session: HumanSession | None = None

    def begin(self, start: Start) -> str:
        """Begin a game; its id.

        Raises:
            Occupied: while another is played.
            EnvironmentsError: if the task cannot be played here; says why.
            InvalidOptions: for a name that cannot be shown.
        """
        with self._lock:
            if self._session is not None and not self._session.over:
                raise Occupied(f"{self._session.task.title} is being played on this server; end that game first")
            self._session = HumanSession(self._store, self._scratch, start.task, seed=start.seed, name=start.name)
            self._session.start()
            self._id = secrets.token_hex(8)
            return self._id

    def session(self, session_id: str) -> HumanSession | None:
        """The game of that id, which is the present one or none."""
        return self._session if self._session is not None and session_id == self._id else None

    def present(self) -> dict[str, Any] | None:
        """The game that is being played, for a page that was loaded anew."""
        session = self._session
        if session is None or session.over:
            return None
        return {"id": self._id, "task": session.task.id, "seed": session.seed, "name": session.name}

    def close(self) -> None:
        """End the game, if one is played: the server is going."""
        if self._session is not None:
            self._session.close("the server was stopped")


def create_router(desk: PlayDesk) -> APIRouter:
    """The routes below `/api/play`. Handlers are plain functions: FastAPI runs them in its thread pool."""
    router = APIRouter(prefix="/api/play", tags=["play"], route_class=JsonRoute)

    def known(session_id: str) -> HumanSession:
        session = desk.session(session_id)
        if session is None:
            raise HTTPException(404, "This game is over and another has begun, or the server was started anew.")
        return session

    @router.get("")
    def offer() -> dict[str, Any]:
        """What can be played, by category and tier, and what is being played."""
        return {"name": desk.name, "session": desk.present(), "keys": keys(), "groups": catalogue()}

    @router.post("", status_code=201)
    def start(body: Start) -> dict[str, Any]:
        """Begin a game."""
        try:
            return {"id": desk.begin(body)}
        except Occupied as error:
            raise HTTPException(409, str(error)) from None
        except InvalidOptions as error:
            raise HTTPException(422, "; ".join(f"{field}: {problem}" for field, problem in error.problems)) from None
        except InfrastructureError as error:
            raise HTTPException(503, str(error)) from None
        except EnvironmentsError as error:
            raise HTTPException(422, str(error)) from None

    @router.get("/{session_id}/frame")
    def frame(session_id: str, after: Annotated[int, Query(ge=-1, le=10**9)] = -1) -> Response:
        """The picture, as soon as there is one newer than `after`; the header `X-Arena-View` says what it shows."""
        session = known(session_id)
        view = session.look(after, POLL_S)
        headers = {"X-Arena-View": json.dumps(describe(session, view))}
        if view.frame is None or view.number <= after:
            return Response(status_code=204, headers=headers)
        data, media_type = encode(view.frame, exact=not (session.timed or session.inputs.held))
        return Response(data, media_type=media_type, headers=headers)

    @router.post("/{session_id}/input")
    def receive(session_id: str, body: Input) -> dict[str, Any]:
        """What the person did: key strokes and gestures, in order."""
        inputs = known(session_id).inputs
        dropped, problems = 0, []
        for event in body.events:
            try:
                if isinstance(event, Gesture):
                    dropped += not inputs.gesture(event.action)
                elif event.kind == "down":
                    inputs.key_down(event.key)
                else:
                    inputs.key_up(event.key)
            except InvalidAction as error:
                problems.append(str(error)[:300])
        return {"dropped": dropped, "problems": problems}

    @router.post("/{session_id}/give-up")
    def give_up(session_id: str) -> dict[str, Any]:
        """End the game without a score."""
        known(session_id).give_up()
        return {}

    return router


def catalogue() -> list[dict[str, Any]]:
    """What people can play, by category in the taxonomy's order, then from easy to hard; robots at the end.

    A suite of a benchmark (`libero/spatial/...`) is a group of its own, and folded: most of the tasks are in these.
    """
    groups: dict[str, list[Task]] = {category: [] for category in (*CATEGORIES, ROBOTS, *_LIBERO)}
    for task in filter(playable, environments.tasks()):
        suite = task.id.rpartition("/")[0]
        group = task.category if task.category in CATEGORIES else suite if "/" in suite else ROBOTS
        groups.setdefault(group, []).append(task)
    return [
        {
            "category": category,
            "folded": "/" in category,
            "tasks": [
                {
                    "id": task.id,
                    "title": task.title,
                    "goal": task.goal,
                    "tier": task.tier,
                    "tutorial_seed": task.tutorial_seed,
                }
                for task in sorted(tasks, key=lambda task: (_rank(task.tier), _natural(task.title)))
            ],
        }
        for category, tasks in groups.items()
        if tasks
    ]


def _rank(tier: str) -> int:
    return TIERS.index(tier) if tier in TIERS else len(TIERS)


def _natural(title: str) -> list[tuple[int, str]]:
    """A key that sorts task 2 before task 10."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in re.split(r"(\d+)", title)]


def describe(session: HumanSession, view: View) -> dict[str, Any]:
    """A view as JSON values. No score, no milestone while it is played: they would tell what the screen does not."""
    return {
        "number": view.number,
        "phase": view.phase,
        "steps": view.steps,
        "max_steps": session.max_steps,
        "timed": session.timed,
        "held": session.inputs.held,
        "refusal": view.refusal[:300],
        "error": view.error[:1000],
        "result": _result(view.episode) if view.episode else None,
    }


def _result(episode: Episode) -> dict[str, Any]:
    keys = ("id", "outcome", "outcome_detail", "scored", "score", "success", "n_steps", "agent", "seed")
    return {key: getattr(episode, key) for key in keys}


def encode(frame: Frame, *, exact: bool) -> tuple[bytes, str]:
    """A frame as a file for the browser, and its type: exact as PNG, or as JPEG where twenty a second are shown.

    Args:
        frame: (H, W, 3) uint8, RGB.
        exact: Whether every pixel is to be what it was.
    """
    buffer = io.BytesIO()
    picture = Image.fromarray(frame)
    if exact:
        picture.save(buffer, "PNG", compress_level=1)
        return buffer.getvalue(), "image/png"
    picture.save(buffer, "JPEG", quality=_JPEG_QUALITY, subsampling=0)
    return buffer.getvalue(), "image/jpeg"
