// A session step by step. Only the rows in sight are drawn; pages of steps are asked for as they come into sight.
import { html, useEffect, useLayoutEffect, useRef, useState } from "./vendor/preact.js";
import { PAGE, get, isSaved, pageOf, path, saved } from "./api.js";
import { Broken, Difference, Empty, Skeleton, bytes, changed, clock, count, priced, many, oneLine, say, share, short, still, subject, to, useAddress, useKeys, visible, Words } from "./parts.js";

const AFTER_ROWS = 40;
const ROW = 56;
const SPARE = 6;
const PAUSE = 60;

// The steps that are known, by index. What was heard live takes the place of what was asked for.
const useSteps = (name) => {
  const known = useRef(new Map()).current;
  const asked = useRef(new Map()).current;
  const [, redraw] = useState(0);
  const [trouble, setTrouble] = useState(null);
  const timer = useRef(null);
  const draw = () => redraw((round) => round + 1);
  // A page is asked for again only when there are more steps than there were.
  const load = (page, total) => {
    if (asked.get(page) >= total) return;
    asked.set(page, total);
    get(`${path.session(name)}/steps`, pageOf(page * PAGE)).then((answer) => {
      for (const step of answer.steps) known.set(step.index, step);
      setTrouble(null);
      draw();
    }, (error) => { asked.delete(page); setTrouble(error); });
  };
  const missing = (first, last) => {
    const pages = new Set();
    for (let at = first; at <= last; at++) if (!known.has(at)) pages.add(Math.floor(at / PAGE));
    return [...pages];
  };
  // While one scrolls fast nothing is asked for: the rows would be gone before the answer.
  const want = (first, last, total, now) => {
    clearTimeout(timer.current);
    if (!known.size && asked.size) return; // the first answer first
    const ask = () => missing(first, last).forEach((page) => load(page, total));
    if (now !== null) load(Math.floor(now / PAGE), total);
    else timer.current = setTimeout(ask, PAUSE);
  };
  const forget = () => { known.clear(); asked.clear(); draw(); };
  return { known, want, draw, forget, trouble };
};

// Hears of new steps; says how many came while one looked elsewhere.
const useNews = (session, steps, start, reading) => {
  const [total, setTotal] = useState(start);
  const [arriving, setArriving] = useState(null);
  const unread = useRef(reading);
  useEffect(() => {
    // While a session is read its first request may take in steps that stood alone: then the others have other numbers.
    const isAll = reading || unread.current;
    unread.current = reading;
    if (isAll && start < total) steps.forget();
    setTotal((old) => (isAll ? start : Math.max(old, start)));
  }, [start, reading]);
  useEffect(() => {
    const hear = (kind, event) => {
      if (kind === "again") return steps.forget();
      if (kind === "progress") return setArriving(event);
      steps.known.set(event.index, event.step);
      setArriving(null);
      // The first request of a session may take in steps that stood alone: then there are fewer.
      setTotal((old) => event.total ?? Math.max(old, event.index + 1));
      return steps.draw();
    };
    session.news.add(hear);
    return () => session.news.delete(hear);
  }, []);
  return [total, arriving];
};

const tools = (step) => [...new Set((step.results ?? []).map((each) => each.tool))];
const change = (step) => (step.tokens_sent ?? 0) - (step.tokens_whole ?? 0);
const weighed = (step) => (step.tokens_sent === null || step.tokens_sent === undefined ? undefined : `${count(step.tokens_sent)} tokens sent${step.usage ? ", as billed" : ", estimated"}${change(step) ? `, of ≈ ${count(step.tokens_whole)} that the client meant to send` : ""}`);
const PURPOSES = { turn: "no tool result", round: "recall", compaction: "compaction" };
const brief = (text) => (/^[~.]?\/\S+$/.test(text) && text.length > 34 ? `…/${text.split("/").slice(-2).join("/")}` : text);
// What tells steps apart: the argument that matters of their first result, or what was said.
const about = (step) => {
  const [first] = step.results ?? [];
  return first ? first.argument ?? subject(first.arguments) : step.said?.[0]?.text ?? "";
};
const SPEAKERS = { user: "User", assistant: "Model" };
const heading = (step) => (!step.purpose || step.purpose === "turn" ? SPEAKERS[step.said?.[0]?.role] : undefined) ?? PURPOSES[step.purpose] ?? oneLine(step.purpose || "no tool result");
const failed = (step) => step.outcome && step.outcome !== "complete";

