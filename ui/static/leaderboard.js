// The table of a run. Every cell leads to the episodes behind it.

import { get, whileActive } from "./http.js";
import { badge, dollars, fixed, h, instrument, link, moment, notice, number, s, show, signed } from "./dom.js";

const WIDTH = 84;
const HEIGHT = 16;

/** The ranks that an agent may have: overlapping intervals have no order. */
function band(rank) {
  if (!rank) return "–";
  return rank[0] === rank[1] ? String(rank[0]) : `${rank[0]}–${rank[1]}`;
}

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
  if (interval.low === null || interval.high === null) return interval.why || "no interval";
  return `[${write(interval.low * scale)}, ${write(interval.high * scale)}]`;
}

/** An estimate with its bar and interval; a link where there are episodes to lead to. */
function estimate(interval, { scale = 1, low = 0, high = 100, write = fixed, href, what }) {
  if (!interval) return h("span", { class: "none" }, "–");
  const scaled = Object.fromEntries(["estimate", "low", "high"].map((key) => [key, interval[key] === null ? null : interval[key] * scale]));
  const text = `${what} ${write(scaled.estimate)} ${spread(interval, scale, write)}, n = ${interval.n}`;
  return h(href ? "a" : "span", { class: "estimate", href, title: text }, whisker(scaled, low, high, text),
    h("b", {}, write(scaled.estimate)), h("small", {}, spread(interval, scale, write)));
}

/** What did not count, in words. */
function leftOut(row) {
  const failures = Object.entries(row.failures).map(([outcome, count]) => `${count} ${outcome}`).join(", ") || "none";
  return `${row.excluded} episodes are no scores; failures of machine or provider: ${failures}; tries beyond the first: ${row.retries}`;
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
    cell("Score", estimate(row.score, { href: to(), what: "score" }),
      row.extreme ? h("small", { class: "extreme", title: `within 5 % of the ${row.extreme} of the scale, where differences say little` }, ` ${row.extreme}`) : null),
    cell("Rank", band(row.rank)),
    cell("Success", estimate(row.success, { scale: 100, write: (value) => `${number(value, 0)} %`, href: to(), what: "success" })),
    cell("Gain", estimate(row.gain, { low: -gainScale, high: gainScale, write: (value) => signed(value, 1, fixed), href: to(), what: "gain by retrying" })),
    cell("Endings", outcomes.length ? outcomes.map(([outcome, count]) => h("a", { href: to({ outcome }) }, badge(outcome, count))) : h("span", { class: "none" }, "none yet")),
    cell("Done", h("a", { href: to() }, `${row.done}/${row.planned}`)),
    cell("Left out", h("a", { href: to(), title: leftOut(row) }, number(row.excluded, 0), row.retries ? ` (${row.retries} retried)` : null)),
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
  const heads = ["Agent", "Condition", "Score 0–100", "Rank", "Success", "Gain by retrying", "Endings", "Done", "Left out", "Bad moves", "Calls", "Cost"];
  return h("div", { class: "scroll" }, h("table", { class: "board" },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))),
    [...groups.values()].map((rows) => h("tbody", {},
      h("tr", { class: "group" }, h("th", { colspan: heads.length, scope: "colgroup" },
        h("a", { href: link("episodes", { run: board.run_id, task: rows[0].task, space: rows[0].space }) }, rows[0].title || rows[0].task),
        " ", h("code", {}, rows[0].task), " ", h("span", { class: "space" }, rows[0].space))),
      rows.map((row) => rowOf(row, board.run_id, gainScale))))));
}

const share = (value) => fixed(value, 2);

