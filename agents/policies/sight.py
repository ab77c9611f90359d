"""What a policy is shown: pictures turned and scaled as it is used to, rendered only when they are asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from agents.policies.options import Conventions, Orientation

Camera = Literal["agentview", "wrist"]
Picture = NDArray[np.uint8]


class Sight:
    """One observation, for one request.

    A camera that a protocol does not send is never rendered.
    """

    def __init__(self, observation: Mapping[str, Any], prompt: str, conventions: Conventions) -> None:
        self._observation = observation
        self._conventions = conventions
        self.prompt = prompt
        """The instruction in words."""

    def picture(self, camera: Camera, size: tuple[int, int] | None = None) -> Picture:
        """A camera's picture, (H, W, 3) uint8, contiguous.

        Args:
            camera: which one.
            size: height and width asked for by the server; the conventions' own come first.
        """
        turned = turn(self._observation[camera], self._conventions.orientation)
        own = self._conventions.image_size
        wanted = (own, own) if own is not None else size or turned.shape[:2]
        fit = resized_with_pad if self._conventions.resize == "pad" else stretched
        return fit(turned, *wanted)

    @property
    def state(self) -> NDArray[np.float32]:
        """The arm, (8,) float32: position (m), axis times angle (rad), two finger joints (m)."""
        return np.array(self._observation["state"], np.float32)


def turn(picture: Picture, orientation: Orientation) -> Picture:
    """An upright picture as a policy was trained to see it.

    `mirror` swaps left and right: LIBERO's data are robosuite's frames, whose first row is the bottom one, turned by
    180 degrees, and that is the upright picture mirrored (measured with robosuite 1.4.0: equal to the last bit).
    """
    if orientation == "mirror":
        picture = picture[:, ::-1]
    elif orientation == "rotate180":
        picture = picture[::-1, ::-1]
    return np.ascontiguousarray(picture)


def resized_with_pad(picture: Picture, height: int, width: int) -> Picture:
    """The whole picture within the new frame, bilinear, on black: openpi's and vla-eval's way."""
    rows, columns = picture.shape[:2]
    if (rows, columns) == (height, width):
        return picture
    ratio = max(columns / width, rows / height)
    inner_height, inner_width = max(1, int(rows / ratio)), max(1, int(columns / ratio))
    frame = np.zeros((height, width, 3), np.uint8)
    top, left = (height - inner_height) // 2, (width - inner_width) // 2
    frame[top : top + inner_height, left : left + inner_width] = _scaled(
        picture, inner_height, inner_width, Image.Resampling.BILINEAR
    )
    return frame


def stretched(picture: Picture, height: int, width: int) -> Picture:
    """The picture stretched to the new frame by Lanczos: OpenVLA's way."""
    if picture.shape[:2] == (height, width):
        return picture
    return _scaled(picture, height, width, Image.Resampling.LANCZOS)


def _scaled(picture: Picture, height: int, width: int, method: Image.Resampling) -> Picture:
    return np.asarray(Image.fromarray(picture).resize((width, height), method))
