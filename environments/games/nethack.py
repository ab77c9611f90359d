"""A NetHack quest on NLE: find the key, open the vault, take the amulet, leave by the stairs down."""

from __future__ import annotations

import re
import subprocess
import tempfile
import weakref
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from minihack.base import HACKDIR, LIB_DIR, PATCH_SCRIPT
from nle import nethack as nle
from pydantic import BaseModel, ConfigDict

from environments import drawing
from environments.drawing import Canvas, Colour
from environments.env import Frame
from environments.game import Game, InputEvent
from environments.games.grid import distances
from environments.games.nethack_level import Level, Spot, generate

Command = Literal[
    "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest",
    "run-north", "run-south", "run-east", "run-west",
    "run-northeast", "run-northwest", "run-southeast", "run-southwest",
    "wait", "search", "open", "close", "kick", "pick-up", "drop", "apply", "eat", "quaff", "read", "zap", "throw",
    "fire", "wield", "wear", "put-on", "inventory", "look-here", "ascend", "descend", "escape", "continue", "enter",
    "a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r", "s", "t", "u", "v",
    "w", "x", "y", "z",
]  # fmt: skip

_KEYS: dict[str, str] = {
    "north": "k", "south": "j", "east": "l", "west": "h",
    "northeast": "u", "northwest": "y", "southeast": "n", "southwest": "b",
    "run-north": "K", "run-south": "J", "run-east": "L", "run-west": "H",
    "run-northeast": "U", "run-northwest": "Y", "run-southeast": "N", "run-southwest": "B",
    "wait": ".", "search": "s", "open": "o", "close": "c", "kick": "ctrl+d", "pick-up": ",", "drop": "d",
    "apply": "a", "eat": "e", "quaff": "q", "read": "r", "zap": "z", "throw": "t", "fire": "f", "wield": "w",
    "wear": "W", "put-on": "P", "inventory": "i", "look-here": ":", "ascend": "<", "descend": ">",
    "escape": "esc", "continue": "space", "enter": "enter",
    **{letter: letter for letter in "abcdefghijklmnopqrstuvwxyz"},
}  # fmt: skip
"""What a person presses for each command. What would end, save or leave the game is not among them."""
_NAMED = {"ctrl+d": 4, "esc": 27, "space": 32, "enter": 13}
_CODES = frozenset(_NAMED.get(key, ord(key[0])) for key in _KEYS.values())
_ARROWS = {"up": "k", "down": "j", "left": "h", "right": "l"}
_WAYS: dict[Spot, str] = {
    (0, -1): "north", (0, 1): "south", (1, 0): "east", (-1, 0): "west",
    (1, -1): "northeast", (-1, -1): "northwest", (1, 1): "southeast", (-1, 1): "southwest",
}  # fmt: skip
_LETTERS = {"north": "k", "south": "j", "east": "l", "west": "h"}

_OBSERVED = ("chars", "glyphs", "blstats", "program_state", "inv_letters", "inv_oclasses", "inv_strs",
             "tty_chars", "tty_colors", "tty_cursor", "misc")  # fmt: skip
_OPTIONS = ("color", "showexp", "time", "nobones", "nolegacy", "nocmdassist", "mention_walls", "nosparkle",
            "!autopickup", "pettype:none", "runmode:teleport", "disclose:-i -a -v -g -c -o")  # fmt: skip
_AMULETS = 5
"""NetHack's class of amulets."""
_MAP_TOP = 3
"""Row of the screen's map in which our level begins; it begins in the first column."""

