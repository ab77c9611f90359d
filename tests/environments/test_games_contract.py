"""What every game promises, whatever its rules: the Gymnasium contract, exact return, the truth, no leak."""

import json
import os
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import environments
from environments.actions.gui import GuiAction
from environments.actions.spec import TypedActions
from environments.desktop.hands import path
from environments.errors import InvalidAction, InvalidSnapshot, MissingEngine
from environments.game import InputEvent
from environments.task import CATEGORIES, TIERS

SEEDS = {"packaged": 4}
"""How many seeds stand for a game: twenty, and fewer for the tags whose engines are slow."""


def mixed_actions(env, seed, share=0.6, limit=None):
    """Play the expert's action with probability `share`, a random one otherwise; yields each step's outcome."""
    rng = np.random.default_rng(seed)
    env.reset(seed=seed)
    env.action_space.seed(seed)
    for _ in range(limit or env.task.max_steps):
        action = env.expert_action() if rng.random() < share else env.action_space.sample()
        outcome = env.step(action)
        yield action, outcome
        if outcome[2]:
            return


@cache
def final_score(task_id, seed, share):
    """Score of a whole episode; several tests ask for the same ones."""
    try:
        env = environments.make(task_id, "semantic")
    except MissingEngine as error:
        pytest.skip(str(error))
    for _ in mixed_actions(env, seed, share):
        pass
    score = env.score()
    env.close()
    return score


def seeds_of(task):
    return min([20, *(SEEDS[tag] for tag in task.tags if tag in SEEDS)])


def events_of(gesture):
    """What the window reports for a gesture: the same as `Desktop.perform`, in a test that needs no display."""
    event = InputEvent
    match gesture:
        case {"verb": "press" | "hold", "key": key}:
            return [event("key_down", key=key), event("key_up", key=key)]
        case {"verb": "hotkey", "keys": keys}:
            down = [event("key_down", key=key) for key in keys]
            return down + [event("key_up", key=key) for key in reversed(keys)]
        case {"verb": "type", "text": text}:
            return [event(kind, key=key) for key in text for kind in ("key_down", "key_up")]
        case {"verb": "move", "x": x, "y": y}:
            return [event("motion", x=x, y=y)]
        case {"verb": "click", "x": x, "y": y, "button": button, "count": count}:
            pairs = [event(kind, button=button, x=x, y=y) for kind in ("button_down", "button_up")]
            return [event("motion", x=x, y=y), *(pairs * count)]
        case {"verb": "drag", "x": x, "y": y, "to_x": to_x, "to_y": to_y, "button": button}:
            way = [event("motion", x=px, y=py) for px, py in path((x, y), (to_x, to_y))]
            start = [event("motion", x=x, y=y), event("button_down", button=button, x=x, y=y)]
            return [*start, *way, event("button_up", button=button, x=to_x, y=to_y)]
        case {"verb": "scroll", "x": x, "y": y, "clicks": clicks}:
            notch = event("scroll", x=x, y=y, clicks=1 if clicks > 0 else -1)
            return [event("motion", x=x, y=y), *([notch] * abs(clicks))]
        case {"verb": "wait"}:
            return []
    raise AssertionError(f"not a gesture: {gesture}")


class EventDesk:
    """A desktop made of `events_of`: what it shows is what it was shown."""

    def show(self, frame):
        self.frame = frame

    def perform(self, gesture):
        return events_of(gesture.model_dump(mode="json"))

    def grab(self):
        return self.frame

    def close(self):
        pass


def test_gymnasium_checker_is_content(make_env, game_id):
    env = make_env(game_id)
    env.lazy = False
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*alternative render modes.*")
        check_env(env)


FRESH = """
import hashlib, json, sys, environments
task, seed, actions = json.load(sys.stdin)
env = environments.make(task, "semantic")
observation, _ = env.reset(seed=seed)
rows = [[hashlib.sha256(observation["frame"].tobytes()).hexdigest(), env.state_hash()]]
for action in actions:
    observation, *_ = env.step(action)
    rows.append([hashlib.sha256(observation["frame"].tobytes()).hexdigest(), env.state_hash()])
json.dump(rows, sys.stdout)
"""


