// A person plays: the picture comes from the server, keys and pointer go there, and the server runs the game.

import { Problem, get, post as send } from "./http.js";
import { badge, episodeLink, h, link, notice, number, show } from "./dom.js";

const WIDTH = 640, HEIGHT = 480;
const DRAG = 6; // pixels of the frame that the pointer moves before a click becomes a drag
const NOTCH = 100; // wheel units that most mice give for one notch
const NAMES = {
  ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right", " ": "space", Enter: "enter", Escape: "esc",
  Backspace: "backspace", Delete: "delete", Home: "home", End: "end", PageUp: "pageup", PageDown: "pagedown",
  Shift: "shift", Control: "ctrl", Alt: "alt",
};
const MODIFIERS = new Set(["shift", "ctrl", "alt"]);
const BUTTONS = ["left", "middle", "right"];
const PAD = [["↑", "up"], ["↓", "down"], ["←", "left"], ["→", "right"], ["space", "space"], ["enter", "enter"], ["esc", "esc"]];
const CATEGORIES = {
  "markov-grid": "Grids, one move at a time", "non-real-time-linear": "One way through, no hurry",
  "non-real-time-nonlinear": "Many ways, no hurry", "real-time-linear": "Against the clock, one way",
  "real-time-nonlinear": "Against the clock, many ways",
  robots: "Drive a robot arm",
  "libero/spatial": "LIBERO Spatial", "libero/object": "LIBERO Object", "libero/goal": "LIBERO Goal",
  "libero/10": "LIBERO 10 (long)", "libero/90": "LIBERO 90",
};

const post = (path, body) => send(`play${path}`, body);

/** Sends what is done, in order, one message at a time; what comes meanwhile waits for the next. */
class Sender {
  constructor(id, failed) {
    Object.assign(this, { id, failed, events: [], busy: false, ended: false });
  }

  add(event) {
    if (this.ended) return;
    this.events.push(event);
    if (!this.busy) this.flush();
  }

  /** Whether nothing is on its way. */
  get idle() {
    return !this.busy && !this.events.length;
  }

  async flush() {
    this.busy = true;
    try {
      while (this.events.length && !this.ended) await post(`/${this.id}/input`, { events: this.events.splice(0, 64) });
    } catch (error) {
      if (!this.ended) this.failed(error);
    } finally {
      this.busy = false;
    }
  }
}

/** The game's name for a key, the character that it types, or nothing for keys that stay the browser's. */
function keyOf(event, known) {
  if (event.isComposing || event.key === "Tab" || /^F\d+$/.test(event.key)) return null;
  const named = NAMES[event.key];
  if (named) return { key: named };
  if ((event.ctrlKey || event.altKey || event.metaKey) && !event.getModifierState("AltGraph")) return null;
  if ([...event.key].length !== 1) return null;
  return known.has(event.key) ? { key: event.key } : { text: event.key };
}

