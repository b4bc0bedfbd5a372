// The server's answers: asking, entering, listening. Owns every address under /api.
// Must not know how anything is drawn.

export class Trouble extends Error {
  constructor(words, status) {
    super(words);
    this.status = status;
  }
}

// An exported file has its answers in itself.
const own = document.getElementById("record");
export const isSaved = Boolean(own);
export const saved = own ? JSON.parse(own.textContent) : null;

const CLOSED = "The inspector does not answer. Start it again with `keepwhole inspect`, then reload this page.";
const LOCKED = "This browser has no key to the record. Open the address that `keepwhole inspect` printed; it contains one.";

const part = (name) => encodeURIComponent(name);
export const path = {
  session: (name) => `api/sessions/${part(name)}`,
  result: (name, id) => `api/sessions/${part(name)}/results/${part(id)}`,
  window: (name, step) => `api/sessions/${part(name)}/steps/${step}/window`,
  request: (name, id) => `api/sessions/${part(name)}/requests/${part(id)}`,
};

const asked = (address, values) => {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `${address}?${new URLSearchParams(given)}` : address;
};

const answered = async (response) => {
  if (response.status === 401) throw new Trouble(LOCKED, 401);
  const body = response.status === 204 ? {} : await response.json().catch(() => ({}));
  if (!response.ok) throw new Trouble(String(body.error ?? `The inspector answered ${response.status}.`), response.status);
  return body;
};

const fetched = async (address, options) => {
  let response;
  try {
    response = await fetch(address, { credentials: "same-origin", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(CLOSED, 0);
  }
  return answered(response);
};

// What the first view needs is asked for before the code that draws it has arrived.
const early = new Map();
const sooner = (address) => {
  const answer = fetched(address, {});
  answer.catch(() => {});
  early.set(address, answer);
};
// An answer about a session that was not read yet is soon too short.
export const forgetEarly = () => early.clear();
export const PAGE = 40;
export const pageOf = (step) => ({ from: Math.floor(step / PAGE) * PAGE, count: PAGE });
const [, session, , step] = /^#\/session\/([^/]+)(\/step\/(\d+))?/.exec(location.hash) ?? [];
if (session && !isSaved) sooner(`api/sessions/${session}`);
if (step && !isSaved) sooner(asked(`api/sessions/${session}/steps`, pageOf(Math.max(Number(step) - 1, 0))));

export const get = (address, values = {}, signal) => {
  if (isSaved) return import("./saved.js").then(({ answer }) => answer(address, values));
  const whole = asked(address, values);
  const known = early.get(whole);
  early.delete(whole);
  return known ?? fetched(whole, { signal });
};
export const post = (address, body = {}) =>
  fetched(address, {
    method: "POST",
    headers: { "content-type": "application/json", "x-keepwhole-inspector": "1" },
    body: JSON.stringify(body),
  });

// An answer of lines: reports, then the outcome. Stopping it tells the server to give up.
export const postLines = async (address, body, heard, signal) => {
  let response;
  try {
    response = await fetch(address, { method: "POST", credentials: "same-origin", signal, headers: { "content-type": "application/json", "x-keepwhole-inspector": "1" }, body: JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Trouble(CLOSED, 0);
  }
  if (!response.ok) return answered(response);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let held = "", { value, done } = await reader.read(); !done; { value, done } = await reader.read()) {
    const lines = (held + value).split("\n");
    held = lines.pop();
    for (const line of lines.filter(Boolean).map((each) => JSON.parse(each))) {
      if (line.error) throw new Trouble(line.error, line.status);
      if (line.outcome) return line.outcome;
      if (line.words) heard(line);
    }
  }
  throw new Trouble(CLOSED, 0);
};

// The token comes once, in the part of the address that is never sent, and is out of the address before anything else.
export const enter = async () => {
  const given = location.hash;
  const found = /^#token=([^&]+)/.exec(given);
  if (!found) return;
  history.replaceState(null, "", `${location.pathname}#/`);
  await post("api/enter", { token: decodeURIComponent(found[1]) });
  const asked = /&session=([^&]+)/.exec(given);
  if (asked) history.replaceState(null, "", `${location.pathname}#/session/${asked[1]}`);
};

const FIRST_WAIT = 500;
const LONGEST_WAIT = 8000;

// Listens until closed. A browser gives up on its own after some errors, so the next try is ours.
export const listen = (session, heard, after) => {
  if (isSaved) return () => {};
  let source, timer, wait = FIRST_WAIT, lost = false, done = false;
  const on = (kind) => source.addEventListener(kind, (event) => {
    if (event.lastEventId) after = event.lastEventId;
    heard[kind]?.(JSON.parse(event.data));
  });
  const open = () => {
    source = new EventSource(asked("api/live", session ? { session, after } : {}));
    source.onopen = () => {
      heard.state("connected", lost);
      wait = FIRST_WAIT;
      lost = false;
    };
    source.onerror = () => {
      source.close();
      if (done) return;
      lost = true;
      heard.state("reconnecting");
      timer = setTimeout(open, wait);
      wait = Math.min(wait * 2, LONGEST_WAIT);
    };
    for (const kind of ["step", "progress", "session", "gone"]) on(kind);
  };
  open();
  return () => {
    done = true;
    clearTimeout(timer);
    source.close();
  };
};
