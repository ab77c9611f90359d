"""Who is let in, and what never comes back."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from fastapi.testclient import TestClient

from storage.store import Store
from ui.app import create_app, listen, serve
from ui.security import Guard, RemoteWithoutToken, is_loopback

TOKEN = "a-token-of-some-length"
PATHS = [
    "/",
    "/api/runs",
    "/api/leaderboard?run=x",
    "/api/episodes",
    "/api/episodes/x",
    "/api/episodes/x/steps",
    "/api/episodes/x/steps/0/calls",
    "/api/openapi.json",
    "/api/none",
    "/media/" + "0" * 64,
    "/media/" + "0" * 64 + "/frames/0",
    "/static/x/arena.css",
    "/episode/x",
    "/favicon.ico",
    "/ui",
    "/ui/",
    "/ui/episodes",
    "/ui/replay",
    "/ui/config",
    "/ui/theme.css",
    "/ui/gradio_api/info",
    "/ui/gradio_api/heartbeat/x",
    "/ui/gradio_api/file=/etc/passwd",
    "/nowhere",
]


@pytest.fixture(scope="module")
def locked(store: Store) -> Iterator[TestClient]:
    """A server with a token, reached under a public name."""
    with TestClient(create_app(store, token=TOKEN), base_url="http://arena.example") as opened:
        yield opened


@pytest.fixture(scope="module")
def open_client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store), base_url="http://127.0.0.1") as opened:
        yield opened


@pytest.mark.parametrize("path", PATHS)
def test_stranger_gets_nothing_from_any_route(locked: TestClient, path: str) -> None:
    locked.cookies.clear()
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": TOKEN}, {"Cookie": "arena_token=wrong"}):
        for method in ("GET", "HEAD"):
            answer = locked.request(method, path, headers=headers, follow_redirects=False)
            assert answer.status_code == 401, (path, headers)
            assert answer.headers["www-authenticate"] == "Bearer"


def test_guard_is_the_outermost_layer(locked: TestClient) -> None:
    """Whatever route is registered later stands behind it too; the health check alone answers everybody."""
    assert locked.app.user_middleware[0].cls is Guard  # type: ignore[attr-defined]
    locked.cookies.clear()
    assert locked.get("/healthz").json() == {"status": "ok"}


def test_bearer_token_opens_api_and_gradio(locked: TestClient) -> None:
    locked.cookies.clear()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert locked.get("/api/runs", headers=headers).status_code == 200
    assert locked.get("/ui/", headers=headers).status_code == 200


def test_link_with_token_becomes_a_cookie_and_leaves_the_address(locked: TestClient) -> None:
    locked.cookies.clear()
    answer = locked.get(f"/ui/replay?ep=x&token={TOKEN}&step=3", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/ui/replay?ep=x&step=3")
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert locked.get("/api/runs").status_code == 200, "the cookie is enough from now on"
    assert locked.get("/?token=wrong", follow_redirects=False).status_code == 401
    locked.cookies.clear()


def test_redirect_after_log_in_stays_on_this_host(locked: TestClient) -> None:
    locked.cookies.clear()
    for path in ("//evil.example/x", "/\\evil.example"):
        answer = locked.get(f"http://arena.example{path}?token={TOKEN}", follow_redirects=False)
        assert not answer.headers["location"].startswith(("//", "/\\", "http"))
    locked.cookies.clear()


def test_foreign_name_for_this_machine_is_refused_without_a_token(open_client: TestClient) -> None:
    """DNS rebinding: a foreign page points its own name at 127.0.0.1 and reads the answers."""
    assert open_client.get("/api/runs", headers={"Host": "evil.example"}).status_code == 421
    assert open_client.get("/ui/", headers={"Host": "127.0.0.1.evil.example:7860"}).status_code == 421
    for name in ("localhost:7860", "127.0.0.1", "[::1]:7860", "127.0.0.2:1"):
        assert open_client.get("/api/runs", headers={"Host": name}).status_code == 200, name


def test_only_get_and_head_are_answered(open_client: TestClient) -> None:
    for method in ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"):
        for path in ("/api/runs", "/ui/gradio_api/upload", "/ui/gradio_api/queue/join", "/media/" + "0" * 64):
            assert open_client.request(method, path).status_code == 405, (method, path)


@pytest.mark.parametrize(
    "path",
    [
        "file=/etc/passwd",
        "file=..%2f..%2farena.db",
        "file/etc/passwd",
        "proxy=http://example.org",
        "stream/a/b/c/x",
        "upload_progress",
    ],
)
def test_gradios_doors_to_files_and_hosts_are_shut(open_client: TestClient, path: str) -> None:
    answer = open_client.get(f"/ui/gradio_api/{path}")
    assert answer.status_code == 404
    assert b"root:" not in answer.content


def test_no_answer_reflects_the_requests_headers(open_client: TestClient, ids: dict[str, str]) -> None:
    secret = "s3cret-value"
    headers = {"Cookie": f"session={secret}", "Authorization": f"Bearer {secret}", "X-Own": secret}
    picture = f"/media/{ids['picture']}"
    for path in ("/", "/api/runs", picture, "/ui/", "/ui/theme.css", "/ui/gradio_api/file=/x", "/nowhere"):
        answer = open_client.get(path, headers=headers, follow_redirects=False)
        assert secret not in str(answer.headers)
        assert "cookie" not in answer.headers
        assert "authorization" not in answer.headers


def test_every_answer_carries_the_browsers_orders(open_client: TestClient) -> None:
    for path in ("/api/runs", "/ui/", "/healthz", "/nowhere", "/media/x"):
        headers = open_client.get(path).headers
        assert "script-src-attr 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_loopback_names() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]", "LOCALHOST.")))
    assert not any(map(is_loopback, ("0.0.0.0", "::", "", "192.168.0.1", "localhost.evil.example", "127.0.0.1.evil")))


def test_serving_strangers_needs_a_token(store: Store) -> None:
    with pytest.raises(RemoteWithoutToken, match="token"):
        serve(store, host="0.0.0.0", port=0)


def test_taken_port_leads_to_the_next_free_one() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with listen("127.0.0.1", port) as found:
            assert port < found.getsockname()[1] < port + 50
