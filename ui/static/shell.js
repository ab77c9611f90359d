// The frame around every page: the name, where one is, the theme, and the place where errors are told.

import { h, link, notice, show } from "./dom.js";

const PAGES = { leaderboard: "Leaderboard", episodes: "Episodes", replay: "Replay", proposals: "Proposals", play: "Play", diagnose: "Diagnose" };
const THEMES = ["system", "light", "dark"];

function applyTheme(choice) {
  if (choice === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = choice;
}

function savedTheme() {
  const choice = localStorage.getItem("arena-theme");
  return THEMES.includes(choice) ? choice : "system";
}

function themeButton() {
  const label = (choice) => ["◐", h("span", { class: "word" }, ` ${choice}`)];
  const button = h("button", { class: "quiet", type: "button", title: "Colours: follow the system, light or dark", "aria-label": "colours" }, label(savedTheme()));
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(savedTheme()) + 1) % THEMES.length];
    localStorage.setItem("arena-theme", next);
    applyTheme(next);
    show(button, label(next));
  });
  return button;
}

function navigation(page) {
  const run = new URLSearchParams(location.search).get("run");
  const entry = (name, target) =>
    h("a", { href: link(target, { run }), "aria-current": name === page ? "page" : null }, PAGES[name]);
  return h("nav", { "aria-label": "Pages" }, entry("leaderboard", ""), entry("episodes", "episodes"),
    h("a", { href: link("proposals", {}), "aria-current": page === "proposals" ? "page" : null }, PAGES.proposals),
    document.querySelector("meta[name=arena-review]") ? h("a", { href: link("diagnose", {}), "aria-current": page === "diagnose" ? "page" : null }, PAGES.diagnose) : null,
    document.querySelector("meta[name=arena-play]") ? h("a", { href: link("play", {}), "aria-current": page === "play" ? "page" : null }, PAGES.play) : null,
    page === "replay" ? h("span", { "aria-current": "page" }, PAGES.replay) : null);
}

/** Build a page inside the element that Gradio made for it. */
export async function mount(element, page) {
  applyTheme(savedTheme());
  const main = h("main", { id: "page", tabindex: "-1" }, h("p", { class: "loading" }, "Loading…"));
  show(element, h("div", { class: "arena", data: { page } },
    h("header", { class: "top" },
      h("a", { class: "brand", href: link("", {}) }, "Rewind Arena"), navigation(page), h("span", { class: "grow" }), themeButton()),
    main));
  try {
    const module = await import(`./${page}.js`);
    await module.render(main);
  } catch (error) {
    const missing = error.status === 404;
    show(main, notice(missing ? "Not found" : "This page could not be shown", error.message, "bad"),
      h("p", {}, h("a", { href: link("", {}) }, "Back to the leaderboard")));
    if (error.status === undefined) throw error; // our own mistake: leave it in the console too
  }
}
