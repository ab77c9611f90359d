"""Thresholds from clean episodes: the promise they keep, and what monitors grade."""

from __future__ import annotations

import json
import math
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arena.diagnosis import DiagnosisConfig, build, conformal
from arena.diagnosis.conformal import (
    Calibration,
    NoCalibration,
    TaskCalibration,
    calibrated_monitors,
    highest_scores,
    learn,
    needed,
    own_monitors,
    quantile,
)
from arena.diagnosis.monitors import Alarm, GraspWidth, Monitor, Stall, Unclosed
from arena.diagnosis.motion import ChunkDisagreement, Idle, Lag, Loop
from arena.diagnosis.rollout import Rollout
from arena.diagnosis.signals import Reading
from arena.diagnosis.tempo import Profile, Subgoals, Tempo
from arena.errors import ArenaError
from environments.task import ActionSpace
from tests.fakes.policy_world import TASK as ARM
from tests.fakes.policy_world import make_arm

TASK = "tabletop/pick-place-bowl-v1"


def reading(step: int, *, closing: bool = False, width_mm: float = 79.0, **fields: object) -> Reading:
    command = tuple(fields.pop("command", (0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0 if closing else -1.0)))  # type: ignore[arg-type]
    given: dict[str, object] = {
        "step": step, "closing": closing, "width_m": width_mm / 1000, "command": command,
        "push": math.hypot(*command[:3]), "turn": math.hypot(*command[3:6]),
        "eef_pos_m": (0.01 * step, 0.0, 0.9), "speed_m_s": 0.2, **fields,
    }  # fmt: skip
    return Reading(**given)  # type: ignore[arg-type]


def episode(reach: int = 20, carry: int = 30, leave: int = 6, width_mm: float = 40.0) -> list[Reading]:
    """Reach, close on something, carry it, let go."""
    found = [reading(i) for i in range(reach)]
    for i in range(carry):
        width = max(width_mm, 79.0 - 5.0 * max(0, i - 2))
        found.append(reading(reach + i, closing=True, width_mm=width))
    return found + [reading(reach + carry + i, width_mm=60.0) for i in range(leave)]


def alarms(monitor: Monitor, readings: list[Reading]) -> list[Alarm]:
    return [alarm for item in readings if (alarm := monitor.update(item)) is not None]


def test_the_quantile_is_that_of_split_conformal_with_its_finite_sample_correction():
    ratios = [1.0 + i / 100 for i in range(19)]
    assert needed(0.05) == 19
    assert quantile(ratios, 0.05) == max(ratios), "k = ceil(20 * 0.95) = 19, the largest of 19"
    assert quantile(ratios[:18], 0.05) is None, "too few episodes: no threshold keeps the promise"
    assert quantile([0.1] * 40, 0.05) == 1.0, "a limit is never below the monitor's own"


def test_new_clean_episodes_raise_alarms_no_more_often_than_promised():
    """Coverage, by simulation: exchangeable episodes, thresholds learned on 60, false alarms counted on new ones."""
    rng = np.random.default_rng(3)

    def drawn() -> list[Reading]:
        return episode(int(rng.normal(20, 4)), int(rng.normal(34, 5)), int(rng.integers(4, 9)))

    rates = []
    for _ in range(8):
        found = learn([Rollout(True, tuple(drawn())) for _ in range(60)], 0.1, (0, 59))
        monitors = calibrated_monitors(found, subgoals=False)
        fired = 0
        for _ in range(12):
            new = drawn()
            for monitor in monitors:
                monitor.reset()
            fired += any(alarms(monitor, new) for monitor in monitors)
        rates.append(fired / 12)
    assert float(np.mean(rates)) <= 0.1 + 2 * float(np.std(rates)) / math.sqrt(len(rates))


def test_failures_are_not_learned_from_and_too_few_successes_are_refused():
    good = [Rollout(True, tuple(episode())) for _ in range(6)]
    found = learn([*good, Rollout(False, tuple(episode(reach=400)))], 0.05, (0, 6))
    assert (found.failed, found.learned_on, found.set_on) == (1, 3, 3)
    assert found.profile.total == len(episode()) and found.factor is None
    assert calibrated_monitors(found, subgoals=False) == (), "the default is to do nothing"
    with pytest.raises(NoCalibration, match="2 of 2 clean episodes succeed: too few"):
        learn(good[:2], 0.05, (0, 1))


