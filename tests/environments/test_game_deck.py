"""Lamplighter: cards, statuses, enemies, offers and camps, what is refused, and how hard it is."""

import json
from itertools import pairwise

import numpy as np
import pytest

import environments
from environments.actions.spec import TypedActions
from environments.errors import InvalidAction
from environments.game import InputEvent
from environments.games import deck_view as view
from environments.games.deck import FIGHTS, OPTIONS, DeckAction, Lamplighter
from environments.games.deck_battle import HAND_LIMIT, MAX_HP, PLAYER, Battle, Fighter, hit
from environments.games.deck_cards import CARDS, REWARDS, STARTERS, describe
from environments.games.deck_enemies import KINDS, ROAD
from environments.games.deck_expert import best_camp, best_card, best_play

ACTIONS = TypedActions(DeckAction)


def fight(*hand, enemies=("rat",), hp=30, **player):
    """A fight with a given hand; every enemy has 30 HP and does its first move."""
    foes = [Fighter(kind, 30, 30) for kind in enemies]
    battle = Battle(Fighter(PLAYER, hp, MAX_HP, **player), foes, [], lambda cards: None)
    battle.hand = list(hand)
    return battle


def game(seed=0):
    run = Lamplighter()
    run.reset(np.random.default_rng(seed))
    return run


def act(run, **action):
    refusal = run.apply(ACTIONS.load(action))
    run.tick()
    return refusal


def to_offer(run):
    """Fell all enemies at once, by the rules: the last of them with a card."""
    for enemy in run.battle.enemies:
        enemy.hp = 1
    while run.phase == "fight":
        run.battle.hand, run.battle.energy = ["jab"], 3
        act(run, do="play", card=1, target=("left", "right")[run.battle.living[0]])


def test_might_adds_weak_takes_a_quarter_exposed_adds_a_half():
    plain, strong, weak = (Fighter(PLAYER, 9, 9, **extra) for extra in ({}, {"might": 3}, {"weak": 1}))
    target, exposed = Fighter("rat", 9, 9), Fighter("rat", 9, 9, exposed=1)
    assert [hit(who, 6, target) for who in (plain, strong, weak)] == [6, 9, 4]
    assert [hit(who, 6, exposed) for who in (plain, strong, weak)] == [9, 13, 6]


def test_block_goes_before_hp_and_is_gone_next_turn():
    battle = fight("guard", "guard")  # the rat bites for 8
    battle.play(0, None)
    battle.play(0, None)
    assert battle.player.block == 10
    battle.enemies_act()
    assert (battle.player.hp, battle.player.block) == (30, 2)
    battle.next_turn()
    assert battle.player.block == 0 and battle.energy == 3


def test_cards_do_what_they_say():
    battle = fight("sweep", "hex", "kindle", enemies=("rat", "moth"))
    battle.play(0, None)
    battle.play(0, 1)
    battle.play(0, 0)
    assert [enemy.hp for enemy in battle.enemies] == [23, 23] and battle.energy == 0
    assert (battle.enemies[1].weak, battle.enemies[1].exposed, battle.enemies[0].burn) == (2, 1, 5)
    battle = fight("drain", "bash", block=9)
    battle.play(1, 0)
    battle.play(0, 0)
    assert battle.enemies[0].hp == 12 and battle.player.hp == 34


def test_burn_hurts_through_block_before_the_enemy_acts_and_cools():
    battle = fight()
    battle.enemies[0].burn, battle.enemies[0].block = 5, 20
    battle.enemies_act()
    assert (battle.enemies[0].hp, battle.enemies[0].burn, battle.player.hp) == (25, 4, 22)
    battle.enemies[0].hp = 4
    battle.enemies_act()
    assert battle.enemies[0].hp == 0 and battle.player.hp == 22, "who falls by burn does nothing any more"


def test_a_status_from_an_enemy_lasts_as_many_of_the_players_turns_as_it_says():
    battle = fight(enemies=("witch",))  # its curse: weak 2
    turns = []
    for _ in range(3):
        battle.enemies_act()
        battle.enemies[0].intent = 1
        turns.append(battle.player.weak)
    assert turns == [2, 1, 0]


def test_a_card_once_a_fight_is_used_up_and_others_come_back():
    battle = fight("focus", "jab")
    battle.play(0, None)
    battle.play(0, None)
    assert battle.gone == ["focus"] and battle.discard == ["jab"] and battle.enemies[0].hp == 22
    battle.draw(5)
    assert battle.hand == ["jab"] and battle.discard == []


def test_a_full_hand_takes_no_more_cards():
    battle = fight("breath", *["jab"] * 5)
    battle.draw_pile = ["guard"] * 4
    battle.play(0, None)
    assert len(battle.hand) == HAND_LIMIT and len(battle.draw_pile) == 3


