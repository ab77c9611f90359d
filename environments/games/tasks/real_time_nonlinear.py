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
        max_steps=170,
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
