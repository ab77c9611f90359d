"""What would have been: each intervention of a recorded episode without it, and each suppressed one with it.

Snapshots are exact and players draw their chance from episode and step alone, so a recorded episode can be played again
up to any of its steps and then go another way. Until the fork the replay must equal the record bit for bit: actions,
rewards and scores of every step, and the SHA-256 of every snapshot that was restored (`replay` does that). What the
other way led to is kept by `keep`, and need not be played again; its pictures are drawn and filmed only if they are
asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from arena.diagnosis.dynamic_rows import SEPARATOR
from arena.diagnosis.human import is_review
from arena.diagnosis.replay import Branch, NotReplayable, Replay
from arena.experiment import AgentEntry
from arena.supervision import UNDO
from storage import models
from storage.models import Diagnosis, Episode
from storage.store import Store

__all__ = ["Branch", "Counterfactual", "NotReplayable", "Tally", "counterfactuals", "keep", "kept", "of_run", "tally"]

Verdict = Literal["helped", "harmed", "not needed", "did not help"]
"""Failed without and succeeded with it; the reverse; succeeded either way; failed either way."""


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """One fork, and what came of going the other way there."""

    episode: str
    diagnosis: str
    step: int
    """Step index after which the ways part."""
    trigger: str
    suppressed: bool
    """Whether the intervention was not carried out in the record, and is in the replay."""
    with_it: bool
    """Success with the intervention..."""
    without: bool
    """...and without it."""
    branch: Branch
    """The way that is not the record's."""
    prefix_steps: int
    """Steps that were compared with the record."""
    differences: tuple[str, ...]
    """Where the replay was not the record; none means bit for bit the same until the fork."""

    @property
    def exact(self) -> bool:
        """Whether the replay equalled the record until the fork."""
        return not self.differences

    @property
    def verdict(self) -> Verdict:
        """Was it needed, did it help."""
        if self.with_it != self.without:
            return "helped" if self.with_it else "harmed"
        return "not needed" if self.with_it else "did not help"

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        branch = {**asdict(self.branch), "n_steps": self.branch.n_steps}
        return {**asdict(self), "branch": branch, "exact": self.exact, "verdict": self.verdict}


def keep(store: Store, found: Counterfactual) -> models.Counterfactual:
    """Add the row of a counterfactual. One that is there already stays: the latest counts."""
    branch = found.branch
    row = models.Counterfactual(
        id=f"c-{uuid4().hex[:24]}",
        episode_id=found.episode,
        diagnosis_id=found.diagnosis,
        at_step=found.step,
        from_step=branch.from_step,
        suppressed=found.suppressed,
        verdict=found.verdict.replace(" ", "_"),
        with_it=found.with_it,
        without_it=found.without,
        exact=found.exact,
        prefix_steps=found.prefix_steps,
        differences=list(found.differences),
        outcome=branch.outcome,
        score=branch.score,
        n_steps=branch.n_steps,
        repair_steps=branch.repair_steps,
        scores=list(branch.scores),
        state_hash=branch.state_hash,
        video=branch.video,
        video_info=dict(branch.video_info),
    )
    store.add(row)
    return row


def kept(store: Store, episode: Episode, *, filmed: bool = False) -> dict[str, Counterfactual]:
    """By diagnosis what was found out before: the latest replay that was exact, and that has its film, if asked."""
    triggers = {diagnosis.id: diagnosis.trigger for diagnosis in store.diagnoses(episode.id)}
    found = {}
    for row in store.counterfactuals(episode.id):  # the oldest first
        if row.exact and not (filmed and (row.video is None or not store.artifacts.exists(row.video))):
            found[row.diagnosis_id] = _recalled(row, triggers[row.diagnosis_id])
    return found


def _recalled(row: models.Counterfactual, trigger: str) -> Counterfactual:
    branch = Branch(
        from_step=row.from_step, outcome=row.outcome, success=row.with_it if row.suppressed else row.without_it,
        scores=tuple(row.scores), repair_steps=row.repair_steps, state_hash=row.state_hash, score=row.score,
        video=row.video, video_info=row.video_info,
    )  # fmt: skip
    return Counterfactual(
        episode=row.episode_id, diagnosis=row.diagnosis_id, step=row.at_step, trigger=trigger,
        suppressed=row.suppressed, with_it=row.with_it, without=row.without_it, branch=branch,
        prefix_steps=row.prefix_steps, differences=tuple(row.differences),
    )  # fmt: skip


