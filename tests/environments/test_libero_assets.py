"""The pinned robosuite and MuJoCo load LIBERO's own objects and scenes, and their physics holds them.

Needs the asset folder of the LIBERO benchmark in `ARENA_LIBERO_ASSETS`; `.ci/run` sets it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip(
    "environments.robots._robosuite", reason="robosuite is not installed (pip install 'rewind-arena[robots]')"
)

from robosuite.models.arenas import EmptyArena
from robosuite.models.base import MujocoXML
from robosuite.models.objects import MujocoXMLObject
from robosuite.models.world import MujocoWorldBase

from environments.robots._robosuite import mujoco

pytestmark = pytest.mark.shared

LOOSE = [
    "stable_hope_objects/butter",
    "stable_hope_objects/ketchup",
    "stable_hope_objects/milk",
    "stable_hope_objects/tomato_sauce",
    "stable_scanned_objects/akita_black_bowl",
    "stable_scanned_objects/basket",
    "stable_scanned_objects/glazed_rim_porcelain_ramekin",
    "stable_scanned_objects/plate",
    "turbosquid_objects/moka_pot",
    "turbosquid_objects/wine_bottle",
]
"""Things that the arm picks up, or puts others into, from each of the three object sets."""

FIXTURES = {"flat_stove": 1, "microwave": 1, "white_cabinet": 3, "wooden_cabinet": 3}
"""Fixtures that open, slide or turn, with the number of their joints."""

SCENES = ["tabletop_base", "kitchen_tabletop_base", "living_room_tabletop_base", "floor_base", "study_base"]


@pytest.fixture(scope="session")
def assets() -> Path:
    folder = os.environ.get("ARENA_LIBERO_ASSETS")
    if not folder:
        pytest.skip("ARENA_LIBERO_ASSETS names no folder with the assets of the LIBERO benchmark")
    path = Path(folder)
    assert (path / "stable_hope_objects").is_dir(), f"ARENA_LIBERO_ASSETS={folder} holds no stable_hope_objects"
    return path


def compiled(arena: MujocoXML, thing: MujocoXMLObject | None = None) -> Any:
    """The MuJoCo model of a scene with one thing in it, put together as robosuite does it."""
    world = MujocoWorldBase()
    world.merge(arena)
    if thing is not None:
        world.merge_assets(thing)
        world.worldbody.append(thing.get_obj())
    return mujoco.MjModel.from_xml_string(world.get_xml())


@pytest.mark.parametrize("folder", LOOSE)
def test_a_loose_object_falls_and_comes_to_rest(assets: Path, folder: str) -> None:
    """Dropped from 15 cm, it lies on the floor two seconds later: meshes, inertia and contacts are sound."""
    name = Path(folder).name
    thing = MujocoXMLObject(
        str(assets / folder / f"{name}.xml"),
        name=name,
        joints=[{"type": "free", "damping": "0.0005"}],
        obj_type="all",
        duplicate_collision_geoms=False,
    )
    model = compiled(EmptyArena(), thing)
    data = mujoco.MjData(model)
    joint = data.joint(thing.joints[0])
    joint.qpos[:3] = 0, 0, 0.15 - thing.bottom_offset[2]
    mujoco.mj_forward(model, data)
    start = joint.qpos[2]
    while data.time < 2:
        mujoco.mj_step(model, data)
    assert np.isfinite(data.qpos).all()
    assert data.ncon > 0, "nothing holds it"
    assert 0 < start - joint.qpos[2] < start + 0.01, "it fell, and not through the floor"
    assert np.abs(joint.qvel[:3]).max() < 0.1, "m/s; a bottle may still roll"
    assert not data.warning.number.any(), "MuJoCo saw an unstable simulation"


@pytest.mark.parametrize(("name", "joints"), FIXTURES.items())
def test_a_fixture_keeps_its_joints(assets: Path, name: str, joints: int) -> None:
    """Doors, drawers and knobs are joints with limits, and stay inside them."""
    fixture = MujocoXMLObject(
        str(assets / "articulated_objects" / f"{name}.xml"),
        name=name,
        joints=None,
        obj_type="all",
        duplicate_collision_geoms=False,
    )
    model = compiled(EmptyArena(), fixture)
    assert (model.njnt, model.jnt_limited.all()) == (joints, True)
    data = mujoco.MjData(model)
    while data.time < 0.5:
        mujoco.mj_step(model, data)
    low, high = model.jnt_range.T
    assert (low - 0.02 <= data.qpos).all()
    assert (data.qpos <= high + 0.02).all()


@pytest.mark.parametrize("style", SCENES)
def test_a_scene_compiles_with_its_textures(assets: Path, style: str) -> None:
    model = compiled(MujocoXML(str(assets / "scenes" / f"libero_{style}_style.xml")))
    assert model.ntex > 0
    assert mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_GEOM, "floor") >= 0
