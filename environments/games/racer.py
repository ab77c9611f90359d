"""Ridge Road: drive a winding, hilly road through slower traffic before the time runs out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games.racer_track import (
    CHECKPOINTS,
    LENGTH,
    SEGMENT,
    TICK_S,
    Car,
    Rival,
    Track,
    fitting_speed,
    make_track,
)
from environments.games.racer_view import RoadView, Scene

Steer = Literal["left", "straight", "right"]
Pedal = Literal["gas", "coast", "brake"]
_STEER: dict[str, int] = {"left": -1, "straight": 0, "right": 1}
_PEDAL: dict[str, int] = {"gas": 1, "coast": 0, "brake": -1}
_KEYS = ("up", "down", "left", "right")
_LANES = (-0.6, 0.0, 0.6)


class RacerAction(BaseModel):
    """Hold wheel and pedal for a while; the car drives on meanwhile.

    steer: "left", "straight" or "right"; pedal: "gas", "coast" or "brake"; ms: how long, 100 to 2000 milliseconds.
    Afterwards both are let go. Bends push the car outwards, more so the faster it is.
    Example: {"steer": "left", "pedal": "gas", "ms": 400}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    steer: Steer
    pedal: Pedal
    ms: Annotated[int, Field(ge=100, le=2000)]


