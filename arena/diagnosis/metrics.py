"""What a diagnoser is worth: detection, localisation in time, naming, and what rolling back changed.

Pure functions over stored rows. All rates are None where nothing was there to measure. The number
that decides is the false alarm rate on clean episodes: a supervisor that fires often breaks more
episodes than it rescues.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from storage.models import Diagnosis, Fault

ALARMS = frozenset({"fault", "unrecoverable"})
"""Verdicts that claim a fault; `suspect` does not, since nothing is done about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supervised:
    """One supervised episode: the truth, what was said about it, and how it ended."""

    episode_id: str
    seed: int
    success: bool
    fault: Fault | None = None
    """What was injected; a fault that never fired (no onset) makes a clean episode."""
    diagnoses: Sequence[Diagnosis] = field(default_factory=tuple)
    """In order of `step_index`."""

    @property
    def onset(self) -> int | None:
        """Step at which the fault began; None in a clean episode."""
        return self.fault.onset_step if self.fault is not None else None

    def claims(self) -> list[Diagnosis]:
        """Diagnoses that claim a fault."""
        return [diagnosis for diagnosis in self.diagnoses if diagnosis.verdict in ALARMS]

    def detection(self) -> Diagnosis | None:
        """The first claim at or after the onset; None if there is none, or nothing to detect."""
        onset = self.onset
        return None if onset is None else next((d for d in self.claims() if d.step_index >= onset), None)

    def unanswered(self) -> bool:
        """Whether the provider failed and nobody claimed anything: such an episode measures no diagnoser."""
        failed = any(abstention_cause(diagnosis) == "provider" for diagnosis in self.diagnoses)
        return failed and not self.claims()


@dataclass(frozen=True, slots=True, kw_only=True)
class Detection:
    """Counts of episodes, and their rates."""

    detected: int
    """Faulted, and claimed at or after the onset."""
    missed: int
    false_alarms: int
    """Clean, and a fault claimed."""
    quiet: int
    """Clean, and no fault claimed."""
    premature: int
    """Faulted episodes with a claim from before the onset: false alarms too, whatever came later."""
    unanswered: int
    """Left out of all the above: the provider failed."""

    @property
    def precision(self) -> float | None:
        """Share of claims that were right: detected / (detected + false alarms + premature claims)."""
        return _rate(self.detected, self.detected + self.false_alarms + self.premature)

    @property
    def recall(self) -> float | None:
        """Share of faulted episodes that were detected."""
        return _rate(self.detected, self.detected + self.missed)

    @property
    def false_alarm_rate(self) -> float | None:
        """Share of clean episodes in which a fault was claimed (FPR)."""
        return _rate(self.false_alarms, self.false_alarms + self.quiet)


def detection(episodes: Sequence[Supervised]) -> Detection:
    """Detection, by episode."""
    answered = [episode for episode in episodes if not episode.unanswered()]
    faulted = [episode for episode in answered if episode.onset is not None]
    clean = [episode for episode in answered if episode.onset is None]
    detected = sum(episode.detection() is not None for episode in faulted)
    false_alarms = sum(bool(episode.claims()) for episode in clean)
    return Detection(
        detected=detected,
        missed=len(faulted) - detected,
        false_alarms=false_alarms,
        quiet=len(clean) - false_alarms,
        premature=sum(_premature(episode) for episode in faulted),
        unanswered=len(episodes) - len(answered),
    )


def _premature(episode: Supervised) -> bool:
    return any(claim.step_index < (episode.onset or 0) for claim in episode.claims())


@dataclass(frozen=True, slots=True, kw_only=True)
class OnsetError:
    """Claimed onset minus true onset, in steps, over the detected episodes."""

    n: int
    """Detections that name an onset."""
    median: float | None
    """Signed: positive is late."""
    p90_abs: float | None
    """90th percentile of the size (nearest rank)."""
    hits: dict[int, float]
    """k -> share of detections within k steps."""


