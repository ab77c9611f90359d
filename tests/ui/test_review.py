"""People overrule judges and decide on proposals: the door, what it lets through, and the page in a real Chromium."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from arena import milestones
from arena.judging.human import MAX_NOTE, fingerprint
from storage.models import MilestoneProposal, MilestoneTruth, Tutorial, Verdict
from storage.store import Store
from ui.app import create_app
from ui.judgements import fold
from ui.security import MAX_BODY

ORIGIN = {"origin": "http://127.0.0.1"}
HOSTILE = "<img src=x onerror=window.hacked=1>"
NOTE = f"</textarea><script>window.hacked=2</script> {HOSTILE} \u202e \x00 ${{window.hacked=3}}"


@pytest.fixture(scope="module")
def reviewed(recorded: tuple[Path, dict[str, str]], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A copy of the run, to be written to."""
    folder = tmp_path_factory.mktemp("reviewed") / "run"
    shutil.copytree(recorded[0].parent, folder)
    with Store.open(folder / "arena.db", migrate=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def client(reviewed: Store) -> Iterator[TestClient]:
    with TestClient(create_app(reviewed, review=True), base_url="http://127.0.0.1", headers=ORIGIN) as opened:
        yield opened


def given(**change: Any) -> dict[str, Any]:
    return {"milestone": "apple-1", "verdict": "not_reached", "frame": 12, "name": "ada"} | change


def of_milestone(answer: dict[str, Any], milestone: str = "apple-1") -> dict[str, Any]:
    return next(item for item in answer["judgements"] if item["milestone_id"] == milestone)


# the door


def test_a_verdict_is_added_beside_the_judges_and_a_second_one_counts(client: TestClient, ids: dict[str, str]) -> None:
    path = f"/api/episodes/{ids['first']}/verdicts"
    assert client.post(path, json=given(verdict="reached", note="seen")).status_code == 201
    answer = client.post(path, json=given())
    assert answer.status_code == 201
    judges = {judge["judge"]: judge for judge in of_milestone(answer.json())["judges"]}
    person = judges["human:ada"]
    assert (person["human"], person["verdict"], person["n"], person["frame"]) == (True, "not_reached", 1, 12)
    assert person["confidence"] is None and person["against_engine"] and len(person["ids"]) == 2
    assert judges["judge:small"]["verdict"] == "reached" and of_milestone(answer.json())["disputed"]
    assert client.get(f"/api/episodes/{ids['first']}").json()["judgements"] == answer.json()["judgements"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"frame": 121}, "frame: the episode's video has the frames 0 to 120; cite one of them (got 121)"),
        ({"frame": -1}, "frame:"),
        ({"frame": True}, "frame:"),
        ({"frame": "5"}, "frame:"),
        ({"frame": None}, "frame:"),
        ({"milestone": HOSTILE}, "milestone: games/snake-v1 has no such milestone; it has turned, apple-1"),
        ({"milestone": "x" * 201}, "milestone:"),
        ({"verdict": "invalid"}, "verdict:"),
        ({"name": ""}, "name: must be 1 to 40 printable characters"),
        ({"name": "a\nb"}, "name: must be 1 to 40 printable characters"),
        ({"name": "x" * 1000}, "name:"),
        ({"name": "\ud800"}, "name:"),
        ({"note": "x" * (MAX_NOTE + 1)}, f"note: has {MAX_NOTE + 1} characters; shorten it to {MAX_NOTE}"),
        ({"note": "x" * (4 * MAX_NOTE + 1)}, "note:"),
        ({"judge": "engine"}, "judge:"),
    ],
)
def test_what_cannot_be_taken_in_is_one_line_that_names_the_field(
    client: TestClient, reviewed: Store, ids: dict[str, str], change: dict[str, Any], told: str
) -> None:
    before = len(reviewed.verdicts(ids["first"]))
    body = json.dumps(given(**change))
    path = f"/api/episodes/{ids['first']}/verdicts"
    answer = client.post(path, content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert answer.json()["detail"].startswith(told) and len(answer.json()["detail"]) < 500
    assert len(reviewed.verdicts(ids["first"])) == before


@pytest.mark.parametrize(("episode", "status"), [("nope", 404), ("gone", 422), ("long", 422), ("hostile", 422)])
def test_only_episodes_that_can_be_seen_are_judged(
    client: TestClient, ids: dict[str, str], episode: str, status: int
) -> None:
    answer = client.post(f"/api/episodes/{ids.get(episode, episode)}/verdicts", json=given(frame=0))
    assert answer.status_code == status, answer.text


@pytest.mark.parametrize("path", ["/api/episodes/x/verdicts", "/api/proposals/x/reviews"])
def test_the_door_is_shut_unless_it_was_asked_for(store: Store, path: str) -> None:
    with TestClient(create_app(store), base_url="http://127.0.0.1", headers=ORIGIN) as closed:
        answer = closed.post(path, json=given())
        assert answer.status_code == 405 and "arena view --review" in answer.json()["detail"]


def test_only_this_servers_own_pages_are_heard(client: TestClient, reviewed: Store, ids: dict[str, str]) -> None:
    path = f"/api/episodes/{ids['first']}/verdicts"
    before = len(reviewed.verdicts(ids["first"]))
    for origin in ("http://evil.invalid", "http://127.0.0.1:1", "null", ""):
        assert client.post(path, json=given(), headers={"origin": origin}).status_code == 403
    assert client.post(path, content="{}", headers={"content-type": "text/plain"}).status_code == 415
    assert client.post(path, json=given(note="x" * MAX_BODY)).status_code == 413
    for method in ("PUT", "DELETE", "PATCH"):
        assert client.request(method, path, json=given()).status_code == 405
    for other in ("/api/play", "/api/episodes", f"/api/episodes/{ids['first']}", f"{path}/x", "/api/runs"):
        assert client.post(other, json=given()).status_code == 405
    assert len(reviewed.verdicts(ids["first"])) == before


def test_with_a_token_only_those_who_have_it_review(reviewed: Store, ids: dict[str, str]) -> None:
    path = f"/api/episodes/{ids['second']}/verdicts"
    with TestClient(create_app(reviewed, token="t0", review=True), base_url="http://127.0.0.1", headers=ORIGIN) as it:
        assert it.post(path, json=given()).status_code == 401
        assert it.post(path, json=given(), headers={"authorization": "Bearer t0"}).status_code == 201


# proposals


def test_proposals_are_told_by_version_with_frames_and_decisions(client: TestClient, ids: dict[str, str]) -> None:
    listed = client.get("/api/proposals").json()["tasks"]
    assert {"id": "games/snake-v1", "n": 6, "title": "Snake"} in listed
    told = client.get("/api/proposals", params={"task": "games/snake-v1"}).json()
    assert [item["version"] for item in told["versions"]] == [2, 1] and told["version"] == 2
    first = told["items"][0]
    assert (first["state"], first["reviews"][0]["reviewer"], first["reviews"][0]["matches"]) == (
        "accepted",
        "engine",
        "apple-1",
    )
    assert [frame["step"] for frame in first["frames"]] == [0, 4, 8]
    assert client.get(first["frames"][1]["thumb"]).headers["content-type"] == "image/jpeg"
    assert client.get("/api/proposals", params={"task": "games/none"}).status_code == 404
    assert client.get("/api/proposals", params={"task": "games/snake-v1", "version": 9}).json()["items"] == []


def test_a_decision_on_a_proposal_is_added_and_the_latest_counts(
    client: TestClient, reviewed: Store, ids: dict[str, str]
) -> None:
    path = f"/api/proposals/{ids['proposal']}/reviews"
    for state in ("accepted", "rejected"):
        answer = client.post(path, json={"state": state, "name": "ada", "note": " because "})
        assert answer.status_code == 201 and answer.json()["state"] == state
    assert [item["state"] for item in answer.json()["reviews"]] == ["accepted", "rejected"]
    [row] = [i for i in milestones.reviewed(reviewed, "games/snake-v1") if i.proposal.id == ids["proposal"]]
    assert row.review is not None and (row.state, row.review.reviewer, row.review.note) == (
        "rejected",
        "human:ada",
        "because",
    )
    assert client.post(path, json={"state": "maybe", "name": "ada"}).json()["detail"].startswith("state:")
    assert client.post(path, json={"state": "accepted", "name": " "}).json()["detail"].startswith("name:")
    for wrong in ("nope", ids["proposal"][:12]):
        assert (
            client.post(f"/api/proposals/{wrong}/reviews", json={"state": "accepted", "name": "a"}).status_code == 404
        )


def test_a_proposal_out_of_a_persons_own_video_shows_its_frames(
    client: TestClient, reviewed: Store, ids: dict[str, str]
) -> None:
    """Such a frame has a picture and no step; neither does a recording whose task is not installed any more fail."""
    video = reviewed.episode(ids["gui"]).video
    assert video is not None
    reviewed.add(Tutorial(id="t-film", task_id="games/gone-v1", video=video, video_info={"n_frames": 11}))
    reviewed.add(
        MilestoneProposal(
            id="m-film",
            task_id="games/gone-v1",
            version=1,
            place=0,
            text="Done.",
            tutorial_id="t-film",
            frames=[3, "x"],
        )
    )
    told = client.get("/api/proposals", params={"task": "games/gone-v1"}).json()
    [item] = told["items"]
    assert item["frames"] == [{"frame": 3, "thumb": f"/media/{video}/frames/3"}]
    assert client.get(item["frames"][0]["thumb"]).status_code == 200
    assert told["task"] == {"id": "games/gone-v1", "title": "games/gone-v1", "milestones": []}


# folding


def row(milestone: str, said: str, judge: str = "m", repeat: int = 0, confidence: float | None = 0.8) -> Verdict:
    return Verdict(
        id=f"{milestone}{judge}{repeat}",
        episode_id="e",
        milestone_id=milestone,
        judge=judge,
        fingerprint=fingerprint(judge),
        repeat=repeat,
        verdict=said,
        confidence=confidence,
        frame=repeat,
    )


def test_repeats_fold_into_one_line_with_their_share() -> None:
    said = ["reached", "reached", "not_reached", "reached", "uncertain"]
    verdicts = [row("a", answer, repeat=i, confidence=0.1 * i) for i, answer in enumerate(said)]
    [found] = fold(["a"], [], verdicts, engine_knows=True)
    [judge] = found["judges"]
    assert (judge["verdict"], judge["n"], judge["counts"]["reached"], judge["frame"]) == ("reached", 5, 3, 3)
    assert judge["confidence"] == pytest.approx((0.0 + 0.1 + 0.3) / 3), "of the answers that say so"
    assert judge["against_engine"] and found["truth"] == "not_reached" and not found["disputed"]


def test_only_contradictions_are_disputes_and_the_engines_own_rows_are_no_judge() -> None:
    truths = [MilestoneTruth(episode_id="e", milestone_id="a", step_index=1)]
    verdicts = [row("a", "reached"), row("a", "uncertain", "n"), row("a", "reached", "engine"), row("b", "invalid")]
    first, second = fold(["a"], truths, verdicts, engine_knows=False)
    assert (first["truth"], first["disputed"]) == ("reached", False)
    assert [judge["judge"] for judge in first["judges"]] == ["m", "n"]
    assert (second["milestone_id"], second["truth"], second["judges"][0]["verdict"]) == ("b", None, "invalid")
    assert second["judges"][0]["against_engine"] is False


# the pages


@pytest.fixture(scope="module")
def review_server(reviewed: Store, server_class: Any) -> Iterator[Any]:
    with server_class(reviewed, review=True) as running:
        yield running


Opener = Callable[..., Any]


@pytest.fixture
def tab(browser: Any, review_server: Any) -> Iterator[Opener]:
    """Opens pages; fails the test if one complained."""
    complaints: list[str] = []

    @contextmanager
    def opener(path: str, wait: str, **options: Any) -> Iterator[Any]:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        try:
            page = context.new_page()
            page.set_default_timeout(15_000)
            page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
            page.on("pageerror", lambda error: complaints.append(str(error)))
            page.goto(review_server.url + path)
            page.wait_for_selector(wait)
            yield page
        finally:
            context.close()

    yield opener
    assert complaints == []


def row_of(page: Any, milestone: str) -> Any:
    return page.locator(f"tr[data-milestone='{milestone}']")


@pytest.mark.browser
def test_a_person_overrules_the_judges_on_the_frame_that_is_shown(
    tab: Opener, reviewed: Store, ids: dict[str, str]
) -> None:
    """Every click is one of the page, and what it wrote is read from the store; the name is remembered."""
    with tab(f"/ui/replay?ep={ids['disputed']}&step=7", ".stage[data-frame='7']") as page:
        page.wait_for_function("() => document.querySelector('.cited').textContent.includes('frame 7')")
        row_of(page, "apple-3").locator("[data-verdict=reached]").click()
        assert "Who are you?" in page.locator(".box-milestones .notice").inner_text()
        assert page.evaluate("document.activeElement.id") == "reviewer"
        page.fill("#reviewer", "ada")
        row_of(page, "apple-3").locator(".note summary").click()
        row_of(page, "apple-3").locator("textarea").fill("no third apple here")
        page.click("h1")
        page.keyboard.press("ArrowRight")
        page.wait_for_selector(".stage[data-frame='8']")
        row_of(page, "apple-3").locator("[data-verdict=not_reached]").click()
        page.wait_for_selector(".recorded")
        line = row_of(page, "apple-3").locator(".judge.person summary")
        assert "not reached" in line.inner_text() and "human:ada" in line.inner_text()
        assert "≠ engine" in line.inner_text()
        assert row_of(page, "apple-3").locator("[aria-pressed=true]").get_attribute("data-verdict") == "not_reached"
        row_of(page, "apple-3").locator("[data-verdict=uncertain]").click()
        page.wait_for_function("() => document.querySelector('.recorded')?.textContent.includes('uncertain')")
        row_of(page, "apple-3").locator(".judge.person summary .badge").click()
        assert row_of(page, "apple-3").locator(".judge.person .answer").count() == 2
        assert "no third apple here" in row_of(page, "apple-3").locator(".superseded").inner_text()
        page.reload()
        page.wait_for_selector("#reviewer")
        assert page.input_value("#reviewer") == "ada"
    kept = [v for v in reviewed.verdicts(ids["disputed"]) if v.judge == "human:ada"]
    assert [(v.milestone_id, v.verdict, v.frame, v.repeat, v.note) for v in kept] == [
        ("apple-3", "not_reached", 8, 0, "no third apple here"),
        ("apple-3", "uncertain", 8, 1, ""),
    ]


@pytest.mark.browser
def test_judges_stand_beside_each_other_in_one_line_each(tab: Opener, ids: dict[str, str]) -> None:
    with tab(f"/ui/replay?ep={ids['disputed']}&step=30", ".stage[data-frame='30']") as page:
        lines = row_of(page, "turned").locator(".judge:not(.person) summary")
        assert lines.count() == 5
        assert all(box["height"] < 28 for box in (line.bounding_box() for line in lines.all()))
        assert row_of(page, "turned").get_attribute("class") == "disputed"
        assert "judges disagree" in row_of(page, "turned").inner_text()
        assert row_of(page, "apple-5").get_attribute("class") is None, "a judge that wavers does not contradict another"
        wavering = row_of(page, "turned").locator(".judge", has_text="qwen3-vl")
        assert "4 of 5" in wavering.inner_text()
        wavering.locator("summary .badge").click()
        assert wavering.locator(".answer").count() == 5
        row_of(page, "apple-1").locator("summary .step-link").first.click()
        page.wait_for_selector(".stage[data-frame='11']")
        assert not row_of(page, "apple-1").locator(".judge[open]").count(), (
            "the link moves the player, and opens nothing"
        )


@pytest.mark.browser
def test_hostile_names_and_notes_are_only_text(tab: Opener, ids: dict[str, str]) -> None:
    with tab(f"/ui/replay?ep={ids['disputed']}&step=3", ".stage[data-frame='3']") as page:
        page.fill("#reviewer", HOSTILE)
        row_of(page, "apple-7").locator(".note summary").click()
        row_of(page, "apple-7").locator("textarea").fill(NOTE)
        row_of(page, "apple-7").locator("[data-verdict=reached]").click()
        page.wait_for_selector(".recorded")
        for path in (None, "/ui/proposals?task=games%2Fsnake-v1&version=1"):
            if path:
                page.goto(page.url.split("/ui/")[0] + path)
                page.wait_for_selector(".proposal")
                page.locator("[data-verdict=accepted]").nth(1).click()
                page.wait_for_selector(".recorded")
            for node in page.locator("details").all():
                node.evaluate("(node) => { node.open = true; }")
            page.wait_for_timeout(200)
            assert HOSTILE in page.locator("main#page").inner_text()
            assert page.evaluate("window.hacked") is None
            assert page.locator("main img[src=x], main iframe, main script, main svg[onload]").count() == 0


@pytest.mark.browser
def test_proposals_are_accepted_and_rejected_on_their_page(tab: Opener, reviewed: Store) -> None:
    with tab("/ui/proposals?task=games%2Fsnake-v1&version=1", ".proposal") as page:
        page.fill("#reviewer", "eve")
        card = page.locator(".proposal").nth(2)
        assert card.locator("a.thumb").count() == 3 and "version=1" in page.url
        card.locator("[data-verdict=accepted]").click()
        page.wait_for_selector(".proposal.accepted >> text=human:eve")
        card.locator("[data-verdict=rejected]").click()
        page.wait_for_selector(".proposal.rejected >> text=human:eve")
        assert "1 earlier" in card.inner_text()
        card.locator("a.thumb").nth(1).click()
        page.wait_for_selector(".stage[data-frame='24']")
    latest = [i.review for i in milestones.reviewed(reviewed, "games/snake-v1") if i.proposal.version == 1][2]
    assert latest is not None and (latest.state, latest.reviewer) == ("rejected", "human:eve")


@pytest.mark.browser
def test_without_review_the_pages_show_and_take_nothing(browser: Any, server: Any, ids: dict[str, str]) -> None:
    page = browser.new_page()
    try:
        for path, there in ((f"/ui/replay?ep={ids['disputed']}", ".judge"), ("/ui/proposals", ".proposal")):
            page.goto(server.url + path)
            page.wait_for_selector(there)
            assert page.locator(".verdict-button, #reviewer, textarea").count() == 0
    finally:
        page.close()


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_review_fits_both_widths_and_schemes(
    tab: Opener, ids: dict[str, str], tmp_path: Path, width: int, scheme: str
) -> None:
    options = {"viewport": {"width": width, "height": 900}, "color_scheme": scheme}
    for name, path, there in (
        ("milestones", f"/ui/replay?ep={ids['disputed']}&step=11", ".stage[data-frame='11']"),
        ("proposals", "/ui/proposals?task=games%2Fsnake-v1&version=1", ".proposal"),
    ):
        with tab(path, there, **options) as page:
            for node in page.locator(".judge, .note, .proposal details").all()[:12]:
                node.evaluate("(node) => { node.open = true; }")
            page.wait_for_timeout(200)
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            shade = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
            assert (shade < 80) == (scheme == "dark")
            page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
