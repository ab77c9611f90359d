"""Answers kept on disk, keyed by everything that may change them."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_FORMAT = 1
"""Part of every key; raise it when the meaning of a file changes."""


class CallCache:
    """One JSON file per answer in a folder. Several processes may share it.

    Only answers that were accepted are kept: never a failure, a refusal, or a reply that could not
    be read. An answer drawn at a temperature above 0 is one of many: it is kept only with
    `sampled=True`, and told apart by `ModelRequest.repeat`.
    """

    def __init__(self, folder: str | os.PathLike[str], *, sampled: bool = False) -> None:
        self.folder = Path(folder)
        self.sampled = sampled

    @staticmethod
    def key(backend: str, endpoint: str, body: Mapping[str, Any], repeat: int) -> str:
        """SHA-256 of what determines an answer; `body` is the recorded form, pictures as hashes."""
        parts = [_FORMAT, backend, endpoint, body, repeat]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def get(self, key: str) -> dict[str, Any] | None:
        """The reply kept under a key; None if there is none, or its file is damaged."""
        try:
            entry = json.loads(self._path(key).read_text("utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(entry, dict) or entry.get("key") != key or not isinstance(entry.get("reply"), dict):
            return None
        reply: dict[str, Any] = entry["reply"]
        return reply

    def put(self, key: str, reply: Mapping[str, Any]) -> None:
        """Keep a reply; the file is there whole or not at all."""
        path = self._path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump({"key": key, "reply": reply}, file)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"
