"""Games that wait for their player and have one way to the goal."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
from environments.registry import register
from environments.task import Task

register(
    Task(
        id="games/maze-v1",
        title="Maze",
        goal=(
            "Fetch the key, then leave the maze through the door, in as few turns as you can. The arrow keys walk one"
            " cell at a time. The key is picked up by walking onto it, and the door opens only to someone who has it."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("first-step", "The player has left the cell where it started."),
            ("half-way-to-key", "At least half of the shortest way from the start to the key is walked."),
            ("key", "The player has picked up the key."),
            ("half-way-to-door", "With the key in hand, at least half of the shortest way to the door is walked."),
            ("beside-door", "With the key in hand, the player is one step from the door."),
            ("door", "The player has reached the door with the key, and the game says so."),
        ),
        max_steps=120,
        params={"game": "environments.games.maze:Maze", "size": 11, "loops": 6, "shortest": 30, "longest": 50},
        category="non-real-time-linear",
        tier="easy",
        tags=("grid", "navigation"),
    )
)

register(
    Task(
        id="games/slingshot-v1",
        title="Slingshot",
        goal=(
            "Knock all imps out of the fort, with as few stones as you can. Drag the stone in the pouch of the sling"
            " back and let go: it flies the opposite way, and the longer the pull, the faster. What a stone, a fall or"
            " a falling block hits hard is out; wood can break. The last flight stays on the picture."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("thrown", "The first stone has been thrown."),
            ("struck", "A stone has hit the fort, or an imp is out."),
            ("out-1", "An imp is out."),
            ("out-2", "Two imps are out."),
            ("out-3", "Three imps are out."),
            ("out-4", "Four imps are out."),
            ("all-out", "All five imps are out, and the game says so."),
        ),
        max_steps=12,
        params={"game": "environments.games.slingshot:Slingshot", "imps": 5, "stones": 5, "par": 3},
        category="non-real-time-linear",
        tier="medium",
        tags=("physics",),
        extra="games",
    )
)

register(
    Task(
        id="games/deck-v1",
        title="Lamplighter",
        goal=(
            "Win five fights in a row, the last one against a boss, with as many HP left as you can. Play cards from"
            " your hand as far as your energy goes, then end the turn: the enemies do what the signs above them show,"
            " and you draw a new hand. Between the fights add cards to your deck, and rest or sharpen a card at camps."
            " The run is lost when your HP are gone."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("first-hit", "An enemy has lost HP."),
            ("fight-1", "The first fight is won."),
            ("fight-2", "The second fight is won."),
            ("fight-3", "The third fight is won."),
            ("fight-4", "The fourth fight is won."),
            ("boss-hurt", "The boss has lost at least a fifth of its HP."),
            ("boss-half", "The boss has lost at least half of its HP."),
            ("won", "The boss is beaten, and the game says so."),
        ),
        max_steps=180,
        params={"game": "environments.games.deck:Lamplighter", "hp": 60},
        category="non-real-time-linear",
        tier="hard",
        tags=("cards", "chance"),
    )
)
