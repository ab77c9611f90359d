"""Requests come back as they were sent, and say nothing twice."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from storage.column_types import PackedJson
from storage.models import Call
from storage.requests import CHAIN, abridged, referred, whole
from storage.store import Store

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)
REQUESTS = st.dictionaries(st.sampled_from(["model", "messages", "tools", "as_in", "changes"]), JSON)


def request(turn: int, **changes: Any) -> dict[str, Any]:
    rules = {"role": "system", "content": "The rules of the game, in so many words. " * 40}
    told = {
        "role": "user",
        "content": [{"type": "text", "text": f"This is turn {turn}."}, {"artifact": f"{turn:064x}"}],
    }
    return {
        "model": "m",
        "messages": [rules, told],
        "tools": [{"name": "act", "description": "Choose. " * 50}],
        **changes,
    }


@given(REQUESTS, REQUESTS)
def test_any_request_comes_back_from_any_other(now: dict[str, Any], earlier: dict[str, Any]) -> None:
    short = abridged(now, earlier, "c1")
    assert referred(short) == "c1" and whole(short, earlier) == json.loads(json.dumps(now))
    assert list(whole(short, earlier)) == list(now), "in its own order"


def test_a_further_request_costs_what_it_has_beyond_the_one_before() -> None:
    column, first, second = PackedJson(), request(1), request(2)
    dialect: Any = None
    kept = column.process_bind_param(abridged(second, first, "0123456789abcdef"), dialect)
    alone = column.process_bind_param(second, dialect)
    assert kept is not None and alone is not None and len(kept) < 80 < len(alone)
    assert whole(column.process_result_value(kept, dialect), first) == second


def test_a_request_is_never_read_from_another_call_than_its_own() -> None:
    short = abridged(request(2), request(1), "c1")
    for wrong in (request(3), {}):
        with pytest.raises(ValueError, match="cannot be read from call 'c1'"):
            whole(short, wrong)


@pytest.mark.parametrize("changes", ["", "no base64!", "AAAA", None, 7])
def test_damage_is_told(changes: Any) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        whole({"as_in": "c1", "changes": changes}, request(1))


def test_the_form_of_earlier_versions_is_still_read() -> None:
    first = request(1)
    told = {"role": "user", "content": "Go on."}
    old = {"messages": [{"role": "system", "content": {"as_in": "c1"}}, told], "tools": {"as_in": "c1"}}
    assert referred(old) == "c1"
    assert whole(old, first) == {"messages": [first["messages"][0], told], "tools": first["tools"]}


@pytest.fixture
def episode_id(store: Store, rows: Callable[[str], Callable[..., Any]]) -> str:
    return str(store.begin_episode(rows("episode")()).id)


def keep(store: Store, name: str, episode_id: str, step: int, kept: dict[str, Any]) -> None:
    store.add(
        Call(id=name, episode_id=episode_id, step_index=step, purpose="act", model="m", request=kept, status="ok")
    )


def test_a_store_gives_a_long_chain_of_calls_and_any_step_of_it_whole(store: Store, episode_id: str) -> None:
    requests = [request(turn) for turn in range(2 * CHAIN)]
    for turn, now in enumerate(requests):
        kept = abridged(now, requests[turn - 1], f"c{turn - 1:03}") if turn % CHAIN else now
        keep(store, f"c{turn:03}", episode_id, turn, kept)
    assert [call.request for call in store.calls(episode_id)] == requests
    for turn in (0, 1, CHAIN - 1, CHAIN, 2 * CHAIN - 1):
        [call] = store.calls(episode_id, turn)
        assert call.request == requests[turn]


def test_a_request_whose_beginning_is_lost_is_told_as_it_is_stored(store: Store, episode_id: str) -> None:
    """So is one of two that refer to each other: only a damaged database holds such."""
    lost = abridged(request(2), request(1), "gone")
    circle = abridged(request(2), request(1), "y"), abridged(request(1), request(2), "x")
    for name, kept in (("a", lost), ("x", circle[0]), ("y", circle[1])):
        keep(store, name, episode_id, 0, kept)
    assert {call.id: call.request for call in store.calls(episode_id)} == {"a": lost, "x": circle[0], "y": circle[1]}
