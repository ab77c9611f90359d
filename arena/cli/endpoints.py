"""Policies and models that the command line names: read, and asked whether they are there before much rests on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

import agents
from agents.agent import Agent
from agents.errors import AgentsError, InvalidOptions, ProviderError
from agents.gateway import Message, ModelGateway
from agents.policies.greeting import greet
from agents.policies.options import PolicyOptions
from arena.cli.common import checked, listed
from arena.errors import InvalidExperiment, Problem
from arena.faults.plan import Player
from arena.models import ModelOptions

SERVED = "policy"
"""The agent whose policy is in another process."""
_SECRET = ("--base-url", "--key-env")
"""Options whose values are not told again: somebody may have put a key there."""


def player_of(text: str, option: str = "--agent") -> Player:
    """`policy:protocol=openpi,url=ws://127.0.0.1:8000` as an agent and its options.

    Args:
        text: the agent's name, and behind a colon options with commas between them, each a YAML value.
        option: that the text is of, for the error.

    Raises:
        InvalidExperiment: for an option without a value, or one that is no YAML.
    """
    agent, _, rest = text.strip().partition(":")
    options: dict[str, Any] = {}
    for item in listed(rest):
        key, equals, value = item.partition("=")
        try:
            options[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            equals = ""
        if not equals:
            raise InvalidExperiment("arguments", [Problem(option, text, "options are KEY=VALUE behind a colon")])
    return Player(agent=agent, options=options)


def entry_of(player: Player) -> dict[str, Any]:
    """The player as an experiment file names it."""
    return {"name": player.agent, "options": dict(player.options)}


def agent_of(player: Player, problems: list[Problem], option: str = "--agent") -> Agent | None:
    """The agent that is meant, or None and what is wrong with it.

    Args:
        player: its name and options.
        problems: each of its faults is added.
        option: that it was named by.
    """
    try:
        return agents.create(player.agent, player.options)
    except InvalidOptions as error:
        problems += [Problem(option, "", f"{player.agent}: {field}: {told}") for field, told in error.problems]
    except AgentsError as error:
        problems.append(Problem(option, player.agent, str(error)))
    return None


def model_of(given: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any] | None:
    """The options of a model, as an experiment file would give them; None if none is named.

    Args:
        given: those that were given.
        problems: what is wrong with them is added.
    """
    if "model" not in given:
        told = "belongs to a model; name it with `--model`"
        problems += [Problem(f"--{name.replace('_', '-')}", "", told) for name in given]
        return None
    try:
        checked(ModelOptions, dict(given))
    except InvalidExperiment as error:
        problems += [problem._replace(value="") if problem.path in _SECRET else problem for problem in error.problems]
    return dict(given)


def require_policy(player: Player) -> None:
    """Go on only if the policy's server, if it has one, is there and greets as its protocol says.

    Raises:
        InvalidExperiment: for options that the agent does not take.
        ProviderError: with what is wrong with the server.
    """
    if player.agent == SERVED:
        greet(checked(PolicyOptions, dict(player.options)))


def require_model(given: Mapping[str, Any]) -> None:
    """Go on only if the model answers one short question: address, key, name and protocol are right.

    Raises:
        InvalidExperiment: for options that no model takes.
        ProviderError: with what is wrong with it.
    """
    options = checked(ModelOptions, {"max_retries": 0, "max_tokens": 64, **given})
    question = options.request(
        "diagnose",
        (Message("user", ("Are you ready? Answer with `ready`: true.",)),),
        schema={"type": "object", "properties": {"ready": {"type": "boolean"}}, "required": ["ready"]},
        schema_name="ready",
        schema_help="Whether you are ready.",
    )
    try:
        ModelGateway(options).complete(question)
    except ProviderError as error:
        raise type(error)(f"model {error}; nothing was played") from None
