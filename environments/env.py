"""The environment contract: a Gymnasium environment that can also tell the truth and go back."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Callable, ItemsView, Iterator, Mapping, ValuesView
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from environments.actions.spec import Action, NativeActions, TypedActions
from environments.errors import InvalidSnapshot, StaleObservation
from environments.facts import Facts
from environments.task import ActionSpace, Task

Frame = NDArray[np.uint8]
"""An RGB picture, (H, W, 3) uint8."""


class Views(dict[str, Any]):
    """An observation whose pictures are rendered when somebody first looks at them.

    A rollout that never looks at a camera never pays for it. A picture belongs to its moment:
    reading one for the first time after the environment has moved on raises `StaleObservation`
    instead of showing the future.

    Every way of reading (indexing, `get`, `items`, `values`, `dict(views)`) renders what it reads;
    `rendered` asks without paying. Comparing two observations with `==` reads nothing: compare pictures.
    """

    def __init__(self, values: Mapping[str, Any], renderers: Mapping[str, Callable[[], Frame]], env: ArenaEnv) -> None:
        super().__init__({**values, **dict.fromkeys(renderers)})
        self._renderers = dict(renderers)
        self._env = env
        self._moment = env.moment
        if not env.lazy:
            for key in renderers:
                self[key]  # looking renders

    def __getitem__(self, key: str) -> Any:
        if key in self._renderers:
            if self._env.moment != self._moment:
                raise StaleObservation(f"observation[{key!r}] was not looked at before the environment moved on")
            self[key] = self._renderers[key]()
            del self._renderers[key]  # only now: a renderer that failed can be asked again
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, rendered, or `default`."""
        return self[key] if key in self else default  # noqa: SIM401  this is that get

    def __iter__(self) -> Iterator[str]:
        # Defined although it changes nothing: only then do dict(views) and {**views} go through
        # __getitem__. They copy a dict's unrendered insides otherwise.
        return super().__iter__()

    def items(self) -> ItemsView[str, Any]:  # type: ignore[override]
        """Keys with their values, rendered when the iteration gets to them."""
        return ItemsView(self)

    def values(self) -> ValuesView[Any]:  # type: ignore[override]
        """The values, rendered when the iteration gets to them."""
        return ValuesView(self)

    def copy(self) -> dict[str, Any]:
        """A plain dictionary with every picture rendered; it stays valid when the world moves on."""
        return dict(self)

    def __reduce__(self) -> tuple[type[dict[str, Any]], tuple[dict[str, Any]]]:
        return dict, (self.copy(),)  # a copy in another process has no environment to render from

    def with_values(self, **values: Any) -> Views:
        """The same observation with other values; pictures are still rendered when they are looked at."""
        pictures = {key: (lambda key=key: self[key]) for key in self if key in self._renderers}
        plain = {key: dict.__getitem__(self, key) for key in self if key not in self._renderers}
        return Views({**plain, **values}, pictures, self._env)

    def rendered(self, key: str) -> bool:
        """Whether the picture has been paid for already."""
        return key in self and key not in self._renderers


