"""The loops that `benchmarks/robots.py` compares, and the policy that all of them play."""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
from libero_plain import CHUNK, PHYSICS, POLICY_PX, Stopwatch, chunk_at, integration_state

import environments
from agents.policies.agent import PolicyAgent
from agents.policies.client import Answer, Episode, PolicyClient
from agents.policies.options import PolicyOptions
from agents.policies.sight import Sight, resized_with_pad
from arena import plan
from arena.experiment import AgentEntry
from arena.play import Play
from arena.recorder import Recorder
from environments.robots import rendering
from environments.robots._robosuite import mujoco
from environments.robots.robot_env import RobotEnv
from storage.store import Store

POLICY = {"protocol": "openpi", "url": "ws://127.0.0.1:1", "model": "the expert's path, in this process"}
PLAIN = "plain loop"


@dataclass(frozen=True)
class Loop:
    """One way to play: a row of the table."""

    name: str
    replan: int = 5
    quality: str = ""
    """Of the pictures; empty for the task's own."""
    video: str | None = None
    """What the record draws; None records nothing."""


FLOOR = Loop("floor")
ARENA = (
    Loop("arena, not recorded"),
    Loop("arena, video of every step", video="every-step"),
    Loop("arena, video as seen", replan=1, video="as-seen"),
    Loop("arena, video as seen", replan=5, video="as-seen"),
    Loop("arena, video as seen", replan=10, video="as-seen"),
)
LOOPS = {
    "tabletop": (FLOOR, Loop(PLAIN, quality="reference"), Loop("plain loop, fast"), *ARENA),
    "libero": (FLOOR, Loop(PLAIN), *ARENA, Loop("arena, as seen, fast", quality="fast", video="as-seen")),
}
PLAIN_QUALITY = {"tabletop": "reference", "libero": ""}
"""What the plain loop draws."""


@dataclass
class Played:
    """What one episode of one loop took."""

    task: str
    seed: int
    seconds: float
    processor_s: float
    """Of all threads of the process that played it."""
    steps: int
    state: str
    drawn: int
    won: bool
    parts: dict[str, float] = field(default_factory=dict)


TOLD = ("seconds", "processor_s", "steps", "state", "drawn", "won", "parts")
"""What `libero_plain.py` answers."""


class PathClient(PolicyClient):
    """Serves a recorded path as a policy server would, and looks at both cameras as one does."""

    actions: list[list[float]]
    at: int

    def begin(self, episode: Episode) -> str:
        self.at = 0
        return "in process"

    def ask(self, sight: Sight) -> Answer:
        for camera in ("agentview", "wrist"):
            sight.picture(camera, (POLICY_PX, POLICY_PX))
        _ = sight.state
        rows = np.array(chunk_at(self.actions, self.at))
        self.at += self.options.replan or CHUNK
        return Answer(rows=rows, name="actions")

    def drop(self) -> None:
        pass


class PathAgent(PolicyAgent):
    """The arena's own policy agent, with that client."""

    def __init__(self, replan: int, actions: list[list[float]]) -> None:
        super().__init__(PolicyOptions(**POLICY, replan=replan))  # type: ignore[arg-type]
        client = PathClient(self.options)
        client.actions = actions
        self._client = client


class Unrecorded(Recorder):
    """A recorder that drops everything."""

    def __enter__(self) -> Unrecorded:
        return self

    def begin(self, env: Any, observation: Any) -> None:
        pass

    def see(self, env: Any, observation: Any, after: int) -> None:
        pass

    show = looked = step = finish = recorded_steps = recorded_calls = recorded_forks = (  # type: ignore[assignment]
        lambda self, *args, **kwargs: ()
    )


