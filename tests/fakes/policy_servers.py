"""Policy servers for tests: each protocol for real on 127.0.0.1, deterministic, and misbehaving on command.

They are written against the protocols' own sources and share no code with `agents.policies`: what both ends got wrong
in the same way would otherwise pass. What a server does is said by two scripts, one entry a connection and one a
request; when a script is used up, all is well.

    with OpenPi(requests=["ok", "traceback"]) as server:
        agents.create("policy", {"protocol": "openpi", "url": server.url})
"""

from __future__ import annotations

import base64
import contextlib
import json
import re
import socket
import threading
import time
import zlib
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

import msgpack
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve
from websockets.utils import accept_key

TRACEBACK = 'Traceback (most recent call last):\n  File "policy.py", line 7, in infer\nRuntimeError: \x1b[31mno memory'
TOO_MUCH = 33 * 2**20


def rows(state: Any, length: int = 10) -> np.ndarray:
    """The policy: a chunk that depends on the state alone, within -0.9..0.9; the gripper closes."""
    start = float(np.sum(np.asarray(state, np.float64)))
    steps = start + np.arange(length)[:, None] + np.arange(7)[None, :] / 7
    actions = 0.9 * np.sin(steps)
    actions[:, 6] = 1.0
    return actions


def broken(kind: str, actions: np.ndarray) -> Any:
    """Actions that are none."""
    match kind:
        case "narrow":
            return actions[:, :6]
        case "flat":
            return actions.ravel()
        case "empty":
            return actions[:0]
        case "words":
            return [["left"] * 7]
        case "nan" | "infinite":
            return np.where(np.arange(7) == 3, np.nan if kind == "nan" else np.inf, actions)
        case "range":
            return np.where(np.arange(7) == 2, 1.7, actions)
        case "slightly-outside":
            return np.where(np.arange(7) == 2, 1.05, actions)
    return actions


class _WebSocket:
    """One connection, one thread; subclasses speak."""

    def __init__(self, connections: Sequence[str] = (), requests: Sequence[str] = (), slow_s: float = 1.0) -> None:
        self.script, self.handshakes = list(requests), list(connections)
        self.slow_s = slow_s
        self.seen: list[Any] = []
        """Requests, decoded."""
        self.headers: list[dict[str, str]] = []
        self.opened = 0
        self._server = serve(
            self._handle, "127.0.0.1", 0, compression=None, max_size=None, process_request=self._page, close_timeout=0.2
        )
        self.port = self._server.socket.getsockname()[1]
        self.url = f"ws://127.0.0.1:{self.port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()

    def _page(self, connection: ServerConnection, request: Any) -> Any:
        if request.path in ("/healthz", "/health"):
            return connection.respond(200, "OK\n")
        self.headers.append(dict(request.headers.raw_items()))
        self.opened += 1
        connection.arena_kind = self.handshakes.pop(0) if self.handshakes else "ok"  # type: ignore[attr-defined]
        kind = connection.arena_kind  # type: ignore[attr-defined]
        return connection.respond(int(kind[5:]), "not now\n") if kind.startswith("http-") else None

    def _handle(self, connection: ServerConnection) -> None:
        with contextlib.suppress(ConnectionClosed, OSError):
            if self.greet(connection, connection.arena_kind):  # type: ignore[attr-defined]
                while True:
                    self.answer(connection, connection.recv())

    def greet(self, connection: ServerConnection, kind: str) -> bool:
        raise NotImplementedError

    def answer(self, connection: ServerConnection, message: Any) -> None:
        raise NotImplementedError

    def _next(self) -> str:
        return self.script.pop(0) if self.script else "ok"

    def _line(self, connection: ServerConnection, kind: str) -> bool:
        """Misbehaviours of the line itself; whether it was one."""
        match kind:
            case "drop":
                connection.socket.close()
            case "close-1011":
                connection.close(1011, "out of memory")
            case "garbage":
                connection.send(b"\xc1\xff\x00 nothing that msgpack knows")
            case "cut":
                connection.send(msgpack.packb({"actions": [1.0] * 50})[:-7])
            case "oversize":
                connection.send(bytes(TOO_MUCH))
            case _:
                return False
        return True


