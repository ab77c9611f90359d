"""The wheel is whole: built from what git tracks, installed into an empty environment, it plays the demo elsewhere."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROOMS = ("agents", "arena", "environments", "storage", "ui")
NO_REGISTRY = ("Could not find a version", "Failed to establish a new connection", "Name or service not known")
"""What pip says when nothing answers; any other failure is the wheel's."""

pytestmark = [pytest.mark.install, pytest.mark.slow]


def tracked(*paths: str) -> list[str]:
    """What git tracks, as paths from the root of the repository."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *paths], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout, so nobody knows which files the wheel should hold")
    return [name for name in listed.stdout.decode().split("\0") if name and (ROOT / name).is_file()]


def pip(python: Path | str, *arguments: str | Path) -> None:
    """Run pip; skip where no registry answers."""
    result = subprocess.run(
        [str(python), "-m", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "1"},
    )
    if result.returncode and any(sign in result.stdout + result.stderr for sign in NO_REGISTRY):
        pytest.skip(f"no package registry is reachable: {result.stderr.strip().splitlines()[-1]}")
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr[-4000:]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the tracked files: neither a stale `build` folder nor an untracked file can help it."""
    source = tmp_path_factory.mktemp("source")
    for name in tracked("."):
        copy = source / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes((ROOT / name).read_bytes())
    dist = tmp_path_factory.mktemp("dist")
    pip(sys.executable, "build", "--wheel", "--outdir", dist, source)
    (built,) = dist.glob("*.whl")
    return built


def test_the_wheel_holds_every_tracked_file_of_the_rooms(wheel: Path) -> None:
    """Modules, prompts, fonts, experiments, pages, migrations, type markers; and nothing but the rooms and metadata."""
    held = set(zipfile.ZipFile(wheel).namelist())
    assert set(tracked(*ROOMS)) - held == set()
    assert {name.partition("/")[0] for name in held if ".dist-info/" not in name} == set(ROOMS)


def test_the_wheel_carries_the_licences(wheel: Path) -> None:
    names = [Path(name).name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/licenses/" in name]
    assert sorted(names) == ["LICENSE", "LICENSE-DejaVu.txt"]


@pytest.mark.display
@pytest.mark.gl
def test_an_empty_environment_plays_the_demo(wheel: Path, tmp_path: Path) -> None:
    """What `pip install rewind-arena[all]` gives a newcomer: the quick demo, from a folder that knows no clone."""
    home = tmp_path / "venv"
    venv.create(home, with_pip=True)
    pip(home / "bin" / "python", "pip", "install", "--quiet", f"rewind-arena[all] @ {wheel.as_uri()}")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "ARENA_"))}
    demo = subprocess.run(
        [home / "bin" / "arena", "demo", "--quick", "--json"],
        cwd=elsewhere,
        env={**clean, "PATH": f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert demo.returncode == 0, demo.stderr[-4000:]
    board = json.loads(demo.stdout)
    assert board["done"] == board["planned"] > 0
    assert {row["agent"] for row in board["rows"]} >= {"random", "scripted"}
    assert {row["space"] for row in board["rows"]} == {"semantic", "gui", "native"}
    assert (elsewhere / "arena-data" / "arena.db").is_file()
