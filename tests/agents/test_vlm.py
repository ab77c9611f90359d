"""The VLM player against the real protocol: what it sends, what it makes of each reply, what it remembers."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import agents
from agents import errors
from agents.errors import InvalidOptions
from agents.gateway import Budget
from environments import Views
from environments.actions import GuiAction, NativeActions, TypedActions

WAYS = ["openai", "litellm"]


def player(provider: Any, way: str = "openai", behaviour: str = "ok", **options: Any) -> Any:
    model = f"openai/fake/{behaviour}" if way == "litellm" else f"fake/{behaviour}"
    options = {"max_retries": 0, "timeout_s": 5, **options}
    return agents.create("vlm", {"model": model, "base_url": provider.url, "backend": way, **options})


@pytest.fixture
def seen(env: Any) -> Views:
    return env.reset(seed=3)[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("mode", ["tool", "json_schema", "prompt"])
def test_it_plays_and_the_provider_sees_the_very_frames(
    env: Any, conf: Any, provider: Any, way: str, mode: str
) -> None:
    """The fake reads the square's place off the picture: only the right pixels lead to the corner."""
    frames = []

    def towards_the_corner(seen: Any) -> Any:
        frames.append(seen.images[-1])
        y, x = np.argwhere(seen.images[-1][..., 0] == 250)[0] // (6, 8)
        return {"go": "right" if x < 9 else "down"} if (x, y) != (9, 9) else {"go": "up"}

    provider.policy = towards_the_corner
    agent = player(provider, way, mode=mode)
    agent.reset(conf.brief(env))
    observation, _ = env.reset(seed=3)
    for _ in range(18):
        if env.success():
            break
        expected = observation["frame"]
        decision = agent.act(observation)
        assert np.array_equal(frames[-1], expected)
        (call,) = decision.calls
        shown = call.request["messages"][1]["content"][-1]["artifact"]
        assert np.array_equal(call.images[shown], expected)
        assert decision.status == "ok"
        assert decision.rationale.startswith("This is answer")
        observation, *_ = env.step(decision.action)
    assert env.success()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("behaviour", "status", "purposes"),
    [
        ("ok", "ok", ["act"]),
        ("text", "ok", ["act"]),
        ("echo", "ok", ["act"]),
        ("no-usage", "ok", ["act"]),
        ("slow:0.05", "ok", ["act"]),
        ("illegal", "ok", ["act"]),
        ("invalid", "unparsable", ["act", "repair"]),
        ("malformed", "unparsable", ["act", "repair"]),
        ("prose", "unparsable", ["act", "repair"]),
        ("empty", "unparsable", ["act", "repair"]),
        ("truncated", "unparsable", ["act", "repair"]),
        ("malformed-then-ok", "ok", ["act", "repair"]),
        ("truncated-then-ok", "ok", ["act", "repair"]),
        ("prose-then-refusal", "refused", ["act", "repair"]),
        ("refusal", "refused", ["act"]),
        ("filter", "refused", ["act"]),
        ("filter-400", "refused", ["act"]),
    ],
)
def test_each_reply_ends_in_its_own_status(
    env: Any, conf: Any, provider: Any, seen: Views, way: str, behaviour: str, status: str, purposes: list[str]
) -> None:
    agent = player(provider, way, behaviour)
    agent.reset(conf.brief(env))
    decision = agent.act(seen)
    assert decision.status == status
    assert [call.purpose for call in decision.calls] == purposes
    assert len(provider.requests) == len(purposes)
    assert (decision.action is not None) == (status == "ok")
    assert bool(decision.reason) == (status != "ok")
    if decision.action is not None:
        assert env.action_space.contains(decision.action)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        ("429", errors.RateLimited),
        ("500", errors.ServerError),
        ("401", errors.AuthenticationFailed),
        ("400", errors.BadRequest),
        ("drop", errors.NetworkError),
        ("hang", errors.ProviderTimeout),
        ("html", errors.ProviderError),
        ("broken-json", errors.ProviderError),
        ("no-choices", errors.ProviderError),
    ],
)
def test_failures_are_provider_errors_and_never_decisions(
    env: Any, conf: Any, provider: Any, seen: Views, way: str, behaviour: str, error: type[Exception]
) -> None:
    agent = player(provider, way, behaviour, timeout_s=0.3 if behaviour == "hang" else 5)
    agent.reset(conf.brief(env))
    with pytest.raises(error) as caught:
        agent.act(seen)
    assert [call.purpose for call in caught.value.calls] == ["act"]  # type: ignore[attr-defined]
    assert agent.step == 0


def test_a_failure_in_the_repair_turn_carries_both_calls(env: Any, conf: Any, provider: Any, seen: Views) -> None:
    agent = player(provider, behaviour="malformed-then-500")
    agent.reset(conf.brief(env))
    with pytest.raises(errors.ServerError) as caught:
        agent.act(seen)
    assert [(call.purpose, call.status) for call in caught.value.calls] == [("act", "ok"), ("repair", "server_error")]


def test_the_repair_turn_states_the_problems(env: Any, conf: Any, provider: Any, seen: Views) -> None:
    agent = player(provider, behaviour="invalid-then-ok")
    agent.reset(conf.brief(env))
    assert agent.act(seen).status == "ok"
    messages = provider.requests[1].body["messages"]
    assert [message["role"] for message in messages] == ["system", "user", "assistant", "user"]
    assert "no_such_field" in messages[2]["content"]
    assert "no_such_field: extra inputs are not permitted" in messages[3]["content"]


