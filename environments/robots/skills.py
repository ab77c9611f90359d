"""The semantic actions of an arm: what a person would tell it, in centimetres and degrees."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

Centimetres = Annotated[float, Field(ge=-15.0, le=15.0)]


class _Skill(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Move(_Skill):
    """Move the hand in a straight line."""

    skill: Literal["move"]
    dx_cm: Centimetres = 0.0
    """Away from the robot's base, that is towards the viewer of `agentview`."""
    dy_cm: Centimetres = 0.0
    """To the robot's left, that is to the right in `agentview`."""
    dz_cm: Centimetres = 0.0
    """Up."""


class Turn(_Skill):
    """Turn the hand about the vertical; positive is counter-clockwise seen from above."""

    skill: Literal["turn"]
    yaw_deg: Annotated[float, Field(ge=-90.0, le=90.0)]


class Gripper(_Skill):
    """Open or close the gripper completely."""

    skill: Literal["gripper"]
    state: Literal["open", "close"]


class SkillAction(RootModel[Annotated[Move | Turn | Gripper, Field(discriminator="skill")]]):
    """One skill of the robot arm; it runs until it is done or its time is up.

    move(dx_cm, dy_cm, dz_cm): the hand, each -15..15 cm; +x is away from the robot's base (down in
    the agentview picture, towards its viewer), +y is right in the agentview picture, +z is up.
    turn(yaw_deg): the hand about the vertical, -90..90, counter-clockwise seen from above.
    gripper(state): "open" or "close", completely.
    For example {"skill": "move", "dx_cm": 4.5, "dy_cm": -10, "dz_cm": 0} or
    {"skill": "gripper", "state": "close"}. A move that would leave the workspace is refused.
    """
