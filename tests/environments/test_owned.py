"""Games that people own, on an Xvfb that stands for a person's desktop with the window of a title on it."""

from __future__ import annotations

import importlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from environments.desktop import check
from environments.desktop.xvfb import Xvfb
from environments.errors import DisplayError, Irreversible, NoExpert, PersonTookOver
from environments.owned.env import OwnedEnv
from environments.owned.letterbox import Letterbox
from environments.owned.process import WorkerProcess
from environments.owned.profile import Profile, parse
from environments.owned.tasks import task_of
from environments.task import ActionSpace

display = [pytest.mark.display, pytest.mark.skipif(bool(check()), reason="; ".join(check()))]
SCREEN = (1280, 960)
TITLE = "My Own Game™ – Deluxe"
PROFILE = {
    "name": "mine", "title": "My own game", "category": "real-time-linear", "tier": "easy",
    "windows": {"everywhere": ["My Own Game – Deluxe"]}, "launch": "Start it.", "goal": "Play.", "controls": "All.",
    "key_map": {"up": "w"}, "settle_ms": 50, "max_steps": 10, "milestones": [{"id": "one", "text": "Something."}],
}  # fmt: skip
WINDOW = Path(__file__).with_name("owned_window.py")
RGB = {"left top": (0xC0, 0x30, 0x20), "right top": (0x30, 0xC0, 0x40), "left bottom": (0x30, 0x50, 0xD0)}


