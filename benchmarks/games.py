"""What a step costs: `python benchmarks/games.py [--only GLOB] [--steps N] [--json FILE]`.

For every game, medians over the steps of one episode that replays the expert's actions, in milliseconds:

    step, draw   the engine's own time, and its picture: the floor, which no harness can go below
    bare         both, through the environment and nothing else, behind the semantic space
    recorded     the same through the episode loop, with every step durable in SQLite and every frame in the video
    harness      recorded minus bare: what recording and the loop add
    encoder      a core's time for a frame, beside all that: where it is the longest, no step takes less
    gui          through a private display: PyAutoGUI, X, the window, MSS
    gui recorded the same, recorded
    bytes        on disk a step, database and video together

What an episode costs beside its steps is left out of `recorded`, `harness` and `bytes`.

Then one game with the vision-language player, over HTTP to a server in a process of its own that answers at once:
the harness's share of a step, and the bytes a step when every picture sent can be had back bit for bit, for one, four
and sixteen times as many steps, and for a further step. `--rss` plays 10,000 recorded steps and prints the process's
memory on the way.
"""

from __future__ import annotations

import argparse
import fnmatch
import gc
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import BaseModel, ConfigDict

import environments
from agents.agent import Agent, Decision
from agents.registry import register
from arena import run
from arena.certification import machine
from arena.experiment import parse
from arena.location import Location
from arena.plan import Plan
from arena.workers import Progress
from environments.env import ArenaEnv
from environments.errors import EnvironmentsError
from storage.store import Store
from storage.video import VideoWriter

SEED = 0


class RecitalOptions(BaseModel):
    """What is recited."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    actions: str
    """A list of actions, as JSON."""


class Recital(Agent):
    """Plays a list of actions again and again, and thinks of nothing: what is left is the harness."""

    name: ClassVar[str] = "recital"
    Options = RecitalOptions

    def decide(self, observation: Mapping[str, Any]) -> Decision:
        actions = json.loads(self.options.actions) if self.step == 0 else self._actions  # type: ignore[attr-defined]
        self._actions = actions
        return Decision(action=actions[self.step % len(actions)])


def timed(call: Any) -> tuple[float, Any]:
    """Milliseconds, and the result."""
    start = time.perf_counter()
    result = call()
    return (time.perf_counter() - start) * 1e3, result


def rehearse(task_id: str, space: str, steps: int) -> tuple[list[Any], dict[str, float]]:
    """The expert's actions, and the medians of the bare environment."""
    env = environments.make(task_id, space)
    try:
        env.reset(seed=SEED)
        actions: list[Any] = []
        for _ in range(steps):
            actions.append(env.action_space.parse(env.expert_action()))
            if env.step(actions[-1])[2]:
                break
        return actions, _bare(env, actions)
    finally:
        env.close()


def _bare(env: ArenaEnv, actions: list[Any]) -> dict[str, float]:
    env.reset(seed=SEED)
    frames = [np.array(env.render())]
    step, draw, both = [], [], []
    for action in actions:
        took, outcome = timed(lambda a=action: env.step(a))
        drew, frame = timed(lambda o=outcome: o[0][env.main_view])
        step.append(took)
        draw.append(drew)
        both.append(took + drew)
        frames.append(np.array(frame))
    medians = {name: statistics.median(values) for name, values in (("step", step), ("draw", draw), ("bare", both))}
    return medians | {"encoder": _encoder(frames, env.metadata["render_fps"])}


def _encoder(frames: list[np.ndarray], fps: float) -> float:
    """Milliseconds of a core that the encoder takes for a frame."""
    height, width = frames[0].shape[:2]
    with tempfile.TemporaryDirectory() as folder, VideoWriter(Path(folder) / "v.mp4", fps, (width, height)) as video:
        start = time.process_time()
        for frame in frames:
            video.write(frame)
        video.close()
        return 1e3 * (time.process_time() - start) / len(frames)


