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
from environments.errors import InvalidAction, InvalidSnapshot
from environments.game import InputEvent


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
    env = environments.make(task_id, "semantic")
    for _ in mixed_actions(env, seed, share):
        pass
    return env.score()


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
    """Over 20 seeds the scripted expert scores 95 on average at the least, and never under 90."""
    scores = [final_score(game_id, seed, 1.0) for seed in range(20)]
    assert sum(scores) / len(scores) >= 95.0 and min(scores) >= 90.0


def test_tutorial_seed_is_won_by_the_expert(make_env, game_id):
    env = make_env(game_id)
    for _ in mixed_actions(env, env.task.tutorial_seed, share=1.0):
        pass
    assert env.success()


def test_random_mixture_and_expert_are_in_order(game_id):
    """On the mean of the first five seeds, which quick experiments use, and of twenty."""
    scores = {share: [final_score(game_id, seed, share) for seed in range(20)] for share in (0.0, 0.6, 1.0)}
    for seeds in (5, 20):
        floor, middle, ceiling = (sum(scores[share][:seeds]) / seeds for share in (0.0, 0.6, 1.0))
        assert floor + 10 < middle < ceiling and floor < 50


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


def test_arrow_keys_do_what_semantic_actions_do(make_env, game_id):
    """Key events, as the window reports them, lead to the same states and refusals."""
    semantic, keyed = make_env(game_id), make_env(game_id, seed=6)
    for action, (_, _, _, _, info) in mixed_actions(semantic, seed=6, share=0.5):
        refusals = []
        for gesture in keyed.game.gestures(action):
            if gesture["verb"] == "press":
                events = [InputEvent("key_down", key=gesture["key"]), InputEvent("key_up", key=gesture["key"])]
                refusals += [keyed.game.on_input(event) for event in events]
        keyed.game.tick()
        assert next((reason for reason in refusals if reason), None) == info["illegal"]
        assert keyed.game.state() == semantic.game.state()


def test_meaningless_input_is_ignored(make_env, game_id):
    env = make_env(game_id, seed=6)
    before = env.state_hash()
    for event in (
        InputEvent("key_down", key="q"),
        InputEvent("key_down", key="U+1F40D"),
        InputEvent("key_up", key="up"),
        InputEvent("button_down", button="left", x=320, y=240),
        InputEvent("motion", x=639, y=479),
        InputEvent("scroll", clicks=-3),
    ):
        assert env.game.on_input(event) is None
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
    green = np.all(env.render() == (45, 134, 64), axis=-1)
    assert green.sum() > 20_000
