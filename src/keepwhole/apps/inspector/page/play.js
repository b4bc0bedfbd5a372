// What another policy would have done to this session, beside what was done.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { path, postLines } from "./api.js";
import { Broken, Copy, Skeleton, Words, count, money, oneLine, share, short, useAnswer, visible } from "./parts.js";

// Settings of one map share their words: one explanation, an input for each member.
const grouped = (settings) => {
  const groups = new Map();
  for (const one of settings) {
    const name = one.key.split(".").slice(0, 2).join(".");
    groups.set(name, [...(groups.get(name) ?? []), one]);
  }
  return [...groups];
};
const Input = ({ one, id, value, change }) => {
  const given = (event) => change(one.key, event.target.value);
  if (one.kind !== "choice") return html`<input id=${id} type="number" step="any" placeholder=${oneLine(one.default ?? "")} value=${value ?? ""} onInput=${given} aria-describedby=${`${id}-about`} />`;
  return html`<select id=${id} value=${value ?? ""} onChange=${given} aria-describedby=${`${id}-about`}><option value="">${oneLine(one.default)} (default)</option>
    ${(one.choices ?? []).filter((each) => String(each) !== String(one.default)).map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select>`;
};
const Field = ({ one, label, value, change, words = true }) => {
  const id = `setting-${one.key}`;
  return html`<div class="field"><label for=${id}>${oneLine(label)}</label><${Input} one=${one} id=${id} value=${value} change=${change} />
    <small id=${`${id}-about`} class=${words ? "" : "aside"}><${Words} text=${one.explained} /></small></div>`;
};
const bare = (key) => key.slice(key.indexOf(".") + 1).replaceAll("_", " ");
const Group = ({ name, members, settings, change }) => {
  if (members.length === 1) return html`<${Field} one=${members[0]} label=${bare(name)} value=${settings[members[0].key]} change=${change} />`;
  return html`<fieldset class="group"><legend>${oneLine(bare(name))}</legend><div>${members.map((one) => html`<${Field} key=${one.key} one=${one} label=${one.key.split(".").slice(2).join(".")} value=${settings[one.key]} change=${change} words=${false} />`)}</div>
    <small><${Words} text=${members[0].explained} /></small></fieldset>`;
};

const typed = (settings, known) => Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== "").map(([key, value]) => {
  const one = known.find((each) => each.key === key);
  return [key, one?.kind === "number" ? Number(value) : value];
}));

const FIGURES = [
  ["tokens", "Tokens sent", (value) => short(value), false],
  ["dollars", "Cost with the cache", money, false],
  ["cost", "Cost with the cache, as a share of sending everything", (value) => share(value), false],
  ["evidence", "Evidence kept", (value) => share(value), true],
  ["rewrites", "Prefix rewrites", (value) => count(value), false],
  ["compaction_step", "First compaction", (value) => (value === null || value === undefined ? "never" : `step ${count(value + 1)}`), true],
];
// Evidence is a share of all of it; what never came is as late as can be.
const sized = (name, value, most) => {
  if (name === "compaction_step" && (value === null || value === undefined)) return 100;
  return Math.max(((value ?? 0) / (name === "evidence" ? 1 : most || 1)) * 100, value ? 1 : 0);
};
const changed = (name, before, after) => {
  if (["compaction_step", "rewrites"].includes(name) || !Number.isFinite(before) || !Number.isFinite(after)) return "";
  const by = name === "evidence" ? (after - before) * 100 : before ? (after / before - 1) * 100 : 0;
  if (Math.abs(by) < 0.5) return "the same";
  return `${by < 0 ? "−" : "+"}${Math.abs(by).toFixed(0)} ${name !== "evidence" ? "%" : Math.abs(by).toFixed(0) === "1" ? "point" : "points"}`;
};
const Compared = ({ side, name, value, most, words }) => html`<div class="compared"><span>${side}</span>${name === "compaction_step" && !Number.isFinite(value) ? html`<span></span>` : html`<svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true"><rect class="room" width="100" height="8" /><rect class=${side} width=${sized(name, value, most)} height="8" /></svg>`}<b>${words}</b></div>`;
const Figure = ({ name, label, words, before, after, more }) => {
  const most = Math.max(before ?? 0, after ?? 0);
  const better = before === after ? "" : (after < before) !== more ? "better" : "worse";
  return html`<section class="figure"><h3>${label} <small class=${better}>${changed(name, before, after)}</small></h3>
    <${Compared} side="before" name=${name} value=${before} most=${most} words=${words(before)} /><${Compared} side="after" name=${name} value=${after} most=${most} words=${words(after)} /></section>`;
};

