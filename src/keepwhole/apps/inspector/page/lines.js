// The lines of a result, of any size: a window of lines is asked for as it comes into sight.
// A browser cannot make a box as tall as 20 million lines, so beyond `TALLEST` the box is a scale model of the text.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { get } from "./api.js";
import { count, oneLine } from "./parts.js";

const ROW = 20;
const PAGE = 200;
const KEPT_PAGES = 12;
const TALLEST = 8_000_000;
const PAUSE = 60;

// Pages of lines, the last few that were looked at.
const usePages = (address) => {
  const pages = useRef(new Map()).current;
  const asked = useRef(new Set()).current;
  const timer = useRef(null);
  const [known, setKnown] = useState({ total: null });
  const load = (page) => {
    if (pages.has(page) || asked.has(page)) return;
    asked.add(page);
    get(`${address}/lines`, { from: page * PAGE + 1, count: PAGE }).then((answer) => {
      asked.delete(page);
      pages.set(page, answer);
      for (const old of pages.keys()) if (pages.size > KEPT_PAGES) pages.delete(old);
      setKnown({ total: answer.total, counting: answer.counting });
    }, (error) => { asked.delete(page); setKnown((old) => ({ ...old, error })); });
  };
  const want = (first, last) => {
    clearTimeout(timer.current);
    const from = Math.floor(first / PAGE);
    const until = Math.floor(Math.max(last, first) / PAGE);
    const ask = () => { for (let page = from; page <= until; page++) load(page); };
    if (!pages.size && !asked.size) ask();
    else timer.current = setTimeout(ask, PAUSE);
  };
  // A window bounded in bytes may hold fewer lines than were asked for: what follows it is asked for by itself.
  const line = (at) => {
    const page = pages.get(Math.floor(at / PAGE));
    const within = at % PAGE;
    if (!page) return undefined;
    if (within >= page.lines.length && at + 1 <= page.total) more(page, at);
    return page.lines[within] === undefined ? undefined : { text: page.lines[within], cut: page.cut?.includes(within) };
  };
  const more = (page, at) => {
    const key = `after ${page.from + page.lines.length}`;
    if (asked.has(key)) return;
    asked.add(key);
    get(`${address}/lines`, { from: page.from + page.lines.length, count: Math.min(PAGE - page.lines.length, PAGE) }).then((answer) => {
      asked.delete(key);
      page.cut = [...(page.cut ?? []), ...(answer.cut ?? []).map((each) => each + page.lines.length)];
      page.lines.push(...answer.lines);
      setKnown({ total: answer.total, counting: answer.counting });
    }, () => {});
  };
  return { ...known, want, line };
};

export const Lines = ({ address, start, mark, onSight }) => {
  const box = useRef(null);
  const { total, error, want, line } = usePages(address);
  const [top, setTop] = useState(start - 1);
  const [rows, setRows] = useState(30);
  const [left, setLeft] = useState(0);
  const last = Math.max((total ?? start + rows) - rows + 2, 0);
  const giant = (total ?? 0) * ROW > TALLEST;
  const height = Math.min((total ?? start + rows) * ROW, TALLEST);
  const ours = useRef(null);
  const scale = () => (height - (box.current?.clientHeight ?? 0)) / Math.max(last, 1);
  const move = (to) => {
    const next = Math.min(Math.max(to, 0), last);
    setTop(next);
    if (!box.current) return;
    const at = giant ? next * scale() : next * ROW;
    ours.current = Math.round(at);
    box.current.scrollTop = at;
  };
  useLayoutEffect(() => { move(start - 1); }, [start, total === null]);
  useEffect(() => {
    const watch = new ResizeObserver(([one]) => setRows(Math.ceil(one.contentRect.height / ROW)));
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  // In a scale model a pixel is many lines: the wheel and a finger still move by lines, the bar by the scale.
  useEffect(() => {
    const one = box.current;
    const turn = (event) => {
      if (!giant || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
      event.preventDefault();
      move(top + event.deltaY / (event.deltaMode === 1 ? 1 : ROW));
    };
    let finger = null;
    const touch = (event) => { finger = event.touches[0].clientY; };
    const drag = (event) => {
      if (!giant) return;
      event.preventDefault();
      move(top + (finger - event.touches[0].clientY) / ROW);
      finger = event.touches[0].clientY;
    };
    one.addEventListener("wheel", turn, { passive: false });
    one.addEventListener("touchstart", touch, { passive: true });
    one.addEventListener("touchmove", drag, { passive: false });
    return () => { one.removeEventListener("wheel", turn); one.removeEventListener("touchstart", touch); one.removeEventListener("touchmove", drag); };
  });
  const scrolled = () => {
    if (!box.current) return; // a last event, after the view was left
    const { scrollTop, scrollLeft } = box.current;
    setLeft(scrollLeft);
    if (ours.current !== null && Math.abs(scrollTop - ours.current) <= 1) return;
    ours.current = null;
    setTop(giant ? Math.min(scrollTop / scale(), last) : scrollTop / ROW);
  };
  const press = (event) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: rows - 2, PageUp: 2 - rows, j: 1, k: -1 }[event.key];
    const to = event.key === "Home" ? 0 : event.key === "End" ? last : by === undefined ? undefined : top + by;
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    move(to);
  };
  const first = Math.floor(top);
  const until = Math.min(first + rows + 1, total ?? 0) - 1;
  useEffect(() => { want(Math.max(first - 40, 0), Math.max(until, first) + 40); onSight(first + 1, Math.max(until, first) + 1, total); }, [first, until, total]);
  const drawn = [];
  for (let at = first; at <= until; at++) {
    const known = line(at);
    drawn.push(html`<div key=${at} class=${at + 1 === mark ? "line-row marked" : "line-row"}><span class="line-number">${count(at + 1)}</span><code>${known ? oneLine(known.text) : ""}</code>${known?.cut ? html`<small> … the line goes on; download to see all of it</small>` : ""}</div>`);
  }
  const shift = giant ? (box.current?.scrollTop ?? 0) - (top - first) * ROW : first * ROW;
  return html`<div class="lines" ref=${box} tabindex="0" role="region" aria-label="Lines" onScroll=${scrolled} onKeyDown=${press}>
    ${error && html`<p class="note bad" role="alert">${error.message}</p>`}
    <div class="spacer" style=${{ height: `${height}px` }}><div class="rows" style=${{ transform: `translateY(${Math.max(shift, 0)}px)` }}>${drawn}</div></div></div>`;
};