def _openpi(value: Any) -> Any:
    """openpi's form of arrays and scalars: byte keys."""
    if isinstance(value, np.ndarray):
        return {b"__ndarray__": True, b"data": value.tobytes(), b"dtype": value.dtype.str, b"shape": value.shape}
    if isinstance(value, np.generic):
        return {b"__npgeneric__": True, b"data": value.item(), b"dtype": value.dtype.str}
    raise TypeError(type(value))


def _openpi_read(value: dict[Any, Any]) -> Any:
    if b"__ndarray__" in value:
        return np.ndarray(buffer=value[b"data"], dtype=np.dtype(value[b"dtype"]), shape=value[b"shape"])
    return value


class OpenPi(_WebSocket):
    """openpi's server: speaks first, answers with chunks of 10."""

    metadata: ClassVar[dict[str, Any]] = {"policy": "of the tests", "reset_pose": [0.0, 1.0]}
    state_key = "observation/state"

    def greet(self, connection: ServerConnection, kind: str) -> bool:
        match kind:
            case "silent-close":
                connection.close(1011, "still loading")
            case "text":
                connection.send(TRACEBACK)
            case "list":
                connection.send(msgpack.packb([1, 2]))
            case "garbage":
                connection.send(b"\xc1")
            case _:
                told = dict(self.metadata)
                if kind.startswith("metadata:"):
                    told.update(json.loads(kind.partition(":")[2]))
                connection.send(msgpack.packb(told, default=_openpi))
                return True
        return False

    def answer(self, connection: ServerConnection, message: Any) -> None:
        request = msgpack.unpackb(message, object_hook=_openpi_read)
        self.seen.append(request)
        kind = self._next()
        if self._line(connection, kind):
            return
        actions = rows(request[self.state_key], 1 if kind == "one" else 10)
        reply: Any = {"actions": broken(kind, actions), "server_timing": {"infer_ms": 12.5}}
        match kind:
            case "traceback":
                connection.send(TRACEBACK)
                connection.close(1011, "Internal server error. Traceback included in previous frame.")
                return
            case "slow":
                time.sleep(self.slow_s)
            case "object" | "void" | "complex":
                dtype = {"object": "|O", "void": "|V8", "complex": "<c16"}[kind]
                reply["actions"] = {b"__ndarray__": True, b"data": bytes(560), b"dtype": dtype, b"shape": [10, 7]}
            case "lying-shape":
                reply["actions"] = {b"__ndarray__": True, b"data": bytes(8), b"dtype": "<f8", b"shape": [2**40, 7]}
            case "no-actions":
                reply = {"action": actions}
            case "list":
                reply = [1, 2, 3]
            case "echo" | "echo-timing":  # the header with the key, as a name
                key = str(connection.request and connection.request.headers["Authorization"])
                reply = {key: actions} if kind == "echo" else {**reply, "server_timing": {key: 1.0}}
        connection.send(msgpack.packb(reply, default=_openpi))


class RoboArena(OpenPi):
    """RoboArena's server: a configuration first, then `reset` (answered by text) and `infer`."""

    metadata: ClassVar[dict[str, Any]] = {
        "image_resolution": (180, 320),
        "needs_wrist_camera": True,
        "n_external_cameras": 1,
        "needs_stereo_camera": False,
        "needs_session_id": True,
        "action_space": "cartesian_velocity",
    }
    state_key = "observation/cartesian_position"

    def answer(self, connection: ServerConnection, message: Any) -> None:
        request = msgpack.unpackb(message, object_hook=_openpi_read)
        if request["endpoint"] == "reset":
            self.seen.append(request)
            if self.script and self.script[0] == "reset-traceback":
                self.script.pop(0)
                connection.send(TRACEBACK)
                connection.close(1011)
            else:
                connection.send("reset successful")
        else:
            super().answer(connection, message)


