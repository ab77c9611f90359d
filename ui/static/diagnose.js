// A person watches an episode that was left alone, stops it, and says what went wrong. Neither the fault nor the ending is
// known here, nor how long the recording is, for one that runs on to its horizon has failed. What lies ahead is not
// shown: the latest step that was seen is the present. Where the recording is over, it is too late to step in.

import { h, isTyping, link, notice, show } from "./dom.js";
import { get, getPicture, post } from "./http.js";
import { nameField } from "./reviewer.js";

const VERDICTS = [
  ["ok", "nothing is wrong"], ["fault", "a fault, which going back may mend"], ["suspect", "something is odd; leave it alone"],
  ["unrecoverable", "a fault that nothing will mend"], ["abstain", "I cannot tell"],
];
const REPAIRS = [["retry", "try again from there"], ["regrasp", "open the hand, rise, try again"], ["reset", "begin the episode anew"], ["reprompt", "try again with another instruction"]];
const CLASSES = { perception: "Perception", planning: "Planning", control: "Control", external: "From outside" };
const SEEN = "arena-seen-";
const TOO_LATE = new Set(["fault", "suspect", "unrecoverable"]);

/** The pictures of a recording, one by one as they are asked for. */
class Pictures {
  constructor({ id, width, height }) {
    const [across, down] = [width || 4, height || 3];
    this.path = `episodes/${encodeURIComponent(id)}/watch`;
    this.kept = new Map();
    this.image = h("img", { alt: "what the camera saw", draggable: "false" });
    this.element = h("div", { class: "stage", style: `aspect-ratio: ${across} / ${down}; max-width: calc(70vh * ${across / down})` }, this.image);
  }

  /** The address of a picture, in time; null where the recording is over. */
  get(index) {
    if (!this.kept.has(index)) {
      const asked = getPicture(`${this.path}/${index}`);
      this.kept.set(index, asked);
      asked.catch(() => this.kept.delete(index)); // to be asked again
    }
    return this.kept.get(index);
  }

  async show(index, address) {
    this.image.src = address;
    await this.image.decode().catch(() => {}); // a newer one has come meanwhile
    this.element.dataset.frame = index;
  }

  close() {
    this.kept.forEach((asked) => asked.then((address) => address && URL.revokeObjectURL(address), () => {}));
    this.kept.clear();
  }
}

class Watch {
  constructor(main, data, runs, chosen) {
    Object.assign(this, { main, data, runs, timer: null });
    this.name = nameField();
    this.who = this.name.value;
    this.name.field.addEventListener("change", () => this.#introduced());
    const wanted = data.items.findIndex((item) => item.id === chosen);
    document.addEventListener("keydown", (event) => this.#key(event));
    this.open(wanted >= 0 ? wanted : this.#next());
  }

  /** Place of the first recording that this person has not looked at; the first of all where there is none. */
  #next() {
    return Math.max(0, this.data.items.findIndex((item) => !item.looked_at));
  }

  open(place) {
    this.#pause();
    this.place = place;
    this.item = this.data.items[place];
    this.touched = new Set();
    this.pictures?.close();
    this.pictures = new Pictures(this.item);
    this.#recall();
    this.position = -1;
    history.replaceState(null, "", link("diagnose", { run: this.data.run, ep: this.item.id }));
    this.#build();
    this.go(this.seen);
  }

  /** Somebody entered a name: who had none goes on, and another person begins anew. */
  async #introduced() {
    const another = this.who !== "";
    this.who = this.name.value;
    if (another) this.open(this.place);
    else this.#remember();
    try {
      this.data.items = (await get(`watch/${encodeURIComponent(this.data.run)}`, { name: this.name.value })).items;
      this.item = this.data.items[this.place];
      this.#list();
    } catch (error) {
      show(this.said, notice("The recordings could not be read", error.message, "bad"));
    }
  }

  /** Where this browser notes how far this person has seen this recording: loading the page again takes nothing back. */
  #mark() {
    return `${SEEN}${this.item.id} ${this.who}`;
  }

  #remember() {
    localStorage.setItem(this.#mark(), this.over ? `${this.seen} over` : `${this.seen}`);
  }

