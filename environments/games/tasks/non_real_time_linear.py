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
