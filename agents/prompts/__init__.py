"""Prompts as versioned text files; a file that has been used is never changed, it gets a successor."""

from __future__ import annotations

import functools
import hashlib
import string
from importlib import resources


@functools.cache
def load(name: str) -> string.Template:
    """A prompt by its file's name without the ending, for example `act-v1.system`.

    Fields are written `${field}`; fill all of them with `substitute`, which refuses a missing one
    and never looks into what it puts in.
    """
    return string.Template(resources.files(__package__).joinpath(f"{name}.md").read_text("utf-8").strip())


def sha256(*names: str) -> str:
    """Hash of several prompts, for fingerprints."""
    digest = hashlib.sha256()
    for name in names:
        digest.update(load(name).template.encode() + b"\0")
    return digest.hexdigest()
