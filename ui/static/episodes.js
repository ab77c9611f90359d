// The list of episodes: filtered, sorted and paged by the server.

import { get, whileActive } from "./http.js";
import { badge, dollars, duration, episodeLink, h, link, moment, notice, number, show } from "./dom.js";

const LIMIT = 50;
const FILTERS = { run: "Run", task: "Task", agent: "Agent", space: "Space", condition: "Condition", outcome: "Ending" };
const COLUMNS = [
  ["created", "Played"], ["task", "Task"], ["space", "Space"], ["agent", "Agent"], ["seed", "Seed"], ["round", "Round"],
  ["outcome", "Ending"], ["score", "Score"], ["steps", "Steps"],
];

const query = () => Object.fromEntries(new URLSearchParams(location.search));
const address = (params) => link("episodes", params);

function filterBar(facets, current) {
  const pick = (name, label) => {
    const options = [...new Set([...(facets[name] ?? []), ...(current[name] ? [current[name]] : [])])];
    const select = h("select", { id: `filter-${name}`, name },
      h("option", { value: "" }, "all"),
      options.map((value) => h("option", { value, selected: value === current[name] }, value)));
    select.addEventListener("change", () => {
      const next = { ...current, [name]: select.value, offset: "" };
      if (name === "run") next.condition = ""; // conditions belong to a run
      location.assign(address(next));
    });
    return h("label", { class: current[name] ? "set" : null }, label, " ", select);
  };
  const any = Object.keys(FILTERS).some((name) => current[name]);
  return h("div", { class: "filters", role: "search" }, Object.entries(FILTERS).map(([name, label]) => pick(name, label)),
    any ? h("a", { href: address({ run: current.run && Object.keys(current).length > 1 ? current.run : "" }) }, "clear") : null);
}

function head(current) {
  const sort = current.sort ?? "-created";
  return h("thead", {}, h("tr", {}, COLUMNS.map(([key, label]) => {
    const direction = sort === key ? "ascending" : sort === `-${key}` ? "descending" : null;
    const next = sort === `-${key}` ? key : `-${key}`;
    return h("th", { scope: "col", "aria-sort": direction },
      h("a", { href: address({ ...current, sort: next, offset: "" }) }, label, direction ? (direction === "ascending" ? " ↑" : " ↓") : ""));
  }), h("th", { scope: "col" }, "Shows"), h("th", { scope: "col" }, "Calls"), h("th", { scope: "col" }, "Cost")));
}

function row(item) {
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  const extras = [
    item.video ? "▶ video" : null, item.lesson_id ? "✎ lesson" : null, item.n_faults ? "⚡ fault" : null, item.n_forks ? "⎇ rollback" : null,
    item.n_tries > 1 ? `try ${item.try_no + 1}` : null,
  ].filter(Boolean);
  return h("tr", {},
    cell("Played", h("a", { href: episodeLink(item.id), class: "main" }, moment(item.created_at)),
      item.finished_at ? h("small", {}, ` ${duration((Date.parse(item.finished_at) - Date.parse(item.created_at)) / 1000)}`) : null),
    cell("Task", h("a", { href: episodeLink(item.id) }, item.task_id)),
    cell("Space", item.space), cell("Agent", item.agent), cell("Seed", item.seed), cell("Round", item.round),
    cell("Ending", badge(item.outcome ?? item.status)),
    cell("Score", item.scored === false ? h("span", { class: "none", title: "the game did not end by itself: no score" }, "not scored") : number(item.score)),
    cell("Steps", item.n_steps), cell("Shows", extras.join(" · ")), cell("Calls", number(item.summary.calls ?? 0, 0)),
    cell("Cost", item.summary.calls ? dollars(item.summary.cost_unknown ? null : item.summary.cost_usd) : "none"));
}

function pager(page, current) {
  const offset = page.offset;
  const to = (start, label, rel) => (start === null ? h("span", { class: "none" }, label) : h("a", { rel, href: address({ ...current, offset: start || "" }) }, label));
  return h("nav", { class: "pager", "aria-label": "Pages of the list" },
    to(offset > 0 ? Math.max(0, offset - LIMIT) : null, "← previous", "prev"),
    h("span", {}, page.total ? `${offset + 1}–${offset + page.items.length} of ${page.total}` : "0"),
    to(offset + page.items.length < page.total ? offset + LIMIT : null, "next →", "next"));
}

/** Draw the page from the address: filters, `sort`, `offset`. */
export async function render(main) {
  const current = query();
  const body = h("section", { "aria-live": "polite" });
  let live = false;
  const load = async () => {
    const page = await get("episodes", { ...current, limit: LIMIT });
    live = page.items.some((item) => item.status === "running");
    show(filters, filterBar(page.facets, current));
    if (!page.items.length) {
      show(body, page.total_unfiltered
        ? notice("No episode matches", "Take away a filter, or clear them all.")
        : notice("No episode yet", "Run `arena demo`, or `arena run FILE` with an experiment of your own; then reload this page."));
      return;
    }
    show(body, h("div", { class: "scroll" }, h("table", { class: "list" }, head(current), h("tbody", {}, page.items.map(row)))), pager(page, current));
  };
  const filters = h("div");
  show(main, h("div", { class: "bar" }, h("h1", {}, "Episodes"), h("button", { type: "button", onclick: load }, "Refresh")), filters, body);
  document.title = "Episodes · Rewind Arena";
  await load();
  whileActive(() => live, load);
}
