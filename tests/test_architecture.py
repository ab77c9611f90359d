"""The house keeps its rules: one-way arrows, light imports, declared dependencies, a whole command line."""

from __future__ import annotations

import ast
import json
import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import arena.cli.app as cli
from arena import experiments
from arena.location import Location

ROOT = Path(__file__).parents[1]
ROOMS = ("agents", "arena", "environments", "storage", "ui")
COMMANDS = {
    "demo",
    "plan",
    "run",
    "tasks",
    "agents",
    "runs",
    "leaderboard",
    "show",
    "power",
    "verify",
    "certify",
    "profile",
    "view",
    "doctor",
}

HEAVY = ("litellm", "openai", "gradio", "fastapi", "mujoco", "robosuite", "ray", "torch", "pyautogui", "psycopg")
"""What no room may load while it is imported: slow, or not there without an extra."""

IMPORT_OFFLINE = """
import json, sys

def refuse(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.sendto"):
        raise SystemExit(f"{event} {arguments[-1]!r} while importing")

sys.addaudithook(refuse)
for name in sys.argv[2:]:
    __import__(name)
print(json.dumps([name for name in sys.argv[1].split(",") if name in sys.modules]))
"""


def script(name: str) -> str:
    """A console script of the environment that runs the tests."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    assert found, f"{name} is not beside {sys.executable}: pip install -e '.[dev]'"
    return found


@cache
def command_line() -> Any:
    """The Typer application as `arena` runs it, with the commands that other rooms add."""
    for entry in metadata.entry_points(group="arena.commands"):
        entry.load()(cli.app)
    return cli.app


# --- imports --------------------------------------------------------------------------------------------------------


def lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    """The contracts of pyproject.toml, checked on the packages in a folder."""
    return subprocess.run(
        [script("lint-imports"), "--no-cache"], cwd=folder, capture_output=True, text=True, check=False
    )


def test_arrows_run_one_way() -> None:
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("environments", "import agents.agent"),
        ("storage", "from environments import env"),
        ("agents", "import storage.store"),
        ("arena", "def later() -> None:\n    import ui.app"),
    ],
)
def test_an_arrow_the_wrong_way_is_found(tmp_path: Path, room: str, line: str) -> None:
    """The contracts bite, on an import inside a function too."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ROOMS:
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / room / "astray.py").write_text(line + "\n")
    result = lint_imports(tmp_path)
    assert result.returncode == 1
    assert f"{room}.astray" in result.stdout


@pytest.mark.parametrize("names", [(room,) for room in ROOMS] + [("arena.cli", "ui.cli")], ids="+".join)
def test_importing_is_light_and_offline(names: tuple[str, ...]) -> None:
    """No provider's SDK, no simulator, no web framework and not one packet, in a fresh process."""
    result = subprocess.run(
        [sys.executable, "-c", IMPORT_OFFLINE, ",".join(HEAVY), *names],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert json.loads(result.stdout) == []


def imported(file: Path) -> set[str]:
    """Top-level names of the modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


ELSEWHERE = {"Quartz": "pyobjc-framework-Quartz"}
"""Modules of other platforms, which nothing installed here provides, and the distributions that bring them."""


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_import_is_a_declared_dependency() -> None:
    """Nothing works only because some other package happens to bring it along."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = {name: wanted for name, wanted in project["optional-dependencies"].items() if name != "dev"}
    requirements = project["dependencies"] + [line for wanted in extras.values() for line in wanted]
    declared = {normal(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in requirements}
    providers = metadata.packages_distributions()
    undeclared = {
        f"{file.relative_to(ROOT)}: {name}"
        for room in ROOMS
        for file in (ROOT / room).rglob("*.py")
        for name in imported(file) - sys.stdlib_module_names - {*ROOMS, "__future__"}
        if not declared.intersection(map(normal, providers.get(name, [ELSEWHERE.get(name, name)])))
    }
    assert not undeclared


def licence_stated(package: metadata.Distribution) -> str:
    """All that a distribution's metadata says of its licence; its licence file where that is nothing."""
    told = [package.metadata.get("License-Expression", ""), package.metadata.get("License", "")]
    told += [line for line in package.metadata.get_all("Classifier") or [] if line.startswith("License ::")]
    text = " ".join(told).replace("UNKNOWN", "").strip()
    return text or (package.read_text("LICENSE") or "")[:200]


def test_the_licence_page_names_every_direct_dependency() -> None:
    """By the family (MIT, BSD, Apache, GPL, ...) that the installed package states."""
    rows = re.findall(
        r"^\| ([a-z][\w-]+) \| [a-z]+ \| ([A-Z]+\w*)", (ROOT / "docs" / "licences.md").read_text(), flags=re.MULTILINE
    )
    page = dict(rows)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = project["dependencies"] + [line for wanted in project["optional-dependencies"].values() for line in wanted]
    names = {normal(re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0]) for line in lines} - {"rewind-arena"}
    assert set(page) == names
    installed = {normal(package.name): package for package in metadata.distributions()}
    wrong = {
        n: licence_stated(installed[n]) for n in names & set(installed) if page[n] not in licence_stated(installed[n])
    }
    assert not wrong


# --- the command line -----------------------------------------------------------------------------------------------


def test_the_console_script_lists_every_command() -> None:
    result = subprocess.run([script("arena"), "--help"], capture_output=True, text=True, check=True)
    listed = set(re.findall(r"^\W*([a-z]+) {2,}", result.stdout, flags=re.MULTILINE))
    assert listed >= COMMANDS


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_command_has_help(command: str) -> None:
    result = CliRunner().invoke(command_line(), [command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        (["tasks"], list),
        (["agents"], list),
        (["runs", "--db", "DB"], list),
        (["plan", "FILE", "--db", "DB"], dict),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else value.__name__,
)
def test_a_reading_command_prints_json_from_an_empty_database(
    tmp_path: Path, arguments: list[str], kind: type[list[Any]] | type[dict[str, Any]]
) -> None:
    places = {"DB": str(tmp_path / "arena.db"), "FILE": str(tmp_path / "experiment.yaml")}
    Path(places["FILE"]).write_text(experiments.text("demo-quick"))
    result = CliRunner().invoke(command_line(), [*(places.get(part, part) for part in arguments), "--json"])
    assert result.exit_code == 0, result.output
    assert isinstance(json.loads(result.stdout), kind)


@pytest.mark.display
@pytest.mark.gl
def test_the_doctor_answers_in_json(tmp_path: Path) -> None:
    """One row a check; those that fail name a cure; its status is 1 only if the demo would fail."""
    result = CliRunner().invoke(command_line(), ["doctor", "--db", str(tmp_path / "arena.db"), "--json"])
    checks = json.loads(result.stdout)
    assert {"display", "graphics", "video encoder", "database", "model keys"} <= {check["name"] for check in checks}
    assert all(check["fix"] for check in checks if not check["ok"])
    assert result.exit_code == int(any(check["required"] and not check["ok"] for check in checks))


@pytest.mark.parametrize("command", ["leaderboard", "show"])
def test_a_row_that_is_not_there_is_an_answer_and_no_trace(
    tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Standard output stays empty, so that a script that reads JSON cannot mistake the error for data."""
    database = str(tmp_path / "arena.db")
    with Location.of(database).open():
        pass  # it exists and is empty: without one, the answer would be that there is none
    arguments = ["arena", command, "nothing", "--db", database, "--json"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as stopped:
        cli.main()
    printed = capsys.readouterr()
    assert stopped.value.code == 2
    assert printed.out == ""
    assert "'nothing'" in printed.err
    assert "Traceback" not in printed.err
