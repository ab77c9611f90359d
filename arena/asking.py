"""A question to a model whose answer has a form: asked, and asked once more if the answer cannot be used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agents.calls import ModelCall
from agents.errors import ProviderError
from agents.gateway import Message, ModelGateway, ModelRequest

_QUOTED = 4000  # characters of an answer that the model is shown again


def ask(
    gateway: ModelGateway, request: ModelRequest, problem: Callable[[str], str], repair: Callable[[str], str]
) -> tuple[ModelCall, ...]:
    """The call, and a second one if its answer cannot be used; the last one counts.

    A refusal is an answer, and not argued with.

    Args:
        gateway: The door to the model.
        request: The question.
        problem: What is wrong with an answer's text, or nothing; only good answers are kept in a cache.
        repair: What the model is told about a problem.

    Raises:
        ProviderError: the model's side failed; `calls` holds all that was sent.
    """
    first = gateway.complete(request, accept=lambda text: not problem(text))
    if first.status == "refused" or not (wrong := problem(first.text)):
        return (first,)
    turns = (Message("assistant", (quoted(first.text),)), Message("user", (repair(wrong),)))
    try:
        second = gateway.complete(
            replace(request, messages=(*request.messages, *turns)), accept=lambda text: not problem(text)
        )
    except ProviderError as failure:
        failure.calls = (first, *failure.calls)
        raise
    return first, second


def quoted(text: str) -> str:
    """An answer as the model is shown it again: bounded, and never empty, which some providers refuse."""
    return text[:_QUOTED].strip() or "(no text)"
