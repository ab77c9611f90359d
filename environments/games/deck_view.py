"""The picture of the card game, and where on it things lie."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from environments import drawing
from environments.drawing import CARD, INK, LINE, MUTED, PAPER, Box, Canvas, Colour
from environments.env import Frame
from environments.games.deck_battle import ENERGY, HAND_LIMIT, Battle, Fighter, hit
from environments.games.deck_cards import CARDS, Card, describe
from environments.games.deck_enemies import KINDS
from environments.games.deck_sprites import draw_fighter, draw_icon

BATTLE: Box = (12, 40, 628, 284)
_HAND_TOP, _HAND_BOTTOM = 334, 476
_CARD_WIDTH, _CARD_PITCH = 84, 88
_SIDE: Box = (546, 334, 628, 476)
_END_TURN: Box = (546, 370, 628, 408)
END_TURN_CENTRE = (587, 389)
_PLAYER_X, _ENEMY_X = 112, (322, 522)
_ENEMY_EDGES = (222, 422, 628)
"""Where the places of the two enemies begin and end."""
_OPTION_TOP, _OPTION_BOTTOM = 92, 274
_OPTION_WIDTH, _OPTION_PITCH, _OPTION_LEFT = 136, 148, 30
_OPTIONS = 4

_NIGHT: Colour = (38, 44, 68)
_GROUND: Colour = (58, 62, 84)
_PALE: Colour = (226, 226, 236)
_TINTS: dict[str, Colour] = {"attack": (186, 64, 52), "guard": drawing.BLUE, "power": (140, 96, 10)}

_LEGEND = (
    "Block stops damage until your next turn. Might: hits do more. Weak: hits do a quarter less.",
    "Exposed: hits on it do half more. Burn: HP lost each turn. All but Might wane by one a turn.",
)


class Scene(NamedTuple):
    """All that the picture shows."""

    battle: Battle
    fight: int
    """Number of the present fight, or of the one that was just won."""
    fights: int
    phase: str
    options: tuple[str, ...]
    deck: tuple[str, ...]
    rest: int
    """HP that a rest gives."""
    won: bool
    said: str
    """What the last action did, or why it was refused."""
    refused: bool


def hand_place(x: int, y: int) -> int | None:
    """The place of the hand at a pixel, whether a card lies there or not."""
    place, within = divmod(x - BATTLE[0], _CARD_PITCH)
    fits = 0 <= place < HAND_LIMIT and within < _CARD_WIDTH and _HAND_TOP <= y < _HAND_BOTTOM
    return place if fits else None


def hand_centre(place: int) -> tuple[int, int]:
    """The middle of a place of the hand."""
    return BATTLE[0] + place * _CARD_PITCH + _CARD_WIDTH // 2, (_HAND_TOP + _HAND_BOTTOM) // 2


def in_battle(x: int, y: int) -> bool:
    """Whether a pixel belongs to the battle, where cards are dropped."""
    return BATTLE[0] <= x < BATTLE[2] and BATTLE[1] <= y < BATTLE[3]


def enemy_place(x: int, y: int) -> int | None:
    """The place of the enemies at a pixel of the battle; None on the player's side."""
    return next((place for place in (1, 0) if in_battle(x, y) and x >= _ENEMY_EDGES[place]), None)


def target_centre(target: int | None) -> tuple[int, int]:
    """Where a card is dropped: on an enemy's place, or on the player."""
    return (_PLAYER_X if target is None else _ENEMY_X[target]), 150


def on_end_turn(x: int, y: int) -> bool:
    """Whether a pixel belongs to the button that ends the turn."""
    return _END_TURN[0] <= x < _END_TURN[2] and _END_TURN[1] <= y < _END_TURN[3]


def option_place(x: int, y: int) -> int | None:
    """The place of the offers at a pixel, whether there is an offer now or not."""
    place, within = divmod(x - _OPTION_LEFT, _OPTION_PITCH)
    fits = 0 <= place < _OPTIONS and within < _OPTION_WIDTH and _OPTION_TOP <= y < _OPTION_BOTTOM
    return place if fits else None


