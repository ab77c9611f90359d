"""A database of each kind, and the rows that tests begin with."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

import storage
from storage.models import Episode, Run, Step
from storage.store import Store


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Address of an empty database: a file of its own, or a schema of its own on the server."""
    if request.param == "sqlite":
        yield str(tmp_path / "data" / "arena.db")
        return
    server = os.environ.get("ARENA_TEST_POSTGRES")
    if not server:
        pytest.skip("ARENA_TEST_POSTGRES is not set; run through scripts/with-postgres")
    schema = f"test_{uuid.uuid4().hex[:12]}"
    engine = create_engine(server)
    with engine.begin() as connection:
        connection.execute(text(f"CREATE SCHEMA {schema}"))
    yield f"{server}?options=-csearch_path%3D{schema}"
    with engine.begin() as connection:
        connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
    engine.dispose()


@pytest.fixture
def artifacts(tmp_path: Path) -> str:
    return str(tmp_path / "artifacts")


@pytest.fixture
def store(database: str, artifacts: str) -> Iterator[Store]:
    with Store.open(database, artifacts) as opened:
        yield opened


@pytest.fixture
def sqlite_store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "arena.db") as opened:
        yield opened


def make_run(name: str = "demo-0123456789") -> Run:
    return Run(id=name, name="demo", experiment={"tasks": ["games/snake-v1"]})


def make_episode(identity: str = "a" * 32, try_no: int = 1, **columns: object) -> Episode:
    values: dict[str, object] = {
        "id": f"{identity}-{try_no}",
        "identity": identity,
        "try_no": try_no,
        "spec": {"task": "games/snake-v1", "seed": 7},
        "task_id": "games/snake-v1",
        "space": "semantic",
        "agent": "scripted",
        "seed": 7,
    }
    return Episode(**{**values, **columns})  # type: ignore[arg-type]


def make_step(episode_id: str, index: int, **columns: object) -> Step:
    values: dict[str, object] = {
        "episode_id": episode_id,
        "index": index,
        "sim_step": index,
        "action": {"move": "up"},
        "status": "ok",
    }
    return Step(**{**values, **columns})  # type: ignore[arg-type]


@pytest.fixture
def rows() -> Callable[[str], object]:
    """The makers above: `rows("episode")(...)`. Test modules cannot import a conftest in importlib mode."""
    return {"run": make_run, "episode": make_episode, "step": make_step}.__getitem__


def start_python(code: str, *arguments: str) -> subprocess.Popen[str]:
    """Start a fresh interpreter that can import the package, whether or not it is installed."""
    environment = {**os.environ, "PYTHONPATH": str(Path(storage.__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )


@pytest.fixture
def python() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`start_python`, whose processes are gone when the test ends."""
    started: list[subprocess.Popen[str]] = []

    def start(code: str, *arguments: str) -> subprocess.Popen[str]:
        started.append(start_python(code, *arguments))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()
