// Milestones that models read out of recordings: the frames that show each, where it stands, and who decided.

import { badge, episodeLink, h, link, moment, notice, show } from "./dom.js";
import { get, post } from "./http.js";
import { allowed, nameField, noteField } from "./reviewer.js";

const DECISIONS = [["accepted", "✓", "accept"], ["rejected", "✗", "reject"], ["proposed", "…", "leave open"]];

/** A frame of the recording: in an episode it leads to its step, in a person's own video it is a picture. */
function picture(evidence) {
  const inner = [
    evidence.thumb ? h("img", { src: evidence.thumb, alt: `frame ${evidence.frame}`, loading: "lazy", width: 160, onerror: (event) => event.target.replaceWith(h("span", { class: "gone" }, "no picture")) }) : h("span", { class: "gone" }, "no picture"),
    h("small", {}, `frame ${evidence.frame}`),
  ];
  return evidence.episode_id ? h("a", { class: "thumb", href: episodeLink(evidence.episode_id, evidence.step) }, inner) : h("span", { class: "thumb" }, inner);
}

function decision(review, current) {
  return h("li", { class: current ? "review" : "review superseded" }, current ? "by " : [badge(review.state), " by "], h("span", { class: "who" }, review.reviewer), h("small", {}, ` ${moment(review.created_at)}`),
    review.matches ? h("small", {}, " as ", h("code", {}, review.matches)) : null, review.note ? h("p", { class: "model-text" }, review.note) : null);
}

class Proposals {
  constructor(main, data) {
    Object.assign(this, { main, data, cards: new Map(), notes: new Map() });
    this.name = nameField();
    this.said = h("div", { role: "status", "aria-live": "polite" });
    this.count = h("span", { class: "count" });
    this.#draw();
  }

  #draw() {
    const { task, tasks, versions, version, items } = this.data;
    const go = (event) => { location.href = link("proposals", { task: task.id, [event.target.name]: event.target.value }); };
    const chosen = versions.find((item) => item.version === version);
    const source = items[0];
    show(this.main,
      h("div", { class: "bar" }, h("h1", {}, "Proposed milestones"),
        h("label", {}, "Task", h("select", { id: "task", onchange: (event) => { location.href = link("proposals", { task: event.target.value }); } }, tasks.map((item) => h("option", { value: item.id, selected: item.id === task.id }, `${item.title} (${item.n})`)))),
        h("label", {}, "Version", h("select", { id: "version", name: "version", onchange: go }, versions.map((item) => h("option", { value: item.version, selected: item.version === version }, `${item.version}: ${item.model}, ${item.n - item.open} of ${item.n} decided`))))),
      chosen ? h("p", { class: "legend" }, "Read by ", h("code", {}, chosen.model), " out of ",
        source?.episode_id ? h("a", { href: episodeLink(source.episode_id, source.first.step) }, "this episode") : ["the video ", h("code", {}, source?.tutorial_id)],
        `, ${moment(chosen.created_at)}. `, this.count, " What is decided is added, and the latest decision counts; the task's own milestones stay what judges are asked about.") : notice("No such version", "Choose one above.", "bad"),
      allowed() && items.length ? h("div", { class: "panel review-bar" }, this.name.element) : null, this.said,
      h("ol", { class: "proposals" }, items.map((item) => this.#remember(item))),
      task.milestones.length ? h("details", { class: "panel own" }, h("summary", {}, `The task's own ${task.milestones.length} milestones`), h("ul", {}, task.milestones.map((item) => h("li", {}, item.text, h("small", {}, ` ${item.id}`))))) : null);
    this.#counts();
  }

  #counts() {
    const { items } = this.data;
    const of = (state) => items.filter((item) => item.state === state).length;
    show(this.count, `${of("accepted")} accepted, ${of("rejected")} rejected, ${of("proposed")} open.`);
  }

  #remember(item) {
    const card = this.#card(item);
    this.cards.set(item.id, card);
    return card;
  }

  #card(item) {
    const reviews = item.reviews.toReversed();
    return h("li", { class: `panel proposal ${item.state}`, data: { proposal: item.id } },
      h("div", { class: "proposal-text" },
        h("p", { class: "model-text what" }, item.text),
        h("p", {}, badge(item.state), h("small", {}, item.first_frame === item.last_frame ? `frame ${item.first_frame}` : `frames ${item.first_frame} to ${item.last_frame}`), " ", h("code", { class: "id" }, item.id.slice(0, 10))),
        reviews.length ? h("ul", { class: "reviews" }, decision(reviews[0], true)) : h("p", { class: "none" }, "Nobody has decided."),
        reviews.length > 1 ? h("details", {}, h("summary", {}, `${reviews.length - 1} earlier`), h("ul", { class: "reviews" }, reviews.slice(1).map((review) => decision(review, false)))) : null,
        allowed() ? this.#buttons(item) : null),
      h("div", { class: "frames" }, item.frames.map(picture)));
  }

  #buttons(item) {
    if (!this.notes.has(item.id)) this.notes.set(item.id, noteField(item.text));
    return h("div", { class: "decide", role: "group", "aria-label": `your decision: ${item.text}` },
      DECISIONS.filter(([state]) => state !== "proposed" || item.state !== "proposed").map(([state, sign, label]) => h("button", { type: "button", class: "verdict-button", data: { verdict: state }, "aria-pressed": String(item.state === state), onclick: () => this.#decide(item, state) }, h("span", { "aria-hidden": "true" }, sign), ` ${label}`)),
      this.notes.get(item.id).element);
  }

  async #decide(item, state) {
    const name = this.name.value;
    if (!name) {
      show(this.said, notice("Who are you?", "Enter your name: it is shown beside what you decide.", "bad"));
      this.name.field.focus();
      return;
    }
    try {
      const fresh = await post(`proposals/${encodeURIComponent(item.id)}/reviews`, { state, name, note: this.notes.get(item.id).value });
      this.data.items = this.data.items.map((other) => (other.id === fresh.id ? fresh : other));
      this.notes.delete(item.id);
      show(this.said, h("p", { class: "recorded" }, `Recorded: ${state}, by `, h("bdi", {}, `human:${name}`), "."));
      const before = this.cards.get(item.id);
      before.replaceWith(this.#remember(fresh));
      (this.cards.get(item.id).querySelector(`[data-verdict=${state}]`) ?? this.cards.get(item.id).querySelector("button"))?.focus({ preventScroll: true });
      this.#counts();
    } catch (error) {
      show(this.said, notice("The decision was not recorded", error.message, "bad"));
    }
  }
}

/** Draw the page for `?task=` and `?version=`; without a task, the first that has proposals. */
export async function render(main) {
  const params = new URLSearchParams(location.search);
  let task = params.get("task");
  if (!task) task = (await get("proposals")).tasks[0]?.id;
  document.title = "Proposed milestones · Rewind Arena";
  if (!task) {
    show(main, h("div", { class: "bar" }, h("h1", {}, "Proposed milestones")), notice("No milestones were proposed yet", "`arena milestones extract TASK VIDEO --model NAME` has a model read them out of a recording."));
    return;
  }
  new Proposals(main, await get("proposals", { task, version: params.get("version") }));
}
