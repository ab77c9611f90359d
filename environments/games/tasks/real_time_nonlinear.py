"""Games that do not wait, and leave the order of things to their player."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
from environments.registry import register
from environments.task import Task

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
