"""The tables. One row a step, one row a model call; judgements are added, never overwritten.

    Run ──< RunEpisode >── Episode ──< Step ──< Call
                              │  ├──< MilestoneTruth        what the engine knows
                              │  ├──< Verdict               what a judge says, with its evidence
                              │  ├──< Fault                 what was injected (the truth)
                              │  └──< Diagnosis ──< Intervention   what was said and done about it
                              │                └──< Counterfactual   what the other way there led to
                              └──< Lesson                   what a reflection drew from it
                              └──< ProbeAnswer              what a model answered about it, beside the truth
    Tutorial                                                a person's own video that lessons may look at
    MilestoneProposal ──< MilestoneReview                   milestones read out of a recording, and who agreed
    Picture                                                 what models were shown, exactly
    Artifact                                                bytes by SHA-256: videos, files

Times are UTC; durations are seconds (`_s`); money is US dollars as exact decimals.
"""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, MetaData, String, UniqueConstraint
from sqlalchemy.orm import DeclarativeBase, Mapped, MappedAsDataclass, mapped_column

from storage.column_types import AnyText, Json, PackedJson, Usd, UtcDateTime


class Base(MappedAsDataclass, DeclarativeBase, kw_only=True):
    """Declarative base; every row is also a dataclass."""

    # Every constraint has a name, so that a later migration can drop it on any database.
    metadata = MetaData(
        naming_convention={
            "ix": "ix_%(table_name)s_%(column_0_name)s",
            "uq": "uq_%(table_name)s_%(column_0_name)s",
            "fk": "fk_%(table_name)s_%(column_0_name)s",
            "pk": "pk_%(table_name)s",
        }
    )

    type_annotation_map = {  # noqa: RUF012  SQLAlchemy's own form
        dict[str, Any]: Json,
        list[Any]: Json,
        dt.datetime: UtcDateTime(),
        decimal.Decimal: Usd(),
    }


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


class Run(Base, kw_only=True):
    """One experiment file as it was run."""

    __tablename__ = "run"

    id: Mapped[str] = mapped_column(String(120), primary_key=True)
    """`<name>-<first 10 of the experiment's hash>`: the same file is the same run."""
    name: Mapped[str] = mapped_column(String(100))
    experiment: Mapped[dict[str, Any]]
    """The validated experiment, defaults filled in."""
    status: Mapped[str] = mapped_column(String(20), default="running")
    """running | finished | interrupted"""
    host: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """Versions and machine that produced the results; no secret, no user name."""
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)
    finished_at: Mapped[dt.datetime | None] = mapped_column(default=None)


class Episode(Base, kw_only=True):
    """One attempt at one task. `identity` says what was played; `try_no` which time it was tried.

    Only an infrastructure or provider failure leads to a further try; every try is kept.
    """

    __tablename__ = "episode"
    __table_args__ = (UniqueConstraint("identity", "try_no"), Index("ix_episode_task", "task_id", "agent", "space"))

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    """`<identity>-<try_no>`; also the episode's address in the UI."""
    identity: Mapped[str] = mapped_column(String(32))
    """Versioned content hash of everything that changes the result."""
    try_no: Mapped[int]
    spec: Mapped[dict[str, Any]]
    """The canonical specification that `identity` is the hash of."""
    task_id: Mapped[str] = mapped_column(String(120))
    space: Mapped[str] = mapped_column(String(20))
    agent: Mapped[str] = mapped_column(String(120))
    seed: Mapped[int] = mapped_column(BigInteger)
    round: Mapped[int] = mapped_column(default=0)
    """0 is the first attempt; k is the k-th retry after a lesson."""
    parent_id: Mapped[str | None] = mapped_column(ForeignKey("episode.id"), default=None)
    """The attempt that this one follows."""
    lesson_id: Mapped[str | None] = mapped_column(String(40), default=None)
    """The lesson that went into this attempt's prompt."""
    status: Mapped[str] = mapped_column(String(20), default="running", index=True)
    """running | finished"""
    outcome: Mapped[str | None] = mapped_column(String(30), default=None, index=True)
    outcome_detail: Mapped[str] = mapped_column(AnyText, default="")
    scored: Mapped[bool | None] = mapped_column(default=None)
    """Whether `score` counts: only the game's own endings do."""
    score: Mapped[float | None] = mapped_column(default=None)
    success: Mapped[bool | None] = mapped_column(default=None)
    n_steps: Mapped[int] = mapped_column(default=0)
    state_hash: Mapped[str | None] = mapped_column(String(64), default=None)
    """SHA-256 of the final simulation state."""
    video: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"), default=None)
    video_info: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """fps, width, height, n_frames, codec; step -> frame is `Step.frame`."""
    summary: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """Counts that the leaderboard reads (illegal, unparsable, calls, tokens, cost, agent notes)."""
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)
    finished_at: Mapped[dt.datetime | None] = mapped_column(default=None)


