"""The `desktop/` tasks. Registering them needs neither a display nor the programs."""

from __future__ import annotations

from environments.registry import register
from environments.task import IRREVERSIBLE, NO_EXPERT, VLM_JUDGED, ActionSpace, Milestone, Task


def _task(
    name: str,
    title: str,
    program: str,
    place: tuple[str, str],
    max_steps: int,
    goal: str,
    milestones: tuple[tuple[str, ...], ...],
    tags: tuple[str, ...] = (NO_EXPERT,),
) -> None:
    """Register a task. A milestone is its id, its text, and the ids of those that come before it."""
    category, tier = place
    register(
        Task(
            id=f"desktop/{name}",
            title=title,
            goal=goal,
            entry_point="environments.native.env:make_native",
            spaces=(ActionSpace.GUI,),
            milestones=tuple(Milestone(id, text, tuple(after)) for id, text, *after in milestones),
            max_steps=max_steps,
            params={"program": f"environments.native.programs:{program}"},
            category=category,
            tier=tier,
            tags=("native", IRREVERSIBLE, *tags),
        )
    )


_task(
    "flood-v1",
    "Flood",
    "FLOOD",
    ("markov-grid", "easy"),
    60,
    "Make the whole board one colour. A click on a cell paints the region at the top left corner, with all that it is"
    " joined to, in that cell's colour, so that the region grows by its neighbours of that colour. Use as few moves as"
    " you can; the line below the board counts them.",
    (
        ("tenth", "The region at the top left covers at least a tenth of the board (15 of its 144 cells)."),
        ("quarter", "The region covers at least a quarter of the board.", "tenth"),
        ("half", "The region covers at least half of the board.", "quarter"),
        ("three-quarters", "The region covers at least three quarters of the board.", "half"),
        ("all", "The whole board has one colour.", "three-quarters"),
    ),
    (),
)
_task(
    "unruly-v1",
    "Unruly",
    "UNRULY",
    ("markov-grid", "medium"),
    150,
    "Fill the board with black and white squares: every row and every column gets as many black as white ones, and"
    " never are three squares of one colour next to each other in a line. Squares with a frame are given. A left click"
    " and a right click change a square in opposite order between black, white and empty.",
    (
        ("first-right", "At least one square that was empty at the start has its right colour."),
        ("quarter", "A quarter of the squares that were empty at the start have their right colour.", "first-right"),
        ("half", "Half of the squares that were empty at the start have their right colour.", "quarter"),
        ("three-quarters", "Three quarters of them have their right colour.", "half"),
        ("solved", "The board is full and breaks no rule.", "three-quarters"),
    ),
    (),
)
_task(
    "mines-v1",
    "Mines",
    "MINES",
    ("markov-grid", "medium"),
    80,
    "Open all squares of the 8x8 field that hide no mine; there are ten mines. A left click opens a square, a right"
    " click flags it. A number tells how many of the eight squares around it hide a mine. A mine that is opened ends"
    " the game.",
    (
        ("opened-1", "A square is open."),
        ("opened-10", "At least 10 squares are open.", "opened-1"),
        ("opened-20", "At least 20 squares are open.", "opened-10"),
        ("opened-30", "At least 30 squares are open.", "opened-20"),
        ("opened-40", "At least 40 squares are open.", "opened-30"),
        ("cleared", "All 54 squares without a mine are open, and no mine has gone off.", "opened-40"),
    ),
)
_task(
    "2048-v1",
    "2048 on the desktop",
    "TILES",
    ("markov-grid", "hard"),
    1_200,
    "Reach the tile 2048. The arrow keys slide all tiles; two equal tiles that meet become one of twice the value, and"
    " after every move a new tile appears.",
    (
        ("tile-32", "A tile of 32 or more has been on the board."),
        ("tile-64", "A tile of 64 or more has been on the board.", "tile-32"),
        ("tile-128", "A tile of 128 or more has been on the board.", "tile-64"),
        ("tile-256", "A tile of 256 or more has been on the board.", "tile-128"),
        ("tile-512", "A tile of 512 or more has been on the board.", "tile-256"),
        ("tile-1024", "A tile of 1024 or more has been on the board.", "tile-512"),
        ("tile-2048", "A tile of 2048 has been on the board.", "tile-1024"),
    ),
)
_task(
    "hexahop-v1",
    "Hex-a-Hop",
    "HEXAHOP",
    ("non-real-time-linear", "easy"),
    150,
    "Break all green tiles of the first island. A green tile cracks under the girl and is gone when she leaves it. The"
    " keys q, w, e, a, s, d move her to the six neighbouring tiles, u takes a move back.",
    (
        ("tile-1", "One green tile is gone."),
        ("quarter", "A quarter of the green tiles are gone.", "tile-1"),
        ("half", "Half of the green tiles are gone.", "quarter"),
        ("three-quarters", "Three quarters of the green tiles are gone.", "half"),
        ("all-green", "No green tile is left: the island is solved.", "three-quarters"),
    ),
)
_task(
    "fishfillets-v1",
    "Fish Fillets",
    "FILLETS",
    ("non-real-time-linear", "medium"),
    200,
    "Bring both fish out of the first room. The arrow keys move the present fish, the space bar changes between the"
    " two, Backspace starts the room again. Nothing may fall on a fish, and only the bigger fish can move steel.",
    (
        ("moved-small", "The small orange fish has left the place where it began."),
        ("moved-big", "The big blue fish has left the place where it began."),
        ("pipe-moved", "The steel pipe is no longer where it was at the start."),
        ("small-out", "The small fish has left the room.", "moved-small"),
        ("big-out", "The big fish has left the room.", "moved-big", "pipe-moved"),
        ("solved", "Both fish have left the room, and the map shows it as solved.", "small-out", "big-out"),
    ),
)
_task(
    "wesnoth-v1",
    "The Battle for Wesnoth",
    "WESNOTH",
    ("non-real-time-nonlinear", "medium"),
    250,
    "You lead the red side. Recruit an army, hold as many villages as you can, and defeat the leader of the blue side,"
    " whom the computer plays, within 12 turns. A right click on the map opens a menu, Recruit among it; a left click"
    " chooses a unit and then the place that it is to go to, or the enemy that it is to attack. End Turn is at the"
    " bottom right; the enemy then moves.",
    (
        ("recruited", "A unit has been recruited beside the leader."),
        ("second-turn", "The second turn has begun."),
        ("army", "The red side has at least five units.", "recruited"),
        ("village-1", "The red side holds a village."),
        ("village-3", "The red side holds at least three villages.", "village-1"),
        ("first-fight", "A red unit has attacked an enemy.", "recruited"),
        ("village-6", "The red side holds at least six villages.", "village-3"),
        ("victory", "The enemy's leader is defeated.", "first-fight"),
    ),
)
_task(
    "steelsky-v1",
    "Beneath a Steel Sky",
    "STEEL_SKY",
    ("non-real-time-nonlinear", "hard"),
    300,
    "Play the beginning of this adventure: escape from the factory with Joey's help. A left click walks to a place or"
    " looks at a thing, a right click uses it or talks; what you carry appears when the pointer goes to the upper edge"
    " of the picture.",
    (
        ("walked", "The hero has walked away from the spot where the game began."),
        ("looked", "A sentence about a thing in the room has been shown."),
        ("took", "Something that was not there at the start lies in the inventory."),
        ("next-room", "Another room of the factory, or a place outside it, is shown.", "walked"),
        ("talked", "The hero has talked with somebody, and an answer was shown."),
        ("joey", "Joey has a body and moves.", "next-room"),
        ("outside", "The hero stands outside the factory.", "next-room"),
    ),
    (VLM_JUDGED, NO_EXPERT),
)
_task(
    "pingus-v1",
    "Pingus",
    "PINGUS",
    ("real-time-linear", "easy"),
    160,
    "Bring at least five of the ten penguins to the exit. They walk on by themselves. A click on a penguin makes it dig"
    " down through the ice; a hole above the exit lets the others follow.",
    (
        ("out", "The first penguin walks on the ice."),
        ("digging", "A penguin digs, or there is a hole in the ice.", "out"),
        ("through", "A hole leads through the ice.", "digging"),
        ("saved-1", "The line above says that one penguin is saved.", "through"),
        ("saved-5", "The line above says that at least five penguins are saved.", "saved-1"),
        ("finished", "The level is over, and the result says that enough penguins were saved.", "saved-5"),
    ),
)
_task(
    "frozenbubble-v1",
    "Frozen Bubble",
    "FROZEN_BUBBLE",
    ("real-time-linear", "medium"),
    200,
    "Clear the level of all bubbles. The left and right keys turn the launcher, the up key shoots. Three or more"
    " bubbles of one colour that touch vanish, and what hung from them falls. Who waits too long shoots by force.",
    (
        ("shot", "A bubble has been shot and hangs among the others."),
        ("first-group", "A group of bubbles has vanished.", "shot"),
        ("half", "At most half as many bubbles hang as at the start.", "first-group"),
        ("few", "At most four bubbles hang.", "half"),
        ("cleared", "No bubble hangs any more, or a later level is shown than at the start.", "few"),
    ),
    (VLM_JUDGED, NO_EXPERT),
)
_task(
    "lbreakout-v1",
    "LBreakout2",
    "LBREAKOUT",
    ("real-time-linear", "hard"),
    600,
    "Clear the first level of bricks. The left and right keys move the paddle, the space bar sets the ball free. Do not"
    " let the ball fall past the paddle.",
    (
        ("brick-1", "A brick is gone."),
        ("brick-5", "At least five bricks are gone.", "brick-1"),
        ("brick-20", "At least 20 bricks are gone.", "brick-5"),
        ("brick-50", "At least 50 bricks are gone.", "brick-20"),
        ("brick-100", "At least 100 bricks are gone.", "brick-50"),
        ("cleared", "All bricks of the first level are gone.", "brick-100"),
    ),
)
_task(
    "minetest-v1",
    "Minetest",
    "MINETEST",
    ("real-time-nonlinear", "medium"),
    500,
    "Survive and make tools: fell a tree, make planks, sticks and a wooden pickaxe, and dig stone with it. The keys w,"
    " a, s, d walk, the space bar jumps, moving the mouse looks around, g digs while it is held (a trunk takes"
    " seconds), h places, i opens the inventory with the crafting grid.",
    (
        ("walked", "The player has walked at least ten blocks away from the start."),
        ("dug", "A block has been dug."),
        ("tree", "A block of a tree's trunk has been dug.", "dug"),
        ("planks", "Planks have been crafted.", "tree"),
        ("sticks", "Sticks have been crafted.", "planks"),
        ("pickaxe", "A wooden pickaxe has been crafted.", "sticks"),
        ("stone", "Stone has been dug.", "pickaxe"),
    ),
)
_task(
    "freedoom-v1",
    "Freedoom",
    "FREEDOOM",
    ("real-time-nonlinear", "hard"),
    400,
    "Find the exit of the first level, and live. The arrow keys walk and turn, Ctrl shoots, the space bar opens doors"
    " and works switches, Alt with left or right steps aside, Tab shows the map.",
    (
        ("left-start", "The player has left the hall where the level began."),
        ("door", "A door or a lift has been opened or used."),
        ("weapon-or-ammo", "A weapon, ammunition, armour or health has been picked up."),
        ("kill", "An enemy is dead by the player's hand."),
        ("three-kills", "At least three enemies are dead by the player's hand.", "kill"),
        ("half-map", "The map, or the frames, show at least four different rooms visited.", "left-start"),
        ("exit", "The level is finished: its statistics are shown.", "half-map"),
    ),
    (VLM_JUDGED, NO_EXPERT),
)
