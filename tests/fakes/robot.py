"""A robot without physics, and a server of its protocol that misbehaves when told to."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from environments.real import messages
from environments.real.robot import PROTOCOL, Description, Picture, Reading, RobotFault, Scene, Vector


class PointRobot:
    """A hand that goes where it is told at once. Keeps a list of what it was asked to do."""

    def __init__(self, *, goal_steps: int = 10_000, period_s: float = 0.0, **description: Any) -> None:
        self.goal_steps, self.period_s = goal_steps, period_s
        self.done: list[Any] = []
        self.position, self.steps = np.zeros(3), 0
        self.declines = False
        self.verdict: bool | None = True
        self.fault: Exception | None = None
        cameras = {"agentview": (32, 32), "wrist": (32, 32)}
        said = {"name": "point", "cameras": cameras, "rate_hz": 20, "judge": "check", "check": "steps"} | description
        self._description = Description(**said)

    def describe(self) -> Description:
        return self._description

    def reset(self, scene: Scene) -> None:
        if self.declines:
            raise RobotFault("the operator declined")
        self.done.append(("reset", scene.seed))
        self.position, self.steps = np.zeros(3), 0

    def observe(self, cameras: Sequence[str]) -> Reading:
        pixels = np.full((32, 32, 3), self.steps % 256, np.uint8)
        return Reading(
            time_s=time.monotonic(),
            position=self.position.copy(),
            rotation=np.diag([1.0, -1.0, -1.0]),
            axis_angle=np.array([np.pi, 0.0, 0.0]),
            velocity=np.zeros(3),
            fingers=np.array([0.04, -0.04]),
            pictures={name: Picture(time.monotonic(), pixels) for name in cameras},
        )

    def act(self, action: Vector) -> None:
        if self.fault is not None:
            raise self.fault
        time.sleep(self.period_s)
        self.done.append(("act", [round(float(value), 6) for value in action]))
        self.position = self.position + 0.05 * action[:3]
        self.steps += 1

    def hold(self) -> None:
        self.done.append("hold")

    def stop(self) -> None:
        self.done.append("stop")

    def success(self, final: bool) -> bool | None:
        if self._description.judge == "operator" and not final:
            return None
        return self.verdict if final and self._description.judge == "operator" else self.steps >= self.goal_steps


class Misbehaving:
    """A server of the protocol whose answers to a request are changed by `spoil` from the `after`th on.

    `spoil` gets the good answer and returns a message to send, or bytes, a text, or None to say nothing.
    """

    def __init__(self, do: str, spoil: Callable[[dict[str, Any]], Any], after: int = 1) -> None:
        from websockets.sync.server import serve

        self.robot = PointRobot()
        self._do, self._spoil, self._left = do, spoil, after
        self._server = serve(self._handle, "127.0.0.1", 0, compression=None, ping_interval=None)
        self.url = f"ws://127.0.0.1:{self._server.socket.getsockname()[1]}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def _handle(self, connection: Any) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            while True:
                request = messages.unpack(connection.recv(), 2**20)
                answer: Any = {"seq": request["seq"], "ok": self._ok(request)}
                if request["do"] == self._do:
                    self._left -= 1
                    if self._left <= 0:
                        answer = self._spoil(answer)
                if answer is not None:
                    connection.send(answer if isinstance(answer, bytes | str) else messages.pack(answer))
        except ConnectionClosed:
            return

    def _ok(self, request: dict[str, Any]) -> dict[str, Any]:
        do = request["do"]
        if do == "describe":
            return messages.description_out(self.robot.describe(), PROTOCOL, 5.0)
        if do == "act":
            self.robot.act(np.array(request["action"]))
            more = {"applied": request["action"], "clipped": False, "done": False}
            return {"reading": messages.reading_out(self.robot.observe(())), **more}
        if do == "success":
            return {"success": False, "by": "check"}
        return {"reading": messages.reading_out(self.robot.observe(request.get("cameras", ())))}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
