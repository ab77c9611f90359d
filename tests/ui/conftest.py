"""A small, realistic run written through the real store and the real encoder, and a server that shows it.

Every frame carries its own index as a barcode of 16 cells along its lower edge, so that a test in a browser can read
from the screen which frame it shows. One episode is made of hostile text.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import io
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import uvicorn
from PIL import Image, ImageDraw
from sqlalchemy import insert

import environments
from storage.models import (
    Call,
    Counterfactual,
    Diagnosis,
    Episode,
    Fault,
    Intervention,
    Lesson,
    MilestoneProposal,
    MilestoneReview,
    MilestoneTruth,
    Run,
    RunEpisode,
    Step,
    Verdict,
)
from storage.pictures import PictureLog, address
from storage.store import Store
from storage.video import VideoWriter
from ui.app import create_app, listen
from ui.play import PlayDesk

SIZE = (640, 480)
BITS = 16
CELL = 40
RUN = "demo-0123456789"
RETRY = "reflect-and-retry"
AGENTS = (
    ("scripted", 35, "expert that reads the state"),
    ("calibrated", 5, "test weight: gains a known amount"),
    ("random", -40, ""),
)
LONG = 20_000
BEGIN = dt.datetime(2026, 3, 2, 9, 0, tzinfo=dt.UTC)

IMG = '<img src=x onerror="window.hacked=1">'
SCRIPT = "</script><script>window.hacked=2</script>"
LINKS = "[click](javascript:window.hacked=3) ![x](http://evil.invalid/x.png)"
BRACES = "{{constructor.constructor('window.hacked=4')()}}"
TEMPLATE = "${window.hacked=5} <svg onload=window.hacked=6> <iframe srcdoc='<script>parent.hacked=7</script>'>"
HOSTILE = f"{IMG} {SCRIPT} {LINKS} {BRACES} {TEMPLATE}"


def ident(name: str) -> str:
    return hashlib.sha256(name.encode()).hexdigest()[:32]


def barcode(draw: ImageDraw.ImageDraw, index: int) -> None:
    for bit in range(BITS):
        x = bit * CELL
        shade = 255 if index >> bit & 1 else 0
        draw.rectangle((x, SIZE[1] - 24, x + CELL - 1, SIZE[1] - 1), fill=(shade, shade, shade))


def draw_frame(index: int, paint: Callable[[ImageDraw.ImageDraw, int], None]) -> np.ndarray:
    """One frame, (480, 640, 3) uint8, with its index as a barcode."""
    image = Image.new("RGB", SIZE, (24, 28, 34))
    draw = ImageDraw.Draw(image)
    paint(draw, index)
    barcode(draw, index)
    return np.asarray(image)


def board(draw: ImageDraw.ImageDraw, index: int) -> None:
    for x in range(20):
        for y in range(14):
            draw.rectangle((x * 32 + 1, y * 32 + 1, x * 32 + 30, y * 32 + 30), fill=(34, 39, 47))
    for k in range(5):
        x, y = (index - k) % 20, (index - k) // 20 % 14
        draw.rectangle(
            (x * 32 + 3, y * 32 + 3, x * 32 + 28, y * 32 + 28), fill=(90, 200, 120) if k else (160, 240, 180)
        )
    draw.ellipse((12 * 32 + 6, 6 * 32 + 6, 12 * 32 + 26, 6 * 32 + 26), fill=(230, 80, 70))


def table(draw: ImageDraw.ImageDraw, index: int) -> None:
    draw.rectangle((0, 190, 640, 456), fill=(150, 118, 84))
    draw.ellipse((430, 300, 560, 370), fill=(210, 210, 215), outline=(90, 90, 95), width=4)
    x = 120 + (index * 9) % 320
    draw.rectangle((x, 290, x + 34, 324), fill=(205, 60, 55))
    draw.line((320, 40, x + 17, 270), fill=(235, 235, 235), width=16)
    draw.rectangle((x - 8, 262, x + 42, 276), fill=(60, 60, 66))


class Book:
    """Writes one run."""

    def __init__(self, store: Store, folder: Path) -> None:
        self.store = store
        self.folder = folder
        self.clock = 0

    def video(self, count: int, paint: Callable[[ImageDraw.ImageDraw, int], None]) -> tuple[str, dict[str, Any]]:
        path = self.folder / "clip.mp4"
        writer = VideoWriter(path, fps=10, size=SIZE)
        for index in range(count):
            writer.write(draw_frame(index, paint))
        info = writer.close()
        keys = ("fps", "width", "height", "n_frames", "codec")
        return self.store.put_artifact(path, "video/mp4"), {key: getattr(info, key) for key in keys}

    def episode(self, name: str, **columns: Any) -> Episode:
        """Begin an episode; `name` decides its id."""
        self.clock += 1
        identity = ident(name)
        defaults: dict[str, Any] = {
            "id": f"{identity}-0",
            "identity": identity,
            "try_no": 0,
            "spec": {"task": columns["task_id"], "seed": columns["seed"]},
            "created_at": BEGIN + dt.timedelta(minutes=self.clock),
        }
        return self.store.begin_episode(Episode(**(defaults | columns)))

    def steps(self, episode: Episode, actions: list[Any], **columns: Callable[[int], Any]) -> None:
        rows = []
        for index, action in enumerate(actions):
            values: dict[str, Any] = {"sim_step": index, "frame": index, "status": "ok", "think_s": 0.4, "env_s": 0.02}
            values |= {key: make(index) for key, make in columns.items()}
            rows.append(Step(episode_id=episode.id, index=index, action=action, **values))
        self.store.add(*rows)

    def finish(
        self, episode: Episode, outcome: str, score: float, n_steps: int, video: Any = None, **more: Any
    ) -> None:
        sha, info = video or (None, {})
        summary = {"illegal": 0, "unparsable": 0, "calls": 0, "cost_usd": "0"} | more.pop("summary", {})
        scored = outcome in ("won", "lost", "horizon")
        self.store.finish_episode(
            episode.id,
            outcome=outcome,
            scored=scored,
            score=score if scored else None,
            success=outcome == "won",
            n_steps=n_steps,
            video=sha,
            video_info=info,
            summary=summary,
            state_hash=ident(episode.id) * 2,
            finished_at=episode.created_at + dt.timedelta(seconds=42),
            **more,
        )

    def link(
        self, episode: Episode, condition: str, *, final: bool = True, trial: str = "", instrument: str = ""
    ) -> None:
        self.store.link(
            [
                RunEpisode(
                    run_id=RUN,
                    condition=condition,
                    identity=episode.identity,
                    task_id=episode.task_id,
                    space=episode.space,
                    agent=episode.agent,
                    instrument=instrument,
                    seed=episode.seed,
                    trial=trial or episode.identity,
                    round=episode.round,
                    final=final,
                )
            ]
        )


def write_run(folder: Path) -> dict[str, str]:
    """Write the run into `folder/arena.db`; returns the episode ids by name."""
    with Store.open(folder / "arena.db") as store:
        book = Book(store, folder)
        store.begin_run(
            Run(
                id=RUN,
                name="demo",
                experiment={"name": "demo", "tasks": ["games/*"]},
                created_at=BEGIN,
                host={"python": "3.11"},
            )
        )
        ids = {
            **_semantic(book),
            **_gui(book),
            **_robot(book),
            **_rewound(book),
            **_weighed(book),
            **_crowd(book),
            **_hostile(book),
            **_disputed(book),
            "long": _long(book),
            "gone": _without_bytes(book),
        }
        store.finish_run(RUN, "finished")
    return ids


def _semantic(book: Book) -> dict[str, str]:
    """Snake by a model: calls with images, an illegal move, verdicts, a lesson and the retry with it."""
    task: dict[str, Any] = {"task_id": "games/snake-v1", "space": "semantic", "agent": "vlm:small", "seed": 3}
    clip = book.video(121, board)
    tutorial = book.episode("tutorial", **(task | {"agent": "scripted", "seed": 10_007}))
    book.steps(tutorial, [{"turn": "right"}] * 120, score=lambda i: i / 1.2, reward=lambda i: 0.01)
    book.finish(tutorial, "won", 100.0, 120, clip)
    book.link(tutorial, "tutorial")

    first = book.episode("first", **task)
    turns = ["up", "right", "down", "left"]
    book.steps(
        first,
        [{"turn": turns[i // 7 % 4]} for i in range(120)],
        status=lambda i: "illegal" if i in (30, 31, 90) else "ok",
        reason=lambda i: "turn: the snake cannot turn back on itself" if i in (30, 31, 90) else "",
        rationale=lambda i: f"Step {i}: the apple lies to the right and the way is free, so I keep to the upper rows.",
        score=lambda i: float(min(40, i // 24 * 10)),
        reward=lambda i: 1.0 if i and i % 24 == 0 else 0.0,
    )
    buffer = io.BytesIO()
    Image.fromarray(draw_frame(5, board)).save(buffer, "PNG")
    picture = book.store.put_artifact(buffer.getvalue(), "image/png")
    image = {"type": "image_url", "image_url": {"artifact": picture}}
    shown = draw_frame(4, board)
    log = PictureLog()
    book.store.add(*log.rows({address(shown): shown}))
    reminder = {"half_of": address(shown)}
    for index in (4, 5):
        request = {
            "model": "small",
            "messages": [
                {"role": "system", "content": "You play Snake. Answer with one turn."},
                {"role": "user", "content": [reminder, {"type": "text", "text": "The screen now:"}, image]},
            ],
        }
        book.store.add(
            Call(
                id=ident(f"call{index}"),
                episode_id=first.id,
                step_index=index,
                purpose="act",
                model="small",
                request=request,
                reply={"choices": [{"message": {"content": '{"turn": "up"}'}}]},
                text='{"turn": "up"}',
                status="ok",
                input_tokens=812,
                output_tokens=23,
                latency_s=0.7,
                cost_usd=Decimal("0.00042"),
                cost_source="table",
            )
        )
    for milestone, step in (("turned", 0), ("apple-1", 24), ("apple-3", 72)):
        book.store.add(MilestoneTruth(episode_id=first.id, milestone_id=milestone, step_index=step))
    for milestone, verdict, frame in (
        ("turned", "reached", 1),
        ("apple-1", "reached", 25),
        ("apple-3", "uncertain", 73),
        ("apple-5", "not_reached", 120),
    ):
        note = f"Frame {frame} shows it." if verdict == "reached" else "The counter cannot be read."
        book.store.add(
            Verdict(
                id=ident(f"v{milestone}"),
                episode_id=first.id,
                milestone_id=milestone,
                judge="judge:small",
                fingerprint="f" * 32,
                verdict=verdict,
                confidence=0.9 if verdict == "reached" else 0.4,
                frame=frame,
                note=note,
            )
        )
    book.finish(
        first,
        "lost",
        40.0,
        120,
        clip,
        outcome_detail="the snake ran into its own body",
        summary={"illegal": 3, "calls": 2, "cost_usd": "0.00084"},
    )
    lesson = Lesson(
        id=ident("lesson"),
        episode_id=first.id,
        tutorial_id=tutorial.id,
        reflector="vlm:small",
        fingerprint="a" * 32,
        text="Keep a free column beside the wall, and never turn to the body when fewer than three cells are free.",
        frames={"failure": [100, 110, 119], "tutorial": [10, 60]},
    )
    book.store.add(lesson)
    second = book.episode("second", **task, round=1, parent_id=first.id, lesson_id=lesson.id)
    book.steps(second, [{"turn": turns[i // 9 % 4]} for i in range(120)], score=lambda i: float(min(70, i // 12 * 10)))
    book.finish(second, "horizon", 70.0, 120, clip, summary={"calls": 2, "cost_usd": "0.0009"})
    book.link(first, "single")
    book.link(first, "reflect-and-retry", final=False)
    book.link(second, "reflect-and-retry", trial=first.identity)
    return {
        "first": first.id,
        "second": second.id,
        "tutorial": tutorial.id,
        "picture": picture,
        "shown": address(shown),
    }


def _gui(book: Book) -> dict[str, str]:
    """Every gesture of the mouse and the keyboard, one a step."""
    gestures = [
        {"verb": "click", "x": 400, "y": 208, "button": "left", "count": 2},
        {"verb": "drag", "x": 120, "y": 300, "to_x": 420, "to_y": 160, "button": "left"},
        {"verb": "scroll", "x": 500, "y": 240, "clicks": -3},
        {"verb": "press", "key": "up"},
        {"verb": "hold", "key": "space", "ms": 300},
        {"verb": "hotkey", "keys": ["ctrl", "shift", "s"]},
        {"verb": "type", "text": "hello"},
        {"verb": "move", "x": 40, "y": 40},
        {"verb": "wait", "ms": 100},
        None,
    ]
    episode = book.episode("gui", task_id="games/snake-v1", space="gui", agent="vlm:small", seed=3)
    book.steps(
        episode,
        gestures,
        score=lambda i: float(i),
        reward=lambda i: 1.0 if i % 3 == 0 else -0.5,
        status=lambda i: "unparsable" if i == 9 else "ok",
        reason=lambda i: "no JSON object in the reply" if i == 9 else "",
    )
    book.finish(
        episode, "unparsable", 0.0, len(gestures), book.video(len(gestures) + 1, board), summary={"unparsable": 1}
    )
    book.link(episode, "single")
    return {"gui": episode.id}


def _robot(book: Book) -> dict[str, str]:
    """A pick-and-place whose gripper opens mid-carry; diagnosed, rolled back, played on."""
    episode = book.episode("robot", task_id="tabletop/pick-place-bowl-v1", space="native", agent="scripted", seed=1)
    sims = [*range(40), *range(22, 64)]
    rows: list[Step] = []
    extra: list[Any] = []
    for index, sim in enumerate(sims):
        branch = 0 if index < 40 else 1
        action = [0.4 * np.sin(sim / 6), 0.7 * np.cos(sim / 8), -0.3, 0.0, 0.1, 0.0, 1.0 if 12 < sim < 55 else -1.0]
        step = Step(
            episode_id=episode.id,
            index=index,
            branch=branch,
            sim_step=sim,
            action=[round(float(v), 3) for v in action],
            status="ok",
            score=float(min(100, sim * 1.7)) if branch or sim < 30 else 35.0,
            frame=index + branch,
        )
        if index == 39:
            body = {
                "verdict": "fault",
                "confidence": 0.86,
                "onset_step": 29,
                "stage": "carry",
                "entity": "gripper",
                "rationale": "The fingers stand apart and the cube lies on the table; it was held at step 28.",
            }
            finding = Diagnosis(
                id=ident("diagnosis"),
                episode_id=episode.id,
                step_index=39,
                trigger="grasp-lost",
                diagnoser="rules",
                fingerprint="d" * 32,
                verdict="fault",
                fault_class="control",
                fault_type="C3",
                rollback_step=22,
                body=body,
            )
            fork = Intervention(
                episode_id=episode.id,
                branch=1,
                diagnosis_id=finding.id,
                kind="sim",
                at_step=39,
                to_step=22,
                snapshot="e" * 64,
                exact=True,
            )
            extra = [finding, fork]
        rows.append(step)
    book.store.add(*rows[:39])
    book.store.append_step(rows[39], extra=extra)
    book.store.add(*rows[40:])
    book.store.add(
        Fault(
            episode_id=episode.id,
            kind="gripper-opens",
            fault_class="control",
            fault_type="C3",
            onset_step=29,
            params={"duration_steps": 8},
        )
    )
    for milestone, step in (("reach", 10), ("grasp", 14), ("lift", 20), ("place", 78)):
        book.store.add(MilestoneTruth(episode_id=episode.id, milestone_id=milestone, step_index=step))
    book.finish(episode, "won", 100.0, len(sims), book.video(len(sims) + 2, table))
    book.link(episode, "diagnosis", instrument="expert that reads the state")
    return {"robot": episode.id}


def _fork(episode: Episode, finding: Diagnosis) -> Intervention:
    """A rollback whose branch was never played."""
    return Intervention(
        episode_id=episode.id,
        branch=1,
        diagnosis_id=finding.id,
        kind="sim",
        at_step=0,
        to_step=0,
        snapshot="",
        exact=False,
    )


def _rewound(book: Book) -> dict[str, str]:
    """A physical rollback recorded as-seen: steps 4, 5 and 12 share the frame of the step before."""
    episode = book.episode("rewound", task_id="tabletop/pick-place-bowl-v1", space="native", agent="scripted", seed=2)
    frames = [0, 1, 2, 3, 3, 3, 4, 5, 6, 7, 9, 10, 10, 11, 12, 13, 14, 15]
    rows = [
        Step(
            episode_id=episode.id,
            index=index,
            branch=int(index >= 10),
            sim_step=index,
            action=[0.1] * 7,
            status="ok",
            score=float(index),
            frame=frame,
            notes={"rewind": True, "rewind_to": 6} if 10 <= index < 13 else {},
        )
        for index, frame in enumerate(frames)
    ]
    finding = Diagnosis(
        id=ident("rewound"),
        episode_id=episode.id,
        step_index=9,
        trigger="stall",
        diagnoser="rules",
        fingerprint="d" * 32,
        verdict="fault",
        rollback_step=6,
    )
    fork = _fork(episode, finding)
    fork.kind, fork.at_step, fork.to_step = "physical", 9, 6
    book.store.add(*rows[:9])
    book.store.append_step(rows[9], extra=[finding, fork])
    book.store.add(*rows[10:])
    book.finish(episode, "lost", 17.0, len(rows), book.video(frames[-1] + 2, table))
    return {"rewound": episode.id}


def other_way(name: str, episode: Episode, diagnosis: Diagnosis, video: Any, **columns: Any) -> Counterfactual:
    """A replay of the other way at a diagnosis, filmed or not."""
    sha, info = video or (None, {})
    at = diagnosis.step_index
    defaults: dict[str, Any] = {"from_step": at + 1, "suppressed": False, "exact": True, "prefix_steps": at + 1}
    defaults |= {"score": columns["scores"][-1], "n_steps": len(columns["scores"]), "state_hash": "c" * 64}
    return Counterfactual(
        id=ident(name), episode_id=episode.id, diagnosis_id=diagnosis.id, at_step=at, video=sha, video_info=info,
        **(defaults | columns),
    )  # fmt: skip


def _weighed(book: Book) -> dict[str, str]:
    """A rollback with a repair that did harm and was taken back, and a later alarm that was left alone; both replayed.

    The first is replayed twice, of which the older one was filmed.
    """
    base = {"task_id": "tabletop/pick-place-bowl-v1", "space": "native", "agent": "scripted", "seed": 4}
    episode = book.episode("weighed", **base)
    branches = [0] * 20 + [1] * 10 + [2] * 10
    sims = [*range(20), *range(10, 20), *range(20, 30)]
    rows = [
        Step(
            episode_id=episode.id, index=index, branch=branch, sim_step=sim, action=[0.1] * 7, status="ok",
            score=float(sim), frame=index + branch, notes={"repair": "regrasp"} if 20 <= index < 23 else {},
        )
        for index, (branch, sim) in enumerate(zip(branches, sims, strict=True))
    ]  # fmt: skip
    said = [
        Diagnosis(
            id=f"d-{ident(trigger)[:24]}", episode_id=episode.id, step_index=at, trigger=trigger, diagnoser="rules",
            fingerprint="d" * 32, verdict="fault", rollback_step=to, body={"rationale": trigger},
        )
        for trigger, at, to in (("stall", 19, 10), ("worse", 29, None), ("loop", 35, 32))
    ]  # fmt: skip
    forks = [_fork(episode, finding) for finding in said[:2]]
    for fork, (branch, kind, at, to) in zip(forks, ((1, "sim", 19, 10), (2, "undo", 29, 19)), strict=True):
        fork.branch, fork.kind, fork.at_step, fork.to_step, fork.exact = branch, kind, at, to, True
    book.store.add(*rows, *said, *forks)
    harmed: dict[str, Any] = {"verdict": "harmed", "with_it": False, "without_it": True, "outcome": "won"}
    scores = [20.0 + 5 * i for i in range(15)]
    book.store.add(
        other_way("o1", episode, said[0], book.video(16, table), scores=scores, created_at=BEGIN, **harmed),
        other_way("o2", episode, said[0], None, scores=scores, created_at=BEGIN + dt.timedelta(1), **harmed),
        other_way(
            "o3", episode, said[2], book.video(9, table), scores=[25.0] * 8, from_step=32, suppressed=True,
            repair_steps=2, verdict="did_not_help", with_it=False, without_it=False, outcome="horizon",
        ),
    )  # fmt: skip
    book.finish(episode, "lost", 29.0, len(rows), book.video(43, table))
    return {"weighed": episode.id, "weighed-left-alone": said[2].id}


def _crowd(book: Book) -> dict[str, str]:
    """Enough seeds, agents and tasks to fill a table; without steps, in two transactions."""
    rng = np.random.default_rng(0)
    episodes: list[Episode] = []
    links: list[RunEpisode] = []

    def add(
        name: str, outcome: str, score: float, condition: str, instrument: str, first: Episode | None, **base: Any
    ) -> Episode:
        book.clock += 1
        created = BEGIN + dt.timedelta(minutes=book.clock)
        identity = ident(name)
        scored = outcome in ("won", "lost")
        episode = Episode(
            id=f"{identity}-0",
            identity=identity,
            try_no=0,
            spec={},
            status="finished",
            outcome=outcome,
            scored=scored,
            score=score if scored else None,
            success=outcome == "won",
            summary={"illegal": int(rng.integers(0, 9)), "calls": 0, "cost_usd": "0"},
            created_at=created,
            finished_at=created + dt.timedelta(seconds=9),
            round=1 if first else 0,
            parent_id=first.id if first else None,
            **base,
        )
        episodes.append(episode)
        reported = (
            [(condition, True)] if first or base["agent"] != "calibrated" else [(condition, True), (RETRY, False)]
        )
        links.extend(
            RunEpisode(
                run_id=RUN,
                condition=name,
                identity=identity,
                instrument=instrument,
                trial=first.identity if first else identity,
                round=episode.round,
                final=final,
                **base,
            )
            for name, final in reported
        )
        return episode

    for task, mean in (("games/snake-v1", 60), ("games/2048-v1", 45)):
        for agent, shift, instrument in AGENTS:
            for seed in range(5):
                base = {"task_id": task, "space": "semantic", "agent": agent, "seed": seed}
                score = float(np.clip(mean + shift + rng.normal(0, 9), 0, 100))
                broken = agent == "random" and seed == 4
                outcome = "infrastructure_error" if broken else "won" if score > 85 else "lost"
                first = add(f"{task}{agent}{seed}", outcome, score, "single", instrument, None, **base)
                if agent == "calibrated":
                    again = min(100.0, score + 18 + float(rng.normal(0, 4)))
                    add(f"{task}{agent}{seed}r", "won", again, RETRY, instrument, first, **base)
    book.store.add(*episodes)
    book.store.link(links)
    return {}


def _hostile(book: Book) -> dict[str, str]:
    """Payloads in every text that a model or a stranger's file can fill."""
    base: dict[str, Any] = {"task_id": f"games/{IMG}-v1", "space": "semantic", "agent": f"vlm:{IMG}", "seed": 0}
    episode = book.episode("hostile", **base)
    step = Step(
        episode_id=episode.id,
        index=0,
        sim_step=0,
        action={"turn": HOSTILE, IMG: [HOSTILE]},
        status="illegal",
        reason=HOSTILE,
        rationale=HOSTILE,
        notes={IMG: HOSTILE},
    )
    call = Call(
        id=ident("hostile"),
        episode_id=episode.id,
        step_index=0,
        purpose="act",
        model=IMG,
        text=HOSTILE,
        status="ok",
        error=HOSTILE,
        request={
            "messages": [
                {
                    "role": IMG,
                    "content": [{"type": "text", "text": HOSTILE}, {"image_url": {"artifact": "../../etc/passwd"}}],
                }
            ]
        },
        reply={"content": HOSTILE},
    )
    finding = Diagnosis(
        id=ident("hd"),
        episode_id=episode.id,
        step_index=0,
        trigger=IMG,
        diagnoser=IMG,
        fingerprint="d" * 32,
        verdict="fault",
        fault_class="control",
        fault_type="C1",
        rollback_step=0,
        body={"rationale": HOSTILE, IMG: HOSTILE},
    )
    fault = Fault(
        episode_id=episode.id, kind=IMG, fault_class="control", fault_type="C1", onset_step=0, params={IMG: HOSTILE}
    )
    verdict = Verdict(
        id=ident("hv"),
        episode_id=episode.id,
        milestone_id=IMG,
        judge=IMG,
        fingerprint="f" * 32,
        verdict="reached",
        frame=0,
        note=HOSTILE,
    )
    book.store.append_step(
        step,
        calls=[call],
        truths=[MilestoneTruth(episode_id=episode.id, milestone_id=IMG, step_index=0)],
        extra=[finding, fault, verdict, _fork(episode, finding)],
    )
    book.store.add(
        other_way(
            "ho", episode, finding, None, scores=[0.0, HOSTILE], verdict=IMG[:20], outcome=IMG[:30], score=0.0,
            with_it=False, without_it=True, exact=False, differences=[HOSTILE, {IMG: HOSTILE}],
        )
    )  # fmt: skip
    book.store.add(
        Lesson(
            id=ident("hl"),
            episode_id=episode.id,
            reflector=IMG,
            fingerprint="a" * 32,
            text=HOSTILE,
            frames={"failure": [0], "blank": [0], "order": ["failure", "blank", HOSTILE], "filled": [1, IMG]},
            kind=IMG,
            status="unusable",
            problem=HOSTILE,
            causes=[{"text": HOSTILE, "frame": 0, "picture": 1}, IMG],
        )
    )
    book.finish(episode, "lost", 0.0, 1, outcome_detail=HOSTILE)
    book.link(episode, IMG, instrument=IMG)
    return {"hostile": episode.id}


