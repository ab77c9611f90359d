"""The beach of Crab Coast: who stands and walks on it, and what a step of time does to them, in whole numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np

LANES, COLUMNS = 5, 9
STEP_MS = 200
"""Time of one step of the beach; what is counted in steps below is counted in these."""
UNIT = 1000
"""Length of a cell; positions along a lane are whole numbers of this, from the left edge of the grid."""
ENTRY = COLUMNS * UNIT + 200
CASTLE = -200
"""Where crabs come out of the sea, and where they have reached the castle."""

Kind = Literal["oyster", "squid", "rock", "jelly", "geyser"]
CrabKind = Literal["crab", "hermit", "hopper", "king"]


@dataclass(frozen=True, slots=True)
class Model:
    """What all defenders of a kind share; times in steps of the beach."""

    cost: int
    cooldown: int
    health: int
    every: int
    """Steps between two deeds: a pearl, a shot, a sting, the burst."""
    force: int = 0
    """Health that a shot, a sting or the burst takes."""


DEFENDERS: dict[Kind, Model] = {
    "oyster": Model(cost=50, cooldown=20, health=60, every=32),
    "squid": Model(cost=100, cooldown=20, health=60, every=7, force=10),
    "rock": Model(cost=50, cooldown=60, health=400, every=1),
    "jelly": Model(cost=125, cooldown=40, health=60, every=6, force=9),
    "geyser": Model(cost=75, cooldown=90, health=400, every=4, force=180),
}


@dataclass(frozen=True, slots=True)
class Breed:
    """What all crabs of a kind share: health, and the way they walk in a step."""

    health: int
    speed: int


CRABS: dict[CrabKind, Breed] = {
    "crab": Breed(health=80, speed=44),
    "hermit": Breed(health=170, speed=36),
    "hopper": Breed(health=60, speed=76),
    "king": Breed(health=420, speed=30),
}
BITE = 5
PEARL_VALUE = 25
PEARL_LIFE = 60
TIDE_EVERY = 28
"""Steps between two pearls that the sea washes up."""
DROP_SPEED = 640
REACH = 260
"""How near two bodies must be to touch."""


@dataclass(slots=True)
class Defender:
    """Something planted on a cell; `wait` is the steps until its next deed."""

    kind: Kind
    lane: int
    column: int
    health: int
    wait: int

    @property
    def x(self) -> int:
        """The middle of its cell."""
        return self.column * UNIT + UNIT // 2


@dataclass(slots=True)
class Crab:
    """A walker; `hopped` is whether it has used its one hop."""

    kind: CrabKind
    lane: int
    x: int
    health: int
    wave: int
    hopped: bool = False


@dataclass(slots=True)
class Pearl:
    """A pearl that lies on a cell until it is gathered, or washed away after `left` steps."""

    lane: int
    column: int
    left: int = PEARL_LIFE


@dataclass(slots=True)
class Drop:
    """Ink on its way to the right."""

    lane: int
    x: int


@dataclass(slots=True)
class Coming:
    """A crab of the schedule: the step at which it leaves the sea, its wave (from 0), its lane and kind."""

    step: int
    wave: int
    lane: int
    kind: CrabKind


@dataclass(slots=True)
class Beach:
    """All that changes on the beach."""

    schedule: list[Coming] = field(default_factory=list)
    """In the order of their steps."""
    pools: list[list[int]] = field(default_factory=list)
    """Lane and column of the cells on which nothing can stand; crabs wade through."""
    time: int = 0
    """Steps so far."""
    entered: int = 0
    """Crabs of the schedule that have left the sea."""
    purse: int = 150
    cooldowns: dict[str, int] = field(default_factory=lambda: dict.fromkeys(DEFENDERS, 0))
    defenders: list[Defender] = field(default_factory=list)
    crabs: list[Crab] = field(default_factory=list)
    pearls: list[Pearl] = field(default_factory=list)
    drops: list[Drop] = field(default_factory=list)
    repelled: int = 0
    flags: int = 3
    """Of the castle; a crab that reaches it takes one."""
    bursts: list[list[int]] = field(default_factory=list)
    """Lane and column of the geysers that burst in the last step: for the picture."""

    def row(self) -> dict[str, Any]:
        """As JSON values; `Beach.of` gives it back."""
        return asdict(self)

    @classmethod
    def of(cls, row: dict[str, Any]) -> Beach:
        """The beach that `row` described."""
        kinds: dict[str, Any] = {
            "schedule": Coming, "defenders": Defender, "crabs": Crab, "pearls": Pearl, "drops": Drop,
        }  # fmt: skip
        lists = {name: [kind(**item) for item in row[name]] for name, kind in kinds.items()}
        cells = {name: [list(cell) for cell in row[name]] for name in ("pools", "bursts")}
        return cls(**(row | lists | cells | {"cooldowns": dict(row["cooldowns"])}))

    def at(self, lane: int, column: int) -> Defender | None:
        """Who stands on a cell."""
        return next((d for d in self.defenders if d.lane == lane and d.column == column), None)

    def place(self, kind: Kind, lane: int, column: int) -> str | None:
        """Plant a defender; the reason, if that is not possible."""
        model = DEFENDERS[kind]
        if self.cooldowns[kind]:
            return f"the {kind} is not ready yet"
        if self.purse < model.cost:
            return f"there are not enough pearls in the purse for the {kind}"
        if [lane, column] in self.pools:
            return "nothing can stand in a pool"
        if self.at(lane, column):
            return "another defender stands on this cell"
        self.purse -= model.cost
        self.cooldowns[kind] = model.cooldown
        self.defenders.append(Defender(kind, lane, column, model.health, model.every))
        return None

    def gather(self) -> str | None:
        """Take all pearls that lie on the beach; the reason, if there are none."""
        if not self.pearls:
            return "no pearl lies on the beach"
        self.purse += PEARL_VALUE * len(self.pearls)
        self.pearls = []
        return None

    def advance(self, rng: np.random.Generator) -> None:
        """A fifth of a second."""
        self.time += 1
        self.bursts = []
        self.cooldowns = {kind: max(0, left - 1) for kind, left in self.cooldowns.items()}
        while self.entered < len(self.schedule) and self.schedule[self.entered].step <= self.time:
            coming = self.schedule[self.entered]
            self.crabs.append(Crab(coming.kind, coming.lane, ENTRY, CRABS[coming.kind].health, coming.wave))
            self.entered += 1
        self._wash(rng)
        for defender in self.defenders:
            self._act(defender)
        self._fly()
        for crab in self.crabs:
            if crab.health > 0:
                self._walk(crab)
        self.repelled += sum(crab.health <= 0 for crab in self.crabs)
        arrived = sum(crab.health > 0 and crab.x <= CASTLE for crab in self.crabs)
        self.flags = max(0, self.flags - arrived)
        self.crabs = [crab for crab in self.crabs if crab.health > 0 and crab.x > CASTLE]
        self.defenders = [defender for defender in self.defenders if defender.health > 0]

    def _wash(self, rng: np.random.Generator) -> None:
        for pearl in self.pearls:
            pearl.left -= 1
        self.pearls = [pearl for pearl in self.pearls if pearl.left > 0]
        if self.time % TIDE_EVERY == 0:
            self.pearls.append(Pearl(int(rng.integers(LANES)), int(rng.integers(2, COLUMNS))))

    def _act(self, defender: Defender) -> None:
        """A deed, if it is time for one; shooters and stingers wait, ready, for somebody to come."""
        defender.wait = max(0, defender.wait - 1)
        if defender.wait or defender.kind == "rock":
            return
        model = DEFENDERS[defender.kind]
        if defender.kind == "oyster":
            self.pearls.append(Pearl(defender.lane, defender.column))
        elif defender.kind == "squid":
            if not any(crab.lane == defender.lane and defender.x - REACH <= crab.x < ENTRY for crab in self.crabs):
                return
            self.drops.append(Drop(defender.lane, defender.x))
        else:
            near = [
                crab for crab in self.crabs
                if abs(crab.lane - defender.lane) <= 1 and abs(crab.x - defender.x) <= 3 * UNIT // 2 + REACH
            ]  # fmt: skip
            if defender.kind == "jelly" and not near:
                return
            for crab in near:
                crab.health -= model.force
            if defender.kind == "geyser":
                defender.health = 0
                self.bursts.append([defender.lane, defender.column])
        defender.wait = model.every

    def _fly(self) -> None:
        """Each drop goes on to the right, and hits the first crab on its way."""
        flying = []
        for drop in self.drops:
            way = (drop.x - REACH, drop.x + DROP_SPEED)
            met = [c for c in self.crabs if c.lane == drop.lane and c.health > 0 and way[0] <= c.x <= way[1]]
            drop.x += DROP_SPEED
            if met:
                min(met, key=lambda crab: crab.x).health -= DEFENDERS["squid"].force
            elif drop.x < ENTRY:
                flying.append(drop)
        self.drops = flying

    def _walk(self, crab: Crab) -> None:
        """A step to the left, or a bite into what stands in the way."""
        ahead = [
            d for d in self.defenders
            if d.lane == crab.lane and d.health > 0 and -REACH <= crab.x - d.x <= UNIT // 2 + REACH // 2
        ]  # fmt: skip
        if not ahead:
            crab.x -= CRABS[crab.kind].speed
            return
        first = max(ahead, key=lambda defender: defender.x)
        if crab.kind == "hopper" and not crab.hopped and first.kind != "rock":
            crab.hopped, crab.x = True, first.x - UNIT // 2
        else:
            first.health -= BITE * (3 if crab.kind == "king" else 1)


def pools(rng: np.random.Generator, count: int) -> list[list[int]]:
    """`count` cells in different lanes, none in the two columns beside the castle."""
    lanes = sorted(int(lane) for lane in rng.permutation(LANES)[:count])
    return [[lane, int(rng.integers(2, COLUMNS))] for lane in lanes]


def schedule(rng: np.random.Generator, sizes: tuple[int, ...], first: int, gap: int) -> list[Coming]:
    """Which crabs come when: one wave for each of `sizes`, the first at step `first`, then every `gap` steps.

    Later waves have more of the strong kinds; the last one ends with a king. Each wave comes in a few lanes of its
    own: where the defenders must stand is another thing with every seed, and with every wave.
    """
    coming: list[Coming] = []
    for wave, size in enumerate(sizes):
        moments = sorted(int(moment) for moment in rng.integers(0, gap * 3 // 5, size=size))
        moments[0] = 0
        fronts = [int(lane) for lane in rng.permutation(LANES)[: min(2 + wave // 2, LANES)]]
        shares = [(1.0, 0.0, 0.0), (0.65, 0.2, 0.15), (0.5, 0.3, 0.2), (0.4, 0.35, 0.25)][min(wave, 3)]
        for number, moment in enumerate(moments):
            draw = float(rng.random())
            kind: CrabKind = "crab" if draw < shares[0] else "hermit" if draw < shares[0] + shares[1] else "hopper"
            if wave == len(sizes) - 1 and number == size - 1:
                kind = "king"
            coming.append(Coming(first + wave * gap + moment, wave, fronts[number % len(fronts)], kind))
    return coming