_CELL = (8, 17)
_SCREEN = (6, 6, 634, 402)
"""Where the end of the game is told."""
_PALETTE = np.array(
    [(110, 118, 134), (224, 86, 78), (92, 184, 92), (190, 140, 80), (98, 142, 240), (196, 112, 200), (84, 186, 190),
     (206, 208, 212), (136, 142, 156), (244, 150, 70), (140, 226, 120), (246, 220, 96), (140, 176, 255),
     (238, 150, 236), (140, 232, 236), (255, 255, 255)],
    np.uint16,
)  # fmt: skip
"""The terminal's sixteen colours, all light enough for a dark ground."""
_GROUND: Colour = (18, 20, 26)
_HELP = (
    "Find the key, unlock the vault (+ is a closed door), take the amulet (\"), leave by the stairs down (>).",
    "Arrow keys or h j k l, y u b n: move, or answer “which way”.  With shift: run.  , pick up   a apply",
    "o open   c close   ctrl+d kick   > descend   s search   i pack   q quaff   t throw   esc leave a question",
)  # fmt: skip


_WANTED = re.compile(r"(?P<letter>[a-z]) (?P<mark>[-+]) an? .*(amulet|key)")
"""A line of a menu with something that the quest needs; marked + once it is chosen."""


class NetHackAction(BaseModel):
    """One command, which is one key of NetHack, or one letter that answers a question of the game.

    do: a way ("north" ... "southwest"; "run-north" ... goes on until something is of interest), a command
    ("search", "open", "close", "kick", "pick-up", "apply", "descend", "inventory", ...), or a letter "a" to "z": the
    thing in the pack that a question is about, or "y" or "n". Where a question asks for a way, answer with a way.
    "continue" goes on after --More--, "escape" leaves a question. Walking into a monster attacks it, into a door
    opens it. Example: {"do": "east"}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)
    do: Command


class NetHack(Game):
    """A Valkyrie in a level generated per seed; won by descending the stairs with the amulet from the vault.

    Score: 3 for each of the five other rooms entered, 15 for the key, 10 for the first monster killed, 15 for the
    open vault, 20 for the amulet, 25 for leaving with it; an open vault counts for the key, and leaving with the
    amulet for a monster. Lost when the hero dies or leaves without the amulet.
    """

    Action: ClassVar[type[BaseModel]] = NetHackAction

    def __init__(self) -> None:
        """Nothing yet: the engine starts with the first level."""
        self.seeds = (0, 0, 0)
        """Of the level, of NetHack's main generator and of the one for what is only shown."""
        self.keys: list[int] = []
        """Codes of all keys so far. NetHack has no snapshot: its state is its seeds and these."""
        self.level: Level | None = None
        self.flags: set[str] = set()
        self.rooms: set[int] = set()
        """Rooms entered so far."""
        self.dead = self.left = False
        self._engine: _Engine | None = None
        self._see: dict[str, Frame] = {}
        self._acted = self._ctrl = False

    def reset(self, rng: np.random.Generator) -> None:
        """Another level and another run of luck."""
        self.rng = rng
        level, core, shown = (int(seed) for seed in rng.integers(1, 2**31 - 1, size=3))
        self._start((level, core, shown))

    def apply(self, action: NetHackAction) -> str | None:
        """Press the command's key; what NetHack objects to, it says on its screen."""
        key = _KEYS[action.do]
        self._press(_NAMED.get(key, ord(key[0])))
        return None

    def on_input(self, event: InputEvent) -> str | None:
        """NetHack's own keys, and the arrows for h, j, k and l; the first one in each step."""
        if event.kind == "key_down" and event.key == "ctrl":
            self._ctrl = True
        elif event.kind == "key_down" and not self._acted:
            key = _ARROWS.get(event.key, event.key)
            key = f"ctrl+{key}" if self._ctrl else key
            known = key in _NAMED or (len(key) == 1 and key in _KEYS.values())
            if known:
                self._press(_NAMED.get(key, ord(key[0])))
        return None

    def tick(self) -> None:
        """NetHack counts its own turns."""
        self._acted = False

    def release(self) -> None:
        """Let go of the control key."""
        self._acted = self._ctrl = False

    @property
    def over(self) -> bool:
        """Dead, or gone down the stairs."""
        return self.dead or self.left

    @property
    def won(self) -> bool:
        """Gone down the stairs with the amulet."""
        return "out" in self.flags

    def score(self) -> float:
        """The sum of what was done; see the class."""
        reached = self.reached()
        marks = {"key": 15, "first-kill": 10, "vault-open": 15, "amulet": 20, "out": 25}
        return float(3 * max(0, len(self.rooms) - 1) + sum(mark for name, mark in marks.items() if name in reached))

    def reached(self) -> set[str]:
        """The flags, and what they imply."""
        reached = set(self.flags)
        if "vault-open" in reached:
            reached.add("key")
        if "out" in reached:
            reached |= {"first-kill", "stairs-seen"}
        if len(self.rooms) >= 3:
            reached.add("two-rooms")
        return reached

    def expert(self) -> dict[str, Any]:
        """The way to key, vault, amulet and stairs on the level's own plan, and a blow for whoever stands in it."""
        return {"do": self._answer() or self._blow() or self._errand()}

    def gestures(self, action: dict[str, Any]) -> list[dict[str, Any]]:
        """The command's key: pressed, or typed if it needs shift or is a sign."""
        key = _KEYS[action["do"]]
        if key == "ctrl+d":
            return [{"verb": "hotkey", "keys": ["ctrl", "d"]}]
        if key in _NAMED or key.islower():
            return [{"verb": "press", "key": key}]
        return [{"verb": "type", "text": key}]

    def state(self) -> dict[str, Any]:
        """Seeds and keys: all else follows from them."""
        return {"seeds": list(self.seeds), "keys": list(self.keys)}

    def load(self, state: dict[str, Any]) -> None:
        """Play the keys of a state that `state` returned again, or only those that are new.

        Raises:
            ValueError: for keys that are not in the game's vocabulary, or other than three seeds.
        """
        level, core, shown = (int(seed) for seed in state["seeds"])
        keys = [int(key) for key in state["keys"]]
        if not _CODES.issuperset(keys):
            raise ValueError(f"keys: {sorted(set(keys) - _CODES)} are not keys of this game")
        done = len(self.keys)
        if self.level is None or (level, core, shown) != self.seeds or keys[:done] != self.keys:
            self._start((level, core, shown))
            done = 0
        for key in keys[done:]:
            self._press(key)
        self.release()

    def draw(self) -> Frame:
        """The terminal, 80 x 24, and the help below it."""
        canvas = Canvas(_GROUND)
        canvas.picture(0, 0, _terminal(self._see["tty_chars"], self._see["tty_colors"], self._see["tty_cursor"]))
        canvas.panel((0, 412, 640, 480), (38, 42, 52))
        for row, line in enumerate(_HELP):
            canvas.text(12, 418 + 20 * row, line, 12, drawing.GOLD if row == 0 else drawing.LINE)
        clear_of = _CELL[1] * (self.hero[1] + _MAP_TOP + 1)
        if self.won:
            drawing.banner(
                canvas, "Out with the amulet", "The quest is done.", drawing.GREEN, clear_of=clear_of, board=_SCREEN
            )
        elif self.over:
            fled = any("escaped from the dungeon" in self._line(row) for row in range(len(self._see["tty_chars"])))
            why = "The hero has fled up the stairs." if fled else "The hero has died."
            why = why if self.dead else "The amulet stays behind."
            drawing.banner(canvas, "Quest failed", why, drawing.RED, clear_of=clear_of, board=_SCREEN)
        return canvas.frame()

    @property
    def hero(self) -> Spot:
        """Where the hero stands, on the level's plan."""
        stats = self._see["blstats"]
        return int(stats[nle.NLE_BL_X]), int(stats[nle.NLE_BL_Y]) - _MAP_TOP

    def _start(self, seeds: tuple[int, int, int]) -> None:
        self._engine = self._engine or _Engine(self)
        self.seeds, self.keys = seeds, []
        self.level = generate(seeds[0])
        self.flags, self.rooms, self.dead, self.left = set(), set(), False, False
        self.release()
        self._see = self._engine.start(self.level.source(), seeds)
        self._take_stock()

    def _press(self, key: int) -> None:
        self._acted = True
        if self.over or self._engine is None:
            return
        self.keys.append(key)
        if key == ord(">") and self.hero == self._plan.stairs and not self._see["misc"][:3].any():
            # The quest ends here: MiniHack's data files have nothing for another level.
            self.left = True
            self.flags |= {"out"} if self._has_amulet else set()
            return
        self._see, done = self._engine.press(key)
        self.dead = done or bool(self._see["program_state"][0])
        self._take_stock()

    def _take_stock(self) -> None:
        """Note what has been achieved by now."""
        level, stats = self._plan, self._see["blstats"]
        if self.dead:
            return
        room = level.room_of(self.hero)
        self.rooms |= set() if room is None else {room}
        door = self._shown(level.vault_door)
        holds = {
            "left-room": level.room_of(level.start) != room,
            "key": self._letter_of_key() is not None,
            "first-kill": int(stats[nle.NLE_BL_EXP]) > 0,
            "vault-open": self.hero == level.vault_door or door in "|-.",
            "amulet": self._has_amulet,
            "stairs-seen": self._shown(level.stairs) == ">" or self.hero == level.stairs,
        }
        self.flags |= {name for name, held in holds.items() if held}

    @property
    def _plan(self) -> Level:
        if self.level is None:
            raise RuntimeError("the game has no level before reset()")
        return self.level

    @property
    def _has_amulet(self) -> bool:
        return bool((self._see["inv_oclasses"] == _AMULETS).any())

    def _shown(self, spot: Spot) -> str:
        return chr(self._see["chars"][spot[1] + _MAP_TOP, spot[0]])

    def _letter_of_key(self) -> str | None:
        names = (bytes(name).split(b"\0")[0] for name in self._see["inv_strs"])
        letters = (chr(letter) for letter in self._see["inv_letters"])
        return next((letter for letter, name in zip(letters, names, strict=True) if b" key" in name), None)

    def _answer(self) -> str | None:
        """What the expert says to a question on the screen."""
        asks, types, waits = (bool(flag) for flag in self._see["misc"][:3])
        question = self._line(0)
        lines = [self._line(row) for row in range(len(self._see["tty_chars"]))]
        if any("Pick up what?" in line for line in lines):
            wanted = next(filter(None, map(_WANTED.search, lines)), None)
            return "escape" if wanted is None else "enter" if wanted["mark"] == "+" else wanted["letter"]
        if waits or self.over:
            return "continue"
        if "In what direction" in question:
            return self._side_of_door() or "escape"
        if "want to use or apply" in question:
            return self._letter_of_key() or "escape"
        if "nlock it?" in question:
            return "y"
        return "escape" if asks or types else None

    def _line(self, row: int) -> str:
        return bytes(self._see["tty_chars"][row]).decode("ascii", "replace")

    def _side_of_door(self) -> str | None:
        door, (x, y) = self._plan.vault_door, self.hero
        return _WAYS.get((door[0] - x, door[1] - y))

    def _blow(self) -> str | None:
        """An attack on a monster next to the hero."""
        level, (x, y) = self._plan, self.hero
        for (dx, dy), way in _WAYS.items():
            spot = x + dx, y + dy
            if spot in level.exits((x, y)) and nle.glyph_is_monster(self._see["glyphs"][spot[1] + _MAP_TOP, spot[0]]):
                return way
        return None

    def _errand(self) -> str:
        """The next step of the quest."""
        level = self._plan
        goal = level.stairs if self._has_amulet else level.amulet
        if not self._has_amulet and "vault-open" not in self.flags:
            goal = level.vault_door if self._letter_of_key() else level.key
        if self.hero == goal:
            return "descend" if goal == level.stairs else "pick-up"
        message = self._line(0)
        side = self._side_of_door()
        if goal == level.vault_door and side in _LETTERS and "locked" in message and "unlock" not in message:
            return "apply"
        return self._step(goal)

    def _step(self, goal: Spot) -> str:
        """One step of the shortest way, or a run where a wall ends it in time."""
        far = distances(goal, self._plan.exits)
        x, y = self.hero
        after = min(self._plan.exits((x, y)), key=lambda spot: far.get(spot, 999))
        dx, dy = after[0] - x, after[1] - y
        length, (px, py) = 1, after
        while far.get((px + dx, py + dy), 999) < far[px, py]:
            length, px, py = length + 1, px + dx, py + dy
        ends = not self._plan.walkable((px + dx, py + dy))
        at_door = self._shown(after) == "+"  # who runs does not open doors
        return ("run-" if length > 3 and ends and not at_door else "") + _WAYS[dx, dy]


