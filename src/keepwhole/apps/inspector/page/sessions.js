// All sessions of the record: searched, filtered, sorted and paged. What is not known of a session is left out.
import { html, useEffect, useState } from "./vendor/preact.js";
import { Broken, Empty, Skeleton, bytes, count, day, many, oneLine, short, to, useAnswer } from "./parts.js";
import { listen } from "./api.js";

const MOST = 50;
const HEALTH = { warning: "note", broken: "broken" };
const HEADS = [["Session", "name"], ["Last active", "last"], ["Requests", "requests"], ["Results"], ["Tokens kept"], ["Errors", "errors"], ["Paid", "cost"], ["Saved", "saved"]];

const Health = ({ one }) => (one.health in HEALTH ? html`<span class=${`health ${one.health}`} title=${oneLine(one.note ?? "")}>${HEALTH[one.health]}<small>${oneLine(one.note ?? "")}</small></span>` : one.results === null ? html`<small>not counted yet</small>` : "");
const Saved = ({ cost }) => (cost ? html`<span class=${cost.is_loss ? "loss" : "gain"}>${cost.saved} <small>${cost.words}</small></span>` : "");
const Paid = ({ cost }) => (cost ? html`${cost.paid}<small class="sum">${cost.basis === "list price" ? "at list price, " : ""}would be ${cost.off}</small>` : "");
const about = (one) => [one.title && one.name, one.agent, one.workspace].filter(Boolean).map(oneLine).join(" · ");

const Row = ({ one }) => html`<tr class=${one.depth ? "fork" : ""}>
  <th scope="row"><a href=${to.session(one.name)}>${oneLine(one.title || one.name)}</a><small>${one.depth ? "fork · " : ""}${about(one)}</small><${Health} one=${one} /></th>
  <td data-label="Last active">${day(one.last_at ?? one.created_at)}</td>
  <td data-label="Requests">${one.requests ? count(one.requests) : ""}</td>
  <td data-label="Results">${one.results === null ? "" : count(one.results)}<small class="sum" title="With requests and answers">${bytes(one.stored)} on disk</small></td>
  <td data-label="Tokens kept">${one.tokens_whole === null ? "" : html`${short(one.tokens_whole)}<small class="sum">${short(one.tokens_sent)} shown</small>`}</td>
  <td data-label="Errors">${one.errors ? html`<span class="loss">${count(one.errors)}</span>` : ""}</td>
  <td data-label="Paid" class="cost" title=${one.cost?.assumes}><${Paid} cost=${one.cost} /></td>
  <td data-label="Saved" class="cost" title=${one.cost?.assumes}><${Saved} cost=${one.cost} /></td></tr>`;

// A fork stands under the session that it goes on from, where both are on this page.
const planted = (sessions) => {
  const names = new Set(sessions.map((one) => one.name));
  const forks = Map.groupBy ? Map.groupBy(sessions, (one) => (names.has(one.fork_of) && one.fork_of !== one.name ? one.fork_of : null)) : new Map([[null, sessions]]);
  const placed = new Set();
  const under = (name, depth) => (forks.get(name) ?? []).flatMap((one) => {
    if (placed.has(one.name)) return [];
    placed.add(one.name);
    return [{ ...one, depth }, ...under(one.name, depth + 1)];
  });
  return [...under(null, 0), ...sessions.filter((one) => !placed.has(one.name))];
};

const Head = ({ label, key_, order, sort }) => {
  if (!key_) return html`<th scope="col">${label}</th>`;
  const here = order.sort === key_;
  return html`<th scope="col" aria-sort=${here ? (order.order === "asc" ? "ascending" : "descending") : undefined}><button type="button" onClick=${() => sort(key_)}>${label}${here ? (order.order === "asc" ? " ↑" : " ↓") : ""}</button></th>`;
};
const Table = ({ sessions, order, sort }) => html`<table class="sessions"><thead><tr>${HEADS.map(([label, key]) => html`<${Head} key=${label} label=${label} key_=${key} order=${order} sort=${sort} />`)}</tr></thead>
  <tbody>${(order.sort === "last" ? planted(sessions) : sessions).map((one) => html`<${Row} key=${one.name} one=${one} />`)}</tbody></table>`;

const Nothing = ({ home }) => html`<${Empty} title="Nothing kept yet">
  <p>Two commands change that. What they keep appears here.</p>
  <ol><li><code>keepwhole run -- pytest -q</code> <span>runs a command, keeps all it prints, shows what fits</span></li>
  <li><code>keepwhole proxy</code> <span>runs between an agent and its provider and keeps every result</span></li></ol>
  ${home && html`<p class="quiet">The record is in <code>${oneLine(home)}</code>.</p>`}<//>`;

// Where the table is a list of cards it has no heads to click.
const Filters = ({ agents, asked, change, sort }) => html`
  <select class="sorts" aria-label="Sort by" value=${asked.sort} onChange=${(event) => sort(event.target.value)}>${HEADS.filter(([, key]) => key).map(([label, key]) => html`<option key=${key} value=${key}>by ${label.toLowerCase()}</option>`)}</select>
  ${agents?.length > 1 && html`<select aria-label="Agent" value=${asked.agent} onChange=${(event) => change({ agent: event.target.value })}><option value="">All agents</option>${agents.map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select>`}
  <label class="check"><input type="checkbox" checked=${asked.errors === "1"} onChange=${(event) => change({ errors: event.target.checked ? "1" : "" })} /> with errors</label>`;

export default () => {
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState({ query: "", agent: "", errors: "", sort: "last", order: "desc", after: "" });
  const { answer, error, again } = useAnswer("api/sessions", { ...asked, most: MOST });
  const change = (values) => setAsked((old) => ({ ...old, after: "", ...values }));
  const sort = (key) => change(asked.sort === key ? { order: asked.order === "asc" ? "desc" : "asc" } : { sort: key, order: key === "name" ? "asc" : "desc" });
  useEffect(() => {
    const timer = setTimeout(() => { if (query.trim() !== asked.query) change({ query: query.trim() }); }, 150);
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
    const timer = counting && setTimeout(again, 400);
    return () => clearTimeout(timer);
  }, [answer]);
  const none = answer && !answer.sessions.length;
  const narrowed = asked.query || asked.agent || asked.errors || asked.after;
  return html`<div class="wide"><div class="title"><h1>Sessions</h1><${Filters} agents=${answer?.agents} asked=${asked} change=${change} sort=${sort} />
    <input type="search" data-search placeholder="Search sessions  /" aria-label="Search sessions" value=${query} onInput=${(event) => setQuery(event.target.value)} /></div>
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${8} />`
      : none && !narrowed ? html`<${Nothing} home=${answer.home} />`
        : none ? html`<p class="quiet">No session matches.</p>`
          : html`<${Table} sessions=${answer.sessions} order=${asked} sort=${sort} />`}
    ${(answer?.next || asked.after) && html`<p class="pager"><button type="button" disabled=${!asked.after} onClick=${() => change({ after: "" })}>First ${MOST}</button>
      <button type="button" disabled=${!answer?.next} onClick=${() => change({ after: answer.next })}>Next ${MOST} →</button></p>`}
    ${answer && html`<p class="foot quiet">${many(answer.sessions.length, "session")} · Keepwhole ${oneLine(answer.version ?? "")} · ${oneLine(answer.home ?? "")}</p>`}</div>`;
};
