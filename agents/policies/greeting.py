"""Whether a policy server is there and speaks the protocol: asked before hours of episodes rest on it."""

from __future__ import annotations

from agents.errors import ProviderError, UnusableAnswer
from agents.policies.agent import make_client
from agents.policies.client import Episode
from agents.policies.options import PolicyOptions
from agents.policies.wire import WireError

PATIENCE_S = 10.0
"""Longest wait for a greeting; a server that is still loading its model does not listen yet."""


def greet(options: PolicyOptions) -> None:
    """Begin an episode at the server once, and hang up. OpenVLA's protocols know no beginning: there nothing is asked.

    Raises:
        ProviderError: if nobody is there, or who is there speaks something else.
    """
    if options.url is None:  # LeRobot in this process
        return
    once = options.model_copy(update={"retries": 0, "timeout_s": min(options.timeout_s, PATIENCE_S)})
    client = make_client(once)
    try:
        client.begin(Episode(session="0" * 32, task="greeting", instruction="stand by"))
    except WireError as error:
        raise UnusableAnswer(f"{options.place}: {error}; nothing was played") from None
    except ProviderError as error:
        raise type(error)(f"{error}; nothing was played") from None
    finally:
        client.drop()
