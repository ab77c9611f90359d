"""How time passes in the world while the player thinks: stepped, by a declared latency, or as on the wall."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from agents.agent import Agent, Decision
from environments.env import ArenaEnv

_LOOK_S = 1 / 100
"""How often a world in real time is looked after while the player thinks; games tick at 60 Hz at most."""


class Clock(ABC):
    """Asks the player, and lets the world run on meanwhile."""

    def __init__(self, env: ArenaEnv, agent: Agent) -> None:
        self._env = env
        self._agent = agent
        env.on_tick = None  # environments are used again, and the last clock may have left its own

    @abstractmethod
    def think(self, observation: Mapping[str, Any]) -> tuple[Decision, int]:
        """The player's decision, and the milliseconds by which the world was advanced meanwhile.

        `env.advance` of that number, in one go, leads to the same state: this is what a replay does.

        Raises:
            ProviderError: the player's own.
        """


class Stepped(Clock):
    """The world waits for its player."""

    def think(self, observation: Mapping[str, Any]) -> tuple[Decision, int]:
        """Ask; no time passes."""
        return self._agent.act(observation), 0


class Latency(Clock):
    """The world runs on by the same time before every action, however long the answer took."""

    def __init__(self, env: ArenaEnv, agent: Agent, ms: int) -> None:
        super().__init__(env, agent)
        self._ms = ms

    def think(self, observation: Mapping[str, Any]) -> tuple[Decision, int]:
        """Ask, then let the declared time pass."""
        decision = self._agent.act(observation)
        self._env.advance(self._ms)
        return decision, self._ms


class RealTime(Clock):
    """The world runs at its own rate on the wall's clock, while the player thinks in a thread of its own."""

    def __init__(self, env: ArenaEnv, agent: Agent) -> None:
        super().__init__(env, agent)
        env.on_tick = self._pace
        self._wall_s, self._game_ms = 0.0, 0
        """A moment at which the wall's clock (monotonic, seconds) and the game's belong together."""

    def think(self, observation: Mapping[str, Any]) -> tuple[Decision, int]:
        """Ask, and tick until the answer is there.

        A player who reads the engine's state is asked first and the time counted after: the world must not move
        under its hands.
        """
        seen = self._agent.privileged or dict(observation)  # pictures of this moment: the world will move on
        self._wall_s, self._game_ms = time.monotonic(), self._env.clock_ms
        if self._agent.privileged:
            decision = self._agent.act(observation)
            return decision, self._advance(0)
        answer = _Answer(self._agent, seen)
        passed_ms = 0
        while not answer.ready.wait(_LOOK_S):
            passed_ms = self._advance(passed_ms)
            self._env.refresh()
        return answer.result(), self._advance(passed_ms)

    def _advance(self, passed_ms: int) -> int:
        """Let the world come up with the wall's clock; the milliseconds that it was given since the question."""
        due_ms = int((time.monotonic() - self._wall_s) * 1000)
        self._env.advance(due_ms - passed_ms)
        return due_ms

    def _pace(self) -> None:
        """After a tick of a step: wait until the wall's clock is where the game's is."""
        due_s = self._wall_s + (self._env.clock_ms - self._game_ms) / 1000
        ahead_s = due_s - time.monotonic()
        # Nothing to wait for in the steps that an interrupted episode plays again, long before the first question.
        if self._wall_s and ahead_s > 0:
            self._env.refresh()
            time.sleep(max(0.0, due_s - time.monotonic()))


class _Answer:
    """A decision in the making. The thread dies with the process: a provider may hang for long."""

    def __init__(self, agent: Agent, observation: Any) -> None:
        self.ready = threading.Event()
        self._decision: Decision | None = None
        self._error: Exception | None = None
        threading.Thread(target=self._ask, args=(agent, observation), name="player", daemon=True).start()

    def _ask(self, agent: Agent, observation: Mapping[str, Any]) -> None:
        try:
            self._decision = agent.act(observation)
        except Exception as error:  # noqa: BLE001  raised again, in the thread that waits
            self._error = error
        finally:
            self.ready.set()

    def result(self) -> Decision:
        """What the player decided, or what it raised."""
        if self._error is not None:
            raise self._error
        if self._decision is None:
            raise RuntimeError("the player's thread ended without a decision")
        return self._decision


def clock_of(spec: Mapping[str, Any], env: ArenaEnv, agent: Agent) -> Clock:
    """The clock that an episode's specification declares."""
    if spec["kind"] == "real-time":
        return RealTime(env, agent)
    return Latency(env, agent, int(spec["ms"])) if spec["kind"] == "latency" else Stepped(env, agent)
