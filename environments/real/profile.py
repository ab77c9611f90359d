"""The profile of a real robot's task: a small YAML file, from which `real/<name>-v<version>` is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from environments import plain_yaml
from environments.errors import InvalidProfile, NotPlainYaml

MAX_BYTES = 64 * 2**10
_Text = Annotated[str, Field(min_length=1, max_length=200)]
_Camera = Annotated[str, Field(min_length=1, max_length=60)]


class RobotProfile(BaseModel):
    """What the arena must know to let a policy play a robot that it does not have."""

    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)

    name: Annotated[str, Field(pattern=r"^[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?$")]
    """The task is called `real/<name>-v<version>`."""
    version: Annotated[int, Field(ge=1, le=999, strict=True)] = 1
    """Raise it with every change of robot, scene or goal: results are found again by the task's id."""
    title: _Text
    goal: _Text
    """What the policy is told."""
    url: str
    """Of the robot's server, `ws://host:port`."""
    max_steps: Annotated[int, Field(ge=1, le=100_000, strict=True)]
    """Actions of an episode, those of the way back included."""
    agentview: _Camera = "agentview"
    """The robot's camera that is shown as the view from outside."""
    wrist: _Camera = "wrist"
    """The one at the wrist."""
    picture: tuple[Annotated[int, Field(ge=16, le=4096)], Annotated[int, Field(ge=16, le=4096)]] = (256, 256)
    """Height and width of both cameras' pictures."""
    execute_s: Annotated[float, Field(gt=0, le=600)] = 1.0
    """Seconds of motion after which the robot pauses to be looked at (VLA-FixBench: 1 s)."""
    timeout_s: Annotated[float, Field(gt=0, le=600)] = 5.0
    """Within which the robot answers."""
    operator_s: Annotated[float, Field(gt=0, le=86_400)] = 600.0
    """Within which the operator sets the scene, or judges."""

    @field_validator("url")
    @classmethod
    def _is_websocket(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("ws", "wss") or not parts.hostname or re.search(r"\s", value):
            raise ValueError("expected ws://host:port")
        return value

    @property
    def task_id(self) -> str:
        """The id of the task."""
        return f"real/{self.name}-v{self.version}"


def load(path: Path | str) -> RobotProfile:
    """Read and validate a profile.

    Raises:
        InvalidProfile: with every problem of the file, each with its field.
    """
    path = Path(path)
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        return parse(data.decode("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidProfile(str(path), [f"file: cannot be read: {error}"]) from None


def parse(text: str, source: str = "robot") -> RobotProfile:
    """Validate the YAML text of a profile.

    Raises:
        InvalidProfile: with every problem, each with its field.
    """
    if len(text) > MAX_BYTES:
        raise InvalidProfile(source, [f"file: is larger than {MAX_BYTES // 1024} kB"])
    try:
        values: Any = plain_yaml.load(text, aliases=False)
        return RobotProfile.model_validate(values)
    except NotPlainYaml as error:
        raise InvalidProfile(source, [f"{where}: {message}" for where, message in error.problems]) from None
    except ValidationError as error:
        problems = [f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in error.errors()]
        raise InvalidProfile(source, problems) from None
