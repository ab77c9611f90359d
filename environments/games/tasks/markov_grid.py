"""Games on a grid whose present picture says everything, without a clock."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
from environments.registry import register
from environments.task import Milestone, Task

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

register(
    Task(
        id="games/rules-v1",
        title="Word Yard",
        goal=(
            "Let something that is YOU touch something that is WIN, in as few turns as you can. The arrow keys move all"
            " that is YOU, and word blocks in the way are pushed. Three blocks in a row, read left to right or"
            " downwards (a noun, IS, and a property or another noun), are a sentence, and it is in force as long as"
            " they lie so: sentences can be made and broken. Z takes the last move back, which costs a turn."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            *ladder(
                ("first-step", "Something that is YOU has moved."),
                ("word-pushed", "A word block has been pushed from its place."),
                ("sentence-changed", "The sentences in force are not those of the start: one was made or broken."),
                ("open", "Something that is YOU can get to something that is WIN without pushing another word."),
                ("near", "Three moves or less, none of which pushes a word, bring YOU to WIN."),
                ("won", "Something that is YOU has touched something that is WIN, and the game says so."),
            ),
            Milestone("half-way", "At least half of the moves that a good plan makes are done.", after=("first-step",)),
        ),
        max_steps=100,
        params={"game": "environments.games.rules:WordYard", "shortest": 8, "longest": 25},
        category="markov-grid",
        tier="medium",
        tags=("grid", "puzzle"),
    )
)
