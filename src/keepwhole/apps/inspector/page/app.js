// The frame: where one is, the header, live news, keys that work everywhere. Each view is fetched when it is first needed.
import { Component, html, render, useEffect, useRef, useState } from "./vendor/preact.js";
import { enter, forgetEarly, get, isSaved, listen, path, saved } from "./api.js";
import { Broken, Skeleton, day, oneLine, say, to, useKeys } from "./parts.js";

const VIEWS = {
  sessions: () => import("./sessions.js"),
  session: () => import("./session.js"),
  results: () => import("./results.js"),
  result: () => import("./result.js"),
  request: () => import("./request.js"),
  play: () => import("./play.js"),
  health: () => import("./health.js"),
};

// #/ · #/health · #/session/NAME[/step/N | /results | /result/ID[/line/N] | /request/ID | /play]
const read = () => {
  try {
    const [root, name, kind, id, , line] = location.hash.replace(/^#\/?/, "").split("/").map(decodeURIComponent);
    if (isSaved && root !== "session") return { view: "session", name: saved.name };
    if (root === "health") return { view: "health" };
    if (root !== "session" || !name) return { view: "sessions" };
    if (kind === "step") return { view: "session", name, step: Math.max((Number(id) || 1) - 1, 0) };
    if (kind === "result") return { view: "result", name, id, line: Number(line) || 1 };
    return { view: kind in VIEWS ? kind : "session", name, id };
  } catch {
    return { view: "sessions" };
  }
};
const useRoute = () => {
  const [route, setRoute] = useState(read);
  useEffect(() => {
    const moved = () => setRoute(read());
    addEventListener("hashchange", moved);
    return () => removeEventListener("hashchange", moved);
  }, []);
  return route;
};

const SUMMARY_EVERY = 1000;
const AFTER_CONTENT = 250;
// What is known of the session in view, kept fresh. The views hear the news first, by `news`.
const useSession = (name) => {
  const [state, setState] = useState({});
  const [line, setLine] = useState("");
  const news = useRef(new Set()).current;
  const looked = useRef({ step: null, tell: () => {} }).current; // the step in view, for the window's bar
  const timer = useRef(null);
  const load = (signal) => get(path.session(name), {}, signal).then(
    (summary) => { setState({ summary, name }); if (summary.playing) soon(); return summary; },
    (error) => error.name !== "AbortError" && setState((old) => (old.summary && old.name === name ? old : { error, name })),
  );
  const soon = () => { timer.current ??= setTimeout(() => { timer.current = null; load(); }, SUMMARY_EVERY); };
  const tell = (kind, event) => { for (const each of news) each(kind, event); };
  useEffect(() => {
    setState({});
    if (!name) return undefined;
    const stop = new AbortController();
    let close = () => {};
    let wait;
    const hear = {
      state: (now, again) => {
        setLine(now);
        if (now === "connected") load(); // what was recorded before the line stood
        if (!again) return;
        tell("again");
        say("Connected again");
      },
      step: (event) => { tell("step", event); soon(); },
      progress: (event) => tell("progress", event),
      gone: () => setState({ name, error: { status: 404, message: "This session was purged while you were looking at it." } }),
    };
    // A long session is read for a while: what is read is shown, and asked for again until all of it is.
    const begin = (summary) => {
      if (stop.signal.aborted) return;
      if (summary?.reading) forgetEarly();
      if (summary?.reading) wait = setTimeout(() => load(stop.signal).then(begin), AFTER_CONTENT);
      else wait = setTimeout(() => { close = listen(name, hear, summary?.seq); }, AFTER_CONTENT);
    };
    load(stop.signal).then(begin);
    return () => { stop.abort(); clearTimeout(wait); close(); clearTimeout(timer.current); timer.current = null; setLine(""); };
  }, [name]);
  const known = state.name === name ? state : {};
  return { ...known, news, line, looked, again: () => load() };
};

const THEMES = ["auto", "light", "dark"];
const remembered = () => { try { return localStorage.getItem("keepwhole.theme") ?? "auto"; } catch { return "auto"; } };
const Theme = () => {
  const [theme, setTheme] = useState(remembered);
  useEffect(() => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("keepwhole.theme", theme); } catch { /* a browser may keep nothing */ }
  }, [theme]);
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  return html`<button type="button" class="icon" aria-label=${`Colors: ${theme}. Switch to ${next}`} title=${`Colors: ${theme}`} onClick=${() => setTheme(next)}>
    ${{ auto: "◐", light: "○", dark: "●" }[theme]}</button>`;
};

// Asks for the list when it is first wanted: the first content does not need it.
const Switcher = ({ name, title }) => {
  const [known, setKnown] = useState([]);
  const load = () => get("api/sessions", { most: 50 }).then((answer) => setKnown(answer.sessions), () => {});
  const all = known.some((each) => each.name === name) || !name ? known : [{ name, title }, ...known];
  const choose = (event) => { location.hash = event.target.value ? to.session(event.target.value) : to.sessions; };
  return html`<select class="switcher" aria-label="Session" value=${name ?? ""} onFocus=${load} onMouseEnter=${() => known.length || load()} onChange=${choose}>
    <option value="">All sessions</option>
    ${all.map((each) => html`<option key=${each.name} value=${each.name}>${oneLine(each.title || each.name).slice(0, 80)}</option>`)}</select>`;
};