/** Turns the canvas's events into gestures; returns a function that lets go of everything. */
function listen(canvas, sender, known, state) {
  const down = new Map(); // by the physical key: a letter may change its case while it is held
  let lone = null, wheel = 0, answered = -1;
  const gesture = (action) => sender.add({ kind: "gesture", action });
  const place = (event) => {
    const box = canvas.getBoundingClientRect();
    const clamp = (value, limit) => Math.min(limit - 1, Math.max(0, Math.floor(value)));
    return { x: clamp(((event.clientX - box.left) / box.width) * WIDTH, WIDTH), y: clamp(((event.clientY - box.top) / box.height) * HEIGHT, HEIGHT) };
  };
  const release = () => {
    for (const key of down.values()) sender.add({ kind: "up", key });
    down.clear();
    lone = null;
  };
  canvas.addEventListener("keydown", (event) => {
    if (state().held && event.key.length === 1 && known.has(event.key.toLowerCase()) && !event.ctrlKey && !event.altKey && !event.metaKey) {
      // Shift and a letter are two keys that are down, not a capital.
      event.preventDefault();
      if (!event.repeat) { down.set(event.code, event.key.toLowerCase()); sender.add({ kind: "down", key: event.key.toLowerCase() }); }
      return;
    }
    const found = keyOf(event, known);
    if (!found) return;
    event.preventDefault();
    if (found.text) { gesture({ verb: "type", text: found.text }); return; }
    if (state().held) {
      if (event.repeat) return;
      down.set(event.code, found.key);
      sender.add({ kind: "down", key: found.key });
    } else if (MODIFIERS.has(found.key)) {
      lone = event.repeat ? lone : found.key; // it counts if it comes up alone
    } else {
      // A key that is held repeats as fast as the game answers, and no faster: nothing piles up.
      if (event.repeat && (!sender.idle || state().number === answered)) return;
      lone = null;
      answered = state().number;
      const with_ = event.shiftKey && NAMES[event.key] ? ["shift", found.key] : null;
      gesture(with_ ? { verb: "hotkey", keys: with_ } : { verb: "press", key: found.key });
    }
  });
  canvas.addEventListener("keyup", (event) => {
    const key = down.get(event.code);
    if (key !== undefined) {
      down.delete(event.code);
      sender.add({ kind: "up", key });
    } else if (lone && NAMES[event.key] === lone) {
      gesture({ verb: "press", key: lone });
      lone = null;
    }
  });
  canvas.addEventListener("blur", release);
  let start = null;
  canvas.addEventListener("pointerdown", (event) => {
    if (!event.isPrimary || !BUTTONS[event.button]) return;
    event.preventDefault();
    canvas.focus({ preventScroll: true });
    canvas.setPointerCapture(event.pointerId);
    start = { ...place(event), button: BUTTONS[event.button] };
  });
  canvas.addEventListener("pointerup", (event) => {
    if (!start || !event.isPrimary) return;
    const end = place(event);
    if (Math.hypot(end.x - start.x, end.y - start.y) < DRAG) gesture({ verb: "click", ...start });
    else gesture({ verb: "drag", ...start, to_x: end.x, to_y: end.y });
    start = null;
  });
  canvas.addEventListener("pointercancel", () => { start = null; });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("wheel", (event) => {
    if (document.activeElement !== canvas) return; // the page scrolls as ever until the game has the focus
    event.preventDefault();
    wheel -= event.deltaMode === 1 ? event.deltaY * 33 : event.deltaY;
    const clicks = Math.max(-10, Math.min(10, Math.trunc(wheel / NOTCH)));
    if (clicks) { wheel -= clicks * NOTCH; gesture({ verb: "scroll", ...place(event), clicks }); }
  }, { passive: false });
  return release;
}

/** Keys for those who have none, such as on a telephone. */
function keyPad(sender, state) {
  const button = ([label, key]) => {
    const node = h("button", { type: "button", tabindex: "-1", "aria-label": `key ${key}` }, label);
    let pressed = false;
    const up = () => { if (pressed && state().held) sender.add({ kind: "up", key }); pressed = false; };
    node.addEventListener("pointerdown", (event) => { event.preventDefault(); pressed = true; sender.add({ kind: "down", key }); });
    for (const name of ["pointerup", "pointercancel", "pointerleave"]) node.addEventListener(name, up);
    return node;
  };
  return h("div", { class: "keypad", role: "group", "aria-label": "Keys" }, PAD.map(button));
}

function chooser(offer) {
  const card = (task) => h("li", {}, h("a", { class: "game", href: link("play", { task: task.id }) },
    h("b", {}, task.title.replace(`: ${task.goal}`, "")), h("span", { class: `tier ${task.tier}` }, task.tier), h("small", {}, task.goal)));
  return [
    h("div", { class: "bar" }, h("h1", {}, "Play a game")),
    h("p", { class: "legend" }, "What you play is recorded as an episode of its own in the run “human”: a baseline beside the agents, and a tutorial for them if you win."),
    offer.groups.map((group) => {
      const title = h("h2", {}, CATEGORIES[group.category] ?? group.category), tasks = h("ul", {}, group.tasks.map(card));
      if (!group.folded) return h("section", { class: "category" }, title, tasks);
      return h("details", { class: "category" }, h("summary", {}, title, ` ${group.tasks.length} tasks`), tasks);
    }),
  ];
}

