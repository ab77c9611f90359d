// A fork's two branches side by side: left the one not taken, right the one taken, in step from the fork. Where the way
// that was given up was played on to its end, its own video goes on where the record stops.

import { badge, episodeLink, forkLink, h, isTyping, notice, number, s, show } from "./dom.js";
import { count, ending, filmed, otherWay, worth } from "./forks.js";
import { EVENT, mark } from "./marks.js";
import { drawAction } from "./overlay.js";
import { shortAction } from "./panels.js";
import { Player } from "./player.js";
import { Frames, Steps } from "./steps.js";

const PLOT = { height: 100, left: 40, right: 10, top: 30, bottom: 16 };

/** Steps of one branch from the fork on, counted from 0. `runs` are pairs [start, stop) in order of play; after them come
 * `beyond` steps that are not of the record. */
class Path {
  constructor(runs, beyond) {
    this.runs = runs;
    this.recorded = count(runs);
    this.length = this.recorded + beyond;
  }

  /** The episode's step at an offset; the last one from there on, and null on a branch without steps. */
  at(offset) {
    let left = Math.min(offset, this.recorded - 1);
    for (const [start, stop] of this.runs) {
      if (left < stop - start) return start + left;
      left -= stop - start;
    }
    return null;
  }

  /** How many steps beyond the record an offset is; null for a step of the record. */
  beyond(offset) {
    const place = Math.min(offset, this.length - 1);
    return place >= this.recorded && this.length > this.recorded ? place - this.recorded : null;
  }

  /** The offset of a step; null for one that is not on this branch. */
  offsetOf(step) {
    let before = 0;
    for (const [start, stop] of this.runs) {
      if (step >= start && step < stop) return before + step - start;
      before += stop - start;
    }
    return null;
  }
}

/** Marks at [x, event] moved to the right where they would cover each other. */
function spread(marks) {
  let last = -Infinity;
  return marks.map(([x, event]) => {
    last = Math.max(x, last + 17);
    return [last, event];
  });
}

export class Comparison {
  /** `episode` is the API's answer; `key` names the fork: the branch that it opened, or a diagnosis that was left alone. */
  constructor(main, episode, key) {
    this.main = main;
    this.episode = episode;
    this.id = episode.episode.id;
    this.key = key;
    this.found = episode.comparisons.find((item) => item.key === key);
    this.fork = episode.interventions.find((item) => item.branch === this.found?.branch) ?? null;
    this.other = this.found ? otherWay(episode, this.found.diagnosis_id) : null;
    this.offset = 0;
    this.timer = null;
    if (this.found) this.#build();
    else show(main, notice("There is no such rollback", "The address names a branch that no rollback of this episode opened.", "bad"), h("p", {}, h("a", { href: episodeLink(this.id) }, "To the whole episode")));
  }

