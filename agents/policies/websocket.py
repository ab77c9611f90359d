"""One WebSocket to a policy server: bounded in time and size, connected again with growing pauses.

Compression is off (pictures do not shrink, and it costs milliseconds), and so are keep-alive pings: a server that
compiles its model answers none for minutes.
"""

from __future__ import annotations

import contextlib
import random
import socket
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from agents.errors import AuthenticationFailed, NetworkError, ProviderError, ProviderTimeout, UnusableAnswer
from agents.gateway.backends import bounded
from agents.gateway.retry import Clock
from agents.policies.client import PolicyClient
from agents.policies.options import PolicyOptions
from agents.policies.wire import MAX_BYTES

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

_TOO_LARGE, _INTERNAL_ERROR = 1009, 1011
_HEALTH_S = 2.0


class WebSocketClient(PolicyClient):
    """A client that keeps one connection open; subclasses say what is exchanged on it."""

    health_path: str = "/healthz"

    def __init__(self, options: PolicyOptions, clock: Clock | None = None) -> None:
        super().__init__(options, clock)
        self._socket: ClientConnection | None = None
        self._held = contextlib.ExitStack()

    @property
    def connected(self) -> bool:
        """Whether a connection is held; the server may have ended it since."""
        return self._socket is not None

    def connect(self, greet: Callable[[], None]) -> None:
        """Open a connection and greet, again and again with growing pauses until it succeeds.

        What is tried again: no connection, a refused or broken handshake, a connection that ends before the greeting
        is over. What is not: a refused key, and a greeting that says something wrong.

        Raises:
            ProviderError: after all retries.
        """
        policy, chance = self.retry_policy(), random.Random()
        started_s = self.clock.monotonic()
        for attempt in range(policy.max_retries + 1):
            try:
                problem = self._attempt(greet)
            except ProviderError:
                self.drop()
                raise
            if problem is None:
                return
            self.drop()
            pause_s = policy.wait(attempt, chance, None)
            late = self.clock.monotonic() + pause_s - started_s > policy.total_s
            if attempt == policy.max_retries or late:
                raise NetworkError(f"{self.options.place}: {problem} ({attempt + 1} attempts); {self._health()}")
            self.clock.sleep(pause_s)

    def _attempt(self, greet: Callable[[], None]) -> str | None:
        """Connect and greet once; what went wrong, if trying again may help."""
        from websockets.exceptions import InvalidHandshake, InvalidStatus, InvalidURI
        from websockets.sync.client import connect

        try:
            opened = connect(
                str(self.options.url),
                compression=None,
                max_size=MAX_BYTES,
                max_queue=1,  # nothing comes unasked; by default 16 such messages would be kept
                additional_headers=self._headers(),
                open_timeout=self.options.timeout_s,
                close_timeout=1.0,
                ping_interval=None,
                proxy=None,
            )
            self._socket = self._held.enter_context(opened)
            greet()
        except InvalidStatus as error:
            status = error.response.status_code
            if status in (401, 403):
                raise AuthenticationFailed(f"{self.options.place} answers HTTP {status}: {self._about_key()}") from None
            return f"the handshake is refused with HTTP {status}"
        except InvalidURI as error:
            raise NetworkError(f"{self.options.place}: {error}") from None
        except InvalidHandshake as error:
            return f"the handshake fails: {self.quoted(str(error))}"
        except NetworkError as error:
            return f"in the greeting: {error}"
        except TimeoutError:
            return f"no handshake within {self.options.timeout_s:g} s"
        except OSError as error:
            return f"no connection: {error.strerror or type(error).__name__}"
        return None

    def send(self, data: bytes) -> None:
        """Send one message.

        Raises:
            NetworkError: if the connection has ended.
            ProviderTimeout: if the server does not read it in time.
        """
        from websockets.exceptions import ConnectionClosed

        connection = self._open()
        try:
            bounded(lambda: connection.send(data), self.options.timeout_s)  # `send` itself would wait for ever
        except TimeoutError:
            with contextlib.suppress(OSError):  # lets go of the send that hangs; the close would wait for its lock
                connection.socket.shutdown(socket.SHUT_RDWR)
            raise ProviderTimeout(
                f"{self.options.place} did not read a request within `timeout_s` = {self.options.timeout_s:g} s"
            ) from None
        except ConnectionClosed as error:
            raise self._lost(error) from None
        except OSError as error:
            raise NetworkError(f"{self.options.place}: the connection broke: {error}") from None

    def receive(self) -> bytes | str:
        """The next message: bytes, or text.

        Raises:
            ProviderTimeout: if none comes in time.
            NetworkError: if the connection ends.
            UnusableAnswer: if it is longer than is read.
        """
        from websockets.exceptions import ConnectionClosed

        try:
            message = self._open().recv(timeout=self.options.timeout_s)
        except TimeoutError:
            raise ProviderTimeout(
                f"{self.options.place} gave no answer within `timeout_s` = {self.options.timeout_s:g} s"
            ) from None
        except ConnectionClosed as error:
            if error.sent is not None and error.sent.code == _TOO_LARGE:
                raise UnusableAnswer(
                    f"{self.options.place} answers with more than the {MAX_BYTES:,} bytes that are read"
                ) from None
            raise self._lost(error) from None
        return message if isinstance(message, str) else self.blotted(message)

    def drop(self) -> None:
        """End the connection, if there is one."""
        from websockets.exceptions import WebSocketException

        self._socket = None
        with contextlib.suppress(OSError, WebSocketException):
            self._held.close()

    def traceback(self, text: str) -> UnusableAnswer:
        """The error that a text frame amounts to: openpi's servers send their traceback in one."""
        return UnusableAnswer(f"{self.options.place} raised an error; its traceback ends {self.quoted(text)}")

    def elapsed_ms(self, since_s: float) -> float:
        """Milliseconds since a moment of `time.perf_counter`."""
        return round(1000 * (time.perf_counter() - since_s), 3)

    def _open(self) -> ClientConnection:
        if self._socket is None:
            raise NetworkError(f"{self.options.place}: there is no connection")
        return self._socket

    def _headers(self) -> dict[str, str]:
        key = self.options.key()
        return {"Authorization": f"Api-Key {key}"} if key else {}

    def _about_key(self) -> str:
        variable = self.options.key_env
        if variable is None:
            return "it wants a key; name its environment variable in `key_env`"
        return f"the key in {variable} is not accepted" if self.options.key() else f"{variable} is not set"

    def _lost(self, error: Exception) -> NetworkError:
        received = getattr(error, "rcvd", None)
        if received is None:
            return NetworkError(f"{self.options.place}: the connection broke without a word")
        said = f", saying {self.quoted(received.reason)}" if received.reason else ""
        why = " (an error inside the server; see its log)" if received.code == _INTERNAL_ERROR else ""
        return NetworkError(f"{self.options.place} closed the connection with code {received.code}{why}{said}")

    def _health(self) -> str:
        """What the server's health page says: tells a dead server from one that cannot shake hands."""
        import urllib.error
        import urllib.request

        parts = urlsplit(str(self.options.url))
        scheme = "https" if parts.scheme == "wss" else "http"
        page = urlunsplit((scheme, parts.netloc, self.health_path, "", ""))
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(page, timeout=_HEALTH_S) as answer:
                return f"its {self.health_path} answers HTTP {answer.status}, so a server is there"
        except urllib.error.HTTPError as error:
            return f"its {self.health_path} answers HTTP {error.code}"
        except (OSError, ValueError):
            return "start the server, or check `url`"
