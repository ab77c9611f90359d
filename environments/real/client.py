"""The arena's end of the robot protocol: one WebSocket, bounded in time and size; whatever is wrong is one error."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from environments.errors import RobotError
from environments.real import messages
from environments.real.messages import CODES, MAX_ANSWER, BadMessage
from environments.real.robot import ACTION_SIZE, PROTOCOL, Description, Reading, Vector

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection


class Acted(NamedTuple):
    """What came of an action."""

    reading: Reading
    """After it."""
    applied: Vector
    """(7,): what was carried out."""
    clipped: bool
    """Whether that is less than was asked for."""
    done: bool | None
    """Whether the goal is reached, if that is known already."""


class RobotClient:
    """Speaks to one robot server; connects with the first request. Safe for threads: requests wait for one another.

    Args:
        url: `ws://host:port`.
        timeout_s: within which an answer must come.
        person_s: the same for what a person has to do: setting the scene, judging the end.
    """

    def __init__(self, url: str, *, timeout_s: float = 5.0, person_s: float = 600.0) -> None:
        self._url, self._timeout_s, self._person_s = url, timeout_s, person_s
        self._connection: ClientConnection | None = None
        self._held = contextlib.ExitStack()
        self._seq = 0
        self._lock = threading.RLock()
        self._description: Description | None = None
        self.watchdog_s = 0.0
        """Of the robot; known once it was described."""

    def describe(self) -> Description:
        """What the robot is; asked once a connection.

        Raises:
            RobotError: as for all requests: no server, no answer in time, an answer that cannot be used, or what the
                robot itself reports.
        """
        with self._lock:
            if self._connection is None or self._description is None:
                self._connect()
                answer = self._exchange("describe", {"protocol": PROTOCOL}, self._timeout_s)
                if answer.get("protocol") != PROTOCOL:
                    spoken = str(answer.get("protocol"))[:40]
                    raise self._wrong("describe", f"speaks {spoken!r}; this arena speaks {PROTOCOL!r}")
                try:
                    self._description, self.watchdog_s = messages.description_in(answer)
                except BadMessage as error:
                    raise self._wrong("describe", str(error)) from None
            return self._description

    def reset(self, instruction: str, seed: int) -> Reading:
        """Have the operator set the scene; returns when that is confirmed and the arm is at its start."""
        with self._lock:
            return self._reading("reset", self._ask("reset", {"instruction": instruction, "seed": seed}, person=True))

    def observe(self, cameras: Sequence[str] = ()) -> Reading:
        """Read the sensors now, with pictures of these cameras."""
        with self._lock:
            reading = self._reading("observe", self._ask("observe", {"cameras": list(cameras)}))
            size = self.describe().cameras
            for name in cameras:
                if name not in reading.pictures or reading.pictures[name].pixels.shape != (*size[name], 3):
                    raise self._wrong("observe", f"holds no picture of {name!r} in the size that was described")
            return reading

    def act(self, action: Sequence[float]) -> Acted:
        """Carry out one action; returns when its control period is over."""
        with self._lock:
            answer = self._ask("act", {"action": [float(value) for value in action]})
            try:
                applied = messages.vector(messages.field(answer, "applied"), "applied", ACTION_SIZE)
                return Acted(
                    self._reading("act", answer), applied, answer.get("clipped") is True, _verdict(answer.get("done"))
                )
            except BadMessage as error:
                raise self._wrong("act", str(error)) from None

    def hold(self) -> None:
        """Let the robot pause where it is; the next action takes it up again."""
        self._ask("hold", {})

    def stop(self) -> None:
        """Emergency stop, by a connection of its own: it waits for no request that is under way."""
        from websockets.exceptions import WebSocketException
        from websockets.sync.client import connect

        try:
            with connect(self._url, compression=None, proxy=None, open_timeout=self._timeout_s) as other:
                other.send(messages.pack({"seq": 0, "do": "stop"}))
                answer = messages.unpack(other.recv(timeout=self._timeout_s), MAX_ANSWER)
                messages.field(answer, "ok")
        except (OSError, WebSocketException, BadMessage) as error:
            raise RobotError(
                f"{self._url}: the stop was not confirmed ({type(error).__name__}); use the switch"
            ) from None

    def success(self) -> bool | None:
        """The verdict of who judges; None if there is none."""
        with self._lock:
            return _verdict(self._ask("success", {}, person=True).get("success"))

    def close(self) -> None:
        """End the connection; a robot in motion then holds."""
        from websockets.exceptions import WebSocketException

        self._connection, self._description = None, None
        with contextlib.suppress(OSError, WebSocketException):
            self._held.close()

    # --- the wire ----------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        from websockets.exceptions import InvalidHandshake, InvalidURI
        from websockets.sync.client import connect

        self.close()
        try:
            opened = connect(
                self._url, compression=None, max_size=MAX_ANSWER, max_queue=1, open_timeout=self._timeout_s,
                close_timeout=1.0, ping_interval=None, proxy=None,
            )  # fmt: skip
            self._connection = self._held.enter_context(opened)
        except (InvalidURI, InvalidHandshake, TimeoutError, OSError) as error:
            why = getattr(error, "strerror", None) or str(error)[:120] or type(error).__name__
            raise RobotError(f"no robot answers at {self._url} ({why}); start its server, or check `url`") from None

    def _ask(self, do: str, more: dict[str, Any], *, person: bool = False) -> dict[str, Any]:
        with self._lock:
            if self._connection is None:
                if do not in ("reset", "observe"):
                    raise RobotError(f"{self._url}: there is no connection for `{do}`; begin with `reset`")
                self.describe()
            return self._exchange(do, more, self._person_s if person else self._timeout_s)

    def _exchange(self, do: str, more: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        from websockets.exceptions import ConnectionClosed

        if self._connection is None:
            raise RobotError(f"{self._url}: there is no connection")
        self._seq += 1
        try:
            self._connection.send(messages.pack({"seq": self._seq, "do": do, **more}))
            data = self._connection.recv(timeout=timeout_s)
        except TimeoutError:
            self.close()  # an answer that came later would be taken for that of another request
            raise RobotError(f"{self._url} gave no answer to `{do}` within {timeout_s:g} s") from None
        except (ConnectionClosed, OSError) as error:
            self.close()
            too_large = isinstance(error, ConnectionClosed) and error.sent is not None and error.sent.code == 1009
            if too_large:
                told = f"answers `{do}` with more than the {MAX_ANSWER:,} bytes that are read"
            else:
                told = f"is gone: the connection broke during `{do}`"
            raise RobotError(f"{self._url} {told}") from None
        return self._read(do, data)

    def _read(self, do: str, data: bytes | str) -> dict[str, Any]:
        try:
            answer = messages.unpack(data, MAX_ANSWER)
            refusal = answer.get("error")
            if answer.get("seq") != self._seq and not (refusal and answer.get("seq") is None):
                raise BadMessage(f"has `seq` {str(answer.get('seq'))[:20]}, not {self._seq}")
            if refusal is not None:
                code = messages.text(messages.field(refusal, "code"), "code", 40)
                said = messages.text(messages.field(refusal, "message"), "message", 2 * messages.MAX_TEXT)
                raise RobotError(f"{self._url} refuses `{do}`: {code if code in CODES else 'robot'}: {said}")
            ok = messages.field(answer, "ok")
            if not isinstance(ok, dict):
                raise BadMessage("has an `ok` that is no map")
            return ok
        except BadMessage as error:
            raise self._wrong(do, str(error)) from None

    def _reading(self, do: str, answer: dict[str, Any]) -> Reading:
        try:
            return messages.reading_in(messages.field(answer, "reading"))
        except BadMessage as error:
            raise self._wrong(do, str(error)) from None

    def _wrong(self, do: str, what: str) -> RobotError:
        self.close()
        return RobotError(f"{self._url}: the answer to `{do}` {what}")


def _verdict(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None
