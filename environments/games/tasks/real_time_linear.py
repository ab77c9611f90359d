"""Games that do not wait, with one way to the goal."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
from environments.registry import register
from environments.task import Milestone, Task

register(
    Task(
        id="games/snake-v1",
        title="Snake",
        goal=(
            "Steer the snake to the apples and eat ten of them. The snake moves on by itself, one cell at a time, and"
            " grows with every apple; the arrow keys turn it. Running into the wall or into the snake's own body ends"
            " the game."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("turned", "The snake has changed its direction for the first time."),
            *ladder(
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