class ArenaEnv(gymnasium.Env[dict[str, Any], Action]):
    """One task behind one action space.

    Beyond `gymnasium.Env`: exact `snapshot`/`restore`, and the engine's own truth (`milestones`,
    `score`, `success`), which never enters an observation. An environment knows neither who plays
    nor that it is recorded.

    `step` returns an info with one key, `illegal`: None, or the reason why the rules refused the
    action (the world then has not been changed by it, though time may have passed).
    An action that the schema refuses raises `InvalidAction` and changes nothing.
    Same seed and same actions give the same frames and states in a fresh process.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012  Gymnasium's own form
    snapshot_version = 1
    """Raise it whenever old snapshots can no longer be restored."""
    reversible: bool = True
    """Whether `snapshot` and `restore` work and equal actions give equal frames. Where it is False an interrupted
    episode cannot be continued, only played anew."""
    lazy: bool = True
    """Render pictures when they are looked at. Set it to False for code that keeps observations unread
    across steps, as Gymnasium's own checker does: they are then complete at once."""

    action_space: TypedActions | NativeActions  # type: ignore[assignment]
    observation_space: spaces.Dict

    def __init__(self, task: Task, space: ActionSpace) -> None:
        self.task = task
        self.space = space
        self.render_mode = "rgb_array"
        self.moment = 0
        """Counts every change of the world (reset, step, advance, restore); dates observations."""

    @property
    @abstractmethod
    def main_view(self) -> str:
        """The observation key of the picture that is recorded and shown in the replay."""

    @abstractmethod
    def observe(self) -> Views:
        """The observation of the present moment; its pictures are rendered when looked at."""

    def perceived(self, observation: Mapping[str, Any]) -> Mapping[str, Any]:
        """What the player gets to see of an observation of now: all of it, unless a fault lies between."""
        return observation

    def advance(self, ms: int) -> bool:
        """Let the world run on for `ms` milliseconds without an action; whether the episode is now over.

        An untimed world waits for its player and does not change.
        """
        return False

    @property
    def clock_ms(self) -> int:
        """Game time since the start of the episode in milliseconds; 0 in a world that waits for its player."""
        return 0

    def override(self, action: Action) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """`step`, by somebody who has taken over from the player: a fault of what the player decides has no part."""
        return self.step(action)

    def refresh(self) -> None:
        """Show the present moment on the screen, for a world that has one and runs while nobody acts."""

    on_tick: Callable[[], None] | None = None
    """Called after every tick of a step, by worlds with a clock: whoever lets them run in real time waits here."""

    def telemetry(self) -> dict[str, Any]:
        """What a robot's own sensors tell now, as JSON values; nothing for worlds without a robot."""
        return {}

    def fault_truth(self) -> dict[str, Any] | None:
        """Privileged: the fault that was injected into this episode, or None."""
        return None

    def facts(self) -> Facts:
        """Privileged: what is to be seen in the main view now, for questions about it; none where nobody tells."""
        return Facts()

    @abstractmethod
    def milestones(self) -> frozenset[str]:
        """Ids of the milestones reached so far in this episode; it only grows, but for `restore`."""

    @abstractmethod
    def score(self) -> float:
        """Progress in 0..100, from the engine's own state; the formula is in the docstring."""

    @abstractmethod
    def success(self) -> bool:
        """Whether the goal is reached now."""

    @abstractmethod
    def expert_action(self) -> Action:
        """What the scripted expert does now, from privileged state: floor and ceiling need no model."""

    @abstractmethod
    def _get_state(self) -> bytes:
        """The whole simulation state; restoring it must be exact."""

    @abstractmethod
    def _set_state(self, state: bytes) -> None:
        """Put back what `_get_state` returned."""

    def render(self) -> Frame:  # type: ignore[override]  # Gymnasium 1.2 declares a type variable of its own
        """The main view, (H, W, 3) uint8."""
        frame: Frame = self.observe()[self.main_view]
        return frame

    def close(self) -> None:
        """End what the environment holds open; safe to repeat."""

    def snapshot(self) -> bytes:
        """The exact state, labelled with the task and the snapshot version."""
        return self._label() + self._get_state()

    def restore(self, snapshot: bytes) -> Views:
        """Go back to a snapshot of the same task; returns the observation of that moment.

        Raises:
            InvalidSnapshot: for bytes of another task, version or origin.
        """
        label = self._label()
        if not isinstance(snapshot, bytes):
            raise InvalidSnapshot(f"expected the bytes that snapshot() returned, got {type(snapshot).__name__}")
        if not snapshot.startswith(label):
            head = snapshot[:80].split(b"\n", 1)[0]
            raise InvalidSnapshot(f"expected a snapshot labelled {label!r}, got bytes that begin with {head!r}")
        self._set_state(snapshot[len(label) :])
        self.moment += 1
        return self.observe()

    def state_hash(self) -> str:
        """SHA-256 of the simulation state: equal states, equal hashes, whatever the action space."""
        return hashlib.sha256(self._get_state()).hexdigest()

    def _label(self) -> bytes:
        return json.dumps([self.task.id, self.snapshot_version]).encode() + b"\n"