class _Engine:
    """One NetHack process image with a level of ours in its data file."""

    def __init__(self, owner: NetHack) -> None:
        folder = tempfile.TemporaryDirectory(prefix="nethack-quest-")
        self._folder = Path(folder.name)
        self._nethack: Any = None
        self._finalizer = weakref.finalize(owner, _Engine._end, self, folder)

    def start(self, source: str, seeds: tuple[int, int, int]) -> dict[str, Frame]:
        """Compile the level, begin a new game in it; what there is to see."""
        self._compile(source)
        if self._nethack is None:
            self._nethack = nle.Nethack(
                observation_keys=_OBSERVED,
                playername="Hero-val-hum-neu-fem",
                ttyrec=None,
                options=_OPTIONS,
                hackdir=str(self._folder),
                spawn_monsters=False,
                fix_moon_phase=True,  # else luck depends on the date
            )
        # The third seed, False: NetHack would reseed itself from the system's randomness now and then.
        self._nethack.set_initial_seeds(seeds[1], seeds[2], False, seeds[1])
        return dict(zip(_OBSERVED, self._nethack.reset(), strict=True))

    def press(self, key: int) -> tuple[dict[str, Frame], bool]:
        """Press a key; what there is to see then, and whether the game has ended."""
        seen, done = self._nethack.step(key)
        return dict(zip(_OBSERVED, seen, strict=True)), bool(done)

    def _compile(self, source: str) -> None:
        level, compiled = self._folder / "quest.des", self._folder / "lib" / "mylevel.lev"
        level.write_text(source, encoding="ascii")
        compiled.unlink(missing_ok=True)  # the script tells failure neither by its status nor by a missing file
        command = [PATCH_SCRIPT, str(self._folder), HACKDIR, LIB_DIR, str(level)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
        if not compiled.exists():
            raise RuntimeError(f"NetHack's level compiler failed: {done.stdout} {done.stderr}")

    def _end(self, folder: tempfile.TemporaryDirectory[str]) -> None:
        if self._nethack is not None:
            self._nethack.close()
        folder.cleanup()


def _terminal(chars: Frame, colours: Frame, cursor: Frame) -> Frame:
    """The terminal as pixels, (408, 640, 3) uint8; the cell with the cursor is inverse."""
    masks = drawing.terminal_cells(*_CELL, 13)
    ink = masks[np.clip(chars, 32, 126) - 32].astype(np.uint16)
    ink[int(cursor[0]), int(cursor[1])] = 255 - ink[int(cursor[0]), int(cursor[1])]
    tone = _PALETTE[colours & 15][:, :, None, None, :]
    ground = np.array(_GROUND, np.uint16)
    cells = (ground * (255 - ink[..., None]) + tone * ink[..., None]) // 255
    rows, columns = chars.shape
    picture = cells.astype(np.uint8).transpose(0, 2, 1, 3, 4).reshape(rows * _CELL[1], columns * _CELL[0], 3)
    return np.ascontiguousarray(picture)
