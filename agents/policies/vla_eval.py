"""vla-eval's protocol (AllenAI's evaluation harness, 0.4): WebSocket, msgpack, an envelope around each message.

Source: allenai/vla-evaluation-harness, `protocol/messages.py`, `connection.py`, `model_servers/serve.py`. Each message
is a map of `type`, `payload`, `seq` and `timestamp`; types are hello, episode_start, observation, action, episode_end
and error. The client speaks first (hello); the server's hello may ask for the wrist camera and the state; the answer
to an observation carries the observation's `seq`. A server's episode belongs to its connection, so a connection that
is lost in the middle of an episode ends it: it is not taken up again behind the policy's back.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from agents.errors import NetworkError, UnusableAnswer
from agents.policies import wire
from agents.policies.chunks import read_rows
from agents.policies.client import Answer, Episode
from agents.policies.sight import Sight
from agents.policies.websocket import WebSocketClient

PROTOCOL_VERSION = 1
TYPES = ("hello", "episode_start", "observation", "action", "episode_end", "error")


class VlaEvalClient(WebSocketClient):
    """The near end of vla-eval's protocol."""

    health_path = "/health"

    wants: Mapping[str, Any]
    """`observation_params` of the server's hello: what it wants to be sent."""
    _episode: Episode
    _seq = 0
    _asked = 0
    """Actions that the server has given in its present episode."""

    def begin(self, episode: Episode) -> str:
        """End the server's episode, if there is one, and start another."""
        self._episode = episode
        if self.connected:
            try:
                self._tell("episode_end", {"metrics": {}, "steps": self._asked})
            except NetworkError:
                self.drop()  # it has ended by itself
        if not self.connected:
            self.connect(self._greet)
        # No answer comes to this; an error would come before the first action.
        self._tell("episode_start", {"task": {"name": episode.instruction, "task_id": episode.task}})
        self._asked = 0
        return "episode_start"

    def ask(self, sight: Sight) -> Answer:
        """Send an observation; take the action that answers it.

        A connection that is lost before the first action of an episode has lost nothing, and is opened again once.
        """
        payload: dict[str, Any] = {
            "images": {"agentview": sight.picture("agentview")},
            "task_description": sight.prompt,
        }
        if self.wants.get("send_wrist_image"):
            payload["images"]["wrist"] = sight.picture("wrist")
        if self.wants.get("send_state"):
            payload["states"] = sight.state
        since_s = time.perf_counter()
        try:
            message = self._act(payload)
        except NetworkError:
            if self._asked:
                raise
            self.drop()
            self.begin(self._episode)
            message = self._act(payload)
        rows = read_rows(wire.field(message["payload"], "actions", "action"), "actions", single=True)
        self._asked += 1
        return Answer(rows=rows, name="actions", notes={"latency_ms": self.elapsed_ms(since_s)})

    def _act(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        """An observation, and the message that answers it."""
        seq = self._tell("observation", payload)
        message = self._heard("action")
        if message["seq"] != seq:
            raise wire.WireError(f"the action's `seq` is {str(message['seq'])[:20]}, the observation's was {seq}")
        return message

    def _greet(self) -> None:
        self._tell("hello", {"harness_version": "0.4", "protocol_version": PROTOCOL_VERSION})
        hello = self._heard("hello")["payload"]
        version = wire.field(hello, "protocol_version")
        if version != PROTOCOL_VERSION:
            raise wire.WireError(
                f"the server's hello: `protocol_version` is {str(version)[:20]}; {PROTOCOL_VERSION} is spoken here"
            )
        wants = hello.get("observation_params") or {}
        if not isinstance(wants, Mapping):
            raise wire.WireError(f"the server's hello: `observation_params` is {type(wants).__name__}, not a map")
        self.wants = wants

    def _tell(self, kind: str, payload: Mapping[str, Any]) -> int:
        """Send a message; returns its number."""
        self._seq += 1
        message = {"type": kind, "payload": payload, "seq": self._seq, "timestamp": time.time()}
        self.send(wire.pack_text_keys(message))
        return self._seq

    def _heard(self, kind: str) -> Mapping[str, Any]:
        """The next message, which must be of a kind."""
        data = self.receive()
        if isinstance(data, str):
            raise self.traceback(data)
        message = wire.unpack_text_keys(data)
        told = wire.field(message, "type")
        payload, _ = wire.field(message, "payload"), wire.field(message, "seq")
        if told == "error":
            said = payload.get("error", payload) if isinstance(payload, Mapping) else payload
            raise UnusableAnswer(f"{self.options.place} answers with an error: {self.quoted(str(said)[:4000])}")
        if told != kind or not isinstance(payload, Mapping):
            raise wire.WireError(f"expected a message of type {kind!r} with a map, got {str(told)[:40]!r}")
        return {"payload": payload, "seq": message["seq"]}
