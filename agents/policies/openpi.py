"""openpi's protocol: WebSocket and msgpack, one request a chunk.

Source: Physical-Intelligence/openpi, `packages/openpi-client` and `serving/websocket_policy_server.py`; request keys
and conventions from `examples/libero/main.py`. The server speaks first, with a map of metadata. A request is one flat
map, the answer holds `actions` (H x 7) and `server_timing`. A text frame is the server's traceback, after which it
closes with code 1011. There is no reset, no session, no number that ties an answer to its request: a new connection
is all that says "a new episode", so one is opened for each, and after each rollback.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from agents.errors import NetworkError
from agents.policies import wire
from agents.policies.chunks import read_rows
from agents.policies.client import Answer, Episode, timing
from agents.policies.sight import Sight
from agents.policies.websocket import WebSocketClient


class OpenPiClient(WebSocketClient):
    """The near end of openpi's protocol."""

    metadata: Mapping[str, Any]
    """What the server said of itself."""

    def begin(self, episode: Episode) -> str:
        """Open a new connection: the only reset that this protocol has."""
        self.drop()
        self.connect(self._greeted)
        return "new connection"

    def ask(self, sight: Sight) -> Answer:
        """Send the pictures, the state and the prompt; take the chunk."""
        return self.chunk(self.request(sight))

    def request(self, sight: Sight) -> dict[str, Any]:
        """The flat map of one request, with LIBERO's keys."""
        return {
            "observation/image": sight.picture("agentview"),
            "observation/wrist_image": sight.picture("wrist"),
            "observation/state": sight.state,
            "prompt": sight.prompt,
        }

    def chunk(self, request: Mapping[str, Any]) -> Answer:
        """The answer to a request.

        A connection that is lost meanwhile is opened again and the same is asked once more: nothing in this protocol
        depends on what was asked before. The record tells.
        """
        message, since_s = wire.pack(request), time.perf_counter()
        notes: dict[str, Any] = {}
        try:
            reply = self._exchange(message)
        except NetworkError as error:
            self.drop()
            self.connect(self._greeted)
            notes["reconnected"] = str(error)
            reply = self._exchange(message)
        answer = wire.unpack(reply)
        rows = read_rows(wire.field(answer, "actions"), "actions")
        notes["latency_ms"] = self.elapsed_ms(since_s)
        if told := timing(answer.get("server_timing")):
            notes["server_timing"] = told
        return Answer(rows=rows, name="actions", notes=notes)

    def heed(self, metadata: Mapping[str, Any]) -> None:
        """Look at what the server says of itself; openpi's own means nothing to us.

        Raises:
            WireError: if it cannot be served.
        """

    def _greeted(self) -> None:
        """Take the server's first message."""
        greeting = self.receive()
        if isinstance(greeting, str):
            raise self.traceback(greeting)
        metadata = wire.unpack(greeting)
        if not isinstance(metadata, Mapping):
            raise wire.WireError(f"the server's first message is {type(metadata).__name__}, not a map of metadata")
        self.heed(metadata)
        self.metadata = metadata

    def _exchange(self, message: bytes) -> bytes:
        self.send(message)
        reply = self.receive()
        if isinstance(reply, str):
            raise self.traceback(reply)
        return reply
