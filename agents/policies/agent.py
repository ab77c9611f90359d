"""The player that asks a policy: chunks in, one native action a step out."""

from __future__ import annotations

import hashlib
import importlib
import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from agents.agent import Agent, Briefing, Decision
from agents.errors import ProviderError, UnusableAnswer
from agents.gateway.retry import Clock
from agents.policies.chunks import to_native
from agents.policies.client import Answer, Episode, PolicyClient
from agents.policies.options import PolicyOptions, missing_packages
from agents.policies.sight import Sight
from agents.policies.wire import WireError
from environments.actions import Action
from environments.errors import UnsupportedSpace
from environments.task import ActionSpace, Task

_FAMILIES = ("tabletop/", "libero/", "real/")
_CLIENTS: dict[str, tuple[str, str]] = {
    "openpi": ("agents.policies.openpi", "OpenPiClient"),
    "roboarena": ("agents.policies.roboarena", "RoboArenaClient"),
    "openvla": ("agents.policies.openvla", "OpenVLAClient"),
    "openvla-oft": ("agents.policies.openvla", "OpenVLAClient"),
    "vla-eval": ("agents.policies.vla_eval", "VlaEvalClient"),
    "lerobot": ("agents.policies.lerobot", "LeRobotClient"),
}


class PolicyAgent(Agent):
    """A robot policy served by another process (openpi, OpenVLA, ...), or by LeRobot in this one.

    It looks at the cameras only when it asks for a chunk, which it then executes for `replan` steps. A step's notes
    hold what a resumed or replayed episode needs: the number of the chunk, the place in it, and, where a chunk came,
    the rest of it. A failing server is a `ProviderError` and never the policy's failure. A varied retry executes
    another number of steps of each chunk: no protocol can ask a policy for other noise.
    """

    name: ClassVar[str] = "policy"
    varies: ClassVar[str] = "replan length"
    Options = PolicyOptions
    options: PolicyOptions

    def __init__(self, options: PolicyOptions, *, clock: Clock | None = None) -> None:
        super().__init__(options)
        self._conventions = options.conventions()
        self._clock = clock
        self._client: PolicyClient | None = None
        self._queue: deque[Action] = deque()
        """What is left of the chunk."""
        self._chunk, self._position = -1, 0
        """Number of the chunk in the episode, and of the action that comes next in it."""
        self._foreseen: list[list[float]] = []
        """What the last chunk foresaw for the steps that it was not executed for."""
        self._because: str | None = "episode start"
        """Why the policy is to be reset before it is asked again, or None."""

    def fingerprint(self) -> dict[str, Any]:
        """Protocol, host (or whole address), what is served there, conventions; neither key nor patience."""
        o, c = self.options, self._conventions
        return {
            "agent": self.name,
            "version": self.version,
            "protocol": o.protocol,
            "host": o.host,
            "model": o.model,
            "replan": c.replan,
            "image": {"size": c.image_size, "orientation": c.orientation, "resize": c.resize},
            "action": {"gripper": c.gripper, "binarise": c.binarise_gripper, "tolerance": o.tolerance},
            "prompt": o.prompt,
            "unnorm_key": o.unnorm_key,
        }

    def unfit(self, task: Task, space: ActionSpace) -> str | None:
        """It plays the native space of robot tasks, and needs the packages of its protocol."""
        if space != ActionSpace.NATIVE or not task.id.startswith(_FAMILIES):
            return f"agent {self.name!r} plays the native space of robot tasks, not the {space} space of {task.id}"
        if task.params.get("orientation") == "published" and self._conventions.orientation != "upright":
            return (
                f"the pictures of {task.id} are mirrored already (`orientation: published`), and agent"
                f" {self.name!r} would turn them again; set the agent's"
                " `orientation: upright`"
            )
        return missing_packages(self.options.protocol)

    def reset(self, briefing: Briefing) -> None:
        """Begin an episode; the server is told with the first request.

        Raises:
            UnsupportedSpace: for a task or space that it cannot play, or where a package is missing.
        """
        super().reset(briefing)
        reason = self.unfit(briefing.task, briefing.space)
        if reason:
            raise UnsupportedSpace(reason)
        session = hashlib.sha256(f"{briefing.task.id}:{briefing.seed}".encode()).hexdigest()[:32]
        instruction = self.options.prompt or briefing.task.goal
        self._episode = Episode(session=session, task=briefing.task.id, instruction=instruction)
        self._forget("episode start")
        self._chunk = -1

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        """The next action of the chunk, or the first of a new one.

        Raises:
            ProviderError: if the server failed, or answered with something that holds no action.
        """
        notes: dict[str, Any] = {}
        if not self._queue:
            notes = self._ask(observation)
        action = self._queue.popleft()
        notes |= {"chunk": self._chunk, "position": self._position}
        self._position += 1
        return Decision(action=action, notes=notes)

    def replay(self, observation: Mapping[str, Any], decision: Decision) -> None:
        """Take up the recorded chunk where it was; no server is asked, no picture drawn."""
        rest = decision.notes.get("rest")
        if rest is not None:
            self._queue, self._foreseen = deque(rest), list(decision.notes.get("foreseen") or [])
        elif self._queue:
            self._queue.popleft()
        self._chunk = int(decision.notes.get("chunk", self._chunk))
        self._position = int(decision.notes.get("position", self._position)) + 1
        self._because = "resumed"
        super().replay(observation, decision)

    def rolled_back(self) -> None:
        """Drop the chunk; the policy is reset, by its protocol's means, with the next request."""
        self._forget("rollback")

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client.drop()

    def _forget(self, because: str) -> None:
        self._queue, self._position, self._because = deque(), 0, because
        self._foreseen = []

    def _ask(self, observation: Mapping[str, Any]) -> dict[str, Any]:
        """Fill the queue with a new chunk; returns what is to be noted."""
        if self._client is None:
            self._client = make_client(self.options, self._clock)
        client = self._client
        notes: dict[str, Any] = {}
        try:
            if self._because is not None:
                notes["reset"] = f"{self._because}: {client.begin(self._episode)}"
                self._because = None
            # The observation's own words come before the task's: what a policy is told may be tampered with.
            told = self.options.prompt or str(observation.get("instruction") or self._episode.instruction)
            answer = client.ask(Sight(observation, told, self._conventions))
            rows, clipped = to_native(answer.rows, self._conventions, self.options.tolerance, answer.name)
            steps = self._steps(client, answer)
        except WireError as error:
            client.drop()
            raise UnusableAnswer(f"{self.options.place}: {error}") from None
        except ProviderError:
            client.drop()
            raise
        chunk: list[list[float]] = rows.tolist()
        notes |= self._disagreement(chunk)
        self._queue = deque(self.briefing.actions.parse(row) for row in chunk[:steps])
        self._foreseen = chunk[steps:]
        self._chunk, self._position = self._chunk + 1, 0
        notes |= {**answer.notes, "horizon": len(rows), "rest": list(self._queue)[1:], "foreseen": self._foreseen}
        if self.variation:
            notes["replan"] = steps
        return notes | ({"clipped": clipped} if clipped else {})

    def _disagreement(self, chunk: Sequence[Sequence[float]]) -> dict[str, float]:
        """Mean distance per step between a new chunk and what the last one foresaw for the same steps, if it did."""
        pairs = list(zip(self._foreseen, chunk, strict=False))
        if not pairs:
            return {}
        return {"disagreement": round(sum(math.dist(before, now) for before, now in pairs) / len(pairs), 6)}

    def _steps(self, client: PolicyClient, answer: Answer) -> int:
        """How many steps of a chunk are executed."""
        horizon = len(answer.rows)
        if self.options.replan is not None and self.options.replan > horizon:
            raise WireError(
                f"`{answer.name}` holds {horizon} steps, fewer than `replan` = {self.options.replan}; lower `replan`"
            )
        usual = min(self._conventions.replan or client.default_replan or horizon, horizon)
        return varied_replan(usual, horizon, self.variation)


def varied_replan(usual: int, horizon: int, variation: int) -> int:
    """Steps of a chunk that a varied retry executes: half as many first, for who looks more often sees more.

    Args:
        usual: as many as without variation.
        horizon: steps that the chunk has.
        variation: 0 is the usual number; 1, 2, 3 ... others, in turn. A chunk of one step leaves no choice.
    """
    others = [steps for steps in (usual // 2, 2 * usual, usual // 4) if 1 <= steps <= horizon]
    return others[(variation - 1) % len(others)] if variation and others else usual


def make_client(options: PolicyOptions, clock: Clock | None = None) -> PolicyClient:
    """The client of a protocol; its library is imported when it connects."""
    module, name = _CLIENTS[options.protocol]
    build: Callable[[PolicyOptions, Clock | None], PolicyClient] = getattr(importlib.import_module(module), name)
    return build(options, clock)
