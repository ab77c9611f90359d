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

register(
    Task(
        id="games/invaders-v1",
        title="Space Invaders",
        goal=(
            "Shoot the invaders and score 600 points before you lose your last life. The left and right arrow keys move"
            " the cannon, the space bar fires; one shot is in the air at a time, and time runs on. Bombs take a life,"
            " and invaders that land end the game."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=ladder(
            ("first-hit", "The first invader is shot, and the points say so."),
            *((f"points-{points}", f"At least {points} points are scored.") for points in range(100, 600, 100)),
            ("points-600", "All 600 points are scored, and the game says so."),
        ),
        max_steps=150,
        params={"game": "environments.games.invaders:Invaders", "target": 600},
        category="real-time-linear",
        tier="medium",
        tags=("packaged", "timed"),
        extra="atari",
    )
)

register(
    Task(
        id="games/corridor-v1",
        title="Corridor",
        goal=(
            "Shoot at least four of the guards, then take the armour at the far end of the corridor. The guards stand"
            " in niches on both sides and shoot at sight; one hit kills a guard. The up and down arrow keys walk, left"
            " and right turn, A and D step aside, Ctrl fires. The game ends when the armour is taken, or with your"
            " death."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            *ladder(
                ("guard-1", "The first guard is shot, and the count says so."),
                ("guard-2", "Two guards are shot."),
                ("guards-enough", "Four guards are shot."),
            ),
            *ladder(
                ("niches-1", "The player has come between the first two niches."),
                ("niches-2", "The player has come between the second two niches, near the middle of the corridor."),
                ("half-way", "At least half of the way to the armour is behind the player."),
                ("niches-3", "The player has come between the last two niches."),
            ),
            Milestone("armour", "The armour is taken, and the game says so.", after=("guards-enough", "niches-3")),
        ),
        max_steps=100,
        params={"game": "environments.games.corridor:Corridor", "skill": 3, "needed": 4},
        category="real-time-linear",
        tier="hard",
        tags=("packaged", "timed", "3d"),
        extra="doom",
    )
)

register(
    Task(
        id="games/lanes-v1",
        title="Crab Coast",
        goal=(
            "Hold the castle until all waves of crabs are over. Crabs come out of the sea on the right and walk along"
            " their lanes; each that reaches the castle takes one of its three flags, and with the last flag the castle"
            " falls. Drag cards from the tray to cells of the beach: oysters make pearls, squids shoot along their"
            " lane, rocks block the way, jellies sting all around them, geysers burst once, all around. Cards cost"
            " pearls and need a while to be ready again; pearls must be gathered with the net, or the sea takes them."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("placed", "A defender has been placed on the beach."),
            Milestone("gathered", "Pearls have been gathered: the purse has grown."),
            Milestone("turned-back", "The first crab has been turned back, as the count beside the waves says."),
            Milestone("half", "Half of all crabs have been turned back.", after=("turned-back",)),
            *ladder(
                ("wave-1", "The first wave is over, and the castle stands."),
                ("wave-2", "The second wave is over, and the castle stands."),
                ("wave-3", "The third wave is over, and the castle stands."),
            ),
            Milestone("all-waves", "All waves are over, and the game says that the castle stands.", after=("wave-3",)),
        ),
        max_steps=220,
        params={"game": "environments.games.lanes:Lanes", "sizes": (4, 6, 8, 10), "first": 50, "gap": 80, "pools": 4},
        category="real-time-linear",
        tier="medium",
        tags=("grid", "timed", "chance"),
    )
)

register(
    Task(
        id="games/racer-v1",
        title="Ridge Road",
        goal=(
            "Drive the red car along the road through all five gates before the time is up; each gate gives more time."
            " The arrow keys are gas, brake and steering, for as long as they are held. Bends push the car outwards,"
            " the grass slows it down, and running into another car costs most of the speed. Be quick."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("moving", "The car has left its place at the start."),
            Milestone("fast", "The speedometer has shown a hundred or more.", after=("moving",)),
            Milestone("overtake", "The place has improved by one or more.", after=("moving",)),
            Milestone("gate-1", "The first gate is passed.", after=("moving",)),
            *(Milestone(f"gate-{n}", f"Gate {n} is passed.", after=(f"gate-{n - 1}",)) for n in range(2, 5)),
            Milestone(
                "finish", "The car is through the finish, and the game says so.", after=("gate-4", "fast", "overtake")
            ),
        ),
        max_steps=150,
        params={"game": "environments.games.racer:Racer"},
        category="real-time-linear",
        tier="hard",
        tags=("3d", "driving", "timed"),
    )
)