def test_a_profile_knows_phases_widths_and_subgoals_and_no_twitch():
    twitch = episode()
    twitch[5] = reading(5, closing=True)
    with_goals = [
        Reading(**{**{k: getattr(r, k) for k in r.__slots__}, "subgoal": f"{r.step // 30}:x"}) for r in twitch
    ]
    profile = Profile.learn([episode(), episode(reach=25), with_goals])
    assert [(p.closing, p.shortest, p.longest) for p in profile.phases] == [
        (False, 20, 25), (True, 30, 30), (False, 6, 6),
    ]  # fmt: skip
    assert profile.widths_m == ((0.04, 0.04),) and profile.subgoals == {"0:x": 30, "1:x": 26}


@pytest.mark.parametrize(
    ("course", "alarm", "onset"),
    [
        (episode(reach=31), "late", 0),
        (episode(carry=41), "late", 20),
        (episode(reach=8), "early-close", 8),
        (episode(carry=16), "early-open", 36),
        (episode(leave=30), "late", 50),
    ],
)
def test_tempo_notices_what_takes_too_long_or_too_short(course: list[Reading], alarm: str, onset: int):
    profile = Profile.learn([episode(), episode(reach=22, carry=32)])
    said = alarms(Tempo(profile), course)
    assert (said[0].monitor, said[0].onset) == (alarm, onset)
    assert alarms(Tempo(profile), episode()) == []


def test_a_grasp_of_another_width_is_one_of_something_else():
    profile = Profile.learn([episode()])
    (thin,) = alarms(GraspWidth(widths=profile.widths_m), episode(width_mm=30))
    assert "something else" in thin.note and thin.onset == 20 and thin.since == 0
    (empty,) = alarms(GraspWidth(), episode(width_mm=1))
    assert "nothing" in empty.note
    assert alarms(GraspWidth(), episode(width_mm=30)) == [], "without a profile a hand is only empty or not"


def test_a_hand_that_is_told_to_close_and_does_not():
    stuck = [reading(i, closing=True, width_mm=79) for i in range(20)]
    (said,) = alarms(Unclosed(), stuck)
    assert (said.step, said.onset) == (8, 0)
    assert alarms(Unclosed(), episode()) == []


def test_no_motion_is_a_stop_and_a_hand_that_closes_is_none():
    still = [reading(i, command=(0.0,) * 6 + (1.0,), closing=True) for i in range(40)]
    (said,) = alarms(Idle(), still)
    assert (said.onset, said.step) == (1, 25), "the first step told the gripper something new"
    assert alarms(Idle(), episode()) == []


def test_commands_that_come_again_are_a_loop_and_a_steady_push_is_none():
    around = [reading(i, command=(math.sin(i * 2 * math.pi / 8), 0.2, 0.0, 0.0, 0.0, 0.0, -1.0)) for i in range(60)]
    (said,) = alarms(Loop(), around)
    assert "the commands of 8 steps" in said.note and said.step == 23
    assert alarms(Loop(), [reading(i) for i in range(60)]) == []


@pytest.mark.parametrize(("delay", "expected"), [(1, 0), (8, 1)])
def test_motion_that_follows_commands_late_is_noticed(delay: int, expected: int):
    told = [(math.sin(i / 5), math.cos(i / 7), 0.0) for i in range(120)]
    place = np.zeros(3)
    course = []
    for i, now in enumerate(told):
        place = place + 0.02 * np.array(told[max(0, i - delay)])
        course.append(reading(i, command=(*now, 0.0, 0.0, 0.0, -1.0), eef_pos_m=tuple(place)))
    assert len(alarms(Lag(), course)) == expected


def test_a_turn_that_does_not_come_is_a_stall_too():
    held = [reading(i, command=(0, 0, 0, 0, 0, 0.9, -1.0), eef_pos_m=(0.0, 0.0, 0.9)) for i in range(30)]
    (said,) = alarms(Stall(), held)
    assert said.note.startswith("turning") and said.onset == 0


def test_chunks_that_disagree():
    course = [reading(i, disagreement=(0.9 if i == 20 else 0.1) if i % 10 == 0 else None) for i in range(30)]
    (said,) = alarms(ChunkDisagreement(), course)
    assert (said.step, said.onset) == (20, 10)


def test_a_subgoal_that_no_clean_episode_had_or_that_lasts_too_long():
    def course(*states: str) -> list[Reading]:
        return [reading(i, subgoal=state) for i, state in enumerate(states)]

    profile = Profile.learn([course(*["0:reach"] * 10, *["1:grasp"] * 5)])
    (lost,) = alarms(Subgoals(profile), course(*["0:reach"] * 10, *["1:reach"] * 6))
    assert (lost.monitor, lost.onset, lost.step) == ("subgoal-lost", 10, 13)
    (late,) = alarms(Subgoals(profile), course(*["0:reach"] * 20))
    assert (late.monitor, late.onset) == ("subgoal-late", 0)


