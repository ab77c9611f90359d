"""A person plays: one episode, run by the same loop as everybody's, with a person's hands in the player's place.

    session = HumanSession(store, location.scratch, "games/snake-v1", seed=0, name="ada")
    session.start()
    session.inputs.key_down("up")             # from a window, whichever it is
    view = session.look(after=0)              # its picture, as soon as there is a newer one
    session.give_up()
    session.close()

The episode runs in a thread of its own, behind the GUI space: gestures become real events on a private X display.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import agents
import environments
from agents.agent import Decision
from agents.errors import BudgetExceeded
from agents.human import HumanAgent
from arena import plan
from arena.clocks import Clock
from arena.errors import ArenaError
from arena.experiment import AgentEntry
from arena.human_input import SLICE_MS, Inputs
from arena.judging import JudgeConfig
from arena.outcomes import Outcome
from arena.plan import Attempt
from arena.play import Play
from arena.recorder import Recorder
from arena.review import judge_episode
from arena.run import host
from environments.env import ArenaEnv, Frame
from environments.errors import DisplayError, EnvironmentsError, InfrastructureError, UnsupportedSpace
from environments.game import Game
from environments.game_env import TAP_MS, GameEnv
from environments.task import ActionSpace, Task
from storage.errors import StorageError
from storage.locks import Busy
from storage.models import Episode, Run
from storage.store import Store

log = logging.getLogger(__name__)

RUN: Final = "human"
"""The run that all episodes of persons belong to."""
IDLE_S: Final = 300.0
"""Without any input for so long, the person has left."""
FPS: Final = 20
"""Pictures a second, at most."""
_SLACK_S: Final = 0.01
"""A tick that comes a little early is shown all the same: a game of 20 ticks a second would else show every other."""
_QUIET_MS: Final = 1_000
"""A game that runs on while its player does nothing is recorded this often, in milliseconds of game time."""
_LAG_S: Final = 0.25
"""A machine that is so far behind the wall's clock makes the game slower instead of jumping ahead."""
_LONGEST_HOLD_MS: Final = 2_000


class Abandoned(BudgetExceeded):
    """The person stopped before the game was over: there is no score."""


class Occupied(ArenaError, RuntimeError):
    """A game is being played already."""


@dataclass(frozen=True, slots=True)
class View:
    """What a window shows of a session at one moment."""

    number: int
    """Counts what there was to see; grows by one with each change."""
    frame: Frame | None
    """(480, 640, 3) uint8, or None before the first picture. It is never written to."""
    phase: str
    """`starting`, `playing`, `finished` or `failed`."""
    steps: int
    refusal: str = ""
    """Why the rules refused the last gesture."""
    episode: Episode | None = None
    """Once finished: the episode as it is recorded."""
    error: str = ""
    """For `failed`: what was wrong and what to do."""


def playable(task: Task) -> bool:
    """Whether a person can play a task here, with keyboard and mouse: games and robots in a window of our own."""
    ours = task.entry_point == "environments.game_env:make_game" or task.entry_point.startswith("environments.robots.")
    return ours and ActionSpace.GUI in task.spaces


