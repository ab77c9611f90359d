"""Artifacts: addressed by content, whole or absent, never outside their folder."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from storage.artifacts import ArtifactStore
from storage.errors import ArtifactCorrupt, ArtifactMissing, StorageError


@pytest.fixture(params=["local", "memory"])
def artifacts(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    url = str(tmp_path / "artifacts") if request.param == "local" else f"memory://{tmp_path.name}"
    return ArtifactStore(url)


def test_bytes_come_back_by_their_hash(artifacts: ArtifactStore) -> None:
    data = bytes(range(256)) * 5000
    sha256 = artifacts.put(data)
    assert sha256 == hashlib.sha256(data).hexdigest()
    assert artifacts.get(sha256) == data
    assert artifacts.exists(sha256) and artifacts.size(sha256) == len(data)
    with artifacts.open(sha256) as file:
        file.seek(1000)
        assert file.read(10) == data[1000:1010]


def test_what_is_absent_is_said_to_be_missing(artifacts: ArtifactStore) -> None:
    sha256 = "0" * 64
    assert not artifacts.exists(sha256)
    for ask in (artifacts.get, artifacts.open, artifacts.size):
        with pytest.raises(ArtifactMissing, match=sha256):
            ask(sha256)


def test_a_file_is_stored_by_content_and_kept(artifacts: ArtifactStore, tmp_path: Path) -> None:
    source = tmp_path / "film.mp4"
    source.write_bytes(b"film" * 1_000_000)
    assert artifacts.get(artifacts.put(source)) == source.read_bytes()
    with pytest.raises(StorageError, match="cannot read"):
        artifacts.put(tmp_path / "none.mp4")


def test_the_empty_artifact_is_an_artifact(artifacts: ArtifactStore) -> None:
    assert artifacts.get(artifacts.put(b"")) == b""


def test_the_layout_is_two_digits_then_the_rest_and_the_same_bytes_are_one_file(tmp_path: Path) -> None:
    artifacts = ArtifactStore(tmp_path)
    sha256 = artifacts.put(b"same")
    first = artifacts.path(sha256)
    assert first == tmp_path / sha256[:2] / sha256[2:]
    before = first.stat().st_mtime_ns
    artifacts.put(b"same")
    assert first.stat().st_mtime_ns == before
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [first]


def test_path_is_none_where_there_is_no_local_file(tmp_path: Path) -> None:
    artifacts = ArtifactStore(f"memory://{tmp_path.name}")
    assert artifacts.path(artifacts.put(b"x")) is None
    with pytest.raises(ArtifactMissing):
        ArtifactStore(tmp_path).path("0" * 64)


def test_damage_is_found_on_reading(tmp_path: Path) -> None:
    artifacts = ArtifactStore(tmp_path)
    sha256 = artifacts.put(b"the truth")
    path = artifacts.path(sha256)
    assert path is not None
    path.write_bytes(b"the lie!!")
    with pytest.raises(ArtifactCorrupt, match=sha256):
        artifacts.get(sha256)


def test_a_torn_copy_is_mended_by_storing_again(tmp_path: Path) -> None:
    artifacts = ArtifactStore(tmp_path)
    sha256 = artifacts.put(b"the truth")
    path = artifacts.path(sha256)
    assert path is not None
    path.write_bytes(b"the tr")
    assert artifacts.put(b"the truth") == sha256
    assert artifacts.get(sha256) == b"the truth"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "../../etc/passwd",
        "A" * 64,
        "0" * 63,
        "0" * 65,
        "0" * 64 + "\n",
        "/" + "0" * 63,
        "..%2f" + "0" * 59,
        "é" * 64,
    ],
)
def test_only_a_hash_ever_becomes_a_path(artifacts: ArtifactStore, name: str) -> None:
    for ask in (artifacts.get, artifacts.open, artifacts.path, artifacts.exists, artifacts.size):
        with pytest.raises(ValueError, match="64 lower-case hex"):
            ask(name)


def test_an_interrupted_write_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    artifacts = ArtifactStore(tmp_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space left"):
        artifacts.put(b"data")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_system_without_nameless_files_serves_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    artifacts = ArtifactStore(tmp_path)
    path = artifacts.path(artifacts.put(b"film"))
    assert path is not None and path.read_bytes() == b"film"
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == [path]


def test_an_unknown_protocol_is_refused_without_its_secret() -> None:
    with pytest.raises(StorageError) as caught:
        ArtifactStore("nosuch://key:hunter2@bucket/path")
    assert "nosuch" in str(caught.value) and "hunter2" not in str(caught.value)
