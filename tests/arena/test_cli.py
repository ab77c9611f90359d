"""The `arena` command: what each subcommand prints, where it prints it, and how it answers mistakes."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from sqlalchemy import update

import environments
from arena import plan
from arena.cli import app
from arena.cli.common import plain
from arena.experiment import load
from arena.location import Location
from storage.models import Call, Episode, Lesson, Step

ARENA = str(Path(sys.executable).with_name("arena"))

FILE = """
name: commands
tasks: games/maze-v1
spaces: semantic
seeds: 1
agents: [random, scripted]
conditions: [single, reflect-and-retry]
limits: {max_steps: 12}
"""

HOSTILE = "[red]x[/] [link=http://evil] \x1b[31mred\x1b[0m \x07bell \x9b2J \u202eesrever \r over"


class Answer(NamedTuple):
    code: Any
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Answer]


@pytest.fixture
def arena(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Command:
    """Call the command line in this process."""
    monkeypatch.setenv("COLUMNS", "80")
    for name in ("ARENA_DB", "ARENA_ARTIFACTS", "ARENA_DATA"):
        monkeypatch.delenv(name, raising=False)

    def call(*arguments: str | Path) -> Answer:
        monkeypatch.setattr(sys, "argv", ["arena", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            app.main()
        out, err = capsys.readouterr()
        assert "Traceback" not in err + out
        return Answer(end.value.code or 0, out, err)

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with an experiment that the real console script has run; its answer lies in `run.out` and `run.err`."""
    folder = tmp_path_factory.mktemp("commands")
    (folder / "commands.yaml").write_text(FILE)
    command = [ARENA, "run", f"{folder}/commands.yaml", "--db", f"{folder}/arena.db", "--json", "--workers", "0"]
    with (folder / "run.out").open("w") as out, (folder / "run.err").open("w") as err:
        subprocess.run(command, stdout=out, stderr=err, check=True, timeout=300)
    yield folder


@pytest.fixture
def db(folder: Path) -> tuple[str, str]:
    return ("--db", str(folder / "arena.db"))


@pytest.fixture
def run_id(folder: Path) -> str:
    return plan.build(load(folder / "commands.yaml")).run_id


def test_results_go_to_standard_output_and_progress_to_standard_error(folder: Path, run_id: str) -> None:
    board = json.loads((folder / "run.out").read_text())
    assert board["run_id"] == run_id
    assert {row["agent"] for row in board["rows"]} == {"random", "scripted"}
    assert "2 first attempts and 1 tutorial" in (folder / "run.err").read_text()


def test_a_plan_counts_what_is_done(arena: Command, folder: Path, db: tuple[str, str], tmp_path: Path) -> None:
    fresh = ("--db", str(tmp_path / "fresh.db"))
    file = folder / "commands.yaml"
    before, after = arena("plan", file, *fresh, "--json").json, arena("plan", file, *db, "--json").json
    assert before["run"] == after["run"]
    assert (before["done"], before["pending"]) == (0, 3)
    assert (after["done"], after["pending"]) == (3, 0)
    assert [trial["done"] for trial in after["trials"]] == [True, True]
    assert {trial["agent"] for trial in after["trials"]} == {"random", "scripted"}
    assert "3 of 3 done (2 first attempts and 1 tutorial)" in arena("plan", file, *db).out.replace("\n", " ")
    assert "0 of 3 done (2 first attempts and 1 tutorial)" in arena("plan", file, *fresh).out.replace("\n", " ")
    assert not list(tmp_path.iterdir()), "a plan makes no database"


def test_a_finished_run_is_not_repeated(arena: Command, folder: Path, db: tuple[str, str], run_id: str) -> None:
    answer = arena("run", folder / "commands.yaml", *db, "--workers", "0")
    assert answer.code == 0
    assert "2 first attempts and 1 tutorial; 3 of 3 are done already" in answer.err
    assert "4 of 4 trials done" in answer.out, "two conditions of two first attempts"
    assert "trials" not in answer.err, "one word for two counts"
    assert "games/maze-v1 semantic" in answer.out and run_id in answer.out


def test_runs_lists_the_run_and_says_how_to_make_one(
    arena: Command, db: tuple[str, str], run_id: str, tmp_path: Path
) -> None:
    [row] = arena("runs", *db, "--json").json
    assert (row["id"], row["status"]) == (run_id, "finished")
    assert run_id in arena("runs", *db).out
    Location.of(str(tmp_path / "empty.db")).open().close()
    assert arena("runs", "--db", tmp_path / "empty.db").out == "No runs yet. `arena demo` makes one.\n"