/** Rows over tasks, where a run has several tasks in a space. */
function overTasks(board) {
  const rows = board.aggregates.filter((row) => row.of_tasks > 1);
  if (!rows.length) return null;
  const heads = ["Space", "Agent", "Condition", "Score 0–100", "Rank", "Normalised", "Interquartile mean", "Success", "Tasks", "Seeds"];
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  const line = (row) => {
    const href = link("episodes", { run: board.run_id, space: row.space, agent: row.agent, condition: row.condition });
    const iqm = row.iqm_normalised ? { high: 1, write: share } : {};
    return h("tr", {},
      cell("Space", h("span", { class: "space" }, row.space)),
      h("th", { scope: "row", data: { label: "Agent" } }, h("a", { href }, row.agent), row.instrument ? instrument(row.instrument) : null),
      cell("Condition", row.condition),
      cell("Score", estimate(row.score, { href, what: "mean score over tasks" })),
      cell("Rank", band(row.rank)),
      cell("Normalised", estimate(row.normalised, { high: 1, write: share, href, what: "normalised score" })),
      cell("Interquartile mean", estimate(row.iqm, { ...iqm, href, what: "interquartile mean" })),
      cell("Success", estimate(row.success, { scale: 100, write: (value) => `${number(value, 0)} %`, href, what: "success" })),
      cell("Tasks", row.tasks === row.of_tasks ? String(row.tasks) : `${row.tasks} of ${row.of_tasks}`),
      cell("Seeds", number(row.n, 0)));
  };
  return section("Over tasks", "Every task weighs alike. Normalised: 0 is the random player, 1 the expert. The interquartile mean is that of the middle half of all tasks and seeds.", heads, rows.map(line));
}

/** What supervision changed, in a run of the dynamic track: each condition beside the same episodes left alone. */
function supervised(board) {
  const lines = board.dynamic?.conditions ?? [];
  if (!lines.length) return null;
  const scale = Math.max(1, ...lines.flatMap((line) => [line.net, line.net_low, line.net_high]).map(Math.abs));
  const whole = (value) => signed(value, 0);
  const heads = ["Condition", "Success", "Rescued", "Broken", "Net", "Interventions", "Added steps", "Pairs"];
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  const line = (row) => {
    const alone = row.condition === "none";
    const net = { estimate: row.net, low: row.net_low, high: row.net_high, n: row.episodes, why: "one seed" };
    return h("tr", {},
      h("th", { scope: "row", data: { label: "Condition" } }, alone ? "none: left alone" : row.condition,
        row.instrument ? instrument("no contestant: it goes by chance, or by the truth") : null),
      cell("Success", `${number(100 * row.success, 1)} %`),
      cell("Rescued", alone ? null : number(row.rescued, 0)),
      cell("Broken", alone ? null : number(row.broken, 0)),
      cell("Net", alone ? null : estimate(net, { low: -scale, high: scale, write: whole, what: "rescued minus broken" })),
      cell("Interventions", alone ? null : fixed(row.interventions, 2)),
      cell("Added", alone ? null : number(row.added_steps, 0)),
      cell("Pairs", row.episodes === board.dynamic.scenarios ? number(row.episodes, 0) : `${row.episodes} of ${board.dynamic.scenarios}`));
  };
  return section("What supervision changed", "Paired by task, seed and fault with the same episodes left alone. Rescued: failed alone, succeeded supervised; broken: the reverse; net: rescued minus broken, with its 95 % interval. Interventions and added steps are means an episode. All figures: arena diagnose table.", heads, lines.map(line));
}

