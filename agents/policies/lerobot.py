"""LeRobot's policies, run in this process by LeRobot's own package (the extra `lerobot`; Python 3.12 and newer).

Source: huggingface/lerobot 0.6, `policies/factory.py`, `policies/pretrained.py`, `envs/libero.py` and
`processor/env_processor.py`. LIBERO's names: `observation.images.image`, `observation.images.image2` (the wrist),
channels first, float32 in 0..1, batch of one, both pictures turned as for the other LIBERO policies;
`observation.state` (8,); `task`. Chunks come from `predict_action_chunk`, so the arena keeps the queue.
"""

from __future__ import annotations

import importlib
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.errors import UnusableAnswer
from agents.gateway.retry import Clock
from agents.policies.chunks import Rows, read_rows
from agents.policies.client import Answer, Episode, PolicyClient
from agents.policies.options import PolicyOptions
from agents.policies.sight import Sight
from agents.policies.wire import WireError

IMAGE, WRIST, STATE = "observation.images.image", "observation.images.image2", "observation.state"


class LeRobotClient(PolicyClient):
    """A policy of LeRobot, loaded at the first request."""

    def __init__(self, options: PolicyOptions, clock: Clock | None = None, loaded: Any = None) -> None:
        super().__init__(options, clock)
        self._loaded: _Loaded | None = loaded

    def begin(self, episode: Episode) -> str:
        """Load the policy if need be, and call its `reset`."""
        if self._loaded is None:
            self._loaded = _load(str(self.options.model), self.options.device)
        self._loaded.reset()
        self.default_replan = self._loaded.n_action_steps
        return "reset()"

    def ask(self, sight: Sight) -> Answer:
        """One inference."""
        if self._loaded is None:
            raise WireError("the policy was not begun")
        since_s = time.perf_counter()
        batch = {
            IMAGE: channels_first(sight.picture("agentview")),
            WRIST: channels_first(sight.picture("wrist")),
            STATE: sight.state[np.newaxis],
        }
        try:
            told = self._loaded.chunk(batch, sight.prompt)
        except (RuntimeError, ValueError, TypeError, KeyError, AttributeError) as error:  # what torch and LeRobot raise
            raise UnusableAnswer(
                f"lerobot policy {self.options.model!r} failed: {type(error).__name__}: {self.quoted(str(error))}"
            ) from None
        rows = read_rows(told, "actions")
        return Answer(rows=rows, name="actions", notes={"latency_ms": round(1000 * (time.perf_counter() - since_s), 3)})

    def drop(self) -> None:
        """Nothing: the weights stay in memory for the next episode."""


def channels_first(picture: NDArray[np.uint8]) -> NDArray[np.float32]:
    """(H, W, 3) uint8 as (1, 3, H, W) float32 in 0..1."""
    return np.ascontiguousarray(picture.transpose(2, 0, 1)[np.newaxis]).astype(np.float32) / np.float32(255)


class _Loaded:
    """A policy with its processors; the only part that knows LeRobot and torch."""

    def __init__(self, policy: Any, before: Any, after: Any, torch: Any) -> None:
        self._policy, self._before, self._after, self._torch = policy, before, after, torch

    @property
    def n_action_steps(self) -> int | None:
        """Steps of a chunk that the policy's own configuration executes."""
        steps = getattr(self._policy.config, "n_action_steps", None)
        return steps if isinstance(steps, int) and steps > 0 else None

    def reset(self) -> None:
        self._policy.reset()

    def chunk(self, batch: dict[str, NDArray[np.float32]], task: str) -> Rows:
        """(H, 7) actions for one observation."""
        torch = self._torch
        inputs: dict[str, Any] = {name: torch.from_numpy(value) for name, value in batch.items()}
        # A policy of one camera takes no second one.
        wanted = set(getattr(self._policy.config, "input_features", None) or inputs)
        inputs = {name: value for name, value in inputs.items() if name in wanted or name == STATE}
        with torch.inference_mode():
            chunk = self._policy.predict_action_chunk(self._before({**inputs, "task": [task]}))
            rows = self._after(chunk.reshape(-1, chunk.shape[-1]))
        values: Rows = rows.to("cpu").numpy().astype(np.float64)
        return values


def _load(model: str, device: str | None) -> _Loaded:
    """Load a policy from a folder or the hub.

    Raises:
        UnusableAnswer: if LeRobot cannot load it, or it looks back over several observations.
    """
    torch = importlib.import_module("torch")
    configs = importlib.import_module("lerobot.configs")
    factory = importlib.import_module("lerobot.policies.factory")
    try:
        config = configs.PreTrainedConfig.from_pretrained(model)
        if device:
            config.device = device
        if getattr(config, "n_obs_steps", 1) != 1:
            raise UnusableAnswer(
                f"lerobot policy {model!r} looks at {config.n_obs_steps} observations at once (`n_obs_steps`); it would"
                " need each step's picture, and only one of a chunk is drawn"
            )
        policy = factory.get_policy_class(config.type).from_pretrained(model, config=config)
        overrides = {"device_processor": {"device": str(config.device)}}
        before, after = factory.make_pre_post_processors(
            config, pretrained_path=model, preprocessor_overrides=overrides
        )
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise UnusableAnswer(f"lerobot cannot load `model` {model!r}: {type(error).__name__}: {error}") from None
    return _Loaded(policy, before, after, torch)
