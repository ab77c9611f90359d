"""Pictures of a LIBERO scene, drawn when somebody looks, equal to the benchmark's own in `reference` quality.

The benchmark draws its pictures inside a control step (see `arm`). What they show is put together again
here, from the joint positions of that moment, in a second `mjData` that the simulation never sees.
"""

from __future__ import annotations

import numpy as np

from environments.env import Frame
from environments.robots._robosuite import mujoco
from environments.robots.libero.arm import Sample
from environments.robots.libero.world import LiberoWorld
from environments.robots.rendering import Camera, Quality
from environments.robots.robot_env import CAMERAS
from environments.robots.world import Vector


class View:
    """Draws samples of one world at one size and quality."""

    def __init__(self, world: LiberoWorld, size: int, quality: Quality, *, turned: bool) -> None:
        """Nothing is opened before the first picture.

        Args:
            world: the scene.
            size: edge of the pictures, in pixels.
            quality: see `rendering.Quality`.
            turned: whether pictures are turned by 180 degrees against the upright view. robosuite's own rows come
                from the bottom up, so the published turning (`image[::-1, ::-1]`) leaves them upright and mirrored.
        """
        self._world, self._size, self._quality, self._turned = world, size, quality, turned
        self._camera: Camera | None = None
        self._scratch = mujoco.MjData(world.mj_model)

    def picture(self, sample: Sample, key: str, shift_m: Vector | None = None) -> Frame:
        """What a camera saw at the sample's moment, (size, size, 3) uint8; with `shift_m`, (3,), from beside its place.

        Raises:
            RenderError: if there is no usable OpenGL.
        """
        model, scratch = self._world.mj_model, self._scratch
        if self._camera is None:
            self._camera = Camera(model, self._size, self._size, self._quality, sites=True)
        scratch.qpos[:] = sample.qpos
        mujoco.mj_kinematics(model, scratch)
        mujoco.mj_comPos(model, scratch)
        mujoco.mj_camlight(model, scratch)
        if shift_m is not None:
            scratch.cam_xpos[model.camera(CAMERAS[key]).id] += shift_m
        opacity = model.site_rgba[self._world.indicators, 3].copy()
        model.site_rgba[self._world.indicators, 3] = sample.indicators
        try:
            upright = self._camera.render(scratch, CAMERAS[key])
        finally:
            model.site_rgba[self._world.indicators, 3] = opacity
        return np.ascontiguousarray(upright[:, ::-1]) if self._turned else upright

    def close(self) -> None:
        """Free the renderer, if there is one; safe to repeat."""
        if self._camera is not None:
            self._camera.close()
            self._camera = None