  #build() {
    this.steps = new Steps(this.id, () => this.refresh());
    this.frames = new Frames(this.episode.frame_map, this.episode.episode.n_steps);
    const { left, right, left_branch: given, branch } = this.found;
    const beyond = filmed(this.other) ? this.other : null;
    const titles = this.fork
      ? [`Not taken: branch ${given}${beyond ? ", played on to its end" : ""}`, `Taken: branch ${branch}`]
      : ["Not taken: what the diagnosis advised", `Taken: branch ${given}, as it was`];
    this.sides = [this.#side("not-taken", titles[0], left, beyond), this.#side("taken", titles[1], right, null)];
    this.width = Math.max(280, this.main.clientWidth - 26); // the plot is drawn one to one
    this.last = Math.max(...this.sides.map((side) => side.path.length));
    const button = (label, name, action) => h("button", { type: "button", "aria-label": name, title: name, onclick: action }, label);
    this.slider = h("input", { type: "range", min: 0, max: this.last, step: 1, value: 0, "aria-label": "steps after the fork", oninput: () => this.go(Number(this.slider.value)) });
    this.playButton = button("▶", "play or pause (space)", () => this.toggle());
    this.where = h("output", { class: "where", "aria-live": "off" });
    this.cursor = s("line", { class: "axis here", y1: PLOT.top, y2: PLOT.height - PLOT.bottom });
    show(this.main, this.#head(), h("div", { class: "both" }, this.sides.map((side) => side.element)),
      h("div", { class: "transport" }, button("|◀", "the fork (Home)", () => this.go(0)), button("⟨", "step back (←)", () => this.go(this.offset - 1)), this.playButton,
        button("⟩", "step forward (→)", () => this.go(this.offset + 1)), button("▶|", "end of both (End)", () => this.go(this.last)), this.slider, this.where),
      h("section", { class: "panel box-scores" }, h("h2", {}, "Score after the fork"), this.#plot()),
      h("p", { class: "legend" }, "← → step · PgUp PgDn ten steps · Home End · space plays. The address leads here, at this step."));
    document.addEventListener("keydown", (event) => this.#key(event));
    window.addEventListener("popstate", () => this.fromAddress());
  }

  #side(name, title, runs, beyond) {
    const side = { name, beyond, path: new Path(runs, beyond?.n_steps ?? 0), frame: 0, where: h("output", { class: "where" }), act: h("p", { class: "act" }), end: h("p", { class: "ending" }) };
    side.player = new Player(this.episode.video, (context, frame) => this.#paint(side, context, frame));
    side.film = beyond ? new Player(beyond.video, () => {}) : null;
    side.film?.seek(0); // so that nothing is waited for where the record stops
    side.element = h("section", { class: `panel side ${name}` }, h("h2", {}, title, this.#fate(side)), side.player.element, side.film?.element, side.where, side.act, side.end);
    return side;
  }

  #head() {
    const said = this.episode.diagnoses.find((item) => item.id === this.found.diagnosis_id);
    const first = this.sides.map((side) => side.path.at(0)).find((step) => step !== null) ?? 0;
    const name = (item) => (item.branch === null ? `not carried out: ${item.key}` : `onto branch ${item.branch}`);
    return h("section", { class: "head" }, h("div", { class: "crumbs" }, h("a", { href: episodeLink(this.id, first) }, "← whole episode")),
      h("div", { class: "title" }, h("h1", {}, `${this.episode.task?.title ?? this.episode.episode.task_id}: the branch not taken`)),
      h("p", { class: "detail" }, this.#how()),
      said ? h("p", { class: "detail" }, "Diagnosis by ", h("code", {}, said.diagnoser), " (raised by ", said.trigger, "): ", badge(said.verdict), said.fault_type ? ` ${said.fault_class} ${said.fault_type}` : null) : null,
      worth(this.other),
      this.episode.comparisons.length > 1 ? h("p", {}, "Forks: ", this.episode.comparisons.map((item) => [" ", h("a", { href: forkLink(this.id, item.key, 0), "aria-current": item.key === this.key ? "page" : null }, name(item))])) : null);
  }

  /** What happened at the fork, and in which states the sides begin. */
  #how() {
    if (!this.fork) {
      const { at_step: said, from_step: from } = this.other;
      const way = from > said ? "On the left the arm alone goes back from there" : `The left side goes back to the beginning of step ${from}`;
      return `What was said after step ${said} was not acted on. ${way} and does what was advised; both begin in the same state, bit for bit.`;
    }
    const { at_step: at, to_step: to, kind, exact } = this.fork;
    const { rewound } = this.found;
    if (kind === "physical") return `Stopped after step ${at}; the arm went back towards where it was before step ${to}, in ${rewound} rewind step${rewound === 1 ? "" : "s"} that are left out here. The objects stayed where they were, so the right side does not begin in the left one's state.`;
    if (kind === "repair") return `After step ${at} the arm carried out a repair from where it was; nothing went back, so nothing that was recorded was given up. Both sides begin there.`;
    if (kind === "undo") return `What had been done was taken back after step ${at}: on the right the world is again as it was after step ${to}. The left side shows the steps that were taken back.`;
    return `Stopped after step ${at} and went back to the beginning of step ${to}. Both sides begin in ${exact ? "the same state, bit for bit" : "nearly the same state (not exact)"}.`;
  }

  /** The side's own ending beside its name: of its replay if there is one, else of what is on record. */
  #fate(side) {
    if (side.name === "not-taken" && this.other) return [" ", badge(this.other.outcome)];
    const last = side.path.at(Infinity);
    if (last === null) return null;
    const { outcome, status } = this.episode.episode;
    return [" ", badge(this.episode.interventions.some((item) => item.at_step === last) ? "given_up" : outcome ?? status)];
  }

  /** What became of a branch: given up, or how the episode ended on it. */
  #ending(side) {
    if (side.beyond) return ["Played on to its end: ", ending(side.beyond)];
    const last = side.path.at(Infinity);
    const replayed = side.name === "not-taken" && this.other ? h("span", { class: "unfilmed" }, " Played again to its end: ", ending(this.other), "; ", h("code", {}, "arena diagnose counterfactual RUN --video"), " films it.") : null;
    if (last === null) return replayed ?? ["No step was played on this branch."];
    const next = this.episode.interventions.find((item) => item.at_step === last);
    if (next) return ["Given up after step ", last, `: ${next.kind === "repair" ? "repaired on" : next.kind === "undo" ? "taken back, on" : "rolled back onto"} branch ${next.branch}.`, replayed];
    const { outcome, status, score } = this.episode.episode;
    return ["The episode ended here: ", badge(outcome ?? status), ` score ${number(score)}`];
  }

  /** Move to so many steps after the fork. */
  go(offset, { write = true } = {}) {
    this.offset = Math.max(0, Math.min(this.last, Number.isFinite(offset) ? Math.trunc(offset) : 0));
    for (const side of this.sides) {
      const [step, beyond] = [side.path.at(this.offset), side.path.beyond(this.offset)];
      const after = this.offset >= side.path.length ? 1 : 0;
      side.frame = beyond !== null ? beyond + after : step === null ? 0 : this.frames.of(step) + after;
      side.player.element.hidden = beyond !== null;
      if (side.film) side.film.element.hidden = beyond === null;
      (beyond === null ? side.player : side.film).seek(side.frame);
    }
    this.slider.value = this.offset;
    clearTimeout(this.writing); // browsers refuse hundreds of history changes in a few seconds
    if (write) this.writing = setTimeout(() => history.replaceState(null, "", forkLink(this.id, this.key, this.offset)), 150);
    this.refresh();
  }

  fromAddress() {
    if (this.sides) this.go(Number(new URLSearchParams(location.search).get("step") ?? 0), { write: false });
  }

  refresh() {
    show(this.where, h("b", {}, `fork + ${this.offset}`), ` of ${this.last}`);
    for (const side of this.sides) this.#tell(side);
    const x = this.#x(this.offset);
    for (const key of ["x1", "x2"]) this.cursor.setAttribute(key, x);
    this.main.dataset.step = this.offset;
    this.main.dataset.loaded = "yes";
  }

  #tell(side) {
    const beyond = side.path.beyond(this.offset);
    if (beyond !== null) {
      this.#tellBeyond(side, beyond);
      return;
    }
    const step = side.path.at(this.offset);
    const ended = this.offset >= side.path.length;
    const row = step === null ? null : this.steps.at(step);
    const drawn = step === null ? null : this.frames.pictureOf(step);
    side.element.classList.toggle("ended", ended);
    show(side.where, step === null ? "no steps" : [h("b", {}, ended ? `after step ${step}` : `step ${step}`), row ? ` score ${number(row.score, 1)}` : "",
      !ended && drawn !== step ? h("small", { class: "borrowed" }, ` picture of step ${drawn}`) : null]);
    show(side.act, ended || !row ? "" : [row.status === "ok" ? null : badge(row.status), h("code", { title: JSON.stringify(row.action) }, shortAction(row.action))]);
    show(side.end, ended ? this.#ending(side) : "");
    side.player.draw();
  }

  #tellBeyond(side, beyond) {
    const ended = this.offset >= side.path.length;
    const { n_steps: all, repair_steps: repairs, curve } = side.beyond;
    side.element.classList.toggle("ended", ended);
    show(side.where, h("b", {}, `${ended ? "after " : ""}step ${beyond + 1} of ${all}`), " beyond the record", ` score ${number(curve.find((point) => point.index >= beyond)?.score, 1)}`);
    show(side.act, !ended && beyond < repairs ? "⚒ repair" : "");
    show(side.end, ended ? this.#ending(side) : "");
  }

  #paint(side, context, frame) {
    if (!this.sides || side.path.beyond(this.offset) !== null || this.offset >= side.path.length || side.player.shown !== side.frame) return;
    drawAction(context, frame, this.steps.at(side.path.at(this.offset)), this.episode.episode.space);
  }

