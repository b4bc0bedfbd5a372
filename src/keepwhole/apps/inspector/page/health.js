// The record's health: what doctor finds, how large the store is, the counters, and verifying a session.
import { html, useState } from "./vendor/preact.js";
import { path, post } from "./api.js";
import { Broken, Skeleton, Words, bytes, count, many, oneLine, share, useAnswer, visible } from "./parts.js";

const MOST = 200;
const STATES = { ok: "fine", warning: "note", bad: "broken" };
const LOOKS = { ok: "ok", warning: "warning", bad: "broken" };

// Counters may be nested; each leaf gets a line.
const flat = (value, name = "") => (value !== null && typeof value === "object"
  ? Object.entries(value).flatMap(([key, inner]) => flat(inner, name ? `${name}.${key}` : key))
  : [[name, value]]);

const Verify = ({ sessions }) => {
  const [name, setName] = useState(sessions[0]?.name ?? "");
  const [state, setState] = useState({});
  const verify = () => {
    setState({ busy: true });
    post(`${path.session(name)}/verify`).then((outcome) => setState({ outcome }), (error) => setState({ error }));
  };
  const { outcome, error, busy } = state;
  return html`<section><h2>Verify</h2><p class="quiet">Reads every entry of a session again and compares it with its digest.</p>
    <p class="verify"><select aria-label="Session to verify" value=${name} onChange=${(event) => { setName(event.target.value); setState({}); }}>${sessions.map((one) => html`<option key=${one.name} value=${one.name}>${oneLine(one.name)}</option>`)}</select>
      <button type="button" class="main" disabled=${busy || !name} onClick=${verify}>${busy ? "Verifying …" : "Verify"}</button></p>
    <div role="status">${error && html`<p class="note bad">${error.message}</p>`}
      ${outcome && html`<p class=${outcome.ok ? "note good" : "note bad"}>${outcome.ok ? `${many(outcome.entries, "entry", "entries")} read; nothing has changed since it was kept.` : `${many(outcome.findings.length, "finding")} in ${many(outcome.entries, "entry", "entries")}.`}</p>
        ${outcome.findings.length > 0 && html`<ul>${outcome.findings.slice(0, MOST).map((each, at) => html`<li key=${at}><${Words} text=${typeof each === "string" ? each : `Entry ${each.entry}: ${each.what}`} /></li>`)}</ul>`}`}</div></section>`;
};

const Doctor = ({ findings }) => html`<section><h2>Doctor</h2><ul class="doctor">${findings.map((one, at) => html`<li key=${at}><span class=${`health ${LOOKS[one.state] ?? ""}`}>${STATES[one.state] ?? oneLine(one.state)}</span><b>${oneLine(one.name)}</b><span><${Words} text=${one.words} /></span></li>`)}</ul></section>`;

// Counters by the names that they have for programs, as people say them.
const NAMES = {
  results_total: "Results kept", truncations_total: "Decisions about how a result is shown", truncated_results_total: "Results shown cut or replaced, now or earlier",
  chars_in_total: "Characters of all results", chars_out_total: "Characters of these results that are shown now", bytes_kept_total: "Bytes of all results",
  canonical_writes_with_truncation_marker: "Results that had been cut before Keepwhole got them", imitated_arguments_total: "Calls in which a model itself wrote Keepwhole's words for cut arguments",
  truncation_rate: "Share of results shown cut or replaced", tool_refetch_rate: "Share of calls repeated while the result was hidden",
};
const Counters = ({ counters }) => {
  const all = flat(counters).slice(0, MOST);
  return html`<section><h2>Counters</h2>${all.length ? html`<table class="counters"><tbody>${all.map(([name, value]) => html`<tr key=${name}><th scope="row" title=${oneLine(name)}>${NAMES[name] ?? oneLine(name).replaceAll("_", " ")}</th><td>${typeof value === "number" ? (name.endsWith("_rate") ? share(value) : count(value)) : oneLine(value)}</td></tr>`)}</tbody></table>` : html`<p class="quiet">Nothing counted yet.</p>`}</section>`;
};

export default () => {
  const { answer, error, again } = useAnswer("api/health");
  const list = useAnswer("api/sessions", { most: 50 });
  if (error) return html`<div class="wide"><${Broken} error=${error} again=${again} /></div>`;
  if (!answer) return html`<div class="wide"><${Skeleton} rows=${10} /></div>`;
  const { store } = answer;
  const facts = [["Record", oneLine(store.home)], ["Size", bytes(store.bytes)], ["Sessions", count(store.sessions)], ["Free on the disk", bytes(store.free)], ["Version", oneLine(answer.version)]];
  return html`<div class="wide"><h1>Health</h1>
    <dl class="facts">${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
    <div class="sides"><div><${Doctor} findings=${answer.doctor} />${list.answer && html`<${Verify} sessions=${list.answer.sessions} />`}</div><${Counters} counters=${answer.counters} /></div></div>`;
};
