"""Games that wait for their player and leave the order of things to them."""

from __future__ import annotations

from environments.games.tasks._common import MAKE, SPACES, ladder
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

register(
    Task(
        id="games/scene-v1",
        title="The Locked Study",
        goal=(
            "A cup of tea was poisoned in this study. Look around the room, walk from spot to spot, inspect what was"
            " left behind from near and from several sides, and answer the six questions of the form: who did it, whose"
            " cup it was, with what, which way in, when, and in which order things fell on the floor. The casebook has"
            " the guests and the choices. Every answer is final, and wrong ones cost points."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("first-trace", "At least one trace counts as examined."),
            Milestone("cup", "The poisoned cup was looked into, and the bottles were read.", after=("first-trace",)),
            Milestone("clock", "The stopped clock and the clockmaker's note were read.", after=("first-trace",)),
            Milestone(
                "culprit",
                "Two of these were looked at closely: the boot prints, the hand print, the threads on the nail.",
                after=("first-trace",),
            ),
            Milestone("six-traces", "At least six of the nine traces count as examined.", after=("first-trace",)),
            *ladder(
                ("one-right", "An answer on the form is green."),
                ("three-right", "Three answers on the form are green."),
                ("five-right", "Five answers on the form are green."),
                ("solved", "All six answers are green, and the game says that the case is solved."),
            ),
        ),
        max_steps=120,
        params={"game": "environments.games.scene:Scene"},
        category="non-real-time-nonlinear",
        tier="hard",
        tags=("3d", "deduction"),
        extra="robots",
    )
)
