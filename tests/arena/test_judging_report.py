"""Judges weighed: trust in repeated answers, agreement, truth beside verdict, and the command that does it."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import environments
from agents import errors
from agents.gateway import GatewaySettings
from agents.gateway.embeddings import embed
from arena import run
from arena.cli.app import app
from arena.experiment import parse
from arena.judging.report import Judged, report
from arena.judging.trust import auroc, concentration, hashed, trust, vote_entropy
from arena.location import Location
from environments.task import VLM_JUDGED, ActionSpace, Milestone, Task
from storage.models import Episode, MilestoneTruth, Verdict
from storage.store import Store

TASK = Task(
    id="tests/walk-v1",
    title="Walk",
    goal="Reach the door.",
    entry_point="tests:walk",
    spaces=(ActionSpace.SEMANTIC,),
    milestones=(Milestone("key", "The player holds the key."), Milestone("door", "The door is open.")),
    max_steps=40,
)


@pytest.fixture(scope="module")
def provider() -> Iterator[Any]:
    path = Path(__file__).parents[1] / "fakes" / "provider.py"
    spec = importlib.util.spec_from_file_location("fake_provider", path)
    assert spec is not None and spec.loader is not None
    module = sys.modules.setdefault("fake_provider", importlib.util.module_from_spec(spec))
    if not hasattr(module, "FakeProvider"):
        spec.loader.exec_module(module)
    with module.FakeProvider() as running:
        yield running


def verdict(
    episode: str,
    milestone: str,
    said: str,
    judge: str = "a",
    repeat: int = 0,
    confidence: Any = 0.9,
    note: str = "seen",
) -> Verdict:
    return Verdict(
        id=f"{episode}{milestone}{judge}{repeat}",
        episode_id=episode,
        milestone_id=milestone,
        judge=judge,
        fingerprint=f"print-{judge}",
        repeat=repeat,
        verdict=said,
        confidence=confidence,
        note=note,
    )


def judged(episode: str, reached: str, *verdicts: Verdict, task: Task = TASK, model: str = "") -> Judged:
    truths = [MilestoneTruth(episode_id=episode, milestone_id=name, step_index=3) for name in reached.split()]
    row = Episode(
        id=episode,
        identity=episode,
        try_no=0,
        spec={"agent": {"agent": "vlm", "model": model}},
        task_id=task.id,
        space="semantic",
        agent="vlm",
        seed=0,
    )
    return Judged(task=task, episode=row, truths=truths, verdicts=verdicts)


# trust


def test_answers_that_are_alike_are_trusted_and_scattered_ones_are_not() -> None:
    alike = trust(["reached"] * 5, ["the mug stands on the plate"] * 5)
    near = trust(["reached"] * 3, ["the mug is on the plate", "the mug stands on the plate", "on the plate is the mug"])
    apart = trust(["reached", "not_reached", "uncertain"], ["mug on plate", "drawer still shut", "dark picture"])
    assert alike.resultant == pytest.approx(1.0) and alike.entropy == 0.0 and alike.kappa > 1e5
    assert alike.resultant > near.resultant > apart.resultant
    assert alike.kappa > near.kappa > apart.kappa
    assert apart.entropy == pytest.approx(1.0)


def test_equal_votes_for_unequal_reasons_are_seen_by_concentration_alone() -> None:
    steady = trust(["reached"] * 4, ["the key is in the hand"] * 4)
    guessed = trust(["reached"] * 4, ["a key in the hand", "an open gate", "yellow light behind trees", "no idea"])
    assert steady.entropy == guessed.entropy == 0.0
    assert steady.resultant > guessed.resultant + 0.2


def test_kappa_of_vectors_drawn_around_a_direction_is_recovered() -> None:
    """In three dimensions the cosine's density, kappa exp(kappa w) / (2 sinh kappa), inverts in closed form."""
    rng = np.random.default_rng(0)
    kappa, n = 20.0, 20_000
    u = rng.random(n)
    w = 1 + np.log(u + (1 - u) * np.exp(-2 * kappa)) / kappa
    angle = rng.random(n) * 2 * np.pi
    side = np.sqrt(1 - np.clip(w, -1, 1) ** 2)
    drawn = np.stack([side * np.cos(angle), side * np.sin(angle), w], axis=1)
    assert concentration(float(np.linalg.norm(drawn.mean(axis=0))), 3) == pytest.approx(kappa, rel=0.05)


def test_a_single_answer_or_unequal_lists_are_refused() -> None:
    with pytest.raises(ValueError, match="two answers or more"):
        trust(["reached"], ["seen"])
    with pytest.raises(ValueError, match="a note to each"):
        trust(["reached", "reached"], ["seen"])


