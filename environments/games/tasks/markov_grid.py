"""Games on a grid whose present picture says everything, without a clock."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
from environments.registry import register
from environments.task import Task

register(
    Task(
        id="games/2048-v1",
        title="2048",
        goal=(
            "Make a tile of 256, in as few turns as you can. The arrow keys slide all tiles in one direction as far as"
            " they go; two equal tiles that meet become one tile of twice the value. A new tile appears after every"
            " move. The game is lost when no tile can move any more."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            *((f"tile-{1 << n}", f"A tile of {1 << n} or more is on the board.") for n in range(3, 9)),
        ),
        max_steps=180,
        params={"game": "environments.games.g2048:Game2048", "goal": 256},
        category="markov-grid",
        tier="hard",
        tags=("grid", "chance"),
    )
)
