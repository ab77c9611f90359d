"""Who may look, and what a browser may do with what it is shown.

One function, `viewer`, decides about every request: the guard below asks it for API, media, static files and
Gradio's own routes alike, and Gradio asks it again as its `auth_dependency`. A route that is added later is
covered without anybody remembering it.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
from collections.abc import Callable, Collection
from http.cookies import CookieError, SimpleCookie
from typing import Final
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from arena.errors import ArenaError

COOKIE: Final = "arena_token"

CSP: Final = "; ".join(
    (
        "default-src 'self'",
        # Gradio starts from an inline script and compiles templates with `Function`; both must stay allowed.
        # Inline handlers (`onerror=`), the usual form of injected script, are refused all the same.
        "script-src 'self' 'unsafe-inline' 'unsafe-eval'",
        "script-src-attr 'none'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "media-src 'self' blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)

_HEADERS: Final = {
    "Content-Security-Policy": CSP,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}

# Gradio 6.31 answers `/file=` with the headers of the request, cookie included.
_NEVER_SENT: Final = ("cookie", "authorization", "host")

# The pages need none of Gradio's doors to files and other hosts.
_CLOSED: Final = ("/file=", "/file/", "/proxy=", "/upload", "/stream/", "/call/", "/run/", "/queue/")

_OPEN: Final = ("/healthz",)

PLAY: Final = re.compile(r"/api/play(/.*)?")
REVIEW: Final = re.compile(r"/api/episodes/[^/]+/(verdicts|diagnoses)|/api/proposals/[^/]+/reviews")
"""The only addresses that change anything, and only on a server that was started for it."""
MAX_BODY: Final = 16_384
"""Bytes of one message from a page."""
_SWITCHES: Final = {PLAY: "--play", REVIEW: "--review"}
_DIGITS: Final = 9
"""Of a length that is read at all: Python refuses to read thousands of them."""

Viewer = Callable[[HTTPConnection], str | None]


class RemoteWithoutToken(ArenaError, ValueError):
    """The server was to listen beyond this machine without a token."""


def is_loopback(host: str) -> bool:
    """Whether a host name or address means this machine alone."""
    name = host.strip("[]").rstrip(".").lower()
    if name == "localhost":
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def check_host(host: str, token: str | None) -> None:
    """Refuse to serve strangers without a token.

    Raises:
        RemoteWithoutToken: for an address that other machines can reach, if there is no token.
    """
    if not token and not is_loopback(host):
        raise RemoteWithoutToken(
            f"host {host!r} can be reached from other machines and no token is set; "
            "give a token (`--token`), or listen on 127.0.0.1 and use an SSH tunnel"
        )


def make_viewer(token: str | None) -> Viewer:
    """The one rule about who may look.

    With a token: whoever sends it, as `Authorization: Bearer ...` or in the cookie that the first visit with
    `?token=...` sets. Without: whoever asks for this machine by a loopback name. The name is checked because
    a foreign page can point its own host name at 127.0.0.1 and read the answers (DNS rebinding).

    Returns:
        A function of a connection that gives the viewer's name, or None for a stranger.
    """

    def viewer(connection: HTTPConnection) -> str | None:
        if token is None:
            return "local" if is_loopback(_host_name(connection.headers)) else None
        scheme, _, bearer = connection.headers.get("authorization", "").partition(" ")
        given = [bearer.strip()] if scheme.lower() == "bearer" else []
        given.append(_cookie(connection.headers))
        matches = [hmac.compare_digest(item.encode(), token.encode()) for item in given]
        return "token" if any(matches) else None

    return viewer


class Guard:
    """ASGI middleware around the whole app: who, what method, which headers come back.

    Args:
        app: What is guarded.
        viewer: Decides who may look.
        token: What visitors present, if anything.
        doors: `PLAY`, `REVIEW` or both: addresses at which POST is let through to our own pages.
    """

    def __init__(
        self, app: ASGIApp, *, viewer: Viewer, token: str | None = None, doors: Collection[re.Pattern[str]] = ()
    ) -> None:
        self.app = app
        self._doors = doors
        self._viewer = viewer
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse the request, or pass it on and clean the answer."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            else:  # a WebSocket: nothing here speaks it
                await send({"type": "websocket.close", "code": 1008})
            return

        async def clean_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name in _NEVER_SENT:
                    if name in headers:
                        del headers[name]
                for name, value in _HEADERS.items():
                    headers[name] = value
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        refusal = self._refuse(HTTPConnection(scope))
        await (refusal or self.app)(scope, receive, clean_send)

    def _refuse(self, connection: HTTPConnection) -> Response | None:
        path = connection.scope["path"]
        posting = connection.scope["method"] == "POST" and any(door.fullmatch(path) for door in self._doors)
        if connection.scope["method"] not in ("GET", "HEAD") and not posting:
            hint = [f"; `arena view {switch}` opens it" for door, switch in _SWITCHES.items() if door.fullmatch(path)]
            told = "this server is read-only: GET and HEAD only" if not self._doors else "only GET and HEAD here"
            closed = connection.scope["method"] == "POST"
            return _problem(405, told + (hint[0] if hint and closed else ""), {"Allow": "GET, HEAD"})
        if path in _OPEN:
            return None
        if self._token is not None and "token" in connection.query_params:
            return self._log_in(connection)
        if self._viewer(connection) is None:
            if self._token is None:
                return _problem(421, "without a token this server answers only to a loopback name such as 127.0.0.1")
            return _problem(401, "open the link with ?token=... once, or send 'Authorization: Bearer ...'", _CHALLENGE)
        if "\0" in path or b"%00" in connection.scope["query_string"]:  # PostgreSQL has no text with one
            return _problem(404 if "\0" in path else 400, "no id, name or number holds a NUL (%00)")
        if "/gradio_api/" in path and any(door in path for door in _CLOSED):
            return _problem(404, "no such page")
        return _refuse_post(connection) if posting else None

    def _log_in(self, connection: HTTPConnection) -> Response:
        """Keep the token in a cookie and take it out of the address, so that it is not shared by accident."""
        given = connection.query_params["token"]
        if self._token is None or not hmac.compare_digest(given.encode(), self._token.encode()):
            return _problem(401, "that token is not this server's", _CHALLENGE)
        rest = [(key, value) for key, value in parse_qsl(connection.url.query) if key != "token"]
        # A single leading slash: `//host` would send the browser to another host.
        target = "/" + connection.url.path.lstrip("/\\") + ("?" + urlencode(rest) if rest else "")
        response = RedirectResponse(target, status_code=303)
        response.set_cookie(
            COOKIE, given, httponly=True, samesite="strict", secure=connection.url.scheme == "https", path="/"
        )
        return response


_CHALLENGE: Final = {"WWW-Authenticate": "Bearer"}


def _refuse_post(connection: HTTPConnection) -> Response | None:
    """Why a message that would change something is not heard: it comes from a foreign page, or is not of our form.

    A browser says with every POST where its page is from. The name is this server's own (`viewer` has seen to that),
    so a page from anywhere else, another port of this machine included, gives itself away. JSON is asked for because
    a foreign page could send no such type without asking first, even from a browser that kept its origin to itself.
    """
    headers = connection.headers
    scheme, _, host = headers.get("origin", "").partition("://")
    if scheme not in ("http", "https") or not host or host != headers.get("host", ""):
        return _problem(403, "only this server's own pages may change anything")
    if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
        return _problem(415, "send application/json")
    length = headers.get("content-length", "")
    counted = length.isdecimal() and len(length) <= _DIGITS
    overruled = "transfer-encoding" in headers
    if overruled or not counted or int(length) > MAX_BODY:
        return _problem(413, f"a message has a Content-Length of at most {MAX_BODY} bytes, and no Transfer-Encoding")
    return None


def _problem(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    return JSONResponse({"detail": detail}, status_code=status, headers=headers)


def _host_name(headers: Headers) -> str:
    host = headers.get("host", "")
    if host.startswith("["):
        return host[: host.find("]") + 1]
    return host.rsplit(":", 1)[0] if ":" in host else host


def _cookie(headers: Headers) -> str:
    jar: SimpleCookie = SimpleCookie()
    try:
        jar.load(headers.get("cookie", ""))
    except CookieError:
        return ""
    return jar[COOKIE].value if COOKIE in jar else ""
