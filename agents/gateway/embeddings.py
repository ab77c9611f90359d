"""Vectors of texts by an embedding model, behind the same settings as every other model."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents import errors
from agents.gateway import bodies
from agents.gateway.backends import Failure, translated
from agents.gateway.clients import litellm_module, openai_client
from agents.gateway.secrets import Mask
from agents.gateway.settings import GatewaySettings

MAX_BATCH = 128
"""Texts in one request: what the common servers take."""
MAX_CHARACTERS = 4_000
"""Of one text; the rest is cut."""
MAX_BYTES = 32 * 2**20
"""Of an answer: twice what vectors of 4,096 numbers take for a whole request, each written in 32 characters."""


def embed(texts: Sequence[str], settings: GatewaySettings, timeout_s: float = 60.0) -> NDArray[np.float64]:
    """Unit vectors of texts, (n, d).

    Args:
        texts: What to embed.
        settings: The embedding model and where it is.
        timeout_s: Longest wait for one request; it is not repeated.

    Raises:
        ProviderError: the model's side failed, or answered with something else than a vector for each text.
    """
    found: list[NDArray[np.float64]] = []
    for start in range(0, len(texts), MAX_BATCH):
        batch = [text[:MAX_CHARACTERS] or " " for text in texts[start : start + MAX_BATCH]]
        found.append(_vectors(_ask(batch, settings, timeout_s), len(batch), settings))
    if len({part.shape[1] for part in found}) > 1:
        raise errors.ServerError(f"{settings.model}: its vectors have different lengths", status=200)
    return np.concatenate(found) if found else np.zeros((0, 0))


def _ask(batch: list[str], settings: GatewaySettings, timeout_s: float) -> Any:
    key = settings.key()
    try:
        return translated(partial(_send, batch, settings, key, timeout_s), timeout_s)
    except Failure as failure:
        message = Mask(key).text(f"{settings.model} at {settings.endpoint}: {failure.error}")
        if isinstance(failure.error, errors.ServerError):
            raise errors.ServerError(message, status=failure.error.status) from None
        raise type(failure.error)(message) from None


def _send(batch: list[str], settings: GatewaySettings, key: str | None, timeout_s: float) -> Any:
    body: dict[str, Any] = {"model": settings.model, "input": batch}
    with bodies.at_most(MAX_BYTES):
        if settings.way == "openai":
            client = openai_client(settings.base_url or "", key)
            return client.post("/embeddings", body=body, cast_to=object, options={"timeout": timeout_s})
        given = {"api_base": settings.base_url} if settings.base_url else {}
        given |= {"api_key": key} if key else {}
        return litellm_module().embedding(**body, **given, timeout=timeout_s, num_retries=0).model_dump()


def _vectors(reply: Any, n: int, settings: GatewaySettings) -> NDArray[np.float64]:
    """The vectors of a reply, in the order of the texts, each scaled to length one."""
    data = reply.get("data") if isinstance(reply, dict) else None
    try:
        rows = sorted(data, key=lambda item: item["index"])  # type: ignore[arg-type]  # whatever it is
        vectors = np.asarray([item["embedding"] for item in rows], dtype=np.float64)
    except (TypeError, KeyError, ValueError, IndexError):
        vectors = np.zeros((0, 0))
    if vectors.ndim != 2 or len(vectors) != n or not vectors.size or not np.isfinite(vectors).all():
        raise errors.ServerError(f"{settings.model}: expected {n} vectors, got {str(reply)[:120]}", status=200)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    result: NDArray[np.float64] = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return result