class Subject:
    """One task: its environments, the expert's paths, and the loops that play them."""

    def __init__(self, task_id: str, store: Store, scratch: Path) -> None:
        self.task_id, self.family = task_id, task_id.split("/")[0]
        self._store, self._scratch = store, scratch
        self._envs: dict[str, RobotEnv] = {}
        self._paths: dict[int, list[list[float]]] = {}
        self._plain: subprocess.Popen[str] | None = None

    @property
    def loops(self) -> tuple[Loop, ...]:
        return LOOPS[self.family]

    def env(self, quality: str) -> RobotEnv:
        """An environment of the task that draws so; made once, and with its renderer open."""
        if quality not in self._envs:
            task = environments.get(self.task_id)
            if quality and self.family == "libero":
                from environments.robots.libero.tasks import variant

                task = variant(self.task_id, quality=quality)
            elif quality:
                task = dataclasses.replace(task, params={**task.params, "quality": quality})
            env = self._envs[quality] = cast(RobotEnv, task.make("native"))
            env.reset(seed=0)
            env.observe().copy()
        return self._envs[quality]

    def path(self, seed: int) -> list[list[float]]:
        """The expert's actions, to the goal or the end of the task."""
        if seed not in self._paths:
            env = self.env("")
            env.reset(seed=seed)
            actions: list[list[float]] = []
            while len(actions) < env.task.max_steps and not env.success():
                actions.append(env.action_space.parse(env.expert_action()))
                env.step(actions[-1])
            self._paths[seed] = actions
        return self._paths[seed]

    def play(self, loop: Loop, seed: int, watch: Stopwatch | None = None) -> Played:
        """One episode; with a stopwatch, its parts too (the benchmark's own loop always tells them)."""
        actions = self.path(seed)
        if loop.name == PLAIN and self.family == "libero":
            return self._plain_libero(loop, seed, actions)
        env = self.env(loop.quality)
        if watch:
            instrument(watch, env)
        before, start, processor = Counted.drawn, time.perf_counter(), time.process_time()
        if loop is FLOOR:
            env.reset(seed=seed)
            for action in actions:
                env.arm.step(action)
        elif loop.name.startswith(PLAIN):
            plain(env, seed, actions, loop.replan, watch)
        else:
            self._arena(loop, env, seed, actions, watch)
        seconds, processor = time.perf_counter() - start, time.process_time() - processor
        parts: dict[str, float] = {}
        if watch:
            watch.release()
            parts = {**watch.parts, "loop": seconds - sum(watch.parts.values())}
        state = integration_state(env.world.mj_model, env.world.mj_data)
        drawn = Counted.drawn - before
        return Played(self.task_id, seed, seconds, processor, len(actions), state, drawn, env.success(), parts)

    def _arena(self, loop: Loop, env: RobotEnv, seed: int, actions: list[list[float]], watch: Stopwatch | None) -> None:
        """The arena's own loop; each episode has an identity of its own, so that none is found already played."""
        entry = AgentEntry.model_validate({"name": "policy", **POLICY, "replan": loop.replan})
        settings = {"limits": {"max_steps": len(actions)}, "video": loop.video or "as-seen"}
        found = self._store.count_episodes(task_id=self.task_id, seed=seed)
        attempt = plan.single(self.task_id, "native", entry, seed, repetition=found, **settings)
        kind = Recorder if loop.video else Unrecorded
        agent = PathAgent(loop.replan, actions)
        with kind(self._store, attempt, 0, self._scratch) as recorder:
            if watch:
                watch.wrap(recorder, "begin see show looked step finish", "recording")
                watch.wrap(agent, "act", "policy")
            Play(attempt, env, agent, recorder).run()

    def _plain_libero(self, loop: Loop, seed: int, actions: list[list[float]]) -> Played:
        """The benchmark's own loop. It must be asked for seeds 0, 1, 2, ...: its resets draw from one stream."""
        from environments.robots.libero.conventions import SETTLE_ACTION, SETTLE_STEPS

        if self._plain is None:
            self._plain = self._start_plain()
        world = cast(Any, self.env("").world)
        job = {
            "init_state": world.init_states[seed].tolist(),
            "settle": [list(SETTLE_ACTION)] * SETTLE_STEPS,
            "actions": actions,
            "replan": loop.replan,
        }
        told = json.loads(self._asked(json.dumps(job)))
        parts = told["parts"]
        told["parts"] = parts | {"loop": told["seconds"] - sum(parts.values())}
        return Played(task=self.task_id, seed=seed, **{name: told[name] for name in TOLD})

    def _start_plain(self) -> subprocess.Popen[str]:
        from environments.robots.libero import loading, suites

        fact = next(fact for fact in suites.facts() if fact.id == self.task_id)
        job = {
            "bddl": str(loading.benchmark().bddl(fact.suite, fact.name)),
            "assets": os.environ[loading.ASSETS],
            "seed": 7,
            "size": 256,
        }
        process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("libero_plain.py"))],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env={**os.environ, "MUJOCO_GL": rendering.backend()[0]},
        )  # fmt: skip
        self._plain = process
        self._asked(json.dumps(job))
        return process

    def _asked(self, line: str) -> str:
        process = self._plain
        if process is None or process.stdin is None or process.stdout is None:
            raise RuntimeError("the benchmark's own loop has not been started")
        print(line, file=process.stdin, flush=True)
        answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(
                f"{self.task_id}: the benchmark's own loop ended; run benchmarks/libero_plain.py by hand"
            )
        return answer

    def close(self) -> None:
        for env in self._envs.values():
            env.close()
        if self._plain is not None and self._plain.stdin is not None:
            self._plain.stdin.close()
            self._plain.wait(30)


