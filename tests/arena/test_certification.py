"""Certificates are earned in fresh processes, and a difference is found wherever it is."""

from __future__ import annotations

from typing import Any

import pytest

import environments
from arena import certification
from arena.certification import certify
from environments.certificates import shipped


def test_a_game_passes_and_agrees_with_its_shipped_certificate() -> None:
    result = certify(environments.get("games/maze-v1"))
    assert result.passed and result.certificate is not None
    assert result.certificate == shipped("games/maze-v1") or result.elsewhere == ""


@pytest.mark.parametrize(("step", "part", "told"), [(0, 0, "frame of step 0"), (9, 1, "state of step 9")])
def test_a_difference_is_found_and_named(monkeypatch: Any, step: int, part: int, told: str) -> None:
    play = certification._play

    def otherwise(*args: Any) -> Any:
        script = play(*args)
        script.moments[step][part] = "something else"
        return script

    monkeypatch.setattr(certification, "_play", otherwise)
    result = certify(environments.get("games/snake-v1"), seeds=(3,), steps=12)
    assert not result.passed and told in result.differences[0]
    # From step 3 on the process that starts at the snapshot sees it as well.
    assert len(result.differences) == (2 if step == 0 else 3)


def test_a_process_that_fails_is_a_difference(monkeypatch: Any) -> None:
    play = certification._play

    def otherwise(*args: Any) -> Any:
        script = play(*args)
        script.actions[2] = {"turn": "inside out"}
        return script

    monkeypatch.setattr(certification, "_play", otherwise)
    result = certify(environments.get("games/snake-v1"), seeds=(3,), steps=6)
    assert "InvalidAction" in result.differences[0]


def test_a_differing_certificate_from_elsewhere_is_a_note_and_no_failure(monkeypatch: Any) -> None:
    made = certify(environments.get("games/snake-v1"), seeds=(3,), steps=4).certificate
    assert made is not None
    other = certification.Certificate(made.seeds, made.steps, "0" * 64, made.states, "another machine")
    monkeypatch.setattr(certification, "shipped", lambda _: other)
    result = certify(environments.get("games/snake-v1"), seeds=(3,), steps=4)
    assert result.passed and result.elsewhere == "frames differ from the shipped certificate (another machine)"


def test_every_shipped_certificate_belongs_to_a_task_and_every_game_has_one() -> None:
    games = {task.id for task in environments.match("games/*")}
    assert all(shipped(game) is not None for game in games)