def option_centre(place: int) -> tuple[int, int]:
    """The middle of a place of the offers."""
    return _OPTION_LEFT + place * _OPTION_PITCH + _OPTION_WIDTH // 2, (_OPTION_TOP + _OPTION_BOTTOM) // 2


def draw(scene: Scene) -> Frame:
    """The picture, (480, 640, 3) uint8."""
    canvas = _backdrop().copy()
    canvas.text(628, 9, f"Fight {scene.fight} of {scene.fights}", 17, bold=True, anchor="ra")
    _draw_said(canvas, scene)
    if scene.phase in ("reward", "camp"):
        _draw_offer(canvas, scene)
        _draw_deck(canvas, scene.deck)
        return canvas.frame()
    _draw_fighter(canvas, _PLAYER_X, scene.battle.player, "You", None)
    for enemy, x in zip(scene.battle.enemies, _ENEMY_X, strict=False):
        if enemy.alive:
            _draw_fighter(canvas, x, enemy, KINDS[enemy.kind].name, scene.battle.player)
        else:
            canvas.text(x, 160, f"{KINDS[enemy.kind].name}: beaten", 14, (150, 154, 176), anchor="mm")
    _draw_hand(canvas, scene.battle)
    _draw_side(canvas, scene.battle)
    if scene.phase == "over":
        _draw_end(canvas, scene)
    return canvas.frame()


@lru_cache(maxsize=1)
def _backdrop() -> Canvas:
    canvas = Canvas()
    canvas.text(12, 5, "Lamplighter", 25, bold=True)
    canvas.text(348, 14, "Drag a card onto its target, or click it. Keys 1-6, E.", 12, MUTED, anchor="ma")
    for row, line in enumerate(_LEGEND):
        canvas.text(14, 302 + 14 * row, line, 12, MUTED)
    canvas.panel(BATTLE, _NIGHT, 10)
    canvas.panel((BATTLE[0], 176, BATTLE[2], BATTLE[3]), _GROUND, 10)
    canvas.panel((BATTLE[0], 176, BATTLE[2], 190), _GROUND)
    for x, y in ((24, 100), (172, 116), (174, 84), (246, 110), (424, 100), (440, 132), (614, 96), (616, 148)):
        canvas.disc(x, y, 1.5, (150, 156, 186))
    return canvas


def _draw_said(canvas: Canvas, scene: Scene) -> None:
    """What the last action did, below the battle; cut with dots where both enemies do much at once."""
    line = scene.said
    while drawing.font(13).getlength(line) > BATTLE[2] - 14:
        line = f"{line.rstrip('… ').rsplit(' ', 1)[0]} …"
    canvas.text(14, 286, line, 13, drawing.RED if scene.refused else drawing.DEEP_TEAL)


