"""Text from models and worlds, made safe to pass on: bounded, and unable to pose as anything but data."""

from __future__ import annotations

import json
import re
import unicodedata
from typing import Any

_MARKUP = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
_LONGEST_WORD = 60


def as_data(value: Any) -> str:
    """A value as one line of JSON that cannot close the section of a prompt it stands in.

    Line breaks, quotes and angle brackets come out escaped, whatever a player or a screen wrote.

    Raises:
        TypeError: for a value that is not JSON.
    """
    text = json.dumps(value, ensure_ascii=True, separators=(", ", ": "))
    return "".join(_MARKUP.get(letter, letter) for letter in text)


def clean(text: str, limit: int) -> str:
    """One line of at most `limit` characters, without control or invisible formatting characters."""
    kept = "".join(" " if letter.isspace() else letter for letter in text if letter.isspace() or _visible(letter))
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def bounded(text: str, max_words: int) -> str:
    """The beginning of a text, `max_words` words at most, cut after a whole sentence where that keeps half of it.

    Paragraphs stay; control and invisible formatting characters go, and a word without end is cut.
    """
    kept = "".join(letter for letter in text if letter == "\n" or letter.isspace() or _visible(letter))
    pieces = re.findall(r"\S+|\n", kept)
    words: list[str] = []
    out: list[str] = []
    for piece in pieces:
        if piece == "\n":
            out.append("\n")
            continue
        if len(words) == max_words:
            break
        words.append(piece[:_LONGEST_WORD])
        out.append(words[-1])
    whole = len(words) == sum(piece != "\n" for piece in pieces)
    result = re.sub(r" ?\n ?", "\n", " ".join(out)).strip()
    result = re.sub(r"\n{3,}", "\n\n", result)
    if whole:
        return result
    ends = [match.end() for match in re.finditer(r"[.!?](?=\s)", result)]
    return result[: ends[-1]] if ends and ends[-1] >= len(result) / 2 else result


def read_index(value: Any) -> int | None:
    """A frame number as models write them: 12, 12.0, "12", or null.

    Raises:
        ValueError: for anything else.
    """
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and re.fullmatch(r"[0-9]{1,9}", value.strip(), re.ASCII):
        return int(value)
    raise ValueError(f"expected a frame number or null, got {value!r:.60}")


def _visible(letter: str) -> bool:
    return not unicodedata.category(letter).startswith("C")
