"""What a desktop shows and what its window receives, on a real X server."""

from __future__ import annotations

import itertools
import typing
from collections.abc import Iterator

import numpy as np
import pytest

from environments.actions.gui import (
    Click,
    Drag,
    Hold,
    Hotkey,
    Key,
    KeyDown,
    KeyUp,
    Move,
    Press,
    Scroll,
    TypeText,
    Wait,
)
from environments.desktop import Desktop, check
from environments.game import InputEvent

pytestmark = [pytest.mark.display, pytest.mark.skipif(bool(check()), reason="; ".join(check()))]

SIZE = (640, 480)


@pytest.fixture(scope="module")
def desktop() -> Iterator[Desktop]:
    with Desktop(SIZE, "Test") as desktop:
        yield desktop


def noise(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (480, 640, 3), dtype=np.uint8)


def keys(events: list[InputEvent]) -> list[tuple[str, str]]:
    return [(event.kind, event.key) for event in events]


def typed(events: list[InputEvent]) -> str:
    names = {"space": " ", "enter": "\n", "tab": "\t"}
    return "".join(names.get(e.key, e.key) for e in events if e.kind == "key_down" and e.key != "shift")


def test_what_is_shown_is_grabbed_bit_for_bit(desktop: Desktop) -> None:
    for seed in range(5):
        frame = noise(seed)
        desktop.show(frame)
        seen = desktop.grab()
        assert seen.dtype == np.uint8
        assert seen.flags.c_contiguous
        np.testing.assert_array_equal(seen, frame)


def test_channels_are_red_green_blue(desktop: Desktop) -> None:
    frame = np.zeros((480, 640, 3), np.uint8)
    frame[:, :] = (200, 100, 50)
    desktop.show(frame)
    assert desktop.grab()[7, 9].tolist() == [200, 100, 50]


def test_the_pointer_is_not_in_the_picture(desktop: Desktop) -> None:
    frame = noise(9)
    desktop.show(frame)
    desktop.perform(Move(verb="move", x=320, y=240))
    np.testing.assert_array_equal(desktop.grab(), frame)


def test_a_grabbed_picture_stays_what_it_was(desktop: Desktop) -> None:
    first = noise(1)
    desktop.show(first)
    seen = desktop.grab()
    desktop.show(noise(2))
    desktop.grab()
    np.testing.assert_array_equal(seen, first)


@pytest.mark.parametrize(
    "frame", [np.zeros((640, 480, 3), np.uint8), np.zeros((480, 640), np.uint8), np.zeros((480, 640, 3))]
)
def test_a_frame_of_another_form_is_refused(desktop: Desktop, frame: np.ndarray) -> None:
    with pytest.raises(ValueError, match="480, 640, 3"):
        desktop.show(frame)


def test_every_key_arrives_under_its_own_name(desktop: Desktop) -> None:
    for key in typing.get_args(Key):
        assert keys(desktop.perform(Press(verb="press", key=key))) == [("key_down", key), ("key_up", key)]


def test_hold_is_a_press_whose_time_is_game_time(desktop: Desktop) -> None:
    events = desktop.perform(Hold(verb="hold", key="left", ms=2_000))
    assert keys(events) == [("key_down", "left"), ("key_up", "left")]


@pytest.mark.parametrize("key", ["shift", "ctrl", "a", "f12"])
def test_a_key_left_down_is_released_at_the_end_of_the_step(desktop: Desktop, key: typing.Any) -> None:
    assert keys(desktop.perform(KeyDown(verb="key_down", key=key))) == [("key_down", key), ("key_up", key)]
    # Nothing of it is left: a held shift would make this an "A", a held key would send nothing.
    assert keys(desktop.perform(Press(verb="press", key="a"))) == [("key_down", "a"), ("key_up", "a")]


def test_releasing_a_key_that_is_up_and_waiting_do_nothing(desktop: Desktop) -> None:
    assert desktop.perform(KeyUp(verb="key_up", key="a")) == []
    assert desktop.perform(Wait(verb="wait", ms=2_000)) == []


def test_a_hotkey_goes_down_in_order_and_up_in_reverse(desktop: Desktop) -> None:
    events = desktop.perform(Hotkey(verb="hotkey", keys=["ctrl", "alt", "delete"]))
    assert keys(events) == [
        *(("key_down", key) for key in ("ctrl", "alt", "delete")),
        *(("key_up", key) for key in ("delete", "alt", "ctrl")),
    ]


def test_the_server_keeps_no_hotkey_to_itself(desktop: Desktop) -> None:
    """Ctrl+Alt+F1 switches terminals on the stock layout, and its press never reaches a window."""
    for number in range(1, 13):
        hotkey = Hotkey.model_validate({"verb": "hotkey", "keys": ["ctrl", "alt", f"f{number}"]})
        assert [event.key for event in desktop.perform(hotkey)][2:4] == [f"f{number}"] * 2
    assert len(desktop.perform(Hotkey(verb="hotkey", keys=["ctrl", "alt", "backspace"]))) == 6


def test_move_and_the_four_corners(desktop: Desktop) -> None:
    for x, y in ((0, 0), (639, 0), (0, 479), (639, 479)):
        assert desktop.perform(Move(verb="move", x=x, y=y)) == [InputEvent("motion", x=x, y=y)]


