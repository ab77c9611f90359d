"""Real robots: the interface that a team implements, its wire form, and the tasks that play it.

    robot.py       what a robot is: the protocol, and the few values that it exchanges
    messages.py    the same as msgpack, bounded and checked
    server.py      puts a `Robot` on a WebSocket: one client, limits, watchdog, stop
    client.py      the other end
    simulated.py   the reference: our simulator as a `Robot`
    env.py         a `Robot` behind a URL as an environment with the native space
    timing.py      where the time of an execute / pause-and-inspect cycle goes
    profile.py, tasks.py   the `real/` tasks

The page for people who have a robot is docs/real-robot.md. Nothing here needs a simulator, but for `simulated`.
"""
