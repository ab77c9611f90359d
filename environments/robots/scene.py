"""Parts of the scene that robosuite does not have: the bowl, coloured cubes, and a light-weight look.

On two software-rendering cores a frame of robosuite's own scene costs 17 ms, of which 11 ms go into
168 000 mesh faces of the arm and its pedestal and 4 ms into textures. `compile_model` thins the
*visual* meshes out and leaves every collision shape, mass and inertia alone (a test checks that).
"""

from __future__ import annotations

import copy
import functools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from environments.robots import _robosuite  # must come first: it keeps OpenGL out of the import below
from environments.robots._robosuite import mujoco

_robosuite.load()

from robosuite.models.objects import BoxObject, CompositeObject  # noqa: E402

CELL_M = 0.008
"""Cell of the thinning; finer detail than a pixel of the agent view (about 3 mm at 256 x 256) is lost on it."""
MIN_FACES = 8
"""A mesh that would keep fewer faces than this is left as it is."""
AGENTVIEW_POS_M = (0.72, 0.0, 1.52)
AGENTVIEW_TARGET_M = (-0.04, 0.0, 0.89)
AGENTVIEW_FOVY_DEG = 33.0
PAINT: dict[str, tuple[float, float, float, float]] = {
    "floor": (0.55, 0.57, 0.60, 1.0),
    "wall": (0.78, 0.80, 0.82, 1.0),
    "table_visual": (0.80, 0.68, 0.52, 1.0),
    "table_leg": (0.45, 0.45, 0.47, 1.0),
}
"""Colours of the geoms whose name contains the key."""


@dataclass(frozen=True, slots=True)
class BowlShape:
    """A bowl of flat panels: a floor and a ring of leaning walls."""

    floor_radius_m: float = 0.050
    rim_radius_m: float = 0.080
    height_m: float = 0.045
    thickness_m: float = 0.006
    panels: int = 12


BOWL = BowlShape()


def bowl_object(name: str, rgba: tuple[float, float, float, float], shape: BowlShape = BOWL) -> Any:
    """A free bowl as robosuite's composite object; its origin is at half its height."""
    half = shape.thickness_m / 2
    mean_radius = (shape.floor_radius_m + shape.rim_radius_m) / 2
    lean = math.atan2(shape.rim_radius_m - shape.floor_radius_m, shape.height_m)
    slant = math.hypot(shape.rim_radius_m - shape.floor_radius_m, shape.height_m) / 2
    width = shape.rim_radius_m * math.tan(math.pi / shape.panels)
    types, sizes, places, turns = ["cylinder"], [[shape.floor_radius_m, half]], [[0.0, 0.0, half]], [[1.0, 0, 0, 0]]
    for i in range(shape.panels):
        angle = 2 * math.pi * i / shape.panels
        types.append("box")
        sizes.append([half, width, slant])
        places.append([mean_radius * math.cos(angle), mean_radius * math.sin(angle), shape.height_m / 2])
        # Turn about z to face outwards, then lean about the panel's own y.
        yaw, pitch = (math.cos(angle / 2), math.sin(angle / 2)), (math.cos(lean / 2), math.sin(lean / 2))
        turns.append([yaw[0] * pitch[0], -yaw[1] * pitch[1], yaw[0] * pitch[1], yaw[1] * pitch[0]])
    centred = [[x, y, z - shape.height_m / 2] for x, y, z in places]
    return CompositeObject(
        name=name,
        total_size=[shape.rim_radius_m, shape.rim_radius_m, shape.height_m / 2],
        geom_types=types,
        geom_sizes=sizes,
        geom_locations=centred,
        geom_quats=turns,
        rgba=rgba,
        density=1200.0,  # about 0.25 kg: a falling cube does not push it away
        solref=(0.01, 1.0),
        locations_relative_to_center=True,
        obj_types="all",
        duplicate_collision_geoms=False,
    )


def cube_object(name: str, half_m: float, rgba: tuple[float, float, float, float]) -> Any:
    """A light, grippy cube of half edge `half_m`; its origin is at its centre."""
    return BoxObject(
        name=name,
        size=[half_m] * 3,
        rgba=rgba,
        density=500.0,
        friction=(1.2, 0.005, 0.0001),
        solref=(0.01, 1.0),
    )


