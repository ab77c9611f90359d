// The signs of a timeline: each kind has a sign and a shape of its own, so that none is told by its colour alone.

import { h, s } from "./dom.js";

export const EVENT = {
  fault: { sign: "⚡", name: "fault begins", shape: "triangle" }, trigger: { sign: "!", name: "alarm of a monitor", shape: "diamond" },
  diagnosis: { sign: "✚", name: "diagnosis", shape: "circle" }, fork: { sign: "⎇", name: "rollback", shape: "square" },
  repair: { sign: "⚒", name: "repair without going back", shape: "square" }, undo: { sign: "↩", name: "rollback taken back", shape: "square" },
  milestone: { sign: "◆", name: "milestone", shape: "circle" }, illegal: { sign: "⊘", name: "not allowed", shape: "circle" },
  unparsable: { sign: "¿", name: "unreadable", shape: "circle" }, refused: { sign: "⊗", name: "refused", shape: "circle" },
};

/** Stretches of steps that are not the player's own, or no longer count. */
export const BAND = {
  rewind: { sign: "↶", name: "rewind", text: "the arm retraces its path" },
  repair: { sign: "⚒", name: "repair", text: "the arm carries out a repair" },
  undone: { sign: "✕", name: "taken back", text: "these steps made things worse and were taken back" },
};

const SHAPES = {
  triangle: (r) => s("path", { class: "shape", d: `M 0 ${-1.35 * r} L ${1.3 * r} ${0.9 * r} L ${-1.3 * r} ${0.9 * r} Z` }),
  diamond: (r) => s("path", { class: "shape", d: `M 0 ${-1.3 * r} L ${1.3 * r} 0 L 0 ${1.3 * r} L ${-1.3 * r} 0 Z` }),
  square: (r) => s("rect", { class: "shape", x: -0.95 * r, y: -0.95 * r, width: 1.9 * r, height: 1.9 * r, rx: 2 }),
  circle: (r) => s("circle", { class: "shape", r }),
};

/** What to draw for an event, around the origin. */
export function mark(kind, radius) {
  const { sign, shape } = EVENT[kind] ?? { sign: "·", shape: "circle" };
  return [SHAPES[shape](radius), s("text", { y: 4 }, sign)];
}

/** A band over the rail of a lane: a frame, and strokes that run differently for each kind. */
export function band(kind, x, y, width, height) {
  const strokes = [];
  const gap = kind === "repair" ? 5 : 7;
  for (let at = gap / 2; at < width && kind !== "rewind"; at += gap) {
    const slant = kind === "undone" ? Math.min(height, 5) : 0;
    strokes.push(`M ${x + at} ${y + height} L ${Math.min(x + width, x + at + slant)} ${y}`);
  }
  return [s("rect", { x, y, width, height, rx: 3 }), strokes.length ? s("path", { class: "strokes", d: strokes.join(" ") }) : null];
}

/** The signs that a timeline shows, with their names. */
export function legend(events, bands) {
  const kinds = Object.keys(EVENT).filter((kind) => events.some((event) => event.kind === kind));
  const stretches = Object.keys(BAND).filter((kind) => bands.some((item) => item.kind === kind));
  return h("ul", { class: "signs", "aria-label": "signs of the timeline" },
    kinds.map((kind) => h("li", {}, s("svg", { class: "marked", width: 22, height: 22, viewBox: "-11 -11 22 22", "aria-hidden": "true" }, s("g", { class: `event ${kind}` }, mark(kind, 8))), EVENT[kind].name)),
    stretches.map((kind) => h("li", {}, s("svg", { class: "marked", width: 30, height: 22, viewBox: "0 0 30 22", "aria-hidden": "true" }, s("g", { class: `band ${kind}` }, band(kind, 1, 2, 28, 18))), `${BAND[kind].name}: ${BAND[kind].text}`)));
}
