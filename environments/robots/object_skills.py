"""Skills that name what they act on: pick, place, open, close, turn on and off, push; and why one did not work.

A skill is played as a run of native actions by the motion primitives that the expert uses, so it lasts as
long as it would in earnest, and a disturbance reaches it. It looks where things are, as whoever programs a
real arm lets a detector look; what it says when it fails is what a person who watches could say.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Annotated, Literal, Protocol

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, RootModel

from environments.robots.motion import CLOSE, OPEN, Aim, at, native
from environments.robots.skills import EpisodeOver, Gripper, Move, Skills, Turn
from environments.robots.world import FINGERS, Arm, Vector, Workspace, World

Name = Annotated[str, Field(min_length=1, max_length=60)]
Direction = Literal["left", "right", "nearer", "farther"]
Verb = Literal["open", "close", "turnon", "turnoff"]

PICK_STEPS, PLACE_STEPS, PART_STEPS, PUSH_STEPS = 140, 180, 220, 160
"""Control steps after which a skill is given up."""
SETTLE_STEPS = 8
"""Control steps in which what was let go comes to rest before anybody looks."""
WITHDRAW_STEPS = 40
"""Control steps that a leaning hand is given to come out of a handle."""
MARGIN_STEPS = 8
"""Control steps for which a drawer or knob is moved on once it is where it should be: fingers that open may move it."""
LIFT_M = 0.10
"""How far a picked object is lifted."""
EMPTY_M = 0.004
"""A closed hand that is narrower than this holds nothing."""
REACH_M = 0.80
"""Horizontally from the robot's base: farther than this the Panda cannot point its hand down."""
PUSH_AHEAD_M = 0.03
"""Where a pushing hand aims, ahead of itself: about 10 N at the most, and 10 cm/s."""
PUSH_GAP_M = 0.035
"""Room between a thing and the closed hand that comes down behind it."""
WAYS: Mapping[Direction, tuple[float, float]] = {
    "left": (0.0, -1.0),
    "right": (0.0, 1.0),
    "nearer": (1.0, 0.0),
    "farther": (-1.0, 0.0),
}
"""As seen in `agentview`, whose viewer stands opposite the robot: directions on the table, world frame."""