class RunEpisode(Base, kw_only=True):
    """Which episodes a run uses, and as what: one episode may serve several conditions and runs."""

    __tablename__ = "run_episode"

    run_id: Mapped[str] = mapped_column(ForeignKey("run.id"), primary_key=True)
    condition: Mapped[str] = mapped_column(String(60), primary_key=True)
    """`single`, `reflect-and-retry`, ...; `tutorial` for the expert's demonstrations."""
    identity: Mapped[str] = mapped_column(String(32), primary_key=True, index=True)
    task_id: Mapped[str] = mapped_column(String(120))
    space: Mapped[str] = mapped_column(String(20))
    agent: Mapped[str] = mapped_column(String(120))
    instrument: Mapped[str] = mapped_column(String(200), default="")
    """Label of an agent that is an instrument and no contestant; empty otherwise."""
    seed: Mapped[int] = mapped_column(BigInteger)
    trial: Mapped[str] = mapped_column(String(32))
    """The identity of the first attempt: the rounds of one trial share it."""
    round: Mapped[int]
    final: Mapped[bool] = mapped_column(default=False)
    """Whether this round is the one that the condition reports."""


class Step(Base, kw_only=True):
    """One decision and what came of it. Rows are appended as they happen and never changed."""

    __tablename__ = "step"

    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True)
    """Order of play, from 0; grows through rollbacks."""
    branch: Mapped[int] = mapped_column(default=0)
    """Timeline branch; each rollback opens the next one."""
    sim_step: Mapped[int]
    """Step on the world's own timeline: goes back at a `sim` rollback."""
    action: Mapped[Any] = mapped_column(Json, nullable=True)
    """The action as played, in its canonical JSON form; null if there was none."""
    status: Mapped[str] = mapped_column(String(20))
    """ok | illegal | unparsable | refused"""
    reason: Mapped[str] = mapped_column(AnyText, default="")
    """Why the action was refused or could not be read."""
    rationale: Mapped[str] = mapped_column(AnyText, default="")
    """What the player said about it (model text: hostile)."""
    reward: Mapped[float] = mapped_column(default=0.0)
    score: Mapped[float] = mapped_column(default=0.0)
    """After the step."""
    frame: Mapped[int] = mapped_column(default=0)
    """Index in the video of the frame that the player saw before acting; frame + 1 shows the result."""
    notes: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """The player's own record (JSON), and the world's telemetry."""
    think_s: Mapped[float] = mapped_column(default=0.0)
    env_s: Mapped[float] = mapped_column(default=0.0)
    world_ms: Mapped[int] = mapped_column(default=0)
    """Milliseconds that the world ran on while the player thought (clock `latency`)."""


class Call(Base, kw_only=True):
    """One request to a model, with its exact request and reply."""

    __tablename__ = "call"
    __table_args__ = (Index("ix_call_step", "episode_id", "step_index"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    episode_id: Mapped[str | None] = mapped_column(ForeignKey("episode.id"))
    step_index: Mapped[int | None] = mapped_column(default=None)
    purpose: Mapped[str] = mapped_column(String(20))
    """act | repair | reflect | judge | diagnose | extract | probe"""
    model: Mapped[str] = mapped_column(String(200))
    endpoint: Mapped[str] = mapped_column(String(300), default="")
    request: Mapped[dict[str, Any]] = mapped_column(PackedJson)
    """The request as sent, without keys, compressed. Each image is {"artifact": sha256}, the address of a `Picture`, or
    {"half_of": sha256}. A later call of an episode holds {"as_in": id of an earlier one, "changes": ...}, which
    `Store.calls` makes whole."""
    reply: Mapped[dict[str, Any] | None] = mapped_column(PackedJson, default=None)
    """The reply as received, compressed; null if none came."""
    text: Mapped[str] = mapped_column(AnyText, default="")
    status: Mapped[str] = mapped_column(String(30))
    """ok | refused | truncated | timeout | rate_limited | server_error | bad_request | network | malformed"""
    error: Mapped[str] = mapped_column(AnyText, default="")
    retries: Mapped[int] = mapped_column(default=0)
    latency_s: Mapped[float] = mapped_column(default=0.0)
    waited_s: Mapped[float] = mapped_column(default=0.0)
    """Of it, spent waiting for rate limits: not the model's thinking."""
    input_tokens: Mapped[int | None] = mapped_column(default=None)
    output_tokens: Mapped[int | None] = mapped_column(default=None)
    usage: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    cost_usd: Mapped[decimal.Decimal | None] = mapped_column(default=None)
    """None is unknown, not zero."""
    cost_source: Mapped[str] = mapped_column(String(60), default="")
    cached: Mapped[bool] = mapped_column(default=False)
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class MilestoneTruth(Base, kw_only=True):
    """A milestone that the engine saw reached, and at which step first.

    On any branch: one that was reached before a rollback and not again stays, with its step.
    """

    __tablename__ = "milestone_truth"

    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), primary_key=True)
    milestone_id: Mapped[str] = mapped_column(String(60), primary_key=True)
    step_index: Mapped[int]
    """Index of the step after which it held; -1 if it held at the start."""


