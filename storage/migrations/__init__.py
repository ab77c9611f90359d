"""The schema's history. `HEAD` is the revision that this version of the package reads and writes."""

from __future__ import annotations

HEAD = "0005"
"""Newest revision in `versions/`; a test keeps it true. Opening an up-to-date database compares it without Alembic."""
