"""OpenVLA's protocol: HTTP POST `/act`, arrays as json-numpy writes them.

Sources: openvla/openvla, `vla-scripts/deploy.py` (port 8000: `image`, `instruction`, `unnorm_key` -> 7 numbers), and
moojink/openvla-oft, the same file (port 8777: `full_image`, `wrist_image`, `state`, `instruction` -> a chunk).
An error inside the server comes as HTTP 200 with the JSON text "error"; the traceback is in the server's log alone.
Nothing is remembered between requests, so there is nothing to reset.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from agents.errors import (
    AuthenticationFailed,
    BadRequest,
    NetworkError,
    ProviderTimeout,
    ServerError,
    UnusableAnswer,
)
from agents.gateway import bodies
from agents.policies import wire
from agents.policies.chunks import read_rows
from agents.policies.client import Answer, Episode, PolicyClient
from agents.policies.sight import Sight


class OpenVLAClient(PolicyClient):
    """The near end of OpenVLA's protocol, plain or OFT."""

    _http: Any = None

    def begin(self, episode: Episode) -> str:
        """Nothing to reset; a new connection all the same, so that episodes are apart in the server's log."""
        self.drop()
        return "none needed: each request stands alone"

    def ask(self, sight: Sight) -> Answer:
        """Post one observation; take an action or a chunk."""
        since_s = time.perf_counter()
        reply = self._post(wire.to_json(self.request(sight)))
        rows = read_rows(_unwrapped(reply, self), "action", single=True)
        notes = {"latency_ms": round(1000 * (time.perf_counter() - since_s), 3)}
        return Answer(rows=rows, name="action", notes=notes)

    def request(self, sight: Sight) -> dict[str, Any]:
        """The JSON of one request."""
        if self.options.protocol == "openvla-oft":
            return {
                "full_image": sight.picture("agentview"),
                "wrist_image": sight.picture("wrist"),
                "state": sight.state,
                "instruction": sight.prompt,
            }
        request: dict[str, Any] = {"image": sight.picture("agentview"), "instruction": sight.prompt}
        return request | ({"unnorm_key": self.options.unnorm_key} if self.options.unnorm_key else {})

    def drop(self) -> None:
        """Close the connections."""
        http, self._http = self._http, None
        if http is not None:
            http.close()

    def _post(self, body: bytes) -> Any:
        """Post until there is an answer: no connection and 5xx are tried again, with growing pauses."""
        policy, chance = self.retry_policy(), random.Random()
        attempt = 0
        while True:
            try:
                return wire.from_json(self._send(body))
            except (NetworkError, ServerError) as error:
                if attempt == policy.max_retries:
                    raise type(error)(f"{error} ({attempt + 1} attempts)") from None
            self.clock.sleep(policy.wait(attempt, chance, None))
            attempt += 1

    def _send(self, body: bytes) -> bytes:
        import httpx

        place, timeout_s = self.options.place, self.options.timeout_s
        if self._http is None:
            self._http = httpx.Client(timeout=timeout_s, trust_env=False)
        deadline_s = self.clock.monotonic() + timeout_s
        try:
            with self._http.stream("POST", self._url(), content=body, headers=self._headers()) as reply:
                pieces = self._until(deadline_s, reply.iter_raw())
                packing = reply.headers.get("content-encoding", "")
                said = self.blotted(b"".join(bodies.unpacked(pieces, packing, wire.MAX_BYTES)))
        except bodies.UnreadableBody as error:
            raise UnusableAnswer(f"{place} answers, and its body {error}") from None
        except httpx.ConnectTimeout:
            raise NetworkError(f"{place}: no connection within {timeout_s:g} s") from None
        except httpx.TimeoutException:
            raise ProviderTimeout(f"{place} gave no answer within `timeout_s` = {timeout_s:g} s") from None
        except httpx.TransportError as error:
            raise NetworkError(
                f"{place}: {type(error).__name__}: {self.quoted(str(error))}; start the server, or check `url`"
            ) from None
        self._check(reply.status_code, said)
        return said

    def _until(self, deadline_s: float, pieces: Iterator[bytes]) -> Iterator[bytes]:
        """The pieces of a body, in time: httpx bounds each wait, and not the whole."""
        import httpx

        for piece in pieces:
            if self.clock.monotonic() > deadline_s:
                raise httpx.ReadTimeout("")
            yield piece

    def _check(self, status: int, data: bytes) -> None:
        place = self.options.place
        said = self.quoted(data[:2000].decode("utf-8", "replace"))
        if status in (401, 403):
            raise AuthenticationFailed(f"{place} answers HTTP {status}; check the key that `key_env` names: {said}")
        if status >= 500:
            raise ServerError(f"{place} answers HTTP {status}: {said}", status=status)
        if status != 200:
            raise BadRequest(f"{place} answers HTTP {status} to POST {urlsplit(self._url()).path}: {said}")

    def _url(self) -> str:
        url = str(self.options.url).rstrip("/")
        return url if urlsplit(url).path else f"{url}/act"

    def _headers(self) -> dict[str, str]:
        key = self.options.key()
        usual = {"Content-Type": "application/json", "Accept-Encoding": bodies.ACCEPTED}
        return usual | ({"Authorization": f"Bearer {key}"} if key else {})


def _unwrapped(reply: Any, client: OpenVLAClient) -> Any:
    """The action of a reply: an array, a list of numbers or arrays, or a map that holds one."""
    if isinstance(reply, str):
        if reply == "error":
            raise UnusableAnswer(
                f'{client.options.place} answers HTTP 200 with "error": its own log has the traceback; often a missing'
                " `unnorm_key`, or the other of openvla and openvla-oft in `protocol`"
            )
        raise UnusableAnswer(f"{client.options.place} answers with text: {client.quoted(reply)}")
    if isinstance(reply, dict):
        if "error" in reply:
            raise UnusableAnswer(f"{client.options.place} answers HTTP 200 with {client.quoted(str(reply)[:2000])}")
        return wire.field(reply, "action", "actions")
    return reply
