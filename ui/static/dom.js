// Building the page. Text only ever goes in as a text node: nothing here, or in any other file of this folder,
// parses HTML, so that whatever a model writes is shown and never interpreted.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, props, children) {
  for (const [key, value] of Object.entries(props ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "class") node.setAttribute("class", value);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "value" || key === "checked") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  add(node, children);
  return node;
}

function add(node, children) {
  for (const child of children) {
    if (child === undefined || child === null || child === false) continue;
    if (Array.isArray(child)) add(node, child);
    else node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** An HTML element. `onclick` and the like are listeners; arrays of children are flattened. */
export const h = (tag, props, ...children) => fill(document.createElement(tag), props, children);

/** An SVG element. */
export const s = (tag, props, ...children) => fill(document.createElementNS(SVG, tag), props, children);

/** Replace everything inside `node`. */
export function show(node, ...children) {
  node.replaceChildren();
  add(node, children);
  return node;
}

/** A number with at most `digits` decimals and a real minus sign; an en dash for none. */
export function number(value, digits = 1) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return String(Number(Number(value).toFixed(digits))).replace("-", "−");
}

/** A number with exactly `digits` decimals, for columns. */
export const fixed = (value, digits = 1) => Number(value).toFixed(digits).replace("-", "−");

/** The same with its sign always written. */
export const signed = (value, digits = 1, write = number) => (value > 0 ? "+" : "") + write(value, digits);

/** US dollars from an exact decimal string; unknown is unknown, not zero. */
export function dollars(value) {
  if (value === null || value === undefined) return "unknown";
  const amount = Number(value);
  return amount === 0 ? "$0" : amount < 0.01 ? "$" + amount.toPrecision(2) : "$" + amount.toFixed(2);
}

/** A duration in the unit that reads best. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${number(seconds, 1)} s`;
  return `${Math.round(seconds / 60)} min`;
}

/** A moment in the viewer's own time zone. */
export function moment(iso) {
  if (!iso) return "–";
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}

// Never colour alone: each ending has its own sign.
const SIGNS = {
  won: ["✓", "good"], lost: ["✗", "bad"], horizon: ["◷", "plain"], illegal: ["⊘", "warn"], unparsable: ["¿", "warn"],
  refused: ["⊗", "warn"], limit: ["◔", "warn"], provider_error: ["☁", "fail"], infrastructure_error: ["⚙", "fail"],
  running: ["…", "plain"], finished: ["✓", "plain"], interrupted: ["‖", "warn"], ok: ["✓", "plain"],
  reached: ["✓", "good"], not_reached: ["○", "plain"], uncertain: ["?", "warn"], invalid: ["!", "fail"],
  accepted: ["✓", "good"], rejected: ["✗", "bad"], proposed: ["…", "plain"],
  helped: ["✓", "good"], harmed: ["✗", "bad"], not_needed: ["○", "plain"], did_not_help: ["◔", "warn"],
  fault: ["⚡", "bad"], suspect: ["?", "warn"], unrecoverable: ["✗", "bad"], abstain: ["–", "plain"],
};

/** A sign and a word for an outcome, a status or a verdict. */
export function badge(word, count) {
  const [sign, tone] = SIGNS[word] ?? ["·", "plain"];
  const text = String(word).replaceAll("_", " ");
  return h("span", { class: `badge ${tone}` }, h("span", { "aria-hidden": "true" }, sign), " ", text, count === undefined ? null : ` ${count}`);
}

/** Instruments are no contestants, and are marked wherever they appear: the label's first words, the whole on hovering. */
export const instrument = (label) => h("span", { class: "instrument", title: `instrument: ${label}` }, "⚖ ", label.split(": ")[0]);

/** A box that says what is the matter and what to do. */
export function notice(title, detail, tone = "plain") {
  return h("div", { class: `notice ${tone}`, role: tone === "bad" ? "alert" : "status" }, h("strong", {}, title), detail ? h("p", {}, detail) : null);
}

/** A link inside the app. `params` that are empty are left out. */
export function link(page, params) {
  const query = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== null && v !== undefined && v !== "")).toString();
  return `/ui/${page}${query ? "?" + query : ""}`;
}

/** The run whose pages the reader comes through: links to episodes carry it on. */
export const cameFrom = () => new URLSearchParams(location.search).get("run");

/** The address of an episode at a step: what people share. */
export const episodeLink = (id, step) => link("replay", { ep: id, run: cameFrom(), step });

/** The address of both branches of a fork, `step` steps after it; `key` is the branch that it opened, or its diagnosis. */
export const forkLink = (id, key, step) => link("replay", { ep: id, run: cameFrom(), fork: key, step });

/** Whether keys belong to a field that is being typed in. */
export const isTyping = (event) => event.target.matches?.("input:not([type=range]), textarea, select");