@pytest.mark.parametrize(
    "command",
    [
        "leaderboard X", "show X", "verify X", "budget X", "power X --gain 5", "judge X", "diagnose table X",
        "diagnose counterfactual X", "milestones extract games/maze-v1 X --model m", "milestones agree games/maze-v1",
        "milestones review X accepted --as ada",
    ],
)  # fmt: skip
def test_what_reads_a_database_does_not_make_one(arena: Command, tmp_path: Path, command: str) -> None:
    answer = arena(*command.split(), "--db", tmp_path / "new" / "arena.db")
    assert (answer.code, answer.out) == (2, "")
    assert f"there is no arena database at {tmp_path}/new/arena.db yet; `arena demo` or `arena run" in answer.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("runs", "`arena demo` or `arena run FILE` makes one"),
        ("tutorial list", "`arena tutorial add TASK FILE` takes one in"),
        ("milestones list games/maze-v1", "`arena milestones extract`"),
    ],
)
def test_a_list_without_a_database_is_empty(arena: Command, tmp_path: Path, command: str, told: str) -> None:
    place = ("--db", tmp_path / "new" / "arena.db")
    assert arena(*command.split(), *place, "--json") == (0, "[]\n", "")
    answer = arena(*command.split(), *place)
    assert answer.code == 0 and told in answer.out.replace("\n", " ")
    assert not list(tmp_path.iterdir())


def test_a_run_that_was_killed_is_shown_as_interrupted_and_one_under_way_as_running(
    arena: Command, db: tuple[str, str], run_id: str
) -> None:
    with Location.of(db[1]).open() as store:
        store.finish_run(run_id, "running")  # as a killed process leaves it
        assert arena("runs", *db, "--json").json[0]["status"] == "interrupted"
        with store.run_lock(run_id):
            assert arena("runs", *db, "--json").json[0]["status"] == "running"
        store.finish_run(run_id, "finished")


def test_the_leaderboard_takes_the_beginning_of_a_run_id(arena: Command, db: tuple[str, str], run_id: str) -> None:
    board = arena("leaderboard", run_id[:12], *db, "--json").json
    assert board["run_id"] == run_id
    scripted = next(row for row in board["rows"] if row["agent"] == "scripted" and row["condition"] == "single")
    assert scripted["instrument"] and scripted["scored"] == 1
    table = arena("leaderboard", run_id, *db).out
    assert "random" in table and "scripted*" in table and "[one seed]" in table
    assert max(map(len, table.splitlines())) <= 80


def test_show_prints_an_episode_and_its_steps(arena: Command, db: tuple[str, str]) -> None:
    with Location.of(db[1]).open() as store:
        episode = next(e for e in store.episodes() if e.agent == "random" and e.round == 0)
        steps = store.steps(episode.id)
    shown = arena("show", episode.identity, *db, "--json").json
    assert shown["id"] == episode.id and shown["outcome"] == episode.outcome
    assert [step["action"] for step in shown["steps"]] == [step.action for step in steps]
    assert {"calls", "truths", "verdicts", "lessons", "faults", "diagnoses", "interventions"} <= shown.keys()
    text = arena("show", episode.id, *db).out
    assert episode.id in text and "games/maze-v1 (semantic), seed 0, round 0" in text


def test_what_a_model_said_is_shown_as_plain_text(arena: Command, db: tuple[str, str]) -> None:
    """Neither the terminal nor the markup of the table obeys it."""
    with Location.of(db[1]).open() as store:
        episode = next(e for e in store.episodes() if e.agent == "random" and e.round == 0)
        lesson = store.lessons(episode.id)[0]
        with store.session() as session:
            session.execute(update(Step).where(Step.episode_id == episode.id).values(rationale=HOSTILE, reason=HOSTILE))
            session.execute(update(Episode).where(Episode.id == episode.id).values(outcome_detail=HOSTILE))
            session.execute(update(Lesson).where(Lesson.id == lesson.id).values(text=HOSTILE))
    answer = arena("show", episode.id, *db)
    assert answer.code == 0
    assert not [c for c in answer.out if not c.isprintable() and c != "\n"]
    squeezed = "".join(answer.out.split())
    assert "[red]x[/]" in squeezed and "[link=http://evil]" in squeezed
    assert arena("show", episode.id, *db, "--json").json["steps"][0]["rationale"] == HOSTILE


