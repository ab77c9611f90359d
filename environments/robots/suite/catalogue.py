"""The tasks of the suite, family by family, as data.

Families as in LIBERO (Liu et al. 2023): *spatial* has the same objects in every task and the instruction picks one by
where it lies, *object* asks for a different object each time, *goal* has one scene and different goals in it, *long*
has two or three sub-goals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from environments.robots.steps import Step
from environments.robots.suite.spec import Span, SuiteTask, Thing

STILL: Span = (0.0, 0.0)
OUTWARDS: Span = (-math.pi / 2, -math.pi / 2)
"""A drawer that opens along +y is turned to open towards the viewer."""
QUARTER: Span = (-math.pi / 4, math.pi / 4)


def _bowls(first: Thing) -> list[Thing]:
    """Two equal bowls, a plate, a milk carton, a block and a cube; `first` is the bowl that is asked for."""
    return [
        Thing("plate", "plate", (0.00, 0.10), (-0.04, 0.06)),
        Thing("milk_carton", "milk_carton", (-0.16, 0.10), (0.20, 0.27), QUARTER),
        Thing("wooden_block", "wooden_block", (-0.20, -0.12), (-0.24, -0.16), (-0.2, 0.2), fixed=True),
        first,
        Thing("black_bowl_2", "black_bowl", (-0.20, 0.16), (-0.27, 0.27)),
        Thing("yellow_cube", "yellow_cube", (-0.18, 0.16), (-0.27, 0.27)),
    ]


_TO_PLATE = (Step(("on", "black_bowl_1", "plate")),)
SPATIAL = (
    SuiteTask(
        "tabletop/spatial-bowl-beside-plate-v1",
        "spatial",
        "The bowl beside the plate",
        "pick up the black bowl to the left of the plate and place it on the plate",
        [
            *_bowls(Thing("black_bowl_1", "black_bowl", (-0.03, 0.03), (-0.20, -0.175), near="plate"))[:4],
            Thing("black_bowl_2", "black_bowl", (-0.20, 0.16), (0.02, 0.27)),
            Thing("yellow_cube", "yellow_cube", (-0.18, 0.16), (-0.27, 0.27)),
        ],
        _TO_PLATE,
        "easy",
        asked="black bowl to the left of the plate",
    ),
    SuiteTask(
        "tabletop/spatial-bowl-beside-milk-v1",
        "spatial",
        "The bowl beside the milk",
        "pick up the black bowl next to the milk carton and place it on the plate",
        [
            Thing("plate", "plate", (-0.02, 0.08), (-0.18, -0.08)),
            Thing("milk_carton", "milk_carton", (-0.12, -0.04), (0.14, 0.22), QUARTER),
            Thing("black_bowl_1", "black_bowl", (0.125, 0.145), (-0.03, 0.02), near="milk_carton"),
            Thing("wooden_block", "wooden_block", (-0.20, -0.12), (-0.24, -0.16), (-0.2, 0.2), fixed=True),
            Thing("black_bowl_2", "black_bowl", (-0.18, 0.18), (-0.28, 0.06)),
            Thing("yellow_cube", "yellow_cube", (-0.18, 0.16), (-0.27, 0.27)),
        ],
        _TO_PLATE,
        "easy",
        asked="black bowl next to the milk carton",
    ),
    SuiteTask(
        "tabletop/spatial-bowl-between-v1",
        "spatial",
        "The bowl between plate and milk",
        "pick up the black bowl between the plate and the milk carton and place it on the plate",
        [
            Thing("plate", "plate", (0.00, 0.06), (-0.16, -0.12)),
            Thing("milk_carton", "milk_carton", (-0.06, 0.02), (0.20, 0.25), QUARTER),
            Thing("black_bowl_1", "black_bowl", (-0.02, 0.02), (0.00, 0.02), near="plate", towards="milk_carton"),
            Thing("wooden_block", "wooden_block", (-0.20, -0.14), (-0.24, -0.16), (-0.2, 0.2), fixed=True),
            Thing("black_bowl_2", "black_bowl", (-0.22, 0.18), (-0.28, 0.25)),
            Thing("yellow_cube", "yellow_cube", (-0.20, 0.16), (-0.27, 0.27)),
        ],
        _TO_PLATE,
        "easy",
        asked="black bowl between the plate and the milk carton",
    ),
    SuiteTask(
        "tabletop/spatial-bowl-on-block-v1",
        "spatial",
        "The bowl on the block",
        "pick up the black bowl on the wooden block and place it on the plate",
        _bowls(Thing("black_bowl_1", "black_bowl", (-0.01, 0.01), (-0.01, 0.01), near="wooden_block")),
        _TO_PLATE,
        "medium",
        asked="black bowl on the wooden block",
    ),
)

_BASKET = Thing("basket", "basket", (-0.04, 0.02), (0.18, 0.22), (-0.1, 0.1), fixed=True)
_SPREAD: tuple[Span, Span] = ((-0.20, 0.15), (-0.28, 0.00))


def _groceries(*kinds: str) -> list[Thing]:
    return [_BASKET, *(Thing(kind, kind, *_SPREAD, QUARTER) for kind in kinds)]


def _into_basket(kind: str, word: str, *others: str) -> SuiteTask:
    return SuiteTask(
        f"tabletop/object-{kind.split('_')[0]}-basket-v1",
        "object",
        f"{word.capitalize()} into the basket",
        f"pick up the {word} and place it in the basket",
        _groceries(kind, *others),
        (Step(("in", kind, "basket")),),
        "easy",
    )


OBJECT = (
    _into_basket("can", "can", "milk_carton", "bread", "bottle"),
    _into_basket("milk_carton", "milk carton", "can", "lemon", "cereal_box"),
    _into_basket("lemon", "lemon", "bread", "bottle", "can"),
    _into_basket("bread", "bread", "lemon", "cereal_box", "milk_carton"),
    _into_basket("cereal_box", "cereal box", "can", "bread", "bottle"),
)


def _kitchen(*more: Thing) -> list[Thing]:
    """Cabinet at the left, stove at the right; plate, bowl and can before them."""
    return [
        Thing("cabinet", "cabinet", (-0.19, -0.16), (-0.30, -0.28), OUTWARDS, fixed=True),
        Thing("stove", "stove", (-0.17, -0.13), (0.20, 0.24), STILL, fixed=True, clear_m=0.13),
        *more,
    ]


_PLATE = Thing("plate", "plate", (0.08, 0.13), (0.10, 0.17))
_BOWL = Thing("black_bowl", "black_bowl", (0.02, 0.14), (-0.09, -0.04))
_CAN = Thing("can", "can", (-0.20, -0.10), (-0.04, 0.05))
_SCENE = _kitchen(_PLATE, _BOWL, _CAN)

GOAL = (
    SuiteTask(
        "tabletop/goal-open-drawer-v1",
        "goal",
        "Open the drawer",
        "open the drawer of the cabinet",
        _SCENE,
        (Step(("open", "drawer")),),
        "easy",
    ),
    SuiteTask(
        "tabletop/goal-turn-on-stove-v1",
        "goal",
        "Turn on the stove",
        "turn on the stove",
        _SCENE,
        (Step(("turnon", "knob")),),
        "easy",
    ),
    SuiteTask(
        "tabletop/goal-bowl-on-stove-v1",
        "goal",
        "Bowl on the stove",
        "put the black bowl on the stove",
        _SCENE,
        (Step(("on", "black_bowl", "burner")),),
        "medium",
    ),
    SuiteTask(
        "tabletop/goal-bowl-on-plate-v1",
        "goal",
        "Bowl on the plate",
        "put the black bowl on the plate",
        _SCENE,
        (Step(("on", "black_bowl", "plate")),),
        "medium",
    ),
    SuiteTask(
        "tabletop/goal-can-on-cabinet-v1",
        "goal",
        "Can on the cabinet",
        "put the can on top of the cabinet",
        _SCENE,
        (Step(("on", "can", "cabinet_top")),),
        "medium",
    ),
)

_RED = Thing("red_cube", "red_cube", (-0.02, 0.15), (-0.08, 0.0))
LONG = (
    SuiteTask(
        "tabletop/long-can-and-milk-basket-v1",
        "long",
        "Can and milk into the basket",
        "put both the can and the milk carton in the basket",
        _groceries("can", "milk_carton", "bread", "lemon"),
        (Step(("in", "can", "basket")), Step(("in", "milk_carton", "basket"))),
        "medium",
        600,
    ),
    SuiteTask(
        "tabletop/long-stove-and-bowl-v1",
        "long",
        "Stove on, bowl on it",
        "turn on the stove and put the black bowl on it",
        _SCENE,
        (Step(("turnon", "knob")), Step(("on", "black_bowl", "burner"))),
        "hard",
        600,
    ),
    SuiteTask(
        "tabletop/long-cube-in-drawer-v1",
        "long",
        "Cube into the drawer",
        "open the drawer, put the red cube in it, and close the drawer",
        _kitchen(_RED, Thing("blue_cube", "blue_cube", (0.02, 0.15), (0.06, 0.18)), _CAN),
        (Step(("open", "drawer"), lasting=False), Step(("in", "red_cube", "drawer_inside")), Step(("close", "drawer"))),
        "hard",
        700,
    ),
    SuiteTask(
        "tabletop/long-stack-cubes-v1",
        "long",
        "A tower of three cubes",
        "stack the red cube on the green cube and the blue cube on the red cube",
        [
            Thing(f"{colour}_cube", f"{colour}_cube", (-0.14, 0.12), (-0.20, 0.20), QUARTER)
            for colour in ("green", "red", "blue", "yellow")
        ],
        (Step(("on", "red_cube", "green_cube")), Step(("on", "blue_cube", "red_cube"))),
        "hard",
        600,
    ),
)

ALL: Sequence[SuiteTask] = (*SPATIAL, *OBJECT, *GOAL, *LONG)
