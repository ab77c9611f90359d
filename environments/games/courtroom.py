"""One False Word: hear the witnesses, read the evidence, find the one statement that cannot be true."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import courtroom_view as view
from environments.games.courtroom_case import LETTERS, Case, Testimony, case_of

Letter = Literal["A", "B", "C", "D", "E", "F"]
FILE = "file"
PATIENCE = 4
"""Wrong presentations that end the trial."""
TESTIMONIES = 3
PAR = 40
"""Turns of somebody who opens everything and hears every statement once: the full economy."""
LATE = 100
"""Turns from which economy is worth nothing."""
_KEYS = {"right": "next", "left": "previous", "p": "press"}


class _Move(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Walk(_Move):
    """Go to the next or the previous statement, or press the witness about this one."""

    do: Literal["next", "previous", "press"]


class Open(_Move):
    """Read a piece of evidence, or the case file."""

    do: Literal["open"]
    item: Literal["A", "B", "C", "D", "E", "F", "file"]


class Present(_Move):
    """Present a piece of evidence against the statement that is shown."""

    do: Literal["present"]
    evidence: Letter


class CourtroomAction(RootModel[Annotated[Walk | Open | Present, Field(discriminator="do")]]):
    """One thing that the defence does. In each testimony one statement is contradicted by one piece of evidence.

    {"do": "next"} and {"do": "previous"} go through the statements, round and round. {"do": "press"} asks the
    witness for more about the statement that is shown. {"do": "open", "item": "B"} reads evidence A to F, and
    "item": "file" the case file. {"do": "present", "evidence": "B"} holds evidence that has been read against the
    statement that is shown; if they do not contradict each other, the judge loses patience.
    """


class Courtroom(Game):
    """Three testimonies, six pieces of evidence; won when all three lies are exposed, lost with the judge's patience.

    Score: 28 x lies exposed + 16 x economy - 6 x wrong presentations, within 0..100. Economy is 0 until
    the third lie is exposed, then 1 up to 40 turns, falling to 0 at 100 turns.
    """

    Action: ClassVar[type[BaseModel]] = CourtroomAction

    def __init__(self) -> None:
        """There is nothing to set."""
        self.number = 0
        """Which case this is."""
        self.found, self.wrong, self.turns = 0, 0, 0
        self.statement = 0
        self.heard: list[int] = []
        """Statements of this testimony that were shown, sorted."""
        self.pressed: list[int] = []
        self.opened: list[str] = []
        """Letters of the evidence that was read, sorted; the case file is not among them."""
        self.shown = ""
        """What lies open: a letter, `file` or nothing."""
        self.message = ""
        self.acted = False
        """Whether this step's move was made; several clicks in one gesture make one move."""
        self.held = ""
        """The card under a mouse button that is down."""

    def reset(self, rng: np.random.Generator) -> None:
        """Another case."""
        self.rng = rng
        self.number = int(rng.integers(2**31))
        self.found = self.wrong = self.turns = 0
        self.opened, self.shown, self.message = [], "", "The first witness takes the stand."
        self.acted, self.held = False, ""
        self._call_witness()

    @property
    def case(self) -> Case:
        """The case at trial."""
        return case_of(self.number)

    @property
    def testimony(self) -> Testimony:
        """The testimony being heard; after the end the last one."""
        return self.case.testimonies[min(self.found, TESTIMONIES - 1)]

    def apply(self, action: Walk | Open | Present) -> str | None:
        """Walk through the statements, press, open or present."""
        self.acted = True
        reason = self._carry_out(action)
        if reason is not None:
            self.message = f"Refused: {reason}."
        return reason

    def _carry_out(self, action: Walk | Open | Present) -> str | None:
        if isinstance(action, Open):
            return self._open(action.item)
        if isinstance(action, Present):
            return self._present(action.evidence)
        if action.do == "press":
            return self._press()
        count = len(self.testimony.statements)
        self.statement = (self.statement + (1 if action.do == "next" else -1)) % count
        self.heard = sorted({*self.heard, self.statement})
        self.message = ""
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Buttons and cards are clicked, cards are dragged onto the testimony, keys do the same."""
        if self.acted or self.over:
            return None
        match event.kind:
            case "key_down":
                return self._on_key(event.key)
            case "button_down" if event.button == "left":
                self.held = view.card_at(event.x, event.y)
            case "button_up" if event.button == "left":
                return self._on_button_up(event.x, event.y)
        return None

    def tick(self) -> None:
        """A turn is over, whatever was done in it."""
        self.turns += 1
        self.acted = False

    def release(self) -> None:
        """No card stays in the hand."""
        self.held = ""

    @property
    def over(self) -> bool:
        """Won, or the judge's patience is at its end."""
        return self.won or self.wrong >= PATIENCE

    @property
    def won(self) -> bool:
        """All lies are exposed."""
        return self.found >= TESTIMONIES

    def score(self) -> float:
        """28 x lies exposed + 16 x economy - 6 x wrong presentations; see the class."""
        economy = min(max(LATE - self.turns, 0) / (LATE - PAR), 1.0) if self.won else 0.0
        return max(28.0 * self.found + 16.0 * economy - 6.0 * self.wrong, 0.0)

    def reached(self) -> set[str]:
        """Evidence read, statements walked through, pressed, and each lie exposed."""
        moved = len(self.heard) > 1
        conditions = {
            "evidence-read": bool(self.opened),
            "second-statement": self.found > 0 or moved,
            "lie-1": self.found > 0,
            "second-witness-heard": self.found > 1 or (self.found == 1 and moved),
            "second-witness-pressed": self.found > 1 or (self.found == 1 and bool(self.pressed)),
            "lie-2": self.found > 1,
            "third-witness-heard": self.found > 2 or (self.found == 2 and moved),
            "acquitted": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """Hear all statements, go to the lie, press if it is not told yet, read what matters, present.

        It knows the answer, but shows its grounds: whoever watches a tutorial sees them on the screen.
        """
        told = self.testimony
        if len(self.heard) < len(told.statements):
            return {"do": "next"}
        if self.statement != told.lie:
            forward = (told.lie - self.statement) % len(told.statements)
            return {"do": "next" if forward <= len(told.statements) // 2 else "previous"}
        if told.needs_press and told.lie not in self.pressed:
            return {"do": "press"}
        if self.found == TESTIMONIES - 1 and not self.shown:
            return {"do": "open", "item": FILE}  # it takes a line of the case file to see the last lie
        if self.shown != told.answer:
            return {"do": "open", "item": told.answer}
        return {"do": "present", "evidence": told.answer}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """A click on a button or a card; to present, the card is dragged onto the testimony."""
        if action["do"] == "present":
            x, y = view.centre(view.CARDS[action["evidence"]])
            to_x, to_y = view.centre(view.TESTIMONY)
            return [{"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "button": "left"}]
        box = view.CARDS[action["item"]] if action["do"] == "open" else view.BUTTONS[action["do"]]
        x, y = view.centre(box)
        return [{"verb": "click", "x": x, "y": y, "button": "left", "count": 1}]

    def state(self) -> dict[str, Any]:
        """The number of the case, and how far it has come."""
        return {
            "number": self.number,
            "found": self.found,
            "wrong": self.wrong,
            "turns": self.turns,
            "statement": self.statement,
            "heard": list(self.heard),
            "pressed": list(self.pressed),
            "opened": list(self.opened),
            "shown": self.shown,
            "message": self.message,
            "acted": self.acted,
            "held": self.held,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.number, self.found, self.wrong = state["number"], state["found"], state["wrong"]
        self.turns, self.statement = state["turns"], state["statement"]
        self.heard, self.pressed, self.opened = list(state["heard"]), list(state["pressed"]), list(state["opened"])
        self.shown, self.message = state["shown"], state["message"]
        self.acted, self.held = state["acted"], state["held"]

    def draw(self) -> Frame:
        """The courtroom, the statement, the court record."""
        told = self.testimony
        statement = told.statements[self.statement]
        return view.draw(
            view.Scene(
                case=self.case,
                witness=told.witness,
                index=self.statement,
                count=len(told.statements),
                text=statement.text,
                addition=statement.addition if self.statement in self.pressed else "",
                heard=tuple(self.heard),
                found=self.found,
                total=TESTIMONIES,
                patience=PATIENCE - self.wrong,
                full_patience=PATIENCE,
                turns=self.turns,
                opened=tuple(self.opened),
                shown=self.shown,
                message=self.message,
                outcome="won" if self.won else "lost" if self.over else "",
            )
        )

    def _call_witness(self) -> None:
        self.statement, self.heard, self.pressed = 0, [0], []

    def _press(self) -> str | None:
        if self.statement in self.pressed:
            return "the witness has been pressed about this statement already"
        self.pressed = sorted([*self.pressed, self.statement])
        self.message = "You press the witness, who answers (in blue)."
        return None

    def _open(self, item: str) -> str | None:
        if item == self.shown:
            return "this lies open already"
        self.shown, self.message = item, ""
        if item != FILE:
            self.opened = sorted({*self.opened, item})
        return None

    def _present(self, letter: str) -> str | None:
        if letter not in self.opened:
            return "only evidence that has been opened and read can be presented"
        told = self.testimony
        told_so_far = not told.needs_press or told.lie in self.pressed
        if letter != told.answer or self.statement != told.lie or not told_so_far:
            self.wrong += 1
            self.message = f"“I see no contradiction in that”, says the judge. ({letter} was presented.)"
            return None
        name = self.case.evidence[LETTERS.index(letter)].name
        self.found += 1
        if self.won:
            self.message = f"{letter}, {name}: a contradiction! The last lie is exposed."
            return None  # the last statement stays in view
        self.message = f"{letter}, {name}: a contradiction! The {told.witness} falls silent. Another witness is called."
        self._call_witness()
        self.shown = ""
        return None

    def _on_key(self, key: str) -> str | None:
        if key in _KEYS:
            return self.apply(Walk.model_validate({"do": _KEYS[key]}))
        if key == "0":
            return self.apply(Open(do="open", item="file"))
        letter = key.upper()
        if len(letter) == 1 and letter in LETTERS:
            return self.apply(Open.model_validate({"do": "open", "item": letter}))
        if key == "enter":
            if self.shown in ("", FILE):
                reason = "open the piece of evidence that is to be presented first"
                self.message = f"Refused: {reason}."
                return reason
            return self.apply(Present.model_validate({"do": "present", "evidence": self.shown}))
        return None

    def _on_button_up(self, x: int, y: int) -> str | None:
        card, self.held = self.held, ""
        if card:
            if view.card_at(x, y) == card:
                return self.apply(Open.model_validate({"do": "open", "item": card}))
            if card != FILE and view.inside(view.TESTIMONY, x, y):
                return self.apply(Present.model_validate({"do": "present", "evidence": card}))
            return None
        button = view.button_at(x, y)
        return self.apply(Walk.model_validate({"do": button})) if button else None
