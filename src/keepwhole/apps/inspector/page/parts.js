// What every view is made of: words for numbers, text that shows what it hides, copying, states, loading.
// Text from tools only ever becomes a text node.
import { Component, html, useEffect, useRef, useState } from "./vendor/preact.js";
import { get } from "./api.js";

const plain = new Intl.NumberFormat("en-US");
export const count = (value) => (value === null || value === undefined ? "–" : plain.format(Math.round(value)));
export const short = (value) => {
  if (value === null || value === undefined) return "–";
  const size = Math.abs(value);
  if (size < 1000) return String(Math.round(value));
  const [by, unit] = size < 999_500 ? [1e3, "k"] : size < 999_500_000 ? [1e6, "M"] : [1e9, "G"];
  return `${(value / by).toFixed(size / by < 9.95 ? 1 : 0)}${unit}`;
};
export const bytes = (value) => {
  if (value === null || value === undefined) return "–";
  if (value < 1024) return value === 1 ? "1 byte" : `${value} bytes`;
  let [amount, unit] = [value / 1024, 0];  // 1024 to the unit, one decimal, as the command line and notices say it
  while (amount >= 1023.95 && unit < 3) [amount, unit] = [amount / 1024, unit + 1];
  return `${amount.toFixed(1)} ${["KB", "MB", "GB", "TB"][unit]}`;
};
export const share = (value) => (value === null || value === undefined ? "–" : value > 0 && value < 0.0005 ? "< 0.1 %" : `${(value * 100).toFixed(value < 0.1 && value > 0 ? 1 : 0)} %`);
// Beside the word "Lost" a loss has no sign.
export const changed = (cost) => (cost.is_loss ? oneLine(cost.saved).replace("−", "") : oneLine(cost.saved));
// With a plan nobody is billed by the token.
export const priced = (cost) => (cost.basis === "list price" ? ["At list price", "Would have been"] : ["Paid", "Would have paid"]);
export const many = (value, one, several = `${one}s`) => `${count(value)} ${value === 1 ? one : several}`;
export const money = (value) => (value === null || value === undefined ? "–" : `$${value.toFixed(Math.abs(value) < 1 ? 3 : 2)}`);
// Tokens less, or more, than the whole.
export const Difference = ({ tokens, unit = "" }) => html`<em class=${tokens > 0 ? "loss" : ""}>${tokens > 0 ? "+" : "−"}${short(Math.abs(tokens))}${unit}</em>`;

export const moment = (at) => {
  const time = new Date(at);
  return at === null || at === undefined || Number.isNaN(time.getTime()) ? null : time;
};
const pad = (value) => String(value).padStart(2, "0");
export const clock = (at) => {
  const time = moment(at);
  return time ? `${pad(time.getHours())}:${pad(time.getMinutes())}:${pad(time.getSeconds())}` : "";
};
export const day = (at) => {
  const time = moment(at);
  return time ? `${time.getFullYear()}-${pad(time.getMonth() + 1)}-${pad(time.getDate())} ${clock(at).slice(0, 5)}` : "–";
};

// Control characters have pictures of their own; what turns the direction of text or has no width is named.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|\udb40[\udc00-\udc7f]/g;
const named = (character) => `⟨U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`;
const drawn = (character) => {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : named(character);
};
export const visible = (text) => String(text ?? "").replace(/\r\n/g, "\n").replace(HIDDEN, drawn);
export const oneLine = (text) => visible(text).replace(/\n/g, "⏎").replace(/\t/g, "⇥");

// The argument that matters: the command, the path, the query; of arguments that are cut off too.
const SUBJECTS = ["command", "cmd", "script", "file_path", "path", "filename", "file", "notebook_path", "pattern", "query", "url", "uri", "prompt", "description", "id", "name"];
const quoted = (text, key) => {
  const found = new RegExp(`"${key}"\\s*:\\s*("(?:[^"\\\\]|\\\\.)*"?)`).exec(text)?.[1];
  if (!found) return null;
  try { return JSON.parse(found.length > 1 && found.endsWith('"') ? found : `${found.replace(/\\+$/, "")}"`); } catch { return null; }
};
const worded = (value) => (typeof value === "string" ? value : Array.isArray(value) && value.every((each) => typeof each === "string") ? value.join(" ") : null);
export const subject = (text) => {
  const given = String(text ?? "");
  if (!given.trimStart().startsWith("{")) return given;
  let fields = null;
  try { fields = JSON.parse(given); } catch { /* cut off in a list */ }
  const values = SUBJECTS.map((key) => (fields ? worded(fields[key]) : quoted(given, key))).filter((value) => typeof value === "string" && value);
  if (values.length) return values[0];
  const first = fields && Object.values(fields).map(worded).find(Boolean);
  return first ?? (given === "{}" ? "" : given);
};

