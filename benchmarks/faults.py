"""What each fault does to a policy: `python benchmarks/faults.py [--seeds N] [--only GLOB] [--json FILE]`.

The scripted policy that does not re-check its grasp plays the same seeds without a fault, with each kind at severities
1 to 3, and with its benign twin N1 (severity 0). A seed counts where the policy succeeds without the fault. Then the
truth about one faulted episode of each kind: when it shows, the last step from which the policy could still have
succeeded, what was off and by how much, and the least repair that helps.

`--videos FOLDER` writes one clean episode and one fault of each class, seen from the front, with the step drawn in.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw
from rich.console import Console
from rich.progress import track

import environments
from arena.certification import machine
from environments.drawing import font
from environments.robots.expert import BelievingExpert
from environments.robots.faults import KINDS, Fault, KindName
from environments.robots.faults.annotation import annotate
from environments.robots.robot_env import RobotEnv
from environments.robots.world import CONTROL_HZ
from storage.video import VideoWriter

TASK = "tabletop/pick-place-bowl-v1"
HORIZON = 200
SHOWN: dict[str, KindName | None] = {
    "clean": None, "perception": "pose-bias", "planning": "wrong-target",
    "control": "gripper-opens-mid-carry", "external": "object-moved",
}  # fmt: skip


def play(env: RobotEnv, seed: int, fault: Fault | None) -> bool:
    """Whether the policy succeeds."""
    env.reset(seed=seed, options={"fault": fault} if fault else None)
    policy = BelievingExpert(env)  # type: ignore[arg-type]
    policy.reset()
    return any(env.step(policy.act())[2] for _ in range(HORIZON))


def measure(env: RobotEnv, kind: KindName, seeds: list[int]) -> dict[str, Any]:
    """Successes by severity, and the truth about one episode."""
    wins = {
        severity: sum(play(env, seed, Fault(kind=kind, severity=severity)) for seed in seeds) for severity in range(4)
    }
    truth = annotate(env, BelievingExpert(env), seeds[0], Fault(kind=kind, severity=2), HORIZON)  # type: ignore[arg-type]
    return {"successes": wins, "seeds": len(seeds), "truth": truth.as_json()}


def video(env: RobotEnv, seed: int, fault: Fault | None, path: Path) -> None:
    """One episode from the front; a bar says when the fault acts."""
    env.reset(seed=seed, options={"fault": fault} if fault else None)
    policy = BelievingExpert(env)  # type: ignore[arg-type]
    policy.reset()
    with VideoWriter(path, CONTROL_HZ, (256, 256)) as writer:
        for step in range(HORIZON):
            ended = env.step(policy.act())[2]
            truth = env.fault_truth() or {}
            writer.write(_labelled(env.render(), step, fault, truth.get("onset_step")))
            if ended or (truth.get("onset_step") is not None and step > truth["onset_step"] + 90):
                break


def _labelled(frame: np.ndarray, step: int, fault: Fault | None, onset: int | None) -> np.ndarray:
    picture = Image.fromarray(frame)
    draw = ImageDraw.Draw(picture)
    begun = fault is not None and onset is not None and step >= onset
    text = f"step {step}"
    if fault is not None and begun:
        text += f"   {fault.about.fault_type} {fault.kind}"
    draw.rectangle((0, 0, 256, 20), fill=(150, 40, 30) if begun else (30, 34, 40))
    draw.text((6, 3), text, font=font(13), fill=(255, 255, 255))
    return np.asarray(picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="*", help="glob over kinds")
    parser.add_argument("--json", type=Path, help="write the figures here")
    parser.add_argument("--videos", type=Path, help="write the videos into this folder, and measure nothing")
    options = parser.parse_args()
    env = environments.make(TASK, "native")
    if not isinstance(env, RobotEnv):
        raise SystemExit(f"{TASK} is no robot task")
    if options.videos:
        options.videos.mkdir(parents=True, exist_ok=True)
        for name, kind in SHOWN.items():
            video(env, 3, Fault(kind=kind, severity=2) if kind else None, options.videos / f"fault-{name}.mp4")
        return
    print(machine())
    seeds = [seed for seed in range(options.seeds) if play(env, seed, None)]
    print(
        f"{TASK}: the policy left alone succeeds in {len(seeds)} of {options.seeds} seeds; of these, with each fault:\n"
    )
    print("| type | fault | N1 | severity 1 | 2 | 3 | shows after | no return after | off by | least repair |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    rows: dict[str, Any] = {}
    chosen = [kind for kind in KINDS if fnmatch.fnmatchcase(kind, options.only)]
    for kind in track(chosen, "faults", console=Console(stderr=True), disable=not sys.stderr.isatty()):
        row = rows[kind] = measure(env, kind, seeds)
        truth, wins = row["truth"], row["successes"]
        cells = [str(wins[severity]) for severity in range(4)]
        print(f"| {KINDS[kind].fault_type} | {kind} | {' | '.join(cells)} | {_told(truth)} |", flush=True)
    if options.json:
        report = {"machine": machine(), "task": TASK, "seeds": options.seeds, "clean": len(seeds), "faults": rows}
        options.json.write_text(json.dumps(report, indent=1) + "\n")


def _told(truth: dict[str, Any]) -> str:
    onset = truth["onset_step"]

    def after(step: int | None) -> str:
        return "-" if step is None or onset is None else f"{step - onset} steps"

    off = "-"
    if truth["dxyz_m"] is not None:
        off = f"{100 * float(np.linalg.norm(truth['dxyz_m'])):.1f} cm ({truth['entity']})"
    return f"{after(truth['manifest_step'])} | {after(truth['no_return_step'])} | {off} | {truth['repair']}"


if __name__ == "__main__":
    main()
