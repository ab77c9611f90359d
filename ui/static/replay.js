// One episode, step by step. The position is a step: its frame is what the player saw, the drawing is what it did.

import { badge, cameFrom, episodeLink, h, instrument, isTyping, link, notice, number, show } from "./dom.js";
import { get, whileActive } from "./http.js";
import { drawAction } from "./overlay.js";
import { Milestones } from "./milestones.js";
import { calls, diagnoses, facts, lessons, nearby, step as stepPanel } from "./panels.js";
import { Comparison } from "./compare.js";
import { Player } from "./player.js";
import { Frames, Steps } from "./steps.js";
import { Timeline } from "./timeline.js";

const KEYS = [
  ["← →", "step back, step forward"], ["PgUp PgDn", "ten steps"], ["Home End", "first step, final state"], [", .", "one frame of the video"],
  ["space", "play, pause"], ["p n", "previous event, next event"], ["?", "this help"],
];

class Replay {
  constructor(main, episode) {
    this.main = main;
    this.episode = episode;
    this.id = episode.episode.id;
    this.steps = new Steps(this.id, () => this.refresh());
    this.frames = new Frames(episode.frame_map, episode.episode.n_steps);
    this.player = new Player(episode.video, (context, frame) => this.#paint(context, frame));
    this.timeline = new Timeline(episode, (step, frame) => this.go(step, { jump: true, frame }));
    this.position = 0;
    this.frame = 0;
    this.timer = null;
    this.#build();
  }

  get last() {
    return this.episode.episode.n_steps; // one past the last decision: the final state
  }

  #build() {
    const jump = { go: (step, frame) => this.go(step, { jump: true, frame }), id: this.id };
    this.jump = jump;
    const button = (label, name, action) => h("button", { type: "button", "aria-label": name, title: name, onclick: action }, label);
    this.slider = h("input", { type: "range", min: 0, max: this.last, step: 1, value: 0, "aria-label": "step", oninput: () => this.go(Number(this.slider.value)) });
    this.playButton = button("▶", "play or pause (space)", () => this.toggle());
    this.where = h("output", { class: "where", "aria-live": "off" });
    this.speed = h("select", { "aria-label": "steps a second" }, [1, 2, 5, 10, 20].map((rate) => h("option", { value: rate, selected: rate === 5 }, `${rate}/s`)));
    this.boxes = Object.fromEntries(["head", "step", "calls", "milestones", "lessons", "diagnoses", "facts", "nearby"].map((name) => [name, h("section", { class: `panel box-${name}` })]));
    this.milestones = new Milestones(this.boxes.milestones, jump, this.player);
    this.help = h("dialog", { class: "help", "aria-label": "keys" }, h("h2", {}, "Keys"),
      h("dl", {}, KEYS.map(([keys, what]) => [h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, what)])),
      h("form", { method: "dialog" }, h("button", {}, "Close")));
    show(this.main, this.boxes.head,
      h("div", { class: "replay" },
        h("div", { class: "left" }, this.player.element,
          h("div", { class: "transport" },
            button("|◀", "first step (Home)", () => this.go(0)), button("⟨", "step back (←)", () => this.go(this.position - 1)), this.playButton,
            button("⟩", "step forward (→)", () => this.go(this.position + 1)), button("▶|", "final state (End)", () => this.go(this.last)),
            this.slider, this.where, this.speed, button("?", "keys (?)", () => this.help.showModal())),
          h("section", { class: "panel box-lanes" }, this.timeline.element), this.boxes.nearby, this.boxes.milestones),
        h("div", { class: "right" }, this.boxes.step, this.boxes.calls, this.boxes.diagnoses, this.boxes.lessons, this.boxes.facts)),
      this.help);
    this.#constant();
    document.addEventListener("keydown", (event) => this.#key(event));
    window.addEventListener("popstate", () => this.fromAddress());
  }

