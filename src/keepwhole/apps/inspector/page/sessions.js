// All sessions of the record, searched and paged.
import { html, useEffect, useState } from "./vendor/preact.js";
import { Bar, Broken, Empty, Skeleton, bytes, count, day, oneLine, short, to, useAnswer } from "./parts.js";
import { listen } from "./api.js";

const MOST = 50;
const HEALTH = { ok: "fine", warning: "look at it", broken: "broken" };

const Health = ({ one }) => html`<span class=${`health ${one.health}`}>${HEALTH[one.health] ?? oneLine(one.health)}${one.note ? html`<small>${oneLine(one.note)}</small>` : ""}</span>`;
const Saved = ({ cost }) => (cost ? html`<span class=${cost.is_loss ? "loss" : ""}>${cost.saved} <small>${cost.words}</small></span>
  <small class="sum">paid ${cost.paid}, with mode: off ${cost.off}</small>` : "–");

const Row = ({ one }) => html`<tr>
  <th scope="row"><a href=${to.session(one.name)}>${oneLine(one.name)}</a><small>${[one.agent, one.workspace].filter(Boolean).map(oneLine).join(" · ")}</small></th>
  <td data-label="Last">${day(one.last_at ?? one.created_at)}</td>
  <td data-label="Results">${count(one.results)}</td>
  <td data-label="Requests">${count(one.requests)}</td>
  <td data-label="On disk">${bytes(one.stored)}</td>
  <td data-label="Tokens kept">${short(one.tokens_whole)}</td>
  <td data-label="Tokens shown" class="with-bar">${short(one.tokens_sent)}${one.tokens_whole ? html`<${Bar} whole=${one.tokens_whole} part=${one.tokens_sent} label="shown of kept" />` : ""}</td>
  <td data-label="Saved" class="cost" title=${one.cost?.assumes}><${Saved} cost=${one.cost} /></td>
  <td data-label="Health"><${Health} one=${one} /></td></tr>`;

const HEADS = ["Session", "Last", "Results", "Requests", "On disk", "Tokens kept", "Tokens shown", "Saved", "Health"];
const Table = ({ sessions }) => html`<table class="sessions"><thead><tr>${HEADS.map((head) => html`<th key=${head} scope="col">${head}</th>`)}</tr></thead>
  <tbody>${sessions.map((one) => html`<${Row} key=${one.name} one=${one} />`)}</tbody></table>`;

const Nothing = ({ home }) => html`<${Empty} title="Nothing kept yet">
  <p>Two commands change that. The page shows what they keep by itself.</p>
  <ol><li><code>keepwhole run -- pytest -q</code> <span>runs a command, keeps all it prints, shows what fits</span></li>
  <li><code>keepwhole proxy</code> <span>stands between an agent and its provider and keeps every result</span></li></ol>
  ${home && html`<p class="quiet">The record is in <code>${oneLine(home)}</code>.</p>`}<//>`;

export default () => {
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState("");
  const [after, setAfter] = useState("");
  const { answer, error, again } = useAnswer("api/sessions", { query: asked, most: MOST, after });
  useEffect(() => {
    const timer = setTimeout(() => { if (query.trim() !== asked) { setAfter(""); setAsked(query.trim()); } }, 150);
    return () => clearTimeout(timer);
  }, [query]);
  const known = Boolean(answer);
  useEffect(() => {
    if (!known) return undefined;
    let timer = null;
    const soon = () => { timer ??= setTimeout(() => { timer = null; again(); }, 1000); };
    const close = listen("", { state: () => {}, session: soon, gone: soon });
    return () => { close(); clearTimeout(timer); };
  }, [known]);
  // A long list is counted a piece at a time; what is not counted yet is asked for again.
  const counting = answer?.sessions.some((one) => one.results === null);
  useEffect(() => {
    const timer = counting && setTimeout(again, 1500);
    return () => clearTimeout(timer);
  }, [answer]);
  const none = answer && !answer.sessions.length;
  return html`<div class="wide"><div class="title"><h1>Sessions</h1>
    <input type="search" data-search placeholder="Search sessions  /" aria-label="Search sessions" value=${query} onInput=${(event) => setQuery(event.target.value)} /></div>
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${8} />`
      : none && !asked && !after ? html`<${Nothing} home=${answer.home} />`
        : none ? html`<p class="quiet">No session has these words in its name, agent or folder.</p>`
          : html`<${Table} sessions=${answer.sessions} />`}
    ${(answer?.next || after) && html`<p class="pager"><button type="button" disabled=${!after} onClick=${() => setAfter("")}>First ${MOST}</button>
      <button type="button" disabled=${!answer?.next} onClick=${() => setAfter(answer.next)}>Next ${MOST} →</button></p>`}
    ${answer && html`<p class="foot quiet">Keepwhole ${oneLine(answer.version ?? "")} · ${oneLine(answer.home ?? "")}</p>`}</div>`;
};
