// All results of a session, searched and paged.
import { html, useEffect, useState } from "./vendor/preact.js";
import { path } from "./api.js";
import { Broken, Empty, Skeleton, clock, count, oneLine, short, to, useAnswer } from "./parts.js";

const COUNT = 50;

const Row = ({ name, one }) => html`<tr>
  <th scope="row"><a href=${to.result(name, one.trace_id)}>${oneLine(one.tool)}</a>${one.is_error ? html` <b class="badge bad">error</b>` : ""}${one.pinned ? html` <b class="badge">pinned</b>` : ""}<small><code>${oneLine(one.arguments).slice(0, 160)}</code></small></th>
  <td data-label="Time">${clock(one.at)}</td>
  <td data-label="Lines">${count(one.lines)}</td>
  <td data-label="Characters">${short(one.chars)}</td>
  <td data-label="Tokens">${short(one.tokens)}</td>
  <td data-label="Shown">${one.shown ? short(one.shown.tokens) : "in full"}</td>
  <td data-label="Rule">${one.shown ? html`<b class="badge cut">${oneLine(one.shown.rule)}</b>` : html`<span class="quiet">–</span>`}</td></tr>`;

const HEADS = ["Result", "Time", "Lines", "Characters", "Tokens", "Shown", "Rule"];

export default ({ route }) => {
  const { name } = route;
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState("");
  const [from, setFrom] = useState(0);
  const [cut, setCut] = useState(false);
  const { answer, error, again } = useAnswer(`${path.session(name)}/results`, { query: asked, from, count: COUNT, only: cut ? "cut" : "" });
  useEffect(() => {
    const timer = setTimeout(() => { if (query.trim() !== asked) { setFrom(0); setAsked(query.trim()); } }, 150);
    return () => clearTimeout(timer);
  }, [query]);
  return html`<div class="wide"><div class="title"><h1>Results</h1>
    <label class="check"><input type="checkbox" checked=${cut} onChange=${(event) => { setFrom(0); setCut(event.target.checked); }} /> only truncated</label>
    <input type="search" data-search placeholder="Search by tool or arguments  /" aria-label="Search results" value=${query} onInput=${(event) => setQuery(event.target.value)} /></div>
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${8} />`
      : !answer.results.length ? html`<${Empty} title="No result here"><p>${asked || cut ? "No result of this session matches." : "This session has kept no result yet."}</p><//>`
        : html`<table class="results"><thead><tr>${HEADS.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
          <tbody>${answer.results.map((one) => html`<${Row} key=${one.trace_id} name=${name} one=${one} />`)}</tbody></table>`}
    ${answer && answer.total > COUNT && html`<p class="pager"><button type="button" disabled=${from === 0} onClick=${() => setFrom(Math.max(from - COUNT, 0))}>← Previous</button>
      <span>${count(from + 1)} to ${count(Math.min(from + COUNT, answer.total))} of ${count(answer.total)}</span>
      <button type="button" disabled=${from + COUNT >= answer.total} onClick=${() => setFrom(from + COUNT)}>Next →</button></p>`}</div>`;
};