const Outcome = ({ outcome }) => html`<div class="outcome" aria-live="polite"><p class="quiet">Before: ${oneLine(outcome.before.name ?? outcome.before.policy)} · after: ${oneLine(outcome.after.name ?? outcome.after.policy)}</p>
  <div class="figures">${FIGURES.filter(([name]) => outcome.before[name] !== undefined && !(name === (outcome.before.dollars === null ? "dollars" : "cost"))).map(([name, label, words, more]) => html`<${Figure} key=${name} name=${name} label=${label} words=${words} more=${more} before=${outcome.before[name]} after=${outcome.after[name]} />`)}</div>
  ${outcome.notes?.map((note, at) => html`<p key=${at} class="note"><${Words} text=${note} /></p>`)}
  ${outcome.yaml && html`<div class="head"><h3>Settings that do this</h3><${Copy} text=${outcome.yaml} label="Copy YAML" /></div><pre class="body" tabindex="0" aria-label="Settings as YAML">${visible(outcome.yaml)}</pre>`}</div>`;

const Form = ({ known, run, busy }) => {
  const [policy, setPolicy] = useState(known.now?.policy ?? known.policies[0]);
  const [preset, setPreset] = useState("");
  const [settings, setSettings] = useState({});
  const own = known.settings.filter((one) => one.key.startsWith(`${policy}.`));
  const change = (key, value) => setSettings((old) => ({ ...old, [key]: value }));
  const submit = (event) => {
    event.preventDefault();
    const chosen = Object.fromEntries(Object.entries(settings).filter(([key]) => own.some((one) => one.key === key)));
    run({ policy, ...(preset ? { preset } : {}), settings: typed(chosen, known.settings) });
  };
  return html`<form class="settings" onSubmit=${submit}>
    <div class="field"><label for="policy">Policy</label><select id="policy" value=${policy} onChange=${(event) => setPolicy(event.target.value)}>${[...new Set(known.policies)].map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select></div>
    <div class="field"><label for="preset">Preset</label><select id="preset" value=${preset} onChange=${(event) => setPreset(event.target.value)}><option value="">${known.now?.preset ? `${oneLine(known.now.preset)} (now)` : "unchanged"}</option>${known.presets.filter((each) => each !== known.now?.preset).map((each) => html`<option key=${each} value=${each}>${oneLine(each)}</option>`)}</select></div>
    <p><button type="submit" class="main" disabled=${busy}>${busy ? "Replaying …" : "Replay this session"}</button></p>
    ${own.length > 0 && html`<fieldset><legend>Settings of ${oneLine(policy)}</legend>${grouped(own).map(([name, members]) => html`<${Group} key=${name} name=${name} members=${members} settings=${settings} change=${change} />`)}</fieldset>`}</form>`;
};

const Working = ({ state, stop }) => html`<div class="working" role="status"><p>${oneLine(state.words ?? "Starting")} …</p><progress max="1" value=${state.share ?? 0} aria-label="Replayed"></progress> <button type="button" class="small" onClick=${stop}>Stop</button></div>`;

export default ({ route }) => {
  const { answer, error, again } = useAnswer("api/policies");
  const [state, setState] = useState({});
  const stopping = useRef(null);
  const stop = () => { stopping.current?.abort(); setState((old) => ({ outcome: old.outcome, stopped: true })); };
  useEffect(() => () => stopping.current?.abort(), []);
  const run = (choice) => {
    stopping.current = new AbortController();
    setState((old) => ({ outcome: old.outcome, busy: true }));
    postLines(`${path.session(route.name)}/play`, choice, ({ share: done, words }) => setState((old) => ({ ...old, share: done, words })), stopping.current.signal).then(
      (outcome) => setState({ outcome }),
      (trouble) => trouble.name !== "AbortError" && setState({ error: trouble }),
    );
  };
  return html`<div class="wide play"><h1>What if?</h1><p class="lead">Change the settings; this session's own record is replayed with them. Nothing in the record changes, and no model is asked. Both columns are replays, the first with the settings as they are now, so what was really paid may differ.</p>
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${8} />` : html`<div class="sides"><${Form} known=${answer} run=${run} busy=${state.busy} />
      <div aria-busy=${Boolean(state.busy)}>${state.busy && html`<${Working} state=${state} stop=${stop} />`}${state.stopped && html`<p class="quiet" role="status">Stopped.</p>`}
        ${state.error ? html`<${Broken} error=${state.error} />` : state.outcome ? html`<div class=${state.busy ? "stale" : ""}><${Outcome} outcome=${state.outcome} /></div>`
        : state.busy ? html`<${Skeleton} rows=${8} />` : html`<p class="quiet hint">Tokens, cost with the provider's cache, evidence and the first compaction show here, before and after.</p>`}</div></div>`}</div>`;
};