/** What conditions gain, over tasks and task by task. */
function compared(board) {
  if (!board.comparisons.length) return null;
  const scale = Math.max(10, ...board.comparisons.flatMap(({ difference: d }) => [d.estimate, d.low, d.high]).filter((value) => value !== null).map(Math.abs));
  const heads = ["Task", "Agent", "Condition", "Against", "Difference in points", "P(improves)", "Effect", "Wins lost, gained", `p (${board.correction})`, "Pairs"];
  const cell = (label, ...children) => h("td", { data: { label } }, ...children);
  const line = (row) => {
    const href = link("episodes", { run: board.run_id, task: row.task, space: row.space, agent: row.agent, condition: row.condition });
    return h("tr", {},
      cell("Task", row.task || "all", " ", h("span", { class: "space" }, row.space)),
      h("th", { scope: "row", data: { label: "Agent" } }, row.agent),
      cell("Condition", row.condition), cell("Against", row.reference),
      cell("Difference", estimate(row.difference, { low: -scale, high: scale, write: (value) => signed(value, 1, fixed), href, what: "difference" })),
      cell("P(improves)", estimate(row.improvement, { high: 1, write: share, href, what: "probability of improvement" })),
      cell("Effect", row.effect === null ? "–" : signed(row.effect, 2, fixed)),
      cell("Wins", h("span", { title: `McNemar, uncorrected: p = ${fixed(row.success.p, 3)}` }, `${row.success.lost}, ${row.success.gained}`)),
      cell("p", h("span", { title: `uncorrected ${fixed(row.p, 4)}` }, row.p_corrected < 0.0005 ? "< 0.001" : fixed(row.p_corrected, 3)), row.verdict ? h("b", {}, ` ${row.verdict}`) : null),
      cell("Pairs", number(row.pairs, 0)));
  };
  return section("Comparisons", `Paired on shared seeds; p of a sign-flip test, corrected by ${board.correction} among each agent's comparisons over tasks, and among its comparisons task by task. A retry gains by luck alone: only a gain over plain-retry or placebo is learning.`, heads,
    board.comparisons.filter((row) => !row.task).map(line),
    h("details", {}, h("summary", {}, "Task by task"), grid(heads, board.comparisons.filter((row) => row.task).map(line))));
}

/** Bradley-Terry strengths, or why there are none. */
function strengths(board) {
  if (!board.strengths.length) return null;
  const line = ({ space, condition, strengths: found }) => {
    const players = Object.entries(found.players).sort((a, b) => b[1].estimate - a[1].estimate);
    const text = players.map(([name, value]) => `${name} ${signed(value.estimate, 1, fixed)} ${spread(value, 1, (bound) => signed(bound, 1, fixed))}`).join(", ");
    return h("p", { class: "legend" }, h("b", {}, `${condition}, ${space}`), ` (${number(found.duels, 0)} duels): `, found.reason || text);
  };
  return h("section", {}, h("h2", {}, "Who beats whom"),
    h("p", { class: "legend" }, "Bradley-Terry strengths from duels on the same task and seed: natural logarithms, mean 0; ahead by d wins with odds of exp(d) to 1."),
    board.strengths.map(line));
}

function grid(heads, lines) {
  return h("div", { class: "scroll" }, h("table", { class: "board" },
    h("thead", {}, h("tr", {}, heads.map((head) => h("th", { scope: "col" }, head)))), h("tbody", {}, lines)));
}

function section(title, legend, heads, lines, ...more) {
  return h("section", {}, h("h2", {}, title), h("p", { class: "legend" }, legend), grid(heads, lines), ...more);
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
    show(body, supervised(board), board.rows.length ? table(board) : notice("Nothing planned", "This run has no episodes in its plan."),
      h("p", { class: "legend" }, "Bars are means over seeds, whiskers their 95 % intervals, drawn where there are enough seeds for an honest one; only episodes that the game itself ended are scored. ",
        "⚖ marks instruments, which measure the arena and do not compete. Ranks are given only where intervals do not overlap. Bad moves are actions against the rules and replies without a readable action."),
      h("ul", { class: "legend" }, [...new Map(board.rows.filter((row) => row.instrument).map((row) => [row.agent, row.instrument]))].map(([agent, label]) => h("li", {}, "⚖ ", h("b", {}, agent), " is an instrument: ", label))),
      overTasks(board), compared(board), strengths(board));
  };
  const button = h("button", { type: "button", onclick: load }, "Refresh");
  main.append(h("div", { class: "bar" }, h("h1", {}, "Leaderboard"), h("label", {}, "Run ", picker), run ? [state, button] : null), body);
  if (run) {
    document.title = `${run.name} · Rewind Arena`;
    await load();
    whileActive(() => run.status === "running", load);
  }
}
