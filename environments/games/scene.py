"""The locked study: a room to look at closely, and a form of six questions about what happened in it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.drawing import Canvas
from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import scene_page as page
from environments.games.notes import show as show_note
from environments.games.scene_case import QUESTIONS, Case, Question, make_case
from environments.games.scene_room import (
    FIELDS,
    ORBITS,
    PITCHES,
    SPOTS,
    Eye,
    Thing,
    close_eye,
    lifted,
    reachable,
    readable,
    standing_eye,
    things,
)
from environments.games.scene_view import StudyView

Side = Literal["left", "right", "up", "down"]
Spot = Literal["q", "w", "e", "a", "s", "d"]

CLUES = ("tracks", "hand", "scrap", "coats", "cup", "vials", "clock", "memo", "pile")
"""The nine traces that count when they are looked at."""


class _Action(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Look(_Action):
    """Turn the head; in a close look, move around the thing."""

    do: Literal["look"]
    to: Side


class Zoom(_Action):
    """See less, larger, or more, smaller."""

    do: Literal["zoom"]
    to: Literal["in", "out"]


class Walk(_Action):
    """Walk to a spot of the plan."""

    do: Literal["walk"]
    spot: Spot


class Inspect(_Action):
    """Look closely at what bears a numbered mark in the view."""

    do: Literal["inspect"]
    mark: Annotated[int, Field(ge=1, le=9)]


class Back(_Action):
    """Stop looking closely; close the casebook."""

    do: Literal["back"]


class Casebook(_Action):
    """Open or close the casebook."""

    do: Literal["casebook"]


class Answer(_Action):
    """Answer a question of the form, for good."""

    do: Literal["answer"]
    question: Question
    choice: Literal["A", "B", "C", "D"]


class SceneAction(
    RootModel[Annotated[Look | Zoom | Walk | Inspect | Back | Casebook | Answer, Field(discriminator="do")],]
):
    """One thing to do in the room; the field `do` names it.

    look (to: left, right, up, down; around the thing in a close look) - zoom (to: in, out) - walk (spot: q, w, e, a,
    s, d, as on the plan) - inspect (mark: the number in the view) - back - casebook (the guests, the questions and
    their choices) - answer (question: who, cup, poison, way, time, order; choice: A to D). An answer is final.
    Example: {"do": "look", "to": "left"} or {"do": "answer", "question": "who", "choice": "B"}
    """


class Scene(Game):
    """A furnished room in which somebody poisoned a cup; won when all six questions are answered rightly.

    Score: 20 x traces looked at / 9 + 80 x right answers / 6 - 40 x wrong answers / 6, at least 0. A trace is looked
    at when it is in view, large enough and turned to the eye; an answer cannot be taken back.
    """

    Action: ClassVar[type[BaseModel]] = SceneAction

    def __init__(self) -> None:
        """A room; `reset` furnishes it."""
        self.case: Case
        self.spot, self.heading, self.pitch, self.zoom = "s", 2, 1, 0
        """Where one stands; the direction in eighths of a turn from east; indices of `PITCHES` and `FIELDS`."""
        self.focus = ""
        """The thing that is looked at closely, if any."""
        self.orbit, self.elevation = 0, 1
        """From where: eighths of a turn from its front, an index of `ORBITS`."""
        self.reading = False
        """Whether the casebook is open."""
        self.answers: dict[str, str] = {}
        self.seen: list[str] = []
        """Traces looked at, sorted."""
        self.turns = 0
        self.note = ""
        """Why the last action was refused, if it was."""
        self._things: dict[str, Thing] = {}
        self._view: StudyView | None = None
        self._backdrop: Canvas | None = None

    def reset(self, rng: np.random.Generator) -> None:
        """Another incident; one stands in the south, facing the table."""
        self.rng = rng
        self._furnish(make_case(rng))
        self.spot, self.heading, self.pitch, self.zoom = "s", 2, 1, 0
        self.focus, self.orbit, self.elevation, self.reading = "", 0, 1, False
        self.answers, self.seen, self.turns = {}, [], 0
        self.note = ""

    def apply(self, action: Any) -> str | None:
        """Do it, unless it is impossible here."""
        refusal = self._do(action)
        self.note = refusal or ""
        return refusal

    def _do(self, action: Any) -> str | None:
        match action:
            case Answer():
                return self._answer(action.question, action.choice)
            case Casebook():
                self.reading = not self.reading
                return None
            case Back():
                return self._back()
        if self.reading:
            return "the casebook covers the room; close it first"
        match action:
            case Look():
                return self._look(action.to)
            case Zoom():
                return self._zoom(1 if action.to == "in" else -1)
            case Walk():
                return self._walk(action.spot)
        return self._inspect(action.mark)

    def on_input(self, event: InputEvent) -> str | None:
        """Keys and buttons for all of it; the wheel zooms; clicks on marks, on the plan and on the form."""
        wanted: dict[str, Any] | None = None
        if event.kind == "key_down":
            wanted = page.action_of_key(event.key)
        elif event.kind == "scroll":
            wanted = {"do": "zoom", "to": "in" if event.clicks > 0 else "out"}
        elif event.kind == "button_down" and event.button == "left":
            marks = [] if self.reading else self._badges()
            wanted = page.action_at(event.x, event.y, marks)
        return self.apply(SceneAction.model_validate(wanted).root) if wanted else None

    def tick(self) -> None:
        """A turn has passed; note what is seen now."""
        self.turns += 1
        if not self.reading:
            eye = self.eye
            noticed = {clue for clue in CLUES if any(self._shows(eye, clue, thing) for thing in self._bearers(clue))}
            self.seen = sorted(noticed.union(self.seen))

    @property
    def eye(self) -> Eye:
        """From where and whither one looks."""
        if self.focus:
            return close_eye(self._things[self.focus], self.spot, self.orbit, self.elevation, self.zoom)
        return standing_eye(self.spot, self.heading, self.pitch, self.zoom)

    @property
    def over(self) -> bool:
        """All questions are answered."""
        return len(self.answers) == len(QUESTIONS)

    @property
    def won(self) -> bool:
        """All questions are answered rightly."""
        return self._right() == len(QUESTIONS)

    def score(self) -> float:
        """20 x traces / 9 + (80 x right - 40 x wrong) / 6, at least 0."""
        right = self._right()
        wrong = len(self.answers) - right
        return max(0.0, min(100.0, 20 * len(self.seen) / len(CLUES) + (80 * right - 40 * wrong) / len(QUESTIONS)))

    def reached(self) -> set[str]:
        """`first-trace`, `clock`, `cup`, `culprit-traces`, `all-traces`, `N-right`, `solved`; all once solved."""
        seen, right = set(self.seen), self._right()
        conditions = {
            "first-trace": bool(seen),
            "clock": {"clock", "memo"} <= seen,
            "cup": {"cup", "vials"} <= seen,
            "culprit": len(seen & {"tracks", "hand", "scrap"}) >= 2,
            "six-traces": len(seen) >= 6,
            "one-right": right >= 1,
            "three-right": right >= 3,
            "five-right": right >= 5,
            "solved": right == len(QUESTIONS),
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """Look at every trace, then answer."""
        if self.reading:
            return {"do": "casebook"}
        missing = [clue for clue in CLUES if clue not in self.seen]
        if missing:
            return self._towards(missing[0], self._bearers(missing[0])[0])
        question: Question = next((name for name in QUESTIONS if name not in self.answers), "who")
        return {"do": "answer", "question": question, "choice": self.case.right_choice(question)}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One press of a key; for an answer, one click on the form."""
        return [page.gesture(action)]

    def state(self) -> dict[str, Any]:
        """The case, where one is, what was seen and answered."""
        return {
            "case": self.case.as_json(),
            "spot": self.spot,
            "heading": self.heading,
            "pitch": self.pitch,
            "zoom": self.zoom,
            "focus": self.focus,
            "orbit": self.orbit,
            "elevation": self.elevation,
            "reading": self.reading,
            "answers": dict(self.answers),
            "seen": list(self.seen),
            "turns": self.turns,
            "note": self.note,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self._furnish(Case.from_json(state["case"]))
        self.spot, self.heading, self.pitch, self.zoom = (state[key] for key in ("spot", "heading", "pitch", "zoom"))
        self.focus, self.orbit, self.elevation = state["focus"], state["orbit"], state["elevation"]
        self.reading, self.turns, self.note = state["reading"], state["turns"], str(state["note"])
        self.answers, self.seen = dict(state["answers"]), list(state["seen"])

    def close(self) -> None:
        """Free the OpenGL context; the next picture makes another."""
        if self._view is not None:
            self._view.close()
            self._view = None

    def draw(self) -> Frame:
        """The view or the casebook, the plan and the form.

        Raises:
            RenderError: if there is no usable OpenGL.
        """
        if self._backdrop is None:
            self._backdrop = page.backdrop()
        canvas = self._backdrop.copy()
        if self.reading:
            page.casebook(canvas, self.case)
        else:
            if self._view is None:
                self._view = StudyView(self.case)
            page.view(canvas, self._view.render(self.eye), self._badges())
        page.plan(canvas, self.spot, self.heading, close=bool(self.focus))
        verdicts = {name: choice == self.case.right_choice(name) for name, choice in self._given()}
        page.form(canvas, self.answers, verdicts)
        page.figures(canvas, len(self.seen), self.turns, close=bool(self.focus), reading=self.reading)
        if self.note:
            show_note(canvas, self.note, page.NOTE)
        if self.over:
            page.ending(canvas, self._right(), won=self.won)
        return canvas.frame()

    def _furnish(self, case: Case) -> None:
        """Move into a case's room; the rendered one is kept while the case stays the same."""
        if self._things and case == self.case:
            return
        self.case = case
        self._things = {thing.id: thing for thing in things(case)}
        self.close()  # the view is of another room

    def _given(self) -> list[tuple[Question, str]]:
        return [(name, self.answers[name]) for name in QUESTIONS if name in self.answers]

    def _right(self) -> int:
        return sum(choice == self.case.right_choice(name) for name, choice in self._given())

    def _answer(self, question: Question, choice: str) -> str | None:
        if question in self.answers:
            return "this question has been answered, for good"
        self.answers[question] = choice
        return None

    def _back(self) -> str | None:
        if self.reading:
            self.reading = False
        elif self.focus:
            self.focus, self.zoom = "", 0
        else:
            return "there is nothing to step back from"
        return None

    def _look(self, to: Side) -> str | None:
        if to in ("left", "right"):
            if self.focus:
                self.orbit = (self.orbit + (1 if to == "right" else -1)) % 8
            else:
                self.heading = (self.heading + (1 if to == "left" else -1)) % 8
            return None
        step = 1 if to == "up" else -1
        index, levels = (self.elevation, ORBITS) if self.focus else (self.pitch, PITCHES)
        if not 0 <= index + step < len(levels):
            return f"one cannot go further {to} here" if self.focus else f"one cannot look further {to}"
        if self.focus:
            self.elevation += step
        else:
            self.pitch += step
        return None

    def _zoom(self, step: int) -> str | None:
        if not 0 <= self.zoom + step < len(FIELDS):
            return "the zoom goes no further"
        self.zoom += step
        return None

    def _walk(self, spot: str) -> str | None:
        if spot == self.spot and not self.focus:
            return "you stand on this spot already"
        self.spot, self.focus, self.zoom = spot, "", 0
        return None

    def _inspect(self, mark: int) -> str | None:
        marks = self._marks(self.eye)
        if self.focus or mark > len(marks):
            return "there is no such mark in the view"
        thing = marks[mark - 1][0]
        self.focus, self.orbit, self.zoom = thing.id, 0, 0
        self.elevation = 2 if thing.normal[2] > 0.5 else 1
        return None

    def _marks(self, eye: Eye) -> list[tuple[Thing, tuple[int, int]]]:
        """What can be looked at closely from here, from left to right: the nearest nine."""
        found = [(thing, pixel) for thing in self._things.values() if (pixel := reachable(eye, thing))]
        found.sort(key=lambda item: (round(eye.project(item[0].centre)[2], 3), item[0].id))
        return sorted(found[:9], key=lambda item: (item[1], item[0].id))

    def _badges(self) -> list[tuple[int, int]]:
        """Where the numbers of the marks stand, in pixels of the frame."""
        eye = self.eye
        return [] if self.focus else page.badges([lifted(eye, thing, pixel) for thing, pixel in self._marks(eye)])

    def _bearers(self, clue: str) -> list[Thing]:
        """The things that show a trace."""
        if clue == "tracks":
            return [self._things["tracks-in"], self._things["tracks-out"]]
        return [self._things[f"seat-{self.case.seats.index(self.case.victim)}" if clue == "cup" else clue]]

    @staticmethod
    def _shows(eye: Eye, clue: str, thing: Thing) -> bool:
        # The dregs lie deep in the cup: they are seen from well above.
        return readable(eye, thing, 0.75 if clue == "cup" else 0.5)

    def _towards(self, clue: str, target: Thing) -> dict[str, Any]:
        """One step of the shortest way to see a trace."""
        if self.focus == target.id:
            return self._around(clue, target)
        if self.focus:
            return {"do": "back"}
        if self.zoom:
            return {"do": "zoom", "to": "out"}
        marked = [thing.id for thing, _ in self._marks(self.eye)]
        if target.id in marked:
            return {"do": "inspect", "mark": marked.index(target.id) + 1}
        _, spot, heading, pitch = min(
            (self._effort(spot, heading, pitch), spot, heading, pitch)
            for spot in SPOTS
            for heading in range(8)
            for pitch in range(len(PITCHES))
            if self._offers(standing_eye(spot, heading, pitch, 0), target)
        )
        if spot != self.spot:
            return {"do": "walk", "spot": spot}
        if heading != self.heading:
            return {"do": "look", "to": "left" if (heading - self.heading) % 8 <= 4 else "right"}
        return {"do": "look", "to": "up" if pitch > self.pitch else "down"}

    def _offers(self, eye: Eye, target: Thing) -> bool:
        if reachable(eye, target) is None:
            return False
        return target in [thing for thing, _ in self._marks(eye)]

    def _effort(self, spot: str, heading: int, pitch: int) -> int:
        turn = (heading - self.heading) % 8
        return (spot != self.spot) + min(turn, 8 - turn) + abs(pitch - self.pitch)

    def _around(self, clue: str, target: Thing) -> dict[str, Any]:
        """Move around a thing until it can be read."""
        if self.zoom:
            return {"do": "zoom", "to": "out"}
        poses = [
            (abs(elevation - self.elevation) + min(turn, 8 - turn), turn, elevation)
            for turn in range(8)
            for elevation in range(len(ORBITS))
            if self._shows(close_eye(target, self.spot, (self.orbit + turn) % 8, elevation, 0), clue, target)
        ]
        _, turn, elevation = min(poses)
        if turn:
            return {"do": "look", "to": "right" if turn <= 4 else "left"}
        return {"do": "look", "to": "up" if elevation > self.elevation else "down"}