def test_half_a_surrogate_pair_is_shown_and_written_as_json(arena: Command, db: tuple[str, str]) -> None:
    """The exact reply keeps it, and no encoding has it."""
    half = "half a pair: \ud83d"
    with Location.of(db[1]).open() as store:
        episode = next(e for e in store.episodes() if e.agent == "random" and e.round == 0)
        call = {"episode_id": episode.id, "step_index": 0, "purpose": "act", "status": "ok", "model": "m"}
        store.add(Call(id="half", request={"model": half}, reply={half: [half, float("nan")]}, text=half, **call))
    answer = arena("show", episode.id, *db, "--json")
    assert answer.code == 0 and answer.out.isascii()
    [found] = answer.json["calls"]
    assert found["reply"] == {half: [half, "NaN"]} and found["text"] == "half a pair: \ufffd"
    assert arena("show", episode.id, *db).code == 0


def test_a_tab_is_shown_as_space_and_other_control_characters_as_such() -> None:
    """PostgreSQL begins the second line of its messages with a tab."""
    assert plain("refused\n\tIs the server running?\x07").plain == "refused\n    Is the server running?\ufffd"


def test_the_package_can_be_run_as_a_module() -> None:
    by_name = [subprocess.run([*way, "--version"], capture_output=True, text=True, check=True).stdout
               for way in ([ARENA], [sys.executable, "-m", "arena"])]  # fmt: skip
    assert by_name[0] == by_name[1] != ""


def test_tasks_lists_ids_that_match(arena: Command) -> None:
    found = arena("tasks", "games/*", "--json").json
    maze = next(task for task in found if task["id"] == "games/maze-v1")
    assert "semantic" in maze["spaces"] and maze["milestones"] and maze["goal"]
    assert all(task["id"].startswith("games/") for task in found)
    table = arena("tasks").out
    assert "tabletop/pick-place-bowl-v1" in table.replace("\n", "") and "games/maze-v1" in table
    assert "libero/spatial/* (10)" in table and "libero/spatial/3-v1" not in table, "suites are folded"
    assert len(arena("tasks", "--json").json) == len(environments.tasks())
    near_miss = arena("tasks", "games/maze-v7")
    assert near_miss.code == 2 and "games/maze-v1" in near_miss.err


