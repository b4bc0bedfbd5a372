// The course of a session over its steps: tokens, cost or time. It is also the scrubber.
import { html, useMemo, useRef, useState } from "./vendor/preact.js";
import { count, money, short, still } from "./parts.js";

const HEIGHT = 100;
const ROOM = 1.2;
const seconds = (ms) => (ms === null || ms === undefined ? "–" : ms < 10_000 ? `${count(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);
const known = (values) => (values ?? []).filter((value) => value !== null && value !== undefined);
const most = (...lists) => Math.max(1e-9, ...lists.map((list) => known(list).reduce((a, b) => Math.max(a, b), 0)));

// What the window cannot hold was never sent: the scale ends a little above the window, and what is higher leaves the chart.
const tokensTop = (course, size) => {
  const highest = most(course.whole, course.sent);
  if (size && highest > size * ROOM) return size * ROOM;
  return Math.max(highest, size && highest > size * 0.5 ? size : 0) * 1.06;
};
const MODES = {
  tokens: { label: "Tokens", top: tokensTop, lines: [["whole", "everything"], ["sent", "sent"]], words: count, unit: short },
  cost: { label: "Cost", top: (course) => most(course.off, course.paid) * 1.06, lines: [["off", "with mode: off"], ["paid", "as sent"]], words: money, unit: money, has: (course) => known(course.paid).length > 1 },
  time: { label: "Time", top: (course) => most(course.ms) * 1.06, lines: [["ms", "until the last byte"]], words: seconds, unit: seconds, which: "the longest", has: (course) => known(course.ms).length > 1 },
};
const LOOKS = { whole: "whole", off: "whole", sent: "sent", paid: "sent", ms: "sent" };

// Where each point is: across by step, up by value.
const laid = (course, steps, size, mode) => {
  const last = Math.max(steps - 1, 1);
  const n = course.seq.length;
  const index = course.index ?? course.seq.map((_, at) => Math.round((at * last) / Math.max(n - 1, 1)));
  const top = mode.top(course, size);
  return { index, upto: course.upto ?? index, top, x: (at) => (index[at] / last) * 1000, y: (value) => HEIGHT - Math.min(value / top, 1.05) * HEIGHT };
};
const points = (values, { x, y }) => values.map((value, at) => (value === null || value === undefined ? null : `${x(at).toFixed(1)},${y(value).toFixed(1)}`)).filter(Boolean).join(" ");
const area = (values, place) => `0,${HEIGHT} ${points(values.map((value) => value ?? 0), place)} ${place.x(values.length - 1).toFixed(1)},${HEIGHT}`;
// The point that stands for a step: in a long session a point stands for several.
const pointOf = (upto, step) => {
  const at = upto.findIndex((last) => last >= step);
  return at < 0 ? upto.length - 1 : at;
};
const told = (course, mode, upto, step) => {
  const at = pointOf(upto, step);
  const first = at ? upto[at - 1] + 1 : 0;
  const steps = upto[at] > first ? `Steps ${first + 1} to ${upto[at] + 1}, ${mode.which ?? "the last"}` : `Step ${step + 1}`;
  const cached = mode === MODES.tokens && course.cached?.[at];
  const values = mode.lines.map(([key, label]) => `${mode.words(course[key]?.[at])} ${label}`).join(", ");
  return `${steps}: ${values}${cached ? `, ${count(cached)} of them from the cache` : ""}${course.rewritten?.[at] ? ", prefix rewritten" : ""}`;
};

const Lines = still(({ course, place, size, mode }) => html`
  ${mode === MODES.tokens && size && size <= place.top ? html`<line class="limit" x1="0" x2="1000" y1=${place.y(size)} y2=${place.y(size)} />` : ""}
  ${mode === MODES.tokens && course.cached?.some(Boolean) && html`<polygon class="cached" points=${area(course.cached, place)} />`}
  ${mode.lines.map(([key]) => html`<polyline key=${key} class=${LOOKS[key]} points=${points(course[key] ?? [], place)} />`)}
  ${(course.rewritten ?? []).map((yes, at) => yes && html`<line key=${at} class="rewrite" x1=${place.x(at)} x2=${place.x(at)} y1=${HEIGHT - 9} y2=${HEIGHT} />`)}`);

const Modes = ({ course, mode, choose }) => {
  const offered = Object.entries(MODES).filter(([, each]) => !each.has || each.has(course));
  if (offered.length < 2) return "";
  return html`<span class="modes" role="group" aria-label="Chart">${offered.map(([key, each]) => html`<button key=${key} type="button" aria-pressed=${mode === each} onClick=${() => choose(key)}>${each.label}</button>`)}</span>`;
};

// Point, drag or use the arrows to go to a step.
const useScrubber = (box, steps, step, go) => {
  const [over, setOver] = useState(null);
  const under = (event) => {
    const { left, width } = box.current.getBoundingClientRect();
    return Math.round(Math.min(Math.max((event.clientX - left) / width, 0), 1) * (steps - 1));
  };
  const keys = { ArrowRight: 1, ArrowLeft: -1, PageUp: -20, PageDown: 20, Home: -steps, End: steps };
  const press = (event) => {
    if (!(event.key in keys)) return;
    event.preventDefault();
    event.stopPropagation();
    go(Math.min(Math.max(step + keys[event.key], 0), steps - 1));
  };
  return {
    over, press, leave: () => setOver(null),
    hold: (event) => { event.currentTarget.setPointerCapture(event.pointerId); go(under(event)); },
    drag: (event) => { setOver(under(event)); if (event.buttons & 1) go(under(event)); },
  };
};

export default ({ course, steps, size, step, go }) => {
  const [chosen, choose] = useState("tokens");
  const mode = MODES[chosen];
  const box = useRef(null);
  const place = useMemo(() => laid(course, steps, size, mode), [course, steps, size, mode]);
  const { over, press, leave, hold, drag } = useScrubber(box, steps, step, go);
  const x = ((over ?? step) / Math.max(steps - 1, 1)) * 1000;
  const highest = mode === MODES.tokens ? most(course.whole) : 0;
  return html`<figure>
    <div class="plot" ref=${box} role="slider" tabindex="0" aria-label="Step" aria-valuemin="1" aria-valuemax=${steps} aria-valuenow=${step + 1} aria-valuetext=${told(course, mode, place.upto, step)}
      onPointerDown=${hold} onPointerMove=${drag} onPointerLeave=${leave} onKeyDown=${press}>
      <svg viewBox=${`0 0 1000 ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
        <${Lines} course=${course} place=${place} size=${size} mode=${mode} />
        <line class=${over === null ? "here" : "here over"} x1=${x} x2=${x} y1="0" y2=${HEIGHT} />
      </svg>
      <span class="most">${mode.unit(highest > place.top ? place.top : place.top / 1.06)}</span>
      ${highest > place.top && html`<span class="beyond" title="Everything in full: more than the window holds, so it could not have been sent">▲ ${short(highest)}</span>`}
    </div>
    <figcaption><span class="keys">${mode.lines.map(([key, label]) => html`<i key=${key} class=${LOOKS[key]}></i>${label} `)}${mode === MODES.tokens && course.cached?.some(Boolean) && html`<i class="cached"></i>cached `}<i class="rewrite"></i>prefix rewritten</span>
      <${Modes} course=${course} mode=${mode} choose=${choose} /><span class="told">${told(course, mode, place.upto, over ?? step)}</span></figcaption>
  </figure>`;
};
