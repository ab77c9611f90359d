// Milestones of an episode: the engine's truth, what each judge says with the frame it relies on, and a person's word.

import { badge, h, moment, notice, number, show } from "./dom.js";
import { post } from "./http.js";
import { stepLink, thumbnail } from "./panels.js";
import { allowed, nameField, noteField } from "./reviewer.js";

const ANSWERS = [["reached", "✓", "reached"], ["not_reached", "○", "not reached"], ["uncertain", "?", "cannot tell"]];
const words = (verdict) => verdict.replaceAll("_", " ");

/** The share of a judge's answers that say what is shown; nothing for one answer. */
function share({ n, counts, verdict }) {
  if (n < 2) return null;
  const others = Object.entries(counts).map(([answer, count]) => `${count} × ${words(answer)}`).join(", ");
  const alike = counts[verdict] ?? 0;
  return h("span", { class: alike === n ? "share" : "share split", title: others }, `${alike} of ${n}`);
}

function answer(item, { human, superseded }, jump) {
  const when = human ? h("small", {}, superseded ? " earlier decision, " : " ", moment(item.created_at)) : null;
  return h("li", { class: superseded ? "answer superseded" : "answer" }, h("div", {},
    h("div", {}, badge(item.verdict), item.confidence === null ? null : h("small", { class: "tight" }, ` ${number(item.confidence * 100, 0)} % sure`), when,
      item.note ? h("p", { class: "model-text" }, item.note) : null),
    thumbnail(item, jump)));
}

export class Milestones {
  /** `jump`: moves the player; `player`: what it shows is what a verdict cites. */
  constructor(box, jump, player) {
    Object.assign(this, { box, jump, player, rows: new Map(), notes: new Map(), open: new Set() });
    this.name = nameField();
    this.name.field.addEventListener("input", () => this.#press());
    this.cited = h("output", { class: "cited" });
    this.preview = h("canvas", { width: 160, height: Math.round((160 * (player.info.height || 3)) / (player.info.width || 4)), role: "img", "aria-label": "the frame that a verdict cites" });
    player.element.addEventListener("settled", () => this.at());
    this.said = h("div", { role: "status", "aria-live": "polite" });
    this.count = h("span", { class: "count" });
  }

  /** Draw an episode's outline. */
  render(outline) {
    this.outline = outline;
    this.rows.clear();
    const { judgements, episode } = outline;
    if (!judgements.length) { show(this.box); return; }
    this.reviewing = allowed() && episode.status === "finished" && outline.task !== null && outline.video.state === "ok";
    const body = judgements.map((item) => this.#remember(item.milestone_id, this.#row(item)));
    show(this.box, h("div", { class: "milestones-head" }, h("h2", {}, "Milestones"), this.count), this.reviewing ? this.#bar() : null,
      h("table", { class: "milestones" }, h("thead", {}, h("tr", {}, ["Milestone", "Engine", "Judges"].map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, body)));
    this.#counts();
    this.at();
  }

  #remember(id, row) {
    this.rows.set(id, row);
    return row;
  }

  #bar() {
    return h("div", { class: "review-bar" }, this.preview, h("div", { class: "grow" }, this.name.element, this.cited, this.said));
  }

  #counts() {
    const { judgements } = this.outline;
    const disputed = judgements.filter((item) => item.disputed).length;
    const against = judgements.filter((item) => item.judges.some((judge) => judge.against_engine)).length;
    show(this.count, judgements.some((item) => item.judges.length) ? [disputed ? `${disputed} of ${judgements.length} disputed` : null, disputed && against ? ", " : null, against ? `${against} against the engine` : null] : "not judged");
  }