def onset_error(episodes: Sequence[Supervised], within: Sequence[int] = (1, 3, 5)) -> OnsetError:
    """How well the onset is localised, by the first right claim of each episode."""
    errors = []
    for episode in episodes:
        claim = episode.detection()
        said = claim.body.get("onset_step") if claim is not None else None
        if said is not None and episode.onset is not None:
            errors.append(int(said) - episode.onset)
    sizes = sorted(abs(error) for error in errors)
    return OnsetError(
        n=len(errors),
        median=statistics.median(errors) if errors else None,
        p90_abs=float(sizes[math.ceil(0.9 * len(sizes)) - 1]) if sizes else None,
        hits={k: sum(size <= k for size in sizes) / len(sizes) for k in within} if sizes else {},
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How often a detected fault was given its right name."""

    n: int
    class_accuracy: float | None
    type_accuracy: float | None
    confusion: dict[tuple[str, str], int]
    """(true type, claimed type) -> episodes."""


def naming(episodes: Sequence[Supervised]) -> Naming:
    """Accuracy of class and type, by the first right claim of each episode."""
    pairs = [(episode.fault, claim) for episode in episodes if (claim := episode.detection()) is not None]
    known = [(fault, claim) for fault, claim in pairs if fault is not None]
    return Naming(
        n=len(known),
        class_accuracy=_rate(sum(fault.fault_class == claim.fault_class for fault, claim in known), len(known)),
        type_accuracy=_rate(sum(fault.fault_type == claim.fault_type for fault, claim in known), len(known)),
        confusion=dict(Counter((fault.fault_type, str(claim.fault_type)) for fault, claim in known)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Abstentions:
    """Why nothing was said, in diagnoses."""

    declined: int
    invalid: int
    """The answer did not fit the schema or the episode."""
    provider: int
    """No answer came; no opinion of the diagnoser."""


def abstentions(episodes: Sequence[Supervised]) -> Abstentions:
    """Count the abstentions by cause."""
    causes = Counter(abstention_cause(diagnosis) for episode in episodes for diagnosis in episode.diagnoses)
    return Abstentions(declined=causes["declined"], invalid=causes["invalid"], provider=causes["provider"])


def abstention_cause(diagnosis: Diagnosis) -> str | None:
    """`declined`, `invalid` or `provider`; None for a diagnosis that says something."""
    return diagnosis.body.get("abstain_cause") or "declined" if diagnosis.verdict == "abstain" else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescue:
    """What supervision changed, paired by seed against the same policy left alone."""

    pairs: int
    rescued: int
    """Failed alone, succeeded supervised."""
    broken: int
    """Succeeded alone, failed supervised."""
    alone: float | None
    """Success rate left alone, over the pairs."""
    supervised: float | None
    unpaired: int
    """Seeds that only one of the two has; left out."""
    p_value: float | None
    """Exact two-sided McNemar test; None if no pair differs."""

    @property
    def net(self) -> int:
        """Rescued minus broken: below zero, doing nothing was better."""
        return self.rescued - self.broken


def rescue(alone: Mapping[int, bool], supervised: Mapping[int, bool]) -> Rescue:
    """Compare outcomes by seed.

    Args:
        alone: seed -> success of the unsupervised run, with the same faults injected.
        supervised: seed -> success of the supervised run.
    """
    seeds = sorted(alone.keys() & supervised.keys())
    rescued = sum(supervised[seed] and not alone[seed] for seed in seeds)
    broken = sum(alone[seed] and not supervised[seed] for seed in seeds)
    return Rescue(
        pairs=len(seeds),
        rescued=rescued,
        broken=broken,
        alone=_rate(sum(alone[seed] for seed in seeds), len(seeds)),
        supervised=_rate(sum(supervised[seed] for seed in seeds), len(seeds)),
        unpaired=len(alone.keys() ^ supervised.keys()),
        p_value=_mcnemar(rescued, broken),
    )


def _mcnemar(rescued: int, broken: int) -> float | None:
    """Two-sided binomial probability of a split at least as uneven, if each way were equally likely."""
    n = rescued + broken
    if n == 0:
        return None
    tail = sum(math.comb(n, k) for k in range(min(rescued, broken) + 1))
    return min(1.0, math.ldexp(tail, 1 - n))


def _rate(part: int, whole: int) -> float | None:
    return part / whole if whole else None
