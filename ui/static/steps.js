// The steps of an episode, fetched in windows around the position, and the map between steps and frames.

import { get } from "./http.js";

const WINDOW = 256;
const KEPT = 16;

/** Rows of steps by index. `at` answers at once; a missing window is fetched and `arrived` is called. */
export class Steps {
  constructor(id, arrived) {
    this.id = id;
    this.arrived = arrived;
    this.windows = new Map();
  }

  forget() {
    this.windows.clear();
  }

  /** The step, or null while its window is on the way. */
  at(index) {
    const number = Math.floor(index / WINDOW);
    const window = this.windows.get(number);
    if (window === undefined) this.#fetch(number);
    return window?.rows?.[index - number * WINDOW] ?? null;
  }

  async #fetch(number) {
    const window = { rows: null };
    this.windows.set(number, window);
    if (this.windows.size > KEPT) this.windows.delete(this.windows.keys().next().value);
    try {
      const start = number * WINDOW;
      window.rows = (await get(`episodes/${this.id}/steps`, { start: String(start), stop: start + WINDOW })).items;
    } catch (error) {
      window.error = error;
      setTimeout(() => this.windows.delete(number), 2000); // the next look tries again
    }
    this.arrived();
  }
}

/** Steps and frames. `runs` are [step, frame] pairs from which both count on one by one. */
export class Frames {
  constructor(runs, count) {
    this.runs = runs.length ? runs : [[0, 0]];
    this.count = count;
  }

  /** The frame that the player saw at a step; for the final state, the frame after the last action. */
  of(step) {
    const [index, frame] = this.runs.findLast(([start]) => start <= step) ?? this.runs[0];
    if (step < this.count) return frame + step - index;
    return this.count ? this.of(this.count - 1) + 1 : 0;
  }

  /** The step whose picture a step shows: its own, or the nearest earlier one that was drawn. */
  pictureOf(step) {
    const frame = this.of(step);
    let drawn = step;
    while (drawn > 0 && drawn < this.count && this.of(drawn - 1) === frame) drawn -= 1;
    return drawn;
  }

  /** The step during which a frame was on the screen. */
  stepAt(frame) {
    if (this.count && frame > this.of(this.count - 1)) return this.count;
    const position = this.runs.findLastIndex(([, first]) => first <= frame);
    const [index, first] = this.runs[Math.max(0, position)];
    const next = this.runs[position + 1]?.[0] ?? this.count;
    return Math.max(0, Math.min(index + frame - first, next - 1));
  }
}
