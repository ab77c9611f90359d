"""People watch recordings without knowing the fault, and say what they see: the door, and the page in Chromium."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from PIL import Image

from arena.diagnosis.human import REVIEW
from arena.diagnosis.opinions import recordings
from storage.models import Fault, Run, RunEpisode
from storage.store import Store
from storage.video import read_frames
from ui.app import create_app

ORIGIN = {"origin": "http://127.0.0.1"}
RUN = "diagnosis-0123456789"
HOSTILE = "<img src=x onerror=window.hacked=1>"
FAULT = {
    "step_now": 30, "verdict": "fault", "name": "ada", "fault_type": "C6", "onset_step": 28, "rollback_step": 20,
    "repair": {"kind": "retry"}, "note": "it stands still",
}  # fmt: skip


@pytest.fixture(scope="module")
def watched(
    recorded: tuple[Path, dict[str, str]], ids: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A copy of the run with another: two filmed episodes that were left alone, one without video, one supervised."""
    folder = tmp_path_factory.mktemp("watched") / "run"
    shutil.copytree(recorded[0].parent, folder)
    with Store.open(folder / "arena.db", migrate=False) as store:
        store.add(Run(id=RUN, name="diagnosis", experiment={}, status="finished"))
        labels = {
            "first": "none | clean",
            "disputed": "none | stuck/2",
            "gone": "none | loop/2",
            "robot": "rules | clean",
        }
        for name, label in labels.items():
            [episode] = store.episodes(id=ids[name])
            kept = {key: getattr(episode, key) for key in ("identity", "task_id", "space", "agent", "seed", "round")}
            store.link([RunEpisode(run_id=RUN, condition=label, trial=episode.identity, final=True, **kept)])
        params = {"severity": 2}
        fault = Fault(episode_id=ids["disputed"], kind="stuck", fault_class="control", fault_type="C6", params=params)
        fault.onset_step = 27
        store.add(fault)
        yield store


@pytest.fixture(scope="module")
def client(watched: Store) -> Iterator[TestClient]:
    with TestClient(create_app(watched, review=True), base_url="http://127.0.0.1", headers=ORIGIN) as opened:
        yield opened


# the door


def test_a_watcher_is_told_neither_fault_nor_ending_nor_what_others_said(
    client: TestClient, watched: Store, ids: dict[str, str]
) -> None:
    assert client.post(f"/api/episodes/{ids['disputed']}/diagnoses", json=FAULT).status_code == 201
    assert client.get("/api/watch").json() == {"runs": [{"id": RUN, "recordings": 2}]}
    told = client.get(f"/api/watch/{RUN}", params={"name": "eve"})
    items = told.json()["items"]
    assert [item["id"] for item in items] == sorted([ids["first"], ids["disputed"]]), "what is not filmed is left out"
    assert {key for item in items for key in item} == {"id", "title", "goal", "width", "height", "looked_at"}
    shown = json.dumps(items)
    for secret in ("stuck", "clean", "C6", "fault", "score", "outcome", "won", "lost", "ada", "it stands still"):
        assert secret not in shown, secret
    assert not any(item["looked_at"] for item in items)
    mine = client.get(f"/api/watch/{RUN}", params={"name": "ada"}).json()["items"]
    assert [item["id"] for item in mine if item["looked_at"]] == [ids["disputed"]]
    others = client.get(f"/api/watch/{RUN}x")
    assert others.status_code == 404 and "There is no run" in others.json()["detail"]


def test_how_long_a_recording_is_is_told_where_it_ends_and_nowhere_before(
    client: TestClient, watched: Store, ids: dict[str, str]
) -> None:
    """One that runs on to its horizon has failed. Nor is its video named, whose header tells the same."""
    [disputed] = watched.episodes(id=ids["disputed"])
    items = client.get(f"/api/watch/{RUN}").json()["items"]
    alike = [{**item, "id": "", "title": "", "goal": ""} for item in items]
    assert alike[0] == alike[1], "40 steps and 120"
    assert disputed.n_steps == 40 and disputed.video and disputed.video not in json.dumps(items)
    path = f"/api/episodes/{disputed.id}/watch"
    with watched.artifacts.open(disputed.video) as file:
        pictures = read_frames(file, range(40))
    for index in (0, 1, 39):
        answer = client.get(f"{path}/{index}")
        assert (answer.status_code, answer.headers["content-type"]) == (200, "image/jpeg")
        shown = np.asarray(Image.open(io.BytesIO(answer.content))).astype(int)
        assert shown.shape == pictures[index].shape and np.abs(shown - pictures[index]).mean() < 3
    for index in (40, 41, 1_000_000):  # the last picture of all shows how the episode ended
        answer = client.get(f"{path}/{index}")
        assert (answer.status_code, answer.content, answer.headers["cache-control"]) == (204, b"", "no-store")
    refused = client.post(f"/api/episodes/{disputed.id}/diagnoses", json={**FAULT, "step_now": 39})
    assert refused.status_code == 422 and "38" not in refused.json()["detail"]


