"""From a configuration to a judge."""

from __future__ import annotations

from agents.gateway import ModelGateway
from arena.judging.config import JudgeConfig
from arena.judging.engine import EngineJudge
from arena.judging.judge import Judge
from arena.judging.vlm import VlmJudge


def build(config: JudgeConfig) -> Judge:
    """The judge that a configuration describes. It opens no connection before its first call."""
    if config.model is None:
        return EngineJudge()
    return VlmJudge(ModelGateway(config.model), config)