@pytest.mark.parametrize(
    ("place", "target", "energy", "reason"),
    [(4, 0, 3, "no card"), (0, 0, 1, "not enough energy"), (1, None, 3, "needs a target"), (1, 1, 3, "no enemy")],
)
def test_what_cannot_be_played_is_refused_and_changes_nothing(place, target, energy, reason):
    battle = fight("flare", "jab", enemies=("rat", "moth", "rat"))
    battle.enemies[1].hp, battle.energy = 0, energy
    before = battle.state()
    assert reason in battle.play(place, target)
    assert battle.state() == before


def test_the_picture_says_what_the_last_action_did_or_why_it_was_refused():
    run = game()
    run.battle = fight("jab", "guard", enemies=("rat",), hp=30)
    act(run, do="play", card=1, target="left")
    assert run.said == "Jab: Marsh Rat -6 HP." and not run.refused
    said = run.draw()
    act(run, do="play", card=6)
    assert run.refused and "no card" in run.said and not np.array_equal(run.draw(), said)
    act(run, do="end_turn")
    assert run.said == "Marsh Rat (Bite): you -8 HP." and not run.refused


def test_a_card_shows_the_damage_that_it_does_now():
    """Might, weak and block of the player are in the figure, and the figure is what an enemy loses."""
    for name in ("jab", "lunge", "bash"):
        battle = fight(name, might=3, weak=1, block=7)
        shown = describe(CARDS[name], 3, True, 7)[0]
        battle.play(0, None)
        assert shown == f"Deal {30 - battle.enemies[0].hp}"


def test_every_card_and_move_has_words_and_every_kind_a_figure():
    for name, card in CARDS.items():
        lines = describe(card)
        assert lines and len(lines) <= 4 and all(len(line) <= 13 for line in lines), name
    run = game()
    for kind, entry in KINDS.items():
        for intent in range(len(entry.moves)):
            run.battle.enemies = [Fighter(kind, 10, 20, intent=intent, block=3)] * 2
            assert run.draw().shape == (480, 640, 3)
    assert {kind for groups in ROAD for group in groups for kind in group} == set(KINDS)
    assert not set(REWARDS) & set(STARTERS)


def test_enemies_never_show_the_same_move_twice_running_and_bosses_keep_their_order():
    rng = np.random.default_rng(0)
    for kind in ("rat", "moth", "warden"):
        battle, shown = fight(enemies=(kind,)), []
        for _ in range(30):
            battle.choose_moves(rng)
            shown.append(battle.enemies[0].intent)
        assert all(a != b for a, b in pairwise(shown))
        assert kind != "warden" or shown[:5] == [1, 2, 3, 0, 1]


def test_a_won_fight_offers_three_cards_or_none():
    run = game()
    to_offer(run)
    assert run.phase == "reward" and len(set(run.options)) == 3 and run.score() == 10.0
    offered = run.options[1]
    assert "fight now" in act(run, do="end_turn") and "fight now" in act(run, do="play", card=1)
    assert act(run, do="choose", option=2) is None
    assert run.deck == [*STARTERS, offered] and run.phase == "fight"
    to_offer(run)
    assert act(run, do="choose", option=OPTIONS) is None and len(run.deck) == 10
    assert run.phase == "camp"


def test_a_camp_sharpens_one_card_or_gives_hp():
    run = game(1)
    for _ in range(2):
        to_offer(run)
        act(run, do="choose", option=OPTIONS)
    twin = game(1)
    twin.load(run.state())
    twin.rng = np.random.default_rng(0)
    name = run.options[0]
    act(run, do="choose", option=1)
    assert run.deck.count(f"{name}+") == 1 and len(run.deck) == len(STARTERS)
    twin.battle.player.hp = 20
    act(twin, do="choose", option=OPTIONS)
    assert twin.battle.player.hp == 40 and twin.deck == list(STARTERS)


def test_the_run_is_won_with_the_boss_and_lost_without_hp():
    run = game(2)
    for number in range(FIGHTS):
        assert run.fight == number and not run.over
        to_offer(run)
        while run.phase in ("reward", "camp"):
            act(run, do="choose", option=OPTIONS)
    assert run.won and run.over and run.score() == pytest.approx(92 + 8 * run.battle.player.hp / MAX_HP)
    run = game(2)
    while not run.over:
        act(run, do="end_turn")
    assert not run.won and run.battle.player.hp == 0 and run.score() == 0.0


def test_the_expert_leaves_the_dice_and_the_fight_alone():
    run = game(5)
    for _ in range(12):
        before, dice = json.dumps(run.state()), str(run.rng.bit_generator.state)
        action = run.expert()
        assert json.dumps(run.state()) == before and str(run.rng.bit_generator.state) == dice
        act(run, **action)


