// The context window: how full it is, what fills it, its three marks, and its course over the steps.
import { html, useRef, useState } from "./vendor/preact.js";
import { count, share, short, visible } from "./parts.js";

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

const Mark = ({ mark, at }) => {
  const [shown, setShown] = useState(false);
  const id = `mark-${at}`;
  return html`<li class=${`mark mark-${at}`}>
    <button type="button" aria-describedby=${id} onMouseEnter=${() => setShown(true)} onMouseLeave=${() => setShown(false)}
      onFocus=${() => setShown(true)} onBlur=${() => setShown(false)}
      onKeyDown=${(event) => event.key === "Escape" && setShown(false)}>${visible(mark.label)}</button>
    <span id=${id} role="tooltip" class=${shown ? "tip" : "tip aside"}>${visible(mark.explained)}</span>
  </li>`;
};

const Parts = ({ parts, used }) => html`<table class="fills"><thead><tr><th>What fills it</th><th>Tokens</th><th>Share</th></tr></thead>
  <tbody>${parts.map((part, at) => html`<tr key=${at}><th><i class=${`swatch ${part.look}`}></i>${label(part)}</th><td>${count(part.tokens)}</td><td>${share(used ? part.tokens / used : 0)}</td></tr>`)}</tbody></table>`;

export const Indicator = ({ indicator, model }) => {
  const parts = dressed(indicator.parts);
  const words = `${share(indicator.share)} full: ${count(indicator.used)} of ${count(indicator.window)} tokens${STATES[indicator.state] ? `, ${STATES[indicator.state]}` : ""}`;
  return html`<section class=${`indicator ${indicator.state}`} aria-label="Context window">
    <div class="gauge">
      <svg viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" aria-label=${words}>
        <rect class="room" width="1000" height="14" />
        <${Fill} parts=${parts} window=${indicator.window} />
        ${indicator.thresholds.map((mark, at) => html`<line key=${at} class=${`tick tick-${at}`} x1=${mark.share * 1000} x2=${mark.share * 1000} y1="-3" y2="17" />`)}
      </svg>
      <p class="legend" aria-hidden="true">${parts.slice(0, 7).map((part, at) => html`<span key=${at}><i class=${`swatch ${part.look}`}></i>${label(part)}</span>`)}</p>
      <ul class="marks">${indicator.thresholds.map((mark, at) => html`<${Mark} key=${at} mark=${mark} at=${at} />`)}</ul>
    </div>
    <details class="full">
      <summary title=${words}><b>${share(indicator.share)}</b> <span>${short(indicator.used)} of ${short(indicator.window)}</span></summary>
      <div class="panel">
        <p><b>${words}.</b> ${indicator.whole > indicator.used ? html`Whole, it would be ${count(indicator.whole)}.` : ""} ${model ? html`<span class="quiet">${visible(model)}</span>` : ""}</p>
        <${Parts} parts=${parts} used=${indicator.used} />
      </div>
    </details>
  </section>`;
};

const HEIGHT = 100;
// Where each point is: across by step, up by tokens.
const laid = (course, steps, size) => {
  const last = Math.max(steps - 1, 1);
  const n = course.seq.length;
  const index = course.index ?? course.seq.map((_, at) => Math.round((at * last) / Math.max(n - 1, 1)));
  const top = Math.max(...course.whole, ...course.sent, size && Math.max(...course.whole) > size * 0.5 ? size : 0, 1) * 1.06;
  return { index, top, x: (at) => (index[at] / last) * 1000, y: (tokens) => HEIGHT - (tokens / top) * HEIGHT };
};
const points = (values, { x, y }) => values.map((value, at) => (value === null || value === undefined ? null : `${x(at).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean).join(" ");
const area = (values, place) => `0,${HEIGHT} ${points(values.map((value) => value ?? 0), place)} ${place.x(values.length - 1).toFixed(1)},${HEIGHT}`;
const nearest = (index, step) => {
  let best = 0;
  for (let at = 1; at < index.length; at++) if (Math.abs(index[at] - step) < Math.abs(index[best] - step)) best = at;
  return best;
};
const told = (course, at, step) => {
  const cached = course.cached?.[at];
  return `Step ${step + 1}: ${count(course.whole[at])} tokens whole, ${count(course.sent[at])} sent${cached ? `, ${count(cached)} of them from the cache` : ""}${course.rewritten?.[at] ? ", prefix rewritten" : ""}`;
};

const Lines = ({ course, place, size }) => html`
  ${size && size <= place.top ? html`<line class="limit" x1="0" x2="1000" y1=${place.y(size)} y2=${place.y(size)} />` : ""}
  ${course.cached?.some(Boolean) && html`<polygon class="cached" points=${area(course.cached, place)} />`}
  <polyline class="whole" points=${points(course.whole, place)} />
  <polyline class="sent" points=${points(course.sent, place)} />
  ${(course.rewritten ?? []).map((yes, at) => yes && html`<line key=${at} class="rewrite" x1=${place.x(at)} x2=${place.x(at)} y1=${HEIGHT - 9} y2=${HEIGHT} />`)}`;

// The course is also the scrubber: point, drag or use the arrows to go to a step.
export const Course = ({ course, steps, size, step, go }) => {
  const [over, setOver] = useState(null);
  const box = useRef(null);
  if (!course?.seq?.length || steps < 2) return null;
  const place = laid(course, steps, size);
  const under = (event) => {
    const { left, width } = box.current.getBoundingClientRect();
    return Math.round(Math.min(Math.max((event.clientX - left) / width, 0), 1) * (steps - 1));
  };
  const hold = (event) => { event.currentTarget.setPointerCapture(event.pointerId); go(under(event)); };
  const drag = (event) => { setOver(under(event)); if (event.buttons & 1) go(under(event)); };
  const keys = { ArrowRight: 1, ArrowLeft: -1, PageUp: -20, PageDown: 20, Home: -steps, End: steps };
  const press = (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    go(Math.min(Math.max(step + keys[event.key], 0), steps - 1));
  };
  const at = nearest(place.index, over ?? step);
  const x = ((over ?? step) / Math.max(steps - 1, 1)) * 1000;
  const words = told(course, at, over ?? step);
  return html`<figure class="course">
    <div class="plot" ref=${box} role="slider" tabindex="0" aria-label="Step" aria-valuemin="1" aria-valuemax=${steps} aria-valuenow=${step + 1} aria-valuetext=${told(course, nearest(place.index, step), step)}
      onPointerDown=${hold} onPointerMove=${drag} onPointerLeave=${() => setOver(null)} onKeyDown=${press}>
      <svg viewBox=${`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <${Lines} course=${course} place=${place} size=${size} />
        <line class=${over === null ? "here" : "here over"} x1=${x} x2=${x} y1="0" y2=${HEIGHT} />
      </svg>
      <span class="most">${short(place.top / 1.06)}</span>
    </div>
    <figcaption><span class="keys"><i class="whole"></i>whole <i class="sent"></i>sent ${course.cached?.some(Boolean) && html`<i class="cached"></i>cached `}<i class="rewrite"></i>prefix rewritten</span><span class="told">${words}</span></figcaption>
  </figure>`;
};
