"""A `Robot` on a WebSocket: one client, actions within limits, a watchdog, a stop that anybody may send.

One thread calls the robot. It is also the thread in which a camera's OpenGL context or a driver's session lives. The
state of motion is one of:

    idle       nobody has begun an episode
    held       the arm keeps its pose; the next action takes it up again
    running    an action was carried out; the next one is due within the watchdog's time
    watchdog   none came: the arm holds, and goes on only after a new reset
    stopped    the emergency stop was sent: as `watchdog`
"""

from __future__ import annotations

import contextlib
import http
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

import numpy as np

from environments.real import messages
from environments.real.messages import MAX_CAMERAS, MAX_REQUEST, BadMessage
from environments.real.robot import ACTION_SIZE, PROTOCOL, WATCHDOG_S, Robot, RobotFault, Scene, Vector

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection

log = logging.getLogger(__name__)

State = Literal["idle", "held", "running", "watchdog", "stopped"]
T = TypeVar("T")

MOVE_M = 0.05
"""What +-1 of a translation asks for."""
_MAX_SEED = 2**63


class _Refused(Exception):
    """A request that is answered by an error."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class RobotServer:
    """Serves a robot from the moment that it is made, in threads of this process, until `close`.

    Args:
        robot: what is served; every call but `stop` comes from one thread.
        host: address to listen at. There is no password: listen at 127.0.0.1, and let others in by a tunnel.
        port: 0 takes a free one.
        watchdog_s: seconds without an action after which a moving robot holds.

    Raises:
        OSError: if the port is taken.
        RobotFault: if the robot cannot describe itself.
        BadMessage: if what it says of itself is out of bounds.
    """

    def __init__(self, robot: Robot, host: str = "127.0.0.1", port: int = 0, *, watchdog_s: float = WATCHDOG_S) -> None:
        from websockets.sync.server import serve

        self._robot, self._watchdog_s = robot, watchdog_s
        self._hand = ThreadPoolExecutor(1, thread_name_prefix="robot")
        self.state: State = "idle"
        """Of motion, see the module."""
        self._waiting_since: float | None = None
        self._lock = threading.Lock()
        self._owner: ServerConnection | None = None
        self._connections: set[ServerConnection] = set()
        self._closed = threading.Event()
        with contextlib.ExitStack() as undo:
            undo.callback(self._hand.shutdown)
            self.description = self.call(robot.describe)
            self._said = messages.description_out(self.description, PROTOCOL, watchdog_s)
            messages.description_in(self._said)  # what a client would refuse is told to who wrote it
            self._server = serve(
                self._handle, host, port, compression=None, max_size=MAX_REQUEST, ping_interval=None,
                process_request=self._page,
            )  # fmt: skip
            undo.pop_all()
        self._host, self._port = host, int(self._server.socket.getsockname()[1])
        self._threads = [
            threading.Thread(target=self._server.serve_forever, name="robot-server", daemon=True),
            threading.Thread(target=self._watch, name="robot-watchdog", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"ws://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}"

    def call(self, function: Callable[[], T]) -> T:
        """Run something in the robot's own thread, between two of its calls."""
        return self._hand.submit(function).result()

    def close(self) -> None:
        """Hold the robot, stop listening and end all connections."""
        self._closed.set()
        if self.state == "running":
            self._hold("held")
        self._server.shutdown()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.socket.close()
        for thread in self._threads:
            thread.join(5)
        self._hand.shutdown()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- watchdog ----------------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        while not self._closed.wait(self._watchdog_s / 10):
            since = self._waiting_since
            if since is not None and time.monotonic() - since > self._watchdog_s:
                self._hold("watchdog", since)

    def _hold(self, state: State, since: float | None = None) -> None:
        """Hold, in the robot's thread.

        Args:
            state: what it is called.
            since: do nothing if an action has come since then.
        """

        def hold() -> None:
            if self.state not in ("running", "held") or since not in (None, self._waiting_since):
                return
            if since is not None:
                log.warning("no action for %.2f s: the robot holds its pose", self._watchdog_s)
            self._rest(state)
            self._robot.hold()

        error = self._hand.submit(hold).exception()
        if error is not None:  # whoever waits for the hold has gone on, or away: nobody else can stop it
            log.error("the robot could not hold; it is stopped", exc_info=error)
            self._stop()

    def _rest(self, state: State) -> None:
        self._waiting_since = None
        if self.state != "stopped":
            self.state = state

    def _stop(self) -> None:
        self._waiting_since, self.state = None, "stopped"
        self._robot.stop()

    # --- connections -------------------------------------------------------------------------------------------------

    def _page(self, connection: ServerConnection, request: Request) -> Response | None:
        return connection.respond(http.HTTPStatus.OK, "OK\n") if request.path == "/healthz" else None

    def _handle(self, connection: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        self._connections.add(connection)
        try:
            greeted = False
            while True:
                reply, greeted = self._answer(connection, connection.recv(), greeted)
                connection.send(messages.pack(reply))
        except ConnectionClosed:
            pass  # the client has gone, as clients do
        finally:
            self._connections.discard(connection)
            with self._lock:
                mine, self._owner = self._owner is connection, None if self._owner is connection else self._owner
            if mine and not self._closed.is_set():
                self._hold("watchdog")  # nobody is there any more to act

    def _answer(self, connection: ServerConnection, data: bytes | str, greeted: bool) -> tuple[dict[str, Any], bool]:
        seq: Any = None
        try:
            request = messages.unpack(data, MAX_REQUEST)
            seq = request.get("seq")
            if type(seq) is not int:
                seq = None
                raise BadMessage("has no whole number `seq`")
            do = messages.text(messages.field(request, "do"), "do", 20)
            if do == "describe":
                return {"seq": seq, "ok": self._describe(request)}, True
            if not greeted and do != "stop":
                raise BadMessage(f"is {do!r}; the first one is `describe`, with the protocol")
            return {"seq": seq, "ok": self._do(connection, do, request)}, greeted
        except BadMessage as error:
            return _error(seq, "protocol", f"the request {error}"), greeted
        except _Refused as error:
            return _error(seq, error.code, str(error)), greeted

    def _describe(self, request: dict[str, Any]) -> dict[str, Any]:
        spoken = request.get("protocol")
        if spoken != PROTOCOL:
            raise _Refused("version", f"the client speaks {str(spoken)[:40]!r}, this robot speaks {PROTOCOL!r}")
        return self._said

    def _do(self, connection: ServerConnection, do: str, request: dict[str, Any]) -> dict[str, Any]:
        if do == "stop":
            log.warning("emergency stop")
            self._stop()  # at once, whatever the robot's own thread is doing
            return {}
        handlers = {"reset": self._reset, "observe": self._observe, "act": self._act, "hold": self._pause,
                    "success": self._success}  # fmt: skip
        if do not in handlers:
            raise BadMessage(f"asks for {do!r}; there are describe, {', '.join(handlers)} and stop")
        self._claim(connection)
        # `exception` hands over whatever the robot's own code raised: a bug there must end in a robot that is stopped.
        future = self._hand.submit(handlers[do], request)
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, BadMessage | _Refused):
            raise error
        self._stop()
        if isinstance(error, RobotFault):
            raise _Refused("robot", str(error)[: messages.MAX_TEXT])
        log.error("the robot's code failed in `%s`; it is stopped", do, exc_info=error)
        raise _Refused("robot", f"the robot's own code failed in `{do}` ({type(error).__name__}); see its log")

    def _claim(self, connection: ServerConnection) -> None:
        with self._lock:
            if self._owner not in (None, connection):
                raise _Refused("busy", "another client plays this robot; only `describe` and `stop` are open to others")
            self._owner = connection

    # --- requests, in the robot's thread -----------------------------------------------------------------------------

    def _reset(self, request: dict[str, Any]) -> dict[str, Any]:
        seed = messages.field(request, "seed")
        if type(seed) is not int or not 0 <= seed < _MAX_SEED:
            raise BadMessage("has a `seed` that is no whole number from 0")
        instruction = messages.text(messages.field(request, "instruction"), "instruction")
        self._waiting_since, self.state = None, "idle"
        self._robot.reset(Scene(instruction=instruction, seed=seed))
        self._unless_stopped()
        self.state = "held"
        return {"reading": messages.reading_out(self._robot.observe(()))}

    def _observe(self, request: dict[str, Any]) -> dict[str, Any]:
        wanted = messages.field(request, "cameras")
        if not isinstance(wanted, list) or len(wanted) > MAX_CAMERAS:
            raise BadMessage(f"has `cameras` that are no list of at most {MAX_CAMERAS}")
        unknown = [name for name in wanted if name not in self.description.cameras]
        if unknown:
            known = ", ".join(self.description.cameras)
            raise BadMessage(f"asks for the camera {str(unknown[0])[:40]!r}; there is {known or 'none'}")
        return {"reading": messages.reading_out(self._robot.observe(wanted))}

    def _act(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.state not in ("held", "running"):
            raise _Refused(*_WHY[self.state])
        try:
            asked = messages.vector(messages.field(request, "action"), "action", ACTION_SIZE)
        except BadMessage as error:
            self._rest("held")
            self._robot.hold()
            raise _Refused("bad-action", f"the action {error}; nothing was done, and the robot holds") from None
        action, self._waiting_since = self._limited(asked), None
        if self.state == "held":
            self.state = "running"
        self._robot.act(action)
        done = _verdict(self._robot.success(False))
        reading = self._robot.observe(())
        self._unless_stopped()
        self._waiting_since = time.monotonic()
        clipped = bool((action != asked).any())
        return {"reading": messages.reading_out(reading), "applied": action.tolist(), "clipped": clipped, "done": done}

    def _unless_stopped(self) -> None:
        """Refuse to go on if the stop was sent while the robot was busy."""
        if self.state == "stopped":
            raise _Refused(*_WHY["stopped"])

    def _limited(self, asked: Vector) -> Vector:
        """The action within the robot's limits: its size, and where it leads."""
        action = np.clip(asked, self.description.low, self.description.high)
        if self.description.workspace is not None:
            here = self._robot.observe(()).position
            lowest, highest = (np.array(corner) for corner in self.description.workspace)
            # Nothing leads further out; whoever is out there may come back.
            action[:3] = np.clip(action[:3], np.minimum(0, (lowest - here) / MOVE_M).clip(-1),
                                 np.maximum(0, (highest - here) / MOVE_M).clip(None, 1))  # fmt: skip
        return np.asarray(action)

    def _pause(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.state in ("running", "held"):
            self._rest("held")
            self._robot.hold()
        return {"state": self.state}

    def _success(self, request: dict[str, Any]) -> dict[str, Any]:
        if self.state == "running":
            self._rest("held")
            self._robot.hold()  # the operator is about to come near
        return {"success": _verdict(self._robot.success(True)), "by": self.description.judge}


_WHY: dict[str, tuple[str, str]] = {
    "idle": ("not-ready", "no episode has begun; send `reset` first"),
    "watchdog": ("watchdog", "no action came in the watchdog's time, and the robot holds; send `reset` to begin anew"),
    "stopped": ("stopped", "the emergency stop was sent, or the robot reported a fault; `reset` asks the operator"),
}


def _verdict(value: Any) -> bool | None:
    return None if value is None else bool(value)  # a check may say it in NumPy's word


def _error(seq: Any, code: str, message: str) -> dict[str, Any]:
    return {"seq": seq, "error": {"code": code, "message": message}}