@pytest.mark.parametrize(("episode", "status"), [("nope", 404), ("gone", 404), ("long", 404), ("hostile", 404)])
def test_only_recordings_of_every_step_are_shown(
    client: TestClient, ids: dict[str, str], episode: str, status: int
) -> None:
    assert client.get(f"/api/episodes/{ids.get(episode, episode)}/watch/0").status_code == status
    assert client.get(f"/api/episodes/{ids['first']}/watch/-1").status_code == 422


def test_an_opinion_is_a_row_and_the_next_one_another(client: TestClient, watched: Store, ids: dict[str, str]) -> None:
    path = f"/api/episodes/{ids['first']}/diagnoses"
    assert client.post(path, json={"step_now": 118, "verdict": "ok", "name": "ada"}).status_code == 201
    answer = client.post(path, json={**FAULT, "confidence": 0.4})
    assert answer.status_code == 201 and answer.json()["diagnoser"] == "human:ada"
    cannot = {"step_now": 9, "verdict": "abstain", "name": "eve", "note": "too dark"}
    assert client.post(path, json=cannot).status_code == 201
    rows = [row for row in watched.diagnoses(ids["first"]) if row.trigger == REVIEW]
    assert {(row.diagnoser, row.step_index, row.verdict) for row in rows} == {
        ("human:ada", 118, "ok"), ("human:ada", 30, "fault"), ("human:eve", 9, "abstain"),
    }  # fmt: skip
    fault = next(row for row in rows if row.verdict == "fault")
    assert (fault.fault_class, fault.fault_type, fault.rollback_step) == ("control", "C6", 20)
    assert fault.body["rationale"] == "it stands still" and fault.body["confidence"] == 0.4
    [item] = [item for item in recordings(watched, RUN) if item.episode.id == ids["first"]]
    latest = item.latest("human:ada")
    assert latest is not None and latest.verdict == "fault"
    assert client.get(f"/api/episodes/{ids['first']}").status_code == 200, "the replay page shows what was said"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"step_now": 39}, "step_now: must be a step of the recording, and before its last one (got 39)"),
        ({"step_now": "5"}, "step_now:"),
        ({"verdict": "certain"}, "verdict:"),
        ({"fault_type": "C9"}, "fault_type:"),
        ({"fault_type": "N0"}, "diagnosis: verdict 'fault' needs a fault_class and a fault_type"),
        ({"rollback_step": 29}, "diagnosis: rollback_step 29 is after onset_step 28"),
        ({"repair": {"kind": "pray"}}, "repair.kind:"),
        ({"name": ""}, "name: must be 1 to 40 printable characters"),
        ({"name": "\ud800"}, "name:"),
        ({"note": "x" * 2001}, "note:"),
        ({"fault_class": "planning"}, "fault_class:"),
    ],
)
def test_what_cannot_be_taken_in_is_one_line_that_names_the_field(
    client: TestClient, watched: Store, ids: dict[str, str], change: dict[str, Any], told: str
) -> None:
    before = len(watched.diagnoses(ids["disputed"]))
    path = f"/api/episodes/{ids['disputed']}/diagnoses"
    content = json.dumps(FAULT | change)
    answer = client.post(path, content=content, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(told) and len(answer.json()["detail"]) < 500
    assert len(watched.diagnoses(ids["disputed"])) == before


@pytest.mark.parametrize(("episode", "status"), [("nope", 404), ("gone", 422), ("long", 422), ("hostile", 422)])
def test_only_recordings_of_every_step_are_diagnosed(
    client: TestClient, ids: dict[str, str], episode: str, status: int
) -> None:
    body = {"step_now": 0, "verdict": "ok", "name": "ada"}
    answer = client.post(f"/api/episodes/{ids.get(episode, episode)}/diagnoses", json=body)
    assert answer.status_code == status, answer.text


def test_the_door_is_shut_unless_it_was_asked_for(store: Store, client: TestClient, ids: dict[str, str]) -> None:
    path = f"/api/episodes/{ids['disputed']}/diagnoses"
    with TestClient(create_app(store), base_url="http://127.0.0.1", headers=ORIGIN) as closed:
        answer = closed.post(path, json=FAULT)
        assert answer.status_code == 405 and "arena view --review" in answer.json()["detail"]
        assert closed.get("/api/watch").status_code == 404
    assert client.post(path, json=FAULT, headers={"origin": "http://evil.invalid"}).status_code == 403


# the page


@pytest.fixture(scope="module")
def watch_server(watched: Store, server_class: Any) -> Iterator[Any]:
    with server_class(watched, review=True) as running:
        yield running


@contextmanager
def opened(browser: Any, server: Any, episode: str, **options: Any) -> Iterator[Any]:
    """The page with one recording; fails if it complained."""
    complaints: list[str] = []
    context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
    try:
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(f"{server.url}/ui/diagnose?run={RUN}&ep={episode}")
        page.wait_for_selector(".stage[data-frame='1']")
        yield page
    finally:
        context.close()
    assert complaints == []


@pytest.mark.browser
def test_a_person_stops_a_recording_and_says_what_went_wrong(
    browser: Any, watch_server: Any, watched: Store, ids: dict[str, str]
) -> None:
    """Every click is one of the page, and what it wrote is read from the store."""
    before = {row.id for row in watched.diagnoses(ids["disputed"])}
    with opened(browser, watch_server, ids["disputed"]) as page:
        assert page.locator(".arena nav [aria-current=page]").inner_text() == "Diagnose"
        page.click("h1")
        for _ in range(34):
            page.keyboard.press("ArrowRight")
        page.wait_for_selector(".stage[data-frame='35']")
        assert "after step 34" in page.locator(".now").inner_text()
        assert page.get_attribute("input[type=range]", "max") == "34", (
            "what lies ahead is not to be reached by the slider"
        )
        page.click("#stop")
        assert "Who are you?" in page.locator(".diagnose .notice").inner_text()
        page.fill("#reviewer", HOSTILE)
        page.click("#stop")
        assert "Choose a verdict" in page.locator(".diagnose .notice").inner_text()
        assert not page.locator("#onset").is_visible()
        page.check("input[value=fault]")
        assert (page.input_value("#onset"), page.input_value("#rollback")) == ("34", "9")
        page.click("h1")
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
        page.wait_for_selector(".stage[data-frame='32']")
        page.locator("p.row", has=page.locator("#onset")).get_by_role("button").click()
        assert (page.input_value("#onset"), page.input_value("#rollback")) == ("31", "6")
        page.fill("#rollback", "12")
        page.select_option("#type", "C5")
        page.select_option("#repair", "regrasp")
        page.fill("#note", "the hand opens")
        page.click("#stop")
        page.wait_for_selector(".recorded")
        assert "after step 34, by human:<img" in page.locator(".recorded").inner_text()
        assert "1 looked at by you" in page.inner_text(".bar") and page.evaluate("window.hacked") is None
        text = page.inner_text("main#page")
        assert "stuck" not in text and "won" not in text and "score" not in text
        page.click("#next")
        page.wait_for_function("(id) => location.search.includes(id)", arg=ids["first"])
        page.reload()
        page.wait_for_selector(".stage[data-frame='1']")
        assert page.input_value("#reviewer") == HOSTILE
    [row] = [row for row in watched.diagnoses(ids["disputed"]) if row.id not in before]
    assert (row.diagnoser, row.trigger, row.step_index) == (f"human:{HOSTILE}", REVIEW, 34)
    said = {key: row.body[key] for key in ("verdict", "fault_type", "onset_step", "rollback_step", "confidence")}
    assert said == {
        "verdict": "fault", "fault_type": "C5", "onset_step": 31, "rollback_step": 12, "confidence": 0.9,
    }  # fmt: skip
    assert row.body["repair"]["kind"] == "regrasp" and row.body["rationale"] == "the hand opens"


@pytest.mark.browser
def test_it_plays_to_the_end_and_no_further_and_loading_again_takes_nothing_back(
    browser: Any, watch_server: Any, ids: dict[str, str]
) -> None:
    with opened(browser, watch_server, ids["disputed"]) as page:
        page.select_option("select[aria-label='steps a second']", "20")
        page.click("h1")
        page.keyboard.press(" ")
        page.check("input[value=fault]")
        page.wait_for_selector("text=The recording ends here, and it is too late to step in")
        page.wait_for_selector(".stage[data-frame='39']")
        page.reload()
        page.wait_for_selector(".stage[data-frame='39']")
        assert "after step 38" in page.locator(".now").inner_text()
        assert not page.is_checked("input[value=fault]")
        enabled = {value: page.is_enabled(f"input[value={value}]") for value in ("ok", "abstain", "fault", "suspect")}
        assert enabled == {"ok": True, "abstain": True, "fault": False, "suspect": False}, (
            "who has seen the ending would know what a live diagnoser cannot"
        )
        page.fill("#reviewer", "ada")
        page.locator("#reviewer").blur()
        page.fill("#reviewer", "bob")
        page.locator("#reviewer").blur()
        page.wait_for_selector(".stage[data-frame='1']")  # another person has seen nothing yet


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_fits_both_widths_and_schemes(
    browser: Any, watch_server: Any, ids: dict[str, str], tmp_path: Path, width: int, scheme: str
) -> None:
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    with opened(browser, watch_server, ids["first"], **options) as page:
        page.check("input[value=fault]")
        page.select_option("#repair", "reprompt")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        shade = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
        assert (shade < 80) == (scheme == "dark")
        page.screenshot(path=tmp_path / "diagnose.png", full_page=True)
