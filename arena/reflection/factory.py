"""From a configuration to a reflector."""

from __future__ import annotations

from agents.gateway import ModelGateway
from arena.reflection.config import ReflectionConfig
from arena.reflection.reflector import Reflector
from arena.reflection.rules import RulesReflector
from arena.reflection.vlm import VlmReflector


def build(config: ReflectionConfig) -> Reflector:
    """The reflector that a configuration describes. It opens no connection before its first call."""
    if config.model is None:
        return RulesReflector(max_words=config.max_words, tutorial=config.tutorial)
    return VlmReflector(ModelGateway(config.model), config)
