"""The built-in tasks. Importing this module registers them; their engines load on first use."""

from environments.games import tasks as _games  # noqa: F401
from environments.native import tasks as _native  # noqa: F401
from environments.owned import tasks as _owned  # noqa: F401
from environments.real import tasks as _real  # noqa: F401
from environments.robots import tasks as _robots  # noqa: F401
from environments.robots.libero import tasks as _libero  # noqa: F401
