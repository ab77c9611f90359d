"""Our server of vla-eval's protocol (see the client of the same name for the source)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agents.policies import wire
from agents.policies.server import requests
from agents.policies.server.path import Refusal
from agents.policies.server.websocket import WebSocketServer
from agents.policies.vla_eval import PROTOCOL_VERSION, TYPES

if TYPE_CHECKING:
    from websockets.sync.server import ServerConnection


class VlaEvalServer(WebSocketServer):
    """Answers each observation with an action, or with a chunk where `chunk` is more than 1."""

    health = ("/health", '{"status": "ok"}\n')

    def converse(self, connection: ServerConnection) -> None:
        """One connection; an error is a message, and the connection goes on."""
        episode: Mapping[str, Any] | None = None
        while True:
            data = connection.recv()
            seq: Any = 0
            try:
                if isinstance(data, str):
                    raise Refusal("the message is a text frame; expected msgpack in a binary one")
                message = wire.unpack_text_keys(data)
                seq = requests.present(message, "seq")
                kind, payload = requests.present(message, "type"), requests.present(message, "payload")
                if kind not in TYPES or not isinstance(payload, Mapping):
                    raise Refusal(f"'type' is {str(kind)[:40]!r} with {type(payload).__name__}; there are {TYPES}")
                if kind == "hello":
                    self._say(connection, "hello", _hello(payload), seq)
                elif kind == "episode_start":
                    episode = payload
                elif kind == "episode_end":
                    episode = None
                elif kind == "observation":
                    if episode is None:
                        raise Refusal("an observation outside an episode; send episode_start first")
                    self._say(connection, "action", self._act(payload, episode), seq)
            except (Refusal, wire.WireError) as error:
                self._say(connection, "error", {"error": f"{type(error).__name__}: {error}"}, seq)

    def _act(self, payload: Mapping[str, Any], episode: Mapping[str, Any]) -> dict[str, Any]:
        images = requests.present(payload, "images")
        requests.picture(images, "agentview")
        requests.picture(images, "wrist")
        requests.text(payload, "task_description")
        state = requests.numbers(payload, "states", 8)
        rows = self.policy.chunk(episode.get(requests.SEED_KEY), state, self.length)
        return {"actions": rows if self.length > 1 else rows[0]}

    @staticmethod
    def _say(connection: ServerConnection, kind: str, payload: Mapping[str, Any], seq: Any) -> None:
        message = {"type": kind, "payload": payload, "seq": seq, "timestamp": time.time()}
        connection.send(wire.pack_text_keys(message))


def _hello(payload: Mapping[str, Any]) -> dict[str, Any]:
    version = payload.get("protocol_version")
    if version != PROTOCOL_VERSION:
        raise Refusal(f"'protocol_version' is {str(version)[:20]!r}; {PROTOCOL_VERSION} is spoken here")
    return {
        "harness_version": "0.4",
        "protocol_version": PROTOCOL_VERSION,
        "model_server": "rewind-arena",
        "capabilities": {},
        "observation_params": {"send_wrist_image": True, "send_state": True},
    }