def recorded(task_id: str, space: str, actions: list[Any], folder: Path) -> tuple[float, float]:
    """Milliseconds and bytes a step of a recorded episode."""
    text = _recital(task_id, space, actions, [SEED + 1, SEED])  # the first one pays for imports and connections
    place = Location.of(str(folder / "arena.db"))
    with place.open() as store:
        episodes = store.episodes(run.run(parse(text), store, place, workers=0))
    steps = sum(episode.n_steps for episode in episodes)
    return _milliseconds(episodes), _bytes(folder) / steps


def _recital(task_id: str, space: str, actions: list[Any], seeds: list[int]) -> str:
    """An experiment file that recites actions."""
    return json.dumps(
        {
            "name": "recital",
            "tasks": task_id,
            "spaces": space,
            "seeds": seeds,
            "agents": {"name": "recital", "actions": json.dumps(actions)},
            "conditions": "single",
            "limits": {"max_steps": len(actions), "max_illegal_in_a_row": 100_000},
        }
    )


def _milliseconds(episodes: list[Any]) -> float:
    """A step of the episode that counts: from its beginning to its end, its video closed and stored."""
    [episode] = [episode for episode in episodes if episode.seed == SEED]
    total: float = (episode.finished_at - episode.created_at).total_seconds() * 1e3
    return total / int(episode.n_steps)


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


# -- the vision-language player ----------------------------------------------------------------------------------------

SERVER = """
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

answer, busy = sys.argv[1], 0.0
import time

class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # one packet an answer: two would wait 40 ms for one another's acknowledgement
    def log_message(self, *_): pass
    def do_POST(self):
        global busy
        start = time.perf_counter()
        body = self.rfile.read(int(self.headers["Content-Length"]))
        function = {"name": "act", "arguments": answer}
        call = {"id": "call_1", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "finish_reason": "tool_calls", "message": message}
        usage = {"prompt_tokens": 1000, "completion_tokens": 20, "total_tokens": 1020}
        reply = {"id": "r", "object": "chat.completion", "created": 1, "model": "m"}
        reply |= {"choices": [choice], "usage": usage}
        data = json.dumps(reply).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        self.wfile.flush()
        busy += time.perf_counter() - start
    def do_GET(self):
        data = str(busy).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
"""


def served(answer: str) -> tuple[subprocess.Popen[str], str]:
    """A server in a process of its own that gives one answer, and its address."""
    process = subprocess.Popen([sys.executable, "-c", SERVER, answer], stdout=subprocess.PIPE, text=True)
    if process.stdout is None:
        raise RuntimeError("the server has no output")
    return process, f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"


def with_a_model(task_id: str, action: Any, steps: int, folder: Path) -> dict[str, float]:
    """Milliseconds and bytes a step of an episode played by `vlm`, over HTTP."""
    import urllib.request

    process, url = served(json.dumps({"rationale": "The way is free, so I go on.", "action": action}))
    try:
        text = json.dumps(
            {
                "name": "model",
                "tasks": task_id,
                "spaces": "semantic",
                "seeds": [SEED + 1, SEED],
                "agents": {"name": "vlm", "model": "m", "base_url": url},
                "conditions": "single",
                "limits": {"max_steps": steps, "max_illegal_in_a_row": 100_000},
            }
        )
        place = Location.of(str(folder / "arena.db"))
        with place.open() as store:
            episodes = store.episodes(run.run(parse(text), store, place, workers=0))
        busy_s = float(urllib.request.urlopen(url).read())
    finally:
        process.terminate()
        process.wait()
    steps = sum(episode.n_steps for episode in episodes)
    return {
        "steps": steps / 2,
        "ms": _milliseconds(episodes),
        "server": 1e3 * busy_s / steps,
        "bytes": _bytes(folder) / steps,
    }


# -- memory ------------------------------------------------------------------------------------------------------------


class Watch:
    """Prints the resident memory on the way: an observer of the run."""

    def __init__(self, store: Store, every: int) -> None:
        self._store = store
        self._every = every
        self._played = self._told = 0

    def planned(self, plan: Plan, *, done: int) -> None:
        """Nothing is done before it is planned."""

    def checking(self, task_id: str, number: int, of: int) -> None:
        """Not in games."""

    def finished(self, progress: Progress) -> None:
        self._played += sum(self._store.episode(episode).n_steps for episode, _, _ in progress.episodes)
        if self._played >= self._told + self._every:
            self._told = self._played
            gc.collect()
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            print(f"{self._played:7} steps {pages * os.sysconf('SC_PAGE_SIZE') / 2**20:8.1f} MiB", flush=True)


