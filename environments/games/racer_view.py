"""The picture of the race: a projected road with hills and bends, drawn row by row, and what stands on it.

A camera follows the car. Each visible piece of road fills the rows between its two ends; along these rows the road's
middle, its width and the inverse depth are linear, as on any plane in perspective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from environments import drawing
from environments.drawing import Canvas, Colour
from environments.env import Frame
from environments.games import racer_paint as paint
from environments.games.racer_track import CHECKPOINTS, HALF_WIDTH, LENGTH, SEGMENT, SEGMENTS, TICK_S, Car, Track

WIDTH, HEIGHT = 640, 480
HORIZON, FOCAL = 205.0, 430.0
CAMERA_HEIGHT, CAMERA_BEHIND = 3.1, 7.0
VISIBLE = 76
"""How many segments ahead are drawn."""
_GATE = LENGTH / CHECKPOINTS

Rows = NDArray[np.float32]
"""Numbers per row of the frame, or per row and channel."""


@dataclass(frozen=True, slots=True)
class Scene:
    """What changes from picture to picture."""

    car: Car
    ticks: int
    left_s: float
    gates: int
    since_gate_s: float
    since_crash_s: float
    place: int
    braking: bool
    won: bool
    lost: bool


@dataclass(frozen=True, slots=True)
class _Ground:
    """The road as seen now. Per end of a segment: place in the world, and the lowest row that hills leave free."""

    first: int
    """Number of the segment in which the camera is."""
    middle: list[float]
    """Sideways place of the road's middle, relative to the camera, in metres."""
    height: list[float]
    """Height relative to the camera."""
    depth: list[float]
    clip: list[float]

    def project(self, distance: float, across: float) -> tuple[float, float, float, float] | None:
        """Pixel x and y of a place on the road, pixels per metre there, and the row below which hills hide it."""
        index = int(distance / SEGMENT) - self.first
        if not 0 <= index < len(self.depth) - 1:
            return None
        share = distance / SEGMENT - int(distance / SEGMENT)
        middle, height, depth = (
            line[index] + share * (line[index + 1] - line[index]) for line in (self.middle, self.height, self.depth)
        )
        if depth < 2.0:
            return None
        scale = FOCAL / depth
        x = WIDTH / 2 + (middle + across * HALF_WIDTH) * scale
        return x, HORIZON - height * scale, scale, self.clip[index]


