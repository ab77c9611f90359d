"""A person as one more judge: verdicts that are added and never changed, and weighed beside everybody's."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import environments
from arena import run
from arena.cli.app import app
from arena.experiment import parse
from arena.judging.human import MAX_NOTE, InvalidReview, fingerprint, is_human, reviewer, without_superseded
from arena.judging.report import Judged, report
from arena.location import Location
from arena.review import EpisodeFrames, add_human_verdict
from storage.models import Episode, Verdict
from storage.store import Store

MAZE = environments.get("games/maze-v1")
FIRST, SECOND = (milestone.id for milestone in MAZE.milestones[:2])
FILE = """
name: reviewed
tasks: games/maze-v1
spaces: semantic
seeds: 3
agents: [random]
conditions: single
limits: {max_steps: 6}
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Location, str]:
    place = Location.of(str(tmp_path_factory.mktemp("reviewed") / "arena.db"), None)
    with place.open() as store:
        return place, run.run(parse(FILE), store, place, workers=0)


@pytest.fixture
def store(played: tuple[Location, str]) -> Iterator[Store]:
    with played[0].open() as opened:
        yield opened


@pytest.fixture
def episodes(store: Store) -> list[Episode]:
    return sorted(store.episodes(status="finished"), key=lambda episode: episode.seed)


def said(milestone: str, answer: str, judge: str = "human:ada", repeat: int = 0, episode: str = "e1") -> Verdict:
    return Verdict(
        id=f"{episode}{milestone}{judge}{repeat}",
        episode_id=episode,
        milestone_id=milestone,
        judge=judge,
        fingerprint=fingerprint(judge),
        repeat=repeat,
        verdict=answer,
    )


def test_a_second_decision_is_added_and_the_first_one_stays(store: Store, episodes: list[Episode]) -> None:
    first = add_human_verdict(store, MAZE, episodes[0], FIRST, "reached", 1, name="ada", note=" the key \n")
    second = add_human_verdict(store, MAZE, episodes[0], FIRST, "uncertain", 2, name="ada")
    other = add_human_verdict(store, MAZE, episodes[0], FIRST, "reached", 2, name="bob")
    assert (first.judge, first.repeat, first.note, first.confidence) == ("human:ada", 0, "the key", None)
    assert (second.repeat, other.repeat) == (1, 0) and other.fingerprint != first.fingerprint == second.fingerprint
    kept = [verdict for verdict in store.verdicts(episodes[0].id) if is_human(verdict)]
    assert {verdict.id for verdict in kept} == {first.id, second.id, other.id}
    assert {verdict.id for verdict in without_superseded(kept)} == {second.id, other.id}


@pytest.mark.parametrize(
    ("change", "field", "told"),
    [
        ({"milestone_id": "nope"}, "milestone", FIRST),
        ({"verdict": "invalid"}, "verdict", "reached, not_reached, uncertain"),
        ({"frame": -1}, "frame", "the frames 0 to"),
        ({"frame": 10**6}, "frame", "the frames 0 to"),
        ({"name": ""}, "name", "1 to 40"),
        ({"name": " ada"}, "name", "1 to 40"),
        ({"name": "a\u202eb"}, "name", "1 to 40"),
        ({"name": "x" * 41}, "name", "1 to 40"),
        ({"note": "x" * (MAX_NOTE + 1)}, "note", f"shorten it to {MAX_NOTE}"),
    ],
)
def test_what_cannot_be_taken_in_names_field_value_and_fix(
    store: Store, episodes: list[Episode], change: dict[str, Any], field: str, told: str
) -> None:
    given = {"milestone_id": FIRST, "verdict": "reached", "frame": 0, "name": "ada"} | change
    before = len(store.verdicts(episodes[1].id))
    with pytest.raises(InvalidReview, match=f"^{field}: ") as caught:
        add_human_verdict(store, MAZE, episodes[1], **given)
    assert told in str(caught.value) and len(str(caught.value)) < 500
    assert len(store.verdicts(episodes[1].id)) == before


def test_decisions_in_several_windows_at_once_are_all_kept(store: Store, episodes: list[Episode]) -> None:
    with ThreadPoolExecutor(4) as pool:
        rows = list(
            pool.map(
                lambda frame: add_human_verdict(store, MAZE, episodes[0], SECOND, "reached", frame, name="dot"),
                range(4),
            )
        )
    assert sorted(row.repeat for row in rows) == [0, 1, 2, 3]
    assert len([v for v in store.verdicts(episodes[0].id) if v.judge == "human:dot"]) == 4