def memory(task_id: str, steps: int, folder: Path) -> None:
    """Play so many recorded steps in one run of one process."""
    actions, _ = rehearse(task_id, "semantic", 400)
    file = _recital(task_id, "semantic", actions, list(range(-(-steps // len(actions)) + 20)))
    place = Location.of(str(folder / "arena.db"))
    with place.open() as store:
        run.run(parse(file), store, place, workers=0, observer=Watch(store, steps // 10))


# ----------------------------------------------------------------------------------------------------------------------

COLUMNS = (
    *("steps", "step", "draw", "bare", "recorded", "harness", "encoder"),
    *("gui", "gui recorded", "bytes"),
)


def measure(task_id: str, steps: int, gui: bool) -> dict[str, float]:
    """One row of the table."""
    actions, row = rehearse(task_id, "semantic", steps)
    row["steps"] = len(actions)
    row["recorded"], row["bytes"] = steady(task_id, "semantic", actions)
    row["harness"] = row["recorded"] - row["bare"]
    if gui:
        gestures, bare = rehearse(task_id, "gui", steps)
        row["gui"] = bare["bare"]
        row["gui recorded"], _ = steady(task_id, "gui", gestures)
    return row


def steady(task_id: str, space: str, actions: list[Any]) -> list[float]:
    """What a further step costs, as `recorded`: a whole episode less its first quarter, which both begin."""
    numbers = (max(1, len(actions) // 4), len(actions))
    figures = []
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            figures.append([figure * number for figure in recorded(task_id, space, actions[:number], Path(folder))])
    further = max(1, numbers[1] - numbers[0])
    return [(whole - part) / further for part, whole in zip(*figures, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="games/*", help="glob over task ids")
    parser.add_argument("--steps", type=int, default=100, help="steps of each episode, at most")
    parser.add_argument("--no-gui", action="store_true", help="leave the display out")
    parser.add_argument("--rss", action="store_true", help="watch the memory over 10,000 recorded steps instead")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    register(Recital)
    print(machine())
    if options.rss:
        with tempfile.TemporaryDirectory() as folder:
            memory("games/2048-v1", 10_000, Path(folder))
        return
    print(f"{'':22}" + "".join(f"{column:>13}" for column in COLUMNS))
    rows: dict[str, dict[str, float]] = {}
    for task in environments.match("games/*"):
        if not fnmatch.fnmatchcase(task.id, options.only):
            continue
        try:
            row = measure(task.id, options.steps, not options.no_gui)
        except EnvironmentsError as error:
            print(f"{task.id:22}   {error}")
            continue
        rows[task.id] = row
        print(f"{task.id:22}" + "".join(f"{row.get(column, float('nan')):13.2f}" for column in COLUMNS), flush=True)
    model: dict[str, Any] = {}
    for steps in (100, 400, 1600):
        with tempfile.TemporaryDirectory() as folder:
            actions, bare = rehearse("games/maze-v1", "semantic", 1)
            figures = with_a_model("games/maze-v1", actions[0], steps, Path(folder))
        figures["harness"] = figures["ms"] - figures["server"] - bare["bare"]
        model[str(steps)] = figures
        print(
            f"maze, `vlm` over HTTP, {figures['steps']:.0f} steps: {figures['ms']:.2f} ms a step, of which the server"
            f" {figures['server']:.2f}, the engine {bare['bare']:.2f}, the harness {figures['harness']:.2f};"
            f" {figures['bytes']:.0f} bytes a step"
        )
    (few, first), (many, last) = ((int(steps), figures["bytes"]) for steps, figures in list(model.items())[1:])
    model["further step, bytes"] = (many * last - few * first) / (many - few)
    print(f"a further step: {model['further step, bytes']:.0f} bytes")
    if options.json:
        options.json.write_text(json.dumps({"machine": machine(), "games": rows, "model": model}, indent=1) + "\n")


if __name__ == "__main__":
    main()
