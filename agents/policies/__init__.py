"""Policies served by other processes (or by LeRobot in this one): one file a protocol, one agent for all.

`agents.policies.agent.PolicyAgent` is the player; `agents.policies.server` is the other end of the same protocols.
The wire formats are those of the projects named in each file; facts only, no code of theirs.
"""
