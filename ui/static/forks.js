// What the other way at a fork came to: was the intervention needed, did it help.

import { badge, h, number } from "./dom.js";

/** How many steps are in `runs`, pairs [start, stop). */
export const count = (runs) => runs.reduce((sum, [start, stop]) => sum + stop - start, 0);

/** The latest replay of the other way at a diagnosis, or null. `since_fork` counts its steps as the fork's page does: from
 * where the world went back to, so that the steps of the record that led to the other way are among them. */
export function otherWay(episode, diagnosis) {
  const other = (episode.counterfactuals ?? []).find((item) => item.diagnosis_id === diagnosis);
  const fork = episode.comparisons.find((item) => item.diagnosis_id === diagnosis);
  return other ? { ...other, since_fork: count(fork?.left ?? []) + other.n_steps } : null;
}

/** Whether there is anything to watch of it. */
export const filmed = (other) => Boolean(other) && other.video.state === "ok";

/** How the other way ended. */
export function ending(other) {
  return [badge(other.outcome), ` score ${number(other.score)}, ${other.since_fork} step${other.since_fork === 1 ? "" : "s"} after the fork`];
}

const answer = (yes, text) => [h("strong", {}, yes ? "✓ yes" : "✗ no"), text];

/** Two questions and their answers, and what they rest on. */
export function worth(other) {
  if (!other) return null;
  const { suppressed, with_it: withIt, without_it: without } = other;
  const would = (good) => (good ? "succeeds" : "fails");
  const helped = withIt && !without;
  const effect = helped ? ": with it the episode succeeds" : without && !withIt ? ", it harms: with it the episode fails" : ": the episode ends no better for it";
  return h("dl", { class: `facts worth ${other.verdict}` },
    h("dt", {}, suppressed ? "would it have been needed?" : "needed?"), h("dd", {}, answer(!without, `: without it the episode ${would(without)}`)),
    h("dt", {}, suppressed ? "would it have helped?" : "helped?"), h("dd", {}, answer(helped, effect), " ", badge(other.verdict)),
    h("dt", {}, suppressed ? "with it" : "without it"), h("dd", {}, ending(other)),
    h("dt", {}, "replay"), h("dd", {}, other.exact ? `✓ bit for bit the record for ${other.prefix_steps} steps, until the ways part` : ["✗ not exact: ", (Array.isArray(other.differences) ? other.differences : []).join("; ")]));
}