const Row = still(({ step, index, chosen }) => {
  if (!step) return html`<div class="row unknown" id=${`step-${index}`} role="option" aria-selected=${chosen} aria-posinset=${index + 1}><span class="number">${index + 1}</span><span class="blank"></span></div>`;
  const names = tools(step);
  const errors = step.results?.filter((each) => each.is_error).length;
  return html`<div class=${chosen ? "row chosen" : "row"} id=${`step-${index}`} role="option" aria-selected=${chosen} aria-posinset=${index + 1}>
    <span class="number">${step.number ?? index + 1}</span>
    <span class="what">${names.length ? names.slice(0, 3).map(oneLine).join(", ") + (names.length > 3 ? ` +${names.length - 3}` : "") : heading(step)}</span>
    <span class="badges">${errors ? html`<b class="badge bad">${errors > 1 ? `${errors} errors` : "error"}</b>` : ""}${failed(step) ? html`<b class="badge bad">${oneLine(step.outcome)}</b>` : ""}${step.rewritten ? html`<b class="badge turn">rewritten</b>` : ""}</span>
    <span class="when"><code title=${oneLine(about(step)).slice(0, 400)}>${oneLine(brief(about(step))).slice(0, 120)}</code>${step.branch && step.branch !== "main" ? html` <small>${oneLine(step.branch)}</small>` : ""}</span>
    <time class="at">${clock(step.at).slice(0, 5)}</time>
    <span class="amount" title=${weighed(step)}>${step.tokens_sent === null ? "" : short(step.tokens_sent)}${change(step) ? html` <${Difference} tokens=${change(step)} />` : ""}</span>
  </div>`;
});

// A list of rows of one height. Its own scrolling, so that nothing else moves it.
const Timeline = ({ steps, total, chosen, choose, open, box }) => {
  const [sight, setSight] = useState([Math.max(chosen - 10, 0), 20]);
  const look = () => {
    if (!box.current) return; // a last event, after the view was left
    const { scrollTop, clientHeight } = box.current;
    const first = Math.max(Math.floor(scrollTop / ROW) - SPARE, 0);
    const rows = Math.ceil(clientHeight / ROW) + 2 * SPARE;
    setSight((old) => (old[0] === first && old[1] === rows ? old : [first, rows]));
  };
  useLayoutEffect(() => { reveal(box.current, chosen, "middle"); look(); }, []);
  useEffect(() => {
    const watch = new ResizeObserver(look);
    watch.observe(box.current);
    return () => watch.disconnect();
  }, []);
  const first = Math.min(sight[0], Math.max(total - 1, 0));
  const last = Math.min(first + sight[1], total) - 1;
  const asked = useRef(false);
  useEffect(() => { steps.want(first, last, total, asked.current ? null : chosen); asked.current = true; });
  const rows = [];
  for (let at = first; at <= last; at++) rows.push(html`<${Row} key=${at} index=${at} step=${steps.known.get(at)} chosen=${at === chosen} />`);
  const click = (event) => {
    const row = event.target.closest(".row");
    if (row) { choose(Number(row.id.slice(5))); open(); }
  };
  return html`<div class="timeline" ref=${box} role="listbox" tabindex="0" aria-label="Steps" aria-activedescendant=${chosen >= first && chosen <= last ? `step-${chosen}` : undefined} onScroll=${look} onClick=${click}>
    <div class="spacer" role="presentation" style=${{ height: `${total * ROW}px` }}><div role="presentation" class="rows" style=${{ transform: `translateY(${first * ROW}px)` }}>${rows}</div></div></div>`;
};