@pytest.fixture(scope="module")
def made() -> Calibration:
    """A calibration of one task, learned from 40 episodes that are all alike."""
    found = learn([Rollout(True, tuple(episode())) for _ in range(40)], 0.05, (0, 39))
    settings = {monitor.name: monitor.settings() for monitor in (*own_monitors(found.profile), Subgoals(found.profile))}
    return Calibration(alpha=0.05, agent={"agent": "x"}, monitors=settings, tasks={TASK: found})


def test_a_file_is_read_back_and_one_for_other_monitors_is_refused(made: Calibration, tmp_path: Path):
    made.save(tmp_path / "here.json")
    assert Calibration.load(tmp_path / "here.json") == made
    supervisor = build(DiagnosisConfig(diagnoser="rules", calibration=str(tmp_path / "here.json")))
    assert supervisor is not None and supervisor.fingerprint()["calibration"] == made.digest
    other = made.model_copy(update={"monitors": {**made.monitors, "stall": {"steps": 3}}})
    other.save(tmp_path / "other.json")
    with pytest.raises(NoCalibration, match=r"other.json was made for monitors that are set otherwise"):
        Calibration.load(tmp_path / "other.json")
    with pytest.raises(NoCalibration, match="cannot be read"):
        Calibration.load(tmp_path / "none.json")
    with pytest.raises(NoCalibration, match="cannot be read"):
        Calibration.load(tmp_path)


def changed(made: Calibration, where: str, value: Any) -> str:
    """The text of a calibration file with one field set otherwise; `...` takes it out. Paths have slashes."""
    whole = made.model_dump(mode="json")
    *folders, last = where.replace("TASK", "tasks/T").split("/")
    place: Any = whole
    for name in folders:
        place = place[TASK if name == "T" else int(name) if isinstance(place, list) else name]
    if value is ...:
        del place[last]
    else:
        place[int(last) if isinstance(place, list) else last] = value
    return json.dumps(whole)


def refusal(path: Path, text: str | bytes) -> str:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(NoCalibration) as refused:
        Calibration.load(path)
    assert isinstance(refused.value, ArenaError) and "calibrate" in str(refused.value)
    return str(refused.value)


@pytest.mark.parametrize(
    ("where", "value", "told"),
    [
        ("TASK/limits/stall", math.nan, "limits.stall: Input should be a finite number (got nan)"),
        ("TASK/limits/stall", math.inf, "limits.stall: Input should be a finite number (got inf)"),
        ("TASK/limits/stall", -3.0, "limits.stall: Input should be greater than or equal to 1 (got -3.0)"),
        ("TASK/limits/stall", 0.0, "limits.stall: Input should be greater than or equal to 1 (got 0.0)"),
        ("TASK/limits/stall", 1e300, "limits.stall: Input should be less than or equal to 1000000 (got 1e+300)"),
        ("TASK/limits/stall", "3.5", "limits.stall: Input should be a valid number (got '3.5')"),
        ("TASK/limits/stall", True, "limits.stall: Input should be a valid number (got True)"),
        ("TASK/limits/stall", ..., "limits.stall: missing: the monitor needs a limit"),
        ("TASK/limits/stahl", 1.0, "limits.stahl: there is no such monitor; there are chunk-disagreement, "),
        ("TASK/limits", [1.0], "limits: Input should be an object (got [1.0])"),
        ("TASK/limits_subgoals/subgoal", ..., "limits_subgoals.subgoal: missing: the monitor needs a limit"),
        ("TASK/factor", math.nan, "factor: Input should be a finite number (got nan)"),
        ("TASK/factor", 0.2, "factor: Input should be greater than or equal to 1 (got 0.2)"),
        ("TASK/factor_subgoals", "1", "factor_subgoals: Input should be a valid number (got '1')"),
        ("TASK/profile/total", -1, "profile.total: Input should be greater than or equal to 0 (got -1)"),
        ("TASK/profile/phases/0/longest", 2, "profile.phases.0: shortest 20 is longer than longest 2"),
        ("TASK/profile/widths_m/0", [0.05, 0.04], "profile.widths_m.0: the least width comes first"),
        ("TASK/profile/subgoals", {"0:x": -5}, "profile.subgoals.0:x: Input should be greater than"),
        ("TASK/learned_on", "20", "learned_on: Input should be a valid integer (got '20')"),
        ("TASK/surprise", 1, "surprise: Extra inputs are not permitted (got 1)"),
        ("TASK/factor", ..., "factor: Field required"),
        ("tasks", [], "tasks: Input should be an object (got [])"),
        ("tasks", {"t": 3}, "tasks.t: Input should be an object (got 3)"),
        ("alpha", 1.0, "alpha: Input should be less than 1 (got 1.0)"),
        ("agent", {"noise": math.inf}, "agent: Out of range float values are not JSON compliant"),
        ("agent", ..., "agent: Field required"),
    ],
)
def test_a_value_that_no_calibration_has_is_refused_with_file_and_field(
    made: Calibration, tmp_path: Path, where: str, value: Any, told: str
):
    message = refusal(tmp_path / "bad.json", changed(made, where, value))
    path = f"tasks.{TASK}." if where.startswith("TASK") else ""
    head = "bad.json: 1 problem; `arena diagnose calibrate TASKS --to FILE` makes such a file\n  "
    assert message.startswith(head + path + told)


