"""YAML that means what it looks like, and the ways in which it might not."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from environments import plain_yaml
from environments.errors import NotPlainYaml

BOMB = "\n".join(["a0: &a0 [x, x]", *(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]" for i in range(1, 60))])

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63) + 1, 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    # As people type it: YAML's own escapes for what nobody sees are PyYAML's affair.
    | st.text(st.characters(codec="ascii", exclude_categories=["Cc"]), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcxyz", min_size=1), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(PLAIN)
def test_whatever_was_written_is_read_back(value: object) -> None:
    assert plain_yaml.load(yaml.safe_dump(value)) == value


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a: 1:30", "line 1, column 4: '1:30' is a number to base 60"),
        ("a: 190:20:30.15", "base 60"),
        ("a: 2024-01-01", "line 1, column 4: '2024-01-01' reads as a date; put it in quotes"),
        ("a: 2024-99-99", "reads as a date"),
        ("a: .nan", "'.nan' is no finite number"),
        ("a: -.Inf", "'-.Inf' is no finite number"),
        ("a: 1.0e+999", "is no finite number"),
        ("a: " + "9" * 100_000, "is larger than any number that is wanted here"),
        ("a: 1" + "0" * 20, "is larger than any number that is wanted here"),
        ("a: -9223372036854775808", "is larger than any number that is wanted here"),
        ("a: 0x" + "f" * 20, "is larger than any number that is wanted here"),
        ("a: =", "'=' alone has a meaning of its own"),
        ("a: 1\nb: 2\na: 3", "line 3, column 1: 'a' is given twice; leave one out"),
        ('a: 1\n"a": 3', "line 2, column 1: 'a' is given twice"),
        ("[a]: 1", "line 1, column 1: a key is a list or a mapping"),
        ("a: &a [*a]", "line 1, column 4: holds itself, by an alias (*name)"),
        (BOMB, "holds more than 100,000 values"),
        ("a: !!python/object:os.system x", "a tag (!python/object:os.system) is not allowed"),
        ("a: !!binary aGVsbG8=", "a tag (!binary) is not allowed"),
        ("a: !!int abc", "a tag (!int) is not allowed"),
        ("!!map [1]", "a tag (!map) is not allowed"),
        ("a: !include b", "a tag (!include) is not allowed"),
        ("a: [1", "is not YAML"),
        ("a: 1\n---\nb: 2", "is not YAML"),
        ("[" * 3_000, "is not YAML"),
        ("- " * 3_000 + "x", "is not YAML"),
        ("a: \x00", "is not YAML"),
        ("a: x" * 300_000, "has 1,200,000 characters; 1,000,000 are allowed"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_does_not_mean_what_it_looks_like_is_refused(text: str, told: str) -> None:
    with pytest.raises(NotPlainYaml) as caught:
        plain_yaml.load(text)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 500


def test_all_problems_are_told_at_once_in_the_order_of_the_text() -> None:
    with pytest.raises(NotPlainYaml) as caught:
        plain_yaml.load("a: 1:30\nb:\n  c: .nan\n  c: 2024-01-01\nd: =")
    assert [where for where, _ in caught.value.problems] == [
        "line 1, column 4", "line 3, column 6", "line 4, column 3", "line 4, column 6", "line 5, column 4",
    ]  # fmt: skip


def test_a_thousand_problems_are_cut() -> None:
    with pytest.raises(NotPlainYaml) as caught:
        plain_yaml.load("\n".join(f"k{i}: .nan" for i in range(1_000)))
    assert len(caught.value.problems) == 20


def test_aliases_stand_for_what_they_mark_and_may_be_refused() -> None:
    text = "a: &x {b: 1}\nc: *x\n<<: *x"
    assert plain_yaml.load(text) == {"a": {"b": 1}, "c": {"b": 1}, "b": 1}
    with pytest.raises(NotPlainYaml, match=r"line 1, column 4: is used again by an alias \(\*name\); write it out"):
        plain_yaml.load(text, aliases=False)


def test_text_in_quotes_is_text() -> None:
    assert plain_yaml.load('a: "1:30"\nb: "2024-01-01"\nc: !!str 5\nd: ".nan"\n') == {
        "a": "1:30", "b": "2024-01-01", "c": "5", "d": ".nan",
    }  # fmt: skip


def test_an_empty_document_is_nothing() -> None:
    assert plain_yaml.load("# only a comment\n") is None
