"""A WebSocket server in threads, with a health page: what openpi's, RoboArena's and vla-eval's servers share."""

from __future__ import annotations

import contextlib
import http
import threading
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, Self

from agents.policies.server.path import Served
from agents.policies.wire import MAX_BYTES

if TYPE_CHECKING:
    from websockets.http11 import Request, Response
    from websockets.sync.server import ServerConnection


class WebSocketServer(ABC):
    """Listens from the moment that it is made; each connection has a thread."""

    health: ClassVar[tuple[str, str]] = ("/healthz", "OK\n")

    def __init__(self, policy: Served, host: str, port: int, chunk: int) -> None:
        from websockets.sync.server import serve

        self.policy = policy
        self.length = chunk
        self._connections: set[ServerConnection] = set()
        self._server = serve(
            self._handle,
            host,
            port,
            compression=None,
            max_size=MAX_BYTES,
            ping_interval=None,
            process_request=self._page,
        )
        self._host, self._port = host, int(self._server.socket.getsockname()[1])
        self._thread = threading.Thread(target=self._server.serve_forever, name="policy-server", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where clients find it."""
        return f"ws://{f'[{self._host}]' if ':' in self._host else self._host}:{self._port}"

    def close(self) -> None:
        """Stop listening and end all connections."""
        self._server.shutdown()
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.socket.close()
        self._thread.join(5)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @abstractmethod
    def converse(self, connection: ServerConnection) -> None:
        """Speak the protocol on one connection, until it ends (`ConnectionClosed`)."""

    def _handle(self, connection: ServerConnection) -> None:
        from websockets.exceptions import ConnectionClosed

        self._connections.add(connection)
        try:
            self.converse(connection)
        except ConnectionClosed:
            pass  # the client has gone, as clients do
        finally:
            self._connections.discard(connection)

    def _page(self, connection: ServerConnection, request: Request) -> Response | None:
        path, body = self.health
        return connection.respond(http.HTTPStatus.OK, body) if request.path == path else None
