// The timeline: one lane a branch on the world's own clock, events above, the score below on the same axis.

import { h, number, s, show } from "./dom.js";
import { BAND, EVENT, band, legend, mark } from "./marks.js";

const LEFT = 64;
const RIGHT = 12;
const LANE = 26;
const PLOT = 64;
export class Timeline {
  /** `episode` is the API's answer; `go(step, frame)` moves the replay. */
  constructor(episode, go) {
    this.episode = episode;
    this.go = go;
    this.svg = s("svg", { class: "timeline marked", role: "group", "aria-label": "timeline of the episode" });
    this.frame = h("div", {}, this.svg);
    this.legend = h("div", {});
    this.element = h("div", {}, this.frame, this.legend);
    this.step = 0;
    new ResizeObserver(() => this.draw()).observe(this.frame);
    this.svg.addEventListener("click", (event) => this.#clicked(event));
  }

  /** Renew the data, for an episode that is still running. */
  renew(episode) {
    this.episode = episode;
    this.draw();
  }

  laneOf(step) {
    const { branches } = this.episode;
    return branches.find((lane) => lane.start !== null && step >= lane.start && step < lane.stop) ?? branches.findLast((lane) => lane.start !== null) ?? null;
  }

  /** World time of a step. Exact where the world moves one step a decision, in proportion elsewhere. */
  simOf(step) {
    const lane = this.laneOf(step);
    if (!lane) return 0;
    const share = (step - lane.start) / Math.max(1, lane.stop - lane.start);
    return lane.sim_start + share * (lane.sim_stop - lane.sim_start);
  }

  draw() {
    const width = this.frame.clientWidth;
    const { branches, curve, events } = this.episode;
    if (!width) return;
    const top = 26;
    const lanes = Math.max(1, branches.length);
    const base = top + lanes * LANE + 8;
    const height = base + PLOT + 20;
    this.height = height;
    const end = Math.max(1, ...branches.map((lane) => lane.sim_stop));
    this.x = (sim) => LEFT + (sim / end) * (width - LEFT - RIGHT);
    this.end = end;
    this.width = width;
    const y = (branch) => top + branches.findIndex((lane) => lane.branch === branch) * LANE + LANE / 2;
    this.laneY = (branch) => y(branch);
    for (const [key, value] of [["viewBox", `0 0 ${width} ${height}`], ["width", width], ["height", height]]) this.svg.setAttribute(key, value);
    this.cursor = s("g", { class: "cursor" });
    show(this.svg, this.#lanes(branches, y), this.#events(events, y), this.#plot(branches, curve, base), this.cursor);
    show(this.legend, legend(events, this.episode.bands));
    this.#moveCursor();
  }

  #lanes(branches, y) {
    const many = branches.length > 1;
    return branches.map((lane) => {
      const middle = y(lane.branch);
      const fork = lane.fork;
      const from = fork ? this.#parent(lane) : null;
      return s("g", { class: `lane b${lane.branch % 4}`, data: { branch: lane.branch } },
        s("text", { class: "label", x: 0, y: middle + 4 }, many ? `branch ${lane.branch}` : "steps"),
        from === null ? null : s("path", { class: "rollback", d: this.#curve(this.x(fork.at_sim), y(from), this.x(lane.sim_start), middle) },
          s("title", {}, opened(fork))),
        s("line", { class: "rail", x1: this.x(lane.sim_start), x2: this.x(Math.max(lane.sim_stop, lane.sim_start + 0.2)), y1: middle, y2: middle }),
        this.episode.bands.filter((run) => run.branch === lane.branch).map((run) => this.#band(run, middle)),
        s("circle", { class: "start", cx: this.x(lane.sim_start), cy: middle, r: 4 }));
    });
  }

  #band(run, middle) {
    const { sign, name, text } = BAND[run.kind];
    const left = this.x(run.sim_start);
    const width = Math.max(3, this.x(run.sim_stop) - left);
    const room = width > 6 * name.length + 4 ? name : width > 12 ? sign : ""; // the legend has the name of what is narrower
    return s("g", { class: `band ${run.kind}`, data: { start: run.start, stop: run.stop } },
      s("title", {}, `${text}: steps ${run.start} to ${run.stop - 1}`), band(run.kind, left, middle - 9, width, 18),
      room ? s("text", { x: left + width / 2, y: middle + 20 }, room) : null);
  }

  #parent(lane) {
    const { branches } = this.episode;
    const at = lane.fork.at_step;
    return (branches.find((other) => other.start !== null && at >= other.start && at < other.stop) ?? branches[0]).branch;
  }

  #curve(x1, y1, x2, y2) {
    const bend = Math.max(14, Math.abs(x1 - x2) * 0.15);
    return `M ${x1} ${y1} C ${x1 + bend} ${y1}, ${x1 + bend} ${y2 - LANE / 2}, ${x1 - bend} ${y2 - LANE / 2} L ${x2 + 6} ${y2 - LANE / 2} Q ${x2} ${y2 - LANE / 2} ${x2} ${y2}`;
  }

