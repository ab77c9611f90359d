"""The LeRobot adapter against LeRobot itself: a small ACT policy with random weights. Needs the extra `lerobot`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import agents
from agents.errors import UnusableAnswer
from agents.policies.lerobot import IMAGE, STATE, WRIST, channels_first
from agents.policies.sight import turn
from environments import ActionSpace
from tests.fakes.policy_world import TASK, ArmWorld, brief

torch = pytest.importorskip("torch", reason="the extra `lerobot` is not installed")
pytest.importorskip("lerobot", reason="the extra `lerobot` is not installed")


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights and processors of a policy that gives chunks of 10 and executes 4."""
    from lerobot.configs.types import FeatureType, PolicyFeature
    from lerobot.policies.act.configuration_act import ACTConfig
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    folder = tmp_path_factory.mktemp("act")
    torch.manual_seed(0)
    cameras = {name: PolicyFeature(type=FeatureType.VISUAL, shape=(3, 64, 64)) for name in (IMAGE, WRIST)}
    config = ACTConfig(
        input_features={**cameras, STATE: PolicyFeature(type=FeatureType.STATE, shape=(8,))},
        output_features={"action": PolicyFeature(type=FeatureType.ACTION, shape=(7,))},
        chunk_size=10, n_action_steps=4, pretrained_backbone_weights=None, dim_model=32, dim_feedforward=32, n_heads=2,
        n_encoder_layers=1, n_vae_encoder_layers=1, device="cpu",
    )  # fmt: skip
    statistics: dict[str, Any] = {STATE: {"mean": torch.zeros(8), "std": torch.ones(8)}}
    statistics["action"] = {"mean": torch.zeros(7), "std": torch.full((7,), 0.1)}
    statistics |= {name: {"mean": torch.zeros(3, 1, 1), "std": torch.ones(3, 1, 1)} for name in cameras}
    before, after = make_pre_post_processors(config, dataset_stats=statistics)
    for part in (get_policy_class("act")(config), before, after):
        part.save_pretrained(folder)
    return folder


def test_it_plays_what_lerobots_own_loop_would(checkpoint: Path) -> None:
    """First actions equal `select_action`, by LeRobot's own pipeline; `n_action_steps` of a chunk are executed."""
    from lerobot.policies.factory import get_policy_class, make_pre_post_processors

    world = ArmWorld(TASK, ActionSpace.NATIVE)
    agent = agents.create("policy", {"protocol": "lerobot", "model": str(checkpoint), "device": "cpu", "tolerance": 9})
    agent.reset(brief(world))
    observation, _ = world.reset(seed=1)
    seen = {key: observation[key] for key in ("agentview", "wrist", "state")}
    decisions = []
    for _ in range(9):
        decisions.append(agent.act(observation))
        observation, *_ = world.step(decisions[-1].action)
    assert [decision.notes["chunk"] for decision in decisions] == [0] * 4 + [1] * 4 + [2]

    policy = get_policy_class("act").from_pretrained(str(checkpoint))
    before, after = make_pre_post_processors(policy.config, pretrained_path=str(checkpoint))
    policy.reset()
    pictures = {IMAGE: seen["agentview"], WRIST: seen["wrist"]}
    batch: dict[str, Any] = {
        name: torch.from_numpy(channels_first(turn(picture, "mirror"))) for name, picture in pictures.items()
    }
    batch |= {STATE: torch.from_numpy(seen["state"])[None], "task": [TASK.goal]}
    with torch.inference_mode():
        own = after(policy.select_action(before(batch))).numpy()[0]
    assert np.allclose(np.clip(own, -1, 1), decisions[0].action, atol=1e-5)


def test_a_checkpoint_that_is_none_is_told(tmp_path: Path) -> None:
    world = ArmWorld(TASK, ActionSpace.NATIVE)
    agent = agents.create("policy", {"protocol": "lerobot", "model": str(tmp_path)})
    agent.reset(brief(world))
    with pytest.raises(UnusableAnswer, match="lerobot cannot load `model`"):
        agent.act(world.reset(seed=1)[0])