// A part of the frame that can wait for the first content.
const useLater = (load, wanted) => {
  const [Part, setPart] = useState(null);
  useEffect(() => { if (wanted && !Part) load().then((module) => setPart(() => module.default)); }, [wanted]);
  return Part;
};

const LINES = { connected: "Live", reconnecting: "Reconnecting …" };
const Header = ({ route, session }) => {
  const { name, view } = route;
  const Window = useLater(() => import("./window.js"), Boolean(session.summary?.indicator));
  const here = (views) => (views.includes(view) ? "page" : undefined);
  return html`<header>
    <div class="top">
      <a class="brand" href=${to.sessions}>keepwhole</a>
      ${isSaved ? html`<span class="quiet">exported ${day(saved.made_at)}, version ${oneLine(saved.version)}</span>` : html`<${Switcher} name=${name} title=${session.summary?.title} />`}
      <nav aria-label="Views">
        ${name && html`<a href=${to.session(name)} aria-current=${here(["session", "request"])}>Timeline</a>
        <a href=${to.results(name)} aria-current=${here(["results", "result"])}>Results</a>
        ${!isSaved && html`<a href=${to.play(name)} aria-current=${here(["play"])}>What if?</a>`}`}
        ${!isSaved && html`<a href=${to.health} aria-current=${here(["health"])}>Health</a>`}
      </nav>
      <span class=${`line ${session.line}`}>${LINES[session.line] ?? ""}</span>
      <${Theme} />
      <button type="button" class="icon" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick=${help}>?</button>
    </div>
    ${Window && session.summary?.indicator && html`<${Window} session=${session} summary=${session.summary} name=${name} follows=${view === "session" || view === "request"} />`}
    ${name && !(session.summary && (Window || !session.summary.indicator)) && !session.error && html`<div class="indicator waiting-bar" aria-hidden="true"></div>`}
  </header>`;
};

const KEYS = [["j k ↓ ↑", "Next, previous step"], ["Home End", "First, last step"], ["Enter", "Open the step"], ["n", "Next gap of a result"], ["/", "Search"], ["Esc", "Back"], ["?", "Show these keys"]];
const Help = () => html`<dialog id="help" aria-labelledby="keys"><h2 id="keys">Keyboard shortcuts</h2>
  <dl>${KEYS.map(([keys, words]) => html`<div key=${keys}><dt>${keys.split(" ").map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${words}</dd></div>`)}</dl>
  <form method="dialog"><button type="button" onClick=${() => document.getElementById("help").close()}>Close</button></form></dialog>`;
const help = () => document.getElementById("help").showModal();

const up = ({ view, name, step }) => {
  if (view === "session" && step !== undefined && document.querySelector(".session.opened")) return to.session(name);
  if (view === "result") return history.length > 1 ? null : to.results(name);
  if (view === "request") return history.length > 1 ? null : to.session(name);
  return view === "results" || view === "play" ? to.session(name) : to.sessions;
};
const back = (route) => {
  const target = up(route);
  if (target === null) history.back();
  else location.hash = target;
};

class Guard extends Component {
  componentDidCatch(error) { this.setState({ error }); }
  componentDidUpdate(old) { if (old.at !== this.props.at && this.state.error) this.setState({ error: null }); }
  render({ children }, { error }) {
    return error ? html`<${Broken} error=${{ message: `The page could not draw this: ${error.message}` }} again=${() => this.setState({ error: null })} />` : children;
  }
}

const loaded = {};
const View = ({ route, session }) => {
  const [, redraw] = useState(0);
  const { view, name } = route;
  useEffect(() => {
    if (!loaded[view]) VIEWS[view]().then((module) => { loaded[view] = module.default; redraw((round) => round + 1); });
  }, [view]);
  if (session.error) return html`<${Broken} error=${session.error} again=${session.again} />`;
  const Shown = loaded[view];
  return Shown ? html`<${Shown} key=${`${view} ${name} ${route.id ?? ""}`} route=${route} session=${session} />` : html`<${Skeleton} />`;
};

const App = () => {
  const route = useRoute();
  const session = useSession(route.name);
  useEffect(() => { document.title = route.name ? `${oneLine(session.summary?.title || route.name)} · Keepwhole` : "Keepwhole"; }, [route.name, session.summary?.title]);
  useKeys((key, event) => {
    if (key === "?") return help() ?? true;
    if (key === "Escape") {
      if (event.target.matches?.("input, select, textarea")) event.target.blur();
      else back(route);
      return true;
    }
    const gap = key === "n" && document.querySelector(".gaps button");
    if (gap) return gap.click() ?? true;
    const search = key === "/" && document.querySelector("[data-search]");
    if (search) search.focus();
    return Boolean(search);
  });
  return html`<a class="skip" href="#main" onClick=${(event) => { event.preventDefault(); document.getElementById("main").focus(); }}>Skip to the content</a>
    <${Header} route=${route} session=${session} />
    <main id="main" tabindex="-1" class=${`view-${route.view}`}><${Guard} at=${location.hash}><${View} route=${route} session=${session} /><//></main><${Help} />`;
};

const start = async () => {
  const root = document.getElementById("app");
  try {
    await enter();
    root.replaceChildren();
    render(html`<${App} />`, root);
  } catch (error) {
    root.replaceChildren();
    render(html`<main><${Broken} error=${error} /></main>`, root);
  }
};
start();
