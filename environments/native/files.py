"""Truth from what programs write themselves: saved games, logs, and a recorder that lives in a game's own world."""

from __future__ import annotations

import contextlib
import gzip
import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from environments.env import Frame
from environments.native.truth import Reading, Sources, Truth

_MOST_BYTES = 8 << 20
"""No save of these games is longer; what is, is not read."""


class SavedLevelTruth(Truth):
    """Fish Fillets: the game notes a room as solved by a file. Score: 100 when it is there, else 0."""

    path = ".fillets-ng/solved/start.lua"

    def read(self, frame: Frame) -> Reading:
        """See the class."""
        solved = (self.sources.home / self.path).exists()
        return Reading(100.0 * solved, frozenset({"solved"} if solved else ()), solved, solved)


class PingusTruth(Truth):
    """Pingus: the game notes a finished level, with the number of those who reached the exit.

    Score: 100 when the level is noted as finished, else 0; it is written at the end of a level only.
    """

    path = ".pingus/savegames/savegames.scm"

    def read(self, frame: Frame) -> Reading:
        """See the class."""
        with contextlib.suppress(OSError):
            finished = '(status "finished")' in (self.sources.home / self.path).read_text(errors="replace")
            return Reading(100.0 * finished, frozenset({"finished"} if finished else ()), finished, finished)
        return Reading()


@dataclass(slots=True)
class _Side:
    number: int = 0
    villages: int = 0
    units: int = 0
    leaders: int = 0


@dataclass(slots=True)
class WesnothSave:
    """What a saved game says of the turn and the two sides."""

    turn: int = 0
    sides: dict[int, _Side] = field(default_factory=dict)


def parse_wesnoth(text: str) -> WesnothSave:
    """Read the snapshot in a saved game: the game's own markup, nested [tags] with key=value lines."""
    save, path, side = WesnothSave(), list[str](), _Side()
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[/"):
            if path == ["snapshot", "side"]:
                save.sides[side.number] = side
                side = _Side()
            if path:
                path.pop()
        elif re.fullmatch(r"\[\+?\w+\]", line):
            path.append(line.strip("[+]"))
            if path == ["snapshot", "side", "village"]:
                side.villages += 1
            elif path == ["snapshot", "side", "unit"]:
                side.units += 1
        elif path[:1] == ["snapshot"]:
            key, _, value = line.partition("=")
            match (tuple(path[1:]), key):
                case ((), "turn_at"):
                    save.turn = _number(value)
                case (("side",), "side"):
                    side.number = _number(value)
                case (("side", "unit"), "canrecruit"):
                    side.leaders += value.strip('"') == "yes"
    return save


class WesnothTruth(Truth):
    """Wesnoth: the game saves itself at the start of each of the player's turns, and its log names the winner.

    Score: 5 for each village held in the latest save, 60 at most; 100 when the log says that side 1 has won.
    """

    saves = ".config/wesnoth-1.16/saves"
    winner = re.compile(r"WINNER: (\d+)")

    def __init__(self, sources: Sources) -> None:
        super().__init__(sources)
        self._read: Path | None = None
        self._save = WesnothSave()

    def read(self, frame: Frame) -> Reading:
        """See the class."""
        log = _text(self.sources.log)
        winners = self.winner.findall(log)
        won = winners[-1:] == ["1"]
        save = self._latest()
        mine = save.sides.get(1, _Side())
        conditions = {
            "second-turn": save.turn >= 2,
            "recruited": mine.units >= 2,
            "army": mine.units >= 5,
            "village-1": mine.villages >= 1,
            "village-3": mine.villages >= 3,
            "village-6": mine.villages >= 6,
            "victory": won,
        }
        reached = frozenset(name for name, holds in conditions.items() if holds)
        return Reading(100.0 if won else min(60.0, 5.0 * mine.villages), reached, won, bool(winners))

    def _latest(self) -> WesnothSave:
        with contextlib.suppress(OSError, EOFError, ValueError):
            paths = sorted((self.sources.home / self.saves).glob("*Auto-Save*.gz"), key=lambda p: p.stat().st_mtime_ns)
            if paths and paths[-1] != self._read:
                with gzip.open(paths[-1]) as file:
                    text = file.read(_MOST_BYTES).decode(errors="replace")
                if text.rstrip().endswith("]"):  # else it was stopped while it wrote: next time
                    self._save, self._read = parse_wesnoth(text), paths[-1]
        return self._save


class MinetestTruth(Truth):
    """Minetest: a mod of ours in the episode's world notes what the player has done (`MINETEST_MOD`).

    Score: 100 x reached milestones / 7.
    """

    path = "world/truth.json"

    def read(self, frame: Frame) -> Reading:
        """See the class."""
        done = _json(self.sources.home / self.path)
        made = set(_strings(done.get("crafted")))
        dug = set(_strings(done.get("dug")))
        conditions = {
            "walked": _real(done.get("distance")) >= 10.0,
            "dug": bool(dug),
            "tree": "tree" in dug,
            "planks": "planks" in made,
            "sticks": "default:stick" in made,
            "pickaxe": "default:pick_wood" in made,
            "stone": "stone" in dug,
        }
        reached = frozenset(name for name, holds in conditions.items() if holds)
        won = len(reached) == len(conditions)
        return Reading(100.0 * len(reached) / len(conditions), reached, won, won)


MINETEST_MOD = """local path = minetest.get_worldpath() .. "/truth.json"
local start
local state = { distance = 0, dug = {}, crafted = {} }
local known = { dug = {}, crafted = {} }

local function note(list, name)
  if not known[list][name] then
    known[list][name] = true
    table.insert(state[list], name)
  end
end

local function save()
  minetest.safe_file_write(path, minetest.write_json(state))
end

minetest.register_on_dignode(function(position, node, digger)
  if digger and digger:is_player() then
    note("dug", node.name)
    for _, group in ipairs({ "tree", "stone" }) do
      if minetest.get_item_group(node.name, group) > 0 then note("dug", group) end
    end
    save()
  end
end)

minetest.register_on_craft(function(stack, player)
  local name = stack:get_name()
  note("crafted", name)
  if minetest.get_item_group(name, "wood") > 0 then note("crafted", "planks") end
  save()
end)

local due = 0
minetest.register_globalstep(function(dtime)
  due = due - dtime
  local player = minetest.get_connected_players()[1]
  if player and due <= 0 then
    due = 0.25
    local position = player:get_pos()
    start = start or position
    local x, z = position.x - start.x, position.z - start.z
    state.distance = math.max(state.distance, math.sqrt(x * x + z * z))
    save()
  end
end)
"""
"""A recorder in the game's own language. It shows the player nothing and changes nothing."""


def _number(value: str) -> int:
    digits = value.strip().strip('"')
    return int(digits) if digits.isascii() and digits.isdigit() else 0


def _text(path: Path) -> str:
    with contextlib.suppress(OSError), path.open("rb") as file:
        return file.read(_MOST_BYTES).decode(errors="replace")
    return ""


def _json(path: Path) -> dict[str, Any]:
    with contextlib.suppress(ValueError):
        value = json.loads(_text(path) or "{}")
        if isinstance(value, dict):
            return value
    return {}


def _strings(value: Any) -> list[str]:
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def _real(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
