"""Does the arena measure its judges rightly? `python benchmarks/judging.py [--seeds N] [--repeats K] [--json FILE]`.

Plays episodes of five games by three instruments, and has them judged over HTTP by fake models whose error rates are
known, because they are told the engine's truth and lie at a declared rate:

    careful    few errors
    lenient    often sees what is not there
    blind      often misses what is there
    wavering   half of the questions are hard for it: there it guesses, and says something else each time
    stubborn   as wavering, but what it says is the same each time: no repetition can unmask it

Each question's answer is drawn from a hash, so the same command gives the same numbers. The table shows what was
declared beside what `arena judge` measures, with its 95 % interval: precision (which depends on how many milestones are
reached), recall, invalid answers (frames that were not shown), and for the last two how well trust and vote entropy
find errors.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `tests`, which no package holds

import environments
from arena import run
from arena.certification import machine
from arena.experiment import parse
from arena.judging import JudgeConfig
from arena.judging.report import Judged, JudgeReport, report
from arena.location import Location
from arena.review import judge_episode
from arena.statistics import Interval
from storage.models import Episode
from storage.store import Store
from tests.fakes.provider import FakeProvider, Seen

EXPERIMENT = """
name: judging
tasks: [games/maze-v1, games/sokoban-v1, games/tictactoe-v1, games/minesweeper-v1, games/rules-v1]
spaces: semantic
agents: [random, scripted, {{name: calibrated, p: 0.7}}]
conditions: single
limits: {{max_steps: 40}}
seeds: {seeds}
"""
WORDS = ("key", "gate", "lamp", "wall", "tile", "rock", "mark", "edge", "dark", "blue")


@dataclass(frozen=True, slots=True, kw_only=True)
class Liar:
    """A judge of known quality; rates are per answer."""

    name: str
    miss: float
    """Says `not_reached` of what was reached."""
    invent: float
    """Says `reached` of what was not."""
    invalid: float = 0.02
    """Of its `reached`, cites a frame that does not exist."""
    hard: float = 0.0
    """Share of questions that are hard: there it is wrong with 0.4, whatever the truth."""
    stubborn: bool = False
    """Its answer on a hard question is drawn once, and not at each repetition."""
    repeats: int = 1

    def rate(self, base: float) -> float:
        """The error rate over easy and hard questions."""
        return (1 - self.hard) * base + self.hard * 0.4


@dataclass
class Bench:
    """The fake model's knowledge: which episode is judged, by whom, and what is true of it."""

    store: Store
    liar: Liar | None = None
    episode: Episode | None = None
    reached: set[str] = field(default_factory=set)
    asked: int = 0

    def answer(self, seen: Seen) -> dict[str, Any]:
        """Verdicts on all milestones of the episode, true or not as declared."""
        if self.episode is None or self.liar is None:
            raise RuntimeError("nothing is being judged")
        self.asked += 1
        task = environments.get(self.episode.task_id)
        return {"milestones": [self._verdict(milestone.id) for milestone in task.milestones]}

    def _verdict(self, milestone: str) -> dict[str, Any]:
        liar, episode = self.liar, self.episode
        if liar is None or episode is None:
            raise RuntimeError("nothing is being judged")
        question = (liar.name, episode.id, milestone)
        hard = _chance(*question, "hard") < liar.hard
        draw = 0 if liar.stubborn and hard else self.asked
        true = milestone in self.reached
        error = 0.4 if hard else liar.miss if true else liar.invent
        said = true != (_chance(*question, "lie", draw) < error)
        frame = 0 if said else None
        if said and _chance(*question, "frame", draw) < liar.invalid:
            frame = 10**6
        note = "as it should be"
        if hard:
            note = " ".join(WORDS[int(_chance(*question, "word", draw, i) * len(WORDS))] for i in range(5))
        verdict = "reached" if said else "not_reached"
        return {"id": milestone, "verdict": verdict, "confidence": 0.6 if hard else 0.95, "frame": frame, "note": note}


def _chance(*parts: Any) -> float:
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:7], "big") / 2**56