JUDGES = ("gemini-3-pro", "gpt-5-mini", "qwen3-vl-235b-a22b-instruct", "steady", "internvl-4")


def _disputed(book: Book) -> dict[str, str]:
    """Five judges, five answers each, on every milestone of an episode, which one holds against the others; and
    milestones that a model read out of it, reviewed by the engine and by people."""
    base: dict[str, Any] = {"task_id": "games/snake-v1", "space": "semantic", "agent": "vlm:small", "seed": 4}
    episode = book.episode("disputed", **base)
    book.steps(episode, [{"turn": "up"}] * 40, score=lambda i: float(i))
    ids = [milestone.id for milestone in environments.get("games/snake-v1").milestones]
    for place, milestone in enumerate(ids[:3]):
        book.store.add(MilestoneTruth(episode_id=episode.id, milestone_id=milestone, step_index=10 * place))
    verdicts = []
    for place, milestone in enumerate(ids):
        for number, judge in enumerate(JUDGES):
            for repeat in range(5):
                lies = (number == 1 and place % 2 == 0) or (number == 2 and repeat == place % 5)
                said = "reached" if (place < 3) != lies else "not_reached"
                if number == 4 and place == 1:
                    said = "uncertain"
                verdicts.append(
                    Verdict(
                        id=ident(f"d{milestone}{judge}{repeat}"),
                        episode_id=episode.id,
                        milestone_id=milestone,
                        judge=judge,
                        fingerprint=ident(judge)[:24],
                        repeat=repeat,
                        verdict=said,
                        confidence=0.5 + repeat / 10,
                        frame=10 * place + 1 if said == "reached" and place < 4 else None,
                        note=f"{judge} looked at the counter in the upper left corner.",
                    )
                )
    book.store.add(*verdicts)
    book.finish(episode, "lost", 39.0, 40, book.video(41, board))
    texts = ("The snake has eaten its first apple.", HOSTILE, "The snake is six cells long and lies along the wall.")
    for version in (1, 2):
        for place, text in enumerate(texts):
            proposal = MilestoneProposal(
                id=f"m-{ident(f'proposal{version}{place}')[:24]}",
                task_id="games/snake-v1",
                version=version,
                place=place,
                text=text,
                episode_id=episode.id,
                first_frame=10 * place,
                last_frame=10 * place + 8,
                frames=[10 * place, 10 * place + 4, 10 * place + 8],
                model=IMG if version == 1 else "small",
            )
            book.store.add(proposal)
    book.store.add(
        MilestoneReview(
            id="r-engine",
            proposal_id=f"m-{ident('proposal20')[:24]}",
            state="accepted",
            reviewer="engine",
            matches=ids[1],
            note="reached in the same stretch",
        )
    )
    return {"disputed": episode.id, "proposal": f"m-{ident('proposal22')[:24]}"}


