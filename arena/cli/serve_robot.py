"""`arena serve-robot`: the reference robot, a simulated task behind the interface for real ones."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from typing import Annotated, Any

import numpy as np
import typer
from rich.prompt import Confirm

from agents.policies.chunks import Rows
from agents.policies.options import missing_packages
from agents.policies.server.openpi import RoboArenaServer
from agents.policies.server.path import Served, State, same
from arena.cli.common import AsJson, console, plain, print_json
from environments.real.robot import WATCHDOG_S
from environments.real.server import RobotServer
from environments.real.simulated import SimulatedRobot

DEFAULT_TASK = "tabletop/pick-place-bowl-v1"


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("serve-robot")(serve_robot)


def serve_robot(
    task: Annotated[str, typer.Argument(help="Id of a simulated robot task with a native space.")] = DEFAULT_TASK,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8100,
    paced: Annotated[bool, typer.Option(help="Actions last their 50 ms of real time.")] = True,
    operator: Annotated[bool, typer.Option(help="Ask at this terminal to set the scene and to judge.")] = False,
    fault: Annotated[str, typer.Option(help="A fault of every episode: its kind, or a JSON object.")] = "",
    watchdog_s: Annotated[
        float, typer.Option("--watchdog", min=0.05, max=3600, help="Seconds without an action until the robot holds.")
    ] = WATCHDOG_S,
    policy_port: Annotated[
        int | None,
        typer.Option(min=0, max=65_535, help="Also serve a scripted policy for it there, by RoboArena's protocol."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Serve a simulated robot as a real one is served, until stopped (docs/real-robot.md).

    The policy of `--policy-port` sees this simulator's poses and does not re-check its grasp: it is there so that the
    loop can be tried, and is no contestant.
    """
    if missing := missing_packages("roboarena"):
        raise typer.BadParameter(missing)
    confirm = (lambda question: Confirm.ask(question, console=console)) if operator else None
    robot = SimulatedRobot(task, fault=_fault(fault), paced=paced, confirm=confirm)
    with contextlib.ExitStack() as stack:
        try:
            server = stack.enter_context(RobotServer(robot, host, port, watchdog_s=watchdog_s))
            stack.callback(server.call, robot.close)
            told: dict[str, str | None] = {"url": server.url, "task": task, "policy_url": None}
            if policy_port is not None:
                told["policy_url"] = stack.enter_context(_PolicyBesideRobot(robot, server, host, policy_port)).url
        except OSError as error:
            raise typer.BadParameter(f"cannot listen at {host}: {error.strerror}; choose another port") from None
        if as_json:
            print_json(told)
        else:
            beside = f", its policy (roboarena) at {told['policy_url']}" if told["policy_url"] else ""
            console.print(plain(f"{server.description.name}: {server.url}{beside}"))
            console.print(plain("Stop it with Ctrl-C."), style="dim")
        sys.stdout.flush()
        with contextlib.suppress(KeyboardInterrupt):  # to stop a server is no failure
            threading.Event().wait()


def _fault(text: str) -> Any:
    if not text:
        return None
    if not text.lstrip().startswith(("{", "[")):
        return {"kind": text}
    try:
        return json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"is no JSON: {error}", param_hint="--fault") from None


class _Believer(Served):
    """The scripted policy of the simulator that the robot is, asked in the robot's own thread."""

    def __init__(self, robot: SimulatedRobot, server: RobotServer) -> None:
        self._robot, self._server = robot, server
        self._player: Any = None

    def forget(self) -> None:
        """Look at the scene anew with the next request."""
        self._player = None

    def chunk(self, seed: Any, at: State | int, length: int, told: Any = same) -> Rows:
        """One action, (1, 7)."""

        def act() -> Any:
            if self._player is None:
                from environments.robots.expert import believing_player  # loads MuJoCo

                self._player = believing_player(self._robot.env)
                self._player.reset()
            return self._player.act()

        return np.array([self._server.call(act)], np.float64)


class _PolicyBesideRobot(RoboArenaServer):
    """RoboArena's protocol, whose `reset` makes the policy drop its beliefs; it looks at no picture."""

    metadata = {**RoboArenaServer.metadata, "image_resolution": [32, 32]}  # noqa: RUF012  as its parent's

    def __init__(self, robot: SimulatedRobot, server: RobotServer, host: str, port: int) -> None:
        self._believer = _Believer(robot, server)
        super().__init__(self._believer, host, port, 1)

    def reply(self, message: bytes | str, previous_ms: float | None) -> bytes | str:
        """As RoboArena's server."""
        answer = super().reply(message, previous_ms)
        if isinstance(answer, str):  # that of a reset
            self._believer.forget()
        return answer
