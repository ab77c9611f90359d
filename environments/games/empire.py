"""Five Ambitions: found cities in an unknown land, and be great in five ways before the years run out."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import empire_view as view
from environments.games.empire_expert import advise
from environments.games.empire_rules import HEIGHT, TECHS, WIDTH, Item, Tech
from environments.games.empire_world import NO_CITY, NO_UNIT, TRADES, World
from environments.games.grid import Cell

CITIES, PEOPLE, CULTURE = 5, 22, 330
EXPLORED = 0.97
"""Share of the tiles that can come into view at all; the rest may be cut off by the last hill."""
CAMPS = 2
AMPLE = 6
"""Years left at the end that nobody needs to better."""


class _Order(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class MoveUnit(_Order):
    """Send a unit to a tile; onto a foe it attacks, a caravan into the rival's city trades, its own tile halts it."""

    do: Literal["move"]
    unit: Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"]
    column: int = Field(ge=1, le=WIDTH)
    row: int = Field(ge=1, le=HEIGHT)


class FoundCity(_Order):
    """Turn a settler into a city, where it stands."""

    do: Literal["found"]
    unit: Literal["A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P"]


class Build(_Order):
    """Put a unit or a building at the end of a city's queue."""

    do: Literal["build"]
    city: Literal["Z", "Y", "X", "W", "V", "U"]
    item: Item


class Research(_Order):
    """Choose what to research; unspent science goes along."""

    do: Literal["research"]
    tech: Tech


class EndTurn(_Order):
    """Let a year pass."""

    do: Literal["end_turn"]


Order = MoveUnit | FoundCity | Build | Research | EndTurn


class EmpireAction(RootModel[Annotated[Order, Field(discriminator="do")]]):
    """One order. Units bear the letters A to P, cities Z to U; columns 1 to 12 and rows 1 to 9 stand at the map's edge.

    {"do": "move", "unit": "B", "column": 5, "row": 3}: units go on by themselves in later turns until they are there.
    Onto a foe it is an attack (warriors and swordsmen), a caravan into the rival's city trades, and onto the unit's
    own tile it is a halt. {"do": "found", "unit": "A"}: a settler becomes a city, three tiles from any other.
    {"do": "build", "city": "Z", "item": "library"} puts an item into the queue of a city (three at most).
    {"do": "research", "tech": "writing"}. {"do": "end_turn"} lets a year pass.
    A city works as many of the eight tiles around it as it has people; each of them eats two food. It grows when its
    store of food is full. Hurt units heal while they rest.
    """