class Title:
    """The window, and what it tells."""

    def __init__(self, **options: Any) -> None:
        self.options = {"title": TITLE, "left": 100, "top": 60, "width": 960, "height": 720} | options
        self.process = subprocess.Popen(
            [sys.executable, str(WINDOW), json.dumps(self.options)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )  # fmt: skip
        self._lines: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.until("shown")

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self._lines.put(json.loads(line))

    def until(self, kind: str) -> list[dict[str, Any]]:
        """Everything told up to an event of that kind."""
        told = [self._lines.get(timeout=20)]
        while told[-1]["kind"] != kind:
            told.append(self._lines.get(timeout=20))
        return told[:-1]

    def do(self, command: str) -> list[dict[str, Any]]:
        """Give a command; what was told before it was carried out, without the motion of the pointer."""
        assert self.process.stdin
        self.process.stdin.write(command + "\n")
        return [event for event in self.until("done") if event["kind"] != "motion"]

    def events(self) -> list[dict[str, Any]]:
        """What the window has received since it was last asked."""
        return self.do("nothing")

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait(10)


@pytest.fixture
def desktop(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A person's desktop: a display that this process and its children belong to."""
    server = Xvfb(SCREEN)
    server.wait()
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("XDG_SESSION_TYPE", raising=False)
    yield
    server.stop()


@pytest.fixture
def show(desktop: None) -> Iterator[Callable[..., Title]]:
    made: list[Title] = []

    def make(**options: Any) -> Title:
        made.append(Title(**options))
        return made[-1]

    yield make
    for title in made:
        title.close()


@pytest.fixture
def play() -> Iterator[Callable[..., OwnedEnv]]:
    made: list[OwnedEnv] = []

    def make(sign: Any = "front", wait_s: float = 20.0, **fields: Any) -> OwnedEnv:
        profile = Profile.model_validate(PROFILE | fields)
        made.append(OwnedEnv(task_of(profile), ActionSpace.GUI, profile, sign=sign, wait_s=wait_s, countdown_s=0.0))
        return made[-1]

    yield make
    OwnedEnv._stopped = False
    for env in made:
        env.close()


def come_back(env: OwnedEnv, title: Title) -> threading.Timer:
    """The person, who brings the window to the front a while after `reset` has begun to look for it."""
    env._desk()  # its process needs half a second to start
    return threading.Timer(1.5, title.do, ["focus"])


# -- the transform -----------------------------------------------------------------------------------------------------

sizes = st.tuples(st.integers(1, 8_000), st.integers(1, 8_000))


@given(sizes, st.integers(0, 639), st.integers(0, 479))
def test_a_pixel_of_the_frame_is_in_the_bars_or_names_a_pixel_of_the_region(
    size: tuple[int, int], x: int, y: int
) -> None:
    """In the bars exactly if it lies outside the shown picture, and inside the region otherwise."""
    box = Letterbox.of(*size)
    inside = box.left <= x < box.left + box.shown[0] and box.top <= y < box.top + box.shown[1]
    point = box.to_region(x, y)
    assert (point is not None) == inside
    if point is not None:
        assert 0 <= point[0] < size[0] and 0 <= point[1] < size[1]


@given(sizes, st.floats(0, 1, exclude_max=True), st.floats(0, 1, exclude_max=True))
def test_the_round_trip_ends_on_the_pixel_where_it_began(size: tuple[int, int], across: float, down: float) -> None:
    """Axis by axis, from whichever side has the coarser pixels."""
    box = Letterbox.of(*size)
    for axis, share in ((0, across), (1, down)):
        corner = (box.left, box.top)
        if size[axis] >= box.shown[axis]:
            began = int(share * box.shown[axis])
            frame = [box.left, box.top]
            frame[axis] += began
            region = box.to_region(*frame)
            assert region is not None
            assert box.to_frame(*region)[axis] == corner[axis] + began
        else:
            region_pixel = [0, 0]
            region_pixel[axis] = int(share * size[axis])
            seen = box.to_frame(*region_pixel)
            back = box.to_region(*seen)
            assert back is not None and back[axis] == region_pixel[axis]


@given(sizes)
def test_the_picture_touches_two_edges_and_keeps_its_proportions(size: tuple[int, int]) -> None:
    box = Letterbox.of(*size)
    width, height = box.shown
    assert width == 640 or height == 480
    assert 1 <= width <= 640 and 1 <= height <= 480
    assert abs(width * size[1] - height * size[0]) <= max(size)  # to within the rounding of one pixel
    assert 0 <= box.left - (640 - width - box.left) <= 1 or box.left == (640 - width) // 2


# -- a window on a desktop ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("manager", [False, True], ids=["no manager", "window manager"])
@pytest.mark.parametrize(
    ("left", "top", "width", "height"),
    [(0, 0, 1280, 960), (100, 60, 640, 480), (300, 200, 320, 240), (37, 11, 1201, 533), (700, 5, 222, 901)],
)
@pytest.mark.display
@display[1]
def test_a_click_lands_where_the_frame_shows_it(
    show: Callable[..., Title], play: Callable[..., OwnedEnv], left: int, top: int, width: int, height: int,
    manager: bool,
) -> None:  # fmt: skip
    """The frame shows the window's corners in its letterbox, and clicks reach the pixels under the frame's."""
    title = show(left=left, top=top, width=width, height=height, manager=manager)
    env = play()
    observation, _ = env.reset(seed=3)
    frame, box = observation["frame"], Letterbox.of(width, height)
    assert frame.shape == (480, 640, 3) and frame.dtype == np.uint8
    right, bottom = box.left + box.shown[0] - 1, box.top + box.shown[1] - 1
    assert tuple(frame[box.top, box.left]) == RGB["left top"]
    assert tuple(frame[box.top, right]) == RGB["right top"]
    assert tuple(frame[bottom, box.left]) == RGB["left bottom"]
    if box.top:
        assert not frame[: box.top].any() and not frame[bottom + 1 :].any()
    if box.left:
        assert not frame[:, : box.left].any() and not frame[:, right + 1 :].any()
    title.events()
    for x, y in ((box.left + 1, box.top + 1), (320, 240), (right - 1, bottom - 1)):
        *_, info = env.step({"verb": "click", "x": x, "y": y, "button": "right"})
        assert info == {"illegal": None}
        down, up = title.events()
        assert (down["kind"], up["kind"]) == ("button_down", "button_up")
        assert (down["x"], down["y"], down["button"]) == (*box.to_region(x, y), 3)  # type: ignore[misc]
        assert up["ms"] - down["ms"] >= 60


@pytest.mark.display
@display[1]
def test_keys_are_held_for_a_tap_mapped_and_released_at_the_end(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    title = show()
    env = play()
    env.reset(seed=0)
    env.step({"verb": "press", "key": "up"})
    down, up = title.events()
    assert (down["kind"], down["key"], up["kind"], up["key"]) == ("key_down", "w", "key_up", "w")
    assert up["ms"] - down["ms"] >= 60
    env.step({"verb": "hold", "key": "a", "ms": 300})
    down, up = title.events()
    assert up["ms"] - down["ms"] >= 300
    env.step({"verb": "key_down", "key": "b"})
    down, up = title.events()
    assert (down["kind"], down["key"], up["kind"], up["key"]) == ("key_down", "b", "key_up", "b")
    assert up["ms"] - down["ms"] >= 80 + 50  # to the end of the step: a tap and the time to settle
    env.step({"verb": "hotkey", "keys": ["up", "d"], "ms": 100})
    assert [(event["kind"][4:], event["key"]) for event in title.events()] == [
        ("down", "w"), ("down", "d"), ("up", "d"), ("up", "w"),
    ]  # fmt: skip


@pytest.mark.display
@display[1]
def test_text_drag_and_wheel_arrive(show: Callable[..., Title], play: Callable[..., OwnedEnv]) -> None:
    title = show()
    env = play()
    env.reset(seed=0)
    env.step({"verb": "type", "text": "Go <3!"})
    typed = [event["key"] for event in title.events() if event["kind"] == "key_down" and isinstance(event["key"], str)]
    assert "".join(typed) == "Go <3!"
    env.step({"verb": "drag", "x": 100, "y": 100, "to_x": 300, "to_y": 200})
    down, up = title.events()
    assert (down["x"], down["y"], up["x"], up["y"]) == (150, 150, 450, 300)
    env.step({"verb": "scroll", "x": 320, "y": 240, "clicks": -2})
    assert [event["button"] for event in title.events() if event["kind"] == "button_down"] == [5, 5]


@pytest.mark.display
@display[1]
@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"verb": "hotkey", "keys": ["alt", "tab"]}, "belongs to the desktop"),
        ({"verb": "hotkey", "keys": ["f4", "alt"]}, "belongs to the desktop"),
        ({"verb": "hotkey", "keys": ["ctrl", "alt", "f2"]}, "belongs to the desktop"),
        ({"verb": "hotkey", "keys": ["ctrl", "shift", "esc"]}, "belongs to the desktop"),
        ({"verb": "type", "text": "aж"}, "no key for 'ж'"),
        ({"verb": "click", "x": 320, "y": 2}, "black bar"),
        ({"verb": "drag", "x": 320, "y": 240, "to_x": 320, "to_y": 479}, "black bar"),
    ],
)
def test_what_would_leave_the_window_is_refused_and_nothing_is_done(
    show: Callable[..., Title], play: Callable[..., OwnedEnv], action: dict[str, Any], reason: str
) -> None:
    title = show(width=1000, height=500)
    env = play()
    env.reset(seed=0)
    title.events()
    *_, info = env.step(action)
    assert reason in info["illegal"]
    assert title.events() == []


