"""`arena serve-policy`: a policy server of ours, for teams that test their own client."""

from __future__ import annotations

import contextlib
import difflib
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated

import typer
from rich.progress import Progress

import environments
from agents.policies.options import missing_packages
from agents.policies.server import PROTOCOLS, PolicyServer, serve
from agents.policies.server.neighbour import Neighbour, NeighbourServer
from agents.policies.server.path import ExpertPath
from arena.cli.common import (
    AsJson,
    console,
    errors,
    listed,
    plain,
    print_json,
)
from arena.cli.diagnose_options import refuse
from arena.cli.libero import Libero, use_libero
from arena.errors import Problem

POLICIES = ("scripted", "neighbour")
DEFAULT_TASK = "tabletop/pick-place-bowl-v1"


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command("serve-policy")(serve_policy)


def serve_policy(
    policy: Annotated[str, typer.Argument(help="Which policy: scripted or neighbour.")],
    protocol: Annotated[str, typer.Option(help=f"One of {', '.join(PROTOCOLS)}.")] = "openpi",
    task: Annotated[
        str, typer.Option(help="Id of a robot task with a native space; for neighbour: globs.")
    ] = DEFAULT_TASK,
    seed: Annotated[
        int,
        typer.Option(
            min=0, max=2**31 - 1, help="Seed of the client's episodes, unless it tells another; neighbour's first."
        ),
    ] = 0,
    demonstrations: Annotated[
        int, typer.Option(min=1, max=1000, help="For neighbour: seeds of each task that the expert plays for it.")
    ] = 20,
    chunk: Annotated[int, typer.Option(min=1, max=1000, help="Actions in one answer; plain OpenVLA has one.")] = 10,
    host: Annotated[str, typer.Option(help="Address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65_535, help="Port; 0 takes a free one.")] = 8000,
    libero: Libero = None,
    as_json: AsJson = False,
) -> None:
    """Serve a policy of ours by a policy protocol until stopped.

    `scripted` plays the task once for itself and answers by the arm's state, so the client must play the same task and
    seed and execute what it is told; a client that does not is told so, in the way of the protocol. `neighbour` answers
    wherever the arm is, with what the expert did where a demonstration looked most alike (openpi's protocol).
    """
    problems: list[Problem] = []
    use_libero(libero, problems)
    refuse(problems)
    _known("policy", policy, POLICIES)
    _known("protocol", protocol, PROTOCOLS)
    if told := missing_packages(protocol):
        raise typer.BadParameter(told)
    with contextlib.ExitStack() as stack:
        if policy == "neighbour":
            served = _neighbour(protocol, task, range(seed, seed + demonstrations))
            start: Callable[[], PolicyServer] = partial(NeighbourServer, served, host, port, chunk)
        else:
            expert = ExpertPath(task, seed)
            stack.callback(expert.close)
            expert.chunk(None, 0, 1)  # plays the episode now, so that the first request does not wait for it
            start = partial(serve, protocol, expert, host, port, chunk)
        try:
            server = stack.enter_context(start())
        except OSError as error:
            raise typer.BadParameter(
                f"cannot listen at {host} port {port}: {error.strerror}; choose another, or 0 for a free one",
                param_hint="--port",
            ) from None
        with contextlib.suppress(KeyboardInterrupt):  # Ctrl-C or SIGTERM: to stop a server is no failure
            if as_json:
                print_json({"url": server.url, "policy": policy, "protocol": protocol, "task": task, "seed": seed})
            else:
                last = seed + demonstrations - 1 if policy == "neighbour" else seed
                knows = f"seed {seed}" if last == seed else f"seeds {seed} to {last}"
                console.print(plain(f"{policy} policy, {protocol} protocol, {task}, {knows}, at\n{server.url}"))
                console.print(plain("Stop it with Ctrl-C."), style="dim")
            sys.stdout.flush()
            threading.Event().wait()


def _neighbour(protocol: str, globs: str, seeds: Sequence[int]) -> Neighbour:
    """Let the expert play, which takes some seconds a task."""
    if protocol != "openpi":
        raise typer.BadParameter("policy neighbour is served by openpi alone", param_hint="--protocol")
    tasks = [task.id for glob in listed(globs) for task in environments.match(glob)]
    if not tasks:
        raise typer.BadParameter(f"no task is {globs!r}", param_hint="--task")
    count = f"{len(seeds)} demonstration{'s' * (len(seeds) != 1)}"
    errors.print(plain(f"neighbour: the expert plays {count} of {len(tasks)} task{'s' * (len(tasks) != 1)} first"))
    with Progress(console=errors, transient=True) as bars:
        bar = bars.add_task("demonstrations", total=len(tasks) * len(seeds))
        return Neighbour(tasks, seeds, tell=lambda task: bars.update(bar, advance=1, description=task))


def _known(what: str, name: str, names: Iterable[str]) -> None:
    known = tuple(names)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"did you mean {near[0]!r}?" if near else f"there is {', '.join(known)}"
        raise typer.BadParameter(f"no {what} {name!r}; {hint}")
