"""Prompts as versioned text files: a system part, a user part, and named places to fill."""

from __future__ import annotations

import hashlib
import string
from dataclasses import dataclass
from importlib import resources

_SYSTEM, _USER = "# system\n", "# user\n"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file: `# system`, its text, `# user`, its text; `$name` marks what is filled in."""

    name: str
    system: str
    user: str
    sha256: str
    """Of the file: part of the fingerprint of whatever asks with it."""

    @classmethod
    def load(cls, package: str, name: str) -> Prompt:
        """Read `prompts/<name>.md` of a package.

        Raises:
            FileNotFoundError: no such prompt.
            ValueError: the file does not have the two parts.
        """
        data = resources.files(package).joinpath("prompts", f"{name}.md").read_bytes()
        text = data.decode("utf-8")
        head, _, user = text.partition(f"\n{_USER}")
        if not head.startswith(_SYSTEM) or not user.strip():
            raise ValueError(f"{package} prompt {name!r}: expected a part '# system', then a part '# user'")
        return cls(name, head.removeprefix(_SYSTEM).strip(), user.strip(), hashlib.sha256(data).hexdigest())

    def fill(self, **values: str) -> tuple[str, str]:
        """System and user text with every place filled; filled text is not looked at again.

        Raises:
            KeyError: a place without a value.
        """
        return string.Template(self.system).substitute(values), string.Template(self.user).substitute(values)
