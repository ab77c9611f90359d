"""The built-in agents. Importing this module registers them; no provider's library is imported."""

from agents.human import HumanAgent
from agents.policies.agent import PolicyAgent
from agents.policy import NoisyExpert, ScriptedPolicy
from agents.registry import register
from agents.scripted import CalibratedAgent, ExpertAgent, RandomAgent
from agents.vlm import VLMAgent

register(RandomAgent)
register(ExpertAgent)
register(CalibratedAgent)
register(VLMAgent)
register(ScriptedPolicy)
register(NoisyExpert)
register(PolicyAgent)
register(HumanAgent)
