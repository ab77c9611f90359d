"""Our servers of openpi's and RoboArena's protocols (see the clients of the same names for the sources)."""

from __future__ import annotations

import time
import traceback
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from agents.policies import wire
from agents.policies.chunks import Rows, gripper_from_native
from agents.policies.options import USUAL
from agents.policies.roboarena import ACTION_SPACE, pose
from agents.policies.server import requests
from agents.policies.server.path import Refusal, State
from agents.policies.server.websocket import WebSocketServer

if TYPE_CHECKING:
    from websockets.sync.server import ServerConnection

_INTERNAL_ERROR = 1011
_REASON = "Internal server error. Traceback included in previous frame."


class OpenPiServer(WebSocketServer):
    """Speaks first, then answers each request with a chunk; a fault is a traceback in a text frame."""

    protocol: ClassVar[str] = "openpi"
    metadata: ClassVar[Mapping[str, Any]] = {"server": "rewind-arena"}

    def converse(self, connection: ServerConnection) -> None:
        """One connection, until it ends or a request is at fault."""
        connection.send(wire.pack(dict(self.metadata)))
        previous_ms: float | None = None
        while True:
            message = connection.recv()
            started_s = time.perf_counter()
            try:
                reply = self.reply(message, previous_ms)
            except (Refusal, wire.WireError):
                connection.send(traceback.format_exc())
                connection.close(_INTERNAL_ERROR, _REASON)
                return
            connection.send(reply)
            previous_ms = 1000 * (time.perf_counter() - started_s)

    def reply(self, message: bytes | str, previous_ms: float | None) -> bytes | str:
        """The answer to one request.

        Raises:
            Refusal: if the request is at fault.
            WireError: if it cannot be read.
        """
        if isinstance(message, str):
            raise Refusal("the request is a text frame; expected msgpack in a binary one")
        return self.infer(wire.unpack(message), previous_ms)

    def infer(self, request: Any, previous_ms: float | None) -> bytes:
        """A chunk for an observation."""
        started_s = time.perf_counter()
        state = self.state(request)
        requests.text(request, "prompt")
        rows = self.rows(request, state)
        rows[:, 6] = gripper_from_native(rows[:, 6], USUAL[self.protocol].gripper)
        timing = {"infer_ms": 1000 * (time.perf_counter() - started_s)}
        if previous_ms is not None:
            timing["prev_total_ms"] = previous_ms
        return wire.pack({"actions": rows, "server_timing": timing})

    def rows(self, request: Mapping[str, Any], state: State) -> Rows:
        """The policy's answer to a request that has been checked: native actions, (length, 7) float64, a copy."""
        return self.policy.chunk(request.get(requests.SEED_KEY), state, self.length, self.told).copy()

    def state(self, request: Any) -> State:
        """The arm's state of a request, whose pictures are checked too."""
        requests.picture(request, "observation/image")
        requests.picture(request, "observation/wrist_image")
        return requests.numbers(request, "observation/state", 8)

    def told(self, state: State) -> State:
        """How the protocol says the observation's state."""
        return state


class RoboArenaServer(OpenPiServer):
    """The same with a configuration, sessions and the endpoint `reset`."""

    protocol = "roboarena"
    metadata: ClassVar[Mapping[str, Any]] = {
        "image_resolution": [224, 224],
        "needs_wrist_camera": True,
        "n_external_cameras": 1,
        "needs_stereo_camera": False,
        "needs_session_id": True,
        "action_space": ACTION_SPACE,
    }

    def reply(self, message: bytes | str, previous_ms: float | None) -> bytes | str:
        """By endpoint. A reset has nothing to forget here: the arm's state says all."""
        if isinstance(message, str):
            raise Refusal("the request is a text frame; expected msgpack in a binary one")
        request = wire.unpack(message)
        endpoint = requests.present(request, "endpoint")
        if endpoint == "reset":
            return "reset successful"
        if endpoint != "infer":
            raise Refusal(f"'endpoint' is {str(endpoint)[:40]!r}; there are infer and reset")
        requests.text(request, "session_id")
        return self.infer(request, previous_ms)

    def state(self, request: Any) -> State:
        """The hand's pose and the gripper, (7,)."""
        requests.picture(request, "observation/exterior_image_0_left")
        requests.picture(request, "observation/wrist_image_left")
        hand = requests.numbers(request, "observation/cartesian_position", 6)
        return np.concatenate([hand, requests.numbers(request, "observation/gripper_position", 1)])

    def told(self, state: State) -> State:
        """The same of the observation's state."""
        return np.concatenate(list(pose(state).values()))
