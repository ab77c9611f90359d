"""The register of players: made by name and options, refused with all the reasons at once."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from agents.agent import Agent
from agents.errors import InvalidOptions, UnknownAgent

_NAME = re.compile(r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
_agents: dict[str, type[Agent]] = {}

AgentType = TypeVar("AgentType", bound=type[Agent])


def register(cls: AgentType) -> AgentType:
    """Add a class of players under its `name`; may be used as a decorator.

    Raises:
        TypeError: listing everything that keeps the class from being an agent.
        ValueError: if another class has taken the name.
    """
    problems = _faults(cls)
    if problems:
        raise TypeError(f"{cls!r} cannot be registered as an agent: {'; '.join(problems)}")
    taken = _agents.get(cls.name)
    if taken is not None and taken is not cls:
        raise ValueError(f"agent name {cls.name!r} is taken by {taken.__module__}.{taken.__qualname__}")
    _agents[cls.name] = cls
    return cls


def names() -> list[str]:
    """Names of all registered agents, sorted."""
    return sorted(_agents)


def get(name: str) -> type[Agent]:
    """The class registered under a name.

    Raises:
        UnknownAgent: with the nearest name, or all of them.
    """
    try:
        return _agents[name]
    except KeyError:
        near = difflib.get_close_matches(name, _agents, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names())}"
        raise UnknownAgent(f"no agent {name!r}; {hint}") from None


def create(name: str, options: Mapping[str, Any] | None = None) -> Agent:
    """Make a player.

    Args:
        name: a registered name.
        options: the agent's own options, as they stand in an experiment file.

    Raises:
        UnknownAgent: no agent of that name.
        InvalidOptions: with every fault of the options, not only the first.
    """
    cls = get(name)
    try:
        parsed = cls.Options.model_validate(dict(options or {}))
    except ValidationError as error:
        raise InvalidOptions(name, [_explain(cls.Options, item) for item in error.errors(include_url=False)]) from None
    return cls(parsed)


def describe() -> list[dict[str, Any]]:
    """All agents as JSON values: name, summary, privileged, instrument, and options with defaults."""
    return [
        {
            "name": cls.name,
            "summary": inspect.getdoc(cls).splitlines()[0],  # type: ignore[union-attr]  # checked by `register`
            "privileged": cls.privileged,
            "instrument": cls.instrument,
            "options": _describe_options(cls.Options),
        }
        for cls in (_agents[name] for name in names())
    ]


def _describe_options(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    required = set(schema.get("required", ()))
    return [
        {
            "name": name,
            "description": field.get("description", ""),
            "required": name in required,
            "default": field.get("default"),
        }
        for name, field in schema.get("properties", {}).items()
    ]


def _faults(cls: Any) -> list[str]:
    """Everything that is wrong with a class as an agent."""
    if not (isinstance(cls, type) and issubclass(cls, Agent)):
        return ["it does not inherit from agents.Agent"]
    problems = []
    if inspect.isabstract(cls):
        problems.append(f"it does not implement {', '.join(sorted(cls.__abstractmethods__))}")
    if not _NAME.match(str(getattr(cls, "name", ""))):
        problems.append(f"name {getattr(cls, 'name', None)!r} is not lower-case words joined by hyphens")
    if not (inspect.getdoc(cls) or "").strip() or cls.__doc__ is None:
        problems.append("it has no docstring; its first line is shown by `arena agents`")
    if cls.privileged and not cls.instrument:
        problems.append("it is privileged and has no `instrument` label to be shown with its results")
    options: Any = cls.Options
    if not (isinstance(options, type) and issubclass(options, BaseModel)):
        problems.append(f"Options is {options!r}, not a pydantic model")
    elif options.model_config.get("extra") != "forbid":
        problems.append('Options accepts unknown fields; set model_config = ConfigDict(extra="forbid")')
    return problems


def _explain(model: type[BaseModel], item: Any) -> tuple[str, str]:
    """One fault of the options. Values of unknown options are not shown: one of them may be a key."""
    where = ".".join(str(part) for part in item["loc"]) or "options"
    if item["type"] == "extra_forbidden":
        near = difflib.get_close_matches(where, model.model_fields, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(model.model_fields) or 'none'}"
        return where, f"no such option; {hint}"
    if item["type"] == "missing":
        return where, "is required"
    message = item["msg"].removeprefix("Value error, ")
    sensitive = bool({"base_url", "key_env"} & set(item["loc"])) or not item["loc"]
    return where, message if sensitive else f"{message} (got {item.get('input')!r:.80})"
