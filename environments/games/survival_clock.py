"""The day of the survival game, in ticks of a quarter of a second."""

from __future__ import annotations

DAY_TICKS, DUSK_TICKS = 280, 180
"""A day, and its part before the night."""