class Counted:
    """Pictures that this process has drawn."""

    drawn = 0
    renderer = ""
    """What drew them, as OpenGL calls it."""


def count_pictures() -> None:
    """Count every picture that is drawn from now on."""
    render = rendering.Camera.render

    def counted(self: rendering.Camera, data: Any, camera: str) -> Any:
        Counted.drawn += 1
        picture = render(self, data, camera)
        if not Counted.renderer:
            from OpenGL import GL

            Counted.renderer = GL.glGetString(GL.GL_RENDERER).decode()
        return picture

    rendering.Camera.render = counted  # type: ignore[method-assign]


def plain(env: RobotEnv, seed: int, actions: list[list[float]], replan: int, watch: Stopwatch | None) -> None:
    """The plain loop on our environment: look at everything in every step, ask the policy in some."""
    prepare = watch.timed(prepared, "observation") if watch else prepared
    observation, _ = env.reset(seed=seed)
    queue: list[list[float]] = []
    done = False
    for step in range(len(actions)):
        prepare(observation)
        queue = queue or chunk_at(actions, step)[:replan]
        observation, _, done, _, _ = env.step(queue.pop(0))
        if done:
            break
    prepare(observation)  # such a loop draws inside the step, so after the last one too


def prepared(observation: Mapping[str, Any]) -> list[Any]:
    """Both pictures as the policy takes them, and the state."""
    pictures = [np.ascontiguousarray(observation[key][:, ::-1]) for key in ("agentview", "wrist")]
    return [*(resized_with_pad(picture, POLICY_PX, POLICY_PX) for picture in pictures), observation["state"]]


def instrument(watch: Stopwatch, env: RobotEnv) -> None:
    """Count an environment's time by part."""
    watch.wrap(mujoco, PHYSICS, "physics")
    watch.wrap(env.arm, "step", "controller")
    watch.wrap(env.progress, "note begin", "judge")
    watch.wrap(env.world, "after_step", "judge")
    if hasattr(env.world, "conclude"):
        watch.wrap(env.world, "conclude", "judge")
    watch.wrap(env, "score success milestones", "judge")
    watch.wrap(env, "observe perceived", "observation")
    watch.wrap(env, "reset", "reset")
    watch.wrap(rendering.Camera, "render", "rendering")
    watch.wrap(Sight, "picture", "observation")
