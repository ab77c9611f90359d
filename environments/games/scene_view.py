"""The study as a MuJoCo model, and its pictures. Nothing here is part of the game's state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from environments.drawing import Colour
from environments.env import Frame
from environments.games import scene_paint as paint
from environments.games.scene_case import Case
from environments.games.scene_room import (
    HALF_X,
    HALF_Y,
    HEIGHT,
    TABLE_RADIUS,
    TABLE_TOP,
    VIEW_HEIGHT,
    VIEW_WIDTH,
    Eye,
    Vector,
    place,
    seat_direction,
    wall,
)
from environments.robots._robosuite import mujoco
from environments.robots.rendering import Camera

WALL: Colour = (196, 204, 190)
OAK: Colour = (128, 86, 50)
DARK_OAK: Colour = (92, 60, 36)
BRASS: Colour = (206, 168, 80)
UP: Vector = (0.0, 0.0, 1.0)


class StudyView:
    """Renders one case; builds the model at once, and the OpenGL context on the first picture."""

    def __init__(self, case: Case) -> None:
        self._model = _build(case)
        self._data = mujoco.MjData(self._model)
        self._camera: Camera | None = None

    def render(self, eye: Eye) -> Frame:
        """What an eye sees, (VIEW_HEIGHT, VIEW_WIDTH, 3) uint8.

        Raises:
            RenderError: if there is no usable OpenGL.
        """
        if self._camera is None:  # high: with multisampling; there are no shadows, as no light casts any
            self._camera = Camera(self._model, VIEW_WIDTH, VIEW_HEIGHT, "high")
        right, up, forward = eye.axes
        matrix = np.array([right, up, [-part for part in forward]]).T
        mujoco.mju_mat2Quat(self._model.cam_quat[0], matrix.ravel())
        self._model.cam_pos[0] = eye.position
        self._model.cam_fovy[0] = eye.field
        mujoco.mj_forward(self._model, self._data)
        return self._camera.render(self._data, "eye")

    def close(self) -> None:
        """Free the OpenGL context, if there is one."""
        if self._camera is not None:
            self._camera.close()


class _Frame:
    """A corner of the room with axes of its own: x to the right along a wall, y out of it, z up."""

    def __init__(self, stage: _Stage, origin: Sequence[float], right: Vector) -> None:
        self.stage, self.origin, self.right = stage, origin, right
        self.yaw = math.atan2(right[1], right[0])

    def at(self, x: float, y: float, z: float) -> list[float]:
        right, out = self.right, (self.right[1], -self.right[0])
        return [self.origin[0] + x * right[0] + y * out[0], self.origin[1] + x * right[1] + y * out[1], z]

    def box(self, at: Vector, half: Vector, colour: Colour, tilt: float = 0.0) -> None:
        """A box about a point; `tilt` turns it about the local x axis, in radians."""
        self.stage.box(self.at(*at), half, colour, self.yaw, tilt)

    def rod(self, at: Vector, radius: float, half: float, colour: Colour, alpha: float = 1.0) -> None:
        self.stage.rod(self.at(*at), radius, half, colour, alpha)

    def quad(self, at: Vector, half: tuple[float, float], image: Image.Image, *, flat: bool = False) -> None:
        """A picture that faces the room, or lies flat with its foot towards the room."""
        out = (self.right[1], -self.right[0], 0.0)
        up = (-out[0], -out[1], 0.0) if flat else UP
        self.stage.quad(self.at(*at), half, self.right, up, image)


class _Stage:
    """A MuJoCo spec that takes coloured solids and flat pictures; everything is fixed and never collides."""

    def __init__(self) -> None:
        self.spec = mujoco.MjSpec()
        self._pictures: list[Image.Image] = []

    def _geom(self, kind: Any, at: Sequence[float], size: Sequence[float], **rest: Any) -> None:
        # Group 1: the camera hides group 0.
        self.spec.worldbody.add_geom(
            type=kind, pos=list(at), size=list(size), group=1, contype=0, conaffinity=0, **rest
        )

    def box(
        self, at: Sequence[float], half: Sequence[float], colour: Colour, yaw: float = 0.0, tilt: float = 0
    ) -> None:
        cy, sy, ct, st = math.cos(yaw / 2), math.sin(yaw / 2), math.cos(tilt / 2), math.sin(tilt / 2)
        quat = [cy * ct, cy * st, sy * st, sy * ct]  # first about the local x axis, then about z
        self._geom(mujoco.mjtGeom.mjGEOM_BOX, at, half, quat=quat, rgba=_rgba(colour))

    def rod(self, at: Sequence[float], radius: float, half: float, colour: Colour, alpha: float = 1.0) -> None:
        size = [radius, half, 0]
        self._geom(mujoco.mjtGeom.mjGEOM_CYLINDER, at, size, rgba=_rgba(colour, alpha))

    def ball(self, at: Sequence[float], half: Sequence[float], colour: Colour) -> None:
        self._geom(mujoco.mjtGeom.mjGEOM_ELLIPSOID, at, half, rgba=_rgba(colour))

    def quad(
        self, at: Sequence[float], half: tuple[float, float], right: Vector, up: Vector, image: Image.Image
    ) -> None:
        name = f"picture{len(self._pictures)}"
        self._pictures.append(image)
        self.spec.add_texture(
            name=name,
            type=mujoco.mjtTexture.mjTEXTURE_2D,
            width=image.width,
            height=image.height,
            nchannel=3,
            builtin=mujoco.mjtBuiltin.mjBUILTIN_FLAT,
        )
        material = self.spec.add_material(name=name, emission=0.35, specular=0, shininess=0)
        material.textures[mujoco.mjtTextureRole.mjTEXROLE_RGB] = name
        axes = [right[i] for i in range(3)], [up[i] for i in range(3)]
        matrix = np.array([*axes, np.cross(*axes)]).T
        quat = np.empty(4)
        mujoco.mju_mat2Quat(quat, matrix.ravel())
        self._geom(mujoco.mjtGeom.mjGEOM_PLANE, at, [*half, 1], quat=quat.tolist(), material=name)

    def compiled(self) -> Any:
        """The model, its pictures filled in: handed to the spec they would be converted number by number (0.2 s)."""
        model = self.spec.compile()
        for index, image in enumerate(self._pictures):
            pixels = np.asarray(image, dtype=np.uint8).ravel()
            start = int(model.tex_adr[index])
            model.tex_data[start : start + pixels.size] = pixels
        return model


def _rgba(colour: Colour, alpha: float = 1.0) -> list[float]:
    return [*(part / 255 for part in colour), alpha]


def _build(case: Case) -> Any:
    """The compiled model of a case's room."""
    stage = _Stage()
    spec = stage.spec
    spec.visual.headlight.ambient = [0.62, 0.62, 0.62]
    spec.visual.headlight.diffuse = [0.22, 0.22, 0.22]
    spec.visual.headlight.specular = [0, 0, 0]
    # Fewer facets than MuJoCo's own default: a wide view costs 12 ms of software rendering instead of 40.
    spec.visual.quality.numslices, spec.visual.quality.numstacks, spec.visual.quality.numquads = 18, 4, 2
    spec.visual.quality.shadowsize = 0  # no light casts any
    spec.visual.map.znear = 0.02
    spec.stat.extent = 3.0
    spec.worldbody.add_light(pos=[0, 0, 2.5], dir=[0.25, 0.2, -1], diffuse=[0.45, 0.42, 0.38], castshadow=False)
    spec.worldbody.add_camera(name="eye", pos=[0, 0, 1.6])
    _shell(stage, case)
    _table(stage, case)
    builders = {
        "vials": _vials,
        "memo": _desk,
        "coats": _coats,
        "clock": _clock,
        "wall-clock": _wall_clock,
        "books": _books,
        "painting": _painting,
        "plant": _plant,
    }
    for index, kind in enumerate(case.furniture):
        side, along = place(index)
        builders[kind](_wall_frame(stage, side, along), case)
    return stage.compiled()


