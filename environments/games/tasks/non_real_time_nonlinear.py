"""Games that wait for their player and leave the order of things to them."""

from __future__ import annotations