def test_the_expert_kills_when_it_can_and_blocks_when_it_must():
    battle = fight("jab", "guard", "focus")
    battle.enemies[0].hp, battle.energy = 6, 1
    assert battle.hand[best_play(battle).card] == "jab"
    battle = fight("jab", "guard", hp=8)
    battle.energy = 1
    assert battle.hand[best_play(battle).card] == "guard", "the bite would be the end"
    assert best_play(fight()) is None


def test_the_expert_takes_what_helps():
    assert best_card(["sweep", "focus", "breath"], STARTERS) == 1
    assert best_card(["sweep", "bash", "breath"], [*STARTERS, "sweep", "bash", "breath"]) is None
    assert best_camp(["jab", "focus"], 20, 60) is None and best_camp(["jab", "focus"], 60, 60) == 1


def test_a_good_player_mostly_wins_and_a_random_one_gets_nowhere():
    def final(seed, share):
        run, rng = game(seed), np.random.default_rng(seed)
        ACTIONS.seed(seed)
        for _ in range(environments.get("games/deck-v1").max_steps):
            act(run, **(run.expert() if rng.random() < share else ACTIONS.sample()))
            if run.over:
                break
        return run

    experts = [final(seed, 1.0) for seed in range(200, 206)]
    assert sum(run.won for run in experts) >= 4
    assert np.mean([final(seed, 0.0).score() for seed in range(200, 210)]) < 25


def test_clicks_and_drags_mean_what_the_semantic_actions_mean(make_env):
    """A drag to an enemy, a drag to oneself, a click on the card, a key: all play the card."""
    semantic, gui = make_env("games/deck-v1", seed=3), Lamplighter()
    semantic.step({"do": "play", "card": 2, "target": None})
    for events in (
        [("button_down", view.hand_centre(1)), ("button_up", view.target_centre(None))],
        [("button_down", view.hand_centre(1)), ("button_up", view.hand_centre(1))],
        [("key_down", "2")],
    ):
        gui.reset(np.random.default_rng(0))
        fresh = environments.make("games/deck-v1", "semantic")
        fresh.reset(seed=3)
        gui.load(fresh.game.state())
        gui.rng = fresh.game.rng
        for kind, where in events:
            if kind == "key_down":
                gui.on_input(InputEvent(kind, key=where))
            else:
                gui.on_input(InputEvent(kind, button="left", x=where[0], y=where[1]))
        gui.tick()
        gui.release()
        assert gui.state() == semantic.game.state()


def test_a_card_dropped_back_and_a_right_click_do_nothing():
    run = game(3)
    before = run.state()
    x, y = view.hand_centre(0)
    run.on_input(InputEvent("button_down", button="left", x=x, y=y))
    assert run.on_input(InputEvent("button_up", button="left", x=600, y=20)) is None
    run.release()
    for kind in ("button_down", "button_up"):
        assert run.on_input(InputEvent(kind, button="right", x=x, y=y)) is None
    assert run.state() == before


def test_a_double_click_plays_one_card():
    run = game(3)
    x, y = view.END_TURN_CENTRE
    for kind in ("button_down", "button_up") * 2:
        run.on_input(InputEvent(kind, button="left", x=x, y=y))
    assert run.battle.turn == 2


def test_places_on_the_picture_are_apart():
    """No pixel means two things, and every centre lies in its own place."""
    assert [view.hand_place(*view.hand_centre(place)) for place in range(HAND_LIMIT)] == list(range(HAND_LIMIT))
    assert [view.option_place(*view.option_centre(place)) for place in range(OPTIONS)] == list(range(OPTIONS))
    assert [view.enemy_place(*view.target_centre(target)) for target in (None, 0, 1)] == [None, 0, 1]
    for x in range(0, 640, 3):
        for y in range(0, 480, 3):
            meanings = [view.hand_place(x, y) is not None, view.in_battle(x, y), view.on_end_turn(x, y)]
            assert sum(meanings) <= 1


def test_hostile_actions_and_bad_parameters_are_refused(make_env):
    env = make_env("games/deck-v1", seed=0)
    for junk in (
        {"do": "play", "card": 7},
        {"do": "play", "card": 0, "target": "left"},
        {"do": "play", "card": 1, "target": 0},
        {"do": "choose", "option": 5},
        {"do": "choose"},
        {"do": "cheat", "card": 0},
        {"do": "end_turn", "twice": True},
    ):
        with pytest.raises(InvalidAction):
            env.step(junk)
    for hp in (0, MAX_HP + 1):
        with pytest.raises(ValueError, match="hp"):
            Lamplighter(hp=hp)
