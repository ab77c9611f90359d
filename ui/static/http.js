// The JSON API, with errors that can be shown to a person.

export class Problem extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** GET `/api/<path>`; throws a `Problem` that says what to do. */
export async function get(path, params = {}, signal = undefined) {
  const pairs = Object.entries(params).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const query = new URLSearchParams(pairs).toString();
  let answer;
  try {
    answer = await fetch(`/api/${path}${query ? "?" + query : ""}`, { signal });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is `arena view` still running?");
  }
  const body = await answer.json().catch(() => null);
  if (answer.ok) return body;
  const detail = body?.detail;
  throw new Problem(answer.status, typeof detail === "string" ? detail : `The server answered ${answer.status}.`);
}

/** GET the picture `/api/<path>` as an address for an image, to be revoked; null where there is none any more (204). */
export async function getPicture(path) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`);
    if (answer.status === 200) return URL.createObjectURL(await answer.blob());
  } catch {
    throw new Problem(0, "The server does not answer. Is `arena view` still running?");
  }
  if (answer.status === 204) return null;
  const detail = (await answer.json().catch(() => null))?.detail;
  throw new Problem(answer.status, typeof detail === "string" ? detail : `The server answered ${answer.status}.`);
}

/** POST JSON to `/api/<path>`; throws a `Problem` that says what to do. */
export async function post(path, body = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new Problem(0, "The server does not answer. Is it still running?");
  }
  const said = await answer.json().catch(() => null);
  if (answer.ok) return said;
  throw new Problem(answer.status, typeof said?.detail === "string" ? said.detail : `The server answered ${answer.status}.`);
}

/** Call `refresh` every `seconds` while the tab is visible and `active()` holds; never polls otherwise. */
export function whileActive(active, refresh, seconds = 5) {
  let timer = null;
  const tick = async () => {
    timer = null;
    if (document.hidden || !active()) return;
    try {
      await refresh();
    } finally {
      schedule();
    }
  };
  const schedule = () => {
    if (timer === null && active() && !document.hidden) timer = setTimeout(tick, seconds * 1000);
  };
  document.addEventListener("visibilitychange", schedule);
  schedule();
  return schedule;
}