  #events(events, y) {
    const placed = [];
    const nodes = [];
    for (const event of events) {
      let x = this.x(event.sim);
      const near = placed.filter((other) => other.branch === event.branch && Math.abs(other.x - x) < 17);
      // Many of one kind in one place are one mark here; n and p still visit each.
      if (near.some((other) => other.kind === event.kind && other.span === 0)) continue;
      if (near.length) x = Math.max(...near.map((other) => other.x)) + 17;
      placed.push({ x, branch: event.branch, kind: event.kind, span: event.kind === "milestone" ? 1 : 0 });
      nodes.push(this.#event(event, Math.min(x, this.width - 9), y(event.branch)));
    }
    return nodes;
  }

  #event(event, x, y) {
    const name = EVENT[event.kind]?.name ?? event.kind;
    const text = `${name}: ${event.label} (step ${event.step}${event.until > event.step ? ` to ${event.until}` : ""})`;
    const open = (cause) => {
      cause.preventDefault();
      cause.stopPropagation();
      this.go(event.step, event.frame);
    };
    return s("g", { class: `event ${event.kind}`, transform: `translate(${x} ${y})`, role: "button", tabindex: "0", "aria-label": text, onclick: open,
      onkeydown: (key) => (key.key === "Enter" || key.key === " ") && open(key) },
      s("title", {}, text), mark(event.kind, 8));
  }

  #plot(branches, curve, base) {
    const scores = curve.flatMap((point) => [point.low, point.high]);
    const low = Math.min(0, ...scores);
    const high = Math.max(low + 1, ...scores, 1);
    const y = (score) => base + PLOT - ((score - low) / (high - low)) * PLOT;
    const most = Math.max(1e-9, ...curve.map((point) => Math.abs(point.reward)));
    const byBranch = branches.map((lane) => curve.filter((point) => point.branch === lane.branch));
    return s("g", { class: "plot" },
      s("line", { class: "axis", x1: LEFT, x2: this.width - RIGHT, y1: base + PLOT, y2: base + PLOT }),
      s("text", { class: "label", x: 0, y: base + 10 }, "score"),
      s("text", { class: "tick", x: LEFT - 6, y: base + 5 }, number(high, 1)), s("text", { class: "tick", x: LEFT - 6, y: base + PLOT }, number(low, 1)),
      s("text", { class: "tick middle", x: LEFT, y: base + PLOT + 14 }, "0"), s("text", { class: "tick", x: this.width - RIGHT, y: base + PLOT + 14 }, `world step ${this.end}`),
      curve.filter((point) => point.reward).map((point) => s("line", { class: point.reward < 0 ? "reward less" : "reward", x1: this.x(point.sim_step + 1), x2: this.x(point.sim_step + 1),
        y1: base + PLOT, y2: base + PLOT - Math.max(3, (Math.abs(point.reward) / most) * 16) }, s("title", {}, `reward ${number(point.reward, 3)}`))),
      byBranch.map((points, i) => points.length ? s("path", { class: `score b${branches[i].branch % 4}`, d: steps(points, this.x, y, branches[i].sim_start) }) : null));
  }

  #clicked(event) {
    const box = this.svg.getBoundingClientRect();
    const sim = ((event.clientX - box.left - LEFT) / (this.width - LEFT - RIGHT)) * this.end;
    const row = event.clientY - box.top;
    const { branches } = this.episode;
    const nearest = branches.filter((lane) => lane.start !== null).sort((a, b) => Math.abs(this.laneY(a.branch) - row) - Math.abs(this.laneY(b.branch) - row));
    const covers = (lane) => sim >= lane.sim_start && sim <= lane.sim_stop;
    // On a lane that lane wins; below, on the plot, the newest branch that was there at that time.
    const lane = row < this.laneY(branches.at(-1)?.branch ?? 0) + LANE / 2 ? nearest[0] : branches.filter((item) => item.start !== null).findLast(covers) ?? nearest[0];
    if (!lane) return;
    const share = (sim - lane.sim_start) / Math.max(1, lane.sim_stop - lane.sim_start);
    this.go(Math.max(lane.start, Math.min(lane.stop, lane.start + Math.floor(share * (lane.stop - lane.start)))));
  }

  /** Put the cursor at a step. */
  at(step) {
    this.step = step;
    this.#moveCursor();
  }

  #moveCursor() {
    if (!this.cursor || !this.x) return;
    const lane = this.laneOf(this.step);
    const x = this.x(this.simOf(this.step));
    show(this.cursor, s("line", { x1: x, x2: x, y1: 16, y2: this.height - 18 }), lane ? s("circle", { cx: x, cy: this.laneY(lane.branch), r: 6 }) : null);
  }
}

/** How a branch came to be, in a sentence. */
function opened({ kind, at_step: at, to_step: to, exact }) {
  if (kind === "physical") return `stopped after step ${at}; the arm retraces its path towards step ${to}`;
  if (kind === "repair") return `a repair after step ${at}, from where the world was`;
  if (kind === "undo") return `taken back after step ${at}: the world is again as it was after step ${to} (${exact ? "bit-exact" : "not exact"})`;
  return `stopped after step ${at}, restored the beginning of step ${to} (${kind}, ${exact ? "bit-exact" : "not exact"})`;
}

function steps(points, x, y, begin) {
  let path = "";
  let last = null;
  for (const point of points) {
    const right = x(point.sim_step + 1);
    path += last === null ? `M ${x(begin)} ${y(point.score)} H ${right}` : ` V ${y(point.score)} H ${right}`;
    if (point.high !== point.low) path += ` M ${right} ${y(point.low)} V ${y(point.high)} M ${right} ${y(point.score)}`;
    last = point;
  }
  return path;
}
