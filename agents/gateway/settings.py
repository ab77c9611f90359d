"""What the gateway must be told: which model, where, with which key, how patiently, at which price."""

from __future__ import annotations

import os
import re
from decimal import Decimal
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator


def _is_variable(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,99}", name):
        raise ValueError("must be the name of an environment variable, not a key")
    return name


EnvironmentVariable = Annotated[str, AfterValidator(_is_variable)]
"""The name of a variable; whoever pastes a key there is told so."""
Price = Annotated[Decimal, Field(ge=0, description="US dollars per million tokens")]


class GatewaySettings(BaseModel):
    """Where a model is and how it is called. Nothing here is a key: `key_env` names a variable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    model: str = Field(min_length=1, max_length=200, description="name at the endpoint, or litellm's `provider/name`")
    base_url: str | None = Field(
        None, max_length=300, description="an OpenAI-compatible endpoint; without it, litellm's providers"
    )
    backend: Literal["auto", "openai", "litellm"] = Field("auto", description="auto: openai if base_url is given")
    key_env: EnvironmentVariable | None = Field(None, description="environment variable that holds the key")
    max_retries: int = Field(4, ge=0, le=20, description="further attempts after 429, 5xx, timeout, no connection")
    total_timeout_s: float = Field(300.0, gt=0, description="no attempt of a call begins later than this")
    requests_per_minute: float | None = Field(None, gt=0, description="shared by all agents of the process")
    tokens_per_minute: float | None = Field(None, gt=0, description="shared by all agents of the process")
    input_price: Price | None = None
    output_price: Price | None = None

    @field_validator("base_url")
    @classmethod
    def _is_plain_url(cls, value: str | None) -> str | None:
        if value is None:
            return None
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must be an http(s) URL such as http://127.0.0.1:8000/v1")
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("must hold no user, password, query or fragment; the key comes from `key_env`")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.backend == "openai" and self.base_url is None:
            raise ValueError("backend 'openai' needs base_url")
        if (self.input_price is None) != (self.output_price is None):
            raise ValueError("input_price and output_price go together: give both or none")
        return self

    @property
    def way(self) -> Literal["openai", "litellm"]:
        """The back end in use."""
        if self.backend != "auto":
            return self.backend
        return "litellm" if self.base_url is None else "openai"

    @property
    def endpoint(self) -> str:
        """Base URL, or `litellm:provider`."""
        if self.base_url is not None:
            return self.base_url
        provider, slash, _ = self.model.partition("/")
        return f"litellm:{provider}" if slash else "litellm"

    @property
    def key_variable(self) -> str | None:
        """The variable that the key is read from.

        Without `key_env`: OPENAI_API_KEY for api.openai.com alone, ARENA_API_KEY for every other
        `base_url`, so that no key goes to an address that it was not meant for; None leaves it to
        litellm, which knows its providers' variables.
        """
        if self.key_env or self.base_url is None:
            return self.key_env
        return "OPENAI_API_KEY" if urlsplit(self.base_url).hostname == "api.openai.com" else "ARENA_API_KEY"

    def key(self) -> str | None:
        """The key, or None where there is none."""
        return os.environ.get(self.key_variable) or None if self.key_variable else None