class Verdict(Base, kw_only=True):
    """One judge's answer on one milestone of one episode. Judging again adds rows."""

    __tablename__ = "verdict"
    __table_args__ = (UniqueConstraint("episode_id", "milestone_id", "fingerprint", "repeat"),)

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), index=True)
    milestone_id: Mapped[str] = mapped_column(String(60))
    judge: Mapped[str] = mapped_column(String(120))
    """`engine`, `human:<name>` or the model's name."""
    fingerprint: Mapped[str] = mapped_column(String(32))
    """Hash of all that determines the judge: model, prompt, schema, sampling, frames shown."""
    repeat: Mapped[int] = mapped_column(default=0)
    verdict: Mapped[str] = mapped_column(String(20))
    """reached | not_reached | uncertain | invalid"""
    confidence: Mapped[float | None] = mapped_column(default=None)
    frame: Mapped[int | None] = mapped_column(default=None)
    """The frame that the judge relies on."""
    note: Mapped[str] = mapped_column(AnyText, default="")
    call_id: Mapped[str | None] = mapped_column(String(40), default=None)
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class Lesson(Base, kw_only=True):
    """What a reflection drew from a failed attempt, and the frames that it looked at."""

    __tablename__ = "lesson"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), index=True)
    tutorial_id: Mapped[str | None] = mapped_column(ForeignKey("episode.id"), default=None)
    reflector: Mapped[str] = mapped_column(String(120))
    fingerprint: Mapped[str] = mapped_column(String(32))
    text: Mapped[str] = mapped_column(AnyText)
    frames: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """{"failure": [frame, ...], "tutorial": [frame, ...]}: exact frame numbers of the two videos. On the matched budget
    also `other` and `blank`, and what `arena.reflection.pictures.record` adds."""
    call_id: Mapped[str | None] = mapped_column(String(40), default=None)
    """The call that gave the lesson; its request holds the prompt and the very pictures."""
    kind: Mapped[str] = mapped_column(String(60), default="")
    """What it rests on, by the name of its condition: `failure-video`, `placebo`, ..."""
    status: Mapped[str] = mapped_column(String(20), default="ok")
    """ok | refused | unusable: then the text is empty, and `problem` says why."""
    problem: Mapped[str] = mapped_column(AnyText, default="")
    causes: Mapped[list[Any]] = mapped_column(default_factory=list)
    """[{"text": ..., "frame": frame or null, "picture": number or null}, ...] (model text: hostile)"""
    call_ids: Mapped[list[Any]] = mapped_column(default_factory=list)
    """All calls that led to it, in order: two where causes and lesson are asked for apart."""
    film_id: Mapped[str | None] = mapped_column(ForeignKey("tutorial.id"), default=None)
    """The person's own video that was shown as tutorial, where it was one."""
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class Tutorial(Base, kw_only=True):
    """A person's own video of how a task is done. Episodes that serve as tutorials need no row here."""

    __tablename__ = "tutorial"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    """`t-` and a hash of task, space and source: adding the same again gives the same."""
    task_id: Mapped[str] = mapped_column(String(120), index=True)
    space: Mapped[str] = mapped_column(String(20), default="")
    """The action space that it shows; empty for any."""
    video: Mapped[str] = mapped_column(ForeignKey("artifact.sha256"))
    """As it was decoded and encoded again; the source's bytes are not kept."""
    video_info: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """fps, width, height, n_frames, codec"""
    source: Mapped[str] = mapped_column(String(200), default="")
    """Name of the file that it came from, without its folder."""
    source_sha256: Mapped[str] = mapped_column(String(64), default="")
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class MilestoneProposal(Base, kw_only=True):
    """A milestone that a model read out of a recording, with the stretch and the frames that show it."""

    __tablename__ = "milestone_proposal"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    task_id: Mapped[str] = mapped_column(String(120), index=True)
    version: Mapped[int]
    """Of the task's proposals: every extraction is a new one; the same model on the same recording is the same."""
    place: Mapped[int]
    """In the order of the recording, from 0."""
    text: Mapped[str] = mapped_column(AnyText)
    """What holds when it is reached (model text: hostile)."""
    episode_id: Mapped[str | None] = mapped_column(ForeignKey("episode.id"), default=None)
    """The recording: an episode, or a person's own video."""
    tutorial_id: Mapped[str | None] = mapped_column(ForeignKey("tutorial.id"), default=None)
    first_frame: Mapped[int] = mapped_column(default=0)
    last_frame: Mapped[int] = mapped_column(default=0)
    """The stretch of the recording in which it is reached."""
    frames: Mapped[list[Any]] = mapped_column(default_factory=list)
    """Numbers of the shown frames that the model relies on."""
    model: Mapped[str] = mapped_column(String(200), default="")
    fingerprint: Mapped[str] = mapped_column(String(32), default="")
    call_id: Mapped[str | None] = mapped_column(String(40), default=None)
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class MilestoneReview(Base, kw_only=True):
    """What somebody decided about a proposal. The latest counts, none is overwritten; without one it is proposed."""

    __tablename__ = "milestone_review"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    proposal_id: Mapped[str] = mapped_column(ForeignKey("milestone_proposal.id"), index=True)
    state: Mapped[str] = mapped_column(String(20))
    """accepted | rejected | proposed (again)"""
    reviewer: Mapped[str] = mapped_column(String(120))
    """`human:<name>`, or `engine` where its truth agrees in time."""
    matches: Mapped[str] = mapped_column(String(60), default="")
    """The engine's milestone that it agrees with."""
    note: Mapped[str] = mapped_column(AnyText, default="")
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class ProbeAnswer(Base, kw_only=True):
    """A question about a recording whose answer the engine knows, and what a model answered."""

    __tablename__ = "probe_answer"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    probing: Mapped[str] = mapped_column(String(40), index=True)
    """Which probing it belongs to: a model, asked a set of questions."""
    kind: Mapped[str] = mapped_column(String(20))
    """perception | chronology | planning"""
    name: Mapped[str] = mapped_column(String(60))
    """The question's form: `which-first`, `reversed`, `next-milestone`, ..."""
    task_id: Mapped[str] = mapped_column(String(120))
    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"))
    frames: Mapped[list[Any]] = mapped_column(default_factory=list)
    """Numbers of the frames that it asks about."""
    question: Mapped[str] = mapped_column(AnyText, default="")
    options: Mapped[list[Any]] = mapped_column(default_factory=list)
    truth: Mapped[Any] = mapped_column(Json, default=None)
    answer: Mapped[Any] = mapped_column(Json, nullable=True, default=None)
    correct: Mapped[bool | None] = mapped_column(default=None)
    """Null where there is no answer to mark."""
    status: Mapped[str] = mapped_column(String(20), default="ok")
    """ok | invalid | refused"""
    model: Mapped[str] = mapped_column(String(200), default="")
    fingerprint: Mapped[str] = mapped_column(String(32), default="")
    call_id: Mapped[str | None] = mapped_column(String(40), default=None)
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class Fault(Base, kw_only=True):
    """A fault that was injected: the truth against which diagnoses are scored."""

    __tablename__ = "fault"

    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), primary_key=True)
    kind: Mapped[str] = mapped_column(String(60), primary_key=True)
    fault_class: Mapped[str] = mapped_column(String(20))
    fault_type: Mapped[str] = mapped_column(String(10))
    onset_step: Mapped[int | None] = mapped_column(default=None)
    """Step index at which it began; null if it never fired."""
    params: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)


