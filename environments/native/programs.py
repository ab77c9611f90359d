"""The programs that the `desktop/` tasks are played in, as Debian 12 packs them (docs/native-games.md).

Every opening leads from the program's start to where its game begins, so that no player is measured on a title screen.
"""

from __future__ import annotations

from typing import Any

from environments.native.files import MINETEST_MOD
from environments.native.program import Program


def _wait(ms: int) -> dict[str, Any]:
    return {"verb": "wait", "ms": ms}


def _press(key: str) -> dict[str, Any]:
    return {"verb": "press", "key": key}


def _click(x: int, y: int) -> dict[str, Any]:
    return {"verb": "click", "x": x, "y": y}


_PIXELS = "environments.native.pixels:"
_FILES = "environments.native.files:"

FLOOD = Program(
    executable="sgt-flood",
    packages=("sgt-puzzles",),
    arguments=("12x12c6m5#{seed}",),
    truth=_PIXELS + "FloodTruth",
)
UNRULY = Program(
    executable="sgt-unruly",
    packages=("sgt-puzzles",),
    arguments=("8x8de#{seed}",),
    truth=_PIXELS + "UnrulyTruth",
)
MINES = Program(
    executable="gnome-mines",
    packages=("gnome-mines",),
    opening=(_click(218, 160), {"verb": "move", "x": 530, "y": 200}),
    truth=_PIXELS + "MinesTruth",
)
TILES = Program(
    executable="gnome-2048",
    packages=("gnome-2048",),
    most_ms=800,
    truth=_PIXELS + "TilesTruth",
)
HEXAHOP = Program(
    executable="hex-a-hop",
    packages=("hex-a-hop",),
    least_ms=600,
    most_ms=600,  # the water never stands still
    opening=(_wait(1500), _press("enter"), _wait(1500), _press("enter"), _press("enter"), _wait(600)),
    truth=_PIXELS + "HopTruth",
)
FILLETS = Program(
    executable="fillets",
    packages=("fillets-ng", "fillets-ng-data"),
    arguments=("sound=false", "lang=en", "subtitles=true"),
    least_ms=500,
    most_ms=500,
    opening=(_wait(1500), {"verb": "move", "x": 320, "y": 120}, _click(320, 120), _wait(3000)),
    truth=_FILES + "SavedLevelTruth",
)
WESNOTH = Program(
    executable="wesnoth",
    packages=("wesnoth-1.16-core",),
    arguments=(
        *("-r", "640x480", "--nosound", "--rng-seed", "{seed}", "--log-info=ai/testing"),
        *("-m", "--exit-at-end", "--turns", "12", "--scenario=multiplayer_Den_of_Onis"),
        *("--controller", "1:human", "--side", "1:Loyalists", "--controller", "2:ai", "--side", "2:Undead"),
    ),
    files={
        ".config/wesnoth-1.16/preferences": (
            "auto_save_max=100\nturbo=yes\nturbo_speed=8\nanimate_map=no\nidle_anim=no\n"
        )
    },
    least_ms=300,
    most_ms=2_000,
    start_s=40,
    # The first start of a fresh home makes a cache of all game data, which takes seconds.
    opening=(_wait(3000), _wait(1000), _click(100, 60)),
    truth=_FILES + "WesnothTruth",
)
STEEL_SKY = Program(
    executable="scummvm",
    packages=("scummvm", "scummvm-data", "beneath-a-steel-sky"),
    arguments=("--path=/usr/share/scummvm/beneath-a-steel-sky", "--subtitles", "--talkspeed=120", "sky"),
    least_ms=400,
    most_ms=2_000,
    opening=(_wait(2000), _press("esc"), _wait(1500), _press("esc"), _wait(2000)),
)
PINGUS = Program(
    executable="pingus",
    packages=("pingus",),
    arguments=(
        *("-g", "640x480", "-s", "-m"),
        "/usr/share/games/pingus/data/levels/tutorial/digger-tutorial2-grumbel.pingus",
    ),
    least_ms=500,
    most_ms=500,
    opening=(_wait(1000), _click(600, 425), _wait(2000)),
    truth=_FILES + "PingusTruth",
)
FROZEN_BUBBLE = Program(
    executable="frozen-bubble",
    packages=("frozen-bubble",),
    arguments=("--no-sound", "--level", "{seed%70+1}"),
    fill=False,
    least_ms=400,
    most_ms=400,
    opening=(_wait(3000),),
)
LBREAKOUT = Program(
    executable="lbreakout2",
    packages=("lbreakout2",),
    fill=False,
    least_ms=300,
    most_ms=300,
    opening=(_wait(1200), _click(180, 275), _wait(1000), _click(180, 279), _wait(4000)),
    truth=_PIXELS + "BreakoutTruth",
)
MINETEST = Program(
    executable="minetest",
    packages=("minetest",),
    arguments=("--go", "--gameid", "minetest", "--world", "{home}/world", "--name", "player"),
    files={
        ".minetest/minetest.conf": (
            "screen_w = 640\nscreen_h = 480\nfps_max = 30\nviewing_range = 40\nenable_clouds = false\n"
            "enable_sound = false\nfixed_map_seed = {seed}\ntime_speed = 0\nworld_start_time = 12000\n"
            # Digging takes a button that is held for seconds, which the GUI vocabulary has for keys only.
            "keymap_dig = KEY_KEY_G\nkeymap_place = KEY_KEY_H\n"
            "bind_address = 127.0.0.1\nserver_announce = false\nupdate_information_url =\ncontentdb_url =\n"
        ),
        "world/world.mt": (
            "gameid = minetest\nbackend = sqlite3\nplayer_backend = sqlite3\nauth_backend = sqlite3\n"
            "mod_storage_backend = sqlite3\nload_mod_arena_truth = true\n"
        ),
        "world/worldmods/arena_truth/mod.conf": "name = arena_truth\n",
        "world/worldmods/arena_truth/init.lua": MINETEST_MOD,
    },
    least_ms=400,
    most_ms=400,
    start_s=30,
    opening=(_wait(5000), _wait(3000)),
    truth=_FILES + "MinetestTruth",
)
FREEDOOM = Program(
    executable="chocolate-doom",
    packages=("chocolate-doom", "freedoom"),
    arguments=(
        *("-iwad", "/usr/share/games/doom/freedoom1.wad", "-warp", "1", "1", "-skill", "2"),
        *("-window", "-geometry", "640x480", "-nosound", "-nomouse", "-nograbmouse"),
    ),
    fill=False,
    least_ms=400,
    most_ms=400,
    opening=(_wait(1500),),
)
