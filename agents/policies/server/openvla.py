"""Our server of OpenVLA's protocol, plain and OFT (see the client of the same name for the sources)."""

from __future__ import annotations

import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar, Self

from agents.policies import wire
from agents.policies.chunks import gripper_from_native
from agents.policies.options import USUAL
from agents.policies.server import requests
from agents.policies.server.path import Refusal, Served

log = logging.getLogger(__name__)


class OpenVLAServer:
    """Plain OpenVLA: a picture and an instruction in, one action out.

    Such a request tells neither the arm's state nor the episode, so the answer goes by count: the n-th request of a
    TCP connection is taken for the n-th step of an episode. A client that adds `state` (8 numbers), as OFT's do, is
    answered by it instead, and may go back and connect anew.
    """

    protocol: ClassVar[str] = "openvla"
    image_keys: ClassVar[tuple[str, ...]] = ("image",)
    demands_state: ClassVar[bool] = False

    def __init__(self, policy: Served, host: str, port: int, chunk: int) -> None:
        self.policy = policy
        self.length = chunk if self.demands_state else 1
        handler = type("Handler", (_Handler,), {"server_side": self})
        self._server = ThreadingHTTPServer((host, port), handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, name="policy-server", daemon=True
        )
        self._thread.start()

    @property
    def url(self) -> str:
        """Where clients find it."""
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def act(self, body: bytes, step: int) -> Any:
        """The answer to one request: (7,), or a list of such.

        Raises:
            Refusal: if the request is at fault.
            WireError: if it cannot be read.
        """
        request = wire.from_json(body)
        requests.text(request, "instruction")
        for key in self.image_keys:
            requests.picture(request, key)
        told = self.demands_state or "state" in request
        at = requests.numbers(request, "state", 8) if told else step
        rows = self.policy.chunk(request.get(requests.SEED_KEY), at, self.length).copy()
        rows[:, 6] = gripper_from_native(rows[:, 6], USUAL[self.protocol].gripper)
        return list(rows) if self.demands_state else rows[0]


class OpenVLAOFTServer(OpenVLAServer):
    """OpenVLA-OFT: two pictures and the arm's state in, a chunk out."""

    protocol = "openvla-oft"
    image_keys = ("full_image", "wrist_image")
    demands_state = True


class _Handler(BaseHTTPRequestHandler):
    server_side: OpenVLAServer
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # headers and body in one packet: two would wait 40 ms for one another's acknowledgement
    _steps = 0
    """Answers given on this connection: a handler lives as long as its connection."""

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""

    def do_GET(self) -> None:
        """The health page."""
        if self.path == "/healthz":
            self._answer(200, b"OK\n")
        else:
            self._answer(404, b'{"detail":"Not Found"}')

    def do_POST(self) -> None:
        """`/act`; a request at fault is answered as OpenVLA's server answers: HTTP 200 and "error"."""
        try:
            length = int(self.headers.get("content-length", ""))
        except ValueError:
            length = -1
        if not 0 <= length <= wire.MAX_BYTES:
            self.close_connection = True
            return self._answer(413, b'{"detail":"a body of known length within bounds is expected"}')
        body = self.rfile.read(length)
        if self.path != "/act":
            return self._answer(404, b'{"detail":"Not Found"}')
        try:
            reply = wire.to_json(self.server_side.act(body, self._steps))
        except (Refusal, wire.WireError) as error:
            log.warning("request refused: %s", error)
            return self._answer(200, b'"error"')
        self._steps += 1
        return self._answer(200, reply)

    def _answer(self, status: int, data: bytes) -> None:
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:  # the client has gone
            self.close_connection = True
