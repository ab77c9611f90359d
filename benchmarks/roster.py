"""The table of games: `python benchmarks/roster.py [--seeds N] [--draw]`.

Plays every game by the scripted expert, who sees the engine's state, and at random, behind the semantic space; writes
the figures to `benchmarks/roster.json`, and from them the page `docs/games.md`, the table in `README.md` (between its
two markers), a thumbnail of every game and the picture of all of them. `--draw` makes these again from the figures
that are there.
"""

from __future__ import annotations

import argparse
import json
import statistics
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

import environments
from arena.certification import machine
from environments import drawing
from environments.errors import EnvironmentsError
from environments.task import CATEGORIES, TIERS, Task

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "benchmarks" / "roster.json"
IMAGES = ROOT / "docs" / "images" / "games"
THUMBNAIL = (240, 180)
COLUMNS = 7
NAMES = {
    "markov-grid": "Markov grid",
    "non-real-time-linear": "Turn-based, linear",
    "non-real-time-nonlinear": "Turn-based, open",
    "real-time-linear": "Real time, linear",
    "real-time-nonlinear": "Real time, open",
}


def played(task_id: str, seed: int, expert: bool) -> tuple[float, int]:
    """Score and steps of one episode."""
    env = environments.make(task_id, "semantic")
    try:
        env.reset(seed=seed)
        env.action_space.seed(seed)
        steps, over = 0, False
        while not over and steps < env.task.max_steps:
            *_, over, _, _ = env.step(env.expert_action() if expert else env.action_space.sample())
            steps += 1
        return env.score(), steps
    finally:
        env.close()


def measure(task_id: str, seeds: int) -> dict[str, Any]:
    """Means over the seeds."""
    row: dict[str, Any] = {"seeds": seeds}
    for name, expert in (("expert", True), ("random", False)):
        episodes = [played(task_id, seed, expert) for seed in range(seeds)]
        scores = [score for score, _ in episodes]
        row[name] = {
            "mean": statistics.fmean(scores),
            "least": min(scores),
            "most": max(scores),
            "steps": statistics.fmean(steps for _, steps in episodes),
        }
    return row