def _long(book: Book) -> str:
    """20,000 steps without a video, in one transaction."""
    episode = book.episode("long", task_id="games/snake-v1", space="semantic", agent="random", seed=77)
    common = {"episode_id": episode.id, "action": {"turn": "up"}, "notes": {}}
    rows = [
        common
        | {
            "index": i,
            "sim_step": i,
            "frame": i,
            "status": "illegal" if i % 7 == 0 else "ok",
            "score": 50 + 40 * float(np.sin(i / 900)),
            "rationale": f"thought {i}",
        }
        for i in range(LONG)
    ]
    with book.store.session() as session:
        session.execute(insert(Step), rows)  # plain values: a third of the time of 20,000 objects
    book.finish(episode, "horizon", 50.0, LONG)
    book.link(episode, "single")
    return episode.id


def _without_bytes(book: Book) -> str:
    """An episode whose video the database knows and the artifact store has lost."""
    clip = book.video(4, lambda draw, index: draw.rectangle((9, 9, 99, 99 + index), fill=(99, 9, 200)))
    episode = book.episode("gone", task_id="games/snake-v1", space="semantic", agent="random", seed=78)
    book.steps(episode, [{"turn": "up"}] * 3)
    book.finish(episode, "lost", 1.0, 3, clip)
    path = book.store.artifacts.path(clip[0])
    assert path is not None
    path.unlink()
    book.link(episode, "single")
    return episode.id


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The database's path, and episode ids by name."""
    folder = tmp_path_factory.mktemp("run")
    return folder / "arena.db", write_run(folder)


