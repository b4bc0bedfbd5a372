// The context window: how full it is, what fills it, and its three marks. It follows the step that is looked at.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { get, isSaved, path } from "./api.js";
import { Copy, count, oneLine, share, short, still, to, visible } from "./parts.js";

const KINDS = { system: "System", user: "User", assistant: "Assistant", tool: "Tool results", overhead: "Overhead" };
const TINTS = 5;
const STATES = { ok: "", warning: "over the warning", compaction: "over the compaction mark", hard: "over the hard limit" };

// Tool results wear the accent, the largest most; all else is grey.
const dressed = (parts) => {
  let tool = 0;
  return parts
    .filter((part) => part.tokens > 0)
    .map((part) => ({ ...part, look: part.kind === "tool" ? `tool-${Math.min(tool++, TINTS - 1)}` : part.kind in KINDS ? part.kind : "overhead" }));
};
const label = (part) => visible(part.label || KINDS[part.kind] || part.kind);

const Fill = ({ parts, window: size }) => {
  let at = 0;
  return parts.map((part, index) => {
    const x = (at / size) * 1000;
    const width = (part.tokens / size) * 1000;
    at += part.tokens;
    return html`<rect key=${index} class=${`fill ${part.look}`} x=${x} width=${Math.max(width - 1.2, 0.6)} height="14"><title>${label(part)}: ${count(part.tokens)} tokens</title></rect>`;
  });
};

// Where there is little room, only the number stands under its tick.
const Named = ({ label }) => {
  const [, word, number] = /^(.*?) at (.*)$/.exec(label) ?? [null, "", label];
  return word ? html`<span class="word">${visible(word)} </span><span class="word at">at </span>${visible(number)}` : visible(number);
};
const Mark = ({ mark, at }) => {
  const [shown, setShown] = useState(false);
  const id = `mark-${at}`;
  return html`<li class=${`mark mark-${at}`} style=${{ "--at": `${mark.share * 100}%` }}>
    <button type="button" aria-describedby=${id} onMouseEnter=${() => setShown(true)} onMouseLeave=${() => setShown(false)}
      onFocus=${() => setShown(true)} onBlur=${() => setShown(false)}
      onKeyDown=${(event) => event.key === "Escape" && setShown(false)}><${Named} label=${mark.label} /></button>
    <span id=${id} role="tooltip" class=${shown ? "tip" : "tip aside"}>${visible(mark.explained)}</span>
  </li>`;
};

// Both tables have shares of the window, so that they add up to how full it is.
const Parts = ({ parts, size }) => html`<table class="fills"><thead><tr><th>What fills it</th><th>Tokens</th><th>Of the window</th></tr></thead>
  <tbody>${parts.map((part, at) => html`<tr key=${at}><th><i class=${`swatch ${part.look}`}></i>${label(part)}</th><td>${count(part.tokens)}</td><td>${share(part.tokens / size)}</td></tr>`)}</tbody></table>`;

const Item = ({ name, item }) => {
  const words = html`${visible(item.label)}${item.argument ? html` <code>${oneLine(item.argument).slice(0, 120)}</code>` : ""}${item.pieces > 1 ? html` <small>×${count(item.pieces)}</small>` : ""}`;
  return html`<tr><th>${item.trace_id ? html`<a href=${to.result(name, item.trace_id)}>${words}</a>` : words}</th><td>${count(item.tokens)}</td><td>${share(item.share)}</td><td>${item.recall ? html`<${Copy} text=${item.recall} label="Copy recall" what=${oneLine(item.label)} />` : ""}</td></tr>`;
};
// One by one, the largest first.
const Items = ({ items, name }) => html`<table class="fills items"><thead><tr><th>One by one, the largest first</th><th>Tokens</th><th>Of the window</th><th><span class="aside">Recall</span></th></tr></thead>
  <tbody>${items.map((item, at) => html`<${Item} key=${at} name=${name} item=${item} />`)}</tbody></table>`;

const COUNTED = { bill: "As billed.", estimate: "Estimated; no bill was recorded.", results: "Results only: no request was recorded." };
const Indicator = still(({ indicator, newest, step, name, model }) => {
  const parts = dressed(indicator.parts);
  const size = indicator.window;
  const words = `${share(indicator.share)} full: ${count(indicator.used)} of ${count(size)} tokens${STATES[indicator.state] ? `, ${STATES[indicator.state]}` : ""}`;
  const ghost = newest !== indicator && newest.used !== indicator.used ? (newest.used / size) * 1000 : null;
  return html`<section class=${`indicator ${indicator.state}`} aria-label="Context window">
    <div class="gauge">
      <svg viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label=${words}>
        <rect class="room" width="1000" height="14" />
        ${ghost !== null && html`<rect class="ghost" width=${Math.min(ghost, 1000)} height="14"><title>Newest step: ${count(newest.used)} tokens</title></rect>`}
        <${Fill} parts=${parts} window=${size} />
        ${indicator.thresholds.map((mark, at) => html`<line key=${at} class=${`tick tick-${at}`} x1=${mark.share * 1000} x2=${mark.share * 1000} y1="-3" y2="17" />`)}
      </svg>
      <p class="legend" aria-hidden="true">${parts.slice(0, 7).map((part, at) => html`<span key=${at}><i class=${`swatch ${part.look}`}></i>${label(part)}</span>`)}</p>
      <ul class="marks">${indicator.thresholds.map((mark, at) => html`<${Mark} key=${at} mark=${mark} at=${at} />`)}</ul>
    </div>
    <details class="full">
      <summary title=${words}><b>${share(indicator.share)}</b> <span>${short(indicator.used)} of ${short(size)}</span></summary>
      <div class="panel">
        <p><b>${step === null || step === undefined ? "" : `Step ${count(step + 1)}: `}${words}.</b> ${indicator.whole > indicator.used ? html`With everything in full it would be ${count(indicator.whole)}.` : ""} ${COUNTED[indicator.counted] ?? ""} <span class="quiet">${visible(indicator.model ?? model ?? "")}${indicator.is_known === false ? ": an unknown model, so the size of its window is a guess" : ""}</span></p>
        <${Parts} parts=${parts} size=${size} />
        ${indicator.items?.length ? html`<${Items} items=${indicator.items} name=${name} />` : ""}
      </div>
    </details>
  </section>`;
});

const SETTLED = 220;
// The window as it was at the step that is looked at; none where that is not known. What was there stays until it is.
const useWindow = (session, name, follows, known) => {
  const [seen, setSeen] = useState({});
  const timer = useRef(null);
  useEffect(() => {
    setSeen({});
    const stop = new AbortController();
    if (!known) return undefined;
    session.looked.tell = (step) => {
      session.looked.step = step;
      clearTimeout(timer.current);
      timer.current = setTimeout(() => get(path.window(name, step), {}, stop.signal).then(
        (indicator) => session.looked.step === step && setSeen({ step, indicator }),
        (error) => error.name !== "AbortError" && setSeen({}),
      ), SETTLED);
    };
    if (session.looked.step !== null) session.looked.tell(session.looked.step);
    return () => { stop.abort(); clearTimeout(timer.current); session.looked.tell = () => {}; };
  }, [name, known]);
  return follows ? seen : {};
};

export default ({ session, summary, name, follows }) => {
  // A record that counts by item can tell the window of every step.
  const seen = useWindow(session, name, follows, Boolean(summary.indicator.items) && !isSaved);
  return html`<${Indicator} indicator=${seen.indicator ?? summary.indicator} newest=${summary.indicator} step=${seen.step} name=${name} model=${summary.model} />`;
};
