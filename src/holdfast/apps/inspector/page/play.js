// What another policy would have done to this session, beside what was done.
import { html, useState } from "./vendor/preact.js";
import { path, post } from "./api.js";
import { Broken, Copy, Skeleton, Words, cost, count, oneLine, share, short, useAnswer, visible } from "./parts.js";

const Field = ({ one, value, change }) => {
  const id = `setting-${one.key}`;
  const given = (event) => change(one.key, event.target.value);
  return html`<div class="field"><label for=${id}>${oneLine(one.key)}</label>
    ${one.kind === "choice" ? html`<select id=${id} value=${value ?? ""} onChange=${given} aria-describedby=${`${id}-about`}><option value="">${oneLine(one.default)} (default)</option>${(one.choices ?? []).filter((each) => String(each) !== String(one.default)).map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select>`
      : html`<input id=${id} type="number" step="any" placeholder=${oneLine(one.default ?? "")} value=${value ?? ""} onInput=${given} aria-describedby=${`${id}-about`} />`}
    <small id=${`${id}-about`}>${visible(one.explained)}</small></div>`;
};

const typed = (settings, known) => Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== "").map(([key, value]) => {
  const one = known.find((each) => each.key === key);
  return [key, one?.kind === "number" ? Number(value) : value];
}));

const FIGURES = [
  ["tokens", "Tokens sent", (value) => short(value), false],
  ["cost", "Cost with the cache", (value, unit) => cost(value, unit), false],
  ["evidence", "Evidence in view", (value) => share(value), true],
  ["compaction_step", "First compaction", (value) => (value === null || value === undefined ? "never" : `step ${count(value + 1)}`), true],
];
// Evidence is a share of all of it; what never came is as late as can be.
const sized = (name, value, most) => {
  if (name === "compaction_step" && (value === null || value === undefined)) return 100;
  return Math.max(((value ?? 0) / (name === "evidence" ? 1 : most || 1)) * 100, value ? 1 : 0);
};
const changed = (name, before, after) => {
  if (name === "compaction_step" || !Number.isFinite(before) || !Number.isFinite(after)) return "";
  const by = name === "evidence" ? (after - before) * 100 : before ? (after / before - 1) * 100 : 0;
  return `${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(0)} ${name === "evidence" ? "points" : "%"}`;
};
const Compared = ({ side, name, value, most, words }) => html`<div class="compared"><span>${side}</span><svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="room" width="100" height="8" /><rect class=${side} width=${sized(name, value, most)} height="8" /></svg><b>${words}</b></div>`;
const Figure = ({ name, label, words, before, after, more, unit }) => {
  const most = Math.max(before ?? 0, after ?? 0);
  const better = before === after ? "" : (after < before) !== more ? "better" : "worse";
  return html`<section class="figure"><h3>${label} <small class=${better}>${changed(name, before, after)}</small></h3>
    <${Compared} side="before" name=${name} value=${before} most=${most} words=${words(before, unit)} /><${Compared} side="after" name=${name} value=${after} most=${most} words=${words(after, unit)} /></section>`;
};

const Outcome = ({ outcome }) => html`<div class="outcome" aria-live="polite"><p class="quiet">Before: ${oneLine(outcome.before.policy)} · after: ${oneLine(outcome.after.policy)}</p>
  <div class="figures">${FIGURES.map(([name, label, words, more]) => html`<${Figure} key=${name} name=${name} label=${label} words=${words} more=${more} before=${outcome.before[name]} after=${outcome.after[name]} unit=${outcome.cost_unit} />`)}</div>
  ${outcome.notes?.map((note, at) => html`<p key=${at} class="note"><${Words} text=${note} /></p>`)}
  ${outcome.yaml && html`<div class="head"><h3>Settings that do this</h3><${Copy} text=${outcome.yaml} label="Copy YAML" /></div><pre class="body" tabindex="0" aria-label="Settings as YAML">${visible(outcome.yaml)}</pre>`}</div>`;

const Form = ({ known, run, busy }) => {
  const [policy, setPolicy] = useState(known.policies.includes("auto") ? "auto" : known.policies[0]);
  const [preset, setPreset] = useState("");
  const [settings, setSettings] = useState({});
  const own = known.settings.filter((one) => !one.key.includes(".") || one.key.startsWith(`${policy}.`));
  const change = (key, value) => setSettings((old) => ({ ...old, [key]: value }));
  const submit = (event) => {
    event.preventDefault();
    const chosen = Object.fromEntries(Object.entries(settings).filter(([key]) => own.some((one) => one.key === key)));
    run({ policy, ...(preset ? { preset } : {}), settings: typed(chosen, known.settings) });
  };
  return html`<form class="settings" onSubmit=${submit}>
    <div class="field"><label for="policy">Policy</label><select id="policy" value=${policy} onChange=${(event) => setPolicy(event.target.value)}>${known.policies.map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select></div>
    <div class="field"><label for="preset">Preset</label><select id="preset" value=${preset} onChange=${(event) => setPreset(event.target.value)}><option value="">none</option>${known.presets.map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select></div>
    ${own.length > 0 && html`<fieldset><legend>Settings of ${oneLine(policy)}</legend>${own.map((one) => html`<${Field} key=${one.key} one=${one} value=${settings[one.key]} change=${change} />`)}</fieldset>`}
    <p><button type="submit" class="main" disabled=${busy}>${busy ? "Replaying …" : "Replay this session"}</button></p></form>`;
};

export default ({ route }) => {
  const { answer, error, again } = useAnswer("api/policies");
  const [state, setState] = useState({});
  const run = (choice) => {
    setState((old) => ({ ...old, busy: true, error: null }));
    post(`${path.session(route.name)}/play`, choice).then((outcome) => setState({ outcome }), (trouble) => setState({ error: trouble }));
  };
  return html`<div class="wide play"><h1>Policy play</h1><p class="lead">Change the settings; this session's own record is replayed with them. Nothing on record changes.</p>
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${8} />` : html`<div class="sides"><${Form} known=${answer} run=${run} busy=${state.busy} />
      <div aria-busy=${Boolean(state.busy)} class=${state.busy ? "stale" : ""}>${state.error ? html`<${Broken} error=${state.error} />` : state.outcome ? html`<${Outcome} outcome=${state.outcome} />`
        : state.busy ? html`<${Skeleton} rows=${8} />` : html`<p class="quiet hint">Tokens, cost with the provider's cache, evidence and the first compaction show here, before and after.</p>`}</div></div>`}</div>`;
};