def _draw_fighter(canvas: Canvas, x: int, fighter: Fighter, name: str, player: Fighter | None) -> None:
    canvas.text(x, 46, name, 15, CARD, bold=True, anchor="ma")
    if player is not None:
        _draw_intent(canvas, x, fighter, player)
    draw_fighter(canvas, x, 150, fighter.kind)
    left, width = x - 66, 144
    canvas.panel((left, 206, left + width, 224), INK, 5)
    filled = max(1, round((width - 4) * fighter.hp / fighter.max_hp)) if fighter.alive else 0
    if filled:
        canvas.panel((left + 2, 208, left + 2 + filled, 222), drawing.RED, 3)
    canvas.text(left + width // 2, 215, f"{fighter.hp} / {fighter.max_hp}", 13, CARD, bold=True, anchor="mm")
    if fighter.block:
        draw_icon(canvas, left - 6, 214, "shield", 14)
        canvas.text(left - 6, 213, str(fighter.block), 13, CARD, bold=True, anchor="mm")
    _draw_statuses(canvas, left, fighter)


def _draw_statuses(canvas: Canvas, left: int, fighter: Fighter) -> None:
    statuses = (
        ("Might", fighter.might, (140, 96, 10)),
        ("Weak", fighter.weak, (84, 112, 60)),
        ("Exposed", fighter.exposed, (112, 62, 150)),
        ("Burn", fighter.burn, (190, 84, 20)),
    )
    shown = [status for status in statuses if status[1]]
    for index, (label, amount, tint) in enumerate(shown):
        x, y = left - 10 + 84 * (index % 2), 231 + 25 * (index // 2)
        canvas.panel((x, y, x + 80, y + 21), tint, 6)
        canvas.text(x + 40, y + 10, f"{label} {amount}", 13, CARD, bold=True, anchor="mm")


def _draw_intent(canvas: Canvas, x: int, enemy: Fighter, player: Fighter) -> None:
    """What the enemy will do, with the damage as it stands now, before block."""
    move = enemy.move
    parts: list[tuple[str, str]] = []
    if move.damage:
        hits = f" x {move.times}" if move.times > 1 else ""
        parts.append(("sword", f"{hit(enemy, move.damage, player)}{hits}"))
    if move.block:
        parts.append(("shield", str(move.block)))
    named = (("Might +", move.might), ("Weak ", move.weak), ("Exposed ", move.exposed), ("Burn ", move.burn))
    parts += [("", f"{label}{amount}") for label, amount in named if amount]
    widths = [int(drawing.font(14, True).getlength(text)) + (24 if icon else 2) for icon, text in parts]
    left = x - (sum(widths) + 10 * (len(parts) - 1)) // 2
    right = left + sum(widths) + 10 * (len(parts) - 1)
    canvas.panel((left - 10, 67, right + 10, 93), PAPER, 8)
    for (icon, text), width in zip(parts, widths, strict=True):
        if icon:
            draw_icon(canvas, left + 9, 80, icon, 10)
        canvas.text(left + (23 if icon else 0), 80, text, 14, drawing.RED if icon == "sword" else INK, bold=True,
                    anchor="lm")  # fmt: skip
        left += width + 10


def _draw_hand(canvas: Canvas, battle: Battle) -> None:
    for place, name in enumerate(battle.hand):
        card = CARDS[name]
        left = BATTLE[0] + place * _CARD_PITCH
        box = (left, _HAND_TOP, left + _CARD_WIDTH, _HAND_BOTTOM)
        lines = describe(card, battle.player.might, battle.player.weak > 0, battle.player.block)
        _draw_card(canvas, box, card, lines, affordable=card.cost <= battle.energy, key=str(place + 1))


def _draw_card(canvas: Canvas, box: Box, card: Card, lines: list[str], *, affordable: bool, key: str) -> None:
    left, top, right, bottom = box
    middle = (left + right) // 2
    tint = _TINTS["attack" if card.damage or card.bash else "guard" if card.block else "power"]
    canvas.panel(box, tint if affordable else LINE, 9)
    canvas.panel((left + 3, top + 44, right - 3, bottom - 3), CARD, 6)
    canvas.disc(left + 15, top + 14, 11, PAPER)
    canvas.text(left + 15, top + 14, str(card.cost), 15, INK if affordable else MUTED, bold=True, anchor="mm")
    canvas.text(right - 7, top + 14, key, 12, CARD if affordable else MUTED, anchor="rm")
    canvas.fitted(middle, top + 34, card.name, 14, right - left - 8, CARD if affordable else MUTED)
    for row, line in enumerate(lines):
        canvas.fitted(middle, top + 58 + 17 * row, line, 13, right - left - 8, INK if affordable else MUTED)
    aim = {"enemy": "one enemy", "all": "all enemies", "self": "yourself"}[card.target]
    canvas.text(middle, bottom - 14, aim, 12, MUTED, anchor="mm")


def _draw_side(canvas: Canvas, battle: Battle) -> None:
    canvas.text(_SIDE[0], 350, "Energy", 12, MUTED, anchor="lm")
    canvas.disc(609, 350, 18, drawing.GOLD if battle.energy else LINE)
    canvas.text(609, 350, f"{battle.energy}/{ENERGY}", 15, INK, bold=True, anchor="mm")
    canvas.panel(_END_TURN, drawing.TEAL, 8)
    canvas.text(*END_TURN_CENTRE, "End turn", 15, CARD, bold=True, anchor="mm")
    for row, (label, amount) in enumerate(
        (("Turn", battle.turn), ("To draw", len(battle.draw_pile)), ("Discarded", len(battle.discard)),
         ("Used up", len(battle.gone)))
    ):  # fmt: skip
        y = 419 + 16 * row
        canvas.text(_SIDE[0], y, label, 12, MUTED, anchor="lm")
        canvas.text(_SIDE[2], y, str(amount), 13, INK, bold=True, anchor="rm")


def _draw_offer(canvas: Canvas, scene: Scene) -> None:
    player = scene.battle.player
    camp = scene.phase == "camp"
    title = "Camp: sharpen a card, or rest" if camp else "Fight won: take a card, or none"
    canvas.text(_OPTION_LEFT, 56, title, 18, CARD, bold=True)
    canvas.text(BATTLE[2] - 18, 58, f"Your HP: {player.hp} / {player.max_hp}", 16, CARD, bold=True, anchor="ra")
    for place in range(_OPTIONS):
        left = _OPTION_LEFT + place * _OPTION_PITCH
        box = (left, _OPTION_TOP, left + _OPTION_WIDTH, _OPTION_BOTTOM)
        if place < len(scene.options):
            name = scene.options[place]
            shown = CARDS[f"{name}+"] if camp else CARDS[name]
            lines = _sharpening(CARDS[name], shown) if camp else describe(shown)
            _draw_card(canvas, box, shown, lines, affordable=True, key=str(place + 1))
        elif place == _OPTIONS - 1:
            canvas.panel(box, _PALE, 9)
            words = ("Rest", f"+{scene.rest} HP") if camp else ("No card", "leave them")
            canvas.text(left + _OPTION_WIDTH // 2, 168, words[0], 20, INK, bold=True, anchor="mm")
            canvas.text(left + _OPTION_WIDTH // 2, 196, words[1], 15, MUTED, anchor="mm")
            canvas.text(box[2] - 7, _OPTION_TOP + 14, str(place + 1), 12, MUTED, anchor="rm")


def _sharpening(before: Card, after: Card) -> list[str]:
    """What a card does once it is sharpened, and what it does now."""
    costs = [f"Costs {card.cost}" if before.cost != after.cost else "" for card in (after, before)]
    lines = [*describe(after), costs[0], "instead of", *describe(before), costs[1]]
    return [line for line in lines if line and line != "Used up"]


def _draw_deck(canvas: Canvas, deck: tuple[str, ...]) -> None:
    canvas.text(14, 340, f"Your deck: {len(deck)} cards.  Click what you choose, or press 1 to 4.", 15, bold=True)
    for index, (name, count) in enumerate(sorted(Counter(deck).items())):
        x, y = 14 + 206 * (index % 3), 368 + 21 * (index // 3)
        card = CARDS[name]
        canvas.text(x, y, f"{count} x {card.name}", 14, INK, bold=True)
        canvas.text(x + 112, y + 1, f"costs {card.cost}", 13, MUTED)


def _draw_end(canvas: Canvas, scene: Scene) -> None:
    headline = "The road is lit" if scene.won else "Your lamp is out"
    detail = f"HP left: {scene.battle.player.hp}." if scene.won else f"Beaten in fight {scene.fight}."
    tint = drawing.GREEN if scene.won else drawing.RED
    drawing.banner(canvas, headline, detail, tint, clear_of=BATTLE[3], board=BATTLE)