def thin_out(
    vertices: NDArray[np.float64], faces: NDArray[np.int32], cell_m: float
) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """Merge all vertices that fall into one cubic cell; faces that collapse vanish.

    Args:
        vertices: (V, 3) positions in metres.
        faces: (F, 3) vertex indices.
        cell_m: edge of a cell in metres.

    Returns:
        The merged vertices, (v, 3), and faces, (f, 3).
    """
    _, cell, count = np.unique(np.floor(vertices / cell_m), axis=0, return_inverse=True, return_counts=True)
    cell = cell.reshape(-1)
    merged = np.stack([np.bincount(cell, vertices[:, axis]) / count for axis in range(3)], axis=1)
    mapped = cell[faces].astype(np.int32)
    alive = (mapped[:, 0] != mapped[:, 1]) & (mapped[:, 1] != mapped[:, 2]) & (mapped[:, 0] != mapped[:, 2])
    _, first = np.unique(np.sort(mapped[alive], axis=1), axis=0, return_index=True)
    return merged, mapped[alive][np.sort(first)]


def compile_model(xml: str) -> Any:
    """A fresh `mujoco.MjModel` of robosuite's XML with thinned-out visuals and a plain, bright look."""
    return copy.copy(_compiled(xml))


@functools.lru_cache(maxsize=8)
def _compiled(xml: str) -> Any:
    full = mujoco.MjModel.from_xml_string(xml)
    spec = mujoco.MjSpec.from_string(xml)  # never compiled with the files, so it holds none of their normals
    visual = _visual_meshes(full)
    for mesh in spec.meshes:
        if mesh.name in visual:
            vertices, faces = _original_mesh(full, full.mesh(mesh.name).id)
            vertices, faces = thin_out(vertices, faces, CELL_M)
            if len(faces) >= MIN_FACES:
                mesh.file = ""
                mesh.uservert = vertices.ravel()
                mesh.userface = faces.ravel()
    model = spec.compile()
    _paint(model)
    return model


def _visual_meshes(model: Any) -> set[str]:
    """Names of the meshes that only visual geoms use."""
    mesh_geoms = [i for i in range(model.ngeom) if model.geom_type[i] == mujoco.mjtGeom.mjGEOM_MESH]
    solid = {int(model.geom_dataid[i]) for i in mesh_geoms if model.geom_group[i] != 1}
    return {model.mesh(int(model.geom_dataid[i])).name for i in mesh_geoms if model.geom_dataid[i] not in solid}


def _original_mesh(model: Any, mesh: int) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """A mesh in the frame of its file: the compiler moves it to its own inertial frame."""
    start, faces_at = model.mesh_vertadr[mesh], model.mesh_faceadr[mesh]
    vertices = model.mesh_vert[start : start + model.mesh_vertnum[mesh]].astype(np.float64)
    rotation = np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.mesh_quat[mesh])
    faces = model.mesh_face[faces_at : faces_at + model.mesh_facenum[mesh]]
    return vertices @ rotation.reshape(3, 3).T + model.mesh_pos[mesh], faces


def _paint(model: Any) -> None:
    """Plain colours instead of textures; nothing that touches the physics."""
    for i in range(model.ngeom):
        name = model.geom(i).name
        for part, rgba in PAINT.items():
            if part in name:
                model.geom_matid[i] = -1
                model.geom_rgba[i] = rgba
    aim_camera(model, AGENTVIEW_POS_M, AGENTVIEW_TARGET_M, AGENTVIEW_FOVY_DEG)
    model.vis.quality.offsamples = 0
    model.vis.quality.shadowsize = 2048
    model.vis.headlight.ambient[:] = 0.30
    model.vis.headlight.diffuse[:] = 0.20
    model.vis.headlight.specular[:] = 0.0
    model.light_pos[:] = (0.4, -0.5, 2.4)
    model.light_dir[:] = (-0.25, 0.3, -0.92)
    model.light_diffuse[:] = 0.55
    model.light_specular[:] = 0.15
    model.light_castshadow[:] = True
    model.vis.map.shadowclip = 0.8


def aim_camera(
    model: Any, eye_m: tuple[float, float, float], target_m: tuple[float, float, float], fovy_deg: float
) -> None:
    """Put the camera `agentview` at `eye_m` and point it at `target_m`, with the world's z upwards in its picture."""
    camera = model.camera("agentview").id
    model.cam_pos[camera] = eye_m
    model.cam_quat[camera] = _look_at(np.array(eye_m), np.array(target_m))
    model.cam_fovy[camera] = fovy_deg


def _look_at(eye: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """The quaternion of a camera (it looks along its own -z) with the world's z upwards."""
    back = (eye - target) / np.linalg.norm(eye - target)
    right = np.cross([0.0, 0.0, 1.0], back)
    right /= np.linalg.norm(right)
    rotation = np.stack([right, np.cross(back, right), back], axis=1)
    quat = np.empty(4)
    mujoco.mju_mat2Quat(quat, rotation.ravel())
    return quat
