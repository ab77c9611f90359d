"""How a desktop begins and ends: nothing outlives it, nobody else gets in, no death goes unnamed."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import stat
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from environments.actions.gui import Press
from environments.desktop import Desktop, check
from environments.desktop.xvfb import remove_leftovers
from environments.errors import DisplayError, InfrastructureError

pytestmark = [pytest.mark.display, pytest.mark.skipif(bool(check()), reason="; ".join(check()))]

SIZE = (64, 48)
FRAME = np.zeros((48, 64, 3), np.uint8)


def gone(pid: int) -> bool:
    """Whether a process has ended (a zombie has: its parent, if it is not us, may be slow to collect it)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def wait_until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def socket_of(display: str) -> Path:
    return Path(f"/tmp/.X11-unix/X{display.removeprefix(':')}")


def run_python(script: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment)


OPEN = """
import os, sys, time
from environments.actions.gui import Press
from environments.desktop import Desktop
desktop = Desktop((64, 48), "child")
print(*desktop.pids, desktop.display, flush=True)
"""


def calls(desktop: Desktop) -> dict[str, Callable[[], object]]:
    return {
        "show": lambda: desktop.show(FRAME),
        "grab": desktop.grab,
        "perform": lambda: desktop.perform(Press(verb="press", key="a")),
    }


@pytest.mark.parametrize("first", ["show", "grab", "perform"])
def test_a_killed_server_is_named_by_every_call(first: str) -> None:
    desktop = Desktop(SIZE, "Test")
    os.kill(desktop.pids[1], signal.SIGKILL)
    with pytest.raises(DisplayError, match=r"Xvfb \(display :\d+\) was killed by SIGKILL"):
        calls(desktop)[first]()
    for call in calls(desktop).values():
        with pytest.raises(InfrastructureError, match="was killed by SIGKILL"):
            call()
    assert all(gone(pid) for pid in desktop.pids)
    assert not socket_of(desktop.display).exists()


def test_a_killed_worker_is_named_and_takes_the_server_along() -> None:
    desktop = Desktop(SIZE, "Test")
    os.kill(desktop.pids[0], signal.SIGKILL)
    with pytest.raises(DisplayError, match="worker was killed by SIGKILL"):
        desktop.grab()
    assert all(gone(pid) for pid in desktop.pids)
    assert not socket_of(desktop.display).exists()


UNLUCKY = """#!{python}
import ctypes, os, pathlib, signal, subprocess, sys
real, starts, fate, arguments = {real!r}, pathlib.Path(__file__).with_name("starts"), {fate!r}, sys.argv[1:]
with starts.open("a") as file:
    file.write("x")
if starts.stat().st_size > {unlucky}:
    os.execv(real, ["Xvfb", *arguments])
told = arguments.index("-displayfd") + 1
ours, theirs = os.pipe()
named, arguments[told] = int(arguments[told]), str(theirs)
os.set_inheritable(theirs, True)
die_with_us = lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL)
server = subprocess.Popen([real, *arguments], close_fds=False, preexec_fn=die_with_us)
signal.signal(signal.SIGTERM, lambda *_: server.terminate())
number = b""
while not number.endswith(b"\\n"):
    number += os.read(ours, 16)
if fate == "killed":
    server.kill()
else:
    os.unlink("/tmp/.X11-unix/X" + number.decode().strip())
os.write(named, number)
os.close(named)
sys.exit(server.wait())
"""
"""An Xvfb whose first starts end badly: killed, or alive without its socket, when they have named their display."""


@pytest.fixture
def unlucky(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, int], Path]:
    """Put it before the real one; returns the file that counts the starts."""

    def install(fate: str, times: int) -> Path:
        program = tmp_path / "Xvfb"
        program.write_text(UNLUCKY.format(python=sys.executable, real=shutil.which("Xvfb"), fate=fate, unlucky=times))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
        return tmp_path / "starts"

    return install