def _wall_frame(stage: _Stage, side: int, along: float) -> _Frame:
    normal, right, far = wall(side)
    return _Frame(stage, [right[i] * along - normal[i] * far for i in range(2)], right)


def _shell(stage: _Stage, case: Case) -> None:
    stage.quad([0, 0, 0], (HALF_X, HALF_Y), (1, 0, 0), (0, 1, 0), paint.floor(case))
    stage.quad([0, 0, HEIGHT], (HALF_X, HALF_Y), (1, 0, 0), (0, -1, 0), Image.new("RGB", (8, 8), (236, 234, 226)))
    for side, kind in enumerate(case.entries):
        frame, half = _wall_frame(stage, side, 0), HALF_X if side % 2 == 0 else HALF_Y
        for along, wide in ((-(half + 0.5) / 2, (half - 0.5) / 2), ((half + 0.5) / 2, (half - 0.5) / 2), (0, 0.5)):
            frame.box((along, -0.05, HEIGHT / 2), (wide, 0.05, HEIGHT / 2), WALL)
        frame.box((0, 0.0, 0.06), (half, 0.02, 0.06), DARK_OAK)
        frame.box((0, 0.0, 0.98), (half, 0.012, 0.02), (170, 178, 160))
        _ENTRIES[kind](frame)
        if side == case.way_in:
            _traces(frame, case)