const reveal = (box, index, where) => {
  if (!box) return;
  const top = index * ROW;
  if (where === "middle") box.scrollTop = top - box.clientHeight / 2 + ROW / 2;
  else if (top < box.scrollTop) box.scrollTop = top;
  else if (top + ROW > box.scrollTop + box.clientHeight) box.scrollTop = top + ROW - box.clientHeight;
};
const atEnd = (box) => !box || box.scrollTop + box.clientHeight > box.scrollHeight - ROW * 1.5;

const known = (facts) => facts.filter(([, value]) => value !== null && value !== undefined && value !== "");
const some = (value, words) => (value ? words(value) : null);
const Facts = still(({ summary }) => {
  const { cost, shadow, limits } = summary;
  const facts = [
    ["Model", oneLine(summary.model || "")], ["Kept", summary.kept ?? count(summary.results)], ["Requests", some(summary.requests, count)], ["Errors", some(summary.errors, (value) => html`<span class="loss">${count(value)}</span>`)], ["On disk", bytes(summary.stored), "With requests and answers"],
    ["Tokens kept", short(summary.tokens_whole), "Of all results, as the tools returned them; estimated from their length"], ["Tokens shown", short(summary.tokens_sent), "Of the same results, as the model sees them now; estimated from their length"],
  ];
  if (cost) facts.push([priced(cost)[0], cost.paid], [priced(cost)[1], cost.off, cost.assumes], [cost.is_loss ? "Lost" : "Saved", html`<span class=${cost.is_loss ? "loss" : "gain"}>${changed(cost)}, ${cost.words}</span>`, cost.assumes]);
  if (shadow) facts.push(["Sent in shadow mode", short(shadow.tokens_sent), "Tokens of all requests in mode: shadow"], ["With mode: on", short(shadow.would_send)]);
  for (const each of limits ?? []) facts.push([`Limit of ${oneLine(each.name)}`, oneLine(each.words).replace(`${oneLine(each.name)}: `, "")]);
  return html`<dl class="facts">${known(facts).map(([term, value, why]) => html`<div key=${term} title=${why}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
});

// Where a session comes from, and what goes on from it.
const Kin = ({ tree }) => {
  const linked = (each) => html`<a href=${to.session(each.name)} title=${oneLine(each.name)}>${oneLine(each.title || each.name).slice(0, 60)}</a>`;
  const parts = [tree.origin && html`continues ${linked(tree.origin)}`, tree.forks?.length > 0 && html`${many(tree.forks.length, "fork")}: ${tree.forks.slice(0, 6).map((each, at) => html`${at ? ", " : ""}${linked(each)}`)}`,
    tree.agents?.length > 0 && html`sub-agents: ${tree.agents.slice(0, 8).map((each) => `${oneLine(each.title || each.branch)} (${many(each.steps, "step")})`).join(", ")}`].filter(Boolean);
  return parts.length ? html`<p class="kin quiet">${parts.map((each, at) => html`${at ? " · " : ""}${each}`)}</p>` : "";
};

// Three places of the sample that show what Keepwhole does.
const Tour = ({ stops, chosen, go }) => html`<p class="tour"><b>Tour</b> ${stops.map((stop, at) => html`<button key=${at} type="button" class="small" aria-pressed=${stop.index === chosen} title=${oneLine(stop.words)} onClick=${() => go(stop.index)}>${at + 1}. ${oneLine(stop.label)}</button> `)}</p>`;

const Export = ({ name, total }) => {
  const [from, setFrom] = useState("");
  const [until, setUntil] = useState("");
  const address = (format) => `${path.session(name)}/export?format=${format}${from ? `&from=${Number(from)}` : ""}${until ? `&to=${Number(until)}` : ""}`;
  const bound = (label, value, set) => html`<label>${label} <input type="number" min="1" max=${total} value=${value} placeholder=${label === "Step" ? 1 : total} onInput=${(event) => set(event.target.value)} /></label>`;
  return html`<details class="export"><summary>Export</summary><div class="panel"><p>One file that opens without a server, or the same as JSON. What looks like a key is masked.</p>
    <p class="acts">${bound("Step", from, setFrom)} ${bound("to", until, setUntil)}</p>
    <p class="acts"><a class="button small" href=${address("html")} download>HTML</a> <a class="button small" href=${address("json")} download>JSON</a></p></div></details>`;
};

