"""Games that do not wait, and leave the order of things to their player."""

from __future__ import annotations