@pytest.mark.parametrize("fate", ["killed", "without its socket"])
def test_a_server_that_is_lost_at_the_start_is_replaced_once(unlucky: Callable[[str, int], Path], fate: str) -> None:
    starts = unlucky(fate, 1)
    with Desktop(SIZE, "Test") as desktop:
        desktop.show(FRAME)
        assert np.array_equal(desktop.grab(), FRAME)
        assert starts.read_text() == "xx"
        pids, display = desktop.pids, desktop.display
    assert all(gone(pid) for pid in pids)
    assert not socket_of(display).exists()


def test_a_second_loss_is_told(unlucky: Callable[[str, int], Path]) -> None:
    starts = unlucky("killed", 2)
    with pytest.raises(DisplayError, match="ended with exit status 247"):  # of our stand-in: -SIGKILL
        Desktop(SIZE, "Test")
    assert starts.read_text() == "xx"


def test_the_socket_of_a_server_that_is_about_to_listen_is_left_alone(tmp_path: Path) -> None:
    """It exists and refuses connections for a moment, as that of a dead server does for ever."""
    number = next(n for n in range(7000, 8000) if not socket_of(f":{n}").exists())
    path = socket_of(f":{number}")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        late = threading.Timer(0.02, server.listen)
        late.start()
        remove_leftovers(number)
        late.join()
        assert path.exists()
    remove_leftovers(number)
    assert not path.exists()


@pytest.mark.parametrize("who", [0, 1], ids=["worker", "server"])
def test_a_hang_is_cut_short(who: int) -> None:
    desktop = Desktop(SIZE, "Test", timeout_s=0.5)
    os.kill(desktop.pids[who], signal.SIGSTOP)
    with pytest.raises(DisplayError, match=r"did not answer within 0\.5 s"):
        desktop.grab()
    assert all(gone(pid) for pid in desktop.pids)
    assert not socket_of(desktop.display).exists()


def test_kill_9_of_the_parent_leaves_nothing() -> None:
    parent = run_python(OPEN + "time.sleep(60)")
    assert parent.stdout
    worker, server, display = parent.stdout.readline().split()
    assert not gone(int(worker))
    assert not gone(int(server))
    parent.kill()
    parent.wait()
    wait_until(lambda: gone(int(worker)) and gone(int(server)) and not socket_of(display).exists())


def test_kill_9_of_the_parent_ends_a_hung_server_too() -> None:
    parent = run_python(OPEN + f"os.kill(desktop.pids[1], {int(signal.SIGSTOP)})\ndesktop.grab()")
    assert parent.stdout
    worker, server, display = parent.stdout.readline().split()
    wait_until(lambda: Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[0] == "T")
    parent.kill()
    parent.wait()
    wait_until(lambda: gone(int(worker)) and gone(int(server)) and not socket_of(display).exists())


@pytest.mark.parametrize("ending", ["", "del desktop", "raise RuntimeError"])
def test_leaving_the_interpreter_closes(ending: str) -> None:
    parent = run_python("import sys\nsys.stderr = open('/dev/null', 'w')\n" + OPEN + ending)
    output, _ = parent.communicate(timeout=30)
    worker, server, display = output.split()
    assert gone(int(worker))
    assert gone(int(server))
    assert not socket_of(display).exists()


def test_a_fork_does_not_close_what_is_its_parents() -> None:
    parent = run_python(
        OPEN
        + """
if os.fork() == 0:
    sys.exit()
os.wait()
print(len(desktop.perform(Press(verb="press", key="a"))))
"""
    )
    output, _ = parent.communicate(timeout=30)
    assert output.split()[-1] == "2"


def test_close_can_be_repeated_and_ends_every_use() -> None:
    desktop = Desktop(SIZE, "Test")
    worker, server = desktop.pids
    desktop.close()
    desktop.close()
    assert gone(worker)
    assert gone(server)
    assert not socket_of(desktop.display).exists()
    with pytest.raises(DisplayError, match="closed"):
        desktop.grab()


