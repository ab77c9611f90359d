"""A window that stands for a title on a person's desktop: it shows where its pixels are, and tells what it received.

Run as a script with one JSON argument: title, left, top, width, height, and `manager` to play the window manager too.
Every event is a line of JSON on standard output, with the server's time in milliseconds. Commands are read from
standard input: `focus`, `unfocus`, `move X Y`, `resize W H`, `red`.
"""

from __future__ import annotations

import json
import select
import sys

from Xlib import X, Xatom
from Xlib.display import Display


def main() -> None:
    options = json.loads(sys.argv[1])
    display = Display()
    screen = display.screen()
    root = screen.root
    atom = display.intern_atom
    window = root.create_window(
        *(options["left"], options["top"], options["width"], options["height"], 0, screen.root_depth),
        X.InputOutput, X.CopyFromParent, override_redirect=True, background_pixel=0x204060,
        event_mask=X.KeyPressMask | X.KeyReleaseMask | X.ButtonPressMask | X.ButtonReleaseMask | X.PointerMotionMask
        | X.StructureNotifyMask | X.ExposureMask,
    )  # fmt: skip
    other = root.create_window(0, 0, 8, 8, 0, screen.root_depth, override_redirect=True)
    other.change_property(atom("_NET_WM_NAME"), atom("UTF8_STRING"), 8, b"A terminal")
    window.change_property(atom("_NET_WM_NAME"), atom("UTF8_STRING"), 8, options["title"].encode())
    context = window.create_gc()
    window.map()
    other.map()
    manager = options.get("manager", False)
    if manager:
        root.change_attributes(event_mask=X.SubstructureNotifyMask)
        root.change_property(atom("_NET_CLIENT_LIST"), Xatom.WINDOW, 32, [window.id, other.id])

    def focus(target) -> None:
        target.configure(stack_mode=X.Above)
        target.set_input_focus(X.RevertToNone, X.CurrentTime)
        if manager:
            root.change_property(atom("_NET_ACTIVE_WINDOW"), Xatom.WINDOW, 32, [target.id])

    def paint(colour: int = 0) -> None:
        size = window.get_geometry()
        half_x, half_y = size.width // 2, size.height // 2
        for x, y, shade in ((0, 0, 0xC03020), (half_x, 0, 0x30C040), (0, half_y, 0x3050D0), (half_x, half_y, 0xE0D030)):
            context.change(foreground=colour or shade)
            window.fill_rectangle(context, x, y, size.width - half_x, size.height - half_y)
        display.sync()

    def tell(**event) -> None:
        print(json.dumps(event), flush=True)

    paint()
    while True:
        while display.pending_events():
            event = display.next_event()
            match event.type:
                case X.MapNotify if event.window.id == window.id:
                    focus(other)
                    paint()
                    tell(kind="shown")
                case X.Expose | X.ConfigureNotify:
                    paint()
                case X.KeyPress | X.KeyRelease:
                    kind = "key_down" if event.type == X.KeyPress else "key_up"
                    keysym = display.keycode_to_keysym(event.detail, event.state & X.ShiftMask)
                    tell(kind=kind, key=display.lookup_string(keysym) or keysym, ms=event.time)
                case X.ButtonPress | X.ButtonRelease:
                    kind = "button_down" if event.type == X.ButtonPress else "button_up"
                    tell(kind=kind, button=event.detail, x=event.event_x, y=event.event_y, ms=event.time)
                case X.MotionNotify:
                    tell(kind="motion", x=event.event_x, y=event.event_y, ms=event.time)
                case X.ClientMessage if event.client_type == atom("_NET_ACTIVE_WINDOW"):
                    focus(window if event.window.id == window.id else other)
        readable, _, _ = select.select([display, sys.stdin], [], [], 1.0)
        if sys.stdin in readable:
            line = sys.stdin.readline()
            if not line:
                return
            match line.split():
                case ["focus"]:
                    focus(window)
                case ["unfocus"]:
                    focus(other)
                case ["move", x, y]:
                    window.configure(x=int(x), y=int(y))
                case ["resize", width, height]:
                    window.configure(width=int(width), height=int(height))
                case ["red"]:
                    paint(0xFF0000)
                case ["hide"]:
                    window.unmap()
            display.sync()
            tell(kind="done", command=line.strip())


if __name__ == "__main__":
    main()
