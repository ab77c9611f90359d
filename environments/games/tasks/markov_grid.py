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
        ),
        max_steps=100,
        params={"game": "environments.games.rules:WordYard", "shortest": 8, "longest": 25},
        category="markov-grid",
        tier="medium",
        tags=("grid", "puzzle"),
    )
)

register(
    Task(
        id="games/tictactoe-v1",
        title="Tic-tac-toe",
        goal=(
            "Play a match of six rounds of tic-tac-toe and make at least five points. You are X: click a free cell to"
            " put your mark there; three in a row, column or diagonal win a round. Rounds begin from openings of their"
            " own, and opponents differ: some never err. A won round is one point, a lost one none; a draw is one"
            " point, or half a point if you could have forced a win. After a round, click the button to go on."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("first-mark", "The player has put an X on the board."),
            ("half-point", "At least half a point is made."),
            ("points-1", "At least one point is made."),
            *((f"points-{points}", f"At least {points} points are made.") for points in range(2, 6)),
            ("match", "All six rounds are played with five points or more, and the game says that the match is won."),
        ),
        max_steps=60,
        params={"game": "environments.games.tictactoe:TicTacToe", "rounds": 6, "flawless": 3, "target": 5.0},
        category="markov-grid",
        tier="easy",
        tags=("grid", "chance"),
    )
)

register(
    Task(
        id="games/minesweeper-v1",
        title="Minesweeper",
        goal=(
            "Open all cells that have no mine, in as few turns as you can. A number tells how many of the up to eight"
            " cells around it are mines. A left click opens a cell, a right click puts a flag on it or takes it away,"
            " and a left click on a number that has all its flags opens the other cells around it. Opening a mine ends"
            " the game. The board can be cleared by reasoning alone."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("first-cell", "The player has opened a cell beyond those that are open at the start."),
            ("quarter", "At least a quarter of the cells to open is open."),
            ("half", "At least half of the cells to open are open."),
            ("three-quarters", "At least three quarters of the cells to open are open."),
            ("nine-tenths", "At least nine tenths of the cells to open are open."),
            ("cleared", "All cells without a mine are open, and the game says so."),
        ),
        max_steps=80,
        params={"game": "environments.games.minesweeper:Minesweeper", "mines": 10},
        category="markov-grid",
        tier="easy",
        tags=("grid", "puzzle"),
    )
)

register(
    Task(
        id="games/sokoban-v1",
        title="Sokoban",
        goal=(
            "Push every box onto one of the rings, in as few turns as you can. The arrow keys walk, and push the box"
            " that is in the way if the cell behind it is free; boxes cannot be pulled. Z takes the last move back and"
            " R all moves; either costs a turn."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("first-push", "A box has been pushed."),
            *ladder(
                ("box-home", "At least one box stands on a ring."),
                ("one-missing", "All boxes but one, or all, stand on rings."),
            ),
            Milestone(
                "quarter", "At least a quarter of the pushes that the room needs are done.", after=("first-push",)
            ),
            Milestone("half", "At least half of the pushes that the room needs are done.", after=("quarter",)),
            Milestone(
                "three-quarters", "At least three quarters of the pushes that the room needs are done.", after=("half",)
            ),
            Milestone(
                "solved", "All boxes stand on rings, and the game says so.", after=("one-missing", "three-quarters")
            ),
        ),
        max_steps=150,
        params={"game": "environments.games.sokoban:Sokoban", "shortest": 20, "longest": 45},
        category="markov-grid",
        tier="medium",
        tags=("grid", "puzzle"),
    )
)