  #constant() {
    show(this.boxes.head, header(this.episode));
    this.milestones.render(this.episode);
    lessons(this.boxes.lessons, this.episode, this.jump);
    diagnoses(this.boxes.diagnoses, this.episode, this.jump);
    facts(this.boxes.facts, this.episode);
  }

  /** Take in a newer state of an episode that is still being played. */
  renew(episode) {
    const video = this.episode.video.state;
    this.episode = episode;
    if (video !== episode.video.state && episode.video.state === "ok") location.reload(); // now there is a video
    this.frames = new Frames(episode.frame_map, episode.episode.n_steps);
    this.slider.max = this.last;
    this.steps.forget();
    this.timeline.renew(episode);
    this.#constant();
    this.refresh();
  }

  /** Move to a step. `jump` leaves an entry in the browser's history; `frame` shows another frame than the step's own. */
  go(step, { jump = false, frame = undefined, write = true } = {}) {
    this.position = Math.max(0, Math.min(this.last, Number.isFinite(step) ? Math.trunc(step) : 0));
    this.frame = frame ?? this.frames.of(this.position);
    this.player.seek(this.frame);
    this.timeline.at(this.position);
    this.slider.value = this.position;
    if (jump) history.pushState(null, "", episodeLink(this.id, this.position));
    else if (write) this.#write();
    this.refresh();
  }

  #write() {
    clearTimeout(this.writing); // browsers refuse hundreds of history changes in a few seconds
    this.writing = setTimeout(() => history.replaceState(null, "", episodeLink(this.id, this.position)), 150);
  }

  fromAddress() {
    clearTimeout(this.writing);
    this.go(Number(new URLSearchParams(location.search).get("step") ?? 0), { write: false });
  }

  /** Redraw what depends on the position, from the steps at hand; those that are missing are on their way. */
  refresh() {
    const end = this.position === this.last;
    const row = end ? null : this.steps.at(this.position);
    const lane = this.timeline.laneOf(this.position);
    show(this.where, h("b", {}, end ? `end` : `step ${this.position}`), ` of ${this.last}`,
      this.episode.video.state === "ok" ? h("small", {}, ` frame ${this.frame}`) : null,
      this.#borrowed(),
      lane && this.episode.branches.length > 1 ? h("small", {}, ` branch ${lane.branch}`) : null);
    stepPanel(this.boxes.step, { row, end, position: this.position, episode: this.episode });
    nearby(this.boxes.nearby, this.steps, this.position, this.last, this.jump);
    this.player.draw();
    this.milestones.at();
    this.#calls(row);
    this.main.dataset.step = this.position;
    this.main.dataset.loaded = end || row ? "yes" : "no";
  }

  /** Of a step whose picture was not drawn: whose picture is seen instead. */
  #borrowed() {
    const drawn = this.frames.pictureOf(this.position);
    const own = this.position === this.last || drawn === this.position || this.frame !== this.frames.of(this.position);
    return own || this.episode.video.state !== "ok" ? null : h("small", { class: "borrowed" }, ` picture of step ${drawn}`);
  }

  #calls(row) {
    const wanted = row ? row.index : null;
    if (wanted === this.callsFor) return;
    this.callsFor = wanted;
    clearTimeout(this.asking);
    if (row === null || !row.n_calls) {
      show(this.boxes.calls);
      return;
    }
    this.boxes.calls.classList.add("stale");
    this.asking = setTimeout(async () => {
      try {
        const { items } = await get(`episodes/${this.id}/steps/${wanted}/calls`);
        if (wanted === this.callsFor) calls(this.boxes.calls, items);
      } catch (error) {
        if (wanted === this.callsFor) show(this.boxes.calls, notice("The model's calls could not be read", error.message, "bad"));
      }
      this.boxes.calls.classList.remove("stale");
    }, 120);
  }

  #paint(context, frame) {
    if (this.position === this.last || this.frame !== this.frames.of(this.position)) return;
    if (this.player.shown !== this.frame && this.episode.video.state === "ok") return; // never an action over another step's frame
    drawAction(context, frame, this.steps.at(this.position), this.episode.episode.space);
  }

  toggle() {
    const playing = this.timer !== null;
    clearTimeout(this.timer);
    this.timer = null;
    this.playButton.textContent = playing ? "▶" : "▮▮";
    if (playing) return;
    if (this.position === this.last) this.go(0);
    const tick = () => {
      if (this.position === this.last) {
        this.toggle();
        return;
      }
      if (!this.player.busy) this.go(this.position + 1);
      this.timer = setTimeout(tick, 1000 / Number(this.speed.value));
    };
    this.timer = setTimeout(tick, 1000 / Number(this.speed.value));
  }

  event(direction) {
    const { events } = this.episode;
    // Several events may share a step, and one may be shown by a frame between two steps: compare both.
    const after = (event) => event.step - this.position || (event.frame ?? this.frames.of(event.step)) - this.frame;
    const found = direction > 0 ? events.find((event) => after(event) > 0) : events.findLast((event) => after(event) < 0);
    if (found) this.go(found.step, { jump: true, frame: found.frame });
  }

  byFrame(direction) {
    const frame = Math.max(0, Math.min(this.frame + direction, (this.episode.video.n_frames || 1) - 1));
    this.go(this.frames.stepAt(frame), { frame });
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event) || this.help.open) return;
    // Focus stays for a moment on the button of a dialog that has just been closed: nothing there can be pressed.
    const pressable = event.target.closest?.("button, a, summary, [role=button]") && !event.target.closest("dialog:not([open])");
    const actions = {
      ArrowLeft: () => this.go(this.position - 1), ArrowRight: () => this.go(this.position + 1),
      PageUp: () => this.go(this.position - 10), PageDown: () => this.go(this.position + 10),
      Home: () => this.go(0), End: () => this.go(this.last), ",": () => this.byFrame(-1), ".": () => this.byFrame(1),
      " ": pressable ? null : () => this.toggle(), n: () => this.event(1), p: () => this.event(-1), "?": () => this.help.showModal(),
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  }
}

