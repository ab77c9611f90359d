"""Which key makes which character, and a key for every character that the layout lacks."""

from __future__ import annotations

from typing import Any

import Xlib.XK
from Xlib import X
from Xlib.display import Display

FIRST_KEYCODE = 8
KEYCODES = 248

_KEYSYM_NAMES = {
    "up": ["Up"],
    "down": ["Down"],
    "left": ["Left"],
    "right": ["Right"],
    "space": ["space"],
    "enter": ["Return", "KP_Enter"],
    "esc": ["Escape"],
    "tab": ["Tab", "ISO_Left_Tab"],
    "backspace": ["BackSpace"],
    "delete": ["Delete"],
    "home": ["Home"],
    "end": ["End"],
    "pageup": ["Prior"],
    "pagedown": ["Next"],
    "shift": ["Shift_L", "Shift_R"],
    "ctrl": ["Control_L", "Control_R"],
    "alt": ["Alt_L", "Alt_R", "Meta_L", "Meta_R"],
    **{f"f{number}": [f"F{number}"] for number in range(1, 13)},
}
Xlib.XK.load_keysym_group("xkb")  # ISO_Left_Tab, which is what Shift+Tab makes
_NAMES = {Xlib.XK.string_to_keysym(keysym): name for name, keysyms in _KEYSYM_NAMES.items() for keysym in keysyms}

KEY_OF_CHARACTER = {
    " ": "space",
    "\n": "enter",
    "\r": "enter",
    "\t": "tab",
    "\b": "backspace",
    "\x1b": "esc",
    "\x7f": "delete",
}
"""Characters that a keyboard makes with a named key; a window reports the name."""


def keysym_of(character: str) -> int:
    """The X keysym of a character.

    Latin-1 stands for itself and all else follows the Unicode rule. That rule is not meant for
    control characters, but it carries them through the server unharmed, so any text can be typed.
    """
    point = ord(character)
    return point if 0x20 <= point <= 0x7E or 0xA0 <= point <= 0xFF else 0x0100_0000 | point


def name_of(keysym: int) -> str:
    """PyAutoGUI's name of a key, or the character that the keysym stands for; "" for any other."""
    if keysym in _NAMES:
        return _NAMES[keysym]
    if 0x20 <= keysym <= 0xFF:
        return chr(keysym)
    if keysym & 0xFF00_0000 == 0x0100_0000:
        return chr(keysym & 0x00FF_FFFF)
    return ""


class Keyboard:
    """The keys as PyAutoGUI presses them.

    PyAutoGUI drops a character that has no key without a word, and on the US layout makes `>` of
    `<` (it finds the extra key of ISO keyboards, then adds shift). Both are mended here: its table
    is checked against the server's, and spare keycodes are given to characters that lack a key.
    Nor may the server act on keys itself, so terminal switching is taken out.

    Args:
        display: a connection to the server.
        hands: PyAutoGUI's X11 module, with `keyboardMapping` and its connection `_display`.
    """

    def __init__(self, display: Display, hands: Any) -> None:
        self._display = display
        self._hands = hands
        rows = display.get_keyboard_mapping(FIRST_KEYCODE, KEYCODES)
        self._spare = [FIRST_KEYCODE + i for i, row in enumerate(rows) if not any(row)]
        self._lent: dict[str, int] = {}
        table = hands.keyboardMapping
        by_level = [{row[level]: FIRST_KEYCODE + i for i, row in reversed(list(enumerate(rows)))} for level in (0, 1)]
        for character in map(chr, range(0x20, 0x7F)):
            shifted = hands.pyautogui.isShiftCharacter(character)
            table[character] = by_level[shifted].get(ord(character))
        table["\x1b"] = table["esc"]
        table["\x7f"] = table["delete"]
        for number in range(1, 13):
            # The layout makes Ctrl+Alt+F1..F12 switch terminals: the server keeps the key to itself.
            keysym = Xlib.XK.string_to_keysym(f"F{number}")
            display.change_keyboard_mapping(table[f"f{number}"], [(keysym, keysym)])
        display.sync()

    def pieces(self, text: str) -> list[str]:
        """Split a text so that the spare keys suffice for each piece."""
        pieces, piece, lacking = [], "", set[str]()
        for character in text:
            if not self._on_layout(character) and character not in lacking:
                if len(lacking) == len(self._spare):
                    pieces.append(piece)
                    piece, lacking = "", set()
                lacking.add(character)
            piece += character
        return [*pieces, piece]

    def prepare(self, piece: str) -> None:
        """Give every character of a piece a key. Windows must have read their events before."""
        new = [c for c in dict.fromkeys(piece) if not self._on_layout(c) and c not in self._lent]
        if len(self._lent) + len(new) > len(self._spare):
            for character in self._lent:
                del self._hands.keyboardMapping[character]
            self._lent.clear()
            new = [c for c in dict.fromkeys(piece) if not self._on_layout(c)]
        for character in new:
            code = self._spare[len(self._lent)]
            keysym = keysym_of(character)
            # Both levels alike: PyAutoGUI holds shift for any upper-case letter, on any layout.
            self._display.change_keyboard_mapping(code, [(keysym, keysym)])
            self._lent[character] = code
            self._hands.keyboardMapping[character] = code
        if new:
            self._display.sync()
            self._forget_notices()

    def _on_layout(self, character: str) -> bool:
        return character not in self._lent and self._hands.keyboardMapping.get(character) is not None

    def _forget_notices(self) -> None:
        """PyAutoGUI never reads its events; without this every remapping would stay in its queue."""
        display = self._hands._display
        while display.pending_events():
            display.next_event()


class Decoder:
    """Makes key names of keycodes, the way a window does it."""

    def __init__(self, display: Display) -> None:
        self._display = display
        self._rows = [list(row) for row in display.get_keyboard_mapping(FIRST_KEYCODE, KEYCODES)]
        self._down: dict[int, str] = {}

    def refresh(self, notice: Any) -> None:
        """Take over what a MappingNotify announces."""
        if notice.request == X.MappingKeyboard:
            rows = self._display.get_keyboard_mapping(notice.first_keycode, notice.count)
            for i, row in enumerate(rows, start=notice.first_keycode - FIRST_KEYCODE):
                self._rows[i] = list(row)

    def press(self, keycode: int, state: int) -> str:
        """The name of a key that goes down while the modifiers are `state`."""
        plain, shifted = self._rows[keycode - FIRST_KEYCODE][:2]
        name = name_of(shifted if state & X.ShiftMask and shifted else plain)
        self._down[keycode] = name
        return name

    def release(self, keycode: int, state: int) -> str:
        """The name it went down with: shift may have been released in between."""
        return self._down.pop(keycode, "") or self.press(keycode, state)
