"""Players: scripted, random, and models behind one gateway.

    import agents

    player = agents.create("calibrated", {"p": 0.6, "gain": 0.3})
    player.reset(briefing)
    decision = player.act(observation)

Importing this package touches neither the network, nor a key, nor a provider's library.
"""

from agents import catalogue as _catalogue  # noqa: F401  registers the built-in agents
from agents.agent import Agent, Briefing, Decision, NoOptions
from agents.calls import ModelCall
from agents.registry import create, describe, get, names, register

__all__ = [
    "Agent",
    "Briefing",
    "Decision",
    "ModelCall",
    "NoOptions",
    "create",
    "describe",
    "get",
    "names",
    "register",
]