def _traces(frame: _Frame, case: Case) -> None:
    """What the culprit left beside the opening: the print of a hand on a tile, threads on a nail."""
    frame.box((0.78, 0.0, 1.35), (0.15, 0.02, 0.15), (150, 156, 146))
    frame.quad((0.78, 0.026, 1.35), (0.13, 0.13), paint.hand_print(case.hands[case.culprit], (214, 220, 210)))
    cloth = paint.COAT_COLOURS[case.coats[case.culprit]]
    frame.box((-0.72, 0.03, 0.91), (0.012, 0.03, 0.012), BRASS)
    for dx, dz, tall in ((-0.02, 0.84, 0.06), (0.015, 0.86, 0.05), (0.04, 0.83, 0.045)):
        frame.box((-0.72 + dx, 0.035, dz), (0.016, 0.006, tall), cloth)


def _window(frame: _Frame) -> None:
    frame.quad((0, 0.012, 1.45), (0.5, 0.55), paint.outdoors())
    for x in (-0.52, 0, 0.52):
        frame.box((x, 0.02, 1.45), (0.03, 0.025, 0.6), (240, 238, 230))
    for z in (0.87, 1.45, 2.03):
        frame.box((0, 0.02, z), (0.55, 0.03, 0.025), (240, 238, 230))
    frame.box((0, 0.08, 0.85), (0.6, 0.09, 0.02), (240, 238, 230))
    for x in (-0.5, 0.5):
        frame.box((x, 0.07, 1.75), (0.09, 0.02, 0.42), (150, 60, 66))


def _glass_door(frame: _Frame) -> None:
    frame.quad((0, 0.012, 1.1), (0.5, 1.0), paint.outdoors())
    for x in (-0.53, 0, 0.53):
        frame.box((x, 0.02, 1.06), (0.035, 0.03, 1.06), (70, 92, 96))
    for z in (0.08, 0.9, 2.12):
        frame.box((0, 0.02, z), (0.56, 0.03, 0.04), (70, 92, 96))


def _fireplace(frame: _Frame) -> None:
    frame.box((0, 0.02, 0.55), (0.42, 0.02, 0.5), (28, 24, 24))
    for x in (-0.52, 0.52):
        frame.box((x, 0.06, 0.58), (0.1, 0.1, 0.58), (156, 96, 80))
    frame.box((0, 0.08, 1.2), (0.68, 0.14, 0.05), (112, 66, 56))
    frame.box((0, 0.04, 1.95), (0.45, 0.06, 0.72), (156, 96, 80))
    for x in (-0.15, 0.02, 0.17):
        frame.box((x, 0.09, 0.14), (0.14, 0.04, 0.03), DARK_OAK)


def _oak_door(frame: _Frame) -> None:
    frame.box((0, 0.01, 1.04), (0.5, 0.03, 1.04), OAK)
    for x in (-0.55, 0.55):
        frame.box((x, 0.02, 1.06), (0.05, 0.04, 1.08), DARK_OAK)
    frame.box((0, 0.02, 2.14), (0.6, 0.04, 0.05), DARK_OAK)
    for z in (0.55, 1.5):
        frame.box((0, 0.035, z), (0.34, 0.012, 0.36), (146, 102, 62))
    frame.rod((0.4, 0.08, 1.02), 0.035, 0.02, BRASS)


_ENTRIES = {"window": _window, "glass door": _glass_door, "fireplace": _fireplace, "oak door": _oak_door}