def horizon(task: Task, tick_ms: int | None) -> int:
    """The most steps that a person may take.

    A person's step in a game with a clock, and at a robot, lasts a slice where an agent's may last 2 s, so the limit
    is the same world time: as long as an agent has that holds every key as long as it may. Other games count
    gestures, as for everybody.
    """
    return min(100_000, task.max_steps * (_LONGEST_HOLD_MS // SLICE_MS if tick_ms else 1))


class HumanSession:
    """One episode played by a person.

    Args:
        store: Where it is recorded.
        scratch: Folder for the unfinished video.
        task_id: What is played.
        seed: The world's seed. Playing it again is the next repetition.
        name: Whom the tables name, 1 to 40 printable characters.
        idle_s: Seconds without input after which the episode is abandoned.

    Raises:
        UnknownTask: with the nearest id.
        UnsupportedSpace: for a task that is no game with a window of ours.
        InvalidOptions: for a name that cannot be shown.
        DisplayError: if this machine cannot show games; says what to install.
    """

    def __init__(
        self, store: Store, scratch: Path, task_id: str, *, seed: int = 0, name: str = "player", idle_s: float = IDLE_S
    ) -> None:
        self.task = environments.get(task_id)
        if not playable(self.task):
            raise UnsupportedSpace(f"{task_id} cannot be played by hand here; `arena play` lists what can")
        player = agents.create(HumanAgent.name, {"name": name})
        if not isinstance(player, HumanAgent):
            raise TypeError(f"the agent {HumanAgent.name!r} is {type(player)!r}")
        from environments.desktop import check  # the extra `games` need not be installed otherwise

        if problems := check():
            raise DisplayError("; ".join(problems))
        self.seed, self.name = seed, name
        self._player = player
        self._store, self._scratch, self._idle_s = store, scratch, idle_s
        self.inputs = Inputs()
        self.timed = False
        """Whether the game runs on by itself; known once the phase is `playing`, as is `max_steps`."""
        self.max_steps = self.task.max_steps
        self._stop = ""
        self._shown = threading.Condition()
        self._view = View(0, None, "starting", 0)
        self._thread = threading.Thread(target=self._run, name="human-session", daemon=True)

    @property
    def over(self) -> bool:
        """Whether the episode has ended, one way or the other."""
        return self._view.phase in ("finished", "failed")

    def start(self) -> None:
        """Begin to play, in a thread of its own."""
        self._thread.start()

    def give_up(self, reason: str = "the player gave up") -> None:
        """End the episode without a score; what was played stays recorded. Does nothing once it is over."""
        self._stop = self._stop or reason
        self.inputs.wake()

    def close(self, reason: str = "the window was closed") -> None:
        """Give up, and wait until everything is written down."""
        self.give_up(reason)
        if self._thread.ident is not None:
            self._thread.join(30)

    def look(self, after: int = -1, timeout_s: float = 0.0) -> View:
        """The present view, as soon as its number is greater than `after`, or after the timeout as it is."""
        self.inputs.heard()
        with self._shown:
            self._shown.wait_for(lambda: self._view.number > after, timeout_s)
            return self._view

    # -- the episode's thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        problem = "the episode ended by an error of the program; see the server's log"
        try:
            # Made in the thread that plays it: an engine's OpenGL context belongs to the thread that made it.
            with contextlib.closing(environments.make(self.task.id, ActionSpace.GUI)) as env:
                problem = self._play(env)
        except (ArenaError, EnvironmentsError, StorageError, OSError) as error:
            log.warning("%s: %s: %s", self.task.id, type(error).__name__, error)
            problem = f"{type(error).__name__}: {error}"
        finally:
            if problem:
                self._show(self._view.frame, phase="failed", error=problem)

    def _play(self, env: ArenaEnv) -> str:
        """Play and record; what went wrong, or nothing."""
        store = self._store
        if isinstance(env, GameEnv):
            self.timed = bool(env.game.tick_ms)
            # A game that minds the end of a step is one that asks which keys are down.
            self.inputs.held = self.timed and type(env.game).release is not Game.release
            self.max_steps = horizon(self.task, env.game.tick_ms)
        else:  # a robot waits for its driver, and goes on while a key is down
            self.inputs.held = True
            self.max_steps = horizon(self.task, _control_ms(env))
        self._scratch.mkdir(parents=True, exist_ok=True)
        store.begin_run(Run(id=RUN, name=RUN, experiment={"name": RUN}, host=host()))
        _close_abandoned(store)
        with contextlib.ExitStack() as stack:
            stack.callback(store.finish_run, RUN, "finished")
            attempt = self._claim(stack)
            recorder = stack.enter_context(Recorder(store, attempt, 0, self._scratch))
            store.link([attempt.link(RUN, "single", attempt.identity, final=True)])
            clock = _PersonsClock(env, self._player, self)
            try:
                Play(attempt, env, self._player, recorder, clock=clock).run()
            except InfrastructureError as error:
                recorder.fail(error)
                return f"{type(error).__name__}: {error}"
            judge_episode(store, attempt.task, store.episode(recorder.episode_id), JudgeConfig())
        self._show(_painter(env)(), phase="finished", episode=store.episode(recorder.episode_id))
        return ""

    def _claim(self, stack: contextlib.ExitStack) -> Attempt:
        """The first repetition of this seed that nobody has played or is playing; ours until the stack is unwound."""
        entry = AgentEntry(name=HumanAgent.name, label=self._player.label, options={"name": self.name})
        played = self._store.count_episodes(task_id=self.task.id, agent=entry.label, seed=self.seed)
        while True:
            attempt = plan.single(
                self.task.id,
                ActionSpace.GUI,
                entry,
                self.seed,
                repetition=played,
                limits={"max_steps": self.max_steps},
                clock={"kind": "real-time"},
            )
            with contextlib.suppress(Busy):
                stack.enter_context(self._store.episode_lock(attempt.identity, 0.0))
                if not self._store.count_episodes(identity=attempt.identity):
                    return attempt
            played += 1

    def abandoned(self) -> Abandoned | None:
        """Asked by the clock while it waits: why there will be no more input, or None."""
        if not self._stop and time.monotonic() - self.inputs.last_input > self._idle_s:
            self._stop = f"no input for {self._idle_s:g} s"
        return Abandoned(f"{self._stop}, after {self._player.step} steps") if self._stop else None

    def show_frame(self, frame: Frame) -> None:
        """Called by the clock when there is something to see."""
        self._show(frame, phase="playing")

    def _show(self, frame: Frame | None, *, phase: str, episode: Episode | None = None, error: str = "") -> None:
        with self._shown:
            steps = episode.n_steps if episode else self._player.step
            self._view = View(self._view.number + 1, frame, phase, steps, self._player.refusal, episode, error)
            self._shown.notify_all()


class _PersonsClock(Clock):
    """The wall's clock for a person: the game runs in whole ticks, and a key's step begins when its tick is due.

    Between two questions the game's time and the wall's stay tied together, so that what a step costs the machine is
    made up for in the next one and the keys that are down have no gap.
    """

    def __init__(self, env: ArenaEnv, player: HumanAgent, session: HumanSession) -> None:
        super().__init__(env, player)
        self._paint, self._person, self._session = _painter(env), player, session
        self._tick_ms = (env.game.tick_ms or 0) if isinstance(env, GameEnv) else 0
        player.hands = session.inputs.take
        env.on_tick = self._pace if isinstance(env, GameEnv) else self._follow
        self._control_s = 0.0 if isinstance(env, GameEnv) else _control_ms(env) / 1000
        self._wall_s = self._drawn_s = 0.0
        self._game_ms = self._left = 0

    def think(self, observation: Mapping[str, Any]) -> tuple[Decision, int]:
        """Wait for the person, and let the game run on meanwhile; after a second without input, record that.

        Raises:
            Abandoned: if there will be no more input.
        """
        inputs, passed_ms = self._session.inputs, 0
        self._show(self._env.observe()["frame"])
        self._tie()
        while True:
            if gone := self._session.abandoned():
                if passed_ms:  # that time is to be in the record too: it moved the world
                    break
                raise gone
            if not self._tick_ms:
                if inputs.wait(0.5):
                    break
                continue
            # A pointer's gesture is not to wait for the tick of a slow game: its step takes the tick with it.
            if self._env.advance(0) or (inputs.wait(self._due_s()) and inputs.urgent):
                break
            if self._due_s() > 0:
                time.sleep(min(self._due_s(), 0.01))
            elif inputs.wait(0) or passed_ms >= _QUIET_MS:
                break
            else:
                self._env.advance(self._tick_ms)
                passed_ms += self._tick_ms
                self._draw()
        decision = self._person.act(observation)
        if self._tick_ms and isinstance(decision.action, dict):
            self._left = max(
                -(-TAP_MS // self._tick_ms), decision.action.get("ms", 0) // self._tick_ms
            )  # as GameEnv counts
        return decision, passed_ms

    def _tie(self) -> None:
        """Begin to count, or count anew where the machine is too far behind."""
        behind_s = time.monotonic() - self._wall_s - (self._env.clock_ms - self._game_ms) / 1000
        if not self._wall_s or behind_s > _LAG_S + self._tick_ms / 1000:
            self._wall_s, self._game_ms = time.monotonic(), self._env.clock_ms

    def _due_s(self) -> float:
        """Seconds until the next tick of the game is due on the wall's clock."""
        next_ms = self._env.clock_ms - self._game_ms + self._tick_ms
        return self._wall_s + next_ms / 1000 - time.monotonic()

    def _pace(self) -> None:
        """After a tick of a step: show it, and wait for the step's next, or until the wall is where the game is.

        Not for the tick after the step: what the step costs the machine is paid in that time.
        """
        self._draw()
        self._left -= 1
        ahead_s = self._due_s() - (0 if self._left > 0 else self._tick_ms / 1000)
        if ahead_s > 0:
            time.sleep(ahead_s)

    def _follow(self) -> None:
        """After a control step of a robot: show it, and wait for the next, for it moves at its own pace."""
        self._draw()
        now = time.monotonic()
        # `_wall_s` is when the last control step ended; a pause between two gestures is not made up for.
        self._wall_s = max(self._wall_s + self._control_s, now - self._control_s)
        time.sleep(max(0.0, self._wall_s - now))

    def _draw(self) -> None:
        """The picture of now: the engine's own, which is bit for bit what its window will show, or a robot's window."""
        if time.monotonic() - self._drawn_s >= 1 / FPS - _SLACK_S:
            self._show(self._paint())

    def _show(self, frame: Frame) -> None:
        self._drawn_s = time.monotonic()
        self._session.show_frame(frame)


def _painter(env: ArenaEnv) -> Callable[[], Frame]:
    """What gives the picture of the present moment, also in the middle of a step."""
    return env.game.draw if isinstance(env, GameEnv) else env.render


def _control_ms(env: ArenaEnv) -> int:
    """One control step of a robot in milliseconds."""
    return round(1000 / int(env.metadata["render_fps"]))


def _close_abandoned(store: Store) -> None:
    """End the episodes whose process died: nobody can go on with them, and their steps stay."""
    for episode in store.episodes(RUN, status="running"):
        with contextlib.suppress(Busy), store.episode_lock(episode.identity, 0.0):
            store.finish_episode(
                episode.id,
                outcome=str(Outcome.LIMIT),
                outcome_detail="Abandoned: the process that ran it ended",
                scored=False,
                n_steps=len(store.steps(episode.id)),
            )
