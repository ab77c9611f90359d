"""YAML that means what it looks like: text, finite numbers, lists and mappings; all else is refused, with its line.

YAML 1.1 reads `1:30` as 90 and an unquoted day as a date, lets a key be given twice (the last one wins), and lets ten
short lines of aliases stand for billions of values. Nothing here guesses: each of these is told, all at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import yaml

from environments.errors import NotPlainYaml

MAX_CHARACTERS = 1_000_000
"""Far more than anybody writes: the longest file of ours has 4,000."""
MAX_VALUES = 100_000
"""With every alias written out."""
_MAX_PROBLEMS = 20
_LARGEST = 2**63 - 1
"""What a database holds as a number; no setting comes near it."""
_LONG = 25
"""Characters of a number beyond which it is not even read: Python needs a second for a million digits."""

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_RESOLVER = yaml.resolver.Resolver()
_CONSTRUCTOR = yaml.constructor.SafeConstructor()


def load(text: str, *, aliases: bool = True) -> Any:
    """The value of a YAML document.

    Args:
        text: The document.
        aliases: Whether `*name` may stand for what `&name` marked.

    Returns:
        None, bool, int (64 bits), float (finite), str, and lists and dicts of these; keys are str, int or bool.

    Raises:
        NotPlainYaml: with every problem, each with its line and what to do.
    """
    if len(text) > MAX_CHARACTERS:
        raise NotPlainYaml([("file", f"has {len(text):,} characters; {MAX_CHARACTERS:,} are allowed")])
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        problems = _Reader(aliases).problems(node)
        if problems:
            raise NotPlainYaml(problems)
        return loader.construct_document(node)
    except RecursionError:
        raise NotPlainYaml([("file", "is nested too deeply")]) from None
    except yaml.YAMLError as error:
        raise NotPlainYaml([_syntax(error)]) from None
    finally:
        loader.dispose()


class _Reader:
    """Looks at the nodes before anything is made of them; a node that an alias repeats is looked at once."""

    def __init__(self, aliases: bool) -> None:
        self._aliases = aliases
        self._sizes: dict[int, int] = {}
        self._found: set[tuple[int, int, str]] = set()
        """Line and column from 0, message."""

    def problems(self, root: yaml.Node) -> list[tuple[str, str]]:
        """In the order of the text."""
        too_many = self._size(root) > MAX_VALUES
        listed = [(_where(line, column), message) for line, column, message in sorted(self._found)]
        if too_many:
            message = f"holds more than {MAX_VALUES:,} values once its aliases (*name) are written out"
            listed.insert(0, ("file", message))
        return listed[:_MAX_PROBLEMS]

    def _size(self, node: yaml.Node) -> int:
        """How many values a node stands for."""
        known = self._sizes.get(id(node))
        if known is not None:
            if known == 0:  # still being counted
                self._tell(node, "holds itself, by an alias (*name)")
            elif not self._aliases:
                self._tell(node, "is used again by an alias (*name); write it out")
            return known
        self._sizes[id(node)] = 0
        for place, message in _faults(node):
            self._tell(place, message)
        inner = node.value if isinstance(node, yaml.CollectionNode) else ()
        parts = (part for item in inner for part in (item if isinstance(item, tuple) else (item,)))
        size = 1 + sum(self._size(part) for part in parts)
        self._sizes[id(node)] = size
        return size

    def _tell(self, node: yaml.Node, message: str) -> None:
        self._found.add((node.start_mark.line, node.start_mark.column, message))


def _faults(node: yaml.Node) -> Iterator[tuple[yaml.Node, str]]:
    """What is wrong with a node itself: the place, and what to do."""
    kind = node.tag.removeprefix(_TAG)
    if kind == "timestamp":
        yield node, f"{node.value!r:.60} reads as a date; put it in quotes if it is text"
    elif kind == "value":
        yield node, "'=' alone has a meaning of its own in YAML; put it in quotes"
    elif not _untagged(node):
        yield node, f"a tag (!{kind[:40].lstrip('!')}) is not allowed: give plain text, numbers, lists and fields"
    elif kind in ("int", "float"):
        yield from ((node, message) for message in _number(node.value, kind))
    elif isinstance(node, yaml.MappingNode):
        yield from _keys(node)


def _untagged(node: yaml.Node) -> bool:
    """Whether a node is what it looks like: `!!int abc` is not. An explicit `!!str` says no more than quotes."""
    if isinstance(node, yaml.MappingNode):
        return node.tag == f"{_TAG}map"
    if isinstance(node, yaml.SequenceNode):
        return node.tag == f"{_TAG}seq"
    plain: str = _RESOLVER.resolve(yaml.ScalarNode, node.value, (True, False))  # type: ignore[no-untyped-call]
    return node.tag in (f"{_TAG}str", plain)


def _number(text: str, kind: str) -> Iterator[str]:
    if ":" in text:
        yield f"{text!r:.60} is a number to base 60 in YAML; write the number, or put it in quotes if it is text"
    elif kind == "float":
        if text.lower().lstrip("+-") in (".nan", ".inf") or math.isinf(float(text.replace("_", ""))):
            yield f"{text!r:.60} is no finite number"
    elif len(text) > _LONG or abs(_CONSTRUCTOR.construct_yaml_int(yaml.ScalarNode(f"{_TAG}int", text))) > _LARGEST:
        yield f"{text!r:.30} is larger than any number that is wanted here"


def _keys(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, str]]:
    seen: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            yield key, "a key is a list or a mapping; it must be plain text"
        elif (key.tag, key.value) in seen:
            yield key, f"{key.value!r:.60} is given twice; leave one out"
        else:
            seen.add((key.tag, key.value))


def _where(line: int, column: int) -> str:
    return f"line {line + 1}, column {column + 1}"


def _syntax(error: yaml.YAMLError) -> tuple[str, str]:
    mark = getattr(error, "problem_mark", None)
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    return (_where(mark.line, mark.column) if mark else "file", f"is not YAML: {problem[:300]}")
