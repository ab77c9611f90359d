"""The JSON API: what it answers, in which portions, and how it refuses."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient

from arena import run
from arena.experiment import parse
from arena.location import Location
from storage.models import Episode, Step
from storage.store import Store
from tests.fakes.provider import HALF, FakeProvider
from ui.app import create_app

RUN = "demo-0123456789"


@pytest.fixture(scope="module")
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store), base_url="http://127.0.0.1") as opened:
        yield opened


def get(client: TestClient, path: str, **params: Any) -> Any:
    answer = client.get(f"/api/{path}", params=params)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_runs_are_listed_and_one_run_shows_its_experiment(client: TestClient) -> None:
    [run] = get(client, "runs")["items"]
    assert (run["id"], run["status"]) == (RUN, "finished")
    assert run["created_at"] == "2026-03-02T09:00:00+00:00"
    assert get(client, f"runs/{RUN}")["experiment"]["tasks"] == ["games/*"]


def test_leaderboard_is_the_arenas_own_with_titles(client: TestClient) -> None:
    table = get(client, "leaderboard", run=RUN)
    row = next(r for r in table["rows"] if r["agent"] == "calibrated" and r["gain"] and "snake" in r["task"])
    assert row["title"] == "Snake"
    assert row["gain"]["n"] == 5
    assert row["gain"]["low"] <= row["gain"]["estimate"] <= row["gain"]["high"]
    assert row["instrument"] == "test weight: gains a known amount"


def test_leaderboard_holds_what_the_page_draws_below_the_rows(client: TestClient) -> None:
    """Rows over tasks, comparisons with corrected p, strengths or why there are none; no NaN is sent."""
    table = get(client, "leaderboard", run=RUN)
    over = {(row["space"], row["agent"], row["condition"]) for row in table["aggregates"]}
    assert {(row["space"], row["agent"], row["condition"]) for row in table["rows"] if row["scored"]} == over
    compared = [row for row in table["comparisons"] if row["reference"] == "first attempt"]
    assert compared and all(row["p"] <= row["p_corrected"] <= 1 for row in compared)
    assert all(row["strengths"]["reason"] or row["strengths"]["players"] for row in table["strengths"])
    assert all(row["score"]["low"] is not None or row["score"]["why"] for row in table["rows"] if row["score"])


def test_episodes_are_filtered_by_each_filter(client: TestClient) -> None:
    everything = get(client, "episodes")["total"]
    for name, value in {"task": "games/snake-v1", "agent": "random", "space": "gui", "outcome": "won"}.items():
        page = get(client, "episodes", **{name: value, "limit": 200})
        key = "task_id" if name == "task" else name
        assert 0 < page["total"] < everything
        assert {item[key] for item in page["items"]} == {value}
    retried = get(client, "episodes", run=RUN, condition="reflect-and-retry", agent="vlm:small")
    assert [item["round"] for item in retried["items"]] == [1, 0]


def test_episodes_are_sorted_both_ways_with_missing_values_last(client: TestClient) -> None:
    for sort, reverse in (("score", False), ("-score", True)):
        scores = [item["score"] for item in get(client, "episodes", sort=sort, limit=200)["items"]]
        known = [score for score in scores if score is not None]
        assert known == sorted(known, reverse=reverse)
        assert scores[len(known) :] == [None] * (len(scores) - len(known))
        assert None in scores


def test_the_number_of_tries_counts_from_one(client: TestClient) -> None:
    items = get(client, "episodes", limit=200)["items"]
    most = {item["identity"]: max(x["try_no"] for x in items if x["identity"] == item["identity"]) for item in items}
    assert all(item["n_tries"] == most[item["identity"]] + 1 for item in items)
    assert {item["n_tries"] for item in items} >= {1}


def test_pages_cover_the_list_without_overlap(client: TestClient) -> None:
    total = get(client, "episodes")["total"]
    seen = [
        item["id"] for start in range(0, total, 7) for item in get(client, "episodes", limit=7, offset=start)["items"]
    ]
    assert len(seen) == len(set(seen)) == total


def test_unknown_sort_is_refused_with_the_choices(client: TestClient) -> None:
    answer = client.get("/api/episodes", params={"sort": "id; drop table"})
    assert answer.status_code == 422
    assert "created" in answer.json()["detail"]


def test_episode_outline_tells_evidence_by_step(client: TestClient, ids: dict[str, str]) -> None:
    outline = get(client, f"episodes/{ids['first']}")
    verdict = next(v for v in outline["verdicts"] if v["milestone_id"] == "apple-1")
    assert (verdict["frame"], verdict["step"], verdict["verdict"]) == (25, 25, "reached")
    assert verdict["thumb"].endswith("/frames/25")
    [lesson] = outline["lessons"]
    assert [frame["step"] for frame in lesson["frames"]["failure"]] == [100, 110, 119]
    assert {frame["episode_id"] for frame in lesson["frames"]["tutorial"]} == {ids["tutorial"]}
    assert lesson["retries"] == [ids["second"]]
    assert [child["id"] for child in outline["related"]["children"]] == [ids["second"]]
    assert outline["frame_map"] == [[0, 0]]
    assert outline["task"]["title"] == "Snake"


def test_retry_shows_the_lesson_that_it_was_given(client: TestClient, ids: dict[str, str]) -> None:
    outline = get(client, f"episodes/{ids['second']}")
    assert outline["lesson_used"]["episode_id"] == ids["first"]
    assert outline["related"]["parent"]["id"] == ids["first"]


def test_rollback_is_a_fork_between_two_branches(client: TestClient, ids: dict[str, str]) -> None:
    outline = get(client, f"episodes/{ids['robot']}")
    trunk, branch = outline["branches"]
    assert (trunk["start"], trunk["stop"], trunk["sim_stop"], trunk["fork"]) == (0, 40, 40, None)
    assert (branch["start"], branch["stop"], branch["sim_start"]) == (40, 82, 22)
    assert branch["fork"] == {
        "at_step": 39,
        "to_step": 22,
        "at_sim": 40,
        "kind": "sim",
        "exact": True,
        "diagnosis_id": outline["diagnoses"][0]["id"],
    }
    kinds = [event["kind"] for event in outline["events"]]
    assert kinds == ["milestone", "milestone", "milestone", "fault", "trigger", "diagnosis", "fork", "milestone"]
    diagnosis = outline["events"][5]
    assert (diagnosis["branch"], diagnosis["step"], diagnosis["frame"]) == (0, 39, 40), (
        "seen before the world went back"
    )
    assert outline["frame_map"] == [[0, 0], [40, 41]]


def test_a_fork_tells_what_the_other_way_came_to(client: TestClient, ids: dict[str, str]) -> None:
    """The latest replay counts; one that was not filmed does not hide the film of the same branch."""
    outline = get(client, f"episodes/{ids['weighed']}")
    harmed, left_alone = outline["counterfactuals"]
    assert (harmed["verdict"], harmed["outcome"], harmed["video"]["state"], harmed["video"]["n_frames"]) == (
        "harmed",
        "won",
        "ok",
        16,
    )
    assert harmed["created_at"].startswith("2026-03-03") and "scores" not in harmed
    assert [point["score"] for point in harmed["curve"]][:2] == [20.0, 25.0]
    assert left_alone["suppressed"] and left_alone["diagnosis_id"] == ids["weighed-left-alone"]
    assert [(item["key"], item["left"], item["right"]) for item in outline["comparisons"]] == [
        ("1", [[10, 20]], [[20, 30]]),
        ("2", [[20, 30]], [[30, 40]]),
        (ids["weighed-left-alone"], [], [[32, 40]]),
    ]
    bands = [(band["kind"], band["start"], band["stop"]) for band in outline["bands"]]
    assert bands == [("undone", 20, 30), ("repair", 20, 23)]
    assert [event["kind"] for event in outline["events"]] == [
        *("trigger", "diagnosis", "fork"),
        *("trigger", "diagnosis", "undo"),
        *("trigger", "diagnosis"),
    ]


def test_long_episode_is_answered_in_bounded_portions(client: TestClient, ids: dict[str, str]) -> None:
    answer = client.get(f"/api/episodes/{ids['long']}")
    outline = answer.json()
    assert len(answer.content) < 400_000
    assert len(outline["curve"]) <= 600
    assert len(outline["events"]) <= 1_000
    assert outline["events"][-1]["until"] > 19_000, "all refused steps are in some event"
    window = get(client, f"episodes/{ids['long']}/steps", start=19_900, stop=20_100)["items"]
    assert [step["index"] for step in window] == list(range(19_900, 20_000))
    assert client.get(f"/api/episodes/{ids['long']}/steps", params={"start": 0, "stop": 257}).status_code == 422
    assert client.get(f"/api/episodes/{ids['long']}/steps", params={"start": 9, "stop": 8}).status_code == 422


def test_steps_say_how_many_calls_they_have_and_calls_are_exact(client: TestClient, ids: dict[str, str]) -> None:
    steps = get(client, f"episodes/{ids['first']}/steps", start=3, stop=7)["items"]
    assert [step["n_calls"] for step in steps] == [0, 1, 1, 0]
    [call] = get(client, f"episodes/{ids['first']}/steps/5/calls")["items"]
    assert call["cost_usd"] == "0.000420000"
    assert call["request"]["messages"][1]["content"][2]["image_url"]["artifact"] == ids["picture"]


@pytest.mark.parametrize(
    "path", ["episodes/nope", "episodes/nope/steps", "leaderboard?run=nope", "runs/nope", "nope", ""]
)
def test_unknown_things_are_404_in_json(client: TestClient, path: str) -> None:
    answer = client.get(f"/api/{path}")
    assert answer.status_code == 404
    assert "There is no" in answer.json()["detail"]


def test_prefix_of_an_id_is_no_address(client: TestClient, ids: dict[str, str]) -> None:
    assert client.get(f"/api/episodes/{ids['first'][:12]}").status_code == 404


def test_running_episode_counts_its_steps_so_far(tmp_path: Path) -> None:
    episode = Episode(
        id="a-0", identity="a", try_no=0, spec={}, task_id="games/snake-v1", space="semantic", agent="random", seed=1
    )
    with (
        Store.open(tmp_path / "arena.db") as store,
        TestClient(create_app(store), base_url="http://127.0.0.1") as client,
    ):
        assert get(client, "runs")["items"] == []
        store.begin_episode(episode)
        outline = get(client, "episodes/a-0")
        assert (outline["episode"]["status"], outline["video"]["state"]) == ("running", "none")
        assert outline["branches"] == outline["events"] == outline["curve"] == []
        store.append_step(Step(episode_id="a-0", index=0, sim_step=0, action={"turn": "up"}, status="ok"))
        assert get(client, "episodes/a-0")["episode"]["n_steps"] == 1


def test_video_whose_file_is_gone_says_so(client: TestClient, ids: dict[str, str]) -> None:
    assert get(client, f"episodes/{ids['gone']}")["video"]["state"] == "missing"


def test_short_address_leads_to_the_replay(client: TestClient) -> None:
    answer = client.get("/episode/abc-0?step=7", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (307, "/ui/replay?ep=abc-0&step=7")
    assert client.get("/", follow_redirects=False).headers["location"] == "/ui/"


def test_half_a_surrogate_pair_in_a_models_reply_is_shown_by_every_route(tmp_path: Path) -> None:
    """A model whose text, tool arguments, field names and own name hold half a pair; UTF-8 has no such thing."""
    place = Location.of(str(tmp_path / "arena.db"))
    with place.open() as store, FakeProvider() as provider:
        player = {"name": "vlm", "model": "fake/surrogates", "base_url": provider.url, "max_retries": 0}
        file = {"name": "half", "tasks": "games/maze-v1", "spaces": "semantic", "seeds": [1], "agents": [player]}
        experiment = parse(json.dumps({**file, "conditions": "single", "limits": {"max_steps": 2}}))
        run_id = run.run(experiment, store, place, workers=0)
        [episode] = store.episodes()
        with TestClient(create_app(store), base_url="http://127.0.0.1") as client:
            paths = ["", "/steps", "/steps/0/calls"]
            outline, steps, calls = (get(client, f"episodes/{episode.id}{path}") for path in paths)
            get(client, "episodes"), get(client, f"runs/{run_id}"), get(client, "leaderboard", run=run_id)
    assert (outline["episode"]["outcome"], len(steps["items"])) == ("unparsable", 2)
    call = calls["items"][0]
    assert call["reply"]["model"] == HALF and call["reply"][HALF] == [HALF]
    assert HALF in call["reply"]["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]


BIG = str(10**30)


@pytest.mark.parametrize("value", ["%ED%A0%80", "a%00b", BIG, f"-{BIG}", "9" * 5000, "NaN", "1e400", "%FF", "1.5", "["])
def test_no_address_makes_the_server_fail(client: TestClient, ids: dict[str, str], value: str) -> None:
    episode = f"/api/episodes/{ids['first']}"
    names = ("run", "task", "agent", "space", "condition", "outcome", "status", "sort", "limit", "offset")
    paths = [f"/api/episodes?{name}={value}" for name in names]
    paths += [f"{episode}/steps?{bounds}={value}" for bounds in ("start", "stop", "start=0&stop")]
    paths += [f"{episode}/steps/{value}/calls", f"/api/episodes/{value}", f"/api/episodes/{value}/steps/0/calls"]
    paths += [f"/api/runs/{value}", f"/api/leaderboard?run={value}", f"/api/{value}", f"/media/{value}"]
    paths += [f"/media/{'0' * 64}/frames/{value}", f"/static/x/{value}", f"/episode/x?step={value}", f"/ui/{value}"]
    for path in paths:
        answer = client.get(path, follow_redirects=False)  # an error of the server is raised here
        assert answer.status_code < 500
        if path.startswith("/api/") and answer.status_code >= 400:
            assert isinstance(answer.json()["detail"], str), path
        if "%00" in path:
            assert answer.status_code in (400, 404) and "NUL" in answer.json()["detail"]


def test_a_refusal_names_the_field_the_value_and_what_is_wanted(client: TestClient) -> None:
    answer = client.get("/api/episodes", params={"limit": "many", "offset": -1})
    assert answer.status_code == 422
    told = answer.json()["detail"]
    assert "limit: input should be a valid integer" in told and "(got 'many')" in told
    assert "offset: input should be greater than or equal to 0 (got '-1')" in told
