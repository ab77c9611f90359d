"""Reflect-and-retry: what a failed attempt and an expert's tutorial teach, in words for the next attempt.

config = ReflectionConfig(reflector="rules")
failure, tutorial = choose_frames(config, n_failure=40, n_tutorial=25)
reflection = build(config).reflect(Evidence(...))
"""

from arena.models import ModelOptions
from arena.reflection.config import PRESETS, ReflectionConfig, choose_frames
from arena.reflection.factory import build, fingerprint
from arena.reflection.matched import MatchedReflector
from arena.reflection.reflector import Cause, Evidence, Reflection, Reflector
from arena.reflection.rules import RulesReflector
from arena.reflection.vlm import VlmReflector
from arena.sampling import sample_frames

__all__ = [
    "PRESETS",
    "Cause",
    "Evidence",
    "MatchedReflector",
    "ModelOptions",
    "Reflection",
    "ReflectionConfig",
    "Reflector",
    "RulesReflector",
    "VlmReflector",
    "build",
    "choose_frames",
    "fingerprint",
    "sample_frames",
]