class _Skill(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Pick(_Skill):
    """Take an object and lift it."""

    skill: Literal["pick"]
    object: Name


class Place(_Skill):
    """Put the object in the hand in or on something, and let go."""

    skill: Literal["place"]
    object: Name
    relation: Literal["on", "in"]
    target: Name


class Open(_Skill):
    """Open a drawer or door."""

    skill: Literal["open"]
    fixture: Name


class Close(_Skill):
    """Close a drawer or door."""

    skill: Literal["close"]
    fixture: Name


class TurnOn(_Skill):
    """Turn on what has a knob."""

    skill: Literal["turn_on"]
    fixture: Name


class TurnOff(_Skill):
    """Turn off what has a knob."""

    skill: Literal["turn_off"]
    fixture: Name


class Push(_Skill):
    """Push an object along the table with the closed hand."""

    skill: Literal["push"]
    object: Name
    direction: Direction
    cm: Annotated[float, Field(gt=0.0, le=20.0)]


class ObjectSkillAction(
    RootModel[
        Annotated[
            Pick | Place | Open | Close | TurnOn | TurnOff | Push | Move | Turn | Gripper,
            Field(discriminator="skill"),
        ]
    ]
):
    """One skill of the robot arm; it runs until it is done or given up, and says why if it did not work.

    pick(object): take an object and lift it. place(object, relation, target): put what is in the hand "on" or
    "in" the target and let go. open(fixture), close(fixture): a drawer. turn_on(fixture), turn_off(fixture): a stove.
    push(object, direction, cm): along the table, "left", "right", "nearer" or "farther" as you see it, up to 20 cm.
    Call things as you see them, for example "red cube"; of two of a kind, "left black bowl" and "right black bowl".
    move(dx_cm, dy_cm, dz_cm): the hand, each -15..15 cm; +x is away from the robot's base (down in
    the agentview picture, towards its viewer), +y is right in the agentview picture, +z is up.
    turn(yaw_deg): the hand about the vertical, -90..90, counter-clockwise seen from above.
    gripper(state): "open" or "close", completely.
    For example {"skill": "pick", "object": "red cube"} or
    {"skill": "place", "object": "red cube", "relation": "in", "target": "bowl"}.
    """


class Manipulator(Protocol):
    """What a scene's expert knows of doing things: where the hand goes next for one thing to be done."""

    def objects(self) -> Mapping[str, str]:
        """What can be taken: as a person calls it now, to its name in the world."""

    def places(self) -> Mapping[str, str]:
        """What things can be put in or on, likewise."""

    def parts(self) -> Mapping[str, str]:
        """What can be opened, closed or turned, likewise."""

    def fetch(self, name: str) -> Aim:
        """Towards having an object in the hand; its phase is `close` when the hand is where it should close."""

    def bring(self, name: str, place: str) -> Aim:
        """With an object in the hand, towards its place; its phase is `release` when it is there."""

    def can(self, part: str, verb: Verb) -> bool:
        """Whether a part is one that can be opened and closed, or turned on and off."""

    def shut(self, place: str) -> bool:
        """Whether a place is in a drawer or behind a door that is less than half open."""

    def move_part(self, part: str, verb: Verb) -> Aim:
        """Towards a part being open, closed, turned on or off."""

    def withdraw(self) -> Aim | None:
        """Away from what a hand still is at, before it may do something else; None if it may."""


class ObjectSkills(Skills):
    """Carries out all skills of `ObjectSkillAction`."""

    def __init__(
        self,
        world: World,
        arm: Arm,
        workspace: Workspace,
        control: Callable[[list[float]], None],
        command: Callable[[], float],
        manipulator: Manipulator,
        over: Callable[[], bool] = lambda: False,
    ) -> None:
        """As `Skills`, with the motion primitives of the scene.

        Args:
            world: see `Skills`, as the four that follow.
            arm: that moves.
            workspace: of the grip site.
            control: one control step.
            command: the gripper's last.
            manipulator: names and aims.
            over: whether the episode has ended; a skill then ends with it, in the middle of a motion.
        """
        super().__init__(world, arm, workspace, self._step, command)
        self._play, self._hand, self._over = control, manipulator, over

    def perform(self, skill: BaseModel) -> str | None:
        """Run one skill to its end, or to the episode's; the reason, if it was refused or did not work."""
        try:
            return self._perform(skill)
        except EpisodeOver:
            return None

    def _step(self, action: list[float]) -> None:
        self._play(action)
        if self._over():
            raise EpisodeOver

    def _perform(self, skill: BaseModel) -> str | None:
        match skill:
            case Pick():
                name, problem = _find(skill.object, self._hand.objects(), "object to pick")
                return problem or self._pick(name, skill.object)
            case Place():
                return self._place(skill)
            case Open() | Close() | TurnOn() | TurnOff():
                part, problem = _find(skill.fixture, self._hand.parts(), f"fixture to {skill.skill.replace('_', ' ')}")
                verb: Verb = skill.skill.replace("_", "")  # type: ignore[assignment]  # the four verbs
                return problem or self._move_part(part, skill.fixture, verb)
            case Push():
                name, problem = _find(skill.object, self._hand.objects(), "object to push")
                return problem or self._push(name, skill)
            case Move() | Turn() | Gripper():
                return super().perform(skill)
        raise TypeError(f"no skill {type(skill).__name__}")

    # --- the skills --------------------------------------------------------------------------------------------------

    def _pick(self, name: str, said: str) -> str | None:
        problem = self._busy(name) or self._far(self._world.position(name), said)
        if problem:
            return problem
        closed = 0
        for _ in range(PICK_STEPS):
            if self._held(name) and self._arm.ramp > 0.9:
                return self._lift(name, said)
            aim = self._hand.fetch(name)
            self._do(aim)
            closed = closed + 1 if aim.gripper == CLOSE else 0
            if self._arm.ramp > 0.99 and closed > 10 and not self._held(name):
                empty = self._arm.width_m < EMPTY_M
                return "the hand closed on nothing" if empty else f"the hand closed without getting hold of the {said}"
        return f"the hand did not get to the {said}: something is in its way or it moved"

    def _lift(self, name: str, said: str) -> str | None:
        goal = self._arm.position
        goal[2] = min(float(goal[2]) + LIFT_M, self._workspace[1][2])
        for _ in range(SETTLE_STEPS * 2):
            self._do(Aim("lift", goal, 0.0, CLOSE))
            if abs(goal[2] - self._arm.position[2]) < 0.01:
                break
        return None if self._held(name) else f"the {said} slipped out of the hand"

    def _place(self, skill: Place) -> str | None:
        name, problem = _find(skill.object, self._hand.objects(), "object to place")
        if problem:
            return problem
        place, problem = _find(skill.target, self._hand.places(), "place")
        if problem:
            return problem
        holding = self._holding()
        if holding is None:
            return "nothing is held"
        if holding != name:
            return f"the hand holds the {self._spoken(holding)}, not the {skill.object}"
        if place == name:
            return f"the {skill.object} cannot be put {skill.relation} itself"
        if problem := self._far(self._world.position(place), skill.target):
            return problem
        if skill.relation == "in" and self._hand.shut(place):
            return f"the {skill.target} is closed"
        for _ in range(PLACE_STEPS):
            aim = self._hand.bring(name, place)
            if aim.phase == "release":
                break
            self._do(aim)
            if not self._held(name) and self._arm.width_m < EMPTY_M:
                return f"the {skill.object} slipped out of the hand"
        else:
            return f"the hand could not bring the {skill.object} to the {skill.target}"
        self._let_go()
        return None if self._rests(name, place, skill.relation) else (
            f"the {skill.object} did not come to rest {skill.relation} the {skill.target}"
        )  # fmt: skip

    def _rests(self, name: str, place: str, relation: str) -> bool:
        """Whether a thing is where it was put, by the word that this build judges that pair by."""
        for word in (relation, "in" if relation == "on" else "on"):
            try:
                return self._world.holds((word, name, place))
            except LookupError:
                continue
        return True

    def _move_part(self, part: str, said: str, verb: Verb) -> str | None:
        if problem := self._busy(None) or self._far(self._world.position(part), said):
            return problem
        words = {"open": "open", "close": "close", "turnon": "turn on", "turnoff": "turn off"}[verb]
        if not self._hand.can(part, verb):
            return f"the {said} has nothing to {words}"
        more = MARGIN_STEPS
        for _ in range(PART_STEPS):
            if self._world.holds((verb, part)):
                more -= 1
                if not more:
                    break
            self._do(self._hand.move_part(part, verb))
        for _ in range(WITHDRAW_STEPS):
            if (back := self._hand.withdraw()) is None:
                break
            self._do(back)
        self._let_go()
        if self._world.holds((verb, part)):
            return None
        return f"the hand could not {words} the {said}: it did not get hold of it, or it is stuck"

    def _push(self, name: str, skill: Push) -> str | None:
        """Come down behind it with the hand closed, push straight on, and leave upwards."""
        if problem := self._busy(None) or self._far(self._world.position(name), skill.object):
            return problem
        way = np.array([*WAYS[skill.direction], 0.0])
        low, high = self._world.bounds(name)
        start, rotation = self._world.position(name), self._world.rotation(name)
        corners = np.array([[x, y, z] for x in (low[0], high[0]) for y in (low[1], high[1]) for z in (low[2], high[2])])
        spread = corners @ rotation.T
        behind = start - way * (float((-spread @ way).max()) + PUSH_GAP_M)
        bottom, top = float(start[2] + spread[:, 2].min()), float(start[2] + spread[:, 2].max())
        height = bottom + min(0.02, 0.006 + (top - bottom) / 4)  # the tips reach 8 mm below the grip site
        goal = at(behind + way * (PUSH_GAP_M - 0.01 + skill.cm / 100), height)
        if problem := self._outside(goal) or self._outside(at(behind, height)):
            return problem
        above = max(top, float(self._arm.position[2])) + 0.06
        self._go(at(self._arm.position, above), at(behind, above), at(behind, height))
        for _ in range(PUSH_STEPS):
            if float((self._world.position(name) - start) @ way) > skill.cm / 100 - 0.005:
                break
            gone = float((self._arm.position - behind) @ way)
            if gone > PUSH_GAP_M + skill.cm / 100 + 0.01:
                break  # it has slipped off to a side
            # Always a little ahead, on the line and low: what resists pushes the hand up.
            self._do(Aim("push", at(behind + way * (gone + PUSH_AHEAD_M), height - 0.005), 0.0, CLOSE))
        self._go(at(self._arm.position, above))
        moved = float((self._world.position(name) - start) @ way)
        if moved < 0.25 * skill.cm / 100:
            return f"the {skill.object} hardly moved"
        return None

    def _go(self, *places: Vector) -> None:
        """The closed hand, from place to place."""
        for place in places:
            for _ in range(PUSH_STEPS // 4):
                if np.linalg.norm(place - self._arm.position) < 0.008:
                    break
                self._do(Aim("approach", place, 0.0, CLOSE))

    # --- what they have in common ------------------------------------------------------------------------------------

    def _do(self, aim: Aim) -> None:
        self._control(native(self._arm, aim))

    def _let_go(self) -> None:
        here = self._arm.position
        for _ in range(10):
            self._do(Aim("release", here, 0.0, OPEN))
        for _ in range(SETTLE_STEPS):
            self._do(Aim("retreat", at(here, min(float(here[2]) + LIFT_M, self._workspace[1][2])), 0.0, OPEN))

    def _held(self, name: str) -> bool:
        return all(self._world.touching(finger, name) for finger in FINGERS)

    def _holding(self) -> str | None:
        return next((name for name in self._world.objects if self._held(name)), None)

    def _busy(self, wanted: str | None) -> str | None:
        holding = self._holding()
        if holding is None or holding == wanted:
            return None
        return f"the hand is not free: it holds the {self._spoken(holding)}"

    def _spoken(self, name: str) -> str:
        return next((said for said, known in self._hand.objects().items() if known == name), name.replace("_", " "))

    def _far(self, place: Vector, said: str) -> str | None:
        base = self._world.mj_data.body("robot0_base").xpos
        distance = float(np.linalg.norm((place - base)[:2]))
        return f"the {said} is not within reach" if distance > REACH_M else None


def _find(said: str, known: Mapping[str, str], what: str) -> tuple[str, str | None]:
    """The name of what was said, or why there is none."""
    words = " ".join(said.lower().replace("_", " ").split()).removeprefix("the ")
    if words in known:
        return known[words], None
    near = difflib.get_close_matches(words, known, n=1, cutoff=0.5)
    if near:
        return "", f"there is no {what} called {said!r}; did you mean {near[0]!r}?"
    return "", f"there is no {what} called {said!r}; there is {', '.join(map(repr, known)) or 'none'}"
