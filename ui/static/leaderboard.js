// The table of a run. Every cell leads to the episodes behind it.

import { get, whileActive } from "./http.js";
import { badge, dollars, fixed, h, instrument, link, moment, notice, number, s, show, signed } from "./dom.js";

const WIDTH = 84;
const HEIGHT = 16;

/** An estimate as a bar from zero with its 95 % interval as a whisker; the numbers stand beside it. */
function whisker(interval, low, high, label) {
  const x = (value) => 2 + ((Math.min(high, Math.max(low, value)) - low) / (high - low)) * (WIDTH - 4);
  const middle = HEIGHT / 2;
  const known = interval.low !== null && interval.high !== null;
  return s("svg", { class: "whisker", viewBox: `0 0 ${WIDTH} ${HEIGHT}`, width: WIDTH, height: HEIGHT, role: "img", "aria-label": label },
    s("line", { class: "track", x1: 2, x2: WIDTH - 2, y1: middle, y2: middle }),
    s("rect", { class: interval.estimate < 0 ? "bar less" : "bar", x: Math.min(x(0), x(interval.estimate)), y: 3, width: Math.abs(x(interval.estimate) - x(0)), height: HEIGHT - 6 }),
    low < 0 ? s("line", { class: "zero", x1: x(0), x2: x(0), y1: 0, y2: HEIGHT }) : null,
    known ? [
      s("line", { class: "span", x1: x(interval.low), x2: x(interval.high), y1: middle, y2: middle }),
      s("line", { class: "span", x1: x(interval.low), x2: x(interval.low), y1: 3, y2: HEIGHT - 3 }),
      s("line", { class: "span", x1: x(interval.high), x2: x(interval.high), y1: 3, y2: HEIGHT - 3 }),
    ] : null,
    s("circle", { class: "point", cx: x(interval.estimate), cy: middle, r: 2.5 }));
}

function spread(interval, scale, write) {
  if (interval.low === null || interval.high === null) return "one seed";
  return `[${write(interval.low * scale)}, ${write(interval.high * scale)}]`;
}

function estimate(interval, { scale = 1, low = 0, high = 100, write = fixed, href, what }) {
  if (!interval) return h("span", { class: "none" }, "–");
  const scaled = Object.fromEntries(["estimate", "low", "high"].map((key) => [key, interval[key] === null ? null : interval[key] * scale]));
  const text = `${what} ${write(scaled.estimate)} ${spread(interval, scale, write)}, n = ${interval.n}`;
  return h("a", { class: "estimate", href, title: text }, whisker(scaled, low, high, text),
    h("b", {}, write(scaled.estimate)), h("small", {}, spread(interval, scale, write)));
}

function rowOf(row, run, gainScale) {
  const filters = { run, task: row.task, space: row.space, agent: row.agent, condition: row.condition };
  const to = (more = {}) => link("episodes", { ...filters, ...more });
  const outcomes = Object.entries(row.outcomes).sort((a, b) => b[1] - a[1]);
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  return h("tr", {},
    h("th", { scope: "row", data: { label: "Agent" } }, h("a", { href: to() }, row.agent),
      row.instrument ? instrument(row.instrument) : null),
    cell("Condition", h("a", { href: to() }, row.condition)),
    cell("Score", estimate(row.score, { href: to(), what: "score" })),
    cell("Success", estimate(row.success, { scale: 100, write: (value) => `${number(value, 0)} %`, href: to(), what: "success" })),
    cell("Gain", estimate(row.gain, { low: -gainScale, high: gainScale, write: (value) => signed(value, 1, fixed), href: to(), what: "gain by retrying" })),
    cell("Endings", outcomes.length ? outcomes.map(([outcome, count]) => h("a", { href: to({ outcome }) }, badge(outcome, count))) : h("span", { class: "none" }, "none yet")),
    cell("Done", h("a", { href: to() }, `${row.done}/${row.planned}`)),
    cell("Bad moves", h("a", { href: to(), title: `${row.illegal} actions against the rules, ${row.unparsable} replies without a readable action` }, number(row.illegal + row.unparsable, 0))),
    cell("Calls", h("a", { href: to() }, number(row.calls, 0))),
    cell("Cost", h("a", { href: to() }, row.calls ? dollars(row.cost_usd) : "none")));
}

function table(board) {
  const gains = board.rows.flatMap((row) => (row.gain ? [row.gain.estimate, row.gain.low, row.gain.high] : [])).filter((value) => value !== null);
  const gainScale = Math.max(10, ...gains.map(Math.abs));
  const groups = new Map();
  for (const row of board.rows) {
    const key = `${row.task}\n${row.space}`;
    groups.set(key, [...(groups.get(key) ?? []), row]);
  }
  const heads = ["Agent", "Condition", "Score 0–100", "Success", "Gain by retrying", "Endings", "Done", "Bad moves", "Calls", "Cost"];
  return h("div", { class: "scroll" }, h("table", { class: "board" },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    [...groups.values()].map((rows) => h("tbody", {},
      h("tr", { class: "group" }, h("th", { colspan: heads.length, scope: "colgroup" },
        h("a", { href: link("episodes", { run: board.run_id, task: rows[0].task, space: rows[0].space }) }, rows[0].title || rows[0].task),
        " ", h("code", {}, rows[0].task), " ", h("span", { class: "space" }, rows[0].space))),
      rows.map((row) => rowOf(row, board.run_id, gainScale))))));
}

/** Draw the page; the run is `?run=`, or the newest. */
export async function render(main) {
  const { items: runs } = await get("runs");
  if (!runs.length) {
    show(main, notice("No run yet", "Run `arena demo`, or `arena run FILE` with an experiment of your own; then reload this page."));
    return;
  }
  const wanted = new URLSearchParams(location.search).get("run");
  let run = runs.find((item) => item.id === wanted) ?? null;
  if (wanted && !run) {
    show(main, notice("No such run", `There is no run ${wanted} in this database. Choose one below.`, "bad"));
  } else {
    show(main);
    run ??= runs[0];
  }
  const picker = h("select", { "aria-label": "Run", onchange: () => location.assign(link("", { run: picker.value })) },
    run ? null : h("option", { value: "" }, "choose a run"),
    runs.map((item) => h("option", { value: item.id, selected: item.id === run?.id }, `${item.id} (${item.status}, ${moment(item.created_at)})`)));
  const body = h("section", { "aria-live": "polite" });
  const state = h("span", { class: "state" });
  const load = async () => {
    const board = await get("leaderboard", { run: run.id });
    run.status = board.status;
    show(state, badge(board.status), ` ${board.done} of ${board.planned} trials done`);
    show(body, board.rows.length ? table(board) : notice("Nothing planned", "This run has no episodes in its plan."),
      h("p", { class: "legend" }, "Bars are means over seeds, whiskers their 95 % bootstrap intervals; only episodes that the game itself ended are scored. ",
        "⚖ marks instruments, which measure the arena and do not compete. Bad moves are actions against the rules and replies without a readable action."),
      h("ul", { class: "legend" }, [...new Map(board.rows.filter((row) => row.instrument).map((row) => [row.agent, row.instrument]))].map(([agent, label]) => h("li", {}, "⚖ ", h("b", {}, agent), " is an instrument: ", label))));
  };
  const button = h("button", { type: "button", onclick: load }, "Refresh");
  main.append(h("div", { class: "bar" }, h("h1", {}, "Leaderboard"), h("label", {}, "Run ", picker), run ? [state, button] : null), body);
  if (run) {
    document.title = `${run.name} · Rewind Arena`;
    await load();
    whileActive(() => run.status === "running", load);
  }
}