@given(st.lists(st.text(max_size=40), min_size=1, max_size=6))
def test_hashed_vectors_have_length_one_or_no_word(texts: list[str]) -> None:
    lengths = np.linalg.norm(hashed(texts), axis=1)
    assert all(length == 0 or length == pytest.approx(1.0) for length in lengths)
    assert (hashed(texts) == hashed(texts)).all()


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_entropy_lies_between_all_alike_and_all_different(votes: list[str]) -> None:
    assert 0.0 <= vote_entropy(votes) <= 1.0
    assert (vote_entropy(votes) == 0.0) == (len(set(votes)) == 1)


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=30))
def test_auroc_is_the_share_of_pairs_in_order(cases: list[tuple[int, bool]]) -> None:
    high = [score for score, positive in cases if positive]
    low = [score for score, positive in cases if not positive]
    pairs = [1.0 if h > low_one else 0.5 if h == low_one else 0.0 for h in high for low_one in low]
    expected = sum(pairs) / len(pairs) if pairs else None
    found = auroc([score for score, _ in cases], [positive for _, positive in cases])
    assert found == (pytest.approx(expected) if expected is not None else None)


# embeddings by a model


def test_a_models_embeddings_come_back_in_the_order_of_the_texts(provider: Any) -> None:
    settings = GatewaySettings(model="fake-embedding", base_url=provider.url)
    vectors = embed(["aaa", "bbb", "aaa"], settings)
    assert vectors.shape == (3, 32) and (vectors[0] == vectors[2]).all() and (vectors[0] != vectors[1]).any()
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1.0)
    measured = trust(["reached"] * 3, ["aaa", "aab", "abb"], lambda texts: embed(texts, settings))
    assert 0.5 < measured.resultant < 1.0


def test_no_server_is_a_providers_error() -> None:
    with pytest.raises(errors.NetworkError, match="no connection"):
        embed(["a"], GatewaySettings(model="x", base_url="http://127.0.0.1:9/v1"), timeout_s=5)


# the report


def test_precision_recall_and_calibration_are_counted_against_the_engine() -> None:
    rows = [
        judged("e1", "key door", verdict("e1", "key", "reached"), verdict("e1", "door", "not_reached", confidence=0.6)),
        judged("e2", "key", verdict("e2", "key", "reached"), verdict("e2", "door", "reached", confidence=0.8)),
        judged("e3", "", verdict("e3", "key", "uncertain"), verdict("e3", "door", "invalid", confidence=None)),
    ]
    [found] = report(rows).judges
    assert (found.counts.true_positive, found.counts.false_positive, found.counts.false_negative) == (2, 1, 1)
    assert found.precision is not None and found.precision.estimate == pytest.approx(2 / 3)
    assert found.recall is not None and found.recall.estimate == pytest.approx(2 / 3)
    assert found.brier == pytest.approx(np.mean([0.01, 0.36, 0.01, 0.64]))
    assert (found.counts.n_uncertain, found.counts.n_invalid) == (1, 1)
    assert found.flip_rate is None and found.trust_auroc is None


def test_the_engines_own_verdicts_are_no_judge_and_unknown_worlds_no_measure() -> None:
    foreign = Task(**{f: getattr(TASK, f) for f in TASK.__dataclass_fields__} | {"tags": (VLM_JUDGED,)})
    found = report([
        judged("e1", "key", verdict("e1", "key", "reached", "engine")),
        judged("e2", "", verdict("e2", "key", "reached"), task=foreign),
    ])  # fmt: skip
    [judge] = found.judges
    assert judge.judge == "a" and judge.precision is None and judge.counts.n == 0


def test_flips_are_questions_whose_answers_are_not_all_alike() -> None:
    answers = [verdict("e1", "key", said, repeat=i) for i, said in enumerate(["reached", "reached", "not_reached"])]
    answers += [verdict("e1", "door", "not_reached", repeat=i) for i in range(3)]
    [found] = report([judged("e1", "key", *answers)]).judges
    assert found.repeats == 3 and found.flip_rate is not None and found.flip_rate.estimate == 0.5
    assert found.precision is not None and found.precision.n <= 1  # three answers to one question are one question


def test_trust_finds_the_questions_that_are_guessed() -> None:
    rows = []
    rng = np.random.default_rng(1)
    for i in range(40):
        guessed = i % 2 == 0
        words = ["key", "gate", "lamp", "wall", "tree", "rock", "moon"]
        notes = [" ".join(rng.choice(words, 4)) if guessed else "the key is in the hand" for _ in range(5)]
        wrong = guessed and i % 4 == 0
        said = "not_reached" if wrong else "reached"
        answers = [verdict(f"e{i}", "key", said, repeat=k, note=note) for k, note in enumerate(notes)]
        rows.append(judged(f"e{i}", "key", *answers))
    [found] = report(rows).judges
    assert found.n_trust == 40 and found.entropy_auroc == 0.5  # the votes are unanimous and tell nothing
    assert found.trust_auroc is not None and found.trust_auroc > 0.75


