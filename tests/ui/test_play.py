"""A person plays in a real Chromium: every key and click is one of the page, every state is checked in the record."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fastapi.testclient import TestClient

import environments
from arena.location import Location
from arena.verification import verify
from storage.models import Episode
from storage.store import Store
from ui.app import create_app
from ui.play import PlayDesk
from ui.security import MAX_BODY

pytestmark = [
    pytest.mark.display,
    pytest.mark.skipif(shutil.which("Xvfb") is None, reason="Xvfb is not installed (apt install xvfb)"),
]
MAZE, RACER = "games/maze-v1", "games/racer-v1"
HOSTILE = "<img src=x onerror=window.hacked=1>"
BROWSER_KEYS = {"up": "ArrowUp", "down": "ArrowDown", "left": "ArrowLeft", "right": "ArrowRight"}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Location:
    return Location.of(str(tmp_path_factory.mktemp("played") / "arena.db"))


@pytest.fixture(scope="module")
def played(place: Location) -> Iterator[Store]:
    with place.open() as store:
        yield store


@pytest.fixture(scope="module")
def desk(played: Store, place: Location) -> PlayDesk:
    return PlayDesk(played, place.scratch, "ada")


@pytest.fixture(scope="module")
def arcade(played: Store, desk: PlayDesk, server_class: Any) -> Iterator[Any]:
    with server_class(played, play=desk) as running:
        yield running


class Player:
    """A tab in which somebody plays."""

    def __init__(self, page: Any, base: str, store: Store) -> None:
        self.page, self.base, self.store = page, base, store

    def open(self, path: str) -> Player:
        self.page.goto(self.base + path)
        self.page.wait_for_selector(".arena main:not(:has(> .loading))")
        return self

    def start(self, task: str, seed: int = 0, name: str = "ada") -> Player:
        self.open(f"/play?task={task}&seed={seed}")
        self.page.fill("#play-name", name)
        self.page.click("button[type=submit]")
        self.page.wait_for_selector("canvas[data-number]")
        return self

    def until_step(self, step: int) -> None:
        self.page.wait_for_function(
            "(step) => document.querySelector('.result') || "
            "Number(document.querySelector('.play-status').textContent.split(' ')[1]) >= step",
            arg=step,
        )

    def give_up(self) -> Episode:
        self.page.click(".give-up")
        return self.over()

    def over(self) -> Episode:
        self.page.wait_for_selector(".result")
        href = self.page.get_attribute("a:has-text('Watch the replay')", "href")
        return self.store.episode(href.partition("ep=")[2])

    def actions(self, episode: Episode) -> list[Any]:
        return [step.action for step in self.store.steps(episode.id)]


Opener = Callable[..., Any]


@pytest.fixture
def player(browser: Any, arcade: Any, played: Store, desk: PlayDesk) -> Iterator[Opener]:
    """Opens tabs; fails the test if a page complained or asked anything of another host."""
    complaints: list[str] = []
    outside: list[str] = []

    @contextlib.contextmanager
    def opener(**options: Any) -> Iterator[Player]:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        try:
            page = context.new_page()
            page.set_default_timeout(15_000)
            page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.on("request", lambda r: None if r.url.startswith((arcade.url, "data:")) else outside.append(r.url))
            page.on("dialog", lambda dialog: dialog.accept())  # a tab that is closed in the middle of a game asks
            yield Player(page, arcade.url, played)
        finally:
            context.close()
            desk.close()  # a test that fails leaves no game behind for the next

    yield opener
    assert outside == []
    assert complaints == []


@pytest.mark.browser
class TestPage:
    def test_a_game_is_won_by_keys_and_shown_in_the_replay(self, player: Opener, played: Store) -> None:
        with player() as it, contextlib.closing(environments.make(MAZE, "gui")) as twin:
            it.start(MAZE, seed=3)
            twin.reset(seed=3)
            done = 0
            while not twin.success():
                action = twin.expert_action()
                assert action["verb"] == "press"
                it.page.keyboard.press(BROWSER_KEYS[action["key"]])
                twin.step(action)
                done += 1
                it.until_step(done)
            episode = it.over()
            assert (episode.outcome, episode.agent, episode.n_steps) == ("won", "human:ada", done)
            assert verify(played, episode).holds
            shown = it.page.inner_text(".result")
            assert "won" in shown and "human:ada" in shown and f"{episode.score:.0f}"[:2] in shown
            it.page.click("a:has-text('Watch the replay')")
            it.page.wait_for_selector("main[data-loaded=yes]")
            assert "human:ada" in it.page.inner_text("main")
            it.open("/ui/?run=human")
            it.page.wait_for_selector("table.board")
            assert "human:ada" in it.page.inner_text("table.board")

    def test_pointer_is_recorded_in_pixels_of_the_frame(self, player: Opener) -> None:
        with player() as it:
            it.start(MAZE)
            box = it.page.locator(".play canvas").bounding_box()
            assert box["width"] > 700, "the picture is larger than the frame, so the scale counts"
            at = lambda x, y: (box["x"] + x * box["width"] / 640, box["y"] + y * box["height"] / 480)  # noqa: E731
            mouse, steps = it.page.mouse, 0
            mouse.click(*at(100.5, 200.5))
            it.until_step(1)
            mouse.click(*at(639.9, 479.9), button="right")
            it.until_step(2)
            mouse.move(*at(50.5, 60.5))
            mouse.down()
            mouse.move(*at(150.5, 160.5), steps=3)
            mouse.up()
            it.until_step(3)
            mouse.move(*at(320.5, 240.5))
            mouse.wheel(0, -200)
            it.until_step(4)
            it.page.keyboard.press("?")
            it.until_step(5)
            it.page.keyboard.press("Shift+ArrowUp")
            it.until_step(6)
            steps = it.actions(it.give_up())
        assert steps[:6] == [
            {"verb": "click", "x": 100, "y": 200, "button": "left", "count": 1},
            {"verb": "click", "x": 639, "y": 479, "button": "right", "count": 1},
            {"verb": "drag", "x": 50, "y": 60, "to_x": 150, "to_y": 160, "button": "left"},
            {"verb": "scroll", "x": 320, "y": 240, "clicks": 2},
            {"verb": "type", "text": "?"},
            {"verb": "hotkey", "keys": ["shift", "up"], "ms": 0},
        ]

    def test_a_tap_on_a_telephone_is_a_click_and_the_key_pad_gives_keys(self, player: Opener) -> None:
        with player(viewport={"width": 420, "height": 860}, has_touch=True, is_mobile=True) as it:
            it.start(MAZE)
            assert it.page.evaluate("document.documentElement.scrollWidth") <= 420
            box = it.page.locator(".play canvas").bounding_box()
            it.page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            it.until_step(1)
            it.page.locator(".keypad button").first.tap()
            it.until_step(2)
            click, press = it.actions(it.give_up())
        assert click["verb"] == "click" and abs(click["x"] - 320) <= 1 and abs(click["y"] - 240) <= 1
        assert press == {"verb": "press", "key": "up"}

    def test_keys_are_held_as_long_as_they_are_down_and_let_go_with_the_focus(self, player: Opener) -> None:
        with player() as it:
            it.start(RACER)
            it.page.keyboard.down("ArrowUp")
            it.until_step(4)
            it.page.keyboard.down("ArrowLeft")
            it.until_step(8)
            it.page.locator(".play canvas").blur()
            it.page.wait_for_selector(".overlay:has-text('Click here to go on')")
            held = len(it.actions(played_now(it)))
            it.until_step(held + 2)
            actions = it.actions(it.give_up())
        assert {"verb": "hold", "key": "up", "ms": 100} in actions
        assert any(action["verb"] == "hotkey" and set(action["keys"]) == {"up", "left"} for action in actions)
        assert actions[-1]["verb"] == "wait", "nothing is down any more"

    def test_everything_is_reached_by_keyboard_alone(self, player: Opener) -> None:
        with player() as it:
            it.open("/ui/play")
            card = it.page.locator("a.game", has_text="Maze").first
            card.focus()
            it.page.keyboard.press("Enter")
            it.page.wait_for_selector("button[type=submit]:focus")
            it.page.keyboard.press("Enter")
            it.page.wait_for_selector("canvas[data-number]:focus")
            it.page.keyboard.press("ArrowUp")
            it.until_step(1)
            for _ in range(4):
                it.page.keyboard.press("Tab")
                if it.page.evaluate("document.activeElement.className") == "give-up":
                    break
            it.page.keyboard.press("Enter")
            episode = it.over()
            assert episode.outcome == "limit" and "gave up" in it.page.inner_text(".result")
            assert it.page.evaluate("document.activeElement.textContent") == "Play again"
            it.page.keyboard.press("Enter")
            it.page.wait_for_selector(".give-up")
            it.page.wait_for_selector("canvas[data-number]")
            again = it.give_up()
        assert again.spec["repetition"] == episode.spec["repetition"] + 1

    def test_a_hostile_name_is_shown_and_never_run(self, player: Opener) -> None:
        with player() as it:
            it.start(MAZE, name=HOSTILE)
            episode = it.give_up()
            assert episode.agent == f"human:{HOSTILE}"
            assert f"human:{HOSTILE}" in it.page.inner_text(".result")
            it.open("/ui/?run=human")
            it.page.wait_for_selector("table.board")
            assert HOSTILE in it.page.inner_text("table.board")
            it.open(f"/ui/play?task={MAZE}&name={HOSTILE}")
            it.open("/ui/play?task=<img src=x onerror=window.hacked=2>")
            assert "There is no game <img" in it.page.inner_text(".notice")
            assert it.page.evaluate("window.hacked") is None

    def test_a_name_that_cannot_be_shown_is_refused_with_the_reason(self, browser: Any, arcade: Any) -> None:
        context = browser.new_context()
        with contextlib.closing(context):
            page = context.new_page()
            page.goto(f"{arcade.url}/play?task={MAZE}")
            page.fill("#play-name", "a\u202eb")
            page.click("button[type=submit]")
            page.wait_for_selector(".notice.bad:has-text('printable')")

    def test_a_page_loaded_anew_goes_on_with_the_game(self, player: Opener) -> None:
        with player() as it:
            it.start(MAZE)
            it.page.keyboard.press("ArrowUp")
            it.until_step(1)
            it.page.reload()
            it.page.click("button:has-text('go on with it')")
            it.page.wait_for_selector("canvas[data-number]")
            it.page.keyboard.press("ArrowDown")
            it.until_step(2)
            assert len(it.actions(it.give_up())) == 2

    @pytest.mark.parametrize("scheme", ["light", "dark"])
    @pytest.mark.parametrize("width", [1440, 420])
    def test_page_fits_its_window(self, player: Opener, scheme: str, width: int) -> None:
        with player(viewport={"width": width, "height": 860}, color_scheme=scheme) as it:
            for path in ("/ui/play", f"/ui/play?task={MAZE}"):
                it.open(path)
                assert it.page.evaluate("document.documentElement.scrollWidth") <= width


def played_now(it: Player) -> Episode:
    return it.store.episodes("human", status="running")[-1]


@pytest.fixture
def client(played: Store, place: Location) -> Iterator[TestClient]:
    with TestClient(create_app(played, play=PlayDesk(played, place.scratch)), base_url="http://127.0.0.1") as opened:
        yield opened


OURS = {"Origin": "http://127.0.0.1"}


def begin(client: TestClient, **more: Any) -> str:
    answer = client.post("/api/play", json={"task": MAZE, **more}, headers=OURS)
    assert answer.status_code == 201, answer.text
    return str(answer.json()["id"])


class TestDoor:
    def test_a_server_that_only_shows_lets_nobody_play(self, played: Store) -> None:
        with TestClient(create_app(played), base_url="http://127.0.0.1") as viewer:
            assert viewer.post("/api/play", json={"task": MAZE}, headers=OURS).status_code == 405
            assert viewer.get("/api/play").status_code == 404
            assert "arena-play" not in viewer.get("/ui/").text
            assert "page-play" not in viewer.get("/ui/config").text

    @pytest.mark.parametrize(
        ("headers", "status"),
        [
            ({}, 403),
            ({"Origin": "null"}, 403),
            ({"Origin": "http://evil.invalid"}, 403),
            ({"Origin": "http://127.0.0.1:9999"}, 403),
            ({"Origin": "http://127.0.0.1.evil.invalid"}, 403),
            ({**OURS, "Content-Type": "text/plain"}, 415),
            ({**OURS, "Content-Type": "application/x-www-form-urlencoded"}, 415),
            ({**OURS, "Content-Type": "application/json", "Content-Length": str(MAX_BODY + 1)}, 413),
            ({**OURS, "Content-Type": "application/json", "Transfer-Encoding": "chunked"}, 413),
            ({"Origin": "http://evil.invalid", "Host": "evil.invalid"}, 421),
        ],
    )
    def test_a_foreign_page_cannot_play(self, client: TestClient, headers: dict[str, str], status: int) -> None:
        answer = client.post(
            "/api/play", content=b'{"task": "games/maze-v1"}', headers={"Content-Type": "application/json", **headers}
        )
        assert answer.status_code == status
        assert client.get("/api/play").json()["session"] is None

    def test_nothing_else_takes_messages(self, client: TestClient) -> None:
        for path in ("/", "/api/runs", "/api/playx", "/ui/", "/ui/gradio_api/run/predict", "/media/x"):
            assert client.post(path, json={}, headers=OURS).status_code == 405, path
        for method in ("PUT", "DELETE", "PATCH"):
            assert client.request(method, "/api/play", json={}, headers=OURS).status_code == 405

    def test_a_message_without_a_length_is_not_read(self, client: TestClient) -> None:
        def endless() -> Iterator[bytes]:
            yield b'{"task": '
            yield b'"games/maze-v1"}'

        headers = {**OURS, "Content-Type": "application/json"}
        assert client.post("/api/play", content=endless(), headers=headers).status_code == 413

    def test_with_a_token_nobody_plays_without_it(self, played: Store, place: Location) -> None:
        app = create_app(played, token="secret-of-some-length", play=PlayDesk(played, place.scratch))
        with TestClient(app, base_url="http://arena.example") as stranger:
            headers = {"Origin": "http://arena.example"}
            assert stranger.post("/api/play", json={"task": MAZE}, headers=headers).status_code == 401
            assert stranger.get("/api/play").status_code == 401
            headers["Authorization"] = "Bearer secret-of-some-length"
            begun = stranger.post("/api/play", json={"task": MAZE}, headers=headers)
            assert begun.status_code == 201

    def test_one_game_at_a_time(self, client: TestClient) -> None:
        session = begin(client)
        second = client.post("/api/play", json={"task": MAZE}, headers=OURS)
        assert second.status_code == 409 and "end that game first" in second.json()["detail"]
        assert client.get("/api/play").json()["session"]["id"] == session
        client.post(f"/api/play/{session}/give-up", json={}, headers=OURS)
        wait_for(lambda: client.get("/api/play").json()["session"] is None)
        begin(client)

    def test_score_and_milestones_are_told_only_at_the_end(self, client: TestClient) -> None:
        session = begin(client)
        wait_for(lambda: "playing" in client.get(f"/api/play/{session}/frame").headers["x-arena-view"])
        answer = client.get(f"/api/play/{session}/frame")
        assert answer.status_code == 200 and answer.headers["content-type"] == "image/png"
        assert answer.headers["cache-control"] == "no-store"
        assert "score" not in answer.headers["x-arena-view"] and '"result": null' in answer.headers["x-arena-view"]
        client.post(f"/api/play/{session}/give-up", json={}, headers=OURS)
        wait_for(lambda: '"score"' in client.get(f"/api/play/{session}/frame").headers["x-arena-view"])

    def test_wrong_input_is_refused_and_the_game_goes_on(self, client: TestClient) -> None:
        session = begin(client)
        events = [
            {"kind": "gesture", "action": {"verb": "click", "x": 9999, "y": 0}},
            {"kind": "gesture", "action": {"verb": "press", "key": "up"}},
            {"kind": "down", "key": "meta"},
        ]
        told = client.post(f"/api/play/{session}/input", json={"events": events}, headers=OURS).json()
        assert told["dropped"] == 0 and len(told["problems"]) == 2
        for wrong in ({"events": [{"kind": "eval"}]}, {"events": [{"kind": "up", "key": "a"}] * 65}, {}, []):
            assert client.post(f"/api/play/{session}/input", json=wrong, headers=OURS).status_code == 422
        wait_for(lambda: '"steps": 1' in client.get(f"/api/play/{session}/frame").headers["x-arena-view"])
        assert client.post("/api/play/nobody/input", json={"events": []}, headers=OURS).status_code == 404

    @pytest.mark.parametrize(
        ("body", "reason"),
        [
            ({"task": "games/mase-v1"}, "did you mean"),
            ({"task": "tabletop/none-v1"}, "no task"),
            ({"task": MAZE, "name": "a\nb"}, "printable"),
        ],
    )
    def test_what_cannot_be_begun_says_why(self, client: TestClient, body: dict[str, Any], reason: str) -> None:
        answer = client.post("/api/play", json=body, headers=OURS)
        assert answer.status_code == 422 and reason in answer.json()["detail"]

    @pytest.mark.parametrize(
        ("body", "field", "value"),
        [
            (r'{"events": [{"kind": "down", "key": "\ud800"}]}', "events.0.down.key", r"'\ud800'"),
            (r'{"events": [{"kind": "up", "key": "a", "\ud800": 1}]}', "events.0.up", r"'\ud800'"),
            (r'{"events": [{"kind": "\udfff", "key": "a"}]}', "events.0", r"'\udfff'"),
            (r'{"\ud800": []}', "body", r"'\ud800'"),
            ('{"events": [{"kind": "up", "key": NaN}]}', "events.0.up.key", "nan"),
            ('{"events": 1e999}', "events", "inf"),
            ('{"events": %s}' % 10**30, "events", "1" + "0" * 16),
            ("[" * 900 + "]" * 900, "body", "[[[...]]]"),
            ("{", "body", "no JSON"),
            ("", "body", "missing"),
        ],
    )
    def test_a_hostile_message_is_refused_with_its_field_and_its_value(
        self, client: TestClient, body: str, field: str, value: str
    ) -> None:
        headers = {**OURS, "Content-Type": "application/json"}
        answer = client.post(f"/api/play/{begin(client)}/input", content=body, headers=headers)
        told = answer.json()["detail"]
        assert answer.status_code == 422 and answer.text.isascii()
        assert told.startswith(f"{field}: ") and value in told

    @pytest.mark.parametrize("body", [b"[" * 8000, b'{"events": ' + b"9" * 5000 + b"}", b'{"events": ["\xff"]}'])
    def test_what_cannot_be_read_is_refused(self, client: TestClient, body: bytes) -> None:
        headers = {**OURS, "Content-Type": "application/json"}
        for path in ("/api/play", "/api/play/nobody/input"):
            assert client.post(path, content=body, headers=headers).status_code == 400

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            (r'{"task": "\ud800"}', "task"),
            (r'{"task": "games/maze-v1", "name": "\ud800"}', "name"),
            ('{"task": "games/maze-v1", "seed": NaN}', "seed"),
            ('{"task": "games/maze-v1", "seed": %s}' % 10**30, "seed"),
            ('{"task": {}}', "task"),
        ],
    )
    def test_a_hostile_start_is_refused_with_its_field(self, client: TestClient, body: str, field: str) -> None:
        answer = client.post("/api/play", content=body, headers={**OURS, "Content-Type": "application/json"})
        assert answer.status_code == 422 and answer.json()["detail"].startswith(f"{field}: ")

    def test_the_servers_end_is_the_games_end(self, played: Store, place: Location) -> None:
        with TestClient(create_app(played, play=PlayDesk(played, place.scratch)), base_url="http://127.0.0.1") as going:
            session = begin(going, name="last")
            wait_for(lambda: "playing" in going.get(f"/api/play/{session}/frame").headers["x-arena-view"])
        episode = played.episodes(agent="human:last")[-1]
        assert (episode.status, episode.outcome) == ("finished", "limit")
        assert "the server was stopped" in episode.outcome_detail

    def test_offers_the_games_by_category_and_then_the_robots(self, client: TestClient) -> None:
        groups = client.get("/api/play").json()["groups"]
        at = [group["category"] for group in groups].index("robots")
        assert {task["id"].partition("/")[0] for task in groups[at]["tasks"]} <= {"tabletop"}
        games = [task["id"] for group in groups[:at] for task in group["tasks"]]
        assert MAZE in games and all(game.startswith("games/") for game in games)
        assert not any(group["folded"] for group in groups[: at + 1])

    def test_folds_the_suites_of_libero_and_puts_task_2_before_task_10(self, client: TestClient) -> None:
        suites = [group for group in client.get("/api/play").json()["groups"] if group["folded"]]
        assert [suite["category"] for suite in suites] == [
            f"libero/{name}" for name in ("spatial", "object", "goal", "10", "90")
        ]
        for suite in suites:
            ids = [task["id"] for task in suite["tasks"]]
            assert ids == [f"{suite['category']}/{number}-v1" for number in range(len(ids))]

    def test_the_short_address_leads_to_the_page(self, client: TestClient) -> None:
        answer = client.get("/play?task=games/maze-v1&seed=4&x=//evil.invalid", follow_redirects=False)
        assert answer.headers["location"] == "/ui/play?task=games%2Fmaze-v1&seed=4"


def wait_for(condition: Callable[[], Any]) -> None:
    until = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < until, "it did not come about"
        time.sleep(0.01)
