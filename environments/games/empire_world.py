"""How the empire goes on: orders, battles, cities, the turn of the year."""

from __future__ import annotations

from environments.games.empire_realm import RAIDER_HEALTH, RIVAL_HEALTH, Realm
from environments.games.empire_rules import (
    APART,
    CITY_LETTERS,
    FULL_HEALTH,
    ITEMS,
    TECHS,
    UNITS,
    City,
    Foe,
    Item,
    Tech,
    Unit,
    Yields,
    apart,
    around,
)
from environments.games.grid import Cell

CAMP_STRENGTH, RAIDER_STRENGTH, RIVAL_STRENGTH = 3, 2, 4
RAID_EVERY, FIRST_RAID = 10, 12
QUEUE = 3
MOST_PEOPLE = 7
TRADES = 2
NO_UNIT = "there is no such unit of yours"
NO_CITY = "there is no such city of yours"


class World(Realm):
    """A realm and the rules by which it changes; refusals are returned as reasons."""

    # Orders

    def move(self, letter: str, goal: Cell) -> str | None:
        """Send a unit to a tile; it walks now and, if it is far, in the turns to come. Onto itself: halt."""
        unit = self.unit(letter)
        if unit is None:
            return NO_UNIT
        if unit.cell == goal:
            unit.goal = None
            return None
        if self.is_seen(goal) and not self.land.passable(goal):
            return "nobody can walk on water or on a mountain"
        if self.unit_at(goal):
            return "another unit of yours is there"
        foe = self.visible_foes().get(goal)
        if foe and UNITS[unit.kind].strength == 0 and not (foe is self.rival and unit.kind == "caravan"):
            return "this unit cannot fight"
        if foe is self.rival and unit.kind == "caravan" and self.at_war:
            return "the rival does not trade with an enemy"
        if not self.way(unit.cell, goal):
            return "no way there is known"
        unit.goal = goal
        self._walk(unit)
        return None

    def found(self, letter: str) -> str | None:
        """Make a city of a settler, where it stands."""
        unit = self.unit(letter)
        if unit is None:
            return NO_UNIT
        if unit.kind != "settler":
            return "only a settler can found a city"
        if len(self.cities) == len(CITY_LETTERS):
            return "the realm has as many cities as it can rule"
        others = [city.cell for city in self.cities] + [self.rival.cell]
        if any(apart(unit.cell, other) < APART for other in others):
            return "another city is too near"
        self.units.remove(unit)
        self.add_city(unit.cell, 1)
        self.news = [f"City {self.cities[-1].letter} is founded."]
        return None

    def build(self, letter: str, item: Item) -> str | None:
        """Put something at the end of a city's queue."""
        city, rule = self.city(letter), ITEMS[item]
        if city is None:
            return NO_CITY
        if rule.tech and rule.tech not in self.known:
            return "the technology for it is not known"
        if item not in UNITS and (item in city.buildings or item in city.queue):
            return "this city has it, or is about to build it"
        if len(city.queue) == QUEUE:
            return "the queue of this city is full"
        city.queue.append(item)
        return None

    def study(self, tech: Tech) -> str | None:
        """Choose what the science goes into; what was gathered goes along."""
        if tech in self.known:
            return "this technology is known already"
        if tech == self.research:
            return "this is being researched"
        if any(before not in self.known for before in TECHS[tech].after):
            return "another technology must come first"
        self.research = tech
        return None

    # On the way

    def _walk(self, unit: Unit) -> None:
        """Go on towards the goal as far as this turn allows.

        With one unit a tile, a narrow pass would be closed by anybody who rests in it: units change places with
        those that rest or come towards them, and wait behind those that go the same way.
        """
        while unit.goal and unit.moves > 0:
            way = self.way(unit.cell, unit.goal)
            if not way:
                if self.is_seen(unit.goal) and not self.land.passable(unit.goal):
                    unit.goal = None
                return
            foe = self.foe_at(way[0])
            if foe:
                unit.goal, unit.moves = None, 0
                self._meet(unit, foe)
                return
            friend = self.unit_at(way[0])
            if friend and way[0] == unit.goal:
                unit.goal = None
                return
            if friend:
                if friend.goal and self.way(friend.cell, friend.goal)[:1] != [unit.cell]:
                    return
                friend.x, friend.y = unit.cell
            unit.x, unit.y = way[0]
            unit.moves -= 1
            self.look(unit.cell, UNITS[unit.kind].sight)
            if unit.cell == unit.goal:
                unit.goal = None

    # Meetings

    def _meet(self, unit: Unit, foe: Foe) -> None:
        if foe is self.rival and unit.kind == "caravan":
            if not self.at_war:
                self.units.remove(unit)
                self.trades += 1
                self.news = ["The caravan trades with the rival."]
            return
        if UNITS[unit.kind].strength == 0:
            return
        where = "The rival's city" if foe is self.rival else "The camp" if foe in self.camps else "The band"
        self.at_war = self.at_war or foe is self.rival
        strength = self.strength_of(foe)
        foe.health = max(foe.health - _blow(self.strength(unit), strength), 0)
        if foe.health == 0:
            self.news = [f"{where} falls to unit {unit.letter}."]
            self._fall(unit, foe)
            unit.health = max(unit.health - _blow(strength, self.strength(unit)), 1)
            return
        unit.health -= _blow(strength, self.strength(unit))
        self.news = [f"Unit {unit.letter} attacks. {where} holds."]
        if unit.health <= 0:
            self.units.remove(unit)
            self.news = [f"Unit {unit.letter} is lost in its attack."]

    def _fall(self, unit: Unit, foe: Foe) -> None:
        if foe is self.rival:
            self.conquered = True
            self.add_city(foe.cell, 2)
        elif foe in self.raiders:
            self.raiders.remove(foe)
        unit.x, unit.y = foe.cell
        self.look(unit.cell, UNITS[unit.kind].sight)

    def strength(self, unit: Unit) -> int:
        """Strength in battle; bronze makes every fighter stronger by one."""
        base = UNITS[unit.kind].strength
        return base + ("bronze" in self.known) if base else 0

    def strength_of(self, foe: Foe) -> int:
        """Strength of a foe."""
        if foe is self.rival:
            return RIVAL_STRENGTH + self.turn // 15  # it arms itself as the years pass
        return CAMP_STRENGTH if foe in self.camps else RAIDER_STRENGTH

    # Cities

    def worked(self, city: City) -> list[Cell]:
        """The tiles that the people of a city work, the best first: food until it feeds them, then the rest."""
        free = sorted(cell for cell in around(city.cell) if self.foe_at(cell) is None)
        chosen: list[Cell] = []
        for _ in range(city.population):
            hungry = self._sum(city, chosen).food < 2 * city.population + 2
            rates = {cell: _rate(self.land.yields(cell), hungry) for cell in free if cell not in chosen}
            if rates:
                chosen.append(max(rates, key=rates.__getitem__))
        return chosen

    def yields(self, city: City) -> Yields:
        """Food, production and science of a turn, buildings included, what the people eat not taken off."""
        return self._sum(city, self.worked(city))

    def culture_of(self, city: City) -> int:
        """Culture of a turn."""
        return 1 + 2 * ("monument" in city.buildings) + 3 * ("temple" in city.buildings)

    def _sum(self, city: City, worked: list[Cell]) -> Yields:
        tiles = [self.land.yields(cell) for cell in worked]
        own, has = self.land.yields(city.cell), city.buildings
        return Yields(
            max(own.food, 2) + sum(tile.food for tile in tiles) + 2 * ("granary" in has),
            max(own.production, 1)
            + sum(tile.production for tile in tiles)
            + 2 * ("workshop" in has)
            + ("engineering" in self.known),
            1 + own.science + sum(tile.science for tile in tiles) + 3 * ("library" in has),
        )

    def _run(self, city: City) -> None:
        """One turn of a city: it eats, grows or starves, builds, thinks."""
        food, production, science = self.yields(city)
        city.food += food - 2 * city.population
        if city.food < 0:
            city.food, city.population = 0, max(city.population - 1, 1)
        elif city.food >= city.food_to_grow and city.population < MOST_PEOPLE:
            city.food -= city.food_to_grow
            city.population += 1
        city.food = min(city.food, city.food_to_grow)
        self.science += science
        self.culture += self.culture_of(city)
        city.production += production
        if not city.queue:
            city.production = min(city.production, 10)  # a store, not a treasury
            return
        item = city.queue[0]
        if city.production < ITEMS[item].cost:
            return
        if item in UNITS:
            if not self.muster(item, city.cell):
                return  # no room for it: it waits
        else:
            city.buildings.append(item)
        city.production -= ITEMS[item].cost
        city.queue.pop(0)
        self.news.append(f"{city.letter}: {item} ready.")

    # The turn

    def end_turn(self) -> None:
        """Cities work, science advances, foes act, units rest, and those on their way walk on."""
        self.news = []
        for city in self.cities:
            self._run(city)
        if self.research and self.science >= TECHS[self.research].cost:
            self.science -= TECHS[self.research].cost
            self.known.append(self.research)
            self.news.append(f"{self.research.capitalize()} is known.")
            self.research = None
        self._foes_act()
        self.turn += 1
        for unit in self.units:
            rested = unit.moves == UNITS[unit.kind].moves and unit.goal is None
            gain = 4 if self.city_at(unit.cell) else 2
            unit.health = min(unit.health + (gain if rested else 0), FULL_HEALTH)
            unit.moves = UNITS[unit.kind].moves
        for unit in list(self.units):
            self._walk(unit)

    def _foes_act(self) -> None:
        if not self.conquered:
            near = [unit for unit in self.units if apart(unit.cell, self.rival.cell) == 1] if self.at_war else []
            for unit in near:
                self._hurt(unit, 2, "The rival's archers")
            self.rival.health = min(self.rival.health + 1, RIVAL_HEALTH)
        for band in list(self.raiders):
            self._raid(band)
        for number, home in enumerate([*self.camps, self.rival]):
            hostile = (self.at_war and not self.conquered) if home is self.rival else home.health > 0
            due = self.turn >= FIRST_RAID and (self.turn - FIRST_RAID) % RAID_EVERY == 4 * number
            if hostile and due and not any(band.home == number for band in self.raiders):
                free = [
                    cell
                    for cell in around(home.cell)
                    if self.land.passable(cell) and not self.unit_at(cell) and not self.city_at(cell)
                    if not self.foe_at(cell)
                ]
                if free:
                    self.raiders.append(Foe(*free[0], RAIDER_HEALTH, number))

    def _raid(self, band: Foe) -> None:
        """Strike what is next to the band, else come one step nearer to what can be robbed."""
        for cell in around(band.cell):
            unit, city = self.unit_at(cell), self.city_at(cell)
            if unit:
                self._strike(band, unit)
                return
            if city:
                city.population, city.production = max(city.population - 1, 1), 0
                self.raiders.remove(band)
                self.news.append(f"Raiders rob city {city.letter}.")
                return
        targets = [unit.cell for unit in self.units] + [city.cell for city in self.cities]
        if not targets:
            return
        goal = min(targets, key=lambda cell: (apart(cell, band.cell), cell))
        free = [cell for cell in around(band.cell) if self.land.passable(cell) and not self.foe_at(cell)]
        nearer = [cell for cell in free if apart(cell, goal) < apart(band.cell, goal)]
        if nearer:
            band.x, band.y = nearer[0]

    def _strike(self, band: Foe, unit: Unit) -> None:
        strength = self.strength(unit)
        if strength == 0:
            self.units.remove(unit)
            self.news.append(f"Raiders take unit {unit.letter}.")
            return
        band.health -= _blow(strength, RAIDER_STRENGTH)
        self._hurt(unit, _blow(RAIDER_STRENGTH, strength), "Raiders")
        if band.health <= 0:
            self.raiders.remove(band)

    def _hurt(self, unit: Unit, damage: int, who: str) -> None:
        unit.health -= damage
        if unit.health <= 0:
            self.units.remove(unit)
            self.news.append(f"{who} destroy unit {unit.letter}.")
        else:
            self.news.append(f"{who} strike unit {unit.letter}.")


def _blow(attacker: int, defender: int) -> int:
    """Damage of one blow, rounded to the nearest: 4 between equals."""
    return max((8 * attacker + defender) // (2 * defender), 1)


def _rate(yields: Yields, hungry: bool) -> float:
    return (3 if hungry else 1) * yields.food + 1.5 * yields.production + 1.2 * yields.science