def test_same_seed_and_actions_give_the_same_frames_in_a_fresh_process(make_env, game_id, digest):
    env = make_env(game_id)
    actions, rows = [], []
    for action, (observation, *_) in mixed_actions(env, seed=11, limit=40):
        actions.append(action)
        rows.append([digest(observation["frame"]), env.state_hash()])
    environment = os.environ | {"PYTHONPATH": str(Path(environments.__file__).parents[1]), "PYTHONHASHSEED": "7"}
    fresh = subprocess.run(
        [sys.executable, "-c", FRESH],
        input=json.dumps([game_id, 11, actions]),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(fresh.stdout)[1:] == rows


def test_seeds_differ(make_env, game_id, digest):
    env = make_env(game_id)
    assert len({digest(env.reset(seed=seed)[0]["frame"]) for seed in range(12)}) >= 10


def test_reset_does_not_depend_on_what_was_played_before(make_env, game_id):
    env = make_env(game_id, seed=5)
    first = env.state_hash()
    for _ in mixed_actions(env, seed=9):
        pass
    env.reset(seed=5)
    assert env.state_hash() == first


def test_restore_is_exact_from_every_tenth_step(make_env, game_id, digest):
    """Returning to a snapshot and repeating the actions gives the same frames, states, rewards and milestones."""
    env, other = make_env(game_id), make_env(game_id)
    snapshots, actions, rows = [], [], []
    env.reset(seed=4)
    for step in range(45):
        if step % 10 == 0:
            snapshots.append((step, env.snapshot()))
        actions.append(env.expert_action())
        observation, reward, over, _, info = env.step(actions[-1])
        rows.append((digest(observation["frame"]), env.state_hash(), reward, over, info, env.milestones()))
        if over:
            break
    for target in (env, other):  # the same environment, and one that was never reset
        for step, snapshot in reversed(snapshots):
            target.restore(snapshot)
            assert target.snapshot() == snapshot
            for action, row in zip(actions[step:], rows[step:], strict=True):
                observation, reward, over, _, info = target.step(action)
                again = digest(observation["frame"]), target.state_hash(), reward, over, info, target.milestones()
                assert again == row


def test_state_is_exact_in_json(make_env, game_id):
    env = make_env(game_id)
    for _ in mixed_actions(env, seed=2, limit=30):
        state = env.game.state()
        assert json.loads(json.dumps(state)) == state
        env.game.load(state)
        assert env.game.state() == state


def test_foreign_and_damaged_snapshots_are_refused(make_env, game_id):
    env = make_env(game_id, seed=0)
    snapshot = env.snapshot()
    label = snapshot.split(b"\n")[0] + b"\n"
    for wrong in (
        b"",
        b"junk",
        snapshot.replace(b"-v1", b"-v2", 1),
        label,
        label + b"[]",
        label + b"{}",
        snapshot[:-9],
    ):
        with pytest.raises(InvalidSnapshot):
            env.restore(wrong)
    env.restore(snapshot)
    assert env.snapshot() == snapshot


@pytest.mark.parametrize("share", [0.0, 0.6, 1.0])
def test_score_milestones_and_rewards_are_consistent(make_env, game_id, share):
    """Scores stay within 0..100, rewards add up to them, milestones only grow and keep their order."""
    env = make_env(game_id)
    declared = {milestone.id: milestone for milestone in env.task.milestones}
    total, seen = 0.0, frozenset()
    env.reset(seed=1)
    start = env.score()
    assert start == 0.0
    for _, (_, reward, over, truncated, _) in mixed_actions(env, seed=1, share=share):
        total += reward
        assert 0.0 <= env.score() <= 100.0 and env.score() == pytest.approx(total)
        assert seen <= env.milestones() <= declared.keys()
        seen = env.milestones()
        assert all(set(declared[name].after) <= seen for name in seen)
        assert not truncated and over == env.game.over
    if env.success():
        assert seen == declared.keys()


def test_expert_is_the_ceiling(game_id):
    """Easy and medium games are played to 90 of 100 on average; hard ones clearly better than at random."""
    task = environments.get(game_id)
    seeds = range(seeds_of(task))
    expert = sum(final_score(game_id, seed, 1.0) for seed in seeds) / len(seeds)
    if task.tier == "hard":
        assert expert >= 20 + sum(final_score(game_id, seed, 0.0) for seed in seeds) / len(seeds)
    else:
        assert expert >= 90.0


def test_tutorial_seed_is_played_well_by_the_expert(make_env, game_id):
    env = make_env(game_id)
    for _ in mixed_actions(env, env.task.tutorial_seed, share=1.0):
        pass
    assert env.success() or (env.task.tier == "hard" and env.score() >= 25.0)


def test_random_mixture_and_expert_are_in_order(game_id):
    """On the mean of the first five seeds, which quick experiments use, and of all that are tried."""
    count = seeds_of(environments.get(game_id))
    scores = {share: [final_score(game_id, seed, share) for seed in range(count)] for share in (0.0, 0.6, 1.0)}
    for seeds in {min(5, count), count}:
        floor, middle, ceiling = (sum(scores[share][:seeds]) / seeds for share in (0.0, 0.6, 1.0))
        assert floor + 10 < ceiling and floor < 50 and floor - 5 <= middle <= ceiling + 5


def test_task_is_declared_whole(game_id):
    """Category and tier of the taxonomy, both spaces, 5 to 12 milestones with different words."""
    task = environments.get(game_id)
    assert task.category in CATEGORIES and task.tier in TIERS and set(task.spaces) == {"semantic", "gui"}
    texts = {milestone.text for milestone in task.milestones}
    assert 5 <= len(texts) == len(task.milestones) <= 12


def test_only_the_picture_is_observed(make_env, game_id):
    """No truth in words: the observation is the frame, the info is the refusal, which names no position."""
    env = make_env(game_id)
    observation, info = env.reset(seed=3)
    assert set(observation) == {"frame"} and info == {"illegal": None}
    refusals = set()
    for _, (observation, _, _, _, info) in mixed_actions(env, seed=3, share=0.3):
        assert set(observation) == {"frame"} and set(info) == {"illegal"}
        refusals.add(info["illegal"])
    assert all(reason is None or not any(letter.isdigit() for letter in reason) for reason in refusals)


def test_picture_does_not_depend_on_the_dice(make_env, game_id):
    """The same board with another generator looks the same: the future is not in the frame."""
    env = make_env(game_id, seed=3)
    before = env.render()
    env.game.rng = np.random.default_rng(999)
    assert np.array_equal(env.render(), before)


def test_schema_refusal_changes_nothing(make_env, game_id):
    env = make_env(game_id, seed=3)
    before, moment = env.snapshot(), env.moment
    for junk in ({}, {"turn": "north"}, {"move": "up", "also": 1}, "up", None, [1, 2], {"move": ["up"]}):
        with pytest.raises(InvalidAction):
            env.step(junk)
    assert env.snapshot() == before and env.moment == moment


def test_steps_after_the_end_change_nothing(make_env, game_id):
    env = make_env(game_id)
    actions = [action for action, _ in mixed_actions(env, seed=0, share=1.0)]
    before = env.state_hash()
    _, reward, over, _, info = env.step(actions[-1])
    assert over and reward == 0.0 and info == {"illegal": None} and env.state_hash() == before
    assert env.action_space.contains(env.expert_action()), "asked once too often, the expert still answers"


def test_step_before_reset_says_what_to_do(make_env, game_id):
    env = make_env(game_id)
    with pytest.raises(gymnasium.error.ResetNeeded, match="reset"):
        env.step(env.action_space.sample())


def test_gestures_do_what_semantic_actions_do(make_env, game_id):
    """What the window reports of the gestures leads to the same states, refusals and rewards."""
    semantic, twin = make_env(game_id), make_env(game_id, "gui", seed=6)
    twin._desktop = EventDesk()
    for action, (_, reward, _, _, info) in mixed_actions(semantic, seed=6, share=0.5, limit=150):
        refusals, rewards = [], 0.0
        for gesture in twin.game.gestures(action):
            _, part, _, _, twin_info = twin.step(gesture)
            refusals.append(twin_info["illegal"])
            rewards += part
        assert next((reason for reason in refusals if reason), None) == info["illegal"]
        assert twin.state_hash() == semantic.state_hash() and rewards == pytest.approx(reward)


def test_gestures_of_the_expert_are_in_the_vocabulary(make_env, game_id):
    env, gestures = make_env(game_id), TypedActions(GuiAction)
    for action, _ in mixed_actions(env, seed=2, share=0.7, limit=60):
        assert all(gestures.contains(gesture) for gesture in env.game.gestures(action))


def test_meaningless_input_is_ignored(make_env, game_id):
    env = make_env(game_id, seed=6)
    before = env.state_hash()
    for event in (
        InputEvent("key_down", key="f12"),
        InputEvent("key_down", key="U+1F40D"),
        InputEvent("key_up", key="up"),
        InputEvent("button_up", button="middle", x=320, y=240),
        InputEvent("motion", x=639, y=479),
    ):
        assert env.game.on_input(event) is None
    env.game.release()
    assert env.state_hash() == before


def test_frames_are_pictures_of_the_declared_kind(make_env, game_id):
    env = make_env(game_id, seed=0)
    frame = env.render()
    assert frame.shape == (480, 640, 3) and frame.dtype == np.uint8 and frame in env.observation_space["frame"]
    assert len(np.unique(frame.reshape(-1, 3), axis=0)) > 20
    frame[:] = 0  # the caller's own array: writing on it leaves the game's pictures alone
    assert env.render().any()


def test_end_of_the_game_is_shown(make_env, game_id):
    env = make_env(game_id, seed=0)
    for _ in mixed_actions(env, seed=0, share=1.0):
        pass
    if not env.success():
        pytest.skip("the expert does not win this seed")
    green = np.all(env.render() == (45, 134, 64), axis=-1)
    assert green.sum() > 10_000
