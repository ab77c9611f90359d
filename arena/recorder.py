"""Writes an episode down while it is played: rows step by step, frames into one video stream."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from agents.agent import Decision
from agents.calls import ModelCall
from arena.experiment import EVERY_STEP
from arena.identity import digest
from arena.outcomes import Outcome
from arena.plan import Attempt
from arena.supervision import Directive
from environments.env import ArenaEnv, Frame, Views
from storage.models import Base, Call, Diagnosis, Episode, Fault, Intervention, MilestoneTruth, Picture, Step
from storage.pictures import PictureLog
from storage.requests import CHAIN, abridged
from storage.store import Store
from storage.video import VideoWriter


class Recorder:
    """The memory of one episode.

    The step rows are the truth and are durable one by one. The video is derived: an interrupted
    episode is played again from its rows, which gives the same frames, so an unfinished file is
    thrown away. Row i of `step` names the frame that the player saw; the next frame shows the result.

    A video `as-seen` leaves out what nobody looked at. Then a row whose picture was not drawn names the same frame as
    the row before it: the nearest earlier one that was. The next frame is still the first that was drawn after the
    step, since the frames around a rollback and the last one are always there.
    """

    def __init__(self, store: Store, attempt: Attempt, try_no: int, scratch: Path) -> None:
        self.episode_id = f"{attempt.identity}-{try_no}"
        self.n_frames = 0
        self._store = store
        self._attempt = attempt
        self._try_no = try_no
        self._scratch = tempfile.TemporaryDirectory(dir=scratch, prefix="episode-")
        self._path = Path(self._scratch.name) / "episode.mp4"
        self._video: VideoWriter | None = None
        self._fps = 0
        self._every_step = attempt.spec.get("video", EVERY_STEP) == EVERY_STEP
        self._now: Mapping[str, Any] | None = None
        """The observation of now."""
        self._drawn: Mapping[str, Any] | None = None
        """The observation that the last frame shows."""
        self._n_steps = 0
        self._reached: set[str] = set()
        self._known: set[str] = set()
        self._unwritten: list[MilestoneTruth] = []
        self._summary: dict[str, Any] = {"illegal": 0, "unparsable": 0, "refused": 0}
        self._calls: list[ModelCall | Call] = []
        self._log = CallLog()
        self._notes: dict[str, list[float]] = {}
        self._recorded: list[Step] = []

    def __enter__(self) -> Self:
        """Open the episode's row, or the one that an interruption left open."""
        attempt = self._attempt
        self._store.begin_episode(
            Episode(
                id=self.episode_id,
                identity=attempt.identity,
                try_no=self._try_no,
                spec=attempt.spec,
                task_id=attempt.spec["task"],
                space=attempt.spec["space"],
                agent=attempt.agent.label,
                seed=attempt.spec["seed"],
                round=attempt.round,
                parent_id=attempt.parent,
                lesson_id=attempt.lesson_id,
            )
        )
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        if self._video is not None:
            self._video.abort()
        self._scratch.cleanup()

    def begin(self, env: ArenaEnv, observation: Mapping[str, Any]) -> None:
        """Record the first frame, and read what an interrupted process left."""
        self._recorded = self._store.steps(self.episode_id)
        self._known = {truth.milestone_id for truth in self._store.truths(self.episode_id)} if self._recorded else set()
        self._fps = int(env.metadata["render_fps"])
        self.see(env, observation, after=-1)
        self.show(env, observation)

    def recorded_steps(self) -> Sequence[Step]:
        """The steps that an earlier, interrupted process made durable."""
        return self._recorded

    def recorded_forks(self) -> Sequence[Intervention]:
        """The rollbacks among them."""
        return self._store.interventions(self.episode_id) if self._recorded else ()

    def recorded_diagnoses(self) -> Sequence[Diagnosis]:
        """The diagnoses among them."""
        return self._store.diagnoses(self.episode_id) if self._recorded else ()

    def recorded_calls(self) -> Sequence[Call]:
        """The player's among the model calls that it made durable, those of a step that came to nothing included."""
        made = self._store.calls(self.episode_id)
        self._calls += made
        return _of_the_player(made)

    def see(self, env: ArenaEnv, observation: Mapping[str, Any], after: int) -> None:
        """Record the present frame, and the milestones that the engine holds reached after step `after`.

        A video `as-seen` waits for somebody to look: see `looked`.
        """
        self._now = observation
        if self._every_step:
            self._write(observation[env.main_view])
            self._drawn = observation
        for milestone in sorted(env.milestones() - self._reached):
            self._reached.add(milestone)
            if milestone not in self._known:
                truth = MilestoneTruth(episode_id=self.episode_id, milestone_id=milestone, step_index=after)
                self._unwritten.append(truth)

    def show(self, env: ArenaEnv, observation: Mapping[str, Any]) -> None:
        """Record the picture of an observation of now, unless the last frame shows it already."""
        if self._drawn is not observation:
            self._write(observation[env.main_view])
            self._drawn = observation

    def looked(self, env: ArenaEnv, observation: Mapping[str, Any]) -> None:
        """Record the picture of an observation if somebody has looked at it."""
        if not isinstance(observation, Views) or observation.rendered(env.main_view):
            self.show(env, observation)

    def _write(self, frame: Frame) -> None:
        if self._video is None:
            height, width = frame.shape[:2]
            self._video = VideoWriter(self._path, fps=self._fps, size=(width, height))
        self._video.write(frame)
        self.n_frames += 1

    def step(
        self, step: Step, decision: Decision, directive: Directive | None = None, fork: Intervention | None = None
    ) -> None:
        """Make a step durable together with all that belongs to it."""
        calls = [*decision.calls, *(directive.calls if directive else ())]
        extra: list[Base] = []
        if directive is not None:
            diagnosis = self._diagnosis(step, directive)
            extra.append(diagnosis)
            if fork is not None:
                fork.diagnosis_id = diagnosis.id
                extra.append(fork)
        self._calls += calls
        rows, pictures = self._log.rows(calls, self.episode_id, step.index)
        self._count(step)
        truths, self._unwritten = self._unwritten, []
        self._store.append_step(step, calls=rows, truths=truths, extra=[*extra, *pictures])
        self._n_steps += 1

    def replayed(self, step: Step) -> None:
        """A recorded step was played again: it counts, and is not written a second time."""
        self._count(step)
        self._n_steps += 1

    def failed_calls(self, calls: Iterable[ModelCall], step_index: int) -> None:
        """Keep the calls of a step that came to nothing."""
        made = list(calls)
        self._calls += made
        rows, pictures = self._log.rows(made, self.episode_id, step_index)
        self._store.add(*rows, *pictures)

    def finish(self, env: ArenaEnv, outcome: Outcome, detail: str) -> None:
        """Close the video, put it into the store, and complete the episode's row."""
        if self._video is None:
            raise RuntimeError("finish() before begin()")
        if self._drawn is not self._now:
            self._write(env.render())  # in a world with a clock the last observation may be past
        video, self._video = self._video, None
        info = video.close()
        sha = self._store.put_artifact(self._path, "video/mp4")
        self._write_fault(env)
        self._store.upsert(*self._unwritten)  # reached at the start of an episode that ended without a step
        self._store.finish_episode(
            self.episode_id,
            outcome=str(outcome),
            outcome_detail=detail,
            scored=outcome.scored,
            score=env.score(),
            success=env.success(),
            n_steps=self._n_steps,
            state_hash=env.state_hash(),
            video=sha,
            video_info=asdict(info),
            summary=self._summarise(),
        )

    def fail(self, error: Exception) -> None:
        """The machine failed: the episode ends unscored, and its next try is a row of its own."""
        self._store.finish_episode(
            self.episode_id,
            outcome=str(Outcome.INFRASTRUCTURE_ERROR),
            outcome_detail=f"{type(error).__name__}: {error}",
            scored=False,
            n_steps=self._n_steps,
            summary=self._summarise(),
        )

    def _write_fault(self, env: ArenaEnv) -> None:
        truth = env.fault_truth() if self._attempt.spec["fault"] else None
        if truth:
            self._store.upsert(
                Fault(
                    episode_id=self.episode_id,
                    kind=truth["kind"],
                    fault_class=truth["fault_class"],
                    fault_type=truth["fault_type"],
                    # A fault that comes back has happened, even if its last onset was rolled back.
                    onset_step=truth["first_onset_step"],
                    params=self._attempt.spec["fault"],
                )
            )

    def _diagnosis(self, step: Step, directive: Directive) -> Diagnosis:
        body = dict(directive.body)
        return Diagnosis(
            id=f"d-{digest([self.episode_id, step.index])}",
            episode_id=self.episode_id,
            step_index=step.index,
            trigger=directive.trigger,
            diagnoser=directive.diagnoser,
            fingerprint=digest(self._attempt.spec["supervision"]),
            verdict=body["verdict"],
            fault_class=body.get("fault_class"),
            fault_type=body.get("fault_type"),
            rollback_step=directive.rollback_to,
            body=body,
            call_id=directive.calls[-1].id if directive.calls else None,
        )

    def _count(self, step: Step) -> None:
        if step.status in self._summary:
            self._summary[step.status] += 1
        for name, value in step.notes.items():
            if isinstance(value, bool):
                self._notes.setdefault(name, []).append(float(value))

    def _summarise(self) -> dict[str, Any]:
        costs = [call.cost_usd for call in self._calls]
        return {
            **self._summary,
            "calls": len(self._calls),
            "input_tokens": sum(call.input_tokens or 0 for call in self._calls),
            "output_tokens": sum(call.output_tokens or 0 for call in self._calls),
            "cost_usd": str(sum((cost for cost in costs if cost is not None), Decimal(0))),
            "cost_unknown": any(cost is None for cost in costs),
            "retries": sum(call.retries for call in self._calls),
            "notes": {name: {"true": sum(values), "n": len(values)} for name, values in self._notes.items()},
        }