const clock = (seconds) => `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;

/** Everything about one game: before, during and after. */
class Table {
  constructor(main, offer, task, seed) {
    Object.assign(this, { offer, task, seed, known: new Set(offer.keys), view: { held: false, number: -1 }, session: null });
    this.canvas = h("canvas", { width: WIDTH, height: HEIGHT, tabindex: "0", role: "application", "aria-label": `${task.title}: the game's window. Tab leaves it.` });
    this.context = this.canvas.getContext("2d");
    this.overlay = h("div", { class: "overlay" });
    this.status = h("p", { class: "play-status" });
    this.said = h("div", { role: "status", "aria-live": "polite" });
    this.controls = h("div", { class: "controls" });
    this.pad = h("div");
    this.canvas.addEventListener("focus", () => this.cover());
    this.canvas.addEventListener("blur", () => this.cover());
    addEventListener("beforeunload", (event) => { if (this.running) event.preventDefault(); });
    show(main, h("div", { class: "play" },
      h("div", { class: "play-left" }, h("div", { class: "play-stage" }, this.canvas, this.overlay), this.pad),
      h("div", { class: "play-right" },
        h("p", { class: "crumbs" }, h("a", { href: link("play", {}) }, "All games"), " · ", h("code", {}, task.id)),
        h("h1", {}, task.title), h("p", { class: "goal" }, task.goal), this.status, this.said, this.controls, this.help())));
    this.ask();
  }

  get running() {
    return this.session !== null && !["finished", "failed"].includes(this.view.phase);
  }

  help() {
    return h("details", { class: "how", open: true }, h("summary", {}, "How to play"), h("ul", {},
      h("li", {}, "Click, drag and turn the wheel on the picture; it has the keyboard while it is outlined."),
      h("li", {}, h("kbd", {}, "Tab"), " leaves the picture, ", h("kbd", {}, "Shift"), h("kbd", {}, "Tab"), " goes back to it."),
      h("li", {}, "The score is shown when the game is over, the milestones in its replay."),
      h("li", {}, "After five minutes without input the game ends without a score.")));
  }

  /** Before a game: name, seed, start. */
  ask() {
    const name = h("input", { id: "play-name", name: "name", maxlength: "40", required: true, autocomplete: "nickname", value: this.name() });
    const seed = h("input", { id: "play-seed", name: "seed", type: "number", min: "0", max: "2147483647", step: "1", required: true, value: String(this.seed) });
    const begin = h("button", { type: "submit", class: "act" }, "Start");
    const form = h("form", { class: "play-form" }, h("label", {}, "Your name", name), h("label", {}, "Seed", seed), begin);
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.seed = Number(seed.value);
      localStorage.setItem("arena-name", name.value);
      this.start(name.value);
    });
    const going = this.offer.session;
    show(this.controls, form, going ? h("p", { class: "going" }, "A game is under way here: ",
      going.task === this.task.id ? h("button", { type: "button", onclick: () => this.join(going.id) }, "go on with it") : h("code", {}, going.task), " ",
      h("button", { type: "button", onclick: () => this.end(going.id) }, "end it")) : null);
    show(this.status, `Recorded as human:${this.name()}. Seed ${this.seed}.`);
    show(this.overlay, h("span", {}, "Press Start"));
    begin.focus();
  }

  name() {
    return new URLSearchParams(location.search).get("name") || localStorage.getItem("arena-name") || this.offer.name;
  }

  async end(id) {
    await post(`/${id}/give-up`).catch((error) => this.fail(error));
    this.offer.session = null;
    this.ask();
  }

  async start(name) {
    show(this.said);
    show(this.controls, h("p", { class: "loading" }, "The game is being set up…"));
    try {
      const { id } = await post("", { task: this.task.id, seed: this.seed, name });
      history.replaceState(null, "", link("play", { task: this.task.id, seed: this.seed, name }));
      this.join(id);
    } catch (error) {
      this.offer = await get("play").catch(() => this.offer);
      this.ask();
      this.fail(error);
    }
  }

  join(id) {
    this.session = id;
    this.view = { held: false, number: -1, phase: "starting" };
    this.offer.session = null;
    this.since = null;
    const sender = new Sender(id, (error) => this.fail(error));
    this.sender = sender;
    // A fresh canvas: the listeners of an earlier game go with the old one.
    const fresh = this.canvas.cloneNode();
    fresh.addEventListener("focus", () => this.cover());
    fresh.addEventListener("blur", () => this.cover());
    this.canvas.replaceWith(fresh);
    this.canvas = fresh;
    this.context = fresh.getContext("2d");
    this.release = listen(fresh, sender, this.known, () => this.view);
    show(this.pad, keyPad(sender, () => this.view));
    show(this.controls, h("button", { type: "button", class: "give-up", onclick: () => this.giveUp() }, "Give up"));
    fresh.focus({ preventScroll: true });
    this.cover();
    this.watch(id);
  }

  async giveUp() {
    await post(`/${this.session}/give-up`).catch((error) => this.fail(error));
  }

  /** Ask for picture after picture until the game is over. */
  async watch(id) {
    let after = -1, misses = 0;
    while (this.session === id) {
      let answer;
      try {
        answer = await fetch(`/api/play/${id}/frame?after=${after}`);
        if (!answer.ok) throw new Problem(answer.status, (await answer.json().catch(() => null))?.detail ?? `The server answered ${answer.status}.`);
        misses = 0;
      } catch (error) {
        if (error.status === undefined && ++misses < 5) { // no answer at all: try again for a moment
          await new Promise((resolve) => setTimeout(resolve, 400 * misses));
          continue;
        }
        this.sender.ended = true;
        this.view = { ...this.view, phase: "failed", error: error.status === undefined ? "The server does not answer any more. What was played is recorded." : error.message };
        this.conclude();
        return;
      }
      this.view = JSON.parse(answer.headers.get("X-Arena-View"));
      after = this.view.number;
      if (answer.status === 200) {
        const picture = await createImageBitmap(await answer.blob());
        this.context.drawImage(picture, 0, 0);
        picture.close();
        this.canvas.dataset.number = after;
      }
      this.tell();
      if (!this.running) { this.conclude(); return; }
    }
  }

  tell() {
    const { phase, steps, max_steps, timed, refusal } = this.view;
    if (phase === "starting") { show(this.status, "The game is being set up…"); return; }
    this.since ??= performance.now();
    const time = timed ? ` · ${clock((performance.now() - this.since) / 1000)}` : "";
    const text = `Step ${steps} of at most ${max_steps}${time} · seed ${this.seed}`;
    if (this.status.textContent !== text) show(this.status, text);
    if (this.said.dataset.refusal !== refusal) {
      this.said.dataset.refusal = refusal;
      show(this.said, refusal ? h("p", { class: "reason" }, "Not allowed: ", refusal) : null);
    }
    this.cover();
  }

  /** What lies over the picture: only what must be known to go on. */
  cover() {
    const off = this.running && document.activeElement !== this.canvas;
    const text = this.view.phase === "starting" && this.session ? "Setting up…" : off ? "Click here to go on" : this.session ? "" : "Press Start";
    if (this.overlay.textContent !== text) show(this.overlay, text ? h("span", {}, text) : null);
  }

  conclude() {
    this.sender.ended = true;
    this.release?.();
    show(this.pad);
    this.session = null;
    const { result, error } = this.view;
    show(this.said);
    this.said.dataset.refusal = "";
    const again = (label, seed, attributes = {}) => h("button", { type: "button", ...attributes, onclick: () => { this.seed = seed; this.start(this.name()); } }, label);
    if (result) {
      const score = result.scored ? h("p", { class: "final" }, h("b", {}, number(result.score)), " of 100") : h("p", {}, "Not scored: ", result.outcome_detail.replace(/^Abandoned: /, ""), ".");
      show(this.said, h("div", { class: "panel result" }, h("h2", {}, "The game is over"), badge(result.outcome), score,
        h("p", {}, `${result.n_steps} steps, recorded as `, h("span", { class: "who" }, result.agent), ".")));
      show(this.controls, again("Play again", this.seed, { class: "act" }), again("Next seed", this.seed + 1),
        h("a", { class: "button", href: episodeLink(result.id) }, "Watch the replay"), h("a", { class: "button", href: link("", { run: "human" }) }, "Table"));
      show(this.overlay, h("span", {}, result.success ? "Won" : result.outcome_detail.startsWith("Abandoned") ? "Given up" : "Game over"));
    } else {
      show(this.said, notice("The game could not go on", error, "bad"));
      show(this.controls, again("Try again", this.seed, { class: "act" }));
      show(this.overlay);
    }
    this.controls.querySelector("button")?.focus({ preventScroll: true });
  }

  fail(error) {
    show(this.said, notice("That did not work", error.message, "bad"));
  }
}

/** Draw the page: the choice of games, or the one that `?task=` names. */
export async function render(main) {
  const offer = await get("play");
  const params = new URLSearchParams(location.search);
  const wanted = params.get("task");
  const task = offer.groups.flatMap((group) => group.tasks).find((item) => item.id === wanted);
  document.title = `${task ? task.title : "Play"} · Rewind Arena`;
  if (!task) {
    show(main, wanted ? notice("No such game", `There is no game ${wanted} here. Choose one below.`, "bad") : null, chooser(offer));
    return;
  }
  const seed = Number(params.get("seed"));
  new Table(main, offer, task, Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31 ? seed : 0);
}
