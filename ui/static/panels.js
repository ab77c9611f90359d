// The texts beside the frame: the step, the model's calls, lessons, diagnoses, the episode's facts.

import { badge, dollars, duration, episodeLink, forkLink, h, moment, notice, number, show, signed } from "./dom.js";
import { filmed, otherWay, worth } from "./forks.js";
import { BAND } from "./marks.js";

const json = (value) => JSON.stringify(value, null, 2);
const HASH = /^[0-9a-f]{64}$/;

/** An action as short JSON: numbers with three decimals, which is finer than any picture shows. */
export const shortAction = (action) => (action === null ? "no action" : JSON.stringify(action, (_, value) => (typeof value === "number" ? Number(value.toFixed(3)) : value)));

function details(summary, ...children) {
  return h("details", {}, h("summary", {}, summary), ...children);
}

function definition(pairs) {
  return h("dl", { class: "facts" }, pairs.filter(([, value]) => value !== null && value !== undefined && value !== "").map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

/** A link to a step of the episode on the page; ordinary clicks move, others open the shared address. */
export function stepLink(jump, step, label, frame) {
  return h("a", { class: "step-link", href: episodeLink(jump.id, step), onclick: (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    jump.go(step, frame);
  } }, label ?? `step ${step}`);
}

/** That a step was not the player's own, or was taken back. */
function ledBy(kind, what) {
  return h("span", { class: `badge ${kind}` }, `${BAND[kind].sign} ${BAND[kind].name}: ${BAND[kind].text}`, typeof what === "string" ? ` (${what})` : "");
}

/** What was decided at this step and what came of it. */
export function step(box, { row, end, position, episode }) {
  if (end) {
    show(box, h("h2", {}, "Final state"), h("p", {}, badge(episode.episode.outcome ?? episode.episode.status), " after ", episode.episode.n_steps, " steps"),
      episode.episode.n_steps ? null : h("p", { class: "none" }, "No step has been recorded."));
    return;
  }
  if (!row) {
    show(box, h("h2", {}, `Step ${position}`), h("p", { class: "loading" }, "Loading…"));
    return;
  }
  show(box, h("h2", {}, `Step ${row.index}`, " ", row.status === "ok" ? null : badge(row.status),
      ["rewind", "repair"].filter((kind) => row.notes?.[kind]).map((kind) => ledBy(kind, row.notes[kind])),
      episode.bands.some((run) => run.kind === "undone" && row.index >= run.start && row.index < run.stop) ? ledBy("undone") : null),
    row.action === null ? null : h("pre", { class: "action", title: JSON.stringify(row.action) }, shortAction(row.action)),
    row.reason ? h("p", { class: "reason" }, h("strong", {}, "Not played: "), row.reason) : null,
    row.rationale ? h("blockquote", { class: "model-text" }, row.rationale) : h("p", { class: "none" }, "The player gave no rationale."),
    definition([["reward", signed(row.reward, 3)], ["score after", number(row.score, 2)], ["world step", row.sim_step], ["thought", duration(row.think_s)],
      ["world took", duration(row.env_s)], ["world ran on", row.world_ms ? `${row.world_ms} ms` : null]]),
    Object.keys(row.notes ?? {}).length ? details("Notes", h("pre", {}, json(row.notes))) : null);
}

/** A few steps around the position, as a table. */
export function nearby(box, steps, position, last, jump) {
  const first = Math.max(0, Math.min(position - 3, last - 7));
  const rows = [];
  for (let index = first; index < Math.min(last, first + 7); index++) {
    const row = steps.at(index);
    rows.push(h("tr", { class: index === position ? "here" : null, "aria-current": index === position ? "step" : null },
      h("td", {}, stepLink(jump, index, String(index))),
      row ? [h("td", { class: "act" }, shortAction(row.action)), h("td", {}, row.status === "ok" ? "" : badge(row.status)),
        h("td", { class: "num" }, row.reward ? signed(row.reward, 2) : ""), h("td", { class: "num" }, number(row.score, 1))] : h("td", { colspan: 4, class: "none" }, "…")));
  }
  show(box, rows.length ? h("table", { class: "nearby" }, h("thead", {}, h("tr", {}, ["Step", "Action", "", "Reward", "Score"].map((head, i) => h("th", { scope: "col", class: i > 2 ? "num" : null }, head)))), h("tbody", {}, rows)) : null);
}

// The parts of a message, whatever the provider's dialect: texts in order, images by their artifact.
function* parts(value) {
  if (typeof value === "string") yield { text: value };
  else if (Array.isArray(value)) for (const item of value) yield* parts(item);
  else if (value && typeof value === "object") {
    if (typeof value.artifact === "string" && HASH.test(value.artifact)) yield { image: value.artifact };
    else if (typeof value.half_of === "string" && HASH.test(value.half_of)) yield { image: `${value.half_of}?half=1` };
    else if (typeof value.text === "string") yield { text: value.text };
    else for (const key of ["image_url", "image", "source", "url", "content", "input_image"]) if (value[key]) yield* parts(value[key]);
  }
}

function picture(name) {
  const image = h("img", { src: `/media/${name}`, alt: "image sent to the model", loading: "lazy", onerror: () => image.replaceWith(h("span", { class: "none" }, "image missing from the artifact store")) });
  return h("a", { href: `/media/${name}`, target: "_blank", rel: "noopener" }, image);
}

function message(item) {
  const shown = [...parts(item.content)];
  return h("div", { class: "message" }, h("span", { class: "role" }, item.role ?? "message"),
    shown.length ? shown.map((part) => (part.image ? picture(part.image) : h("pre", { class: "model-text" }, part.text))) : h("pre", { class: "model-text" }, json(item)));
}

function call(item, open) {
  const messages = Array.isArray(item.request?.messages) ? item.request.messages : [];
  const cost = item.cached ? "cached" : dollars(item.cost_usd);
  return h("article", { class: "call" },
    h("header", {}, h("strong", {}, item.purpose), " ", h("code", {}, item.model), " ", badge(item.status),
      h("small", {}, ` ${number(item.input_tokens, 0)} → ${number(item.output_tokens, 0)} tokens · ${duration(item.latency_s)} · ${cost}`, item.retries ? ` · ${item.retries} retries` : "")),
    item.error ? h("p", { class: "reason" }, item.error) : null,
    h("details", { open }, h("summary", {}, `Prompt (${messages.length} messages)`), messages.map(message)),
    h("div", { class: "message reply" }, h("span", { class: "role" }, "reply"), item.text ? h("pre", { class: "model-text" }, item.text) : h("p", { class: "none" }, item.reply ? "no text; see the raw reply" : "no reply came")),
    details("Raw request and reply", h("pre", {}, json(item.request)), h("pre", {}, json(item.reply))));
}

/** The model's calls of the step: prompt with its images, reply, tokens, cost. */
export function calls(box, items) {
  show(box, items.length ? [h("h2", {}, "Model"), items.map((item, i) => call(item, i === items.length - 1))] : null);
}

export function thumbnail(evidence, jump, caption) {
  if (evidence.frame === null || evidence.frame === undefined) return null;
  const inner = [
    evidence.thumb ? h("img", { src: evidence.thumb, alt: `frame ${evidence.frame}`, loading: "lazy", width: 96, onerror: (event) => event.target.remove() }) : null,
    h("small", {}, caption ?? `frame ${evidence.frame}`),
  ];
  if (evidence.episode_id && evidence.episode_id !== jump.id) return h("a", { class: "thumb", href: episodeLink(evidence.episode_id, evidence.step) }, inner);
  const link = stepLink(jump, evidence.step, inner, evidence.frame);
  link.classList.add("thumb");
  return link;
}

const FROM = { failure: "the attempt", tutorial: "the tutorial", other: "another game", blank: "nothing to see" };

/** One picture of the matched budget: where it comes from, and what was not as its label said. */
function lessonPicture(item, jump) {
  const remarks = [item.place === item.frame ? null : `labelled as frame ${item.place}`, item.filled ? "the last frame again" : null].filter(Boolean);
  const caption = item.video === "blank" ? `${item.number}: blank` : `${item.number}: frame ${item.frame}`;
  const small = [caption, h("br"), FROM[item.video], remarks.map((text) => [h("br"), text])];
  if (item.video !== "blank" && item.episode_id) return thumbnail(item, jump, small);
  return h("span", { class: "thumb" }, item.thumb ? h("img", { src: item.thumb, alt: `frame ${item.frame}`, loading: "lazy", width: 96, onerror: (event) => event.target.remove() }) : h("span", { class: "blank", "aria-hidden": "true" }), h("small", {}, small));
}

function causes(items) {
  const known = (Array.isArray(items) ? items : []).filter((item) => typeof item?.text === "string");
  const where = (item) => (Number.isInteger(item.picture) ? ` (picture ${item.picture})` : Number.isInteger(item.frame) ? ` (frame ${item.frame})` : "");
  return known.length ? [h("small", { class: "role" }, "causes that the model named"), h("ol", { class: "causes model-text" }, known.map((item) => h("li", {}, item.text, h("small", {}, where(item)))))] : null;
}

function lesson(item, title, jump) {
  const strip = (name, shown) => shown.length ? h("div", { class: "strip" }, h("small", { class: "role" }, name), h("div", {}, shown)) : null;
  const thumbs = (frames) => frames.map((frame) => (frame.episode_id ? thumbnail(frame, jump) : lessonPicture({ ...frame, video: "tutorial", place: frame.frame, number: "film" }, jump)));
  const budget = item.pictures ?? [];
  const asked = Array.isArray(item.call_ids) ? item.call_ids.length : 0;
  return h("article", { class: "card lesson" },
    h("h3", {}, "✎ ", title, " ", item.kind ? h("code", { class: "kind" }, item.kind) : null, " ", item.status && item.status !== "ok" ? badge(item.status) : null),
    item.problem ? h("p", { class: "reason" }, item.problem) : null,
    h("blockquote", { class: "model-text" }, item.text), causes(item.causes),
    budget.length ? strip(`${budget.length} pictures, in the order shown`, budget.map((picture) => lessonPicture(picture, jump)))
      : [strip("from the failed attempt", thumbs(item.frames.failure)), strip("from the tutorial", thumbs(item.frames.tutorial))],
    h("p", { class: "links" }, "by ", h("code", {}, item.reflector), ", ", moment(item.created_at), asked ? `, ${asked} model call${asked > 1 ? "s" : ""}` : "", " · ",
      item.episode_id === jump.id ? null : h("a", { href: episodeLink(item.episode_id) }, "attempt before"),
      item.tutorial_id ? [item.episode_id === jump.id ? null : " · ", h("a", { href: episodeLink(item.tutorial_id) }, "tutorial")]
        : item.film ? h("a", { class: "film", href: item.film.url, target: "_blank", rel: "noopener" }, "tutorial film ", item.film.source) : "no tutorial",
      item.retries.filter((id) => id !== jump.id).map((id) => [" · ", h("a", { href: episodeLink(id) }, "attempt after")])));
}

/** Lessons: the one that this attempt was given, and those that it led to. */
export function lessons(box, { lesson_used: used, lessons: drawn }, jump) {
  show(box, used || drawn.length ? h("h2", {}, "Reflection") : null, used ? lesson(used, "Lesson given to this attempt", jump) : null, drawn.map((item) => lesson(item, "Lesson drawn from this attempt", jump)));
}

/** What an intervention did. */
function told(item, jump) {
  const exact = [h("strong", {}, item.exact ? "✓ bit-exact" : "✗ not exact"), " ", h("code", { title: item.snapshot }, item.snapshot.slice(0, 10))];
  const stopped = stepLink(jump, item.at_step);
  if (item.kind === "physical") return h("p", { class: "fork" }, "⎇ Stopped after ", stopped, "; on branch ", item.branch, " the arm retraces its path towards where it was before ", stepLink(jump, item.to_step), ", and the objects stay where they are");
  if (item.kind === "repair") return h("p", { class: "fork" }, "⚒ Repaired after ", stopped, ", from where the world was, on branch ", item.branch);
  if (item.kind === "undo") return h("p", { class: "fork" }, "↩ Taken back after ", stopped, ": on branch ", item.branch, " the world is again as it was after ", stepLink(jump, item.to_step), ", ", exact);
  return h("p", { class: "fork" }, "⎇ Rolled back after ", stopped, " to the beginning of ", stepLink(jump, item.to_step), ", onto branch ", item.branch, ": ",
    item.kind === "sim" ? "the whole world went back" : item.kind, ", ", exact);
}

/** Injected faults (the truth), diagnoses, and what was done about them. */
export function diagnoses(box, episode, jump) {
  const { faults, diagnoses: items, interventions } = episode;
  const fault = (item) => h("article", { class: "card fault" }, h("h3", {}, "⚡ Injected fault: ", item.kind),
    definition([["class", item.fault_class], ["type", item.fault_type], ["begins", item.onset_step === null ? "it never fired" : stepLink(jump, item.onset_step)]]),
    Object.keys(item.params).length ? details("Parameters", h("pre", {}, json(item.params))) : null);
  const watch = (key, text) => h("p", {}, h("a", { class: "watch", href: forkLink(jump.id, key, 0) }, text));
  const fork = (item) => [told(item, jump), watch(item.branch, filmed(otherWay(episode, item.diagnosis_id)) ? "Watch what would have come without it, side by side" : "Watch both branches side by side")];
  const other = (item) => {
    const found = otherWay(episode, item.id);
    return [worth(found), found?.suppressed ? [h("p", { class: "fork" }, "⎇ Not carried out: the episode went on as it was."), watch(item.id, "Watch what would have come of it, side by side")] : null];
  };
  const said = (item) => h("article", { class: "card diagnosis" }, h("h3", {}, "✚ Diagnosis by ", h("code", {}, item.diagnoser), " ", badge(item.verdict)),
    definition([["asked after", item.step_index < 0 ? "the start" : stepLink(jump, item.step_index)], ["raised by", item.trigger], ["class", item.fault_class], ["type", item.fault_type],
      ["began at", Number.isInteger(item.body.onset_step) ? stepLink(jump, item.body.onset_step) : null], ["stage", item.body.stage], ["what", item.body.entity],
      ["sure", typeof item.body.confidence === "number" ? `${number(item.body.confidence * 100, 0)} %` : null], ["roll back to", item.rollback_step === null ? null : stepLink(jump, item.rollback_step)]]),
    item.body.rationale || item.body.abstain_reason ? h("blockquote", { class: "model-text" }, item.body.rationale || item.body.abstain_reason) : null,
    interventions.filter((own) => own.diagnosis_id === item.id).map(fork), other(item),
    Object.keys(item.body).length ? details("Whole answer", h("pre", { class: "model-text" }, json(item.body))) : null);
  const loose = interventions.filter((item) => !items.some((other) => other.id === item.diagnosis_id));
  show(box, faults.length || items.length || loose.length ? h("h2", {}, "Faults and repair") : null, faults.map(fault), items.map(said), loose.map(fork));
}

/** What the episode is: the task's goal, identity, counts. */
export function facts(box, { episode, task, runs, video }) {
  const summary = episode.summary ?? {};
  show(box, h("h2", {}, "Episode"), task ? h("p", { class: "goal" }, task.goal) : notice("This task is not installed here", "Its goal and milestones are not known to this version; the recording is complete."),
    definition([["id", h("code", {}, episode.id)], ["played", moment(episode.created_at)], ["model calls", summary.calls], ["cost", summary.calls ? dollars(summary.cost_unknown ? null : summary.cost_usd) : null],
      ["not allowed", summary.illegal], ["unreadable", summary.unparsable], ["final state", episode.state_hash ? h("code", { title: episode.state_hash }, episode.state_hash.slice(0, 12)) : null],
      ["video", video.state === "ok" ? `${video.width}×${video.height}, ${number(video.fps)} frames/s, ${video.n_frames} frames, ${video.codec}` : video.state],
      ["runs", [...new Set(runs.map((item) => item.run_id))].join(", ")]]),
    details("Specification (what the identity is the hash of)", h("pre", {}, json(episode.spec))), details("Summary", h("pre", {}, json(summary))));
}
