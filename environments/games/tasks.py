"""The games, as tasks. The engines load when a task is made."""

from __future__ import annotations

from environments.registry import register
from environments.task import ActionSpace, Milestone, Task

_MAKE = "environments.game_env:make_game"
_SPACES = (ActionSpace.SEMANTIC, ActionSpace.GUI)


def _ladder(*steps: tuple[str, str]) -> tuple[Milestone, ...]:
    """Milestones that can only be reached in this order."""
    before: tuple[str, ...] = ()
    ladder = []
    for name, text in steps:
        ladder.append(Milestone(name, text, after=before))
        before = (name,)
    return tuple(ladder)


register(
    Task(
        id="games/snake-v1",
        title="Snake",
        goal=(
            "Steer the snake to the apples and eat ten of them. The snake moves on by itself, one cell at a time, and"
            " grows with every apple; the arrow keys turn it. Running into the wall or into the snake's own body ends"
            " the game."
        ),
        entry_point=_MAKE,
        spaces=_SPACES,
        milestones=(
            Milestone("turned", "The snake has changed its direction for the first time."),
            *_ladder(
                ("apple-1", "The snake has eaten its first apple."),
                ("apple-3", "Three apples are eaten."),
                ("apple-5", "Five apples are eaten."),
                ("apple-7", "Seven apples are eaten."),
                ("apple-9", "Nine apples are eaten."),
                ("all-apples", "All ten apples are eaten, and the game says so."),
            ),
        ),
        max_steps=160,
        params={"game": "environments.games.snake:Snake", "size": 11, "target": 10},
        category="real-time-linear",
        tier="easy",
        tags=("grid", "timed"),
    )
)

register(
    Task(
        id="games/2048-v1",
        title="2048",
        goal=(
            "Make a tile of 256, in as few turns as you can. The arrow keys slide all tiles in one direction as far as"
            " they go; two equal tiles that meet become one tile of twice the value. A new tile appears after every"
            " move. The game is lost when no tile can move any more."
        ),
        entry_point=_MAKE,
        spaces=_SPACES,
        milestones=_ladder(
            *((f"tile-{1 << n}", f"A tile of {1 << n} or more is on the board.") for n in range(3, 9)),
        ),
        max_steps=180,
        params={"game": "environments.games.g2048:Game2048", "goal": 256},
        category="markov-grid",
        tier="hard",
        tags=("grid", "chance"),
    )
)

register(
    Task(
        id="games/maze-v1",
        title="Maze",
        goal=(
            "Fetch the key, then leave the maze through the door, in as few turns as you can. The arrow keys walk one"
            " cell at a time. The key is picked up by walking onto it, and the door opens only to someone who has it."
        ),
        entry_point=_MAKE,
        spaces=_SPACES,
        milestones=_ladder(
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
