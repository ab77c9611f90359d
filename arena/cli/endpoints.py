"""Policies and models that the command line names: read, and asked whether they are there before much rests on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import yaml

from agents.errors import ProviderError
from agents.gateway import Message, ModelGateway
from agents.policies.greeting import greet
from agents.policies.options import PolicyOptions
from arena.cli.common import (
    checked,
    listed,
)
from arena.errors import InvalidExperiment, Problem
from arena.faults.plan import Player
from arena.models import ModelOptions

SERVED = "policy"
"""The agent whose policy is in another process."""


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