@pytest.mark.display
@display[1]
def test_a_key_that_the_layout_lacks_is_refused_and_the_layout_is_left_as_it_is(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    from Xlib.display import Display

    person = Display()
    q = person.keysym_to_keycode(ord("q"))
    person.change_keyboard_mapping(q, [(0x06CA, 0x06EA)])  # a Cyrillic letter in its place
    person.sync()
    before = person.get_keyboard_mapping(8, 248)
    title = show()
    env = play()
    env.reset(seed=0)
    for action in ({"verb": "press", "key": "q"}, {"verb": "hotkey", "keys": ["shift", "q"]}):
        assert "no key for 'q'" in env.step(action)[4]["illegal"]
    env.step({"verb": "type", "text": "Wx>"})
    assert (
        "".join(str(e["key"]) for e in title.events() if e["kind"] == "key_down" and len(str(e["key"])) == 1) == "Wx>"
    )
    assert person.get_keyboard_mapping(8, 248) == before
    person.close()


@pytest.mark.display
@display[1]
def test_an_answer_that_nobody_waited_for_is_not_taken_for_the_next(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    """As after Ctrl-C in a notebook, in the middle of a step."""
    show()
    env = play()
    env.reset(seed=0)
    worker = env._desk()
    worker._requests.write(b'{"id": -1, "do": "list"}\n')
    assert env.step({"verb": "wait", "ms": 0})[4] == {"illegal": None}


@pytest.mark.display
@display[1]
def test_a_window_that_moves_and_grows_is_followed(show: Callable[..., Title], play: Callable[..., OwnedEnv]) -> None:
    title = show()
    env = play()
    env.reset(seed=0)
    title.do("move 250 130")
    title.do("resize 320 240")
    title.events()
    env.step({"verb": "click", "x": 321, "y": 101})
    down, _ = title.events()
    assert (down["x"], down["y"]) == (160, 50)
    title.do("red")
    assert tuple(env.step({"verb": "wait", "ms": 0})[0]["frame"][0, 0]) == (255, 0, 0)


@pytest.mark.display
@display[1]
def test_a_window_that_is_not_there_is_told_with_those_that_are(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    show(title="My Own Game - Wiki - Browser")
    env = play(wait_s=0.3)
    with pytest.raises(DisplayError) as caught:
        env.reset(seed=0)
    told = str(caught.value)
    assert "no window is called 'My Own Game – Deluxe'" in told
    assert "the nearest is 'My Own Game - Wiki - Browser'" in told
    assert "'A terminal'" in told


@pytest.mark.display
@display[1]
def test_two_windows_of_one_title_are_refused(show: Callable[..., Title], play: Callable[..., OwnedEnv]) -> None:
    show()
    show(left=0)
    with pytest.raises(DisplayError, match="2 windows are called"):
        play(wait_s=0.3).reset(seed=0)


@pytest.mark.display
@display[1]
def test_an_episode_waits_until_the_window_comes_to_the_front(
    show: Callable[..., Title], play: Callable[..., OwnedEnv], caplog: pytest.LogCaptureFixture
) -> None:
    """And a window that was in front all the time is no sign: the last episode may have left it there."""
    title = show()
    env = play(sign="switch", wait_s=0.5)
    with pytest.raises(DisplayError, match="another one is in front"):
        env.reset(seed=0)
    assert "Start it." in caplog.text and "corner" in caplog.text
    title.do("focus")
    with pytest.raises(DisplayError, match="go elsewhere, and come back"):
        env.reset(seed=0)
    title.do("unfocus")
    env._wait_s = 20.0
    timer = come_back(env, title)
    timer.start()
    observation, _ = env.reset(seed=0)
    timer.join()
    assert observation["frame"].any()


@pytest.mark.display
@display[1]
def test_the_profiles_own_gestures_lead_back_after_an_ordinary_episode(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    """The first episode needs the person; the second begins by itself; the one after the brake needs them again."""
    title = show()
    env = play(sign="switch", wait_s=5.0, reset=[{"verb": "press", "key": "r"}])
    timer = come_back(env, title)
    timer.start()
    env.reset(seed=0)
    timer.join()
    env.step({"verb": "press", "key": "x"})
    title.events()
    env.reset(seed=1)
    assert [event["key"] for event in title.events()] == ["r", "r"]
    env._wait_s = 0.3
    title.do("unfocus")
    with pytest.raises(PersonTookOver):
        env.step({"verb": "press", "key": "x"})
    title.do("focus")
    with pytest.raises(DisplayError, match="go elsewhere"):
        env.reset(seed=2)


@pytest.mark.display
@display[1]
def test_the_person_takes_over_by_another_window_or_a_corner_and_every_key_is_up(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    title = show()
    env = play()
    env.reset(seed=0)
    timer = threading.Timer(0.4, title.process.stdin.write, ["unfocus\n"])  # type: ignore[union-attr]
    timer.start()
    with pytest.raises(PersonTookOver, match="no longer in front"):
        env.step({"verb": "hold", "key": "a", "ms": 2000})
    title.until("done")
    env._wait_s = 0.5
    with pytest.raises(DisplayError, match="another one is in front"):
        env.reset(seed=0)  # although the sign is `front`: nothing takes the screen back from the person
    title.do("focus")
    with pytest.raises(DisplayError, match="go elsewhere"):
        env.reset(seed=0)
    title.do("unfocus")
    env._wait_s = 20.0
    timer = come_back(env, title)
    timer.start()
    assert env.reset(seed=0)[0]["frame"].any()
    timer.join()
    title.events()

    from Xlib import X
    from Xlib.display import Display
    from Xlib.ext import xtest

    person = Display()
    keymap = np.unpackbits(np.array(person.query_keymap(), np.uint8))
    assert not keymap.any()  # the release went to whoever has the focus, and nothing is down

    def into_the_corner() -> None:
        for _ in range(20):  # a hand on the mouse goes on pushing
            xtest.fake_input(person, X.MotionNotify, x=SCREEN[0] - 1, y=0)
            person.sync()
            time.sleep(0.01)

    timer = threading.Timer(0.4, into_the_corner)
    timer.start()
    with pytest.raises(PersonTookOver, match="corner"):
        env.step({"verb": "drag", "x": 10, "y": 10, "to_x": 600, "to_y": 400})
    timer.join()
    kinds = [event["kind"] for event in title.events()]
    assert kinds in ([], ["button_down"], ["button_down", "button_up"])  # the pointer was outside at the release
    assert person.screen().root.query_pointer().mask & (X.Button1Mask | X.Button3Mask) == 0
    env._wait_s = 0.3
    with pytest.raises(DisplayError, match="corner"):
        env.reset(seed=0)
    person.close()


@pytest.mark.display
@display[1]
def test_a_click_into_the_corner_of_a_full_screen_title_is_no_brake(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    title = show(left=0, top=0, width=1280, height=960)
    env = play(sign="front")
    env.reset(seed=0)
    env.step({"verb": "click", "x": 0, "y": 0})
    env.step({"verb": "click", "x": 639, "y": 479})
    assert len(title.events()) == 4


@pytest.mark.display
@display[1]
def test_keys_are_released_when_the_arena_is_killed(show: Callable[..., Title], tmp_path: Path) -> None:
    """The worker outlives its parent for as long as it takes to let go, and no longer."""
    title = show()
    script = (
        "import sys, json; from tests.environments.test_owned import PROFILE\n"
        "from environments.owned.env import OwnedEnv; from environments.owned.profile import Profile\n"
        "from environments.owned.tasks import task_of\n"
        "p = Profile.model_validate(PROFILE); e = OwnedEnv(task_of(p), 'gui', p, sign='front', countdown_s=0.0)\n"
        "e.reset(seed=0); print(e._worker.pid, flush=True); e.step({'verb': 'hold', 'key': 'a', 'ms': 1000})\n"
    )
    root = Path(__file__).parents[2]
    arena = subprocess.Popen([sys.executable, "-c", script], cwd=root, stdout=subprocess.PIPE, text=True)
    assert arena.stdout
    worker = int(arena.stdout.readline())
    title.until("key_down")
    arena.kill()
    arena.wait()
    assert [event for event in title.until("key_up") if event["kind"] == "key_down"] == []
    for _ in range(100):
        if not Path(f"/proc/{worker}").exists() or Path(f"/proc/{worker}/stat").read_text().split()[2] == "Z":
            break
        time.sleep(0.1)
    else:
        os.kill(worker, signal.SIGKILL)
        pytest.fail("the worker lives on")


@pytest.mark.display
@display[1]
def test_a_window_that_is_gone_or_hidden_or_off_the_screen_is_the_machines_fault(
    show: Callable[..., Title], play: Callable[..., OwnedEnv]
) -> None:
    title = show()
    env = play()
    env.reset(seed=0)
    title.do("move 900 700")
    with pytest.raises(DisplayError, match="outside the screen"):
        env.step({"verb": "wait"})
    env.close()
    title.do("move 0 0")
    env.reset(seed=0)
    title.do("hide")
    with pytest.raises((DisplayError, PersonTookOver)):
        env.step({"verb": "wait"})


@pytest.mark.display
@display[1]
def test_one_desktop_has_one_pair_of_hands(show: Callable[..., Title], play: Callable[..., OwnedEnv]) -> None:
    show()
    env = play()
    env.reset(seed=0)
    with pytest.raises(DisplayError, match="one at a time"):
        WorkerProcess()
    env.close()
    WorkerProcess().close()


@pytest.mark.display
@display[1]
def test_nothing_is_known_and_nothing_taken_back(show: Callable[..., Title], play: Callable[..., OwnedEnv]) -> None:
    show()
    env = play()
    env.reset(seed=0)
    assert (env.score(), env.milestones(), env.success(), env.reversible) == (0.0, frozenset(), False, False)
    first = env.state_hash()
    assert len(first) == 64 and env.clock_ms >= 0
    before = time.monotonic()
    assert env.advance(300) is False
    assert time.monotonic() - before >= 0.2
    for refused in (env.snapshot, lambda: env.restore(b"")):
        with pytest.raises(Irreversible, match="from its start"):
            refused()
    with pytest.raises(NoExpert):
        env.expert_action()


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"DISPLAY": ""}, "DISPLAY is not set"),
        ({"XDG_SESSION_TYPE": "wayland"}, "X11"),
        ({"DISPLAY": ":9999"}, ":9999"),
    ],
)
def test_without_a_desktop_the_error_says_what_is_missing(
    variables: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_SESSION_TYPE", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(DisplayError, match=told):
        WorkerProcess()


def test_a_profile_without_a_window_on_this_platform_is_refused() -> None:
    other = "windows" if sys.platform != "win32" else "linux"
    profile = parse(json.dumps(PROFILE | {"windows": {other: ["Mine"]}}))
    with pytest.raises(DisplayError, match="names no window"):
        task_of(profile).make("gui")


def test_a_macs_windows_are_read_as_quartz_lists_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the normal layer, front to back; the program's name where the title is withheld. Quartz itself is faked."""
    bounds = {"X": 10.0, "Y": 20.0, "Width": 800.0, "Height": 628.0}
    listed = [
        {"layer": 25, "number": 1, "owner": "Menu", "bounds": bounds},
        {"layer": 0, "number": 7, "owner": "My Game", "bounds": bounds},
        {"layer": 0, "number": 8, "owner": "Terminal", "name": "A terminal", "bounds": bounds},
    ]
    names = {"Layer": "layer", "Number": "number", "OwnerName": "owner", "Name": "name", "Bounds": "bounds"}
    quartz = SimpleNamespace(
        kCGWindowListExcludeDesktopElements=16,
        kCGWindowListOptionOnScreenOnly=1,
        kCGNullWindowID=0,
        CGWindowListCopyWindowInfo=lambda options, window: listed if (options, window) == (17, 0) else None,
        **{f"kCGWindow{name}": key for name, key in names.items()},
    )
    monkeypatch.setitem(sys.modules, "Quartz", quartz)  # type: ignore[arg-type]
    monkeypatch.delitem(sys.modules, "environments.owned.windows_macos", raising=False)
    windows = importlib.import_module("environments.owned.windows_macos").MacWindows()
    monkeypatch.delitem(sys.modules, "environments.owned.windows_macos")
    assert [(window.handle, window.title) for window in windows.open()] == [(7, "My Game"), (8, "A terminal")]
    assert windows.active() == 7
    assert windows.region(8) == (10, 20, 800, 628) and windows.region(1) is None