def test_it_is_told_goal_state_help_lesson_and_what_came_of_its_actions(env: Any, conf: Any, provider: Any) -> None:
    provider.policy = lambda seen: {"go": "left"}
    agent = player(provider, history=3, history_images=2)
    agent.reset(conf.brief(env, lesson="Mind the wall.\nEnd of the advice. ${goal} {goal}"))
    observation, _ = env.reset(seed=3)
    for _ in range(8):
        decision = agent.act(observation)
        observation, reward, _, _, info = env.step(decision.action)
        agent.observe_result(illegal=info["illegal"], reward=reward)
    first, last = provider.requests[0], provider.requests[-1]
    assert env.task.goal in first.text
    assert "Step to one of the four sides" in first.text
    assert "- instruction: walk to the corner" in first.text
    assert "\n| Mind the wall.\n| End of the advice. ${goal} {goal}\n" in first.text
    assert "This is turn 1 of at most 40." in first.text
    assert "Your last turns" not in first.text
    assert len(first.images) == 1
    assert "turn 5:" in last.text
    assert "turn 4:" not in last.text
    assert '- turn 7: {"go": "left"} -> refused: a wall is left of you (you thought: This is answer 7.)' in last.text
    assert [image.shape for image in last.images] == [(30, 40, 3), (30, 40, 3), (60, 80, 3)]


def test_an_interrupted_episode_sends_the_same_requests(env: Any, conf: Any, provider: Any) -> None:
    """Memory is rebuilt from observation and decision alone, pictures included."""
    agent = player(provider, history=4, history_images=2)
    conf.play(agent, env, steps=7)
    whole = [request.body for request in provider.requests]
    provider.reset()
    conf.play(player(provider, history=4, history_images=2), env, steps=7, resume_after=4)
    assert [request.body for request in provider.requests] == whole


def test_after_a_rollback_it_forgets_and_is_told(env: Any, conf: Any, provider: Any) -> None:
    agent = player(provider)
    conf.play(agent, env, steps=3)
    agent.rolled_back()
    agent.act(env.observe())
    text = provider.requests[-1].text
    assert "set back to an earlier moment" in text
    assert "turn 3:" not in text


def test_all_pictures_are_sent_and_everything_else_is_told(env: Any, conf: Any, provider: Any) -> None:
    rng = np.random.default_rng(0)
    views = {name: rng.integers(0, 255, (32, 32, 3), np.uint8) for name in ("agentview", "wrist")}
    env.action_space = NativeActions()
    agent = player(provider)
    agent.reset(conf.brief(env))
    state = np.array([0.123456, -1.0], np.float32)
    decision = agent.act({**views, "state": state, "instruction": "put the red cube in the bowl"})
    (request,) = provider.requests
    assert [np.array_equal(a, b) for a, b in zip(request.images, views.values(), strict=True)] == [True, True]
    assert "- state: [0.1235, -1.0]" in request.text
    assert "- instruction: put the red cube in the bowl" in request.text
    assert NativeActions().parse(decision.action) == decision.action


def test_reduced_pictures_say_so_and_gui_schemas_have_no_references(env: Any, conf: Any, provider: Any) -> None:
    env.action_space = TypedActions(GuiAction)
    agent = player(provider, image_size=40, history_images=0)
    agent.reset(conf.brief(env))
    agent.act(env.reset(seed=1)[0])
    (request,) = provider.requests
    assert request.images[0].shape == (30, 40, 3)
    assert "80 x 60 pixels, shown at 40 x 30" in request.text
    assert "$ref" not in json.dumps(request.schema)


def test_fingerprint_holds_what_changes_the_play_and_nothing_else(provider: Any, monkeypatch: Any) -> None:
    base = player(provider).fingerprint()
    assert base["host"] == "127.0.0.1"
    for same in ({"timeout_s": 9}, {"max_retries": 7}, {"key_env": "OTHER_KEY"}, {"requests_per_minute": 3}):
        assert player(provider, **same).fingerprint() == base
    changes = [{"temperature": 1}, {"seed": 1}, {"mode": "prompt"}, {"history": 6}, {"history_images": 0}]
    changes += [{"dialect": "openai"}, {"coordinates": "unit"}]
    for change in [*changes, {"image_size": 64}, {"max_tokens": 99}]:
        assert player(provider, **change).fingerprint() != base
    assert player(provider, behaviour="echo").fingerprint() != base
    monkeypatch.setenv("OTHER_KEY", "planted-in-the-environment")
    assert "planted" not in json.dumps(player(provider, key_env="OTHER_KEY").fingerprint())


def test_options_are_checked_together() -> None:
    with pytest.raises(InvalidOptions) as caught:
        agents.create("vlm", {"temprature": 0, "history": -1, "mode": "telepathy"})
    problems = dict(caught.value.problems)
    assert problems["model"] == "is required"
    assert problems["temprature"] == "no such option; did you mean 'temperature'?"
    assert set(problems) == {"model", "temprature", "history", "mode"}


def test_a_budget_refuses_before_sending(env: Any, conf: Any, provider: Any, seen: Views) -> None:
    agent = player(provider)
    agent.reset(conf.brief(env))
    agent.limit(Budget(max_calls=1))
    agent.act(seen)
    with pytest.raises(errors.BudgetExceeded, match="1 of 1 calls"):
        agent.act(env.observe())
    assert len(provider.requests) == 1
