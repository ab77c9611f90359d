"""Prompts as versioned text files: parts under headings, with named places to fill."""

from __future__ import annotations

import hashlib
import json
import re
import string
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

from agents.gateway.messages import Mode

_HEADING = re.compile(r"^# ([a-z]+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: `# system`, `# user` and whatever else the asker needs, each with its text.

    `$name` marks a place to fill. `# form` is for models that take no schema but in words.
    """

    name: str
    parts: Mapping[str, str]
    sha256: str
    """Of the file: part of the fingerprint of whatever asks with it."""

    @classmethod
    def load(cls, package: str, name: str) -> Prompt:
        """Read `prompts/<name>.md` of a package.

        Raises:
            FileNotFoundError: no such prompt.
            ValueError: the file lacks a system, form or user part.
        """
        data = resources.files(package).joinpath("prompts", f"{name}.md").read_bytes()
        _, *pieces = _HEADING.split(data.decode("utf-8"))
        parts = {heading: text.strip() for heading, text in zip(pieces[::2], pieces[1::2], strict=True)}
        if not {"system", "form", "user"} <= parts.keys():
            raise ValueError(
                f"{package}: prompt {name!r} has the parts {list(parts)}, expected 'system', 'form' and 'user'"
            )
        return cls(name, parts, hashlib.sha256(data).hexdigest())

    def fill(self, part: str, **values: str) -> str:
        """One part with every place filled. What is filled in is not looked at again.

        Raises:
            KeyError: no such part, or a place without a value.
        """
        return string.Template(self.parts[part]).substitute(values)

    def system(self, schema: Mapping[str, Any], mode: Mode, **values: str) -> str:
        """The system part, with the form of the answer in words where the model is not given the schema itself."""
        return self.ask("system", schema, mode, **values)

    def ask(self, part: str, schema: Mapping[str, Any], mode: Mode, **values: str) -> str:
        """A part that asks for an answer, with the form of it in words where the model is not given the schema."""
        text = self.fill(part, **values)
        if mode != "prompt":
            return text
        return f"{text}\n\n{self.fill('form', schema=json.dumps(schema))}"
