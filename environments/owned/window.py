"""Finding a window by its title, on whatever desktop this is."""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from environments.owned.letterbox import Region

_SHOWN_TITLES = 12


class NoWindow(LookupError):
    """No window of that title, or more than one; the message lists what is open."""


class DesktopLost(RuntimeError):
    """This desktop cannot be looked at, or is gone."""


class OpenWindow(NamedTuple):
    """A window that the person can see."""

    handle: int
    title: str
    region: Region
    """Of its client area; on macOS with the title bar."""


class Windows(Protocol):
    """What a platform tells about its windows."""

    def open(self) -> list[OpenWindow]:
        """Every visible window that has a title."""
        ...

    def region(self, handle: int) -> Region | None:
        """Where a window's client area is now; None if it is gone or not to be seen."""
        ...

    def active(self) -> int | None:
        """The window that has the keyboard, or None."""
        ...

    def activate(self, handle: int) -> None:
        """Bring a window to the front, as far as the desktop lets programs do that."""
        ...


def connect() -> Windows:
    """The windows of the desktop that this process belongs to.

    Raises:
        DesktopLost: if there is none that can be used, and why.
    """
    # One import for each: they are there on their own platform alone.
    if sys.platform == "win32":
        from environments.owned import windows_win32

        return windows_win32.Win32Windows()
    if sys.platform == "darwin":
        from environments.owned import windows_macos

        return windows_macos.MacWindows()
    from environments.owned import windows_x11

    return windows_x11.X11Windows()


def find(found: Sequence[OpenWindow], titles: Sequence[str]) -> OpenWindow:
    """The one window that has one of the titles (see `matches`); earlier titles are preferred.

    Raises:
        NoWindow: if there is none, or if several have the same title: what is typed must not go to the wrong one.
    """
    for title in titles:
        same = [window for window in found if matches(window.title, title)]
        if len(same) == 1:
            return same[0]
        if same:
            raise NoWindow(
                f"{len(same)} windows are called {title!r}: {_listed([window.title for window in same])};"
                " close all but the game's"
            )
    names = [window.title for window in found]
    wanted = " or ".join(repr(title) for title in titles)
    near = difflib.get_close_matches(titles[0].strip("*").lower(), [name.lower() for name in names], n=1, cutoff=0.5)
    nearest = next((name for name in names if near and name.lower() == near[0]), None)
    clause = f"; the nearest is {_short(nearest)!r}" if nearest else ""
    raise NoWindow(f"no window is called {wanted}{clause}; open are: {_listed(names) or 'none'}")


def matches(title: str, wanted: str) -> bool:
    """Whether a window's title is the wanted one, whatever its case; a `*` at an end stands for any text.

    No part of a title is enough by itself: the page about a game in a browser is not the game.
    """
    words, pattern = _plain(title), _plain(wanted)
    head, tail = pattern.startswith("*"), pattern.endswith("*")
    core = pattern.strip("*").strip()
    if head and tail:
        return core in words
    if tail:
        return words.startswith(core)
    return words.endswith(core) if head else words == core


def _plain(text: str) -> str:
    # Titles come with trade marks and odd spaces: "Sid Meier’s Civilization® VI".
    text = re.sub(r"[\u00ae\u2122\u00a9\u200b-\u200f]", "", text.replace("\u2019", "'"))
    return " ".join(text.split()).casefold()


def _listed(titles: Sequence[str]) -> str:
    more = f" and {len(titles) - _SHOWN_TITLES} more" if len(titles) > _SHOWN_TITLES else ""
    return ", ".join(repr(_short(title)) for title in titles[:_SHOWN_TITLES]) + more


def _short(title: str) -> str:
    return title if len(title) <= 60 else title[:57] + "..."
