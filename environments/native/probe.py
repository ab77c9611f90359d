"""A program for measurements: a window that says what it receives and what time it is. It stands in for a game.

It is started by its path as any other program is, with python-xlib and nothing of this package:

    python probe.py [SHARE_OF_A_SECOND]

It writes a line for each event (`key_down 38`, `key_up 38`, `button_down 1`, ...) and, at every tick,
`time <monotonic seconds> <seconds since 1970>`; a key press changes the colour of its window.
"""

from __future__ import annotations

import select
import sys
import time

from Xlib import X
from Xlib.display import Display

TITLE = "arena probe"
COLOURS = (0x336699, 0x993333, 0x339933, 0x999933)
_NAMES = {
    X.KeyPress: "key_down",
    X.KeyRelease: "key_up",
    X.ButtonPress: "button_down",
    X.ButtonRelease: "button_up",
}


def main(tick_s: float) -> None:
    """Show the window and report, until the display is gone."""
    display = Display()
    screen = display.screen()
    window = screen.root.create_window(
        *(30, 30, 200, 150, 0, screen.root_depth),
        background_pixel=COLOURS[0],
        event_mask=X.KeyPressMask | X.KeyReleaseMask | X.ButtonPressMask | X.ButtonReleaseMask,
    )
    window.set_wm_name(TITLE)
    window.map()
    display.sync()
    presses = 0
    while True:
        print(f"time {time.monotonic():.6f} {time.time():.6f}", flush=True)
        select.select([display.fileno()], [], [], tick_s)
        while display.pending_events():
            event = display.next_event()
            if event.type in _NAMES:
                print(_NAMES[event.type], event.detail, flush=True)
            if event.type == X.KeyPress:
                presses += 1
                window.change_attributes(background_pixel=COLOURS[presses % len(COLOURS)])
                window.clear_area()
                display.flush()


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.02)