function header({ episode, task, runs, related }) {
  const asked = cameFrom();
  const run = runs.find((item) => item.run_id === asked) ?? runs[0]; // the newest is the first
  const label = runs.find((item) => item.instrument)?.instrument;
  const other = (label, item) => h("a", { href: episodeLink(item.id), title: item.id }, label, " ", badge(item.outcome ?? item.status), item.scored ? ` ${number(item.score)}` : "");
  return [
    h("div", { class: "crumbs" },
      run ? [h("a", { href: link("", { run: run.run_id }) }, run.run_id), " › "] : null,
      h("a", { href: link("episodes", { run: run?.run_id, task: episode.task_id }) }, episode.task_id), " › ",
      h("a", { href: link("episodes", { run: run?.run_id, task: episode.task_id, agent: episode.agent, space: episode.space }) }, episode.agent), " › ", `seed ${episode.seed}`),
    h("div", { class: "title" }, h("h1", {}, task?.title ?? episode.task_id), h("span", { class: "space" }, episode.space),
      badge(episode.outcome ?? episode.status),
      episode.scored === false ? h("span", { class: "none" }, "not scored") : h("span", { class: "score" }, "score ", h("b", {}, number(episode.score))),
      label ? instrument(label) : null,
      runs.length ? h("span", { class: "none" }, [...new Set(runs.map((item) => item.condition))].join(", "), episode.round ? `, retry ${episode.round}` : ", first attempt") : null),
    episode.outcome_detail ? h("p", { class: "detail" }, episode.outcome_detail) : null,
    h("div", { class: "related" },
      related.parent ? other("← attempt before", related.parent) : null,
      related.children.map((item) => other("attempt after →", item)),
      related.tries.map((item) => other(`try ${item.try_no + 1}`, item))),
  ];
}

/** Draw the page for `?ep=` at `?step=`, as an episode of `?run=` if it is one; with `?fork=`, both branches of that rollback. */
export async function render(main) {
  const params = new URLSearchParams(location.search);
  const id = params.get("ep");
  if (!id) {
    show(main, notice("No episode chosen", "Choose one from the list of episodes."), h("p", {}, h("a", { href: link("episodes", {}) }, "To the episodes")));
    return;
  }
  const path = `episodes/${encodeURIComponent(id)}`;
  const episode = await get(path);
  document.title = `${episode.task?.title ?? episode.episode.task_id}, ${episode.episode.agent}, seed ${episode.episode.seed} · Rewind Arena`;
  if (params.has("fork")) {
    new Comparison(main, episode, params.get("fork")).fromAddress();
    return;
  }
  const replay = new Replay(main, episode);
  replay.fromAddress();
  whileActive(() => replay.episode.episode.status === "running", async () => replay.renew(await get(path)));
}
