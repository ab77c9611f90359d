// What the review of verdicts and of proposals share: whether it is allowed, who reviews, and a note.

import { h } from "./dom.js";

const STORED = "arena-reviewer";
export const NOTE_LENGTH = 1000;

/** Whether the server was started with `--review`. */
export const allowed = () => document.querySelector("meta[name=arena-review]") !== null;

/** The field for the reviewer's name, which this browser remembers. */
export function nameField() {
  const field = h("input", { id: "reviewer", name: "reviewer", maxlength: "40", autocomplete: "nickname", placeholder: "name", value: localStorage.getItem(STORED) ?? "" });
  field.addEventListener("input", () => localStorage.setItem(STORED, field.value.trim()));
  return { element: h("label", { class: "reviewer" }, "You are", h("span", { class: "prefix" }, "human:"), field), field, get value() { return field.value.trim(); } };
}

/** A note that is there when it is wanted. */
export function noteField(about) {
  const field = h("textarea", { maxlength: NOTE_LENGTH, rows: 2, "aria-label": `note on ${about}`, placeholder: "why (optional)" });
  return { element: h("details", { class: "note" }, h("summary", {}, "note"), field), get value() { return field.value; } };
}
