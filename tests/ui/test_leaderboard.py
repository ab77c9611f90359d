"""The leaderboard of a run of the dynamic track: what supervision changed, from the code of the command's table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from arena.diagnosis.dynamic_table import dynamic_table
from storage.models import Diagnosis, Episode, Fault, Intervention, Run, RunEpisode, Step
from storage.store import Store
from ui.app import create_app

RUN, PLAIN = "diagnosis-0123456789", "plain-0123456789"
TASK = "tabletop/pick-place-bowl-v1"
HOSTILE = "human:<img src=x onerror=window.hacked=1>"
ENDED = {"none": (False, False, True), "rules": (True, True, True), "planted:0:1": (False, False, False)}
"""By condition, whether the seeds 0, 1 and 2 succeed."""


@pytest.fixture(scope="module")
def supervised(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A run of the dynamic track, in which one condition has one of three scenarios; and a run without supervision."""
    with Store.open(tmp_path_factory.mktemp("supervised") / "arena.db") as store:
        store.add(Run(id=PLAIN, name="plain", experiment={}, status="finished"))
        add(store, PLAIN, "single", 0, True)
        store.add(Run(id=RUN, name="diagnosis", experiment={}, status="finished"))
        for condition, ended in {**ENDED, HOSTILE: (True,)}.items():
            for seed, success in enumerate(ended):
                add(store, RUN, f"{condition} | stuck/2", seed, success)
        yield store


def add(store: Store, run_id: str, label: str, seed: int, success: bool) -> None:
    """One episode of 10 steps with a fault; `rules` goes 4 steps back in each."""
    identity = hashlib.sha256(f"{run_id} {label} {seed}".encode()).hexdigest()[:32]
    spec = {"task": TASK, "space": "native", "agent": {}, "seed": seed, "repetition": 0, "fault": {"kind": "stuck"}}
    shared: dict[str, Any] = {
        "identity": identity,
        "task_id": TASK,
        "space": "native",
        "agent": "scripted",
        "seed": seed,
    }
    episode = Episode(id=f"{identity}-0", try_no=0, spec=spec, **shared)
    store.begin_episode(episode)
    back = 4 if label.startswith("rules") else 0
    steps = [{"index": i, "sim_step": i - back * (i > 6)} for i in range(10)]
    store.add(*(Step(episode_id=episode.id, action=[0.0] * 7, status="ok", **step) for step in steps))
    fault = Fault(episode_id=episode.id, kind="stuck", fault_class="control", fault_type="C6", params={"severity": 2})
    fault.onset_step = 5
    store.add(fault)
    if back:
        said = Diagnosis(
            id=identity, episode_id=episode.id, step_index=6, trigger="stall", diagnoser="rules", fingerprint="d" * 32,
            verdict="fault", fault_class="control", fault_type="C6", rollback_step=2, body={"onset_step": 5},
        )  # fmt: skip
        store.add(said)
        place = {"branch": 1, "at_step": 6, "to_step": 2, "snapshot": "e" * 64, "exact": True}
        store.add(Intervention(episode_id=episode.id, diagnosis_id=said.id, kind="sim", **place))
    ending = {"outcome": "won" if success else "horizon", "scored": True, "score": 100.0 * success, "success": success}
    store.finish_episode(episode.id, n_steps=10, state_hash="a" * 64, summary={}, **ending)
    store.link([RunEpisode(run_id=run_id, condition=label, trial=identity, final=True, round=0, **shared)])


def test_the_board_holds_the_dynamic_table_as_the_command_tells_it(supervised: Store) -> None:
    with TestClient(create_app(supervised), base_url="http://127.0.0.1") as client:
        board = client.get("/api/leaderboard", params={"run": RUN}).json()
        assert board["dynamic"] == json.loads(json.dumps(dynamic_table(supervised, RUN).to_json()))
        lines = {line["condition"]: line for line in board["dynamic"]["conditions"]}
        assert (lines["rules"]["rescued"], lines["rules"]["broken"], lines["rules"]["net"]) == (2, 0, 2)
        assert (lines["rules"]["detected"], lines["rules"]["type_accuracy"]) == (3, 1)
        assert (lines["rules"]["interventions"], lines["rules"]["added_steps"]) == (1, 4)
        assert (lines["planted:0:1"]["rescued"], lines["planted:0:1"]["broken"]) == (0, 1)
        assert client.get("/api/leaderboard", params={"run": PLAIN}).json()["dynamic"] is None


@pytest.fixture(scope="module")
def running(supervised: Store, server_class: Any) -> Iterator[Any]:
    with server_class(supervised) as server:
        yield server


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 420])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_shows_what_supervision_changed_first(
    browser: Any, running: Any, tmp_path: Path, width: int, scheme: str
) -> None:
    complaints: list[str] = []
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page = context.new_page()
    page.on("console", lambda said: complaints.append(said.text) if said.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.goto(f"{running.url}/ui/?run={RUN}")
    page.wait_for_selector("table.board")
    section = page.locator("section:has(> h2)").first
    assert section.locator("h2").inner_text().lower() == "what supervision changed"
    rows = {
        row.locator("th").inner_text().split("\n")[0]: {
            cell.get_attribute("data-label"): cell.inner_text() for cell in row.locator("td").all()
        }
        for row in section.locator("tbody tr").all()
    }
    rules = rows["rules"]
    assert (rules["Success"], rules["Rescued"], rules["Broken"]) == ("100 %", "2", "0")
    assert rules["Net"].split("\n")[0] == "+2" and rules["Net"].split("\n")[1].startswith("[")
    assert (rules["Interventions"], rules["Added"], rules["Pairs"]) == ("1.00", "4", "3")
    assert rows["none: left alone"]["Net"] == "" and rows["none: left alone"]["Success"] == "33.3 %"
    [name] = [name for name in rows if name.startswith("human:")]
    assert name == HOSTILE and rows[name]["Pairs"] == "1 of 3"
    assert section.locator(".instrument").count() == 1, "planted goes by the truth"
    assert page.evaluate("window.hacked") is None and section.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.screenshot(path=tmp_path / "supervised.png", full_page=True)
    page.goto(f"{running.url}/ui/?run={PLAIN}")
    page.wait_for_selector("table.board")
    assert page.get_by_text("What supervision changed").count() == 0
    context.close()
    assert complaints == []
