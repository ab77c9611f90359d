"""Games that wait for their player and leave the order of things to them."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES
from environments.registry import register
from environments.task import Milestone, Task

register(
    Task(
        id="games/courtroom-v1",
        title="One False Word",
        goal=(
            "You defend the accused. Three witnesses testify one after the other, and each says one thing that one"
            " piece of evidence shows to be false. Go through the statements, press the witness for more, read the"
            " evidence and the case file, and present the right evidence at the right statement. Evidence must be read"
            " before it can be presented. Every wrong presentation costs the judge's patience; do not take many turns."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("evidence-read", "A piece of evidence (A to F) has been opened and read."),
            Milestone("second-statement", "The first witness has been heard beyond the first statement."),
            Milestone(
                "lie-1", "The first lie is exposed: one disc is green.", after=("evidence-read", "second-statement")
            ),
            Milestone("second-witness-heard", "The second witness has been heard further.", after=("lie-1",)),
            Milestone("second-witness-pressed", "The second witness has been pressed and has answered.", ("lie-1",)),
            Milestone(
                "lie-2",
                "The second lie is exposed: two discs are green.",
                after=("second-witness-heard", "second-witness-pressed"),
            ),
            Milestone("third-witness-heard", "The third witness has been heard further.", after=("lie-2",)),
            Milestone(
                "acquitted", "The third lie is exposed, and the accused is found not guilty.", ("third-witness-heard",)
            ),
        ),
        max_steps=100,
        params={"game": "environments.games.courtroom:Courtroom"},
        category="non-real-time-nonlinear",
        tier="easy",
        tags=("text", "deduction"),
    )
)
