"""The clips of an episode, drawn from exact snapshots once it is kept: the true view, whatever the policy saw."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from arena.faults.dataset import clip_path
from environments.robots.robot_env import CAMERAS, RobotEnv
from environments.robots.world import CONTROL_HZ
from storage.video import Frame, VideoWriter


def draw(env: RobotEnv, episode_id: str, moments: Mapping[int, bytes], every: int, folder: Path) -> None:
    """Write one H.264 clip for each camera; a frame for each moment, in order.

    Each is written under another name first: a clip that exists is whole.

    Args:
        env: of the episode's task.
        episode_id: names the files.
        moments: moment -> snapshot.
        every: control steps between two of them.
        folder: of the dataset.

    Raises:
        RenderError: if there is no usable OpenGL.
    """
    views: dict[str, list[Frame]] = {camera: [] for camera in CAMERAS}
    for moment in sorted(moments):
        env.restore(moments[moment])
        seen = env.observe()
        for camera, frames in views.items():
            frames.append(seen[camera])
    for camera, frames in views.items():
        path = folder / clip_path(episode_id, camera)
        path.parent.mkdir(parents=True, exist_ok=True)
        part = path.with_name(f"{camera}.{os.getpid()}.mp4")
        height, width, _ = frames[0].shape
        with VideoWriter(part, CONTROL_HZ / every, (width, height)) as writer:
            for frame in frames:
                writer.write(frame)
        part.replace(path)
