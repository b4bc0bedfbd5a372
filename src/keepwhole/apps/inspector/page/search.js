// Searching all results of a session. It goes on until every result was looked at, and says how far it is.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { get, path } from "./api.js";
import { count, oneLine, still, to } from "./parts.js";

const MOST = 20;
const AGAIN = 400;

const useSearch = (name, query) => {
  const [state, setState] = useState({});
  const stop = useRef(null);
  useEffect(() => {
    stop.current?.abort();
    if (query.length < 2) return undefined;
    const own = new AbortController();
    stop.current = own;
    const known = new Map();
    const go = async () => {
      for (let after, first = true; !own.signal.aborted; first = false) {
        if (!first) await new Promise((done) => setTimeout(done, AGAIN));
        const answer = await get(`${path.session(name)}/search`, { query, most: MOST, after }, own.signal);
        for (const each of answer.found) known.set(`${each.trace_id} ${each.line}`, each);
        const all = answer.is_all !== false;
        setState({ query, found: [...known.values()].slice(0, MOST), all, words: answer.words, share: answer.total ? answer.looked / answer.total : undefined });
        if (all || known.size >= MOST) return;
        after = answer.next ?? undefined;
      }
    };
    go().catch((error) => error.name !== "AbortError" && setState({ query, error, all: true }));
    return () => own.abort();
  }, [name, query]);
  return state.query === query ? state : {}; // never the outcome of what was asked before
};

const Found = ({ name, each }) => html`<li><a href=${to.result(name, each.trace_id, each.line)}><small>${each.tool ? `${oneLine(each.tool)}, ` : ""}line ${count(each.line)}</small> <code>${oneLine(each.text).slice(0, 200)}</code></a></li>`;

export const Search = still(({ name }) => {
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(query.trim()), 200);
    return () => clearTimeout(timer);
  }, [query]);
  const wanted = query.trim();
  const answer = useSearch(name, asked);
  const { found, all, words, share, error } = wanted === asked ? answer : {};
  return html`<input type="search" data-search placeholder="Search in all results  /" aria-label="Search in all results" value=${query} onInput=${(event) => setQuery(event.target.value)} />
    ${wanted.length > 1 && html`<ul class="found" aria-label="Found">
      ${error && html`<li class="quiet">${error.message}</li>`}
      ${found?.map((each, at) => html`<${Found} key=${at} name=${name} each=${each} />`)}
      ${all && found && !found.length && !error && html`<li class="quiet">Nothing found.</li>`}
      ${!all && !error && html`<li class="quiet searching" role="status">${words ? oneLine(words) : "Searching …"} ${share !== undefined && html`<progress max="1" value=${share} aria-label="Searched"></progress>`}</li>`}</ul>`}`;
});
