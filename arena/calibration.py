"""Does the instrument measure what is known? The `calibrated` agent's gain, beside its declared one."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from agents.scripted import CalibratedAgent, CalibratedOptions
from arena.leaderboard import TUTORIAL
from arena.plan import lesson_kind
from arena.statistics import Interval, proportion_difference
from storage.models import Episode
from storage.store import Store

OVERALL = "in all"
NOTE = "followed_expert"
"""The note in which the agent says, step by step, whether it played the expert's action."""


class Calibration(NamedTuple):
    """One calibrated agent on one task and space (or on all of a run)."""

    place: str
    p: float
    """The declared probability of an expert action without a lesson."""
    known: float
    """The declared rise of the probability of an expert action in a retry; 0 for one without a lesson."""
    measured: Interval
    """The rise of the rate of expert actions over all steps."""

    @property
    def inside(self) -> bool:
        """Whether the known value lies in the measured interval."""
        return self.measured.low <= self.known <= self.measured.high

    def __str__(self) -> str:
        low, high = self.measured.low, self.measured.high
        word = "inside" if self.inside else "OUTSIDE"
        measured = f"{self.measured.estimate:+.3f} [{low:+.3f}, {high:+.3f}]"
        return f"calibration {self.place} (p = {self.p:g}): gain in a retry {measured}, known {self.known:+.3f}: {word}"


def calibration(store: Store, run_id: str) -> list[Calibration]:
    """Compare declared and measured gains of every calibrated agent of a run: in all, and per task and space.

    Kinds of lesson that the agent gains alike from are taken together.
    """
    links = [link for link in store.plan(run_id) if link.condition != TUTORIAL]
    episodes = store.latest_tries({link.identity for link in links})
    # Weights of different p are never pooled: the weaker one would dominate the retries, and turn the sign.
    first: dict[tuple[str, str], list[Episode]] = defaultdict(list)
    retries: dict[tuple[str, str], dict[float, list[Episode]]] = defaultdict(lambda: defaultdict(list))
    weights: dict[str, CalibratedOptions] = {}
    for episode in sorted(episodes.values(), key=lambda episode: episode.id):
        if episode.spec["agent"].get("agent") != CalibratedAgent.name or NOTE not in episode.summary.get("notes", {}):
            continue
        options = CalibratedOptions.model_validate(episode.spec["agent"]["options"])
        weight = options.model_dump_json()
        weights[weight] = options
        for place in (OVERALL, f"{episode.task_id} {episode.space}"):
            if episode.spec["retry"] is None:
                first[place, weight].append(episode)
            else:
                known = options.known(lesson_kind(episode.spec), taught=episode.lesson_id is not None)
                retries[place, weight][round(known, 9)].append(episode)
    found = [
        Calibration(place, weights[weight].p, known, _gain(first[place, weight], after))
        for (place, weight), by_gain in retries.items()
        if (place, weight) in first
        for known, after in by_gain.items()
    ]
    return sorted(found, key=lambda item: item[:3])


def _gain(before: list[Episode], after: list[Episode]) -> Interval:
    """By steps, not by episodes: the agent tosses its coin afresh at every step, whatever went before.

    So the tosses are independent trials, and episodes that end early because of them do not bias their rate.
    """
    return proportion_difference(_counts(before), _counts(after))


def _counts(episodes: list[Episode]) -> tuple[float, float]:
    notes = [episode.summary["notes"][NOTE] for episode in episodes]
    return sum(float(note["true"]) for note in notes), sum(float(note["n"]) for note in notes)


def summary(found: list[Calibration]) -> list[str]:
    """What a reader wants to know: the gain over all, and at how many places the known value lies inside."""
    overall = [item for item in found if item.place == OVERALL]
    places = [item for item in found if item.place != OVERALL]
    lines = [str(item) for item in overall]
    if places:
        inside = sum(item.inside for item in places)
        lines.append(
            f"calibration by task and space: inside at {inside} of {len(places)} (95 % of them are expected to be)"
        )
        lines += [f"  {item}" for item in places if not item.inside]
    return lines
