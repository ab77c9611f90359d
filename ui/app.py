"""The app: FastAPI owns `/api`, `/media`, `/static` and `/healthz`; Gradio, mounted at `/ui`, carries the pages.

The UI reads and never runs: every route answers GET and HEAD alone, and closing a tab affects nothing. Where a person
may play, the routes of `ui.play` hand what is done to `arena.human`, which runs the game; where a person may review,
those of `ui.review` and `ui.watching` hand what is decided to `arena.review`, `arena.milestones` and
`arena.diagnosis.opinions`, which write it down.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import warnings
import webbrowser
from collections.abc import AsyncIterator, Callable
from functools import cache
from pathlib import Path
from typing import Final
from urllib.parse import urlencode

import uvicorn
from fastapi import APIRouter, FastAPI, HTTPException
from fastapi.responses import FileResponse, RedirectResponse
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from arena.errors import ArenaError
from storage.store import Store
from ui import answers, api, media, pages, watching
from ui import play as playing
from ui import review as reviewing
from ui.play import PlayDesk
from ui.security import PLAY, REVIEW, Guard, Viewer, check_host, make_viewer

STATIC: Final = Path(__file__).parent / "static"
DEFAULT_PORT: Final = 7860
PORTS_TRIED: Final = 50

_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class NoFreePort(ArenaError, OSError):
    """Every port that was tried is taken."""


def create_app(
    store: Store, *, token: str | None = None, play: PlayDesk | None = None, review: bool = False
) -> FastAPI:
    """Build the app.

    Importing Gradio takes some seconds, so it happens here and not when this module is imported.

    Args:
        store: What is shown.
        token: Whoever shows it may look (`?token=` once, or `Authorization: Bearer`). None means that only
            requests by a loopback name are answered.
        play: Where people play, if they may; its game ends with the server.
        review: Whether people may give verdicts, diagnose recordings, and accept and reject proposed milestones.
    """
    viewer = make_viewer(token)

    @contextlib.asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        if play is not None:
            await run_in_threadpool(play.close)

    app = FastAPI(
        title="Rewind Arena", docs_url=None, redoc_url=None, openapi_url="/api/openapi.json", lifespan=lifespan
    )
    answers.add_to(app)
    app.include_router(_pages_router())
    if play is not None:
        app.include_router(playing.create_router(play))
    if review:
        app.include_router(reviewing.create_router(store))
        app.include_router(watching.create_router(store))
    app.include_router(api.create_router(store))
    app.include_router(media.create_router(store))
    app = _mount_gradio(app, viewer, plays=play is not None, reviews=review)
    doors = [door for door, opened in ((PLAY, play is not None), (REVIEW, review)) if opened]
    app.add_middleware(Guard, viewer=viewer, token=token, doors=doors)
    return app


def serve(
    store: Store,
    host: str = "127.0.0.1",
    port: int = DEFAULT_PORT,
    *,
    token: str | None = None,
    play: PlayDesk | None = None,
    review: bool = False,
    path: str = "",
    open_browser: bool = False,
    ready: Callable[[str], None] | None = None,
) -> None:
    """Serve until interrupted.

    Args:
        store: What is shown.
        host: Address to listen on.
        port: Port to listen on, or the first free one after it; 0 lets the system choose.
        token: See `create_app`; needed for any `host` that other machines can reach.
        play: See `create_app`.
        review: See `create_app`.
        path: Where the link leads, for example `play?task=games/snake-v1`; the first page if empty.
        open_browser: Open the link in a browser once the server answers.
        ready: Called with the link once the port is ours; prints it by default.

    Raises:
        RemoteWithoutToken: for a host beyond this machine without a token.
        NoFreePort: if the port and those after it are taken.
    """
    check_host(host, token)
    listener = listen(host, port)
    with contextlib.closing(listener):
        link = _link(host, listener.getsockname()[1], token, path)
        app = create_app(store, token=token, play=play, review=review)
        config = uvicorn.Config(app, log_level="warning", access_log=False, server_header=False, date_header=True)
        # The socket listens already: whoever follows the link now waits a moment and is answered.
        (ready or _print_link)(link)
        if open_browser:
            webbrowser.open(link)
        uvicorn.Server(config).run(sockets=[listener])


def listen(host: str, port: int) -> socket.socket:
    """Bind and listen on a port, or on the first free one after it.

    Raises:
        NoFreePort: if all of them are taken.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    candidates = [0] if port == 0 else range(port, min(port + PORTS_TRIED, 65_536))
    for candidate in candidates:
        listener = socket.socket(family, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, candidate))
            listener.listen(128)
        except OSError as error:
            listener.close()
            if error.errno not in _TAKEN:
                raise
            continue
        return listener
    raise NoFreePort(f"ports {port} to {candidates[-1]} on {host} are all taken; choose another with --port")