def test_all_problems_of_a_file_are_told_at_once_and_not_more_than_can_be_read(made: Calibration, tmp_path: Path):
    whole = json.loads(changed(made, "TASK/limits/stall", -1))
    del whole["tasks"][TASK]["limits"]["tempo"]
    whole["tasks"][TASK]["factor"], whole["alpha"] = math.nan, 7
    message = refusal(tmp_path / "bad.json", json.dumps(whole))
    assert message.startswith("bad.json: 4 problems; ")
    for field in ("limits.stall: ", "limits.tempo: missing", "factor: ", "alpha: "):
        assert field in message
    whole["tasks"] = {f"task {i}\x1b[2J\u202e": 1 for i in range(50)}
    message = refusal(tmp_path / "bad.json", json.dumps(whole))
    assert message.endswith("\n  and 31 more") and len(message.splitlines()) == 22
    assert not {"\x1b", "\u202e"} & set(message), "names in a file are not to be trusted"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON, or cut off"),
        ("{}", "version: expected 1 (got None); calibrate again"),
        ("[1, 2]", "expected a JSON object, got list"),
        ("null", "expected a JSON object, got NoneType"),
        (b"\xff\xfe\x00", "not JSON, or cut off"),
        ('{"version": 2, "what": "else"}', "version: expected 1 (got 2); calibrate again"),
        ('{"version": "1"}', "version: expected 1 (got '1'); calibrate again"),
        ('{"version": true}', "version: expected 1 (got True); calibrate again"),
        ('{"a":' * 20_000, "not JSON, or cut off"),
        (b" " * (16 * 2**20 + 1), "more than 16 MiB, which no calibration has"),
    ],
)
def test_what_is_no_calibration_at_all_is_refused_with_its_file(tmp_path: Path, text: str | bytes, told: str):
    assert told in refusal(tmp_path / "bad.json", text)


def test_a_file_that_was_cut_off_anywhere_is_refused(made: Calibration, tmp_path: Path):
    text = made.model_dump_json()
    for end in range(0, len(text), 97):
        assert "cut off" in refusal(tmp_path / "bad.json", text[:end])


KILLED = """
import os, signal, sys
from pathlib import Path
from arena.diagnosis.conformal import Calibration
path = Path(sys.argv[1])
found = Calibration.load(path)
os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
found.model_copy(update={"alpha": 0.4}).save(path)
"""


def test_a_process_that_is_killed_while_it_writes_leaves_the_file_as_it_was(made: Calibration, tmp_path: Path):
    path = tmp_path / "limits.json"
    made.save(path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], capture_output=True, timeout=120)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert Calibration.load(path) == made


def test_episodes_are_kept_until_the_file_is_written_and_are_not_played_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """A disk that is full in the last moment, and the same command again."""
    path, played = tmp_path / "limits.json", []

    def play(env: object, agent: object, seed: int) -> Rollout:
        played.append(seed)
        return Rollout(True, tuple(episode()))

    def full(self: Calibration, path: Path) -> None:
        raise OSError("No space left on device")

    monkeypatch.setattr(conformal, "roll_out", play)
    monkeypatch.setattr(conformal.environments, "make", lambda *_: make_arm(ARM, ActionSpace.NATIVE))
    with monkeypatch.context() as patched, pytest.raises(OSError, match="No space left"):
        patched.setattr(Calibration, "save", full)
        conformal.calibrate(["t"], "random", episodes=8, alpha=0.2, to=path)
    assert len(played) == 8 and [item.name for item in tmp_path.iterdir()] == ["limits.json.episodes.jsonl"]
    found = conformal.calibrate(["t"], "random", episodes=8, alpha=0.2, to=path)
    assert len(played) == 8 and [item.name for item in tmp_path.iterdir()] == ["limits.json"]
    assert Calibration.load(path) == found


def test_scores_are_graded_without_any_alarm():
    found: TaskCalibration = learn([Rollout(True, tuple(episode())) for _ in range(8)], 0.5, (0, 7))
    monitors = own_monitors(found.profile)
    scores = highest_scores(monitors, episode(reach=60))
    assert scores["tempo"] > 1 and scores["gripper-open"] < 1