@pytest.mark.parametrize("button", ["left", "right", "middle"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_click_once_or_more_with_any_button(desktop: Desktop, button: typing.Any, count: int) -> None:
    events = desktop.perform(Click(verb="click", x=100, y=200, button=button, count=count))
    tap = [InputEvent(kind, button=button, x=100, y=200) for kind in ("button_down", "button_up")]
    assert events == [InputEvent("motion", x=100, y=200), *tap * count]


def test_the_same_gesture_gives_the_same_events_wherever_the_pointer_was(desktop: Desktop) -> None:
    click, press = Click(verb="click", x=5, y=6), Press(verb="press", key="a")
    first = desktop.perform(click), desktop.perform(press)
    assert (desktop.perform(click), desktop.perform(press)) == first  # the pointer is there already
    desktop.perform(Move(verb="move", x=600, y=400))
    assert (desktop.perform(press), desktop.perform(click)) == first[::-1]


def test_a_drag_leads_the_held_button_along_the_line(desktop: Desktop) -> None:
    events = desktop.perform(Drag(verb="drag", x=10, y=20, to_x=110, to_y=70, button="right"))
    assert events[:2] == [InputEvent("motion", x=10, y=20), InputEvent("button_down", button="right", x=10, y=20)]
    assert events[-2:] == [InputEvent("motion", x=110, y=70), InputEvent("button_up", button="right", x=110, y=70)]
    path = [(event.x, event.y) for event in events if event.kind == "motion"]
    for (x, y), (after_x, after_y) in itertools.pairwise(path):
        assert 0 < after_x - x <= 16
        assert abs((after_y - 20) * 2 - (after_x - 10)) <= 2, "off the line"
        assert after_y >= y


def test_a_drag_to_where_it_began_is_a_click(desktop: Desktop) -> None:
    events = desktop.perform(Drag(verb="drag", x=10, y=20, to_x=10, to_y=20))
    assert [event.kind for event in events] == ["motion", "button_down", "button_up"]


@pytest.mark.parametrize("clicks", [3, -2, 0])
def test_the_wheel_arrives_notch_by_notch(desktop: Desktop, clicks: int) -> None:
    events = desktop.perform(Scroll(verb="scroll", x=30, y=40, clicks=clicks))
    notch = InputEvent("scroll", x=30, y=40, clicks=1 if clicks > 0 else -1)
    assert events == [InputEvent("motion", x=30, y=40), *[notch] * abs(clicks)]


@pytest.mark.parametrize(
    "text",
    [
        "Hello, World!\n\tx",
        "".join(map(chr, range(0x20, 0x7F))),
        "é",
        "ß",
        "日本",
        "€",
        "Ünïcödé ÉẞΩ Привет",
        "\U0001f3ae\U0010ffff",
        "e\u0301\u200d\ufeff",
        "\x00\x07\x9f",
        "".join(chr(0x4E00 + i) for i in range(200)),
    ],
    ids=lambda text: ascii(text)[:20],
)
def test_any_text_arrives_as_it_was_typed(desktop: Desktop, text: str) -> None:
    """Also what no key of the US layout makes, and more new characters than there are spare keys."""
    assert typed(desktop.perform(TypeText(verb="type", text=text))) == text


def test_keys_are_intact_after_foreign_text(desktop: Desktop) -> None:
    desktop.perform(TypeText(verb="type", text="".join(chr(0x5E00 + i) for i in range(100))))
    test_every_key_arrives_under_its_own_name(desktop)
    assert typed(desktop.perform(TypeText(verb="type", text="日本 aZ<>"))) == "日本 aZ<>"


def test_a_position_outside_a_smaller_screen_is_refused_and_harms_nothing() -> None:
    with Desktop((320, 200), "small \u20ac") as small:
        with pytest.raises(ValueError, match="to_x: 400 is outside the screen of 320x200"):
            small.perform(Drag(verb="drag", x=0, y=0, to_x=400, to_y=0))
        small.show(noise(3)[:200, :320])
        np.testing.assert_array_equal(small.grab(), noise(3)[:200, :320])


def test_two_desktops_at_once_do_not_mix(desktop: Desktop) -> None:
    with Desktop(SIZE, "Other") as other:
        assert other.display != desktop.display
        desktop.show(noise(1))
        other.show(noise(2))
        desktop.perform(KeyDown(verb="key_down", key="shift"))
        assert typed(other.perform(TypeText(verb="type", text="é"))) == "é"
        assert typed(desktop.perform(TypeText(verb="type", text="ß"))) == "ß"
        np.testing.assert_array_equal(desktop.grab(), noise(1))
        np.testing.assert_array_equal(other.grab(), noise(2))
    np.testing.assert_array_equal(desktop.grab(), noise(1))


def test_a_tap_can_be_made_to_last() -> None:
    """Programs that poll need it; the events are the same."""
    with Desktop(SIZE, "Slow", tap_ms=5) as slow:
        assert keys(slow.perform(Press(verb="press", key="up"))) == [("key_down", "up"), ("key_up", "up")]