def judge_all(bench: Bench, provider: FakeProvider, episodes: Sequence[Episode], liar: Liar, advance: Any) -> None:
    """Have one judge look at every episode, as the command does."""
    model = {"model": f"fake/ok#{liar.name}", "base_url": provider.url, "temperature": 1.0}
    config = JudgeConfig.model_validate({"judge": "vlm", "model": model, "frames": 4, "repeats": liar.repeats})
    bench.liar = liar
    for episode in episodes:
        bench.episode, bench.asked = episode, 0
        bench.reached = {truth.milestone_id for truth in bench.store.truths(episode.id)}
        if not judge_episode(bench.store, environments.get(episode.task_id), episode, config):
            raise RuntimeError(f"{episode.id} was not judged")
        advance()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=15, help="15 episodes a seed")
    parser.add_argument("--repeats", type=int, default=5, help="answers of `wavering` and `stubborn` to each question")
    parser.add_argument("--json", type=Path, help="write the figures here")
    arguments = parser.parse_args()
    liars = [
        Liar(name="careful", miss=0.03, invent=0.02),
        Liar(name="lenient", miss=0.03, invent=0.25),
        Liar(name="blind", miss=0.30, invent=0.02),
        Liar(name="wavering", miss=0.02, invent=0.02, hard=0.5, repeats=arguments.repeats),
        Liar(name="stubborn", miss=0.02, invent=0.02, hard=0.5, stubborn=True, repeats=arguments.repeats),
    ]
    console = Console(width=130)
    with tempfile.TemporaryDirectory() as folder, FakeProvider(script=lambda seen: "ok") as provider:
        place = Location.of(str(Path(folder) / "arena.db"), None)
        provider.keep = 1
        with place.open() as store, Progress(console=Console(stderr=True), transient=True) as bar:
            playing = bar.add_task("playing", total=None)
            run_id = run.run(parse(EXPERIMENT.format(seeds=arguments.seeds)), store, place)
            episodes = _episodes(store, run_id)
            bar.update(playing, visible=False)
            bench = Bench(store)
            provider.policy = bench.answer
            judging = bar.add_task("judging", total=len(episodes) * len(liars))
            for liar in liars:
                judge_all(bench, provider, episodes, liar, lambda: bar.advance(judging))
            judged = [_judged(store, episode) for episode in episodes]
    found = report(judged)
    by_name = {item.judge.partition("#")[2]: item for item in found.judges}
    rows = [_row(liar, by_name[liar.name], judged) for liar in liars]
    console.print(
        f"{machine()}; {len(episodes)} episodes, {sum(len(item.task.milestones) for item in judged)} milestones"
    )
    console.print(_table(rows))
    if found.alpha:
        console.print(f"Krippendorff's alpha of the five: {_shown(found.alpha)}")
    inside = [row["inside"] for row in rows]
    console.print(f"{sum(map(sum, inside))} of {sum(map(len, inside))} declared rates lie in their 95 % intervals")
    if arguments.json:
        written = {"machine": machine(), "episodes": len(episodes), "rows": rows, "report": found.to_json()}
        arguments.json.write_text(json.dumps(written, indent=1, default=str) + "\n", "utf-8")


def _episodes(store: Store, run_id: str) -> list[Episode]:
    tries = store.latest_tries({link.identity for link in store.plan(run_id) if link.condition == "single"})
    return sorted((episode for episode in tries.values() if episode.scored), key=lambda episode: episode.id)


def _judged(store: Store, episode: Episode) -> Judged:
    task = environments.get(episode.task_id)
    return Judged(task=task, episode=episode, truths=store.truths(episode.id), verdicts=store.verdicts(episode.id))


def _row(liar: Liar, found: JudgeReport, judged: Sequence[Judged]) -> dict[str, Any]:
    """Declared beside measured. An invalid `reached` is no answer, so it lowers recall and leaves precision alone."""
    reached = sum(len(item.truths) for item in judged)
    missing = sum(len(item.task.milestones) for item in judged) - reached
    miss, invent = liar.rate(liar.miss), liar.rate(liar.invent)
    kept = 1 - liar.invalid
    hits, inventions = reached * (1 - miss) * kept, missing * invent * kept
    declared = {"precision": hits / (hits + inventions), "recall": (1 - miss) * kept}
    measured = {"precision": found.precision, "recall": found.recall}
    return {
        "judge": liar.name,
        "declared": declared,
        "measured": {name: list(value) if value else None for name, value in measured.items()},
        "inside": [value is not None and value.low <= declared[name] <= value.high for name, value in measured.items()],
        "invalid": found.counts.n_invalid,
        "invalid_expected": liar.repeats * liar.invalid * (reached * (1 - miss) + missing * invent),
        "flip_rate": found.flip_rate.estimate if found.flip_rate else None,
        "ece": found.calibration_error,
        "auroc": {"trust": found.trust_auroc, "entropy": found.entropy_auroc},
    }


def _table(rows: Sequence[Mapping[str, Any]]) -> Table:
    table = Table(box=None)
    for name in ("judge", "precision", "measured", "recall", "measured", "invalid", "expected"):
        table.add_column(name, justify="left" if name == "judge" else "right", no_wrap=True)
    for name in ("flips", "ECE", "trust", "entropy"):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows:
        cells: list[str] = [row["judge"]]
        for name in ("precision", "recall"):
            cells += [f"{row['declared'][name]:.3f}", _shown(Interval(*row["measured"][name]))]
        cells += [str(row["invalid"]), f"{row['invalid_expected']:.0f}"]
        cells += [_number(row["flip_rate"]), _number(row["ece"])]
        cells += [_number(row["auroc"]["trust"]), _number(row["auroc"]["entropy"])]
        table.add_row(*cells)
    return table


def _shown(value: Interval) -> str:
    return f"{value.estimate:.3f} [{value.low:.3f}, {value.high:.3f}]"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


if __name__ == "__main__":
    main()
