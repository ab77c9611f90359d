"""A real robot, somewhere behind a URL, as an environment with the native action space."""

from __future__ import annotations

import hashlib
import importlib.util
import math
import string
import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces

from environments.actions.spec import Action, NativeActions
from environments.env import ArenaEnv, Frame, Views
from environments.errors import Irreversible, MissingEngine, NoExpert, RobotError
from environments.real.client import RobotClient
from environments.real.profile import RobotProfile
from environments.real.robot import Reading, Vector
from environments.real.timing import LOOP, Stopwatch
from environments.task import ActionSpace, Task

PATIENCE_S = 0.25
"""A player or diagnoser that takes longer makes the robot pause: well before its watchdog would."""
_SEEDS = 2**63


def make_real(task: Task, space: ActionSpace) -> RealRobotEnv:
    """Build the environment of a profile; the robot is asked for the first time by `reset`.

    Raises:
        MissingEngine: if the packages of the wire are not installed.
    """
    for module in ("msgpack", "websockets"):
        if importlib.util.find_spec(module) is None:
            raise MissingEngine(task.id, module, task.extra)
    return RealRobotEnv(task, space, RobotProfile.model_validate(task.params["profile"]))


class RealArm:
    """The arm as the last reading told; a rewind and a repair hold on to it, so there is one an episode."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        """The last."""

    @property
    def position(self) -> Vector:
        """Of the grip site, (3,) m."""
        return self.reading.position

    @property
    def rotation(self) -> Vector:
        """Of the grip site, (3, 3)."""
        return self.reading.rotation

    @property
    def velocity(self) -> Vector:
        """Of the grip site, (3,) m/s."""
        return self.reading.velocity

    @property
    def width_m(self) -> float:
        """The gap between the finger pads."""
        return float(self.reading.fingers[0] - self.reading.fingers[1])


class RealRobotEnv(ArenaEnv):
    """A robot behind a `RobotServer`, on a person's bench.

    Observation: as the simulated robots', see `environments.robots.robot_env.RobotEnv`. A picture is taken when it is
    looked at, after the joints were read; a picture's own time stamp less the joints' is `picture_lag_s` in the notes.

    Execute, pause, inspect: after `execute_s` of motion the robot is told to hold, and the next action takes it up
    again. Whoever takes longer than `PATIENCE_S` to decide in between lets it hold too. `notes["loop"]` of each step
    says where the time went (`timing`).

    Nothing here can be copied or taken back: an interrupted episode is played afresh. What can go back is the arm, by
    `rollback: physical`. The score is 100 where the judge says that the goal is reached, and else 0.

    Args:
        task: the task of the profile.
        space: `native`, the only one.
        profile: what is known of the robot.
        client: the link; by default one to the profile's URL.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 20}  # type: ignore[misc]
    reversible = False
    action_space: NativeActions

    def __init__(
        self, task: Task, space: ActionSpace, profile: RobotProfile, client: RobotClient | None = None
    ) -> None:
        super().__init__(task, space)
        self.profile = profile
        self._robot = client or RobotClient(profile.url, timeout_s=profile.timeout_s, person_s=profile.operator_s)
        self._cameras = {"agentview": profile.agentview, "wrist": profile.wrist}
        picture = spaces.Box(0, 255, (*profile.picture, 3), np.uint8)
        self.observation_space = spaces.Dict(
            {
                "agentview": picture,
                "wrist": picture,
                "state": spaces.Box(-np.inf, np.inf, (8,), np.float32),
                "instruction": spaces.Text(max_length=200, charset=string.printable),
            }
        )
        self.action_space = NativeActions()
        self._arm: RealArm | None = None
        self._steps, self._told, self._command = 0, [0.0] * 7, 0.0
        self._done = False
        self._judged = False
        self._stopwatch = Stopwatch(1)
        self._pause: threading.Timer | None = None
        self._lag_s = 0.0

    @property
    def main_view(self) -> str:
        """The view from outside."""
        return "agentview"

    @property
    def arm(self) -> RealArm:
        """As it was last read.

        Raises:
            ResetNeeded: Gymnasium's, before the first `reset`.
        """
        if self._arm is None:
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() first")
        return self._arm

    @property
    def command(self) -> float:
        """The gripper's last command: -1 open, 0 none, 1 close."""
        return self._command

    @property
    def control_steps(self) -> int:
        """Actions of this episode."""
        return self._steps

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Views, dict[str, Any]]:
        """Have the operator set the scene that goes with the seed.

        Raises:
            RobotError: if there is no robot, it is another one than the profile says, or the operator declines.
            ValueError: for options: nobody can inject a fault into a real robot from here.
        """
        if options:
            raise ValueError(f"{self.task.id} takes no reset options, got {sorted(options)}; it is a real robot")
        super().reset(seed=seed)
        self._unpause()
        robot = self._robot.describe()
        for key, camera in self._cameras.items():
            size = robot.cameras.get(camera)
            if size != self.profile.picture:
                has = ", ".join(f"{name} {h} x {w}" for name, (h, w) in robot.cameras.items())
                height, width = self.profile.picture
                told = f"`{key}: {camera}` in {height} x {width}, and the robot has {has or 'no camera'}"
                mend = "name its cameras in `agentview` and `wrist`, and in `picture` the size of both"
                raise RobotError(f"{self.task.id}: the profile wants {told}; {mend}")
        chosen = int(self.np_random.integers(_SEEDS)) if seed is None else seed
        self._arm = RealArm(self._robot.reset(self.task.goal, chosen))
        self._steps, self._told, self._command, self._done, self._judged = 0, [0.0] * 7, 0.0, False, False
        self._stopwatch = Stopwatch(max(1, round(self.profile.execute_s * robot.rate_hz)))
        self.moment += 1
        return self.observe(), {"illegal": None}

    def step(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """Carry out one action, which takes a control period; ends when the judge says that the goal is reached.

        The info's `notes` are for the record: `loop` (see `timing`), `clipped` where the robot's limits took something
        from the action, `paused` at the end of a cycle, `picture_lag_s`.

        Raises:
            InvalidAction: for an action that is none; the robot has heard nothing then.
            RobotError: if anything is wrong with the robot or the link: no score follows.
        """
        return self._act(self.action_space.parse(action), back=False)

    def override(self, action: Action) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        """`step`, on the way back or in a repair: its time is counted apart, and no cycle's pause falls into it."""
        return self._act(self.action_space.parse(action), back=True)

    def _act(self, action: list[float], *, back: bool) -> tuple[Views, float, bool, bool, dict[str, Any]]:
        before = self.score()
        if self._arm is None:
            raise gymnasium.error.ResetNeeded(f"{self.task.id}: call reset() before step()")
        self._unpause()
        self._stopwatch.acting(back=back)
        acted = self._robot.act(action)
        self._arm.reading = acted.reading
        self._steps, self._told, self._command = self._steps + 1, action, float(np.sign(action[6]))
        self._done, self._judged = acted.done is True, acted.done is not None
        self.moment += 1
        ended = self._done or self._steps >= self.task.max_steps
        pause = ended or (self._stopwatch.due and not back)
        if pause:
            self._robot.hold()
        else:
            self._pause_later()
        notes: dict[str, Any] = {LOOP: self._stopwatch.step()}
        notes |= {"clipped": True} if acted.clipped else {}
        notes |= {"paused": True} if pause else {}
        notes |= {"picture_lag_s": round(self._lag_s, 6)} if self._lag_s else {}
        self._lag_s = 0.0
        if ended:
            self.success()  # the operator is asked now, while the robot holds
        info = {"illegal": None, "notes": notes}
        return self.observe(), self.score() - before, self._done, ended and not self._done, info

    def _pause_later(self) -> None:
        """Let the robot hold if nobody decides soon: that is a pause for thought, and no broken link."""
        patience_s = min(PATIENCE_S, self._robot.watchdog_s / 2)
        self._pause = threading.Timer(patience_s, self._hold_for_thought, (self.moment,))
        self._pause.daemon = True
        self._pause.start()

    def _hold_for_thought(self, moment: int) -> None:
        if moment == self.moment and self._pause is not None:
            try:
                self._robot.hold()
            except RobotError:
                return  # the next action meets the same, in the thread that can tell

    def _unpause(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None

    def perceived(self, observation: Any) -> Any:
        """The observation itself; the player is being asked now, so the inspection is over."""
        self._stopwatch.enter("think")
        return observation

    def observe(self) -> Views:
        """The joints as read at the end of the last action; a picture is taken when it is first looked at."""
        reading = self.arm.reading
        state = np.concatenate([reading.position, reading.axis_angle, reading.fingers]).astype(np.float32)
        values = {"state": state, "instruction": self.task.goal}
        return Views(values, {key: partial(self._look, key) for key in self._cameras}, self)

    def _look(self, key: str) -> Frame:
        camera = self._cameras[key]
        picture = self._robot.observe([camera]).pictures[camera]
        self._lag_s = max(self._lag_s, picture.time_s - self.arm.reading.time_s)
        return picture.pixels.copy()

    def telemetry(self) -> dict[str, Any]:
        """What the robot knows of itself, under the names of the simulated ones (`RobotEnv.telemetry`)."""
        reading = self.arm.reading
        return {
            "gripper_command": self._command,
            "gripper_width_m": round(self.arm.width_m, 6),
            "eef_pos_m": [round(float(x), 6) for x in reading.position],
            "eef_speed_m_s": round(math.hypot(*reading.velocity), 6),
            "control_step": self._steps,
            "command": list(self._told),
        }

    # --- the judge ---------------------------------------------------------------------------------------------------

    def milestones(self) -> frozenset[str]:
        """`done`, where the judge has said so."""
        return frozenset({"done"} if self._done else ())

    def score(self) -> float:
        """100 where the judge has said that the goal is reached, else 0."""
        return 100.0 if self._done else 0.0

    def success(self) -> bool:
        """Whether the goal is reached; asks the robot's judge, once a moment, if it has not told by itself.

        Raises:
            RobotError: if nobody can tell: such an episode has no score.
        """
        if not self._judged:
            self._unpause()
            verdict = self._robot.success()
            if verdict is None:
                raise RobotError(f"{self.profile.url}: nobody says whether the goal is reached")
            self._done, self._judged = verdict, True
        return self._done

    def expert_action(self) -> Action:
        """Not offered.

        Raises:
            NoExpert: always.
        """
        raise NoExpert(f"{self.task.id} is a real robot and has no scripted expert; play it with a served policy")

    # --- what hardware cannot do -------------------------------------------------------------------------------------

    def state_hash(self) -> str:
        """SHA-256 of the last reading of the joints: all that can be known."""
        reading = self.arm.reading
        parts: Sequence[Vector] = (reading.position, reading.rotation, reading.fingers)
        return hashlib.sha256(b"".join(np.asarray(part, "<f8").tobytes() for part in parts)).hexdigest()

    def snapshot(self) -> bytes:
        """Not possible.

        Raises:
            Irreversible: always.
        """
        raise self._irreversible()

    def restore(self, snapshot: bytes) -> Views:
        """Not possible.

        Raises:
            Irreversible: always.
        """
        raise self._irreversible()

    def _get_state(self) -> bytes:
        raise self._irreversible()

    def _set_state(self, state: bytes) -> None:
        raise self._irreversible()

    def _irreversible(self) -> Irreversible:
        return Irreversible(
            f"{self.task.id} is a real robot: no snapshot of its world exists, so `rollback: sim` is impossible;"
            " use `rollback: physical`, which sends the arm back and leaves the objects where they are"
        )

    def close(self) -> None:
        """Let go of the robot, which holds its pose."""
        self._unpause()
        self._robot.close()