def counterfactuals(
    store: Store,
    episode: Episode,
    options: Mapping[str, Any],
    *,
    films: Path | None = None,
    known: Mapping[str, Counterfactual] | None = None,
) -> Iterator[Counterfactual]:
    """Play each intervention of an episode, carried out or suppressed, the other way.

    Args:
        store: where it was recorded.
        episode: a finished and scored one.
        options: of its player, with its `name`, as the experiment gave them.
        films: local folder for unfinished videos; None films nothing.
        known: by diagnosis what need not be played again; it is given back in its place.

    Raises:
        NotReplayable: if it cannot be played again.
        VideoError: if it cannot be filmed.
    """
    forks = {fork.diagnosis_id: fork for fork in store.interventions(episode.id)}
    said = [d for d in store.diagnoses(episode.id) if d.id in forks or _suppressed(d)]
    said = [d for d in said if d.id not in forks or forks[d.id].kind != UNDO]
    known = known or {}
    replay: Replay | None = None
    with ExitStack() as stack:
        for diagnosis in said:
            if diagnosis.id in known:
                yield known[diagnosis.id]
                continue
            if replay is None:
                replay = stack.enter_context(closing(Replay(store, episode, options, films)))
            yield _other_way(replay, episode, diagnosis, suppressed=diagnosis.id not in forks)


def _other_way(replay: Replay, episode: Episode, diagnosis: Diagnosis, *, suppressed: bool) -> Counterfactual:
    """Go the way that the record did not go after a diagnosis."""
    differences = list(replay.until(diagnosis.step_index))
    recorded = bool(episode.success)
    branch = replay.branch(diagnosis, suppressed=suppressed)
    return Counterfactual(
        episode=episode.id,
        diagnosis=diagnosis.id,
        step=diagnosis.step_index,
        trigger=diagnosis.trigger,
        suppressed=suppressed,
        with_it=branch.success if suppressed else recorded,
        without=recorded if suppressed else branch.success,
        branch=branch,
        prefix_steps=diagnosis.step_index + 1,
        differences=tuple(differences[:5]),
    )


def _suppressed(diagnosis: Diagnosis) -> bool:
    """A fault that was named with a way back, and left alone: not sure enough, or the budget was used up."""
    named = diagnosis.verdict == "fault" and diagnosis.body.get("rollback_step") is not None
    return named and not is_review(diagnosis)


def of_run(
    store: Store,
    run_id: str,
    *,
    conditions: Sequence[str] = (),
    limit: int | None = None,
    films: Path | None = None,
    keeping: bool = False,
    again: bool = False,
) -> Iterator[Counterfactual]:
    """The counterfactuals of a run's episodes.

    Args:
        store: where it was recorded.
        run_id: of the run, or its beginning.
        conditions: names of conditions, without the fault; none means all.
        limit: so many episodes with something to be asked about at most.
        films: local folder for unfinished videos; None films nothing.
        keeping: write down each as soon as it is known, and do not play again what was kept before (`kept`): whatever
            interrupts this, the next call goes on there.
        again: play again what was kept before, too.

    Raises:
        NotReplayable: if an episode cannot be played again.
        VideoError: if one cannot be filmed.
    """
    run = store.run(run_id)
    entries = [AgentEntry.model_validate(entry) for block in run.experiment["blocks"] for entry in block["agents"]]
    players = {entry.label: {"name": entry.name, **entry.options} for entry in entries}
    links = {link.identity: link for link in store.plan(run.id) if link.final}
    if conditions:
        links = {key: link for key, link in links.items() if link.condition.partition(SEPARATOR)[0] in conditions}
    tries = store.latest_tries(links)
    asked = 0
    for key, link in links.items():
        episode = tries.get(key)
        if episode is None or episode.status != "finished" or not episode.scored or not episode.spec["supervision"]:
            continue
        known = kept(store, episode, filmed=films is not None) if keeping and not again else {}
        some = False
        for found in counterfactuals(store, episode, players[link.agent], films=films, known=known):
            if keeping and found.diagnosis not in known:
                keep(store, found)
            some = True
            yield found
        asked += some
        if limit is not None and asked >= limit:
            return


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts over many forks."""

    forks: int
    exact: int
    helped: int
    harmed: int
    not_needed: int
    did_not_help: int


def tally(found: Sequence[Counterfactual]) -> Tally:
    """Count the verdicts."""
    verdicts = [item.verdict for item in found]
    return Tally(
        forks=len(found),
        exact=sum(item.exact for item in found),
        helped=verdicts.count("helped"),
        harmed=verdicts.count("harmed"),
        not_needed=verdicts.count("not needed"),
        did_not_help=verdicts.count("did not help"),
    )
