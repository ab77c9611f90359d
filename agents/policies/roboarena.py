"""RoboArena's protocol: openpi's, with a configuration from the server, sessions and an explicit reset.

Source: robo-arena/roboarena, `policy_server.py`, `policy_client.py`, `policy.py`. The server's first message says which
pictures it wants, at which size, and which action space it speaks; each request names an `endpoint` (`infer` or
`reset`); the answer to a reset is a text frame. All N actions of a chunk are executed.

RoboArena's robots are DROID's. Of its four action spaces the arena's native one is `cartesian_velocity` (six numbers
and the gripper, +-1 a step); the three others, which say where joints or hand shall be, cannot be played by it. The
observation has no joint angles: `observation/joint_position` is not sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.policies import wire
from agents.policies.client import Episode
from agents.policies.openpi import OpenPiClient
from agents.policies.sight import Sight

ACTION_SPACE = "cartesian_velocity"
OPEN_M = 0.08
"""Distance of the Panda's fingers when the hand is open (2 x 4 cm)."""


class RoboArenaClient(OpenPiClient):
    """The near end of RoboArena's protocol."""

    _session = ""

    def begin(self, episode: Episode) -> str:
        """Reset the session at the server."""
        self._session = episode.session
        self.drop()
        self.connect(self._greeted)
        self.send(wire.pack({"endpoint": "reset", "session_id": episode.session}))
        reply = self.receive()
        if isinstance(reply, str) and "Traceback" in reply:
            raise self.traceback(reply)
        return "endpoint reset"

    def request(self, sight: Sight) -> dict[str, Any]:
        """What the server's configuration asks for."""
        config = self.metadata
        resolution = config.get("image_resolution")
        size = None if resolution is None else (int(resolution[0]), int(resolution[1]))
        request: dict[str, Any] = {"endpoint": "infer", "prompt": sight.prompt, **pose(sight.state)}
        if config.get("needs_session_id"):
            request["session_id"] = self._session
        if config.get("n_external_cameras", 1):
            request["observation/exterior_image_0_left"] = sight.picture("agentview", size)
        if config.get("needs_wrist_camera", True):
            request["observation/wrist_image_left"] = sight.picture("wrist", size)
        return request

    def heed(self, metadata: Mapping[str, Any]) -> None:
        """Refuse what the arena cannot show or play, before an episode begins."""
        space = metadata.get("action_space")
        if space != ACTION_SPACE:
            raise wire.WireError(
                f"the server's metadata: `action_space` is {str(space)[:60]!r}; the native space is {ACTION_SPACE!r}"
            )
        if metadata.get("needs_stereo_camera"):
            raise wire.WireError("the server's metadata: `needs_stereo_camera` is true; there is no stereo camera")
        cameras = metadata.get("n_external_cameras", 1)
        if cameras not in (0, 1):
            raise wire.WireError(f"the server's metadata: `n_external_cameras` is {str(cameras)[:20]}; there is one")
        size = metadata.get("image_resolution")
        if size is not None and not _is_size(size):
            raise wire.WireError(
                f"the server's metadata: `image_resolution` is {str(size)[:60]}, not height and width in 32..1024"
            )


def pose(state: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
    """RoboArena's words for the arm's state (8,).

    `observation/cartesian_position` (6,): metres and axis times angle in rad (DROID's own is in Euler angles);
    `observation/gripper_position` (1,): 0 open, 1 closed.
    """
    closed = 1.0 - (state[6] - state[7]) / OPEN_M
    return {
        "observation/cartesian_position": state[:6].copy(),
        "observation/gripper_position": np.array([closed], np.float32),
    }


def _is_size(value: Any) -> bool:
    return (
        isinstance(value, list | tuple) and len(value) == 2 and all(type(x) is int and 32 <= x <= 1024 for x in value)
    )