def _table(stage: _Stage, case: Case) -> None:
    stage.rod([0, 0, TABLE_TOP - 0.025], TABLE_RADIUS, 0.025, (142, 96, 58))
    stage.rod([0, 0, 0.36], 0.09, 0.36, DARK_OAK)
    stage.rod([0, 0, 0.02], 0.32, 0.02, DARK_OAK)
    stage.rod([0, 0, TABLE_TOP + 0.06], 0.035, 0.06, (236, 232, 214))
    for seat, guest in enumerate(case.seats):
        x, y, _ = seat_direction(seat)
        frame = _Frame(stage, [0, 0], (-y, x, 0.0))  # y of the frame points from the middle to the seat
        _chair(frame, tipped=guest == case.victim)
        _setting(frame, case, guest)


def _setting(frame: _Frame, case: Case, guest: int) -> None:
    """Saucer, cup and name card; the victim's cup has coloured dregs, the others have tea."""
    z = TABLE_TOP
    frame.rod((0.09, 0.48, z + 0.004), 0.075, 0.004, (232, 230, 224))
    for turn in range(12):  # an open cup: a ring of staves
        angle = 2 * math.pi * turn / 12
        x, y = 0.09 + 0.042 * math.cos(angle), 0.48 + 0.042 * math.sin(angle)
        frame.rod((x, y, z + 0.04), 0.0125, 0.036, (244, 242, 238))
    poisoned = guest == case.victim
    frame.rod((0.09, 0.48, z + 0.03), 0.038, 0.02, (112, 62, 26))
    if poisoned:
        tint = paint.TINT_COLOURS[case.tints[case.poison]]
        frame.rod((0.09, 0.48, z + 0.051), 0.03, 0.001, tint)
        for dx, dy in ((-0.02, 0.012), (0.014, 0.02), (0.004, -0.022)):
            frame.rod((0.09 + dx, 0.48 + dy, z + 0.053), 0.006, 0.002, tint)
    frame.box((0.09, 0.56, z + 0.012), (0.006, 0.05, 0.003), (200, 204, 210))
    card = paint.label(case.names[guest])
    lean = 0.5
    out = (frame.right[1], -frame.right[0])
    up = (-out[0] * math.sin(lean), -out[1] * math.sin(lean), math.cos(lean))
    frame.stage.quad(frame.at(-0.1, 0.5, z + 0.036), (0.085, 0.032), frame.right, up, card)


def _chair(frame: _Frame, *, tipped: bool) -> None:
    y = 1.02
    if tipped:  # on its back: the seat upright, the back on the floor
        frame.box((0, y + 0.1, 0.24), (0.21, 0.025, 0.21), OAK)
        frame.box((0, y + 0.36, 0.04), (0.21, 0.26, 0.025), DARK_OAK)
        for x in (-0.18, 0.18):
            for z in (0.06, 0.42):
                frame.box((x, y - 0.12, z), (0.02, 0.21, 0.02), DARK_OAK)
        return
    frame.box((0, y, 0.45), (0.21, 0.21, 0.025), OAK)
    frame.box((0, y + 0.2, 0.72), (0.21, 0.02, 0.26), DARK_OAK)
    for x in (-0.18, 0.18):
        for dy in (-0.18, 0.18):
            frame.box((x, y + dy, 0.22), (0.02, 0.02, 0.22), DARK_OAK)


def _vials(frame: _Frame, case: Case) -> None:
    """A cabinet with four labelled bottles of coloured stuff."""
    frame.box((0, 0.15, 0.5), (0.5, 0.15, 0.5), DARK_OAK)
    frame.box((0, 0.16, 1.02), (0.54, 0.17, 0.02), OAK)
    for index, (name, tint) in enumerate(zip(case.poisons, case.tints, strict=True)):
        x = -0.33 + 0.22 * index
        frame.rod((x, 0.17, 1.15), 0.07, 0.11, paint.TINT_COLOURS[tint])
        frame.rod((x, 0.17, 1.29), 0.028, 0.035, paint.TINT_COLOURS[tint])
        frame.rod((x, 0.17, 1.335), 0.034, 0.018, OAK)
        frame.quad((x, 0.248, 1.12), (0.095, 0.036), paint.label(name))


