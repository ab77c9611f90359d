"""The pages in a real Chromium: what they show, how they are moved by keys, and what they never do."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from storage.models import Episode, Run, RunEpisode
from storage.store import Store

pytestmark = pytest.mark.browser

READ_BARCODE = """() => {
  const video = document.querySelector('.stage video');
  const canvas = document.createElement('canvas');
  [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
  const context = canvas.getContext('2d', {willReadFrequently: true});
  context.drawImage(video, 0, 0);
  let index = 0;
  for (let bit = 0; bit < 16; bit++) {
    const pixel = context.getImageData(bit * 40 + 20, canvas.height - 12, 1, 1).data;
    if (pixel[1] > 128) index |= 1 << bit;
  }
  return index;
}"""
INKED = """(box) => {
  const canvas = document.querySelector('.stage canvas');
  const scale = canvas.width / 640;
  const data = canvas.getContext('2d').getImageData(...box.map((value) => Math.round(value * scale))).data;
  return data.some((value, i) => i % 4 === 3 && value > 0);
}"""


# Lazy pictures are asked for when the browser finds the time, so a test that counts requests wants them first.
LOAD_PICTURES = """() => Promise.all([...document.images].map((image) => {
  image.loading = 'eager';
  return image.decode().catch(() => {});
}))"""


class Tab:
    """One page of the browser that remembers every complaint and every request."""

    def __init__(self, page: Any, base: str) -> None:
        self.page, self.base = page, base
        self.complaints: list[str] = []
        self.outside: list[str] = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._note(request.url))

    def _hear(self, said: Any) -> None:
        # Chromium advises against reading canvases back, which only these tests do.
        if said.type in ("error", "warning") and not said.text.startswith("Canvas2D: Multiple readback"):
            self.complaints.append(said.text)

    def _note(self, url: str) -> None:
        if not url.startswith((self.base, "data:", "blob:")):
            self.outside.append(url)

    def open(self, path: str) -> Tab:
        self.page.goto(self.base + path)
        self.page.wait_for_selector(".arena main:not(:has(> .loading))")
        return self

    def replay(self, episode: str, step: int | None = None) -> Tab:
        self.open(f"/ui/replay?ep={episode}" + ("" if step is None else f"&step={step}"))
        self.page.wait_for_selector("main[data-loaded=yes]")
        return self

    @property
    def step(self) -> int:
        return int(self.page.get_attribute("main[data-step]", "data-step"))

    def settle(self, frame: int) -> None:
        self.page.wait_for_selector(f".stage[data-frame='{frame}']")

    def shown(self) -> int:
        """Index of the frame on the screen, read from its barcode."""
        return int(self.page.evaluate(READ_BARCODE))

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)


Opener = Callable[..., Any]


@pytest.fixture
def tab(browser: Any, server: Any) -> Iterator[Opener]:
    """Opens tabs; fails the test if a page complained or asked anything of another host."""
    tabs: list[tuple[Tab, bool]] = []

    @contextmanager
    def opener(*, expect_complaints: bool = False, **options: Any) -> Iterator[Tab]:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        try:
            opened = Tab(context.new_page(), server.url)
            tabs.append((opened, expect_complaints))
            yield opened
        finally:
            context.close()

    yield opener
    for opened, expect_complaints in tabs:
        assert opened.outside == []
        assert expect_complaints or opened.complaints == []


def test_root_leads_to_the_leaderboard_whose_cells_lead_to_episodes(tab: Opener) -> None:
    with tab() as it:
        it.open("/")
        assert it.page.url.endswith("/ui/")
        it.page.wait_for_selector("table.board")
        row = it.page.locator("table.board tbody tr", has_text="calibrated").filter(has_text="reflect-and-retry").first
        assert row.locator("svg.whisker .span").count() >= 6, "an interval is a line with two ends, for score and gain"
        assert row.locator(".instrument").inner_text() == "⚖ test weight"
        assert "test weight: gains a known amount" in it.page.locator("ul.legend").inner_text()
        row.locator("td a").first.click()
        it.page.wait_for_selector("table.list tbody tr")
        assert set(it.page.locator("table.list tbody td[data-label=Agent]").all_inner_texts()) == {"calibrated"}


def test_the_leaderboard_compares_conditions_and_ranks_agents(tab: Opener) -> None:
    """Over tasks and, folded away, task by task; each difference leads to its episodes."""
    with tab() as it:
        it.open("/")
        it.page.wait_for_selector("table.board")
        heads = it.page.locator("h2").all_inner_texts()
        assert [head.lower() for head in heads] == ["over tasks", "comparisons", "who beats whom"]
        compared = it.page.locator("section", has_text="Paired on shared seeds").last
        row = compared.locator("tbody tr", has_text="first attempt").first
        assert row.locator("td[data-label=Difference] svg.whisker").count() == 1
        assert not compared.locator("details table").is_visible()
        compared.locator("summary").click()
        assert compared.locator("details table").is_visible()
        row.locator("td[data-label=Difference] a").click()
        it.page.wait_for_selector("table.list tbody tr")


def test_episode_list_filters_sorts_and_goes_back(tab: Opener) -> None:
    with tab() as it:
        it.open("/ui/episodes")
        it.page.select_option("#filter-agent", "random")
        it.page.wait_for_url("**agent=random*")
        it.page.wait_for_selector(".filters .set")
        it.page.get_by_role("link", name="Score").click()
        it.page.wait_for_url("**sort=-score*")
        it.page.wait_for_selector("th[aria-sort=descending]:has-text('Score')")
        texts = it.page.locator("td[data-label=Score]").all_inner_texts()
        scores = [float(text) for text in texts if text != "not scored"]
        assert scores == sorted(scores, reverse=True)
        it.page.go_back()
        it.page.wait_for_selector("th[aria-sort=descending]:has-text('Played')")
        assert "sort" not in it.page.url


def test_scrubber_shows_exactly_the_frame_of_the_step(tab: Opener, ids: dict[str, str]) -> None:
    chance = random.Random(7)
    with tab() as it:
        it.replay(ids["first"])
        it.settle(0)
        for step in chance.sample(range(121), 30):
            it.page.evaluate(
                "(step) => { const slider = document.querySelector('input[type=range]'); slider.value = step;"
                " slider.dispatchEvent(new Event('input')); }",
                step,
            )
            it.settle(step)
            assert (it.shown(), it.step) == (step, step)


def test_hundreds_of_wishes_end_on_the_last_one(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["first"])
        it.settle(0)
        it.page.evaluate(
            "() => { const slider = document.querySelector('input[type=range]');"
            " for (let i = 0; i < 300; i++) {"
            "   slider.value = (i * 37) % 121; slider.dispatchEvent(new Event('input')); } }"
        )
        last = 299 * 37 % 121
        it.settle(last)
        it.page.wait_for_timeout(200)
        assert it.shown() == last


def test_every_key_moves_as_the_help_says(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["first"], 50)
        it.settle(50)
        moves = [("ArrowRight", 51), ("ArrowLeft", 50), ("PageDown", 60), ("PageUp", 50), ("Home", 0), ("ArrowLeft", 0)]
        moves += [("End", 120), ("ArrowRight", 120)]
        for key, expected in moves:
            it.press(key)
            it.settle(expected)
            assert (it.step, it.shown()) == (expected, expected), key
        assert "final state" in it.page.locator(".box-step").inner_text().lower()
        it.press("Home", *["n"] * 3)  # turned after step 0, apple-1 after step 24, illegal at 30
        assert it.step == 30
        assert "illegal" in it.page.locator(".box-step").inner_text().lower()
        it.press("p")
        assert it.step == 25
        it.press("?")
        assert it.page.locator("dialog.help").is_visible()
        it.press("Escape")
        assert not it.page.locator("dialog.help").is_visible()
        it.press("Home", "Space")
        it.page.wait_for_function("() => Number(document.querySelector('main[data-step]').dataset.step) >= 3")
        it.press("Space")
        stopped = it.step
        it.page.wait_for_timeout(500)
        assert it.step == stopped


def test_focus_on_the_slider_does_not_move_twice(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["first"], 10)
        it.page.focus("input[type=range]")
        it.press("ArrowRight")
        assert it.step == 11


def test_address_restores_the_step_and_follows_it(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["first"], 73)
        it.settle(73)
        assert it.shown() == 73
        it.press("ArrowRight")
        it.page.wait_for_url("**step=74")
        it.page.locator(".box-milestones .step-link", has_text="after step 24").first.click()
        it.page.wait_for_url("**step=25")
        it.settle(25)
        it.page.go_back()
        it.settle(74)
        assert it.step == 74
        it.page.go_forward()
        it.settle(25)
        it.page.goto(f"{it.base}/episode/{ids['first']}?step=12")
        it.settle(12)
        assert it.shown() == 12


def test_the_crumbs_lead_back_to_the_run_that_the_reader_came_from(
    browser: Any, server_class: type[Any], tmp_path: Path
) -> None:
    """An episode of three runs: through a run's list back to that run; from anywhere else to the newest."""
    facts: dict[str, Any] = {"task_id": "games/snake-v1", "space": "semantic", "agent": "random", "seed": 1}
    began = dt.datetime(2026, 3, 2, tzinfo=dt.UTC)
    with Store.open(tmp_path / "arena.db") as store:
        store.add(Episode(id="a-0", identity="a", try_no=0, spec={}, status="finished", outcome="lost", **facts))
        for name, hours in (("a-helper", 0), ("b-newest", 9), ("c-table", 3)):
            store.begin_run(Run(id=name, name=name, experiment={}, created_at=began + dt.timedelta(hours=hours)))
            store.link([RunEpisode(run_id=name, condition="single", identity="a", trial="a", round=0, **facts)])
        with server_class(store) as running:
            page = browser.new_page()
            page.goto(f"{running.url}/ui/episodes?run=c-table")
            page.locator("table.list td[data-label=Task] a").click()
            page.wait_for_selector("main[data-loaded=yes]")
            page.keyboard.press("End")
            assert page.locator(".crumbs a").first.inner_text() == "c-table"
            page.wait_for_url("**ep=a-0&run=c-table&step=0")
            for asked in ("", "&run=none", "&run=%3Cimg%20src=x%3E"):
                page.goto(f"{running.url}/ui/replay?ep=a-0{asked}")
                page.wait_for_selector("main[data-loaded=yes]")
                assert page.locator(".crumbs a").first.inner_text() == "b-newest"
            assert page.locator("main img[src=x]").count() == 0
            page.close()


@pytest.mark.parametrize(("asked", "shown"), [("-5", 0), ("9999", 120), ("x", 0), ("3.7", 3), ("", 0)])
def test_odd_steps_in_the_address_are_mended(tab: Opener, ids: dict[str, str], asked: str, shown: int) -> None:
    with tab() as it:
        it.open(f"/ui/replay?ep={ids['first']}&step={asked}")
        it.page.wait_for_selector(f"main[data-step='{shown}']")


def test_step_shows_prompt_image_reply_and_reasons(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["first"], 5)
        it.page.wait_for_selector(".call .message img")
        text = it.page.locator(".box-calls").inner_text()
        assert "You play Snake. Answer with one turn." in text
        assert '{"turn": "up"}' in text
        assert "812 → 23 tokens" in text
        it.page.wait_for_function(
            "() => [...document.querySelectorAll('.call .message img')].map((i) => i.naturalWidth).join() === '320,640'"
        )
        assert "Step 5: the apple lies to the right" in it.page.locator(".box-step").inner_text()
        it.press("ArrowRight")
        it.page.wait_for_function("() => !document.querySelector('.box-calls').hasChildNodes()")


def test_gestures_are_drawn_where_they_happened(tab: Opener, ids: dict[str, str]) -> None:
    places = {
        0: [390, 198, 20, 20],
        1: [260, 215, 30, 30],
        2: [490, 230, 20, 20],
        3: [14, 434, 20, 20],
        9: [14, 436, 40, 20],
    }
    with tab() as it:
        it.replay(ids["gui"])
        for step, box in places.items():
            it.press("Home", *["ArrowRight"] * step)
            it.settle(step)
            assert it.page.evaluate(INKED, box), f"step {step}"
            assert not it.page.evaluate(INKED, [300, 60, 40, 20]), "nothing is drawn elsewhere"
        it.press("End")
        it.settle(10)
        assert not it.page.evaluate(INKED, [0, 0, 640, 480]), "the final state has no action"


def test_rollback_is_a_second_lane_and_its_cards_lead_to_the_steps(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["robot"])
        assert it.page.locator(".timeline .lane").count() == 2
        assert it.page.locator(".timeline .rollback").count() == 1
        trunk, branch = (it.page.locator(f".timeline .lane[data-branch='{n}'] .rail").bounding_box() for n in (0, 1))
        assert trunk["x"] < branch["x"] < trunk["x"] + trunk["width"] < branch["x"] + branch["width"]
        assert branch["y"] > trunk["y"]
        cards = it.page.locator(".box-diagnoses").inner_text()
        for text in ("Injected fault: gripper-opens", "grasp-lost", "bit-exact", "The fingers stand apart"):
            assert text in cards
        it.page.locator(".timeline .event.fork").click()
        it.settle(41)
        assert (it.step, it.shown()) == (40, 41), "the first frame of branch 1 follows the last of branch 0"
        it.page.locator(".timeline .event.diagnosis").click()
        it.settle(40)
        assert (it.step, it.shown()) == (39, 40), "what the diagnoser saw, before the world went back"
        it.press("Home", "n", "n", "n", "n")
        assert it.step == 29
        assert "gripper" not in it.page.locator(".box-step").inner_text()


READ_BOTH = f"""() => [...document.querySelectorAll('.side')].map((side) => {{
  const read = {READ_BARCODE.replace("document.querySelector('.stage", "side.querySelector('.stage:not([hidden])")};
  return read();
}})"""


def test_branch_not_taken_is_watched_beside_the_one_taken(tab: Opener, ids: dict[str, str]) -> None:
    """In step from the fork on, by keys and by one slider, at an address that can be shared."""
    with tab() as it:
        it.replay(ids["robot"])
        it.page.locator(".box-diagnoses .watch").click()
        it.page.wait_for_selector(".side.taken .stage[data-frame='41']")
        it.page.wait_for_selector(".side.not-taken .stage[data-frame='22']")
        assert it.page.evaluate(READ_BOTH) == [22, 41], "both begin where the world went back to: step 22"
        it.press("ArrowRight", "PageDown")
        it.page.wait_for_selector(".side.taken .stage[data-frame='52']")
        it.page.wait_for_selector(".side.not-taken .stage[data-frame='33']")
        assert it.page.evaluate(READ_BOTH) == [33, 52]
        it.page.wait_for_url("**fork=1&step=11")
        it.press("PageDown")
        it.page.wait_for_selector(".side.not-taken.ended .stage[data-frame='40']")
        assert "Given up after step 39" in it.page.locator(".side.not-taken").inner_text()
        assert not it.page.locator(".side.taken.ended").count()
        it.press("End")
        assert "won" in it.page.locator(".side.taken .ending").inner_text()
        assert it.page.locator(".side h2 .badge").all_inner_texts() == ["· given up", "✓ won"]
        assert it.page.locator(".title .badge").count() == 0, "an ending stands at the branch that ended so"
        it.page.locator(".transport input").fill("5")
        it.page.wait_for_selector(".side.not-taken .stage[data-frame='27']")
        assert "step 45" in it.page.locator(".side.taken .where").inner_text()
        assert it.page.locator(".both-scores path.score").count() == 2
        it.replay(f"{ids['robot']}&fork=1", 7)
        it.page.wait_for_selector(".side.taken .stage[data-frame='48']")
        assert it.step == 7


def test_unknown_fork_is_told_and_a_hostile_one_is_only_text(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.open(f"/ui/replay?ep={ids['robot']}&fork=%3Cimg%20src=x%3E")
        assert "no such rollback" in it.page.locator(".notice").inner_text()
        it.replay(f"{ids['hostile']}&fork=1", 0)
        assert "No step was played" in it.page.locator(".side.taken").inner_text()
        assert "</script><script>window.hacked=2</script>" in it.page.locator(".worth").inner_text()
        assert it.page.evaluate("window.hacked") is None
        assert it.page.locator("main img[src=x], main script, main iframe").count() == 0


def test_rewind_is_tinted_and_borrowed_pictures_are_named(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["rewound"], 5)
        assert it.page.locator(".where .borrowed").inner_text().strip() == "picture of step 3"
        band = it.page.locator(".timeline .band.rewind")
        assert (band.get_attribute("data-start"), band.get_attribute("data-stop")) == ("10", "13")
        assert band.locator("text").text_content() == "rewind"
        it.press("PageDown", "ArrowLeft", "ArrowLeft", "ArrowLeft")
        assert it.step == 12
        assert "the arm retraces its path" in it.page.locator(".box-step h2").inner_text().lower()
        it.replay(f"{ids['rewound']}&fork=1", 0)
        assert "step 6" in it.page.locator(".side.not-taken .where").inner_text()
        assert "step 13" in it.page.locator(".side.taken .where").inner_text(), "the way back is left out"


def test_the_branch_not_taken_plays_on_beyond_the_record_beside_the_one_taken(tab: Opener, ids: dict[str, str]) -> None:
    """Needed? Helped? The film of the replay goes on where the record of the branch stops, in step with the other."""
    with tab() as it:
        it.replay(ids["weighed"])
        cards = it.page.locator(".box-diagnoses")
        for text in (
            "✗ no: without it the episode succeeds",
            "it harms",
            "won score 90, 25 steps after the fork",
            "Not carried out",
        ):
            assert text in cards.inner_text(), text
        cards.get_by_text("Watch what would have come without it").click()
        it.page.wait_for_selector(".side.taken .stage[data-frame='21']")
        it.page.wait_for_selector(".side.not-taken .stage:not([hidden])[data-frame='10']")
        assert it.page.evaluate(READ_BOTH) == [10, 21]
        assert "harmed" in it.page.locator(".head .worth").inner_text()
        it.press("PageDown", "ArrowRight", "ArrowRight")
        it.page.wait_for_selector(".side.not-taken .stage:not([hidden])[data-frame='2']")
        it.page.wait_for_selector(".side.taken.ended .stage[data-frame='31']")
        assert it.page.evaluate(READ_BOTH) == [2, 31]
        assert "step 3 of 15 beyond the record score 30" in it.page.locator(".side.not-taken .where").inner_text()
        it.press("End")
        it.page.wait_for_selector(".side.not-taken.ended .stage:not([hidden])[data-frame='15']")
        assert "won score 90, 25 steps after the fork" in it.page.locator(".side.not-taken .ending").inner_text()
        assert "fork + 25 of 25" in it.page.locator(".transport .where").inner_text(), "both count from the same step"
        assert it.page.locator(".side h2 .badge").all_inner_texts() == ["✓ won", "· given up"]
        it.press("Home")
        it.page.wait_for_selector(".side.not-taken .stage:not([hidden])[data-frame='10']")
        assert it.page.locator(".both-scores .parted").count() == 1
        it.replay(f"{ids['weighed']}&fork={ids['weighed-left-alone']}", 0)
        it.page.wait_for_selector(".side.taken .stage[data-frame='34']")
        it.page.wait_for_selector(".side.not-taken .stage:not([hidden])[data-frame='0']")
        assert it.page.evaluate(READ_BOTH) == [0, 34], "from the step that it would have gone back to"
        assert "⚒ repair" in it.page.locator(".side.not-taken .act").inner_text()


def test_every_kind_of_mark_has_a_shape_or_a_sign_of_its_own_and_a_legend(tab: Opener, ids: dict[str, str]) -> None:
    """Nothing is told by its colour alone."""
    looks = """(node) => [node.querySelector('.shape').tagName, node.querySelector('.shape').getAttribute('d'),
      node.querySelector('text').textContent].join()"""
    with tab() as it:
        seen: dict[str, str] = {}
        for name in ("robot", "weighed"):
            it.replay(ids[name])
            for mark in it.page.locator(".timeline .event").all():
                seen[mark.get_attribute("class").split()[1]] = mark.evaluate(looks)
        assert set(seen) >= {"fault", "trigger", "diagnosis", "fork", "undo", "milestone"}
        assert len(set(seen.values())) == len(seen)
        legend = it.page.locator(".signs").inner_text()
        for text in (
            "alarm of a monitor",
            "diagnosis",
            "rollback taken back",
            "the arm carries out a repair",
            "taken back:",
        ):
            assert text in legend
        assert "fault begins" not in legend, "only what is there"
        for kind, start in (("repair", "20"), ("undone", "20")):
            assert it.page.locator(f".timeline .band.{kind}").get_attribute("data-start") == start
        it.replay(ids["weighed"], 21)
        head = it.page.locator(".box-step h2").inner_text().lower()
        assert "repair" in head and "regrasp" in head and "taken back" in head


def test_evidence_of_a_verdict_jumps_to_its_frame(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["first"])
        it.page.locator(".box-milestones summary .step-link", has_text="frame 73").click()
        it.settle(73)
        assert it.shown() == 73
        it.page.locator("tr[data-milestone='apple-1'] summary .badge").click()
        it.page.locator(".box-milestones .answer .thumb", has_text="frame 25").click()
        it.settle(25)
        assert it.shown() == 25


def test_lesson_leads_to_the_tutorial_and_to_both_attempts(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.replay(ids["second"])
        card = it.page.locator(".card.lesson")
        assert "Keep a free column beside the wall" in card.inner_text()
        assert card.locator(".thumb").count() == 5
        assert ids["tutorial"] in card.get_by_role("link", name="tutorial").get_attribute("href")
        card.get_by_role("link", name="attempt before").click()
        it.page.wait_for_url(f"**ep={ids['first']}*")
        it.page.wait_for_selector(".card.lesson")
        it.page.get_by_role("link", name="attempt after").first.click()
        it.page.wait_for_url(f"**ep={ids['second']}*")


def test_long_episode_opens_by_windows(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        windows: list[str] = []
        it.page.on("request", lambda request: windows.append(request.url) if "/steps?" in request.url else None)
        it.replay(ids["long"], 12_345)
        assert "thought 12345" in it.page.locator(".box-step").inner_text()
        assert len(windows) == 1, "the one window around the step, nothing else"
        it.press("End")
        it.page.wait_for_selector("main[data-step='20000']")


def test_text_of_models_is_never_executed(tab: Opener, ids: dict[str, str]) -> None:
    """Neither by our own code, nor by Gradio's templates: shown as it is, on every page."""
    with tab() as it:
        for path in ("/ui/", "/ui/episodes", f"/ui/replay?ep={ids['hostile']}"):
            it.open(path)
            it.page.wait_for_selector("text=onerror", state="attached")
            it.page.wait_for_timeout(300)
            for node in it.page.locator("details").all():
                node.evaluate("(node) => { node.open = true; }")
            assert it.page.evaluate("window.hacked") is None
            assert it.page.locator("main img[src=x], main iframe, main script, main svg[onload]").count() == 0
            assert it.page.locator("a[href^='javascript:']").count() == 0
        assert "</script><script>window.hacked=2</script>" in it.page.locator(".box-step").inner_text()
        card = it.page.locator(".card.lesson")
        assert "</script><script>window.hacked=2</script>" in card.locator(".causes").inner_text()
        assert card.locator(".thumb").count() == 2, "what is no picture in the row is left out"
        assert card.locator(".thumb .blank").count() == 1
        assert "the last frame again" in card.locator(".strip").inner_text()


def test_hostile_addresses_are_only_text(tab: Opener) -> None:
    payload = "%3Cimg%20src%3Dx%20onerror%3D%22window.hacked%3D1%22%3E"
    with tab(expect_complaints=True) as it:  # the browser reports our 404
        for path in (f"/ui/replay?ep={payload}", f"/ui/?run={payload}", f"/ui/episodes?agent={payload}&run={payload}"):
            it.open(path)
            it.page.wait_for_timeout(200)
            assert it.page.evaluate("window.hacked") is None


def test_inline_handlers_are_refused_by_the_browser_itself(tab: Opener) -> None:
    """The second wall: were markup ever inserted by mistake, its handler would still not run."""
    with tab(expect_complaints=True) as it:
        it.open("/ui/")
        it.page.evaluate(
            "() => { document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.hacked=1\">'); }"
        )
        it.page.wait_for_timeout(300)
        assert it.page.evaluate("window.hacked") is None
        assert any("Content Security Policy" in text for text in it.complaints)


def test_missing_things_are_told_and_the_rest_still_works(tab: Opener, ids: dict[str, str]) -> None:
    with tab(expect_complaints=True) as it:
        it.replay(ids["gone"])
        assert "The video's file is missing" in it.page.locator(".stage-message").inner_text()
        it.press("ArrowRight")
        assert it.page.locator(".nearby .here").inner_text().startswith("1")
        it.open("/ui/replay?ep=nope")
        assert "There is no episode nope" in it.page.locator(".notice").inner_text()
        it.open("/ui/replay")
        assert "No episode chosen" in it.page.locator(".notice").inner_text()
        it.open("/ui/episodes?agent=nobody")
        assert "No episode matches" in it.page.locator(".notice").inner_text()


def test_video_that_cannot_be_decoded_says_so(tab: Opener, ids: dict[str, str]) -> None:
    with tab(expect_complaints=True) as it:
        it.page.route("**/media/*", lambda route: route.fulfill(status=200, content_type="video/mp4", body=b"no video"))
        it.open(f"/ui/replay?ep={ids['first']}")
        it.page.wait_for_selector("text=This browser cannot play the video")
        assert "H.264" in it.page.locator(".stage-message").inner_text()


def test_idle_pages_ask_nothing(tab: Opener, ids: dict[str, str]) -> None:
    with tab() as it:
        it.page.clock.install()
        it.replay(ids["first"], 5)
        it.page.wait_for_selector(".box-calls .call")
        it.page.evaluate(LOAD_PICTURES)
        asked: list[str] = []
        it.page.on("request", lambda request: asked.append(request.url))
        it.page.clock.run_for(120_000)
        assert asked == []


@pytest.mark.parametrize("width", [1440, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_both_widths_and_follow_the_colour_scheme(
    tab: Opener, ids: dict[str, str], tmp_path: Path, width: int, scheme: str
) -> None:
    with tab(viewport={"width": width, "height": 900}, color_scheme=scheme) as it:
        for name, path in {
            "leaderboard": "/ui/",
            "episodes": "/ui/episodes",
            "replay": f"/ui/replay?ep={ids['robot']}&step=45",
            "fork": f"/ui/replay?ep={ids['robot']}&fork=1&step=14",
            "rewind": f"/ui/replay?ep={ids['rewound']}&step=11",
            "weighed": f"/ui/replay?ep={ids['weighed']}&step=21",
            "beyond": f"/ui/replay?ep={ids['weighed']}&fork=1&step=12",
            "blank": f"/ui/replay?ep={ids['hostile']}",
            "lesson": f"/ui/replay?ep={ids['first']}&step=5",
        }.items():
            it.open(path)
            it.page.wait_for_timeout(300)
            assert it.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            shade = it.page.evaluate("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0]")
            assert (shade < 80) == (scheme == "dark")
            it.page.screenshot(path=tmp_path / f"{name}.png", full_page=True)


def test_theme_button_overrules_the_system_and_is_remembered(tab: Opener) -> None:
    with tab(color_scheme="light") as it:
        it.open("/ui/")
        button = it.page.get_by_role("button", name="colours")
        button.click()
        button.click()
        assert it.page.evaluate("document.documentElement.dataset.theme") == "dark"
        it.open("/ui/episodes")
        assert it.page.evaluate("document.documentElement.dataset.theme") == "dark"
