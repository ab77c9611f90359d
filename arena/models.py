"""The options of a model that reflects or judges: where it is, and how it is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field

from agents.calls import Purpose
from agents.gateway import GatewaySettings, Image, Message, ModelRequest
from agents.gateway.messages import Mode
from environments.env import Frame

_CHANGES_THE_ANSWER = {"model", "temperature", "max_tokens", "seed", "mode", "longest_side"}


class ModelOptions(GatewaySettings):
    """A model behind the gateway, and how it is asked. Holds no key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Mode = Field("tool", description="how the structured answer is asked for")
    temperature: float | None = Field(0.0, ge=0, le=2, description="None leaves it to the provider")
    max_tokens: int = Field(2048, ge=64, le=65_536, description="upper bound of the answer's length")
    seed: int | None = Field(None, description="sent to providers that take one")
    timeout_s: float = Field(120.0, gt=0, description="longest wait for one attempt")
    longest_side: int = Field(768, ge=64, le=4096, description="pictures are shrunk to this; never enlarged")

    def fingerprint(self) -> dict[str, Any]:
        """What changes the answer, as JSON values: no key, port, patience, rate or price."""
        host = urlsplit(self.base_url).hostname if self.base_url else None
        return {"host": host, "backend": self.way, **self.model_dump(mode="json", include=_CHANGES_THE_ANSWER)}

    def picture(self, frame: Frame) -> Image:
        """A frame as the model is shown it."""
        return Image.from_frame(frame, longest_side=self.longest_side)

    def request(
        self,
        purpose: Purpose,
        messages: tuple[Message, ...],
        *,
        schema: Mapping[str, Any],
        schema_name: str,
        schema_help: str,
        repeat: int = 0,
    ) -> ModelRequest:
        """A question to the model, asked as these options say."""
        return ModelRequest(
            purpose=purpose,
            messages=messages,
            schema=schema,
            schema_name=schema_name,
            schema_help=schema_help,
            mode=self.mode,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            timeout_s=self.timeout_s,
            repeat=repeat,
        )