  #x(offset) {
    return PLOT.left + (offset / Math.max(1, this.last)) * (this.width - PLOT.left - PLOT.right);
  }

  #plot() {
    const sides = this.sides.map((side, i) => ({
      name: side.name, lane: i === 0 ? this.found.left_branch : this.found.branch ?? this.found.left_branch + 1,
      points: [...this.episode.curve.map((point) => [side.path.offsetOf(point.index), point.score]).filter(([offset]) => offset !== null),
        ...(side.beyond?.curve ?? []).map((point) => [side.path.recorded + point.index, point.score])],
      parted: side.beyond && side.path.recorded ? this.#x(side.path.recorded) : null,
      events: spread(this.episode.events.filter((event) => side.path.offsetOf(event.step) !== null && !["fork", "undo", "repair"].includes(event.kind)).map((event) => [this.#x(side.path.offsetOf(event.step)), event])),
    }));
    const scores = sides.flatMap((side) => side.points.map(([, score]) => score));
    const [low, high] = [Math.min(0, ...scores), Math.max(1, ...scores)];
    const base = PLOT.height - PLOT.bottom;
    const y = (score) => base - ((score - low) / (high - low)) * (base - PLOT.top);
    return s("svg", { class: "timeline marked both-scores", viewBox: `0 0 ${this.width} ${PLOT.height}`, width: "100%", role: "img", "aria-label": "score of both branches after the fork", onclick: (event) => this.#clicked(event) },
      s("line", { class: "axis", x1: PLOT.left, x2: this.width - PLOT.right, y1: base, y2: base }),
      s("text", { class: "tick", x: PLOT.left - 6, y: PLOT.top + 6 }, number(high, 1)), s("text", { class: "tick", x: PLOT.left - 6, y: base }, number(low, 1)),
      s("text", { class: "tick", x: this.width - PLOT.right, y: PLOT.height - 3 }, `fork + ${this.last}`), this.cursor,
      sides.map((side) => side.parted === null ? null : s("line", { class: "parted", x1: side.parted, x2: side.parted, y1: PLOT.top, y2: base }, s("title", {}, "here the record of the branch not taken stops; it was played on from there"))),
      sides.map((side) => side.points.length ? s("path", { class: `score b${side.lane % 4} ${side.name}`, d: side.points.map(([offset, score], i) => `${i ? "L" : "M"} ${this.#x(offset + 1)} ${y(score)}`).join(" ") }) : null),
      sides.map((side, i) => side.events.map(([x, event]) => s("g", { class: `event ${event.kind}`, transform: `translate(${x} ${i ? 29 : 10})` },
        s("title", {}, `${side.name}: ${EVENT[event.kind]?.name ?? event.kind}: ${event.label} (step ${event.step})`), mark(event.kind, 7)))));
  }

  #clicked(event) {
    const box = event.currentTarget.getBoundingClientRect();
    const inside = ((event.clientX - box.left) / box.width) * this.width;
    this.go(Math.round(((inside - PLOT.left) / (this.width - PLOT.left - PLOT.right)) * this.last));
  }

  toggle() {
    const playing = this.timer !== null;
    clearTimeout(this.timer);
    this.timer = null;
    this.playButton.textContent = playing ? "▶" : "▮▮";
    if (playing) return;
    if (this.offset === this.last) this.go(0);
    const tick = () => {
      if (this.offset === this.last) {
        this.toggle();
        return;
      }
      if (!this.sides.some((side) => side.player.busy || side.film?.busy)) this.go(this.offset + 1); // neither runs ahead of the other
      this.timer = setTimeout(tick, 200);
    };
    this.timer = setTimeout(tick, 200);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const pressable = event.target.closest?.("button, a, summary, [role=button]");
    const actions = {
      ArrowLeft: () => this.go(this.offset - 1), ArrowRight: () => this.go(this.offset + 1), PageUp: () => this.go(this.offset - 10), PageDown: () => this.go(this.offset + 10),
      Home: () => this.go(0), End: () => this.go(this.last), " ": pressable ? null : () => this.toggle(),
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  }
}
