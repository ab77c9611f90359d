"""Games that do not wait, and leave the order of things to their player."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
from environments.registry import register
from environments.task import Milestone, Task

register(
    Task(
        id="games/metro-v1",
        title="Metro",
        goal=(
            "Deliver 80 passengers before the metro closes. Draw lines between the stations; each line's train runs by"
            " itself. Every passenger is a small shape that wants to reach any station of this shape, and changes"
            " trains where lines meet. New stations appear as the city grows. Tracks under the river need tunnels, of"
            " which there are few. If too many passengers wait at a station for too long, the game is lost."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("first-line", "A line joins two stations."),
            ("first-delivery", "At least one passenger is delivered."),
            ("eighth", "At least 10 passengers are delivered."),
            ("quarter", "At least 20 passengers are delivered."),
            ("half", "At least 40 passengers are delivered."),
            ("three-quarters", "At least 60 passengers are delivered."),
            ("target", "80 passengers are delivered, and the game says so."),
        ),
        max_steps=300,
        params={"game": "environments.games.metro:Metro", "target": 80, "stations": 9, "tunnels": 4},
        category="real-time-nonlinear",
        tier="easy",
        tags=("timed", "planning"),
    )
)

register(
    Task(
        id="games/survival-v1",
        title="Survival",
        goal=(
            "Light the beacon on an island that you do not know, and stay alive until then. Gather wood, stone and"
            " ores, make better tools at a workbench and a furnace, and build the beacon; the menu shows what each"
            " thing takes. Shades come at night and leave an ember when they are beaten; a palisade around you keeps"
            " them out. Drink, eat from bushes and grazers, and sleep: health falls when food, water or energy is used"
            " up."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("wood", "Wood has been gathered."),
            Milestone("workbench", "A workbench has been built.", after=("wood",)),
            Milestone("wood-pickaxe", "A wood pickaxe has been made.", after=("workbench",)),
            Milestone("stone", "Stone has been gathered.", after=("wood-pickaxe",)),
            Milestone("coal", "Coal has been gathered.", after=("wood-pickaxe",)),
            Milestone("stone-pickaxe", "A stone pickaxe has been made.", after=("stone",)),
            Milestone("furnace", "A furnace has been built.", after=("stone",)),
            Milestone("iron", "Iron has been gathered.", after=("stone-pickaxe",)),
            Milestone("ember", "A shade has been beaten, and its ember is in the bag."),
            Milestone("iron-pickaxe", "An iron pickaxe has been made.", after=("iron", "coal", "furnace")),
            Milestone("crystal", "A crystal has been gathered.", after=("iron-pickaxe",)),
            Milestone("beacon", "The beacon burns, and the game says so.", after=("crystal", "ember")),
        ),
        max_steps=300,
        params={"game": "environments.games.survival:Survival", "grazers": 9, "shades": 3},
        category="real-time-nonlinear",
        tier="medium",
        tags=("grid", "timed", "navigation", "planning"),
    )
)

register(
    Task(
        id="games/montezuma-v1",
        title="Montezuma's Revenge",
        goal=(
            "Fetch the key, open a door with it and leave the room before you lose your last life. The arrow keys walk"
            " and climb ladders and ropes, the space bar jumps, and time runs on. Deep falls and the skull take a life;"
            " a door opens when someone who has the key walks into it."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("middle", "The hero has stood on the moving platform below the first ladder, or farther on."),
            ("right-ledge", "The hero has stood on the ledge to the right of the rope, or farther on."),
            ("floor", "The hero has stood on the floor where the skull rolls, unhurt, or farther on."),
            ("past-skull", "The hero has stood on the left end of the floor, below the ladder there, or farther on."),
            ("left-ledge", "The hero has stood on the ledge below the key, or has the key."),
            ("key", "The hero has taken the key."),
            ("door", "One of the two doors is open."),
            ("next-room", "The hero has left the first room through a door, and the game says so."),
        ),
        max_steps=150,
        params={"game": "environments.games.montezuma:Montezuma"},
        category="real-time-nonlinear",
        tier="hard",
        tags=("packaged", "timed", "platformer"),
        extra="atari",
    )
)

register(
    Task(
        id="games/levels-v1",
        title="Levels",
        goal=(
            "Explore the level, find a key, beat enemies, and then leave through the exit, all within five minutes of"
            " game time. To win, at least 30% of the level must be explored, a key found, a door passed and five"
            " enemies beaten before the exit is used. You carry a chaingun with 200 rounds and wear armour. The up and"
            " down arrow keys walk, left and right turn, A and D step aside, Ctrl fires, the space bar opens doors and"
            " works switches straight ahead. Things are picked up by walking over them. The game ends at the exit,"
            " with your death, or when the time is up."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            *ladder(
                ("enemy", "The first enemy is beaten, and the count says so."),
                ("enemies-enough", "Five enemies are beaten."),
            ),
            Milestone("door", "The player has gone through a door."),
            Milestone("key", "A key is found, and the panel names its colour."),
            *ladder(
                ("explored-quarter", "At least a quarter of what must be explored is explored."),
                ("explored-half", "At least half of what must be explored is explored."),
                ("explored-enough", "At least 30% of the level is explored."),
            ),
            Milestone(
                "exit",
                "The exit is reached with enough explored and done, and the game says so.",
                after=("enemies-enough", "door", "key", "explored-enough"),
            ),
        ),
        max_steps=450,
        params={
            "game": "environments.games.levels:Levels",
            "levels": ("E1M1", "E1M2", "E1M3", "E1M4", "E1M5"),
            "skill": 1,
            "share": 0.3,
            "enemies": 5,
            "seconds": 300,
        },
        category="real-time-nonlinear",
        tier="hard",
        tags=("packaged", "timed", "3d", "navigation"),
        extra="doom",
    )
)
