"""Players are made by name; every fault of a name, an option or a class is said at once."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pydantic import BaseModel

import agents
from agents.agent import Agent, Decision
from agents.errors import InvalidOptions, UnknownAgent


def test_built_in_agents_are_there() -> None:
    assert {"random", "scripted", "calibrated"} <= set(agents.names())
    about = {item["name"]: item for item in agents.describe()}
    assert about["calibrated"]["instrument"].startswith("test weight: ")
    assert not about["random"]["privileged"]
    defaults = {option["name"]: option["default"] for option in about["calibrated"]["options"]}
    assert defaults == {"p": 0.6, "gain": 0.3, "gains": None}


@pytest.mark.parametrize(
    ("wrong", "hint"), [("randm", "'random'"), ("calibrate", "'calibrated'"), ("zzzz", "there are calibrated, ")]
)
def test_a_wrong_name_is_refused_with_the_nearest(wrong: str, hint: str) -> None:
    with pytest.raises(UnknownAgent, match=hint):
        agents.create(wrong)


def test_all_faults_of_the_options_come_at_once() -> None:
    with pytest.raises(InvalidOptions) as caught:
        agents.create("calibrated", {"p": 2, "gian": 0.1, "gain": "much"})
    assert caught.value.agent == "calibrated"
    problems = dict(caught.value.problems)
    assert problems["gian"] == "no such option; did you mean 'gain'?"
    assert "(got 2)" in problems["p"]
    assert "number" in problems["gain"]


def test_probability_and_gain_must_not_exceed_one() -> None:
    with pytest.raises(InvalidOptions, match=r"p \+ gain must be at most 1"):
        agents.create("calibrated", {"p": 0.9, "gain": 0.2})
    agents.create("calibrated", {"p": 0.7, "gain": 0.3})


def test_values_of_unknown_options_are_not_repeated() -> None:
    """Somebody will write `api_key: sk-...` here; the message must not carry it into a log."""
    with pytest.raises(InvalidOptions) as caught:
        agents.create("random", {"api_key": "sk-planted-secret"})
    assert "planted" not in str(caught.value)


def test_registration_lists_everything_that_is_wrong() -> None:
    class Loose(BaseModel):
        x: int = 0

    class Bad(Agent):
        name = "Bad Name"
        privileged = True
        Options = Loose

    with pytest.raises(TypeError) as caught:
        agents.register(Bad)
    for part in ("decide", "'Bad Name'", "docstring", "instrument", "forbid"):
        assert part in str(caught.value)
    with pytest.raises(TypeError, match=r"does not inherit from agents\.Agent"):
        agents.register(int)  # type: ignore[type-var]


def test_third_party_agents_register_and_names_are_not_taken_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agents.registry._agents", dict(agents.registry._agents))

    @agents.register
    class Still(Agent):
        """Does nothing."""

        name = "still"

        def decide(self, observation: object) -> Decision:
            return Decision(action=None, status="refused", reason="it does nothing")

    assert type(agents.create("still")) is Still
    assert agents.create("still").fingerprint() == {"agent": "still", "version": 1, "options": {}}

    class Other(Still):
        """Another of that name."""

    with pytest.raises(ValueError, match="'still' is taken by"):
        agents.register(Other)


def test_importing_agents_imports_no_provider_library() -> None:
    code = (
        "import sys, agents\n"
        "bad = {'litellm', 'openai', 'httpx', 'requests'} & set(sys.modules)\n"
        "assert not bad, bad\n"
        "agents.describe()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
