"""The datasheet of a dataset, written from its data: what it is for, what is in it, how it was made, what it lacks.

The questions follow Gebru et al., "Datasheets for Datasets" (Communications of the ACM 64, 2021).
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Sequence

from arena.faults.dataset import Episode, Manifest
from environments.robots.faults import KINDS
from environments.robots.world import CONTROL_HZ


def write(manifest: Manifest, episodes: Sequence[Episode]) -> str:
    """The datasheet as Markdown; the same dataset, the same text."""
    parts = [
        f"# {manifest.name}: robot episodes with faults",
        _motivation(),
        _composition(manifest, episodes),
        _tables(episodes),
        _truths(episodes),
        _making(manifest),
        _limits(manifest, episodes),
    ]
    return "\n\n".join(parts) + "\n"


def _motivation() -> str:
    return (
        "## What it is for\n\n"
        "To measure whether a diagnoser sees that a robot episode goes wrong, what is wrong, since when and by how "
        "much, and to train such diagnosers. It is not for ranking policies: each episode was chosen by what a "
        "fault did to it."
    )


def _composition(manifest: Manifest, episodes: Sequence[Episode]) -> str:
    steps = [episode.steps for episode in episodes]
    clips = sum(bool(episode.cameras) for episode in episodes)
    size = sum(size for _, size in manifest.files.values())
    told = f", {size / 1e6:.0f} MB" if size else ""
    return (
        "## What is in it\n\n"
        f"{len(episodes)} episodes of {len({e.task for e in episodes})} tasks and "
        f"{len({e.player for e in episodes})} policies; {sum(steps)} control steps at {CONTROL_HZ} Hz, "
        f"{min(steps)} to {max(steps)} an episode (median {statistics.median(steps):g}); "
        f"{clips} with clips of both cameras{told}. "
        f"{sum(e.truth.faulty for e in episodes)} fail because of a fault, "
        f"{sum(e.truth.fault_type == 'N1' for e in episodes)} succeed in spite of a benign injection (N1), "
        f"{sum(e.truth.fault_type == 'N0' for e in episodes)} have none (N0).\n\n"
        "Per step: the robot's state and readings, the action that the policy chose and the command that the robot was "
        "given. Per episode: class, type, severity and stage of the fault, its onset, when it shows, the last step "
        "from which the policy could still have succeeded, what is off by how much, and the least repair that helps. "
        "No people, no personal data: everything is simulated."
    )


def _tables(episodes: Sequence[Episode]) -> str:
    def split(episode: Episode) -> str:
        return episode.split

    def severity(episode: Episode) -> str:
        return "N0" if episode.truth.fault_type == "N0" else str(episode.truth.severity)

    counted: list[tuple[str, Callable[[Episode], str], Callable[[Episode], str]]] = [
        ("class", lambda e: e.truth.fault_class, split),
        ("injected type", lambda e: e.truth.injected_type or "N0", severity),
        ("severity", severity, split),
        ("stage of the onset", lambda e: e.truth.stage or "none", split),
        ("task", lambda e: e.task, split),
        ("policy", lambda e: e.player, split),
    ]
    return "\n\n".join(f"### By {name}\n\n{_cross(episodes, name, row, column)}" for name, row, column in counted)


def _cross(
    episodes: Sequence[Episode], name: str, row: Callable[[Episode], str], column: Callable[[Episode], str]
) -> str:
    counts = Counter((row(episode), column(episode)) for episode in episodes)
    rows, columns = sorted({key[0] for key in counts}), sorted({key[1] for key in counts})
    lines = [f"| {name} | {' | '.join(columns)} | all |", "|---" * (len(columns) + 2) + "|"]
    for one in rows:
        cells = [counts[one, other] for other in columns]
        lines.append(f"| {one} | {' | '.join(map(str, cells))} | {sum(cells)} |")
    return "\n".join(lines)


def _truths(episodes: Sequence[Episode]) -> str:
    lines = [
        "## What the faults do", "",
        "Medians over the episodes that fail; steps after the onset.", "",
        "| type | fault | episodes | shows after | no return after | off by, cm | least repair |",
        "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    for kind, about in KINDS.items():
        found = [episode.truth for episode in episodes if episode.truth.faulty and episode.truth.kind == kind]
        if not found:
            continue
        shows = [
            t.manifest_step - t.onset_step for t in found if t.manifest_step is not None and t.onset_step is not None
        ]
        late = [
            t.no_return_step - t.onset_step for t in found if t.no_return_step is not None and t.onset_step is not None
        ]
        off = [100 * sum(x * x for x in t.dxyz_m) ** 0.5 for t in found if t.dxyz_m is not None]
        repairs = ", ".join(f"{name} {n}" for name, n in Counter(t.repair for t in found).most_common())
        cells = [f"{statistics.median(v):.3g}" if v else "-" for v in (shows, late, off)]
        lines.append(f"| {about.fault_type} | {kind} | {len(found)} | {' | '.join(cells)} | {repairs} |")
    return "\n".join(lines)


def _making(manifest: Manifest) -> str:
    config = manifest.config
    drops = "\n".join(f"- {reason}: {n}" for reason, n in manifest.dropped.items()) or "- none"
    versions = ", ".join(f"{name} {version}" for name, version in manifest.made_with.items())
    return (
        "## How it was made\n\n"
        f"Policies play seeded episodes; a fault is injected at a known step. An episode is kept only if the same seed "
        f"succeeds without the fault, and with it fails (severity 1 to 3) or still succeeds (severity 0). "
        f"Wanted: {config.per_cell} of each kind at each severity and {config.n_clean} without a fault, "
        f"{manifest.wanted} in all; up to {config.tries} tries for each. "
        f"Train and held-out tasks are disjoint: a hash of the task's id "
        f"decides. Policies: {'; '.join(player.label for player in config.players)}. Dataset seed {config.seed}. "
        f"Made with {versions}.\n\nPlayed and not kept:\n\n{drops}"
    )


def _limits(manifest: Manifest, episodes: Sequence[Episode]) -> str:
    cells = Counter(name.rsplit("-", 2)[0] for name in manifest.unfilled)
    empty = ", ".join(f"{cell} ({n})" for cell, n in sorted(cells.items())) or "none"
    undone = sum(episode.truth.faulty and episode.truth.manifest_step is None for episode in episodes)
    return (
        "## What it lacks\n\n"
        f"- Slots that stayed empty, by kind and severity: {empty}.\n"
        "- The policies are scripted unless served ones are named above: they see poses, not pictures, and fail in "
        "fewer ways than learned ones.\n"
        "- One fault an episode; faults that come together are not in it.\n"
        "- An episode that fails goes on to its horizon, so that its length alone tells of the failure: "
        "compare with that.\n"
        "- Pictures are simulated, from fixed cameras, without noise.\n"
        f"- In {undone} episodes that fail, no stage differs from the clean twin's for long enough: `manifest_step` is "
        "null there.\n"
        "- Bytes are equal on the same machine and versions; another build of MuJoCo, OpenGL or x264 may differ in "
        "pictures."
    )
