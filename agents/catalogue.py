"""The built-in agents. Importing this module registers them; no model's library is imported."""

from agents.registry import register
from agents.scripted import CalibratedAgent, ExpertAgent, RandomAgent

register(RandomAgent)
register(ExpertAgent)
register(CalibratedAgent)
