"""The state of the empire: what is where, what of it the player knows, the ways between."""

from __future__ import annotations

from collections import deque
from dataclasses import asdict
from typing import Any, Self

from environments.games.empire_rules import (
    CITY_LETTERS,
    HEIGHT,
    UNIT_LETTERS,
    UNITS,
    WIDTH,
    City,
    Foe,
    Map,
    Tech,
    Unit,
    UnitKind,
    around,
    map_of,
    within,
)
from environments.games.grid import Cell

CAMP_HEALTH, RAIDER_HEALTH, RIVAL_HEALTH = 10, 6, 14


class Realm:
    """All that changes in a game, what the player knows of it, and the ways through it."""

    def __init__(self, number: int) -> None:
        """The first turn in the land of that number: a settler, a scout and a warrior."""
        self.number = number
        land = self.land
        self.turn = 1
        self.units: list[Unit] = []
        self.cities: list[City] = []
        self.camps = [Foe(x, y, CAMP_HEALTH) for x, y in land.camps]
        """A camp without health is destroyed."""
        self.raiders: list[Foe] = []
        self.rival = Foe(*land.rival, RIVAL_HEALTH)
        self.conquered, self.at_war = False, False
        self.trades, self.culture, self.science = 0, 0, 0
        self.known: list[Tech] = []
        self.research: Tech | None = None
        self.news: list[str] = ["Your people look for a home."]
        self.seen = [[False] * WIDTH for _ in range(HEIGHT)]
        for kind in ("settler", "scout", "warrior"):
            self.muster(kind, land.start)
        self.first_seen = sum(map(sum, self.seen))
        """Tiles seen at the start, which no player has earned."""

    @property
    def land(self) -> Map:
        """What never changes."""
        return map_of(self.number)

    # What is where

    def unit(self, letter: str) -> Unit | None:
        """The player's unit of that letter."""
        return next((unit for unit in self.units if unit.letter == letter), None)

    def city(self, letter: str) -> City | None:
        """The player's city of that letter."""
        return next((city for city in self.cities if city.letter == letter), None)

    def unit_at(self, cell: Cell) -> Unit | None:
        """The player's unit on a tile; there is never more than one."""
        return next((unit for unit in self.units if unit.cell == cell), None)

    def city_at(self, cell: Cell) -> City | None:
        """The player's city on a tile."""
        return next((city for city in self.cities if city.cell == cell), None)

    def is_seen(self, cell: Cell) -> bool:
        """Whether the tile has ever been seen."""
        return self.seen[cell[1]][cell[0]]

    def in_sight(self) -> set[Cell]:
        """The tiles that are watched at this moment: only there are raiders visible."""
        watchers = [(unit.cell, UNITS[unit.kind].sight) for unit in self.units]
        watchers += [(city.cell, 2) for city in self.cities]
        return {near for cell, sight in watchers for near in within(cell, sight)}

    def foe_at(self, cell: Cell) -> Foe | None:
        """The camp, the raiders or the rival's city on a tile, seen or not."""
        foes = [camp for camp in self.camps if camp.health > 0] + self.raiders
        if not self.conquered:
            foes.append(self.rival)
        return next((foe for foe in foes if foe.cell == cell), None)

    def visible_foes(self) -> dict[Cell, Foe]:
        """What the player knows of foes: places once seen, raiders only while watched."""
        sight = self.in_sight()
        places = [camp for camp in self.camps if camp.health > 0]
        if not self.conquered:
            places.append(self.rival)
        known = [foe for foe in places if self.is_seen(foe.cell)] + [foe for foe in self.raiders if foe.cell in sight]
        return {foe.cell: foe for foe in known}

    # What comes to be

    def look(self, cell: Cell, sight: int) -> None:
        """Somebody on that tile sees as far as `sight`; what is seen once stays known."""
        for x, y in within(cell, sight):
            self.seen[y][x] = True

    def add_city(self, cell: Cell, population: int) -> None:
        """A new city of the player's, with the first letter that is free."""
        letter = next((letter for letter in CITY_LETTERS if self.city(letter) is None), None)
        if letter:  # a realm with all its cities razes what it conquers
            self.cities.append(City(letter, *cell, population))
            self.look(cell, 2)

    def muster(self, kind: UnitKind, cell: Cell) -> bool:
        """A new unit on the tile or next to it, if there is room."""
        letter = next((letter for letter in UNIT_LETTERS if self.unit(letter) is None), None)
        places = [
            near
            for near in (cell, *around(cell))
            if self.land.passable(near) and not self.unit_at(near) and not self.foe_at(near)
        ]
        if letter is None or not places:
            return False
        self.units.append(Unit(letter, kind, *places[0], UNITS[kind].moves))
        self.look(places[0], UNITS[kind].sight)
        return True

    # Ways

    def way(self, start: Cell, goal: Cell) -> list[Cell]:
        """The shortest way by what the player knows, without its start; empty if there is none.

        Unseen tiles are taken for land. Foes block it unless they are its goal; the player's own units do not.
        """
        blocked = self.visible_foes().keys() - {goal}
        came: dict[Cell, Cell] = {start: start}
        queue = deque([start])
        while queue and goal not in came:
            here = queue.popleft()
            for cell in around(here):
                if cell in came or cell in blocked or (self.is_seen(cell) and not self.land.passable(cell)):
                    continue
                came[cell] = here
                queue.append(cell)
        if goal not in came:
            return []
        way = [goal]
        while came[way[-1]] != start:
            way.append(came[way[-1]])
        return way[::-1]

    # The state

    def to_json(self) -> dict[str, Any]:
        """JSON values from which `from_json` builds an equal realm."""
        units = [asdict(unit) | {"goal": list(unit.goal) if unit.goal else None} for unit in self.units]
        return {
            "number": self.number,
            "turn": self.turn,
            "units": units,
            "cities": [asdict(city) for city in self.cities],
            "camps": [asdict(camp) for camp in self.camps],
            "raiders": [asdict(band) for band in self.raiders],
            "rival": asdict(self.rival),
            "conquered": self.conquered,
            "at_war": self.at_war,
            "trades": self.trades,
            "culture": self.culture,
            "science": self.science,
            "known": list(self.known),
            "research": self.research,
            "news": list(self.news),
            "seen": ["".join("x" if tile else "." for tile in row) for row in self.seen],
            "first_seen": self.first_seen,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The realm that `to_json` described.

        Raises:
            TypeError, LookupError: for anything else.
        """
        realm = cls(data["number"])
        realm.units = [Unit(**unit | {"goal": tuple(unit["goal"]) if unit["goal"] else None}) for unit in data["units"]]
        realm.cities = [
            City(**city | {"queue": list(city["queue"]), "buildings": list(city["buildings"])})
            for city in data["cities"]
        ]
        realm.camps = [Foe(**camp) for camp in data["camps"]]
        realm.raiders = [Foe(**band) for band in data["raiders"]]
        realm.rival = Foe(**data["rival"])
        for name in ("turn", "conquered", "at_war", "trades", "culture", "science", "research", "first_seen"):
            setattr(realm, name, data[name])
        realm.known, realm.news = list(data["known"]), list(data["news"])
        realm.seen = [[tile == "x" for tile in row] for row in data["seen"]]
        return realm
