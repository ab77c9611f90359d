"""What the private desktop costs: `python benchmarks/desktop.py [--rounds N]`.

Medians of wall time, each also as a multiple of one plain round trip through the worker to the X
server and back, which is the floor under every call and makes runs on different machines comparable.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from environments.actions.gui import Click, Drag, Press, TypeText
from environments.desktop import Desktop
from environments.game import FRAME_SIZE


def times(call: Callable[[], object], rounds: int) -> list[float]:
    """Wall times of `rounds` calls, in milliseconds."""
    result = []
    for _ in range(rounds):
        start = time.perf_counter()
        call()
        result.append((time.perf_counter() - start) * 1e3)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200, help="calls per row (default: 200)")
    rounds = parser.parse_args().rounds

    starts, closes = [], []
    for _ in range(max(3, rounds // 40)):
        start = time.perf_counter()
        desktop = Desktop(FRAME_SIZE, "Benchmark")
        starts.append((time.perf_counter() - start) * 1e3)
        closes += times(desktop.close, 1)

    width, height = FRAME_SIZE
    frame = np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)
    press, click = Press(verb="press", key="up"), Click(verb="click", x=320, y=240)
    drag = Drag(verb="drag", x=0, y=0, to_x=639, to_y=479)
    latin, foreign = TypeText(verb="type", text="hello world "), TypeText(verb="type", text="日本語 é ß €")

    with Desktop(FRAME_SIZE, "Benchmark") as desktop:

        def step() -> None:
            desktop.perform(press)
            desktop.show(frame)
            desktop.grab()

        rows = {
            "round trip": times(desktop.round_trip, rounds),
            "show": times(lambda: desktop.show(frame), rounds),
            "grab": times(desktop.grab, rounds),
            "press": times(lambda: desktop.perform(press), rounds),
            "click": times(lambda: desktop.perform(click), rounds),
            "drag corner to corner": times(lambda: desktop.perform(drag), rounds),
            "type 12 Latin letters": times(lambda: desktop.perform(latin), rounds),
            "type 11, 6 of them foreign": times(lambda: desktop.perform(foreign), rounds),
            "press + show + grab": times(step, rounds),
        }
    rows |= {"start": starts, "close": closes}

    floor = statistics.median(rows["round trip"])
    print(f"{'':28}{'median ms':>10}{'p95 ms':>10}{'x round trip':>14}")
    for name, values in rows.items():
        median, p95 = statistics.median(values), sorted(values)[int(len(values) * 0.95)]
        print(f"{name:28}{median:10.2f}{p95:10.2f}{median / floor:14.1f}")


if __name__ == "__main__":
    main()