def test_tasks_says_why_libero_cannot_be_played(arena: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are listed all the same, with the cure below."""
    monkeypatch.setenv("ARENA_LIBERO_ASSETS", "/nowhere")
    result = arena("tasks", "libero/goal/*")
    assert "libero/goal/9-v1" in result.out and "put the wine bottle on the rack" in " ".join(result.out.split())
    told = " ".join(result.out.split())
    assert "cannot be played here" in told and "ARENA_LIBERO_ASSETS names /nowhere" in told


def test_agents_lists_players_with_their_options(arena: Command) -> None:
    found = {agent["name"]: agent for agent in arena("agents", "--json").json}
    assert {"random", "scripted", "calibrated", "vlm"} <= found.keys()
    assert {option["name"] for option in found["calibrated"]["options"]} == {"p", "gain", "gains"}
    assert "calibrated" in arena("agents").out


@pytest.mark.display
@pytest.mark.gl
def test_doctor_finds_what_is_there(arena: Command, tmp_path: Path) -> None:
    answer = arena("doctor", "--db", tmp_path / "arena.db", "--json")
    checks = {check["name"]: check for check in answer.json}
    assert all({"name", "ok", "detail", "fix"} <= check.keys() for check in checks.values())
    assert all(checks[name]["ok"] for name in ("Python", "display", "video encoder", "database"))
    assert answer.code == (0 if all(check["ok"] or not check["required"] for check in checks.values()) else 1)


def test_doctor_says_what_is_missing_and_how_to_mend_it(
    arena: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    answer = arena("doctor", "--db", "/dev/null/arena.db", "--json")
    assert answer.code == 1
    broken = {check["name"]: check for check in answer.json if not check["ok"] and check["required"]}
    assert {"display", "database"} <= broken.keys()
    assert "Xvfb" in broken["display"]["detail"] + str(answer.json) and "apt-get install" in broken["display"]["fix"]
    assert "/dev/null" in broken["database"]["detail"] and broken["database"]["fix"]
    assert arena("doctor", "--db", "/dev/null/arena.db").code == 1


def test_a_folder_can_be_named_by_the_environment(
    arena: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARENA_DATA", str(tmp_path / "data"))
    assert arena("runs").out.startswith(f"No runs yet: there is no arena database at {tmp_path}/data/arena.db yet;")
    Location.of().open().close()
    assert arena("runs", "--json").json == []
    assert (tmp_path / "data" / "arena.db").is_file() and (tmp_path / "data" / "artifacts").is_dir()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("name: [", "yaml"),
        ("- a\n- b\n", "expected a mapping"),
        (FILE.replace("games/maze-v1", "games/maze-v2"), "games/maze-v1"),
        (FILE.replace("random,", "randon,"), "random"),
        (FILE.replace("seeds: 1", "seeds: none"), "seeds"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_the_place_of_the_fault(
    arena: Command, tmp_path: Path, text: str, expected: str
) -> None:
    (tmp_path / "bad.yaml").write_text(text)
    for command in ("plan", "run"):
        answer = arena(command, tmp_path / "bad.yaml", "--db", tmp_path / "arena.db")
        assert (answer.code, answer.out) == (2, "")
        assert "bad.yaml" in answer.err and expected in answer.err.lower()
    assert not (tmp_path / "arena.db").exists()


def test_a_missing_file_is_named(arena: Command, tmp_path: Path) -> None:
    answer = arena("run", tmp_path / "missing.yaml")
    assert answer.code == 2 and "missing.yaml" in answer.err


@pytest.mark.parametrize("command", ["leaderboard", "show"])
def test_an_unknown_id_is_answered_with_the_nearest(
    arena: Command, db: tuple[str, str], run_id: str, command: str
) -> None:
    with Location.of(db[1]).open() as store:
        known = run_id if command == "leaderboard" else store.episodes()[0].id
    answer = arena(command, known[:-3] + "xyz", *db)
    assert (answer.code, answer.out) == (2, "")
    assert "did you mean" in answer.err and known in answer.err


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:s3cret@127.0.0.1:9/arena",
        "mysql://me:s3cret@localhost/arena",
        "sqlite://me:s3cret@",
        "nonsense://me:s3cret@[",
    ],
)
def test_a_bad_database_url_is_refused_without_its_password(arena: Command, tmp_path: Path, url: str) -> None:
    for command in (("runs",), ("demo", "--quick"), ("-v", "runs")):
        answer = arena(*command, "--db", url, "--artifacts", tmp_path / "artifacts")
        assert (answer.code, answer.out) == (2, "")
        assert "s3cret" not in answer.err and "error" in answer.err


def test_a_database_of_a_later_version_is_left_alone(arena: Command, folder: Path, tmp_path: Path) -> None:
    Location.of(str(tmp_path / "arena.db")).open().close()
    with sqlite3.connect(tmp_path / "arena.db") as connection:
        connection.execute("UPDATE alembic_version SET version_num = 'r9999'")
    answer = arena("run", folder / "commands.yaml", "--db", tmp_path / "arena.db")
    assert (answer.code, answer.out) == (2, "")
    assert "r9999" in answer.err and "upgrade the package" in answer.err


@pytest.mark.parametrize("database", ["/dev/null/arena.db", "/proc/arena.db", "/"])
def test_a_place_that_cannot_be_written_is_named(arena: Command, folder: Path, database: str) -> None:
    answer = arena("run", folder / "commands.yaml", "--db", database)
    assert (answer.code, answer.out) == (2, "")
    assert database in answer.err


def test_artifacts_that_cannot_be_written_are_named(arena: Command, folder: Path, tmp_path: Path) -> None:
    answer = arena(
        "run", folder / "commands.yaml", "--db", tmp_path / "arena.db", "--artifacts", "/proc/nowhere", "-j", "0"
    )
    assert answer.code == 2 and "/proc/nowhere" in answer.err


def test_a_run_that_is_under_way_is_not_started_twice(
    arena: Command, folder: Path, db: tuple[str, str], run_id: str
) -> None:
    with Location.of(db[1]).open() as store, store.run_lock(run_id):
        answer = arena("run", folder / "commands.yaml", *db)
    assert (answer.code, answer.out) == (2, "")
    assert "already being run by process" in answer.err


def test_wrong_usage_is_explained(arena: Command) -> None:
    assert arena("run").code == 2
    unknown = arena("leaderbord")
    assert unknown.code == 2 and "leaderbord" in unknown.err
