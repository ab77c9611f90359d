"""Survival: gather, craft and stay alive on an island until its beacon is lit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games import survival_creatures, survival_expert, survival_view
from environments.games import survival_world as world
from environments.games.grid import STEPS, Cell, Direction, neighbour
from environments.games.notes import Note
from environments.games.survival_clock import DAY_TICKS, DUSK_TICKS
from environments.games.survival_craft import BY_KEY, MATERIALS, RECIPES, TOOLS, Item, Recipe
from environments.games.survival_creatures import Creature

Milliseconds = Annotated[int, Field(ge=0, le=2000)]


class _Deed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Move(_Deed):
    """Walk one cell each quarter of a second; whoever cannot walk turns."""

    do: Literal["move"]
    direction: Direction
    ms: Milliseconds = 250


class Use(_Deed):
    """Use what is ahead, again each quarter of a second."""

    do: Literal["use"]
    ms: Milliseconds = 250


class Craft(_Deed):
    """Make something of the menu."""

    do: Literal["craft"]
    item: Item


class Sleep(_Deed):
    """Lie down; being hurt hurts more."""

    do: Literal["sleep"]
    ms: Milliseconds = 2000


class Wait(_Deed):
    """Let time pass."""

    do: Literal["wait"]
    ms: Milliseconds = 250


Deed = Move | Use | Craft | Sleep | Wait


class SurvivalAction(RootModel[Annotated[Deed, Field(discriminator="do")]]):
    """Walk, use what is ahead, craft, sleep or wait. Time runs: `ms` (0 to 2000) is how long the action goes on.

    {"do": "move", "direction": "up"|"down"|"left"|"right", "ms": 750} walks a cell each 250 ms and looks that way;
    if something is in the way, it only turns towards it.
    {"do": "use", "ms": 500} takes wood, stone and ores, drinks water, eats from bushes, hits creatures: whatever is
    directly ahead, once each 250 ms.
    {"do": "craft", "item": "workbench"|"palisade"|"wood_pickaxe"|"stone_pickaxe"|"stone_sword"|"furnace"|
    "iron_pickaxe"|"beacon"} makes a thing of the menu, at the place that the menu names (within two cells of it). The
    palisade closes the free cells on all four sides.
    {"do": "sleep", "ms": 2000} restores energy, {"do": "wait", "ms": 250} lets time pass.
    Example: {"do": "move", "direction": "left", "ms": 750}
    """


MOST = 9
"""Full health, food, water and energy."""
_FOOD_TICKS, _WATER_TICKS, _ENERGY_TICKS = 26, 22, 34
_STARVE_TICKS, _HEAL_TICKS, _SLEEP_TICKS = 10, 14, 3
_RIPEN_TICKS = 200
_NOTE_TICKS = 8
"""How long a refusal is shown."""
_SIGHT = (5, 4)
"""Cells that are seen to each side of the player: 11 x 9 in all."""

POINTS = {
    "wood": 4,
    "workbench": 6,
    "wood-pickaxe": 6,
    "stone": 6,
    "coal": 6,
    "stone-pickaxe": 8,
    "furnace": 8,
    "iron": 8,
    "ember": 10,
    "iron-pickaxe": 12,
    "crystal": 10,
    "beacon": 16,
}
"""What each milestone is worth; 100 together."""


@dataclass(slots=True)
class Needs:
    """Health and what keeps it up, each in 0..9."""

    health: int = MOST
    food: int = MOST
    water: int = MOST
    energy: int = MOST


class Survival(Game):
    """An island larger than the view, with day and night; won when the beacon is lit, lost when health is gone.

    Health falls while food, water or energy is used up, and by the hands of the shades that come at night.

    Score: the sum of `POINTS` over the milestones that are reached.
    """

    Action: ClassVar[type[BaseModel]] = SurvivalAction
    tick_ms: ClassVar[int | None] = 250

    def __init__(self, grazers: int = 9, shades: int = 3) -> None:
        """An island with so many grazers, and at most so many shades at a time.

        Raises:
            ValueError: for a negative number of either.
        """
        if grazers < 0 or shades < 1:
            raise ValueError(f"grazers: expected 0 or more, shades: 1 or more, got {grazers} and {shades}")
        self.grazers, self.shades = grazers, shades
        self.tiles: world.Tiles = []
        self.seen: list[list[bool]] = []
        """Row by row, the cells that have been in view."""
        self.player: Cell = (0, 0)
        self.facing: Direction = "down"
        self.needs = Needs()
        self.carried: dict[str, int] = {}
        """How many of each material and tool."""
        self.creatures: list[Creature] = []
        self.ripening: list[tuple[int, int, int]] = []
        """Bare bushes: x, y, and the tick at which they bear again."""
        self.clock = 0
        self.done: list[str] = []
        """Milestones in the order in which they were reached."""
        self.held: Direction | Literal["use", "sleep"] | None = None
        """What goes on with every tick until the step ends."""
        self.asleep = False
        self.struck = False
        """Whether the last tick hurt; the picture shows it."""
        self.note = Note()
        self._view = survival_view.View()

    def reset(self, rng: np.random.Generator) -> None:
        """Another island, at daybreak."""
        self.rng = rng
        self.tiles, self.player = world.make_island(rng)
        self.seen = [[False] * world.SIZE for _ in range(world.SIZE)]
        self.facing, self.needs, self.carried = "down", Needs(), dict.fromkeys((*MATERIALS, *TOOLS), 0)
        self.creatures = survival_creatures.herd(self.tiles, self.player, self.grazers, rng)
        self.ripening, self.clock, self.done = [], 0, []
        self.held, self.asleep, self.struck = None, False, False
        self.note = Note()
        self._look_around()

    @property
    def night(self) -> bool:
        """Whether shades are about."""
        return self.clock % DAY_TICKS >= DUSK_TICKS

    @property
    def pickaxe(self) -> int:
        """Tier of the best pickaxe: none, wood, stone, iron."""
        return max((tier for tier, tool in enumerate(TOOLS[:3], 1) if self.carried[tool]), default=0)

    @property
    def ahead(self) -> Cell:
        """The cell that the player looks at."""
        return neighbour(self.player, self.facing)

    def creature_at(self, cell: Cell) -> Creature | None:
        """Who stands there."""
        return next((creature for creature in self.creatures if creature.cell == cell), None)

    def free(self, cell: Cell) -> bool:
        """Whether one could walk or build there."""
        return world.tile(self.tiles, cell) in world.GROUND and cell != self.player and self.creature_at(cell) is None

    def near(self, site: str) -> bool:
        """Whether a workbench or furnace stands within two cells."""
        wanted = {"workbench": world.WORKBENCH, "furnace": world.FURNACE}.get(site)
        x, y = self.player
        around = ((x + dx, y + dy) for dy in range(-2, 3) for dx in range(-2, 3))
        return wanted is None or any(world.tile(self.tiles, cell) == wanted for cell in around)

    def apply(self, action: Deed) -> str | None:
        """Begin to walk, use or sleep, or craft at once."""
        if isinstance(action, Wait):
            return None
        return self.note.tell(self._begin(action), _NOTE_TICKS)

    def _begin(self, action: Deed) -> str | None:
        match action:
            case Move(direction=direction):
                self.held = direction
            case Use():
                return self._begin_use()
            case Sleep():
                if self.needs.energy == MOST:
                    return "nobody can sleep who is not tired"
                self.held = "sleep"
            case Craft(item=item):
                return self._craft(RECIPES[item])
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys walk, space uses, z sleeps, the numbers craft."""
        if event.kind == "key_up" and self.held is not None and _KEYS[self.held] == event.key:
            self.held = None
        if event.kind != "key_down":
            return None
        for direction in STEPS:
            if event.key == direction:
                return self.apply(Move(do="move", direction=direction))
        if event.key in BY_KEY:
            return self.apply(Craft(do="craft", item=BY_KEY[event.key].item))
        match event.key:
            case "space":
                return self.apply(Use(do="use"))
            case "z":
                return self.apply(Sleep(do="sleep"))
        return None

    def tick(self) -> None:
        """A quarter of a second: the player's deed, needs, bushes, creatures."""
        if self.over:
            return
        self.clock += 1
        self.note.fade()
        self.struck, self.asleep = False, self.held == "sleep"
        if self.held == "use":
            if self._useless() is None:
                self._use()
        elif self.held is not None and self.held != "sleep":
            self._walk(self.held)
        self._live()
        self._ripen()
        survival_creatures.move_all(self)
        self._look_around()

    def release(self) -> None:
        """Stand still."""
        self.held = None

    @property
    def over(self) -> bool:
        """The beacon is lit, or health is gone."""
        return self.won or self.needs.health <= 0

    @property
    def won(self) -> bool:
        """The beacon is lit."""
        return "beacon" in self.done

    def score(self) -> float:
        """The sum of `POINTS` over the milestones reached."""
        return float(sum(POINTS[milestone] for milestone in self.done))

    def reached(self) -> set[str]:
        """The keys of `POINTS`: the first of each material, and each necessary thing made."""
        return set(self.done)

    def expert(self) -> dict[str, Any]:
        """Needs and dangers first, then the next thing that the beacon asks for."""
        return survival_expert.plan(self)

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """One key held, one key pressed, or hands off."""
        match action:
            case {"do": "move", "direction": key, "ms": ms}:
                return [{"verb": "hold", "key": key, "ms": ms}]
            case {"do": "use" | "sleep" as held, "ms": ms}:
                return [{"verb": "hold", "key": _KEYS[held], "ms": ms}]
            case {"do": "craft", "item": item}:
                return [{"verb": "press", "key": RECIPES[item].key}]
        return [{"verb": "wait", "ms": action["ms"]}]

    def state(self) -> dict[str, Any]:
        """The island row by row, what is known of it, the player, the creatures, the clock."""
        return {
            "tiles": ["".join(row) for row in self.tiles],
            "seen": ["".join(".x"[known] for known in row) for row in self.seen],
            "player": list(self.player),
            "facing": self.facing,
            "needs": asdict(self.needs),
            "carried": dict(self.carried),
            "creatures": [asdict(creature) for creature in self.creatures],
            "ripening": [list(bush) for bush in self.ripening],
            "clock": self.clock,
            "done": list(self.done),
            "held": self.held,
            "asleep": self.asleep,
            "struck": self.struck,
            "note": self.note.state(),
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self.tiles = [list(row) for row in state["tiles"]]
        self.seen = [[mark == "x" for mark in row] for row in state["seen"]]
        self.player = (state["player"][0], state["player"][1])
        self.facing, self.needs = state["facing"], Needs(**state["needs"])
        self.carried = dict(state["carried"])
        self.creatures = [Creature(**creature) for creature in state["creatures"]]
        self.ripening = [(x, y, at) for x, y, at in state["ripening"]]
        self.clock, self.done = state["clock"], list(state["done"])
        self.held, self.asleep, self.struck = state["held"], state["asleep"], state["struck"]
        self.note = Note(**state["note"])

    def draw(self) -> Frame:
        """The cells in view, needs and goods below them, the known map and the menu beside them."""
        return self._view.draw(self)

    def hurt(self, by: int) -> None:
        """Health is lost."""
        self.needs.health = max(0, self.needs.health - by)
        self.struck = True

    def _begin_use(self) -> str | None:
        refusal = self._useless()
        if refusal is None:
            self.held = "use"
        return refusal

    def _useless(self) -> str | None:
        """Why what is ahead cannot be used, or None."""
        if self.creature_at(self.ahead):
            return None
        kind = world.tile(self.tiles, self.ahead)
        if kind in world.PICKAXE_FOR and self.pickaxe < world.PICKAXE_FOR[kind]:
            tool = RECIPES[TOOLS[world.PICKAXE_FOR[kind] - 1]].name.lower()
            return f"this is too hard; the least that it takes is the {tool}"
        if kind == world.BARE_BUSH:
            return "this bush bears nothing at present"
        if kind not in (world.WATER, world.BUSH) and kind not in world.YIELDS:
            return "there is nothing ahead to take, to drink, to eat or to hit"
        return None

    def _use(self) -> None:
        creature, kind = self.creature_at(self.ahead), world.tile(self.tiles, self.ahead)
        if creature is not None:
            self._hit(creature)
        elif kind == world.WATER:
            self.needs.water = min(MOST, self.needs.water + 1)
        elif kind == world.BUSH:
            self.needs.food = min(MOST, self.needs.food + 3)
            self._put(self.ahead, world.BARE_BUSH)
            self.ripening.append((*self.ahead, self.clock + _RIPEN_TICKS))
        else:
            self._gain(world.YIELDS[kind])
            self._put(self.ahead, world.after_use(kind))

    def _hit(self, creature: Creature) -> None:
        creature.health -= 3 if self.carried["stone_sword"] else 1
        if creature.health > 0:
            return
        self.creatures.remove(creature)
        if creature.kind == "shade":
            self._gain("ember")
        else:
            self.needs.food = min(MOST, self.needs.food + 5)

    def _gain(self, material: str) -> None:
        self.carried[material] += 1
        self._reach(material)

    def _reach(self, name: str) -> None:
        milestone = name.replace("_", "-")
        if milestone in POINTS and milestone not in self.done:
            self.done.append(milestone)

    def _put(self, cell: Cell, kind: str) -> None:
        self.tiles[cell[1]][cell[0]] = kind

    def _craft(self, recipe: Recipe) -> str | None:
        missing = [name for name, count in recipe.cost.items() if self.carried[name] < count]
        if missing:
            return f"not enough {', '.join(missing)} for the {recipe.name.lower()}"
        if not self.near(recipe.at):
            return f"the {recipe.name.lower()} is made within two cells of a {recipe.at}"
        if recipe.item in TOOLS and self.carried[recipe.item]:
            return f"the {recipe.name.lower()} is in the bag already"
        if recipe.placed:
            free = [cell for cell in (self.ahead, *world.beside(self.player)) if self.free(cell)]
            if not free:
                return "there is no free ground beside the player to build on"
            for cell in free if recipe.item == "palisade" else free[:1]:
                self._put(cell, _PLACED[recipe.item])
        else:
            self.carried[recipe.item] += 1
        for name, count in recipe.cost.items():
            self.carried[name] -= count
        self._reach(recipe.item)
        return None

    def _walk(self, direction: Direction) -> None:
        self.facing = direction
        if self.free(self.ahead):
            self.player = self.ahead

    def _live(self) -> None:
        """Needs fall with time; health follows them."""
        needs = self.needs
        needs.food -= self.clock % _FOOD_TICKS == 0 and needs.food > 0
        needs.water -= self.clock % _WATER_TICKS == 0 and needs.water > 0
        if self.asleep:
            needs.energy = min(MOST, needs.energy + (self.clock % _SLEEP_TICKS == 0))
        else:
            needs.energy -= self.clock % _ENERGY_TICKS == 0 and needs.energy > 0
        empty = [needs.food, needs.water, needs.energy].count(0)
        if empty and self.clock % _STARVE_TICKS == 0:
            self.hurt(empty)
        elif not empty and self.clock % _HEAL_TICKS == 0:
            needs.health = min(MOST, needs.health + 1)

    def _ripen(self) -> None:
        for x, y, at in self.ripening:
            if at <= self.clock:
                self._put((x, y), world.BUSH)
        self.ripening = [bush for bush in self.ripening if bush[2] > self.clock]

    def _look_around(self) -> None:
        x, y = self.player
        for row in self.seen[max(0, y - _SIGHT[1]) : y + _SIGHT[1] + 1]:
            for column in range(max(0, x - _SIGHT[0]), min(world.SIZE, x + _SIGHT[0] + 1)):
                row[column] = True


_KEYS: dict[str, str] = {**{direction: direction for direction in STEPS}, "use": "space", "sleep": "z"}
_PLACED = {
    "workbench": world.WORKBENCH,
    "palisade": world.PALISADE,
    "furnace": world.FURNACE,
    "beacon": world.BEACON,
}
