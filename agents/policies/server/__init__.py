"""The other end of each protocol: our own servers, against which a team tests its client.

`serve` starts one. What they serve is a `Served` policy; `path.ExpertPath` is the scripted expert as such a policy.
They check what they are sent and say what is wrong with it, in the way of their protocol.
"""

from agents.policies.server.serving import PROTOCOLS, PolicyServer, serve

__all__ = ["PROTOCOLS", "PolicyServer", "serve"]