def _desk(frame: _Frame, case: Case) -> None:
    frame.box((0, 0.3, 0.74), (0.5, 0.3, 0.025), OAK)
    for x in (-0.44, 0.44):
        frame.box((x, 0.3, 0.36), (0.04, 0.28, 0.36), DARK_OAK)
    frame.quad((0, 0.36, 0.772), (0.15, 0.1125), paint.memo(case), flat=True)
    frame.rod((0.3, 0.2, 0.79), 0.035, 0.03, (40, 48, 70))
    frame.rod((-0.32, 0.16, 0.775), 0.08, 0.012, BRASS)
    frame.rod((-0.32, 0.16, 0.92), 0.012, 0.14, BRASS)
    frame.rod((-0.32, 0.16, 1.1), 0.11, 0.07, (236, 222, 176))


def _coats(frame: _Frame, case: Case) -> None:
    """Four hooks with name tags above the coats."""
    frame.box((0, 0.02, 1.78), (0.62, 0.02, 0.05), DARK_OAK)
    for guest, colour in enumerate(case.coats):
        x, cloth = -0.45 + 0.3 * guest, paint.COAT_COLOURS[colour]
        frame.box((x, 0.06, 1.7), (0.012, 0.05, 0.012), BRASS)
        frame.box((x, 0.1, 1.24), (0.1, 0.05, 0.36), cloth)
        frame.box((x, 0.1, 1.6), (0.07, 0.045, 0.03), tuple(part * 3 // 4 for part in cloth))  # type: ignore[arg-type]
        for dx in (-0.115, 0.115):
            frame.box((x + dx, 0.1, 1.3), (0.024, 0.04, 0.26), tuple(part * 4 // 5 for part in cloth))  # type: ignore[arg-type]
        frame.quad((x, 0.045, 1.79), (0.13, 0.049), paint.label(case.names[guest]))


def _clock(frame: _Frame, case: Case) -> None:
    """The stopped clock, knocked askew on a sideboard."""
    frame.box((0, 0.2, 0.4), (0.5, 0.2, 0.4), OAK)
    frame.box((0, 0.21, 0.82), (0.54, 0.22, 0.02), DARK_OAK)
    frame.box((0, 0.2, 0.98), (0.14, 0.06, 0.14), DARK_OAK)
    frame.quad((0, 0.262, 0.98), (0.12, 0.12), paint.dial(case.true_minutes + case.fast_minutes, cracked=True))
    frame.rod((0.36, 0.2, 0.92), 0.05, 0.08, (120, 140, 160))
    frame.box((-0.34, 0.2, 0.87), (0.1, 0.07, 0.03), (150, 60, 66))


def _wall_clock(frame: _Frame, case: Case) -> None:
    frame.box((0, 0.015, 1.75), (0.21, 0.015, 0.21), DARK_OAK)
    frame.quad((0, 0.032, 1.75), (0.19, 0.19), paint.dial(case.wall_minutes, cracked=False))


def _books(frame: _Frame, case: Case) -> None:
    frame.box((0, 0.14, 1.0), (0.48, 0.14, 1.0), DARK_OAK)
    tones = ((150, 60, 66), (60, 92, 120), (70, 110, 80), (190, 150, 80), (96, 74, 110))
    for shelf in range(4):
        for book in range(9):
            tall = 0.15 + 0.03 * ((shelf * 5 + book * 3) % 3)
            at = (-0.38 + 0.095 * book, 0.25, 0.22 + 0.48 * shelf + tall)
            frame.box(at, (0.04, 0.05, tall), tones[(shelf * 2 + book) % 5])


def _painting(frame: _Frame, case: Case) -> None:
    frame.box((0, 0.012, 1.55), (0.44, 0.012, 0.34), BRASS)
    frame.quad((0, 0.026, 1.55), (0.4, 0.3), paint.landscape())


def _plant(frame: _Frame, case: Case) -> None:
    frame.rod((0, 0.3, 0.2), 0.18, 0.2, (170, 92, 62))
    for turn in range(7):
        angle = 2 * math.pi * turn / 7
        at = frame.at(0.16 * math.cos(angle), 0.3 + 0.16 * math.sin(angle), 0.75 + 0.16 * (turn % 3))
        frame.stage.ball(at, (0.14, 0.14, 0.26), (52, 110 + 12 * (turn % 3), 70))
