"""Identities: equal specifications, equal names; any change, another name."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.identity import canonical, derived_seed, digest, identity

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(), JSON, max_size=6))
def test_a_round_trip_through_storage_keeps_the_identity(spec: dict[str, object]) -> None:
    stored = json.loads(json.dumps(spec))
    assert identity(stored) == identity(spec)
    assert identity(dict(reversed(spec.items()))) == identity(spec)


@given(st.dictionaries(st.text(), JSON, min_size=1, max_size=4))
def test_any_change_changes_the_identity(spec: dict[str, object]) -> None:
    changed = {**spec, next(iter(spec)): ["changed", spec]}
    assert identity(changed) != identity(spec)


def test_an_identity_names_its_version() -> None:
    assert identity({"a": 1}).startswith("e1-")
    assert len(identity({})) <= 32


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError):
        canonical({"x": float("nan")})
    with pytest.raises(TypeError):
        canonical({"x": object()})


def test_seeds_derive_from_identity_and_purpose_alone() -> None:
    assert derived_seed("e1-a", "agent") == derived_seed("e1-a", "agent")
    assert derived_seed("e1-a", "agent") != derived_seed("e1-a", "world")
    assert 0 <= derived_seed("e1-b", "agent") < 2**63
    assert len(digest("x")) == 24