class Diagnosis(Base, kw_only=True):
    """One answer of one diagnoser, in the diagnosis schema."""

    __tablename__ = "diagnosis"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), index=True)
    step_index: Mapped[int]
    """The step after which it was asked."""
    trigger: Mapped[str] = mapped_column(String(60))
    """The monitor that raised it; `review` where a person said it of the finished recording."""
    diagnoser: Mapped[str] = mapped_column(String(120))
    fingerprint: Mapped[str] = mapped_column(String(32))
    verdict: Mapped[str] = mapped_column(String(20))
    """ok | suspect | fault | unrecoverable | abstain"""
    fault_class: Mapped[str | None] = mapped_column(String(20), default=None)
    fault_type: Mapped[str | None] = mapped_column(String(10), default=None)
    rollback_step: Mapped[int | None] = mapped_column(default=None)
    body: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """The whole answer, validated."""
    call_id: Mapped[str | None] = mapped_column(String(40), default=None)
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class Intervention(Base, kw_only=True):
    """A rollback that was carried out: a fork in the timeline."""

    __tablename__ = "intervention"

    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), primary_key=True)
    branch: Mapped[int] = mapped_column(primary_key=True)
    """The branch that it opened."""
    diagnosis_id: Mapped[str] = mapped_column(ForeignKey("diagnosis.id"))
    kind: Mapped[str] = mapped_column(String(20))
    """sim (the whole world goes back) | physical (the arm retraces its path) | repair (nothing goes back) | undo (an
    earlier one is taken back: the world is again as it was after `to_step`)"""
    at_step: Mapped[int]
    """Step index after which play stopped."""
    to_step: Mapped[int]
    """Step index whose beginning was restored (or whose pose the arm was sent back to: the first rows of the new branch
    are its way, and their notes say how it ended); play resumed from there on the new branch."""
    snapshot: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the restored snapshot; empty for a physical one."""
    exact: Mapped[bool]
    """Whether the restored state was bit-identical to the snapshot; never for a physical one."""
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class Counterfactual(Base, kw_only=True):
    """What came of going the other way at a diagnosis: without its intervention, or with one that was suppressed.

    Playing it again adds a row.
    """

    __tablename__ = "counterfactual"

    id: Mapped[str] = mapped_column(String(40), primary_key=True)
    episode_id: Mapped[str] = mapped_column(ForeignKey("episode.id"), index=True)
    diagnosis_id: Mapped[str] = mapped_column(ForeignKey("diagnosis.id"))
    at_step: Mapped[int]
    """Step index after which the ways part."""
    from_step: Mapped[int]
    """Step index at whose beginning the other way starts: the one after `at_step`, or the one that it went back to."""
    suppressed: Mapped[bool]
    """Whether the record has no intervention there, and the other way has."""
    verdict: Mapped[str] = mapped_column(String(20))
    """Of the intervention: helped | harmed | not_needed | did_not_help"""
    with_it: Mapped[bool]
    """Success with the intervention."""
    without_it: Mapped[bool]
    exact: Mapped[bool]
    """Whether the replay was the record, bit for bit, until the fork."""
    prefix_steps: Mapped[int]
    """Steps that were compared."""
    differences: Mapped[list[Any]] = mapped_column(default_factory=list)
    """The first of them, in words."""
    outcome: Mapped[str] = mapped_column(String(30))
    """How the other way ended: won | lost | horizon"""
    score: Mapped[float]
    n_steps: Mapped[int]
    """Of the other way, from `from_step` on."""
    repair_steps: Mapped[int] = mapped_column(default=0)
    """Of them the first so many, which carried out a repair."""
    scores: Mapped[list[Any]] = mapped_column(default_factory=list)
    """After each of its steps."""
    state_hash: Mapped[str] = mapped_column(String(64))
    """SHA-256 of the simulation state in which it ended."""
    video: Mapped[str | None] = mapped_column(ForeignKey("artifact.sha256"), default=None)
    """Of the other way alone: frame i is what was seen before its step i, and the last one how it ended."""
    video_info: Mapped[dict[str, Any]] = mapped_column(default_factory=dict)
    """fps, width, height, n_frames, codec"""
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)


class Picture(Base, kw_only=True):
    """A picture that a model was shown, exactly: one entry of a log of pictures (`storage.pictures`)."""

    __tablename__ = "picture"

    log: Mapped[str] = mapped_column(String(32), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True)
    """Place in the log, from 0."""
    sha256: Mapped[str] = mapped_column(String(64), index=True)
    """Of its size and pixels: what requests call it."""
    width: Mapped[int]
    height: Mapped[int]
    first: Mapped[int]
    """Where reading begins: the last entry of that size that started afresh."""
    data: Mapped[bytes] = mapped_column(LargeBinary)


class Artifact(Base, kw_only=True):
    """Bytes kept outside the database, addressed by their SHA-256."""

    __tablename__ = "artifact"

    sha256: Mapped[str] = mapped_column(String(64), primary_key=True)
    media_type: Mapped[str] = mapped_column(String(60))
    size: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[dt.datetime] = mapped_column(default_factory=_now)
