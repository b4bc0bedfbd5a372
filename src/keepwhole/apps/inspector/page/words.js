// Messages as people read them: who said what, which tool was called with what, what came back.
import { html, useState } from "./vendor/preact.js";
import { count, many, oneLine, short, subject, to, visible } from "./parts.js";
import { spread } from "./pair.js";

const WHO = { user: "User", assistant: "Model", tool: "Tool", system: "System", other: "Other" };
const LONG = 1_200;

// A long text is folded to its beginning; what the server left out of it is behind a button that asks for all of it.
export const Text = ({ part, label, whole }) => {
  const [open, setOpen] = useState(false);
  const text = visible(part.text);
  const long = text.length > LONG;
  const shown = long && !open ? `${text.slice(0, LONG)} …` : text;
  return html`<div class="said"><pre>${shown}</pre>
    ${long && html`<p class="more"><button type="button" class="small" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Less" : `All ${many(part.chars, "character")}`}</button></p>`}
    ${part.more && (open || !long) && html`<p class="more">${count(part.text.length)} of ${many(part.chars, "character")} ${whole ? html`<button type="button" class="small" onClick=${whole} aria-label=${`Load all of ${label}`}>Load all</button>` : ""}</p>`}</div>`;
};

export const CallLine = ({ part }) => {
  const about = subject(part.text);
  const more = part.text.length > about.length + 24 || part.more;
  return html`<div class="called"><p><b>${oneLine(part.tool)}</b> <code>${oneLine(about).slice(0, 400)}</code></p>
    ${more && html`<details><summary>All arguments</summary><div class="text" tabindex="0" role="group" aria-label=${`Arguments of ${oneLine(part.tool)}`}><pre>${visible(spread(part.text))}</pre>${part.more && html`<p class="more">${count(part.text.length)} of ${many(part.chars, "character")}</p>`}</div></details>`}</div>`;
};

const Thinking = ({ part }) => html`<details class="thinking"><summary>Thinking · ${many(part.chars, "character")}</summary><${Text} part=${part} label="the thinking" /></details>`;
// What a client has put into the user's words.
const Tagged = ({ part }) => html`<details class="thinking"><summary>${`<${oneLine(part.tag)}>`} · ${many(part.chars, "character")}</summary><${Text} part=${part} label=${`the ${oneLine(part.tag)}`} /></details>`;
const Rule = ({ part }) => (part.rule ? html` <b class="badge cut">${oneLine(part.rule)}</b>` : "");
const Shrunk = ({ part }) => (part.kept_chars > part.chars ? html`<small>${many(part.chars, "character")} of ${count(part.kept_chars)} kept</small>` : html`<small>${many(part.chars, "character")}</small>`);

// A result inside of a request: one line until it is opened.
const Returned = ({ name, part, whole }) => {
  const [open, setOpen] = useState(false);
  return html`<details class="returned" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary><b>${oneLine(part.tool)}</b> <code>${oneLine(subject(part.arguments)).slice(0, 200)}</code>${part.is_error ? html` <b class="badge bad">error</b>` : ""}<${Rule} part=${part} /> <${Shrunk} part=${part} /></summary>
    ${open && html`<${Text} part=${part} label="this result" whole=${whole} />
      ${part.was && html`<div class="was"><h4>In the previous request <small>${many(part.was.chars, "character")}</small></h4><${Text} part=${part.was} label="what it was" /></div>`}
      ${part.trace_id && html`<p class="more"><a href=${to.result(name, part.trace_id)}>The whole result</a>${Number.isInteger(part.step) ? html` · <a href=${to.step(name, part.step)}>step ${part.number ?? part.step + 1}</a>` : ""}</p>`}`}</details>`;
};

const System = ({ part }) => html`<details class="thinking"><summary>Instructions · ${many(part.chars, "character")}</summary><${Text} part=${part} label="the instructions" /></details>`;

export const Part = ({ name, part, whole, role }) => {
  if (part.kind === "text" && role === "system") return html`<${System} part=${part} />`;
  if (part.kind === "text") return html`<${Text} part=${part} label="this text" whole=${whole} />`;
  if (part.kind === "call") return html`<${CallLine} part=${part} />`;
  if (part.kind === "thinking") return html`<${Thinking} part=${part} />`;
  if (part.kind === "tagged") return html`<${Tagged} part=${part} />`;
  if (part.kind === "result") return html`<${Returned} name=${name} part=${part} whole=${whole} />`;
  return html`<p class="quiet">about ${many(part.tokens, "token")} that are not text</p>`;
};

const STATES = { new: "new", changed: "changed" };
export const Message = ({ name, message, whole, numbered }) => html`<li class=${`message ${message.role} ${message.state}`}>
  <p class="who"><b>${WHO[message.role] ?? oneLine(message.role)}</b> ${numbered ? html`<small>${count(message.index + 1)}</small>` : ""}${STATES[message.state] && numbered ? html` <b class=${`badge ${message.state === "changed" ? "turn" : "cut"}`}>${STATES[message.state]}</b>` : ""}<small class="size">${short(message.tokens)} tokens</small></p>
  <div class="what-was-said">${message.parts.map((part, at) => html`<${Part} key=${at} name=${name} part=${part} whole=${whole} role=${message.role} />`)}${!message.parts.length && html`<p class="quiet">nothing readable</p>`}</div></li>`;