def _vla_eval(value: Any) -> Any:
    """vla-eval's form: text keys, scalars as numbers."""
    if isinstance(value, np.ndarray):
        return {"__ndarray__": True, "data": value.tobytes(), "dtype": value.dtype.str, "shape": list(value.shape)}
    return value.item()


def _vla_eval_read(value: dict[Any, Any]) -> Any:
    if "__ndarray__" in value:
        return np.frombuffer(value["data"], dtype=value["dtype"]).reshape(value["shape"]).copy()
    return value


class VlaEval(_WebSocket):
    """vla-eval's server: answers hello and observations; episodes are its connection's."""

    def greet(self, connection: ServerConnection, kind: str) -> bool:
        self.kind = kind
        return True

    def answer(self, connection: ServerConnection, message: Any) -> None:
        request = msgpack.unpackb(message, object_hook=_vla_eval_read)
        self.seen.append(request)
        if request["type"] == "hello":
            self._hello(connection, request["seq"])
        elif request["type"] == "observation":
            kind = self._next()
            if not self._line(connection, kind):
                self._act(connection, request, kind)
        elif request["type"] == "episode_start" and self.kind == "start-error":
            self._say(connection, "error", {"error": "episode_start_failed: no such task"}, request["seq"])

    def _hello(self, connection: ServerConnection, seq: int) -> None:
        hello = {"harness_version": "0.4.0", "protocol_version": 1, "model_server": "Fake", "capabilities": {}}
        hello["observation_params"] = {"send_wrist_image": True, "send_state": True}
        match self.kind:
            case "version-2":
                hello["protocol_version"] = 2
            case "no-version":
                del hello["protocol_version"]
            case "asks-nothing":
                del hello["observation_params"]
            case "not-hello":
                return self._say(connection, "action", {}, seq)
        return self._say(connection, "hello", hello, seq)

    def _act(self, connection: ServerConnection, request: Any, kind: str) -> None:
        seq, payload = request["seq"], request["payload"]
        actions = rows(payload.get("states", [0.0]), 4)
        actions = actions[0] if kind == "single" else actions
        match kind:
            case "error":
                return self._say(connection, "error", {"error": "observation_failed: KeyError: 'wrist'"}, seq)
            case "seq":
                seq += 1
            case "type":
                return self._say(connection, "hello", {}, seq)
            case "slow":
                time.sleep(self.slow_s)
            case "object":
                told: Any = {"__ndarray__": True, "data": bytes(56), "dtype": "|O", "shape": [7]}
                return self._say(connection, "action", {"actions": told}, seq)
        return self._say(connection, "action", {"actions": broken(kind, actions)}, seq)

    @staticmethod
    def _say(connection: ServerConnection, kind: str, payload: Any, seq: int) -> None:
        message = {"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()}
        connection.send(msgpack.packb(message, default=_vla_eval))


class Deaf:
    """Shakes hands as openpi's server does, speaks first, and then reads nothing ever again."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.url = f"ws://127.0.0.1:{self._listener.getsockname()[1]}"
        self._held: list[socket.socket] = []
        threading.Thread(target=self._shake_hands, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for held in (*self._held, self._listener):
            held.close()

    def _shake_hands(self) -> None:
        line, _ = self._listener.accept()
        self._held.append(line)
        head = b""
        while b"\r\n\r\n" not in head:
            head += line.recv(1)
        key = re.search(rb"Sec-WebSocket-Key: (\S+)", head)
        assert key is not None
        accept = accept_key(key[1].decode())
        upgrade = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        line.sendall(f"{upgrade}Sec-WebSocket-Accept: {accept}\r\n\r\n".encode() + b"\x82\x01\x80")  # an empty map


class OpenVLA:
    """OpenVLA's server: POST /act; plain (one action) or OFT (a list of 8)."""

    def __init__(self, requests: Sequence[str] = (), *, oft: bool = False, slow_s: float = 1.0) -> None:
        self.script, self.oft, self.slow_s = list(requests), oft, slow_s
        self.seen: list[Any] = []
        self.headers: list[dict[str, str]] = []
        self.closing = threading.Event()
        handler = type("Handler", (_ActHandler,), {"fake": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()

    def action(self, request: dict[str, Any], kind: str) -> Any:
        """In OpenVLA's convention, the gripper is 1 where it opens and 0 where it closes."""
        state = request.get("state", [len(self.seen)])
        actions = rows(state, 8)
        actions[:, 6] = 0.0
        actions = broken(kind, actions)
        if isinstance(actions, list):
            return actions
        return list(actions) if self.oft else actions[0] if len(actions) else actions


def _json_numpy(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"__numpy__": data, "dtype": value.dtype.str, "shape": value.shape}
    raise TypeError(type(value))


def _json_numpy_read(value: dict[str, Any]) -> Any:
    if "__numpy__" in value:
        return np.frombuffer(base64.b64decode(value["__numpy__"]), value["dtype"]).reshape(value["shape"])
    return value


class _ActHandler(BaseHTTPRequestHandler):
    fake: OpenVLA
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16

    def log_message(self, *_: Any) -> None:
        """Stay quiet."""

    def do_POST(self) -> None:
        fake = self.fake
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path != "/act":
            return self._answer(404, b'{"detail":"Not Found"}')
        request = json.loads(body, object_hook=_json_numpy_read)
        fake.seen.append(request)
        fake.headers.append({name.lower(): value for name, value in self.headers.items()})
        kind = fake.script.pop(0) if fake.script else "ok"
        if kind.isdigit():
            return self._answer(int(kind), b'{"detail":"no: \\u001b[31mred"}')
        match kind:
            case "error":
                return self._answer(200, b'"error"')
            case "error-map":
                return self._answer(200, b'{"error": "CUDA out of memory"}')
            case "text":
                return self._answer(200, b'"hello"')
            case "html":
                return self._answer(200, b"<!doctype html><p>It works.")
            case "oversize":
                return self._answer(200, b'"' + b"x" * TOO_MUCH + b'"')
            case "bomb" | "packed-br":
                packed = zlib.compress(b" " * 2 * TOO_MUCH, wbits=31)
                return self._answer(200, packed, {"Content-Encoding": "gzip" if kind == "bomb" else "br"})
            case "object":
                return self._answer(200, b'{"__numpy__": "AAAA", "dtype": "|O", "shape": [7]}')
            case "structured":
                return self._answer(200, b'{"__numpy__": "AAAA", "dtype": [["x", "<f8"]], "shape": [7]}')
            case "drop":
                self.close_connection = True
                self.connection.close()
                return None
            case "slow":
                fake.closing.wait(fake.slow_s)
            case "trickle":
                return self._trickle()
        said = json.dumps(fake.action(request, kind), default=_json_numpy).encode()
        if kind == "packed":
            return self._answer(200, zlib.compress(said, wbits=31), {"Content-Encoding": "gzip"})
        return self._answer(200, said)

    def _trickle(self) -> None:
        """A byte now and then, so that no single wait is long."""
        self.send_response(200)
        self.send_header("Content-Length", "100000")
        self.end_headers()
        while not self.fake.closing.wait(0.05):
            try:
                self.wfile.write(b" ")
                self.wfile.flush()
            except OSError:
                break
        self.close_connection = True

    def _answer(self, status: int, data: bytes, more: Mapping[str, str] | None = None) -> None:
        with contextlib.suppress(OSError):
            self.send_response(status)
            for name, value in (more or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