@pytest.fixture(scope="session")
def ids(recorded: tuple[Path, dict[str, str]]) -> dict[str, str]:
    return recorded[1]


@pytest.fixture(scope="session")
def store(recorded: tuple[Path, dict[str, str]]) -> Iterator[Store]:
    with Store.open(recorded[0], migrate=False) as opened:
        yield opened


class Server:
    """A real server on a free port of this machine, in a thread."""

    def __init__(
        self, store: Store, token: str | None = None, play: PlayDesk | None = None, review: bool = False
    ) -> None:
        self._socket = listen("127.0.0.1", 0)
        app = create_app(store, token=token, play=play, review=review)
        config = uvicorn.Config(app, log_level="warning", access_log=False)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=self._server.run, kwargs={"sockets": [self._socket]}, daemon=True)
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Server:
        self._thread.start()
        while not self._server.started:
            if not self._thread.is_alive():
                raise RuntimeError("the server did not start")
            time.sleep(0.01)
        return self

    def __exit__(self, *_: object) -> None:
        self._server.should_exit = True
        self._thread.join(10)
        self._socket.close()


@pytest.fixture(scope="session")
def server(store: Store) -> Iterator[Server]:
    with Server(store) as running:
        yield running


@pytest.fixture(scope="session")
def server_class() -> type[Server]:
    """For servers that show something else, or let people play."""
    return Server


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        pytest.skip("no Chromium here: `apt install chromium`")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=found, args=["--no-sandbox", "--headless=new"])
        yield chromium
        chromium.close()


if __name__ == "__main__":  # python tests/ui/conftest.py FOLDER: write the run, to look at it with a browser
    print(write_run(Path(sys.argv[1])))
