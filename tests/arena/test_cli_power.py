"""`arena power` and the tables: from a run in the store to what the terminal and `--json` say."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from arena.cli.app import app, main
from arena.identity import digest
from arena.location import Location
from storage.models import Episode, Run, RunEpisode

RUN = "pilot-0123456789"


def write(database: str, *, retry: bool, seeds: int = 8) -> None:
    """A pilot: one agent on two tasks, and what a retry made of it."""
    chance = np.random.default_rng(4)
    with Location.of(database).open() as store:
        store.add(Run(id=RUN, name="pilot", experiment={}, status="finished"))
        for task in ("games/maze-v1", "games/snake-v1"):
            for agent in ("[bold]a", "b"):
                for seed in range(seeds):
                    trial = ""
                    for round_ in range(1 + retry):
                        identity = f"e1-{digest([task, agent, seed, round_])[:24]}"
                        trial = trial or identity
                        score = float(chance.uniform(20 + 15 * round_, 70 + 15 * round_))
                        store.add(
                            Episode(
                                id=f"{identity}-0",
                                identity=identity,
                                try_no=0,
                                task_id=task,
                                space="semantic",
                                agent=agent,
                                seed=seed,
                                round=round_,
                                status="finished",
                                outcome="horizon",
                                scored=True,
                                score=score,
                                success=False,
                                spec={"agent": {"agent": agent}, "retry": None},
                                summary={},
                            ),
                            RunEpisode(
                                run_id=RUN,
                                condition="plain-retry" if retry else "single",
                                identity=identity,
                                task_id=task,
                                space="semantic",
                                agent=agent,
                                seed=seed,
                                trial=trial,
                                round=round_,
                                final=round_ == retry,
                            ),
                        )


@pytest.fixture
def database(tmp_path: Path) -> str:
    return str(tmp_path / "arena.db")


def test_power_answers_over_tasks_and_task_by_task(database: str) -> None:
    write(database, retry=True)
    result = CliRunner().invoke(app, ["power", "pilot", "--gain", "10", "--db", database, "--json"])
    told = json.loads(result.stdout)
    assert (told["run"], told["gain"], told["power"], told["alpha"]) == (RUN, 10.0, 0.8, 0.05)
    rows = [row for row in told["rows"] if row["agent"] == "b"]
    assert [row["task"] for row in rows] == ["", "games/maze-v1", "games/snake-v1"]
    assert {(row["condition"], row["reference"]) for row in rows} == {("plain-retry", "first attempt")}
    assert all(2 <= row["low"] <= row["seeds"] <= row["high"] for row in rows)
    assert rows[0]["seeds"] < min(rows[1]["seeds"], rows[2]["seeds"])
    assert rows[0]["seeds"] == rows[0]["simulated"] and rows[0]["closed_form"] > 1


def test_power_in_words_fits_a_terminal_and_shows_labels_as_they_are(database: str) -> None:
    write(database, retry=True)
    result = CliRunner().invoke(app, ["power", RUN, "--gain", "10", "--db", database])
    assert result.exit_code == 0 and "[bold]a, semantic" in result.stdout
    assert "plain-retry - first attempt" in result.stdout and "all tasks" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 80


@pytest.mark.parametrize(
    ("retry", "seeds", "message"),
    [(False, 8, "needs a condition that retries"), (True, 2, "at least 5 pairs"), (True, 1, "at least 5 pairs")],
)
def test_a_run_that_is_no_pilot_is_answered_with_what_is_missing(
    database: str,
    retry: bool,
    seeds: int,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(database, retry=retry, seeds=seeds)
    monkeypatch.setattr("sys.argv", ["arena", "power", RUN, "--gain", "10", "--db", database, "--json"])
    with pytest.raises(SystemExit) as stopped:
        main()
    printed = capsys.readouterr()
    assert (stopped.value.code, printed.out) == (2, "")
    assert message in " ".join(printed.err.split()) and "NotEnoughData" in printed.err


@pytest.mark.parametrize(
    "options", [["--gain", "0"], ["--gain", "-5"], ["--gain", "10", "--power", "0.05", "--alpha", "0.2"], []]
)
def test_questions_that_have_no_answer_are_usage_errors(database: str, options: list[str]) -> None:
    write(database, retry=True)
    assert CliRunner().invoke(app, ["power", RUN, *options, "--db", database]).exit_code == 2


def test_show_takes_a_run_and_prints_its_tables(database: str) -> None:
    write(database, retry=True)
    shown = CliRunner().invoke(app, ["show", "pilot", "--db", database])
    assert shown.exit_code == 0
    assert "over 2 tasks, semantic" in shown.stdout and "plain-retry - first attempt" in shown.stdout
    assert "Holm-corrected" in shown.stdout and "Bradley-Terry, semantic plain-retry" in shown.stdout
    assert max(map(len, shown.stdout.splitlines())) <= 80
    as_json = CliRunner().invoke(app, ["show", RUN, "--db", database, "--json"])
    assert as_json.stdout == CliRunner().invoke(app, ["leaderboard", RUN, "--db", database, "--json"]).stdout
    assert json.loads(as_json.stdout)["comparisons"][0]["condition"] == "plain-retry"


def test_what_was_left_out_is_told_below_the_table(database: str) -> None:
    write(database, retry=False, seeds=3)
    with Location.of(database).open() as store:
        parts = {"task_id": "games/maze-v1", "space": "semantic", "agent": "b", "seed": 9, "round": 0}
        for try_no, outcome in enumerate(("provider_error", "unparsable")):
            store.add(
                Episode(
                    id=f"e1-{'9' * 24}-{try_no}", identity=f"e1-{'9' * 24}", try_no=try_no, status="finished",
                    outcome=outcome, scored=False, spec={"agent": {"agent": "b"}}, summary={}, **parts,
                )
            )  # fmt: skip
        store.add(RunEpisode(run_id=RUN, condition="single", identity=f"e1-{'9' * 24}", trial="t", final=True, **parts))
    shown = CliRunner().invoke(app, ["show", RUN, "--db", database]).stdout
    assert "left out, as no scores: unparsable 1" in shown
    assert "provider_error 1; tries beyond the first: 1" in shown
