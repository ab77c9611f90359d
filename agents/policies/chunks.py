"""From what a policy says to native actions: shapes, ranges and grippers checked, nothing passed on unseen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from agents.policies.options import Conventions, Gripper
from agents.policies.wire import WireError

LONGEST = 1000
"""Steps of the longest chunk that is taken."""
Rows = NDArray[np.float64]


def read_rows(value: Any, name: str, *, single: bool = False) -> Rows:
    """A chunk as it came, (H, 7) float64, finite.

    Args:
        value: an array, or nested lists of numbers.
        name: how the protocol calls it, for messages.
        single: whether one action, (7,), is a chunk of one.

    Raises:
        WireError: for anything else, with the place and the value.
    """
    expected = f"(H, 7){' or (7,)' if single else ''}"
    try:
        array = np.asarray(value)
    except (ValueError, TypeError):  # ragged lists
        raise WireError(f"`{name}` is no array of shape {expected}") from None
    if array.dtype.kind not in "iuf":
        raise WireError(f"`{name}` holds {array.dtype}, not numbers; expected shape {expected}")
    if single and array.ndim == 1:
        array = array[np.newaxis]
    if array.ndim != 2 or array.shape[1] != 7 or not 1 <= len(array) <= LONGEST:
        raise WireError(f"`{name}` has shape {np.shape(value)}, expected {expected} with 1 <= H <= {LONGEST}")
    rows = array.astype(np.float64)
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        row, column = bad[0]
        raise WireError(f"`{name}`[{row}, {column}] is {rows[row, column]}, not a finite number")
    return rows


def to_native(rows: Rows, conventions: Conventions, tolerance: float, name: str) -> tuple[Rows, int]:
    """A policy's actions as native ones, and how many numbers had to be clipped.

    Raises:
        WireError: for a value outside its range by more than `tolerance`.
    """
    low = np.full(7, -1.0)
    low[6] = -1.0 if conventions.gripper == "signed" else 0.0
    outside = (rows < low - tolerance) | (rows > 1.0 + tolerance)
    if outside.any():
        row, column = np.argwhere(outside)[0]
        raise WireError(
            f"`{name}`[{row}, {column}] is {rows[row, column]:.4g}, outside [{low[column]:g}, 1] by more than the"
            f" tolerance of {tolerance:g}; check how the policy scales its actions"
            + (f" and `gripper` (now {conventions.gripper})" if column == 6 else "")
            + ", or raise `tolerance` if they are meant to be clipped"
        )
    inside = np.clip(rows, low, 1.0)
    clipped = int(np.count_nonzero(inside != rows))
    inside[:, 6] = gripper_to_native(inside[:, 6], conventions.gripper)
    if conventions.binarise_gripper:
        inside[:, 6] = np.sign(inside[:, 6])
    return inside, clipped


def gripper_to_native(command: Rows, gripper: Gripper) -> Rows:
    """A gripper's commands in LIBERO's convention: -1 opens, 1 closes."""
    if gripper == "unit-open":
        return 1.0 - 2.0 * command
    return 2.0 * command - 1.0 if gripper == "unit-close" else command


def gripper_from_native(command: Rows, gripper: Gripper) -> Rows:
    """The inverse of `gripper_to_native`, for our own servers."""
    if gripper == "unit-open":
        return (1.0 - command) / 2.0
    return (command + 1.0) / 2.0 if gripper == "unit-close" else command
