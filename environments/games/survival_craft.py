"""What can be made on the island, of what, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Item = Literal[
    "workbench", "palisade", "wood_pickaxe", "stone_pickaxe", "stone_sword", "furnace", "iron_pickaxe", "beacon"
]
MATERIALS = ("wood", "stone", "coal", "iron", "ember", "crystal")
TOOLS = ("wood_pickaxe", "stone_pickaxe", "iron_pickaxe", "stone_sword")
Site = Literal["anywhere", "workbench", "furnace"]


@dataclass(frozen=True, slots=True)
class Recipe:
    """One line of the crafting menu."""

    item: Item
    key: str
    name: str
    cost: dict[str, int]
    at: Site = "anywhere"
    """What must stand within two cells."""
    placed: bool = False
    """Whether it is put on the ground instead of being carried."""


RECIPES: dict[str, Recipe] = {
    recipe.item: recipe
    for recipe in (
        Recipe("workbench", "1", "Workbench", {"wood": 4}, placed=True),
        Recipe("palisade", "2", "Palisade", {"wood": 3}, placed=True),
        Recipe("wood_pickaxe", "3", "Wood pickaxe", {"wood": 2}, "workbench"),
        Recipe("stone_pickaxe", "4", "Stone pickaxe", {"wood": 2, "stone": 2}, "workbench"),
        Recipe("stone_sword", "5", "Stone sword", {"wood": 1, "stone": 2}, "workbench"),
        Recipe("furnace", "6", "Furnace", {"stone": 5}, "workbench", placed=True),
        Recipe("iron_pickaxe", "7", "Iron pickaxe", {"wood": 1, "coal": 1, "iron": 2}, "furnace"),
        Recipe(
            "beacon",
            "8",
            "Beacon",
            {"wood": 3, "stone": 4, "coal": 2, "ember": 2, "crystal": 2},
            "furnace",
            placed=True,
        ),
    )
}
"""In the order of the menu; the keys are on the keyboard's upper row."""

BY_KEY = {recipe.key: recipe for recipe in RECIPES.values()}