def test_the_last_frame_may_be_cited(store: Store, episodes: list[Episode]) -> None:
    last = len(EpisodeFrames(store, episodes[1])) - 1
    assert add_human_verdict(store, MAZE, episodes[1], SECOND, "not_reached", last, name="ada").frame == last


def test_an_episode_without_its_end_or_its_video_is_not_judged(tmp_path: Path) -> None:
    base: dict[str, Any] = {"try_no": 0, "spec": {}, "task_id": MAZE.id, "space": "semantic", "agent": "x", "seed": 0}
    with Store.open(tmp_path / "arena.db") as store:
        episode = store.begin_episode(Episode(id="a-0", identity="a", **base))
        with pytest.raises(InvalidReview, match="still being played"):
            add_human_verdict(store, MAZE, episode, FIRST, "reached", 0, name="ada")
        store.finish_episode("a-0", outcome="lost", scored=True, score=0.0)
        with pytest.raises(InvalidReview, match="no video"):
            add_human_verdict(store, MAZE, store.episode("a-0"), FIRST, "reached", 0, name="ada")


def test_a_model_that_calls_itself_human_is_a_model() -> None:
    spoof = said(FIRST, "reached")
    spoof.fingerprint = "f" * 24
    again = said(FIRST, "not_reached", repeat=1)
    again.fingerprint = "f" * 24
    assert not is_human(spoof) and is_human(said(FIRST, "reached"))
    assert without_superseded([spoof, again]) == [spoof, again], "its repeats are answers, not corrections"
    assert reviewer("ada") == "human:ada"


def test_only_the_latest_decision_is_weighed_and_only_on_what_was_judged(episodes: list[Episode]) -> None:
    """Two milestones, one decided three times: two answers, no repeats, no flips, and no confidence to calibrate."""
    verdicts = [said(FIRST, answer, repeat=i) for i, answer in enumerate(["reached", "uncertain", "not_reached"])]
    verdicts.append(said(SECOND, "not_reached"))
    judged = Judged(task=MAZE, episode=episodes[0], truths=(), verdicts=verdicts)
    [found] = report([judged]).judges
    assert (found.judge, found.repeats, found.counts.n, found.counts.true_negative) == ("human:ada", 1, 2, 2)
    assert found.accuracy is not None and (found.accuracy.estimate, found.accuracy.n) == (1.0, 2)
    assert found.flip_rate is None and found.brier is None and found.calibration_error is None
    assert found.warnings == ()


def test_a_person_on_some_milestones_agrees_with_judges_of_all(episodes: list[Episode]) -> None:
    """Agreement and majority are over what both, or at least somebody, judged."""
    rows = []
    for index, episode in enumerate(episodes):
        answer = "reached" if index else "not_reached"
        of_model = [said(m.id, answer, "model", episode=episode.id) for m in MAZE.milestones]
        person = said(FIRST, answer, episode=episode.id)
        rows.append(Judged(task=MAZE, episode=episode, truths=(), verdicts=[*of_model, person]))
    found = report(rows)
    assert {judge.judge: judge.counts.n for judge in found.judges} == {
        "human:ada": len(episodes),
        "model": len(episodes) * len(MAZE.milestones),
    }
    assert found.alpha is not None and found.alpha.estimate == pytest.approx(1.0)
    assert found.majority is not None and found.majority.n == len(episodes) * len(MAZE.milestones)


def test_the_command_shows_the_person_among_the_judges(
    played: tuple[Location, str], store: Store, episodes: list[Episode]
) -> None:
    add_human_verdict(store, MAZE, episodes[2], FIRST, "reached", 0, name="carl/gpt-5")
    place, run_id = played
    result = CliRunner().invoke(app, ["judge", run_id, "--db", str(place.database), "--json"])
    assert result.exit_code == 0, result.output
    names = {judge["judge"]: judge for judge in json.loads(result.stdout)["judges"]}
    assert names["human:carl/gpt-5"]["counts"]["n_reached"] in (0, 1)
    table = CliRunner().invoke(app, ["judge", run_id, "--db", str(place.database)])
    assert "human:carl" in table.stdout
    assert fingerprint("human:carl/gpt-5")[:6] not in table.stdout, "a person is told by name alone"
