"""Imports `hf-libero` without its questions, and finds the files that it loads.

Left to itself, the benchmark asks on standard input where to keep its files when it is first imported,
looks for its assets on the network, and changes Python's warning filters. Here it finds a configuration
in a private folder, takes the assets from a folder that is checked first, and leaves the process as it
was. Its module `libero.libero.benchmark`, which imports torch, is not imported.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import io
import json
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from environments.errors import MissingBenchmark

ASSETS = "ARENA_LIBERO_ASSETS"
"""Environment variable that names the folder with the benchmark's scenes and objects."""
VERSION = "0.1.4"
INSTALL = f"pip install 'rewind-arena[libero]' && pip install --no-deps hf-libero=={VERSION} bddl==1.0.1"
"""Two commands: the second leaves out what the packages demand and their environments never import (torch and more)."""
DOWNLOAD = "hf download lerobot/libero-assets --repo-type dataset --local-dir ~/.cache/libero/assets"
"""The benchmark's own assets, into the folder in which it looks for them itself."""
_NEEDED = ("articulated_objects", "scenes", "stable_hope_objects", "stable_scanned_objects", "turbosquid_objects")
_PACKAGES = ("robosuite", "bddl", "easydict", "future", "matplotlib")


def package_problem() -> str | None:
    """What of the benchmark's code is not installed, with the cure, or None; imports nothing."""
    try:
        version = metadata.version("hf-libero")
    except metadata.PackageNotFoundError:
        return f"hf-libero {VERSION} is not installed; install it with: {INSTALL}"
    if version != VERSION:
        return f"hf-libero {version} is installed, but results are defined by {VERSION}; install it with: {INSTALL}"
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        return f"hf-libero needs {', '.join(missing)}, not installed; install with: {INSTALL}"
    return None


def assets_folder(given: str | None = None) -> Path | str:
    """The folder with the benchmark's assets, or what is wrong, with the cure.

    Looked for in this order: the folder given, the one that `ARENA_LIBERO_ASSETS` names, the
    installed package, the benchmark's own download folder.
    """
    named = given or os.environ.get(ASSETS)
    if named:
        path = Path(named).expanduser()
        lacking = [name for name in _NEEDED if not (path / name).is_dir()]
        if not lacking:
            return path
        where = "the task's parameter `assets`" if given else ASSETS
        return f"{where} names {named}, which holds no {', '.join(lacking)}; download them with: {DOWNLOAD}"
    spec = importlib.util.find_spec("libero")
    packaged = (spec.submodule_search_locations or ()) if spec else ()
    own = [Path(folder, "libero", "assets") for folder in packaged]
    for path in (*own, Path("~/.cache/libero/assets").expanduser()):
        if all((path / name).is_dir() for name in _NEEDED):
            return path
    return f"LIBERO's assets are not here; name their folder in {ASSETS}, or download them with: {DOWNLOAD}"


def problems(assets: str | None = None) -> list[str]:
    """Why LIBERO's tasks cannot be made on this machine, each with its cure; imports nothing."""
    folder = assets_folder(assets)
    return [problem for problem in (package_problem(), folder if isinstance(folder, str) else None) if problem]


@dataclass(frozen=True, slots=True)
class Benchmark:
    """The imported benchmark."""

    root: Path
    """Where its task definitions and initial states lie."""
    package: Any
    """The module `libero.libero`."""
    envs: Any
    """The module `libero.libero.envs`."""
    bddl_utils: Any
    """The module `libero.libero.envs.bddl_utils`."""

    def bddl(self, suite: str, name: str) -> Path:
        """The definition of a task."""
        return self.root / "bddl_files" / f"libero_{suite}" / f"{name}.bddl"

    def init_states(self, suite: str, name: str) -> Path:
        """The published initial states of a task."""
        return self.root / "init_files" / f"libero_{suite}" / f"{name}.pruned_init"

    def task_names(self) -> Mapping[str, list[str]]:
        """Names of the tasks by suite, in the benchmark's order; read as a literal, for the module imports torch."""
        tree = ast.parse((self.root / "benchmark" / "libero_suite_task_map.py").read_text(encoding="utf-8"))
        values = [node.value for node in tree.body if isinstance(node, ast.Assign)]
        names: dict[str, list[str]] = ast.literal_eval(values[0])
        return names

    @contextlib.contextmanager
    def assets(self, folder: Path) -> Iterator[None]:
        """Within, the benchmark loads its scenes and objects from `folder` and says nothing on standard output."""
        before = self.package._assets_path_cache
        self.package._assets_path_cache = str(folder)  # else it looks on the network
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                yield
        finally:
            self.package._assets_path_cache = before


@functools.cache
def benchmark() -> Benchmark:
    """Import the benchmark, once.

    Raises:
        MissingBenchmark: if it is not installed; the message has the two commands.
    """
    problem = package_problem()
    if problem:
        raise MissingBenchmark("libero/*", [problem])
    from environments.robots import _robosuite

    _robosuite.load()  # first, without OpenGL and log files
    spec = importlib.util.find_spec("libero")
    folders = list(spec.submodule_search_locations or ()) if spec else []
    if not folders or not (Path(folders[0]) / "libero" / "bddl_files").is_dir():
        where = folders[0] if folders else (spec.origin if spec else "nowhere")
        problem = (
            f"the package libero that Python finds ({where}) holds no task definitions; install it with: {INSTALL}"
        )
        raise MissingBenchmark("libero/*", [problem])
    root = Path(folders[0]) / "libero"
    with _configured(root), warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        package = importlib.import_module("libero.libero")
        envs = importlib.import_module("libero.libero.envs")
        bddl_utils = importlib.import_module("libero.libero.envs.bddl_utils")
    return Benchmark(root, package, envs, bddl_utils)


_config_folders: list[tempfile.TemporaryDirectory[str]] = []
"""Kept to the end of the process, since the benchmark reads its configuration anew for each path."""


@contextlib.contextmanager
def _configured(root: Path) -> Iterator[None]:
    """`LIBERO_CONFIG_PATH` names a private folder with a configuration; afterwards it is as before."""
    folder = tempfile.TemporaryDirectory(prefix="arena-libero-")
    _config_folders.append(folder)
    places = {"benchmark_root": ".", "bddl_files": "bddl_files", "init_states": "init_files", "assets": "assets"}
    paths = {key: str(root / place) for key, place in places.items()} | {"datasets": str(root.parent / "datasets")}
    Path(folder.name, "config.yaml").write_text(json.dumps(paths), encoding="utf-8")  # JSON is YAML
    before = os.environ.get("LIBERO_CONFIG_PATH")
    os.environ["LIBERO_CONFIG_PATH"] = folder.name
    try:
        yield
    finally:
        if before is None:
            del os.environ["LIBERO_CONFIG_PATH"]
        else:
            os.environ["LIBERO_CONFIG_PATH"] = before
