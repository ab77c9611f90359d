"""From a configuration to a reflector."""

from __future__ import annotations

import functools
from typing import Any

from agents.gateway import ModelGateway
from arena.reflection.config import ReflectionConfig
from arena.reflection.matched import MatchedReflector
from arena.reflection.reflector import Reflector
from arena.reflection.rules import RulesReflector
from arena.reflection.vlm import VlmReflector


def build(config: ReflectionConfig) -> Reflector:
    """The reflector that a configuration describes. It opens no connection before its first call.

    Raises:
        ValueError: for `evidence: none`, which asks nobody, and for `reflector: player`, which is to be put into rules
            or a model by `ReflectionConfig.of` first.
    """
    if config.evidence == "none" or config.reflector == "player":
        raise ValueError(f"no reflector: evidence {config.evidence!r}, reflector {config.reflector!r}")
    if config.model is None:
        return RulesReflector(
            max_words=config.max_words,
            tutorial=config.demonstration,
            evidence=config.evidence,
            placebo=config.placebo,
        )
    gateway = ModelGateway(config.model)
    return VlmReflector(gateway, config) if config.evidence is None else MatchedReflector(gateway, config)


def fingerprint(config: ReflectionConfig) -> dict[str, Any]:
    """Everything that changes a condition's lessons, as JSON values; part of the retry's identity."""
    return dict(_fingerprint(config))


@functools.lru_cache(256)
def _fingerprint(config: ReflectionConfig) -> dict[str, Any]:
    return {"reflector": "none"} if config.evidence == "none" else build(config).fingerprint()