_TAKEN: Final = frozenset({98, 48, 10048})  # EADDRINUSE on Linux, macOS and Windows


def _link(host: str, port: int, token: str | None, path: str = "") -> str:
    name = f"[{host}]" if ":" in host else host
    key = f"{'&' if '?' in path else '?'}{urlencode({'token': token})}" if token else ""
    return f"http://{name}:{port}/{path}{key}"


def _print_link(link: str) -> None:
    print(f"Replays at {link} (Ctrl-C stops)", flush=True)


@cache
def static_version() -> str:
    """Digest of all static files: part of their address, so that browsers may keep them for good."""
    digest = hashlib.sha256()
    for path in sorted(STATIC.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _pages_router() -> APIRouter:
    router = APIRouter(include_in_schema=False)
    # A fixed set of names: nothing from an address ever becomes a path.
    files = {path.name: path for path in STATIC.iterdir() if path.suffix in _TYPES}

    @router.get("/")
    def root() -> Response:
        """The pages live below `/ui`."""
        return RedirectResponse("/ui/", status_code=307)

    @router.get("/episode/{episode_id}")
    def episode(episode_id: str, step: int = 0) -> Response:
        """The short address of an episode at a step."""
        return RedirectResponse(f"/ui/replay?{urlencode({'ep': episode_id, 'step': step})}", status_code=307)

    @router.get("/play")
    def play(task: str = "", seed: str = "", name: str = "") -> Response:
        """The short address of a game to play."""
        given = {key: value for key, value in (("task", task), ("seed", seed), ("name", name)) if value}
        return RedirectResponse("/ui/play" + (f"?{urlencode(given)}" if given else ""), status_code=307)

    @router.get("/healthz")
    def healthz() -> dict[str, str]:
        """Answers while the server lives; tells nothing else."""
        return {"status": "ok"}

    @router.get("/favicon.ico")
    def favicon() -> Response:
        """The icon of the tab."""
        return FileResponse(files["icon.svg"], media_type="image/svg+xml")

    @router.get("/static/{version}/{name}")
    def static(version: str, name: str) -> Response:
        """A script, style sheet or icon of ours."""
        if name not in files:
            raise HTTPException(404, "no such file")
        current = version == static_version()
        caching = "private, max-age=31536000, immutable" if current else "no-store"
        return FileResponse(files[name], media_type=_TYPES[files[name].suffix], headers={"Cache-Control": caching})

    return router


def _mount_gradio(app: FastAPI, viewer: Viewer, *, plays: bool, reviews: bool) -> FastAPI:
    # Read when Gradio is imported: it would otherwise report its use to its makers.
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    import gradio as gr

    static = f"/static/{static_version()}"
    head = (
        f'<link rel="stylesheet" href="{static}/arena.css"><link rel="stylesheet" href="{static}/review.css">'
        f'<link rel="icon" href="{static}/icon.svg">'
        f'<link rel="modulepreload" href="{static}/shell.js">'
    )
    if plays:
        head += f'<meta name="arena-play" content="on"><link rel="stylesheet" href="{static}/play.css">'
    if reviews:
        head += f'<meta name="arena-review" content="on"><link rel="stylesheet" href="{static}/diagnose.css">'
    fonts = ["system-ui", "sans-serif"]  # names of the system's own: Gradio's default theme names web fonts
    theme = gr.themes.Base(font=fonts, font_mono=["ui-monospace", "monospace"])
    with gr.Blocks(title="Rewind Arena", fill_width=True, analytics_enabled=False) as blocks:
        pages.leaderboard.build(static)
    doors = (*((pages.play,) if plays else ()), *((pages.diagnose,) if reviews else ()))
    for page in (pages.episodes, pages.replay, pages.proposals, *doors):
        with blocks.route(page.TITLE, f"/{page.NAME}", show_in_navbar=False):
            page.build(static)
    with warnings.catch_warnings():
        # Server-side rendering is off anyway; Gradio 6.31 says so again for every app of several pages.
        warnings.filterwarnings("ignore", message="SSR mode is not supported")
        mounted: FastAPI = gr.mount_gradio_app(
            app,
            blocks,
            path="/ui",
            auth_dependency=viewer,
            footer_links=[],
            run_history=False,
            ssr_mode=False,
            mcp_server=False,
            enable_monitoring=False,
            theme=theme,
            head=head,
        )
    return mounted