  #recall() {
    const [seen, over] = (localStorage.getItem(this.#mark()) ?? "").split(" ");
    this.seen = Math.max(0, Math.trunc(Number(seen)) || 0);
    this.over = over === "over";
  }

  #build() {
    const button = (label, name, action) => h("button", { type: "button", "aria-label": name, title: name, onclick: action }, label);
    this.slider = h("input", { type: "range", min: 0, max: 0, step: 1, value: 0, "aria-label": "step", oninput: () => this.go(Number(this.slider.value)) });
    this.playButton = button("▶", "play or pause (space)", () => this.toggle());
    this.forward = button("⟩", "step forward (→)", () => this.go(this.wanted + 1));
    this.where = h("output", { class: "where" });
    this.speed = h("select", { "aria-label": "steps a second" }, [2, 5, 10, 20].map((rate) => h("option", { value: rate, selected: rate === 10 }, `${rate}/s`)));
    this.end = h("p", { class: "none", role: "status" });
    this.choice = h("select", { id: "recording", "aria-label": "recording", onchange: () => this.open(Number(this.choice.value)) });
    this.said = h("div", { class: "grow", role: "status", "aria-live": "polite" });
    this.#list();
    show(this.main,
      h("div", { class: "bar" }, h("h1", {}, "Diagnose"), this.runs.length > 1 ? this.#chooseRun() : null, h("label", {}, "Recording", this.choice), this.count, this.name.element),
      h("p", { class: "goal" }, h("b", {}, this.item.title), ": ", this.item.goal),
      h("div", { class: "replay" },
        h("div", { class: "left" }, this.pictures.element,
          h("div", { class: "transport" }, button("⟨", "step back (←)", () => this.go(this.wanted - 1)), this.playButton, this.forward, this.slider, this.where, this.speed),
          this.end,
          h("p", { class: "legend" }, "The robot was left alone. Some recordings hold a fault, some a harmless one, some none. Watch as if it were happening: the latest step that you have seen is the present, and you can look back from there. As soon as you would step in, say so.")),
        h("div", { class: "right" }, this.#form())));
  }

  #chooseRun() {
    const chosen = (event) => { location.href = link("diagnose", { run: event.target.value }); };
    return h("label", {}, "Run", h("select", { id: "run", onchange: chosen }, this.runs.map(({ id, recordings }) => h("option", { value: id, selected: id === this.data.run }, `${id} (${recordings})`))));
  }

  #list() {
    const { items } = this.data;
    const options = items.map((item, i) => h("option", { value: i, selected: i === this.place }, `${i + 1} of ${items.length}${item.looked_at ? " ✓" : ""}`));
    show(this.choice, options);
    this.count ??= h("span", { class: "none" });
    show(this.count, `${items.filter((item) => item.looked_at).length} looked at by you`);
  }

  // -- the form

  #form() {
    const number = (id, label) => {
      const field = h("input", { id, type: "number", min: 0, step: 1, inputmode: "numeric", oninput: () => { this.touched.add(id); this.#defaults(); } });
      const take = h("button", { type: "button", onclick: () => { field.value = id === "rollback" ? this.position + 1 : this.position; this.touched.add(id); this.#defaults(); } }, "the moment shown");
      return { field, row: h("p", { class: "row" }, h("label", { for: id }, label), field, take) };
    };
    this.now = h("output", { class: "now" });
    this.onset = number("onset", "Went wrong in step");
    this.rollback = number("rollback", "Go back to before step");
    this.type = h("select", { id: "type" }, h("option", { value: "" }, "choose…"), Object.entries(CLASSES).map(([group, label]) =>
      h("optgroup", { label }, this.data.types.filter((item) => item.class === group).map((item) => h("option", { value: item.type }, `${item.type} ${item.text}`)))));
    this.repair = h("select", { id: "repair", onchange: () => this.#fit() }, REPAIRS.map(([value, label]) => h("option", { value }, label)));
    this.prompt = h("p", { class: "row" }, h("label", { for: "reprompt" }, "Tell it"), h("input", { id: "reprompt", maxlength: 500 }));
    this.sure = h("input", { id: "sure", type: "number", min: 1, max: 100, step: 1, value: 90 });
    this.sureRow = h("p", { class: "row" }, h("label", { for: "sure" }, "Sure to"), this.sure, h("span", {}, "%"), h("small", {}, "below 50 % nothing is done"));
    this.note = h("textarea", { id: "note", maxlength: 1000, rows: 2, placeholder: "what you saw (optional)", "aria-label": "note" });
    this.verdicts = VERDICTS.map(([value, label]) => h("label", { class: "verdict" }, h("input", { type: "radio", name: "verdict", value, onchange: () => this.#fit() }), h("span", {}, label)));
    this.fault = h("div", { class: "fault-fields" }, h("p", { class: "row" }, h("label", { for: "type" }, "What"), this.type), this.onset.row);
    this.mend = h("div", {}, this.rollback.row, h("p", { class: "row" }, h("label", { for: "repair" }, "Then"), this.repair), this.prompt);
    const form = h("form", { class: "panel diagnose", onsubmit: (event) => { event.preventDefault(); this.#store(); } },
      h("h2", {}, "What do you see?"), h("p", {}, "You stop it ", this.now, "."),
      h("fieldset", {}, h("legend", {}, "Verdict"), this.verdicts), this.fault, this.mend, this.sureRow, this.note,
      h("div", { class: "row" }, h("button", { type: "submit", id: "stop" }, "Stop here, and store it"), this.said));
    this.#fit();
    return form;
  }

  get verdict() {
    return this.verdicts.map((label) => label.querySelector("input")).find((field) => field.checked)?.value ?? "";
  }

  /** Show the fields that the verdict needs. */
  #fit() {
    for (const field of this.verdicts.map((label) => label.querySelector("input"))) {
      field.disabled = this.over && TOO_LATE.has(field.value);
      if (field.disabled) field.checked = false;
    }
    const { verdict } = this;
    this.fault.hidden = !["fault", "suspect", "unrecoverable"].includes(verdict);
    this.mend.hidden = verdict !== "fault";
    this.rollback.row.hidden = this.repair.value === "reset";
    this.prompt.hidden = this.repair.value !== "reprompt";
    this.sureRow.hidden = verdict === "abstain";
  }

  /** What nobody has entered follows from the present: it went wrong just now, and one goes back to shortly before. */
  #defaults() {
    if (!this.touched.has("onset")) this.onset.field.value = this.seen;
    if (!this.touched.has("rollback")) this.rollback.field.value = Math.max(0, Number(this.onset.field.value) - this.data.back_steps);
    this.onset.field.max = this.seen;
    this.rollback.field.max = this.seen;
    show(this.now, `after step ${this.seen}`);
  }

  #answer() {
    const { verdict } = this;
    const step = ({ field }) => (field.value === "" ? null : Number(field.value));
    const body = { step_now: this.seen, verdict, name: this.name.value, note: this.note.value, confidence: Number(this.sure.value) / 100 };
    if (!this.fault.hidden) Object.assign(body, { fault_type: this.type.value || "N0", onset_step: step(this.onset) });
    if (verdict === "fault") {
      const kind = this.repair.value;
      const told = kind === "reprompt" ? { reprompt: this.prompt.querySelector("input").value } : {};
      Object.assign(body, { rollback_step: kind === "reset" ? null : step(this.rollback), repair: { kind, ...told } });
    }
    return body;
  }

  async #store() {
    this.#pause();
    const missing = !this.name.value ? ["Who are you?", "Enter your name: it is kept beside what you say.", this.name.field]
      : !this.verdict ? ["What do you see?", "Choose a verdict.", this.verdicts[0].querySelector("input")]
      : ["fault", "unrecoverable"].includes(this.verdict) && !this.type.value ? ["What went wrong?", "Choose the kind that fits best.", this.type] : null;
    if (missing) {
      show(this.said, notice(missing[0], missing[1], "bad"));
      missing[2].focus();
      return;
    }
    try {
      const { diagnoser } = await post(`episodes/${encodeURIComponent(this.item.id)}/diagnoses`, this.#answer());
      this.item.looked_at = true;
      this.#list();
      const left = this.data.items.some((item) => !item.looked_at);
      const next = left ? h("button", { type: "button", id: "next", onclick: () => this.open(this.#next()) }, "Next recording") : "That was the last one.";
      show(this.said, h("p", { class: "recorded" }, `Recorded after step ${this.seen}, by `, h("bdi", {}, diagnoser), ". "), next);
      if (left) next.focus();
    } catch (error) {
      show(this.said, notice("It was not recorded", error.message, "bad"));
    }
  }

  // -- watching

  /** Show the moment after a step. Those that were not seen yet come one after the other, and become the present. */
  go(step) {
    this.wanted = Math.max(0, this.over ? Math.min(step, this.seen) : step);
    if (this.moving !== this.pictures) this.#move();
  }

  /** Show picture after picture until the wanted one, which may change meanwhile, is there. */
  async #move() {
    const { pictures } = this;
    this.moving = pictures;
    try {
      while (this.position !== this.wanted) {
        const step = Math.min(this.wanted, this.seen + 1);
        const address = await pictures.get(step + 1); // the picture after step i is number i + 1
        if (this.pictures !== pictures) return; // another recording was opened
        if (address === null) this.#end(step);
        else await this.#shown(step, address);
      }
      this.#tell();
    } catch (error) {
      this.#pause();
      this.wanted = this.position;
      show(this.end, notice("The picture could not be loaded", error.message, "bad"));
    } finally {
      if (this.moving === pictures) this.moving = null;
    }
  }

  async #shown(step, address) {
    const { pictures } = this;
    await pictures.show(step + 1, address);
    if (this.pictures !== pictures) return;
    this.position = step;
    if (step > this.seen) {
      this.seen = step;
      this.#remember();
    }
    this.#tell();
    if (!this.over) pictures.get(step + 2).catch(() => {}); // where it fails it is asked for again, and told
  }

  /** There is no picture after a step: the recording is over, or what was noted of it was wrong. */
  #end(step) {
    if (step > this.seen) this.over = true;
    else this.seen = 0;
    this.#remember();
    this.wanted = this.seen;
    if (this.over) this.#pause();
  }

  #tell() {
    this.slider.max = this.seen;
    this.slider.value = this.position;
    this.forward.disabled = this.over && this.position === this.seen;
    show(this.where, "after ", h("b", {}, `step ${this.position}`), this.position < this.seen ? h("small", {}, ` of ${this.seen} seen`) : h("small", {}, " the present"));
    show(this.end, this.over ? "The recording ends here, and it is too late to step in. You can still say that you would not have." : "");
    this.main.dataset.step = this.position;
    this.#fit();
    this.#defaults();
  }

  #pause() {
    clearTimeout(this.timer);
    this.timer = null;
    if (this.playButton) this.playButton.textContent = "▶";
  }

  toggle() {
    if (this.timer !== null) {
      this.#pause();
      return;
    }
    this.playButton.textContent = "▮▮";
    const tick = () => {
      if (this.position === this.wanted) this.go(this.position + 1);
      if (this.over && this.position === this.seen) this.#pause();
      else this.timer = setTimeout(tick, 1000 / Number(this.speed.value));
    };
    this.timer = setTimeout(tick, 0);
  }

  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
    const pressable = event.target.closest?.("button, a, input, label");
    const actions = { ArrowLeft: () => this.go(this.wanted - 1), ArrowRight: () => this.go(this.wanted + 1), " ": pressable ? null : () => this.toggle() };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : null;
    if (!action) return;
    event.preventDefault();
    action();
  }
}

/** Draw the page for `?run=` and `?ep=`; without a run, the newest with recordings. */
export async function render(main) {
  const params = new URLSearchParams(location.search);
  document.title = "Diagnose · Rewind Arena";
  const { runs } = await get("watch");
  const run = params.get("run") ?? runs[0]?.id;
  const bar = (extra) => h("div", { class: "bar" }, h("h1", {}, "Diagnose"), extra);
  const how = "`arena diagnose TASKS --conditions none,human` records episodes that are left alone, every step of them.";
  if (!run) {
    show(main, bar(), notice("There is nothing to watch yet", how));
    return;
  }
  const data = await get(`watch/${encodeURIComponent(run)}`, { name: localStorage.getItem("arena-reviewer") ?? "" });
  if (!data.items.length) {
    show(main, bar(), notice(`Run ${run} has no recording of every step`, how));
    return;
  }
  new Watch(main, data, runs, params.get("ep"));
}
