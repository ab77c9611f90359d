"""Starting a server, and what all of them are: a thread, an address, an end."""

from __future__ import annotations

import difflib
import importlib
from typing import Any, Protocol

from agents.policies.server.path import Served

_SERVERS: dict[str, tuple[str, str]] = {
    "openpi": ("agents.policies.server.openpi", "OpenPiServer"),
    "roboarena": ("agents.policies.server.openpi", "RoboArenaServer"),
    "openvla": ("agents.policies.server.openvla", "OpenVLAServer"),
    "openvla-oft": ("agents.policies.server.openvla", "OpenVLAOFTServer"),
    "vla-eval": ("agents.policies.server.vla_eval", "VlaEvalServer"),
}
PROTOCOLS = tuple(_SERVERS)


class PolicyServer(Protocol):
    """A server that listens; ends with `close`."""

    @property
    def url(self) -> str:
        """Where clients find it."""

    def close(self) -> None:
        """Stop listening and end all connections."""

    def __enter__(self) -> PolicyServer:
        """Serve."""

    def __exit__(self, *_: object) -> None:
        """`close`."""


def serve(protocol: str, policy: Served, host: str = "127.0.0.1", port: int = 0, chunk: int = 10) -> PolicyServer:
    """Serve a policy in threads of this process, until `close`.

    Args:
        protocol: one of `PROTOCOLS`.
        policy: what is served.
        host: address to listen at.
        port: 0 takes a free one.
        chunk: actions in an answer; plain OpenVLA has one.

    Raises:
        ValueError: for another protocol, with the nearest name.
        OSError: if the port is taken.
    """
    if protocol not in _SERVERS:
        near = difflib.get_close_matches(protocol, PROTOCOLS, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(PROTOCOLS)}"
        raise ValueError(f"no protocol {protocol!r}; {hint}")
    module, name = _SERVERS[protocol]
    build: Any = getattr(importlib.import_module(module), name)
    server: PolicyServer = build(policy, host, port, chunk)
    return server