class Empire(Game):
    """A small land, forty years; won when all five ambitions are fulfilled, lost without a city or a settler.

    Score: 18 x each ambition, a share of 0..1, + 10 x haste, which is 0 until all are fulfilled and then the years
    left / 6, 1 at most. Explorer: tiles seen beyond those of the start, of 97 % of all that can be seen. Ruler:
    0.6 x cities / 5 + 0.4 x people / 22. Scholar: technologies / 8. Patron: culture / 330. Envoy: 0.25 for each of
    the two camps destroyed, and 0.5 x caravans that traded with the rival / 2, or 0.5 for the conquest of its city.
    """

    Action: ClassVar[type[BaseModel]] = EmpireAction

    def __init__(self, years: int = 40) -> None:
        """A game of `years` turns.

        Raises:
            ValueError: for fewer than ten.
        """
        if years < 10:
            raise ValueError(f"years: expected 10 at least, got {years}")
        self.years = years
        self.world = World(0)
        self.acted = False
        """Whether this step's order was given; several clicks in one gesture give one order."""
        self.held = ""
        """What is under a mouse button that is down: a chip's name or `column,row` of a tile."""
        self.refused = ""
        """Why the last order was refused; the picture says it too."""

    def reset(self, rng: np.random.Generator) -> None:
        """Another land."""
        self.rng = rng
        self.world = World(int(rng.integers(2**31)))
        self.acted, self.held, self.refused = False, "", ""

    def apply(self, action: Order) -> str | None:
        """Carry out an order."""
        self.acted = True
        reason = self._carry_out(action)
        self.refused = reason or ""
        return reason

    def _carry_out(self, action: Order) -> str | None:
        match action:
            case MoveUnit():
                return self.world.move(action.unit, (action.column - 1, action.row - 1))
            case FoundCity():
                return self.world.found(action.unit)
            case Build():
                return self.world.build(action.city, action.item)
            case Research():
                return self.world.study(action.tech)
        self.world.end_turn()
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Drags of units to tiles and of chips onto cities and settlers; clicks on technologies and `End turn`."""
        if self.acted or self.over:
            return None
        match event.kind:
            case "key_down" if event.key in ("enter", "e"):
                return self.apply(EndTurn(do="end_turn"))
            case "button_down" if event.button == "left":
                self.held = _thing_at(event.x, event.y)
            case "button_up" if event.button == "left":
                held, self.held = self.held, ""
                return self._drop(held, event.x, event.y) if held else None
        return None

    def tick(self) -> None:
        """The step is over; years pass by `end_turn` alone."""
        self.acted = False

    def release(self) -> None:
        """Nothing stays in the hand."""
        self.held = ""

    @property
    def over(self) -> bool:
        """Won, out of years, or without a people."""
        homeless = not self.world.cities and not any(unit.kind == "settler" for unit in self.world.units)
        return self.won or self.world.turn > self.years or homeless

    @property
    def won(self) -> bool:
        """All ambitions are fulfilled."""
        return all(have >= want for have, want in self._counts().values())

    def ambitions(self) -> dict[str, float]:
        """How far each of the five is fulfilled, in 0..1."""
        world = self.world
        first = world.first_seen
        seen, target = self._counts()["explored"]
        people = sum(city.population for city in world.cities)
        traded = 1.0 if world.conquered else min(world.trades / TRADES, 1.0)
        return {
            "Explorer": min((seen - first) / (target - first), 1.0),
            "Ruler": 0.6 * min(len(world.cities) / CITIES, 1.0) + 0.4 * min(people / PEOPLE, 1.0) if people else 0.0,
            "Scholar": len(world.known) / len(TECHS),
            "Patron": min(world.culture / CULTURE, 1.0),
            "Envoy": 0.5 * self._counts()["camps"][0] / CAMPS + 0.5 * traded,
        }

    def score(self) -> float:
        """18 x each ambition + 10 x haste; see the class."""
        haste = min(max(self.years - self.world.turn, 0) / AMPLE, 1.0) if self.won else 0.0
        return 18.0 * sum(self.ambitions().values()) + 10.0 * haste

    def reached(self) -> set[str]:
        """Cities, technologies, the map, the camps, the rival, culture, all ambitions."""
        counts = self._counts()
        cities, techs = counts["cities"][0], counts["techs"][0]
        conditions = {
            "first-city": cities >= 1,
            "second-city": cities >= 2,
            "five-cities": cities >= CITIES,
            "people": counts["people"][0] >= PEOPLE,
            "first-technology": techs >= 1,
            "four-technologies": techs >= 4,
            "all-technologies": techs == len(TECHS),
            "half-explored": self.ambitions()["Explorer"] >= 0.5,
            "half-culture": 2 * counts["culture"][0] >= CULTURE,
            "camp-destroyed": counts["camps"][0] >= 1,
            "rival": counts["rival"][0] >= 1,
            "all-ambitions": self.won,
        }
        return {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """What a steady ruler orders next."""
        return advise(self.world, CITIES, self._counts()["explored"][1])

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """A drag or a click for every order. What is not there is sought on a tile where there is none either."""
        world = self.world
        match action:
            case {"do": "move"}:
                goal = (action["column"] - 1, action["row"] - 1)
                unit = world.unit(action["unit"])
                start = unit.cell if unit else self._vacant(goal)
                return [_click(view.tile_centre(goal)) if start == goal else _drag(view.tile_centre(start), goal)]
            case {"do": "found"}:
                unit = world.unit(action["unit"])
                return [_drag(view.centre(view.CHIPS["found"]), unit.cell if unit else self._vacant(None))]
            case {"do": "build"}:
                city = world.city(action["city"])
                cell = city.cell if city else next(c for c in _tiles() if not world.city_at(c))
                return [_drag(view.centre(view.CHIPS[action["item"]]), cell)]
            case {"do": "research"}:
                return [_click(view.centre(view.TECH_CHIPS[action["tech"]]))]
        return [_click(view.centre(view.CHIPS["end_turn"]))]

    def state(self) -> dict[str, Any]:
        """The world, and what the hand holds."""
        return {"world": self.world.to_json(), "acted": self.acted, "held": self.held, "refused": self.refused}

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.world = World.from_json(state["world"])
        self.acted, self.held, self.refused = state["acted"], state["held"], str(state["refused"])

    def draw(self) -> Frame:
        """The map, the ambitions, technologies and cities beside it, what can be built below."""
        counts = self._counts()
        explored, cities, people, techs, culture = (
            _figure(counts[name]) for name in ("explored", "cities", "people", "techs", "culture")
        )
        camps, rival = _figure(counts["camps"]), counts["rival"]
        trade = "won" if self.world.conquered else f"{rival[0]}/{rival[1]}"
        figures = {
            "Explorer": f"tiles {explored}",
            "Ruler": f"cities {cities} people {people}",
            "Scholar": f"techs {techs}",
            "Patron": f"culture {culture}",
            "Envoy": f"camps {camps} trade {trade}",
        }
        rows = [(name, share, figures[name]) for name, share in self.ambitions().items()]
        outcome = "won" if self.won else "late" if self.world.turn > self.years else "homeless" if self.over else ""
        return view.draw(self.world, self.years, rows, self.refused, outcome, self.score())

    def _counts(self) -> dict[str, tuple[int, int]]:
        """What there is of everything that is counted, and how much it takes."""
        world = self.world
        destroyed = sum(camp.health == 0 for camp in world.camps)
        return {
            "explored": (sum(map(sum, world.seen)), int(EXPLORED * world.land.viewable)),
            "cities": (len(world.cities), CITIES),
            "people": (sum(city.population for city in world.cities), PEOPLE),
            "techs": (len(world.known), len(TECHS)),
            "culture": (world.culture, CULTURE),
            "camps": (destroyed, CAMPS),
            "rival": (TRADES if world.conquered else world.trades, TRADES),
        }

    def _vacant(self, other_than: Cell | None) -> Cell:
        """A tile without a unit of the player's."""
        return next(cell for cell in _tiles() if cell != other_than and not self.world.unit_at(cell))

    def _drop(self, held: str, x: int, y: int) -> str | None:
        """The button came up at a pixel: what the gesture as a whole means."""
        target = _thing_at(x, y)
        if held == target and held in TECHS:
            return self.apply(Research.model_validate({"do": "research", "tech": held}))
        if held == target == "end_turn":
            return self.apply(EndTurn(do="end_turn"))
        cell = view.tile_at(x, y)
        if cell is None or held in TECHS or held == "end_turn":
            return None
        if held in view.CHIPS:
            return self._use_chip(held, cell)
        column, row = (int(number) for number in held.split(","))
        unit = self.world.unit_at((column, row))
        if unit is None:
            return None if cell == (column, row) else self._refuse(NO_UNIT)
        order = {"do": "move", "unit": unit.letter, "column": cell[0] + 1, "row": cell[1] + 1}
        return self.apply(MoveUnit.model_validate(order))

    def _use_chip(self, chip: str, cell: Cell) -> str | None:
        if chip == "found":
            unit = self.world.unit_at(cell)
            if unit is None:
                return self._refuse(NO_UNIT)
            return self.apply(FoundCity.model_validate({"do": "found", "unit": unit.letter}))
        city = self.world.city_at(cell)
        if city is None:
            return self._refuse(NO_CITY)
        return self.apply(Build.model_validate({"do": "build", "city": city.letter, "item": chip}))

    def _refuse(self, reason: str) -> str:
        self.acted, self.refused = True, reason
        return reason


def _tiles() -> list[Cell]:
    return [(x, y) for y in range(HEIGHT) for x in range(WIDTH)]


def _thing_at(x: int, y: int) -> str:
    """The chip, technology or tile at a pixel; nothing elsewhere."""
    cell = view.tile_at(x, y)
    return f"{cell[0]},{cell[1]}" if cell else view.chip_at(x, y)


def _figure(count: tuple[int, int]) -> str:
    return f"{min(count)}/{count[1]}"


def _click(at: tuple[int, int]) -> dict[str, Any]:
    return {"verb": "click", "x": at[0], "y": at[1], "button": "left", "count": 1}


def _drag(start: tuple[int, int], goal: Cell) -> dict[str, Any]:
    to_x, to_y = view.tile_centre(goal)
    return {"verb": "drag", "x": start[0], "y": start[1], "to_x": to_x, "to_y": to_y, "button": "left"}
