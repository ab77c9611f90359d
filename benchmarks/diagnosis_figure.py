"""Draw what judges of planted quality did: `python benchmarks/diagnosis_figure.py REPORT.json PICTURE.png`.

REPORT is what `benchmarks/diagnosis.py --json` wrote, with the part `curve`. Needs matplotlib, which the extra `libero`
brings.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

INK, GRID = "#1f2933", "#d9dee3"
COLOURS = ("#0b6e99", "#c2570c", "#5b7f2b")


def by_detection(lines: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """The planted conditions by their rate of detection, each ordered by its false positive rate."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in lines:
        if line["condition"].startswith("planted:"):
            found[line["condition"].split(":")[1]].append(line)
    return {
        detection: sorted(group, key=lambda line: float(line["false_alarm_rate"]))
        for detection, group in sorted(found.items(), key=lambda item: -float(item[0]))
    }


def draw(report: dict[str, Any], picture: Path) -> None:
    """Net rescued with its interval over the false positive rate; below 0 one had better not looked."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    curve = report["curve"]
    figure, axes = plt.subplots(figsize=(7.2, 4.0), dpi=150, layout="constrained")
    axes.axhspan(-100, 0, color="#f6e3de", zorder=0)
    axes.axhline(0, color=INK, linewidth=1)
    for colour, (detection, lines) in zip(COLOURS, by_detection(curve["conditions"]).items(), strict=False):
        x = [100 * line["false_alarm_rate"] for line in lines]
        y = [100 * line["net"] / line["episodes"] for line in lines]
        low = [100 * (line["net"] - line["net_low"]) / line["episodes"] for line in lines]
        high = [100 * (line["net_high"] - line["net"]) / line["episodes"] for line in lines]
        label = f"sees a fault with probability {float(detection):g} at each look"
        axes.errorbar(x, y, yerr=[low, high], color=colour, marker="o", capsize=3, linewidth=1.6, label=label)
    axes.text(2, -8, "worse than leaving the robot alone", color="#9b2c10", fontsize=9, va="top")
    axes.set_xlim(-3, 103)
    axes.set_ylim(-65, 65)
    axes.set_xlabel("clean episodes in which a fault was claimed (FPR), %")
    axes.set_ylabel("rescued - broken, % of episodes")
    axes.grid(color=GRID, linewidth=0.6)
    axes.legend(frameon=False, fontsize=9)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(picture)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    options = parser.parse_args()
    draw(json.loads(options.report.read_text("utf-8")), options.picture)


if __name__ == "__main__":
    main()