class Racer(Game):
    """Two kilometres with five gates; won at the last one, lost when the time is up. Every gate gives more time.

    Score: 90 x distance driven / length of the track, and after the finish 10 more for a time of par or less,
    falling to 0 for a time of 1.3 x par. Par is a good time for that track without traffic.
    """

    Action: ClassVar[type[BaseModel]] = RacerAction
    tick_ms: ClassVar[int | None] = round(1000 * TICK_S)

    def __init__(self) -> None:
        """A road; `reset` lays it."""
        self.track: Track
        self.car = Car()
        self.held: list[str] = []
        """Arrow keys that are down, in the order in which they were pressed."""
        self.ticks = 0
        """Time since the start."""
        self.left = 0
        """Ticks before the time is up."""
        self.gates = 0
        """Gates passed."""
        self.gate_tick, self.crash_tick = -1000, -1000
        """When the last gate was passed, and when the last rival was hit."""
        self.crashes = 0
        self.overtaken = 0
        """Rivals behind."""
        self.braking = False
        self._view: RoadView | None = None

    def reset(self, rng: np.random.Generator) -> None:
        """Another road with other traffic; the car stands at its start."""
        self.rng = rng
        self._lay(make_track(rng))
        self.car = Car()
        self.held, self.braking = [], False
        self.ticks = self.gates = self.crashes = self.overtaken = 0
        self.gate_tick = self.crash_tick = -1000
        self.left = self._allowance(0)

    def apply(self, action: RacerAction) -> str | None:
        """Take wheel and pedal; nothing is refused."""
        self.held = []
        if action.pedal != "coast":
            self.held.append("up" if action.pedal == "gas" else "down")
        if action.steer != "straight":
            self.held.append(action.steer)
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """Arrow keys, for as long as they are held."""
        if event.key in _KEYS:
            if event.kind == "key_down" and event.key not in self.held:
                self.held.append(event.key)
            elif event.kind == "key_up" and event.key in self.held:
                self.held.remove(event.key)
        return None

    def tick(self) -> None:
        """A twentieth of a second on the road."""
        if self.over:
            return
        steer = ("right" in self.held) - ("left" in self.held)
        pedal = -1 if "down" in self.held else int("up" in self.held)
        self.ticks += 1
        self.left -= 1
        self.braking = pedal < 0
        if self.car.drive(self.track, self.track.rivals, steer, pedal, self.ticks):
            self.crashes += self.ticks - self.crash_tick > 10  # rubbing along one car is one crash
            self.crash_tick = self.ticks
        self.overtaken = sum(rival.at(self.ticks) < self.car.distance for rival in self.track.rivals)
        if self.car.distance >= (self.gates + 1) * LENGTH / CHECKPOINTS:
            self.gates += 1
            self.gate_tick = self.ticks
            if not self.won:
                self.left += self._allowance(self.gates)

    def release(self) -> None:
        """Let go of wheel and pedal."""
        self.held = []

    @property
    def over(self) -> bool:
        """At the finish, or out of time."""
        return self.won or self.left <= 0

    @property
    def won(self) -> bool:
        """Through the last gate."""
        return self.gates >= CHECKPOINTS

    def score(self) -> float:
        """90 x distance / length + 10 x punctuality; see the class."""
        share = min(1.0, self.car.distance / LENGTH)
        late = self.ticks * TICK_S / self.track.par_s - 1.0
        return 90.0 * share + (10.0 * min(1.0, max(0.0, 1.0 - late / 0.3)) if self.won else 0.0)

    def reached(self) -> set[str]:
        """`moving`, `fast`, `overtake`, `gate-1` to `gate-4`, `finish`."""
        reached = {f"gate-{gate}" for gate in range(1, min(self.gates, CHECKPOINTS - 1) + 1)}
        conditions = {
            "moving": self.car.distance >= 20.0,
            "fast": self.car.distance >= 20.0 and self.car.speed >= 100 / 3.6,
            "overtake": self.overtaken >= 1,
            "finish": self.won,
        }
        return reached | {milestone for milestone, holds in conditions.items() if holds}

    def expert(self) -> dict[str, Any]:
        """The action whose continuation by a simple driver gets furthest in the next seconds without harm."""
        tick_ms = round(1000 * TICK_S)
        here = self.car.distance
        near = [rival for rival in self.track.rivals if -10.0 < rival.at(self.ticks) - here < 160.0]
        actions = [(steer, pedal, ms) for pedal in _PEDAL for steer in _STEER for ms in (400,)]
        # Of equally good ones the last: the longer one.
        steer, pedal, ms = max(
            reversed(actions), key=lambda a: self._outlook(near, _STEER[a[0]], _PEDAL[a[1]], a[2] // tick_ms)
        )
        return {"steer": steer, "pedal": pedal, "ms": ms}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """Arrow keys held together, or one, or none, for the action's time."""
        keys = {"gas": ["up"], "coast": [], "brake": ["down"]}[action["pedal"]]
        keys = keys + ([] if action["steer"] == "straight" else [action["steer"]])
        if len(keys) == 2:
            return [{"verb": "hotkey", "keys": keys, "ms": action["ms"]}]
        if keys:
            return [{"verb": "hold", "key": keys[0], "ms": action["ms"]}]
        return [{"verb": "wait", "ms": action["ms"]}]

    def state(self) -> dict[str, Any]:
        """The track, the car, the clock."""
        car = self.car
        return {
            "track": self.track.as_json(),
            "car": [car.distance, car.across, car.speed, car.wheel],
            "held": list(self.held),
            "ticks": self.ticks,
            "left": self.left,
            "gates": self.gates,
            "gate_tick": self.gate_tick,
            "crash_tick": self.crash_tick,
            "crashes": self.crashes,
            "overtaken": self.overtaken,
            "braking": self.braking,
        }

    def load(self, state: dict[str, Any]) -> None:
        """Put back what `state` returned."""
        self._lay(Track.from_json(state["track"]))
        self.car = Car(*state["car"])
        self.held, self.braking = list(state["held"]), state["braking"]
        self.ticks, self.left, self.gates = state["ticks"], state["left"], state["gates"]
        self.gate_tick, self.crash_tick = state["gate_tick"], state["crash_tick"]
        self.crashes, self.overtaken = state["crashes"], state["overtaken"]

    def draw(self) -> Frame:
        """The road from behind the car, with speed, time and plan."""
        if self._view is None:
            self._view = RoadView(self.track)
        return self._view.draw(
            Scene(
                car=self.car,
                ticks=self.ticks,
                left_s=max(0, self.left) * TICK_S,
                gates=self.gates,
                since_gate_s=(self.ticks - self.gate_tick) * TICK_S,
                since_crash_s=(self.ticks - self.crash_tick) * TICK_S,
                place=len(self.track.rivals) + 1 - self.overtaken,
                braking=self.braking,
                won=self.won,
                lost=self.over and not self.won,
            )
        )

    def _lay(self, track: Track) -> None:
        if self._view is not None and track != self.track:
            self._view = None
        self.track = track

    def _allowance(self, gate: int) -> int:
        """Ticks that are given for the stretch after a gate: well above par, and more for the start."""
        first, last = (round(part * LENGTH / CHECKPOINTS / SEGMENT) for part in (gate, gate + 1))
        par = sum(SEGMENT / fitting_speed(bend) for bend in self.track.bends[first:last])
        return round((1.5 * par + (11.0 if gate == 0 else 1.5)) / TICK_S)

    def _outlook(self, near: Sequence[Rival], steer: int, pedal: int, ticks: int) -> float:
        """How good the next two seconds and a half can be after an action, over the lanes to aim for."""
        start = Car(self.car.distance, self.car.across, self.car.speed, self.car.wheel)
        harm, now = 0.0, self.ticks
        for _ in range(ticks):
            now += 1
            harm += 40.0 * start.drive(self.track, near, steer, pedal, now) + 0.5 * (abs(start.across) > 0.9)
        return max(self._follow(start, near, lane, now, 50 - ticks) for lane in _LANES) - harm

    def _follow(self, start: Car, near: Sequence[Rival], lane: float, now: int, ticks: int) -> float:
        """Metres gained by keeping to a lane, less what crashes and grass would cost."""
        car, harm = Car(start.distance, start.across, start.speed, start.wheel), 0.0
        paces = self.track.paces
        for _ in range(ticks):
            now += 1
            bend = self.track.bend(car.distance + 0.2 * car.speed)
            pace = paces[min(len(paces) - 1, int(car.distance / SEGMENT))]
            wish = 2.5 * (lane - car.across) + 1.3 * bend * (car.speed / 60.0) ** 2 - car.wheel * 0.4
            steer = 0 if abs(wish) < 0.25 else 1 if wish > 0 else -1
            pedal = 1 if car.speed < pace else 0 if car.speed < pace + 4 else -1
            harm += 40.0 * car.drive(self.track, near, steer, pedal, now) + 0.5 * (abs(car.across) > 0.95)
        return car.distance + 0.8 * car.speed - harm - 0.5 * abs(car.across)
