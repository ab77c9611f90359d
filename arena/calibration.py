"""Does the instrument measure what is known? The `calibrated` agent's gain, beside its declared one."""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from arena.leaderboard import TUTORIAL
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
    """The declared rise of the probability of an expert action after a lesson."""
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
        return (
            f"calibration {self.place} (p = {self.p:g}): "
            f"gain after a lesson {measured}, known {self.known:+.3f}: {word}"
        )


def calibration(store: Store, run_id: str) -> list[Calibration]:
    """Compare declared and measured gains of every calibrated agent of a run: in all, and per task and space."""
    links = [link for link in store.plan(run_id) if link.condition != TUTORIAL]
    episodes = store.latest_tries({link.identity for link in links})
    groups: dict[tuple[str, float, float], dict[bool, list[Episode]]] = defaultdict(lambda: {False: [], True: []})
    for episode in sorted(episodes.values(), key=lambda episode: episode.id):
        options = episode.spec["agent"].get("options", {})
        if "gain" not in options or NOTE not in episode.summary.get("notes", {}):
            continue
        # Weights of different p are never pooled: the weaker one would dominate the retries, and turn the sign.
        weight = (float(options["p"]), float(options["gain"]))
        for place in (OVERALL, f"{episode.task_id} {episode.space}"):
            groups[place, *weight][episode.lesson_id is not None].append(episode)
    return [
        Calibration(place, p, gain, _gain(rounds[False], rounds[True]))
        for (place, p, gain), rounds in sorted(groups.items())
        if rounds[False] and rounds[True]
    ]


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
