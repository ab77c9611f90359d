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
        tags=("3d", "deduction", "rendered"),
        extra="robots",
    )
)

register(
    Task(
        id="games/nethack-v1",
        title="NetHack Quest",
        goal=(
            "Fetch the amulet from the locked vault and leave the level with it, down the stairs. The key to the vault"
            " lies somewhere on the level, and monsters live there. The screen is NetHack's own, and so are its keys."
            " The quest ends when the hero dies or goes down the stairs, with the amulet or without."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("left-room", "The hero has left the room where the quest began."),
            Milestone("two-rooms", "The hero has been in at least two more rooms.", after=("left-room",)),
            Milestone("stairs-seen", "The stairs down, >, have been seen on the map."),
            Milestone("key", "The hero has picked up a key, or the vault is already open."),
            Milestone("first-kill", "The hero has killed a monster, or is out with the amulet without that."),
            Milestone("vault-open", "The locked door of the vault is open or broken.", after=("left-room", "key")),
            Milestone("amulet", "The hero has picked up the amulet.", after=("vault-open",)),
            Milestone(
                "out",
                "The hero has gone down the stairs with the amulet, and the game says so.",
                after=("two-rooms", "stairs-seen", "first-kill", "amulet"),
            ),
        ),
        max_steps=250,
        params={"game": "environments.games.nethack:NetHack"},
        category="non-real-time-nonlinear",
        tier="hard",
        tags=("packaged", "grid", "text", "chance"),
        extra="nethack",
    )
)

register(
    Task(
        id="games/empire-v1",
        title="Five Ambitions",
        goal=(
            "Lead a people in an unknown land and fulfil five ambitions before the years run out: see the land"
            " (Explorer), found cities and let them grow (Ruler), learn every technology (Scholar), gather culture"
            " (Patron), destroy the camps and win over the rival by trade or conquest (Envoy). Drag units to tiles, the"
            " flag onto a settler, and what is to be built onto a city; click what to research, and end the turn."
            " Caravans trade when they enter the rival's city. A unit walks on by itself in the turns to come."
        ),
        entry_point=MAKE,
        spaces=SPACES,
        milestones=(
            Milestone("first-city", "The first city is founded."),
            Milestone("second-city", "Two cities are founded.", after=("first-city",)),
            Milestone("five-cities", "The realm has five cities.", after=("second-city",)),
            Milestone("people", "All people that the Ruler needs live in the cities.", after=("first-city",)),
            Milestone("first-technology", "One technology is known (green).", after=("first-city",)),
            Milestone("four-technologies", "Four technologies are known (green).", after=("first-technology",)),
            Milestone("all-technologies", "All eight technologies are known (green).", after=("four-technologies",)),
            Milestone("half-explored", "The bar of the Explorer is at least half full."),
            Milestone("half-culture", "The bar of the Patron is at least half full.", after=("first-city",)),
            Milestone("camp-destroyed", "The first camp is destroyed."),
            Milestone("rival", "A caravan has traded with the rival, or the rival's city is conquered."),
            Milestone(
                "all-ambitions",
                "All five bars are full and green, and the game says so.",
                after=(
                    "five-cities",
                    "people",
                    "all-technologies",
                    "half-explored",
                    "half-culture",
                    "camp-destroyed",
                    "rival",
                ),
            ),
        ),
        max_steps=200,
        params={"game": "environments.games.empire:Empire", "years": 40},
        category="non-real-time-nonlinear",
        tier="medium",
        tags=("grid", "strategy"),
    )
)