def test_desktops_one_after_another_leak_no_descriptors() -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    with Desktop(SIZE, "Test"):
        pass
    before = descriptors()
    for _ in range(2):
        with Desktop(SIZE, "Test") as desktop:
            desktop.show(FRAME)
        del desktop
    assert descriptors() == before


def test_a_desktop_outlives_the_thread_that_opened_it() -> None:
    with ThreadPoolExecutor(2) as pool:
        desktops = list(pool.map(lambda title: Desktop(SIZE, title), ["one", "two"]))
    for desktop in desktops:
        assert len(desktop.perform(Press(verb="press", key="a"))) == 2
        desktop.close()


def test_ctrl_c_in_the_terminal_does_not_reach_the_display() -> None:
    with Desktop(SIZE, "Test") as desktop:
        for pid in desktop.pids:
            assert os.getsid(pid) == desktop.pids[0] != os.getsid(0)


def test_the_cookie_is_the_owners_alone_and_on_no_disk() -> None:
    with Desktop(SIZE, "Test") as desktop:
        server = Path(f"/proc/{desktop.pids[1]}")
        arguments = server.joinpath("cmdline").read_bytes().split(b"\0")
        path = arguments[arguments.index(b"-auth") + 1].decode()
        authority = Path(path.replace("self", str(desktop.pids[1])))
        assert stat.S_IMODE(authority.stat().st_mode) == 0o600
        assert "memfd:" in str(authority.readlink())
        cookie = authority.read_bytes()[-16:]
        for pid in desktop.pids:  # nor where `ps` would show it
            assert cookie not in Path(f"/proc/{pid}/cmdline").read_bytes()
            assert cookie.hex().encode() not in Path(f"/proc/{pid}/environ").read_bytes()


def test_nobody_enters_without_the_cookie() -> None:
    with Desktop(SIZE, "Test") as desktop, socket.socket(socket.AF_UNIX) as stranger:
        stranger.connect(str(socket_of(desktop.display)))
        stranger.send(b"l\0" + struct.pack("<HHHHxx", 11, 0, 0, 0))
        assert stranger.recv(1) == b"\0", "the server let a client in that knew no cookie"


def test_the_server_does_not_listen_on_tcp() -> None:
    with Desktop(SIZE, "Test") as desktop:
        port = 6000 + int(desktop.display.removeprefix(":"))
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_without_xvfb_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DisplayError, match="apt-get install xvfb"):
        Desktop(SIZE, "Test")
    assert any("apt-get install xvfb" in problem for problem in check())


def test_a_missing_library_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "mss.py").write_text("raise ImportError('no mss here')")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(tmp_path), *sys.path]))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None if name == "mss" else name)
    with pytest.raises(DisplayError, match=r"no mss here; .*pip install mss"):
        Desktop(SIZE, "Test")


def test_a_server_that_cannot_start_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "Xvfb"
    broken.write_text("#!/bin/sh\necho out of luck >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(DisplayError, match="Xvfb ended with exit status 1; its last line: out of luck"):
        Desktop(SIZE, "Test")


def test_a_display_that_swallows_input_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The input test at the start, against a real server that lacks the extension for faked input."""
    real = subprocess.run(["which", "Xvfb"], capture_output=True, text=True, check=True).stdout.strip()
    lame = tmp_path / "Xvfb"
    lame.write_text(f'#!/bin/sh\nexec {real} "$@" -extension XTEST\n')
    lame.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(DisplayError, match=re.compile("XTEST|input test", re.IGNORECASE)):
        Desktop(SIZE, "Test")


def test_importing_starts_nothing_and_needs_no_display() -> None:
    script = """
import os, sys, threading
os.environ.pop("DISPLAY", None)
import environments.desktop
print(threading.active_count(), any(name in sys.modules for name in ("pyautogui", "mss", "Xlib")))
"""
    output, _ = run_python(script).communicate(timeout=30)
    assert output.split() == ["1", "False"]