  #row(item) {
    const { task, episode, truths } = this.outline;
    const known = task?.milestones.find((other) => other.id === item.milestone_id);
    const truth = truths.find((other) => other.milestone_id === item.milestone_id);
    const engine = truth ? [badge("reached"), " ", truth.step_index < 0 ? h("small", {}, "at the start") : stepLink(this.jump, truth.step, `after step ${truth.step_index}`, truth.frame)]
      : item.truth ? badge(item.truth) : h("span", { class: "none" }, episode.status === "running" ? "not yet" : "does not know");
    return h("tr", { class: item.disputed ? "disputed" : null, data: { milestone: item.milestone_id } },
      h("th", { scope: "row" }, known?.text ?? item.milestone_id, h("small", {}, ` ${item.milestone_id}`), item.disputed ? h("div", {}, h("span", { class: "badge warn" }, h("span", { "aria-hidden": "true" }, "≠"), " judges disagree")) : null),
      h("td", { class: "engine" }, engine),
      h("td", {}, item.judges.length ? item.judges.map((judge) => this.#judge(item.milestone_id, judge)) : h("span", { class: "none" }, "not judged"),
        this.reviewing && known ? this.#buttons(item, known.text) : null));
  }

  #judge(milestone, judge) {
    const key = `${milestone} ${judge.fingerprint}`;
    const all = judge.ids.map((id) => this.outline.verdicts.find((item) => item.id === id));
    const cited = all.findLast((item) => item.frame === judge.frame && item.frame !== null);
    const node = h("details", { class: judge.human ? "judge person" : "judge", open: this.open.has(key), ontoggle: () => (node.open ? this.open.add(key) : this.open.delete(key)) },
      h("summary", { title: `${judge.judge} ${judge.fingerprint.slice(0, 6)}` }, badge(judge.verdict), share(judge),
        judge.confidence === null ? h("span", { class: "sure" }) : h("span", { class: "sure" }, `${number(judge.confidence * 100, 0)} % sure`),
        h("code", { class: "who" }, judge.judge),
        judge.against_engine ? h("span", { class: "against", title: "the engine says otherwise" }, "≠ engine") : null,
        cited ? stepLink(this.jump, cited.step, `frame ${cited.frame}`, cited.frame) : null),
      h("ol", { reversed: true }, all.toReversed().map((item, i) => answer(item, { human: judge.human, superseded: judge.human && i > 0 }, this.jump))));
    return node;
  }

  #mine(id) {
    return this.outline.judgements.find((item) => item.milestone_id === id).judges.find((judge) => judge.human && judge.judge === `human:${this.name.value}`)?.verdict;
  }

  /** Mark what the person of this name has said. In place: the name changes in the moment that a button is pressed. */
  #press() {
    for (const [id, row] of this.rows) for (const button of row.querySelectorAll(".verdict-button")) button.setAttribute("aria-pressed", String(button.dataset.verdict === this.#mine(id)));
  }

  #buttons(item, text) {
    const id = item.milestone_id, mine = this.#mine(id);
    if (!this.notes.has(id)) this.notes.set(id, noteField(text));
    return h("div", { class: "decide", role: "group", "aria-label": `your verdict: ${text}` },
      ANSWERS.map(([verdict, sign, label]) => h("button", { type: "button", class: "verdict-button", data: { verdict }, "aria-pressed": String(mine === verdict), onclick: () => this.#decide(item, verdict) }, h("span", { "aria-hidden": "true" }, sign), ` ${label}`)),
      this.notes.get(id).element);
  }

  async #decide({ milestone_id: id }, verdict) {
    const frame = this.shown(), name = this.name.value;
    if (!name) {
      show(this.said, notice("Who are you?", "Enter your name: it is shown beside your verdict.", "bad"));
      this.name.field.focus();
      return;
    }
    if (frame === null) {
      show(this.said, notice("No frame is shown yet", "A verdict cites the frame on the screen.", "bad"));
      return;
    }
    try {
      const changed = await post(`episodes/${encodeURIComponent(this.jump.id)}/verdicts`, { milestone: id, verdict, frame, name, note: this.notes.get(id).value });
      Object.assign(this.outline, changed);
      this.notes.delete(id);
      show(this.said, h("p", { class: "recorded" }, `Recorded: ${words(verdict)}, on frame ${frame}, by `, h("bdi", {}, `human:${name}`), "."));
      this.#renew(id, verdict);
    } catch (error) {
      show(this.said, notice("The verdict was not recorded", error.message, "bad"));
    }
  }

  /** Draw one milestone anew: what is open or half written elsewhere stays, and so does the focus. */
  #renew(id, verdict) {
    const fresh = this.#row(this.outline.judgements.find((item) => item.milestone_id === id));
    this.rows.get(id).replaceWith(fresh);
    this.#remember(id, fresh);
    fresh.querySelector(`[data-verdict=${verdict}]`)?.focus({ preventScroll: true });
    this.#counts();
  }

  /** Number of the frame on the screen. While a seek is under way it shows neither for sure: null, nothing can be cited. */
  shown() {
    return this.player.shown === this.player.wanted ? this.player.shown : null;
  }

  /** Say and show which frame a verdict would cite now: the player itself may be out of sight. */
  at() {
    if (!this.reviewing) return;
    const frame = this.shown();
    if (frame !== null) this.preview.getContext("2d").drawImage(this.player.video, 0, 0, this.preview.width, this.preview.height);
    const text = frame === null ? "No frame is shown yet." : `A verdict cites frame ${frame}, the one on the screen.`;
    if (this.cited.textContent !== text) show(this.cited, text);
  }
}