def test_alpha_is_one_for_twins_and_about_zero_for_strangers() -> None:
    rng = np.random.default_rng(2)

    def alpha(second: Any) -> Any:
        rows = []
        for i in range(60):
            said = "reached" if rng.random() < 0.5 else "not_reached"
            other = second(said)
            rows.append(judged(f"e{i}", "", verdict(f"e{i}", "key", said), verdict(f"e{i}", "key", other, "b")))
        return report(rows).alpha

    twins = alpha(lambda said: said)
    strangers = alpha(lambda said: "reached" if rng.random() < 0.5 else "not_reached")
    assert twins.estimate == pytest.approx(1.0)
    assert abs(strangers.estimate) < 0.3 and strangers.low < 0 < strangers.high


def test_the_majority_of_three_outvotes_one_and_a_tie_is_no_answer() -> None:
    three = [
        verdict("e1", "key", said, name)
        for name, said in zip("abc", ["reached", "reached", "not_reached"], strict=True)
    ]
    two = [verdict("e2", "key", said, name) for name, said in zip("ab", ["reached", "not_reached"], strict=True)]
    found = report([judged("e1", "key", *three), judged("e2", "", *two)])
    assert found.majority is not None
    assert (found.majority.true_positive, found.majority.n_uncertain) == (1, 1)


def test_a_judge_of_the_players_family_is_warned_of() -> None:
    [found] = report([judged("e1", "", verdict("e1", "key", "reached", "qwen3-vl-8b"), model="qwen2.5-vl")]).judges
    assert len(found.warnings) == 1 and "qwen" in found.warnings[0]


# the command

FILE = """
name: judged
tasks: games/maze-v1
spaces: semantic
seeds: 3
agents: [random]
conditions: single
limits: {max_steps: 6}
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Location, str]:
    place = Location.of(str(tmp_path_factory.mktemp("judged") / "arena.db"), None)
    with place.open() as store:
        return place, run.run(parse(FILE), store, place, workers=0)


def invoke(place: Location, run_id: str, *options: str) -> Any:
    return CliRunner().invoke(app, ["judge", run_id, "--db", str(place.database), *options])


def test_a_judge_adds_verdicts_that_are_weighed_against_the_engine(played: Any, provider: Any) -> None:
    place, run_id = played
    provider.reset()
    ids = [milestone.id for milestone in environments.get("games/maze-v1").milestones]
    said = {"verdict": "reached", "confidence": 0.7, "frame": 0, "note": "seen"}
    provider.policy = lambda seen: {"milestones": [{"id": name, **said} for name in ids]}
    options = ("--model", "fake/ok", "--base-url", provider.url, "--frames", "4", "--refine", "0", "--repeats", "2")
    result = invoke(place, run_id, *options, "--json")
    assert result.exit_code == 0, result.output
    [judge] = json.loads(result.stdout)["judges"]
    assert (judge["judge"], judge["episodes"], judge["repeats"]) == ("fake/ok", 3, 2)
    sent = provider.n_requests
    assert invoke(place, run_id, *options).exit_code == 0 and provider.n_requests == sent  # nothing is asked twice
    other = invoke(place, run_id, *options[:5], "8", "--refine", "4", "--json")
    assert len(json.loads(other.stdout)["judges"]) == 2  # another judge adds its own and leaves the first one's
    with place.open() as store:
        episodes = {episode.id for episode in _episodes(store, run_id)}
        counts = [len([v for v in store.verdicts(e) if v.judge != "engine"]) for e in episodes]
    assert len(set(counts)) == 1 and counts[0] % 3 == 0
    table = invoke(place, run_id)
    assert "precision" in table.stdout and "majority of the judges" in table.stdout


def _episodes(store: Store, run_id: str) -> list[Episode]:
    return list(store.latest_tries({link.identity for link in store.plan(run_id)}).values())


def test_a_provider_that_fails_is_told_and_asked_again_next_time(played: Any, provider: Any) -> None:
    place, run_id = played
    result = invoke(place, run_id, "--model", "fake/401", "--base-url", provider.url)
    assert result.exit_code == 1 and "3 episodes were not judged" in result.output


def test_wrong_options_are_refused_by_name(played: Any) -> None:
    place, run_id = played
    result = invoke(place, run_id, "--model", "m", "--frames", "1")
    assert result.exit_code != 0 and "--frames" in str(result.exception)


def test_without_a_judge_the_command_says_how_to_get_one(tmp_path: Path) -> None:
    place = Location.of(str(tmp_path / "arena.db"), None)
    with place.open() as store:
        run_id = run.run(parse(FILE.replace("seeds: 3", "seeds: 1")), store, place, workers=0)
    result = invoke(place, run_id)
    assert result.exit_code == 0 and "--model" in result.stdout