def portrait(task: Task) -> Image.Image:
    """A moment of the expert's play, three fifths through the first seed."""
    _, steps = played(task.id, 0, True)
    env = environments.make(task.id, "semantic")
    try:
        observation, _ = env.reset(seed=0)
        for _ in range(3 * steps // 5):
            observation, *_ = env.step(env.expert_action())
        return Image.fromarray(np.array(observation[env.main_view]))
    finally:
        env.close()


def roster() -> list[Task]:
    """The games in the order of the taxonomy."""
    return sorted(
        environments.match("games/*"), key=lambda t: (CATEGORIES.index(t.category), TIERS.index(t.tier), t.title)
    )


def draw(tasks: list[Task]) -> None:
    """Thumbnails, and all of them in one picture."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    width, height = THUMBNAIL
    rows = -(-len(tasks) // COLUMNS)
    sheet = Image.new("RGB", (COLUMNS * (width + 12) + 12, rows * (height + 40) + 12), drawing.PAPER)
    pen = ImageDraw.Draw(sheet)
    for number, task in enumerate(tasks):
        small = portrait(task).resize(THUMBNAIL, Image.Resampling.LANCZOS)
        small.quantize(128).save(IMAGES / f"{name_of(task)}.png", optimize=True)
        x, y = 12 + number % COLUMNS * (width + 12), 12 + number // COLUMNS * (height + 40)
        sheet.paste(small, (x, y))
        pen.text((x, y + height + 3), task.title, drawing.INK, drawing.font(15, bold=True))
        pen.text((x, y + height + 20), f"{NAMES[task.category]}, {task.tier}", drawing.MUTED, drawing.font(11))
        print(f"drew {task.id}", flush=True)
    sheet.quantize(255).save(IMAGES.parent / "games.png", optimize=True)


def name_of(task: Task) -> str:
    """`games/snake-v1` is `snake`."""
    return task.id.removeprefix("games/").rsplit("-v", 1)[0]


def table(tasks: list[Task], figures: dict[str, Any], images: str) -> str:
    """A Markdown table with one row a game."""
    lines = [
        "| | game | category, tier | expert | random |",
        "|---|---|---|---|---|",
    ]
    for task in tasks:
        row = figures[task.id]
        picture = f'<img src="{images}/{name_of(task)}.png" width="120" alt="{task.title}">'
        scores = " | ".join(f"{row[who]['mean']:.0f}" for who in ("expert", "random"))
        lines.append(
            f"| {picture} | **{task.title}**<br>`{task.id}` | {NAMES[task.category]}, {task.tier} | {scores} |"
        )
    return "\n".join(lines)


_HEAD = """# The games

{games} games fill {filled} of {cells} cells of GameVerse's taxonomy. All cost nothing, need neither display nor GPU,
are made anew for every seed, and are scored by their own engine behind both action spaces. `arena tasks ID` tells the
milestones of one, and `arena play ID` lets you play it.

![All games](images/games.png)

*Expert* is the scripted player who sees the engine's state, *random* draws valid semantic actions: mean score of 0 to
100 over the seeds, with the least and the most. Measured by `benchmarks/roster.py` on {machine}."""


def page(tasks: list[Task], saved: dict[str, Any]) -> str:
    """`docs/games.md`."""
    figures = saved["games"]
    cells = {(task.category, task.tier) for task in tasks}
    parts = [
        _HEAD.format(
            games=len(tasks),
            filled=len(cells),
            cells=len(CATEGORIES) * len(TIERS),
            machine=saved["machine"],
        ),
    ]
    for category in CATEGORIES:
        parts.append(f"## {NAMES[category]}")
        for task in (task for task in tasks if task.category == category):
            row = figures[task.id]
            told = "; ".join(
                f"{who} **{row[who]['mean']:.1f}** ({row[who]['least']:.0f} to {row[who]['most']:.0f}), "
                f"{row[who]['steps']:.0f} steps"
                for who in ("expert", "random")
            )
            needs = f" Needs the extra `{task.extra}`." if task.extra else ""
            parts.append(f"### {task.title}\n\n`{task.id}`, {task.tier}")
            parts.append(f"![{task.title}](images/games/{name_of(task)}.png)")
            parts.append(f"{task.goal}{needs}")
            parts.append(
                f"{told}; {row['seeds']} seeds, at most {task.max_steps} steps, {len(task.milestones)} milestones."
            )
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20, help="seeds of each game (default: 20)")
    parser.add_argument("--only", default="games/*", help="measure these alone, and keep the other figures")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    options = parser.parse_args()
    tasks = roster()
    saved = json.loads(FIGURES.read_text()) if FIGURES.exists() else {"games": {}}
    if not options.draw:
        wanted = [task for task in environments.match(options.only) if task.id.startswith("games/")]
        with ProcessPoolExecutor(max_workers=2) as pool:
            jobs = {task.id: pool.submit(measure, task.id, options.seeds) for task in wanted}
            for task_id, job in jobs.items():
                try:
                    row = saved["games"][task_id] = job.result()
                except EnvironmentsError as error:
                    raise SystemExit(f"{task_id}: {error}") from None
                print(
                    f"{task_id:22} expert {row['expert']['mean']:6.1f} random {row['random']['mean']:6.1f}", flush=True
                )
        saved["machine"] = machine()
        FIGURES.write_text(json.dumps(saved, indent=1, sort_keys=True) + "\n")
    draw(tasks)
    (ROOT / "docs" / "games.md").write_text(page(tasks, saved), "utf-8")
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text("utf-8").partition("<!-- games -->")
    _, _, after = rest.partition("<!-- /games -->")
    inner = table(tasks, saved["games"], "docs/images/games")
    readme.write_text(f"{before}<!-- games -->\n{inner}\n<!-- /games -->{after}", "utf-8")


if __name__ == "__main__":
    main()