const Heading = ({ name, summary, total, tour }) => html`<div class="heading"><div class="named"><h1>${oneLine(summary.title || name)}</h1>${!isSaved && html`<${Export} name=${name} total=${total} />`}</div>
  <p class="quiet">${[summary.title && name, summary.agent, summary.workspace].filter(Boolean).map(oneLine).join(" · ")}</p>${summary.tree && html`<${Kin} tree=${summary.tree} />`}${tour}</div>`;

const Arriving = ({ event }) => html`<p class="arriving"><b>Arriving</b> ${event.canonical ? `${count(event.canonical.chars)} characters kept so far` : ""} <code>${oneLine(event.text).slice(-160)}</code></p>`;

const Session = ({ route, session, summary }) => {
  const { name } = route;
  const box = useRef(null);
  const detail = useRef(null);
  const [{ Step, Search, Course }, setLater] = useState({});
  const [opened, setOpened] = useState(route.step !== undefined && matchMedia("(max-width: 60rem)").matches);
  const steps = useSteps(name);
  const [total, arriving] = useNews(session, steps, summary.steps, Boolean(summary.reading));
  const [chosen, setChosen] = useState(Math.min(route.step ?? summary.tour?.[0]?.index ?? total - 1, total - 1));
  const seen = useRef(total);
  const remember = useAddress();
  const reading = Boolean(summary.reading);
  const playing = Boolean(summary.playing);
  const behind = total < summary.steps; // they are counted next
  const wanted = useRef(null); // a step that is not read yet
  const choose = (index, where) => {
    wanted.current = null;
    const next = Math.min(Math.max(index, 0), total - 1);
    setChosen(next);
    remember(to.step(name, next));
    reveal(box.current, next, where);
  };
  const step = steps.known.get(chosen);
  const there = Boolean(step);
  useEffect(() => { if (there) { session.looked.step = chosen; session.looked.tell(chosen); } }, [chosen, there, total]);
  useEffect(() => { if (wanted.current !== null && (wanted.current < total || !(reading || behind))) choose(wanted.current, "middle"); }, [total, reading]);
  useEffect(() => { if (chosen >= total) choose(total - 1); seen.current = Math.min(seen.current, total); }, [total]);
  // The rows come first; what a step is drawn with can wait for them.
  // After the rows are there to be seen: what is first on the screen is first on the wire.
  useEffect(() => {
    if (!step || Step) return undefined;
    const wait = setTimeout(() => Promise.all([import("./step.js"), import("./course.js")]).then(([one, two]) => setLater({ ...one, Course: two.default })), AFTER_ROWS);
    return () => clearTimeout(wait);
  }, [Boolean(step)]);
  useEffect(() => {
    if (reading && route.step >= total) wanted.current = route.step;
    else if (route.step !== undefined && route.step !== chosen) choose(route.step);
    if (route.step === undefined) setOpened(false);
  }, [route]);
  // What is played is new to whoever opens it: it begins where there is something to see, until one looks elsewhere.
  const touched = useRef(route.step !== undefined);
  const telling = summary.tour?.[0]?.index ?? total;
  useEffect(() => {
    const touch = () => { touched.current = true; };
    const hands = ["pointerdown", "keydown", "wheel"];
    for (const each of hands) addEventListener(each, touch, { passive: true, capture: true });
    return () => { for (const each of hands) removeEventListener(each, touch, { capture: true }); };
  }, []);
  useEffect(() => {
    if (touched.current || telling >= total) return;
    setChosen(telling);
    reveal(box.current, telling, "middle");
  }, [telling, telling < total]);
  // At the end one stays at the end, once it is known where that is; anywhere else nothing moves.
  const following = useRef(true);
  const unread = useRef(reading || playing);
  useLayoutEffect(() => {
    if (reading || (playing && !touched.current)) { unread.current = true; return; }
    if (behind) return;
    const old = unread.current; // what was read just now is not new
    unread.current = false;
    if (wanted.current !== null) seen.current = total; // it goes there next
    else if (total > seen.current && following.current && chosen === seen.current - 1) { seen.current = total; choose(total - 1); }
    else if (old) { seen.current = total; steps.draw(); }
    else if (total > seen.current && !playing) say(`${many(total - seen.current, "new step")}`);
    if (playing) unread.current = true;
  }, [total, reading, playing]);
  useEffect(() => {
    const watch = () => { following.current = atEnd(box.current); if (following.current && seen.current !== total) { seen.current = total; steps.draw(); } };
    box.current.addEventListener("scroll", watch, { passive: true });
    if (!(reading || behind)) watch();
    const one = box.current;
    return () => one.removeEventListener("scroll", watch);
  }, [total, reading]);
  useKeys((key) => {
    const move = { j: chosen + 1, ArrowDown: chosen + 1, k: chosen - 1, ArrowUp: chosen - 1, Home: 0, End: total - 1 }[key];
    if (move !== undefined) return choose(move) ?? true;
    if (key === "Enter" && document.activeElement === box.current) { setOpened(true); detail.current?.focus(); return true; }
    return false;
  });
  const fresh = reading || playing ? 0 : total - seen.current;
  return html`<div class=${opened ? "session opened" : "session"}>
    <div class="above"><${Heading} name=${name} summary=${summary} total=${total} tour=${summary.tour && html`<${Tour} stops=${summary.tour} chosen=${chosen} go=${(index) => { choose(index, "middle"); setOpened(true); }} />`} /><${Facts} summary=${summary} />
      ${summary.reading && html`<p class="note" role="status">Reading the record: ${share(summary.reading)} <progress max="1" value=${summary.reading} aria-label="Read"></progress></p>`}
      ${summary.notes?.map((note, at) => html`<p key=${at} class="note"><${Words} text=${note} /></p>`)}
      ${summary.course?.seq?.length > 1 && html`<div class="course">${Course && html`<${Course} course=${summary.course} steps=${total} size=${summary.window} step=${chosen} go=${(index) => choose(index, "middle")} />`}</div>`}</div>
    <div class="panes">
      <section class="list" aria-label="Timeline"><div class="search" role="search">${Search && html`<${Search} name=${name} />`}</div>
        <${Timeline} steps=${steps} total=${total} chosen=${chosen} choose=${choose} open=${() => setOpened(true)} box=${box} />
        ${arriving && html`<${Arriving} event=${arriving} />`}
        ${steps.trouble && html`<p class="note bad" role="alert">${steps.trouble.message}</p>`}
        ${fresh > 0 && html`<button type="button" class="pill" onClick=${() => { seen.current = total; choose(total - 1); }}>${many(fresh, "new step")} ↓</button>`}
      </section>
      <section class="detail" aria-label="Step" tabindex="-1" ref=${detail}>
        <button type="button" class="back" onClick=${() => { location.hash = to.session(name); setOpened(false); }}>← Steps</button>
        ${step && Step ? html`<${Step} key=${chosen} step=${step} name=${name} total=${saved?.total ?? total} />` : html`<${Skeleton} rows=${8} />`}
      </section>
    </div></div>`;
};

const Nothing = () => html`<${Empty} title="Nothing kept in this session yet">
  <p>Its first step appears here as soon as a result is kept.</p>
  <p><code>keepwhole run -- pytest</code> keeps what a command prints, <code>keepwhole proxy</code> keeps what an agent sends.</p><//>`;

export default ({ route, session }) => {
  const { summary, error, again } = session;
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!summary) return html`<${Skeleton} rows=${10} />`;
  return summary.steps ? html`<${Session} route=${route} session=${session} summary=${summary} />` : html`<${Nothing} />`;
};