class RoadView:
    """Draws one track; keeps its sky and its plan."""

    def __init__(self, track: Track) -> None:
        self._track = track
        self._theme = paint.THEMES[track.theme]
        self._sky = paint.sky(self._theme, track.salt)
        self._plan = _plan_points(track)
        self._columns = np.arange(WIDTH, dtype=np.float32) + np.float32(0.5)

    def draw(self, scene: Scene) -> Frame:
        """The whole picture, (480, 640, 3) uint8."""
        ground, rows, top = self._survey(scene.car)
        canvas = Canvas()
        canvas.picture(0, 0, self._sky_at(scene.car.distance))
        if top < HEIGHT:
            canvas.picture(0, top, self._asphalt(*(line[top:] for line in rows)))
        self._stand_ups(canvas, ground, scene)
        self._own_car(canvas, scene)
        self._instruments(canvas, scene)
        return canvas.frame()

    def _survey(self, car: Car) -> tuple[_Ground, tuple[Rows, Rows, Rows], int]:
        """Project the road ahead; per row of the frame its middle, half width and distance; the first row it has."""
        track, eye = self._track, car.distance - CAMERA_BEHIND
        first = math.floor(eye / SEGMENT)
        share = eye / SEGMENT - first
        eye_height = _between(track.heights, first, share) + CAMERA_HEIGHT
        middles, halves, distances = (np.zeros(HEIGHT, np.float32) for _ in range(3))
        # The road's middle relative to the camera: straight ahead at the car, bending away before it.
        slope, sideways = 0.0, -car.across * HALF_WIDTH
        ground = _Ground(first, [], [], [], [])
        lowest, before = float(HEIGHT), (0.0, 0.0, 0.0)
        for step in range(VISIBLE + 1):
            number = first + step
            depth = number * SEGMENT - eye
            height = track.heights[max(0, number)] - eye_height
            ground.middle.append(sideways)
            ground.height.append(height)
            ground.depth.append(depth)
            ground.clip.append(lowest)
            near = max(depth, 1.0)
            here = HORIZON - height * FOCAL / near, WIDTH / 2 + sideways * FOCAL / near, 1.0 / near
            if step and here[0] < lowest - 1e-6:
                self._fill(before, here, lowest, (middles, halves, distances), eye)
                lowest = max(0.0, min(lowest, here[0]))
            before = here
            bend = track.bends[max(0, number)] * (1.0 - share if step == 0 else 1.0)
            slope += 0.045 * bend
            sideways += SEGMENT * slope
        return ground, (middles, halves, distances), math.ceil(lowest)

    @staticmethod
    def _fill(
        near: tuple[float, float, float],
        far: tuple[float, float, float],
        lowest: float,
        rows: tuple[Rows, Rows, Rows],
        eye: float,
    ) -> None:
        """Give the rows between a segment's two ends their middle, half width and distance."""
        start, stop = max(0, math.ceil(far[0])), min(HEIGHT, math.ceil(lowest))
        if start >= stop or near[0] - far[0] < 1e-6:
            return
        share = (near[0] - np.arange(start, stop, dtype=np.float32)) / np.float32(near[0] - far[0])
        inverse = near[2] + share * (far[2] - near[2])
        rows[0][start:stop] = near[1] + share * (far[1] - near[1])
        rows[1][start:stop] = HALF_WIDTH * FOCAL * inverse
        rows[2][start:stop] = eye + 1.0 / inverse

    def _asphalt(self, middle: Rows, half: Rows, distance: Rows) -> Frame:
        """Grass, kerbs, road and lines of some rows, each edge blended over one pixel."""
        theme = self._theme
        width = half[:, None]
        off = np.abs(self._columns[None, :] - middle[:, None])
        # Stripes fade with the distance, where they would flicker.
        fade = np.clip(half / 26.0, 0.0, 1.0)[:, None]
        band = (np.floor(distance / 12.0) % 2)[:, None]
        fine = (np.floor(distance / 4.0) % 2)[:, None]
        haze = np.clip(1.0 - half / 9.0, 0.0, 0.75)[:, None]
        grass, kerb, road, paint_white = (
            _mix(colours, theme.haze, haze)[:, None, :]
            for colours in (
                _mix(theme.grass, theme.grass_dark, band * fade),
                _mix((236, 236, 232), (196, 48, 42), fine * fade + 0.5 * (1 - fade)),
                _mix(theme.road, theme.road_dark, band * fade),
                (245, 245, 245),
            )
        )
        line = np.clip(np.maximum(0.014 * width, 0.3) - np.abs(off - 0.31 * width) + 0.5, 0.0, 1.0)
        line *= np.where(fine == 0, 0.8 * fade, 0.0)
        gates = np.abs((distance + _GATE / 2) % _GATE - _GATE / 2) < np.maximum(1.2, 24.0 / np.maximum(half, 1.0))
        line[gates & (distance > 10)] = 0.85
        mixed = grass + (kerb - grass) * np.clip(1.1 * width - off + 0.5, 0.0, 1.0)[..., None]
        surface = road + (paint_white - road) * line[..., None]
        surface -= mixed
        surface *= np.clip(width - off + 0.5, 0.0, 1.0)[..., None]
        mixed += surface
        pixels: Frame = mixed.astype(np.uint8)
        return pixels

    def _sky_at(self, distance: float) -> Frame:
        """The skyline, turned by the road's heading."""
        index = max(0, min(len(self._track.turned) - 2, int(distance / SEGMENT)))
        heading = _between(self._track.turned, index, distance / SEGMENT - index)
        shift = round(heading * 300) % self._sky.shape[1]
        return np.ascontiguousarray(np.roll(self._sky, -shift, axis=1)[:, :WIDTH])

    def _stand_ups(self, canvas: Canvas, ground: _Ground, scene: Scene) -> None:
        """Trees, signs, gates and rivals, from far to near."""
        eye = scene.car.distance - CAMERA_BEHIND
        cars = [(rival.at(scene.ticks), rival) for rival in self._track.rivals]
        cars = [(at, rival) for at, rival in cars if eye + 2.5 < at < eye + VISIBLE * SEGMENT]
        last = ground.first + VISIBLE - 1
        for number in range(last, max(ground.first, 0), -1):
            here = number * SEGMENT
            for at, rival in sorted((item for item in cars if here <= item[0] < here + SEGMENT), key=lambda c: -c[0]):
                self._sprite(canvas, ground, at, rival.lane, paint.car(rival.colour, 0, False), 1.95)
            if number and here % _GATE == 0:
                self._gate(canvas, ground, here, last=number == SEGMENTS)
            for sprite, across, wide in paint.scenery(self._track, self._theme, number):
                self._sprite(canvas, ground, here, across, sprite, wide)

    @staticmethod
    def _sprite(
        canvas: Canvas, ground: _Ground, distance: float, across: float, sprite: paint.Sprite, wide: float
    ) -> None:
        """A flat figure of a width in metres that stands on the ground, as far as no hill hides it."""
        spot = ground.project(distance, across)
        if spot is None:
            return
        x, y, scale, clip = spot
        pixels = wide * scale
        if pixels < 1.5 or x + pixels < 0 or x - pixels > WIDTH:
            return
        paint.stand(canvas, sprite, x, y, pixels, clip)

    def _gate(self, canvas: Canvas, ground: _Ground, distance: float, *, last: bool) -> None:
        """A banner across the road on two posts."""
        spot = ground.project(distance, 0.0)
        if spot is None or spot[2] < 2.2 or spot[3] < spot[1] - 1:
            return
        x, y, scale, _ = spot
        half, tall, post = 1.25 * HALF_WIDTH * scale, 5.6 * scale, max(1.0, 0.22 * scale)
        colour = drawing.GREEN if last else drawing.BLUE
        for side in (-half, half):
            canvas.polygon(
                [(x + side - post, y), (x + side + post, y), (x + side + post, y - tall), (x + side - post, y - tall)],
                (92, 96, 104),
            )
        top, bottom = y - tall, y - tall + 1.5 * scale
        canvas.polygon([(x - half, top), (x + half, top), (x + half, bottom), (x - half, bottom)], colour)
        size = int(1.1 * scale)
        if 12 <= size <= 60:
            canvas.text(x, (top + bottom) / 2, "FINISH" if last else "GATE", size, drawing.CARD, bold=True, anchor="mm")

    def _own_car(self, canvas: Canvas, scene: Scene) -> None:
        car = scene.car
        lean = 0 if abs(car.wheel) < 0.3 else 1 if car.wheel > 0 else -1
        shake = 2 * (scene.ticks // 2 % 2) if car.off_road and car.speed > 3 else 0
        scale = FOCAL / CAMERA_BEHIND
        y = HORIZON + CAMERA_HEIGHT * scale + 8 + shake
        paint.stand(canvas, paint.car(paint.OWN, lean, scene.braking), WIDTH / 2, y, 1.95 * scale, HEIGHT)

    def _instruments(self, canvas: Canvas, scene: Scene) -> None:
        """Time, speed, gates, place, the plan, help; what has just happened; the end."""
        car = scene.car
        canvas.panel((12, 12, 132, 74), drawing.INK, 8, 0.72)
        canvas.text(22, 17, "TIME LEFT", 12, (200, 206, 214))
        hurry = scene.left_s < 5
        canvas.text(22, 31, f"{scene.left_s:.1f} s", 28, (255, 120, 96) if hurry else drawing.CARD, bold=True)
        canvas.panel((508, 12, 628, 74), drawing.INK, 8, 0.72)
        canvas.text(518, 17, "KM/H", 12, (200, 206, 214))
        canvas.text(618, 13, str(round(3.6 * car.speed)), 28, drawing.CARD, bold=True, anchor="ra")
        canvas.panel((518, 56, 618, 64), (70, 76, 90), 4)
        share = car.speed / 60.0
        if share > 0.05:
            canvas.panel((518, 56, 518 + max(8, round(100 * share)), 64), drawing.GOLD, 4)
        canvas.panel((144, 12, 496, 46), drawing.INK, 8, 0.72)
        canvas.panel((156, 32, 484, 38), (70, 76, 90), 3)
        done = min(1.0, car.distance / LENGTH)
        for gate in range(1, CHECKPOINTS + 1):
            passed = gate <= scene.gates
            x = 156 + 328 * gate / CHECKPOINTS
            canvas.disc(min(x, 482), 35, 5, drawing.GREEN if passed else (170, 176, 186))
        canvas.disc(156 + 328 * done, 35, 6, drawing.GOLD)
        canvas.text(156, 15, f"Gates {scene.gates} of {CHECKPOINTS}", 12, drawing.CARD, bold=True)
        canvas.text(484, 15, f"Place {scene.place} of {len(self._track.rivals) + 1}", 12, drawing.CARD, anchor="ra")
        self._map(canvas, car)
        canvas.panel((12, 450, 282, 472), drawing.INK, 6, 0.6)
        canvas.text(20, 461, "Up gas   Down brake   Left, Right steer", 12, drawing.CARD, anchor="lm")
        self._news(canvas, scene)

    def _map(self, canvas: Canvas, car: Car) -> None:
        """The plan of the track, the part that is driven in gold, the car on it."""
        canvas.panel((508, 82, 628, 192), drawing.INK, 8, 0.6)
        points = self._plan
        at = max(0, min(len(points) - 1, round(car.distance / LENGTH * (len(points) - 1))))
        for index, (x, y) in enumerate(points):
            if index % 2 == 0:
                canvas.disc(x, y, 1.6, drawing.GOLD if index < at else (206, 212, 220))
        canvas.disc(*points[-1], 4, drawing.GREEN)
        canvas.disc(*points[at], 5, drawing.CARD)
        canvas.disc(*points[at], 3.5, drawing.RED)

    def _news(self, canvas: Canvas, scene: Scene) -> None:
        if scene.won:
            taken = f"{scene.ticks * TICK_S:.1f} s; par is {self._track.par_s:.1f} s."
            _ending(canvas, "Finish", taken, drawing.GREEN)
        elif scene.lost:
            missing = f"{max(0.0, LENGTH - scene.car.distance):.0f} m were left."
            _ending(canvas, "Time is up", missing, drawing.RED)
        elif scene.since_crash_s < 0.8:
            self._notice(canvas, "Crash", drawing.RED)
        elif scene.since_gate_s < 1.5:
            self._notice(canvas, "Gate: more time", drawing.GREEN)
        elif scene.car.off_road:
            self._notice(canvas, "Off the road", drawing.RED)
        elif scene.ticks < 10:
            self._notice(canvas, "Go: hold the gas", drawing.GREEN)

    @staticmethod
    def _notice(canvas: Canvas, words: str, fill: Colour) -> None:
        canvas.panel((220, 84, 420, 116), fill, 10)
        canvas.text(320, 100, words, 17, drawing.CARD, bold=True, anchor="mm")


def _ending(canvas: Canvas, headline: str, detail: str, fill: Colour) -> None:
    """The end of the race, above the road."""
    canvas.panel((118, 122, 522, 230), drawing.CARD, 16)
    canvas.panel((120, 124, 520, 228), fill, 14)
    canvas.fitted(320, 162, headline, 36, 360, drawing.CARD)
    canvas.text(320, 205, detail, 17, drawing.CARD, anchor="mm")


def _between(line: tuple[float, ...], index: int, share: float) -> float:
    index = max(0, min(len(line) - 2, index))
    return line[index] + share * (line[index + 1] - line[index])


def _mix(colour: Colour | Rows, other: Colour, share: Rows) -> Rows:
    """Colours per row, (rows, 3) float32, between two; `share` is (rows, 1)."""
    first, second = np.asarray(colour, np.float32), np.array(other, np.float32)
    mixed: Rows = (first + (second - first) * share).astype(np.float32)
    return mixed


def _plan_points(track: Track) -> list[tuple[float, float]]:
    """The track from above, fitted into the plan's panel."""
    x = y = 0.0
    points = []
    for number in range(SEGMENTS + 1):
        points.append((x, y))
        heading = 1.2 * track.turned[number]
        x, y = x + math.sin(heading), y - math.cos(heading)
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    scale = min(96 / max(1e-6, right - left), 88 / max(1e-6, bottom - top))
    middle_x, middle_y = (left + right) / 2, (top + bottom) / 2
    fitted = [(568 + (x - middle_x) * scale, 137 + (y - middle_y) * scale) for x, y in points]
    return fitted[::4]
