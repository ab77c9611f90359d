"""What may be set of a policy, and the conventions that each protocol's policies usually have."""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from agents.gateway.settings import EnvironmentVariable

Protocol = Literal["openpi", "roboarena", "openvla", "openvla-oft", "vla-eval", "lerobot"]
Orientation = Literal["mirror", "upright", "rotate180"]
Gripper = Literal["signed", "unit-open", "unit-close"]
Resize = Literal["pad", "stretch"]

SCHEMES: dict[str, tuple[str, ...]] = {
    "openpi": ("ws", "wss"),
    "roboarena": ("ws", "wss"),
    "openvla": ("http", "https"),
    "openvla-oft": ("http", "https"),
    "vla-eval": ("ws", "wss"),
    "lerobot": (),
}
_PORTS = {"ws": 80, "wss": 443, "http": 80, "https": 443}
PACKAGES: dict[str, tuple[tuple[str, ...], str]] = {
    "openpi": (("websockets", "msgpack"), "policies"),
    "roboarena": (("websockets", "msgpack"), "policies"),
    "openvla": (("httpx",), "policies"),
    "openvla-oft": (("httpx",), "policies"),
    "vla-eval": (("websockets", "msgpack"), "policies"),
    "lerobot": (("lerobot", "torch"), "lerobot"),
}
"""The modules that a protocol needs, and the extra of this package that brings them."""


def missing_packages(protocol: str) -> str | None:
    """Which of a protocol's packages are not installed and how they are, or None if all are."""
    modules, extra = PACKAGES[protocol]
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if not missing:
        return None
    return (
        f"protocol {protocol!r} needs {' and '.join(missing)}, not installed;"
        f" install with: pip install 'rewind-arena[{extra}]'"
    )


@dataclass(frozen=True, slots=True)
class Conventions:
    """How a policy wants its pictures, and how it says its actions."""

    orientation: Orientation
    image_size: int | None
    """Edge of the square pictures in pixels; None sends them as they are, or as the server asks."""
    resize: Resize
    gripper: Gripper
    binarise_gripper: bool
    replan: int | None
    """Steps of a chunk that are executed; None executes all."""


USUAL: dict[str, Conventions] = {
    # openpi, examples/libero/main.py: 224 x 224 with padding, 5 steps of a chunk of 10, gripper as LIBERO's.
    "openpi": Conventions("mirror", 224, "pad", "signed", False, 5),
    # RoboArena: the server's metadata ask for a size; all N are executed; DROID's gripper is 0 open, 1 closed.
    "roboarena": Conventions("upright", None, "pad", "unit-close", False, None),
    # OpenVLA, experiments/robot: 224 x 224 by Lanczos; the gripper of its data is 0 closed, 1 open.
    "openvla": Conventions("mirror", 224, "stretch", "unit-open", True, None),
    "openvla-oft": Conventions("mirror", 224, "stretch", "unit-open", True, None),
    # vla-eval, benchmarks/libero: 256 x 256 with padding, gripper binarised at 0.
    "vla-eval": Conventions("mirror", 256, "pad", "signed", True, None),
    "lerobot": Conventions("mirror", None, "pad", "signed", False, None),
}


class PolicyOptions(BaseModel):
    """Where a policy is served and how it is spoken to. Nothing here is a key: `key_env` names a variable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    protocol: Protocol = Field(description="openpi, roboarena, openvla, openvla-oft, vla-eval or lerobot")
    url: str | None = Field(None, max_length=300, description="where it is served, such as ws://127.0.0.1:8000")
    model: str | None = Field(
        None, max_length=200, description="what is served there: the wire does not tell; lerobot: folder or hub id"
    )
    replan: int | None = Field(None, ge=1, le=1000, description="steps of a chunk played before the next request")
    image_size: int | None = Field(None, ge=32, le=1024, description="edge of the square pictures sent, pixels")
    orientation: Orientation | None = Field(
        None, description="of the pictures sent: mirror (as LIBERO's data), upright or rotate180"
    )
    resize: Resize | None = Field(None, description="pad keeps the shape, stretch fills the square")
    gripper: Gripper | None = Field(
        None, description="signed: -1 opens, 1 closes; unit-open: 1 opens, 0 closes; unit-close: 0 opens, 1 closes"
    )
    binarise_gripper: bool | None = Field(None, description="make the gripper's command -1 or 1")
    tolerance: float = Field(
        0.1, ge=0, description="actions that far outside [-1, 1] are clipped, as the controller does; more is an error"
    )
    prompt: str | None = Field(None, min_length=1, max_length=1000, description="told in place of the task's goal")
    unnorm_key: str | None = Field(None, max_length=200, description="OpenVLA: statistics that scale its actions")
    device: str | None = Field(None, max_length=40, description="lerobot: such as cuda or cpu; null is its own choice")
    timeout_s: float = Field(60.0, gt=0, le=3600, description="longest wait for one answer")
    retries: int = Field(5, ge=0, le=50, description="further attempts to connect, with growing pauses")
    key_env: EnvironmentVariable | None = Field(None, description="environment variable that holds the server's key")

    @field_validator("prompt", "model", "unnorm_key", "device")
    @classmethod
    def _is_printable(cls, value: str | None) -> str | None:
        if value is not None and not value.isprintable():
            raise ValueError("must be one line of printable characters")
        return value

    # On the whole and not on the field: a wrong URL may hold a password and must not be shown.
    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        schemes = SCHEMES[self.protocol]
        if not schemes:
            if self.url is not None:
                raise ValueError(f"protocol {self.protocol!r} runs in this process and takes no `url`")
            if self.model is None:
                raise ValueError(f"protocol {self.protocol!r} needs `model`: a folder or a hub id")
            return self
        wanted = f"`url` must be {schemes[0]}:// or {schemes[1]}:// with host and port for protocol {self.protocol!r}"
        if self.url is None:
            raise ValueError(f"{wanted}; it is missing")
        try:
            parts = urlsplit(self.url)
            port = parts.port
        except ValueError:
            raise ValueError(f"{wanted}; it cannot be read") from None
        if parts.scheme not in schemes or not parts.hostname or port == 0:
            raise ValueError(wanted)
        if parts.username or parts.password or parts.query or parts.fragment:
            raise ValueError("`url` must hold no user, password, query or fragment; a key comes from `key_env`")
        return self

    @property
    def host(self) -> str | None:
        """What tells servers apart: the host, and without `model`, which says what is served there, the whole address.

        Two checkpoints on two ports of one machine are two policies. Who says what they are may serve them on any port.
        """
        if self.url is None:
            return None
        parts = urlsplit(self.url)
        if self.model is not None:
            return parts.hostname
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        port = parts.port or _PORTS[parts.scheme]
        return f"{parts.scheme}://{name}:{port}{parts.path.rstrip('/')}"

    @property
    def place(self) -> str:
        """Protocol and address, for messages."""
        return f"{self.protocol} policy at {urlsplit(self.url).netloc}" if self.url else f"{self.protocol} policy"

    def key(self) -> str | None:
        """The key, or None where there is none."""
        return os.environ.get(self.key_env) or None if self.key_env else None

    def conventions(self) -> Conventions:
        """The protocol's usual conventions, with what is set here in their place."""
        usual = USUAL[self.protocol]
        return Conventions(
            orientation=self.orientation or usual.orientation,
            image_size=self.image_size or usual.image_size,
            resize=self.resize or usual.resize,
            gripper=self.gripper or usual.gripper,
            binarise_gripper=usual.binarise_gripper if self.binarise_gripper is None else self.binarise_gripper,
            replan=self.replan or usual.replan,
        )