def _of_the_player(calls: Iterable[Call]) -> list[Call]:
    """Without a diagnoser's; a `repair` is of whoever asked the question before it."""
    found: list[Call] = []
    asking = "act"
    for call in calls:
        asking = asking if call.purpose == "repair" else call.purpose
        if asking == "act":
            found.append(call)
    return found


class CallLog:
    """Turns the model calls of one episode into rows that do not say or show the same twice."""

    def __init__(self) -> None:
        self._pictures = PictureLog()
        self._first: ModelCall | None = None
        self._last: ModelCall | None = None
        self._since = 0
        """Calls since the one that refers to none or to the first."""

    def rows(
        self, calls: Iterable[ModelCall], episode_id: str | None, step_index: int | None = None
    ) -> tuple[list[Call], list[Picture]]:
        """Rows of the calls, and of the pictures that were sent for the first time."""
        rows: list[Call] = []
        pictures: list[Picture] = []
        for call in calls:
            pictures += self._pictures.rows(call.images)
            rows.append(_call_row(call, self._request(call), episode_id, step_index))
        return rows, pictures

    def _request(self, call: ModelCall) -> dict[str, Any]:
        """What the call's request has beyond the one before it, or now and then beyond the first one."""
        self._since = (self._since + 1) % CHAIN
        earlier = self._last if self._since else self._first
        self._last = call
        if earlier is None:
            self._first = call
            return dict(call.request)
        return abridged(call.request, earlier.request, earlier.id)


def record_calls(store: Store, calls: Iterable[ModelCall], episode_id: str | None, *results: Base) -> None:
    """Write down calls that belong to no step, a judge's or a reflector's, together with what came of them."""
    rows, pictures = CallLog().rows(calls, episode_id)
    store.add(*rows, *pictures, *results)


def _call_row(call: ModelCall, request: dict[str, Any], episode_id: str | None, step_index: int | None) -> Call:
    return Call(
        id=call.id,
        episode_id=episode_id,
        step_index=step_index,
        purpose=call.purpose,
        model=call.model,
        endpoint=call.endpoint,
        request=request,
        reply=dict(call.reply) if call.reply is not None else None,
        text=call.text,
        status=call.status,
        error=call.error,
        retries=call.retries,
        latency_s=call.latency_s,
        waited_s=call.waited_s,
        input_tokens=call.input_tokens,
        output_tokens=call.output_tokens,
        usage=dict(call.usage),
        cost_usd=call.cost_usd,
        cost_source=call.cost_source,
        cached=call.cached,
    )