export const say = (words) => { document.getElementById("said").textContent = words; };

// Every address in the page begins with "#/", so a name can never become another kind of address.
const piece = (name) => encodeURIComponent(name);
export const to = {
  sessions: "#/",
  health: "#/health",
  session: (name) => `#/session/${piece(name)}`,
  step: (name, index) => `#/session/${piece(name)}/step/${index + 1}`,
  results: (name) => `#/session/${piece(name)}/results`,
  result: (name, id, line) => `#/session/${piece(name)}/result/${piece(id)}${line > 1 ? `/line/${line}` : ""}`,
  request: (name, id) => `#/session/${piece(name)}/request/${piece(id)}`,
  play: (name) => `#/session/${piece(name)}/play`,
};

export const Copy = ({ text, label = "Copy", what = "" }) => {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === "function" ? text() : text);
      setSaid("Copied");
    } catch {
      setSaid("Select it and copy");
    }
    say("Copied");
    setTimeout(() => setSaid(""), 1500);
  };
  return html`<button type="button" class="small" onClick=${copy} aria-label=${what ? `${label}: ${what}` : label}>${said || label}</button>`;
};

export const Call = ({ name, text }) => html`<div class="call"><span>${name}</span><code>${visible(text)}</code><${Copy} text=${text} what=${name} /></div>`;

export const Skeleton = ({ rows = 6, tall = "" }) => html`<div class=${`skeleton ${tall}`} role="status" aria-label="Loading">
  ${Array.from({ length: rows }, (_, at) => html`<span key=${at}></span>`)}</div>`;

// Words between backticks are what a person would type.
export const Words = ({ text }) => String(text).split("`").map((each, at) => (at % 2 ? html`<code>${visible(each)}</code>` : visible(each)));

export const Broken = ({ error, again }) => html`<div class="state" role="alert">
  <h2>${error.status === 401 ? "Access denied" : error.status === 404 ? "Not recorded" : "That did not work"}</h2>
  <p><${Words} text=${error.message} /></p>
  ${again && html`<p><button type="button" onClick=${again}>Try again</button></p>`}
</div>`;

export const Empty = ({ title, children }) => html`<div class="state"><h2>${title}</h2>${children}</div>`;

// What an address says: loading first, then its answer or what went wrong. A newer question cancels an older one.
export const useAnswer = (address, values = {}) => {
  const [state, setState] = useState({});
  const [round, setRound] = useState(0);
  const key = address && JSON.stringify([address, values]);
  const asked = useRef(null);
  useEffect(() => {
    if (!key) return undefined;
    const stop = new AbortController();
    if (asked.current !== key) setState({});
    asked.current = key;
    get(address, values, stop.signal).then(
      (answer) => setState({ answer, key }),
      (error) => error.name !== "AbortError" && setState({ error, key }),
    );
    return () => stop.abort();
  }, [key, round]);
  return { ...(state.key === key ? state : {}), again: () => setRound((value) => value + 1) };
};

export const Bar = ({ whole, part, label }) => html`<svg class="bar" viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label=${label}>
  <rect class="bar-whole" width="100" height="6" /><rect class="bar-part" width=${whole > 0 ? Math.max(0.5, Math.min(100, (part / whole) * 100)) : 0} height="6" /></svg>`;

const typing = (target) => target instanceof Element && target.closest("input, textarea, select, [contenteditable]");
// Single keys, where nobody is typing and no dialog is open.
export const useKeys = (handler) => {
  const latest = useRef(handler);
  latest.current = handler;
  useEffect(() => {
    const pressed = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || document.querySelector("dialog[open]")) return;
      if (typing(event.target) && event.key !== "Escape") return;
      if (latest.current(event.key, event)) event.preventDefault();
    };
    document.addEventListener("keydown", pressed);
    return () => document.removeEventListener("keydown", pressed);
  }, []);
};

// Drawn again only when something it was given is another.
export const still = (Drawn) => class extends Component {
  shouldComponentUpdate(next) { return Object.keys(next).some((key) => next[key] !== this.props[key]); }
  render(props) { return html`<${Drawn} ...${props} />`; }
};

const SELDOM = 200;
// Keeps the address at the place one looks at, so that a reload leads there. Browsers refuse to change it too often.
export const useAddress = () => {
  const last = useRef({ at: 0, timer: null }).current;
  useEffect(() => () => clearTimeout(last.timer), []);
  return (address) => {
    clearTimeout(last.timer);
    const write = () => { last.at = Date.now(); history.replaceState(null, "", address); };
    if (Date.now() - last.at > SELDOM) write();
    else last.timer = setTimeout(write, SELDOM);
  };
};
