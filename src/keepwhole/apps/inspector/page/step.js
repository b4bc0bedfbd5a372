// One step as a story: what came in, what the model answered, what followed; then what was decided and what it cost.
// Fetched once the rows of the timeline are there.
import { html, useState } from "./vendor/preact.js";
import { isSaved, path, post } from "./api.js";
import { Bar, Broken, Difference, Skeleton, bytes, changed, clock, count, priced, many, oneLine, say, share, short, still, subject, to, useAnswer, visible } from "./parts.js";
import { Pair } from "./pair.js";
import { Message, Part } from "./words.js";

export { Search } from "./search.js";

const OPEN_AT_ONCE = 2;
const MOST_RESULTS = 30;

const about = (each) => each.argument ?? subject(each.arguments);
const change = (result) => (result.shown ? result.shown.tokens - result.tokens : 0);
const undone = (answer) => (answer.changed === false ? "It is already shown in full."
  : `Shown in full again from the next request: +${count(answer.tokens)} tokens${answer.reread ? `, and ${count(answer.reread)} after it are read again` : ""}${answer.cost ? ` (${oneLine(answer.cost)})` : ""}.`);
const Change = ({ name, result }) => {
  const [said, setSaid] = useState("");
  const [pinned, setPinned] = useState(result.pinned);
  const [whole, setWhole] = useState(!result.shown);
  const act = (what) => post(`${path.result(name, result.trace_id)}/${what}`).then(
    (answer) => {
      if (what === "pin") setPinned(true);
      setWhole(true);
      setSaid(what === "pin" ? "Pinned: never cut from now on." : undone(answer));
      say("Done");
    },
    (error) => setSaid(error.message),
  );
  if (isSaved) return "";
  return html`<span class="acts"><button type="button" class="small" disabled=${pinned} onClick=${() => act("pin")}>${pinned ? "Pinned" : "Pin"}</button>
    ${!whole && html`<button type="button" class="small" onClick=${() => act("undo")}>Show in full again</button>`} <span class="quiet" role="status">${said}</span></span>`;
};

// How a result is shown now. Where that was decided after this step, both are said.
const Rule = ({ result, then, later }) => {
  if (!result.shown) return html`<span class="quiet">in full · ≈ ${short(result.tokens)} tokens</span>`;
  return html`${later && html`<span class="quiet">${then ? oneLine(then.rule) : "in full"} here, now</span> `}<b class="badge cut">${oneLine(result.shown.rule)}</b> ${oneLine(result.shown.strategy)} ${change(result) ? html`· ≈ <${Difference} tokens=${change(result)} unit=" tokens" />` : ""}`;
};

const Result = ({ name, result, opened, then, upto, called }) => {
  const later = Boolean(result.shown && then?.rule !== result.shown.rule);
  const [open, setOpen] = useState(opened);
  return html`<article class="result">
    <div class="head"><h3><a href=${to.result(name, result.trace_id)}>${oneLine(result.tool)}</a>
      ${result.is_error && html`<b class="badge bad">error</b>`}${result.exit_code ? html`<b class="badge bad">exit ${result.exit_code}</b>` : ""}</h3>
      <p class="rule"><${Rule} result=${result} then=${then} later=${later} /></p></div>
    ${!called && html`<p class="arguments"><code>${oneLine(about(result))}</code></p>`}
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>${open ? "Hide" : "Show"} it${result.shown ? " and what the model saw" : ""}</summary>${open && html`<${Pair} name=${name} result=${result} upto=${upto} />`}</details>
    <${Change} name=${name} result=${result} />
  </article>`;
};

const unusual = (value, usual, before = "") => (value && value !== usual ? `${before}${oneLine(value)}` : "");
const known = (facts) => facts.filter(([, value]) => value !== null && value !== undefined);
const Facts = ({ facts }) => html`<dl class="facts">${known(facts).map(([term, value, why]) => html`<div key=${term} title=${why}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
const numbered = (value) => (value === null || value === undefined ? null : count(value));
const timed = (value) => (value === null || value === undefined ? null : value < 10_000 ? `${count(value)} ms` : `${(value / 1000).toFixed(1)} s`);

const PHASES = [["queue", "Waiting"], ["keepwhole", "Keepwhole"], ["first", "Provider, to the first byte"], ["stream", "Stream"]];
// One clock: the four phases add up to the total.
const Clock = ({ of }) => {
  const phases = PHASES.filter(([key]) => Number.isFinite(of[key]));
  let at = 0;
  return html`<div class="clock"><svg viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">${phases.map(([key]) => {
    const x = (at / Math.max(of.total, 1)) * 1000;
    at += of[key];
    return html`<rect key=${key} class=${`phase ${key}`} x=${x} width=${(of[key] / Math.max(of.total, 1)) * 1000} height="8" />`;
  })}</svg><p>${phases.map(([key, label]) => html`<span key=${key}><i class=${`swatch phase ${key}`}></i>${label} <b>${timed(of[key])}</b></span>`)}<span>Total <b>${timed(of.total)}</b></span></p></div>`;
};

// What is left of the input that was billed; with what came from the cache and was written to it, it is all of that.
const plain = ({ input, cached, written }) => (typeof cached !== "number" && typeof written !== "number" ? null : numbered(input - (cached ?? 0) - (written ?? 0)));
const Numbers = ({ step }) => {
  const { usage, cost } = step;
  const facts = [["Everything", numbered(step.tokens_whole), "Tokens of what the client wanted to send, estimated"], ["Sent", numbered(step.tokens_sent), usage ? "Input tokens, as the provider billed them" : "Input tokens, estimated: no bill was recorded"]];
  if (usage) facts.push(["From cache", numbered(usage.cached), "Of those sent"], ["Cache written", numbered(usage.written), "Of those sent"], ["Uncached", plain(usage), "Of those sent: neither from the cache nor written to it"], ["Output", numbered(usage.output)]);
  facts.push(["Expected from cache", numbered(step.predicted)]);
  if (cost) facts.push([priced(cost)[0], cost.paid], [priced(cost)[1], cost.off, "The same client with mode: off"], [cost.is_loss ? "Lost" : "Saved", html`<span class=${cost.is_loss ? "loss" : "gain"}>${changed(cost)}</span>`]);
  if (!step.clock && step.total_ms >= step.first_ms) facts.push(["First byte", timed(step.first_ms)], ["Total", timed(step.total_ms)]);
  const sent = step.tokens_whole ? step.tokens_sent / step.tokens_whole : null;
  if (!known(facts).length) return "";
  return html`<section class="numbers"><h3>Tokens, cost and time</h3>
    ${sent !== null && html`<${Bar} whole=${step.tokens_whole} part=${step.tokens_sent} label=${`${share(sent)} of everything was sent`} />`}
    <${Facts} facts=${facts} />${step.clock && html`<${Clock} of=${step.clock} />`}</section>`;
};

const Rewritten = ({ step }) => html`<p class="note turn"><b class="badge turn">Prefix rewritten</b> ${bytes(step.rewritten.bytes)} of what had been sent before changed: ${count(step.rewritten.tokens)} tokens had to be read again instead of coming from the provider's cache.</p>`;

const Shadow = ({ step }) => html`<p class="note"><b class="badge">Shadow</b> Everything was sent unchanged. With mode: on, ${many(step.would_edit, "result")} would be changed, and ${count(step.would_send)} of ${count(step.tokens_sent)} tokens sent.</p>`;

// A batch decides much the same of many results: said once, with the results behind it.
const batched = (decisions) => {
  const groups = new Map();
  for (const each of decisions) {
    const key = JSON.stringify([each.rule, each.strategy]);
    groups.set(key, [...(groups.get(key) ?? []), each]);
  }
  return [...groups.values()];
};
const Batch = ({ name, group }) => {
  const [first] = group;
  const saved = group.reduce((sum, each) => sum + each.saved, 0);
  return html`<li><p><b class="badge cut">${oneLine(first.rule)}</b> ${oneLine(first.strategy)} · ${many(group.length, "result")}${saved ? html` · ≈ <${Difference} tokens=${-saved} unit=" tokens" />` : ""}</p>
    ${first.why && html`<p class="quiet">${visible(first.why)}</p>`}
    <details><summary>Which results</summary><ul>${group.map((each, at) => html`<li key=${at}><a href=${to.result(name, each.trace_id)} title=${oneLine(each.artifact_id || each.trace_id)}>${each.tool ? html`${oneLine(each.tool)} <code>${oneLine(about(each)).slice(0, 120)}</code>` : oneLine(each.artifact_id || each.trace_id)}</a> ${each.saved ? html`<small>≈ <${Difference} tokens=${-each.saved} unit=" tokens" /></small>` : ""}</li>`)}</ul></details></li>`;
};
const Decisions = ({ name, step }) => html`<section class="decisions"><h3>What Keepwhole changed</h3>
  <ul>${batched(step.decisions).map((group, at) => html`<${Batch} key=${at} name=${name} group=${group} />`)}</ul>
  ${step.decisions_more ? html`<p class="quiet">and ${many(step.decisions_more, "more decision")}</p>` : ""}</section>`;

// What the model answered: its words and calls, or why there are none.
const Answer = ({ name, answer }) => {
  if (!answer) return html`<p class="quiet">No answer was recorded.</p>`;
  if (answer.error) return html`<p class="note bad">${visible(answer.error)}</p>`;
  const parts = answer.messages.flatMap((each) => each.parts);
  if (!answer.is_readable) return html`<p class="quiet">${answer.outcome === "complete" ? "The answer cannot be read as messages; the request's page has its bytes." : `The answer is ${oneLine(answer.outcome)}: it broke off before its end.`}</p>`;
  return parts.length ? parts.map((part, at) => html`<${Part} key=${at} name=${name} part=${part} />`) : html`<p class="quiet">The model said nothing.</p>`;
};

const Next = ({ name, next }) => {
  if (!next) return html`<p class="quiet">Nothing yet: this is the newest request.</p>`;
  return html`<ul class="next">${next.results.map((each, at) => html`<li key=${at}><b>${oneLine(each.tool)}</b> <code>${oneLine(about(each)).slice(0, 200)}</code> ${each.is_error ? html`<b class="badge bad">error</b>` : html`<small>returned ${many(each.chars, "character")}</small>`}</li>`)}</ul>
    ${next.index !== null && html`<p><a href=${to.step(name, next.index)}>Step ${count(next.number ?? next.index + 1)} →</a></p>`}`;
};

// The words of a step in their order; each result stands where it came in, with both of its sides.
const Story = ({ name, step, drawn }) => {
  const { answer: story, error, again } = useAnswer(step.id && `${path.request(name, step.id)}/story`);
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!story) return html`<${Skeleton} rows=${6} />`;
  const told = new Set();
  const shown = (message) => message.parts.filter((part) => part.kind !== "result").length
    ? html`<${Message} key=${`message ${message.index}`} name=${name} message=${{ ...message, parts: message.parts.filter((part) => part.kind !== "result") }} />` : "";
  const results = (message) => message.parts.map((part) => {
    if (part.kind !== "result" || told.has(part.trace_id)) return "";
    told.add(part.trace_id);
    return drawn(part.trace_id, true) ?? html`<li class="message tool" key=${part.trace_id}><${Part} name=${name} part=${part} /></li>`;
  });
  const body = story.messages.map((message) => [shown(message), results(message)]);
  const rest = (step.results ?? []).filter((each) => !told.has(each.trace_id)).map((each) => drawn(each.trace_id));
  return html`${story.skipped > 0 && html`<p class="quiet">${many(story.skipped, "earlier message")} of this request: <a href=${to.request(name, step.id)}>all messages</a></p>`}
    <ol class="story">${body}${rest}</ol>
    <section class="answer" aria-label="What the model answered"><h3>The model answered</h3><${Answer} name=${name} answer=${story.answer} /></section>
    <section class="then" aria-label="What happened next"><h3>Then</h3><${Next} name=${name} next=${story.next} /></section>`;
};

// Words of an imported log, which has no requests; each in its place among the results.
const Said = ({ name, each, at }) => html`<${Message} name=${name} message=${{ role: each.role, index: at, state: "", tokens: Math.round(each.text.length / 4), parts: [{ kind: "text", text: each.text, chars: each.text.length, more: each.more }] }} />`;
const inOrder = (step, results) => [...(step.said ?? []), ...results].sort((one, other) => (one.seq ?? 0) - (other.seq ?? 0));

const heading = (step) => [clock(step.at), oneLine(step.model || ""), step.policy && `policy ${oneLine(step.policy)}`, unusual(step.mode, "on", "mode "), unusual(step.purpose, "turn"), unusual(step.branch, "main", "branch "), unusual(step.outcome, "complete"), step.rounds && many(step.rounds, "hidden recall")].filter(Boolean).join(" · ");

export const Step = still(({ step, name, total }) => {
  const results = (step.results ?? []).slice(0, MOST_RESULTS);
  const more = (step.results?.length ?? 0) - results.length + (step.results_more ?? 0);
  const drawn = (trace, called) => {
    const at = results.findIndex((each) => each.trace_id === trace);
    return at < 0 ? undefined : html`<li key=${trace}><${Result} name=${name} result=${results[at]} opened=${at < OPEN_AT_ONCE} upto=${step.seq} called=${called} then=${step.decisions?.findLast((each) => each.trace_id === trace)} /></li>`;
  };
  return html`<div class="step">
    <div class="title"><h2>Step ${count(step.number ?? step.index + 1)} <small>of ${count(total)}</small></h2>
      <p class="quiet">${heading(step)}</p>
      ${step.id && html`<a class="button small" href=${to.request(name, step.id)}>The whole request${step.size ? html` <small>${bytes(step.size)}</small>` : ""}</a>`}</div>
    ${step.rewritten && html`<${Rewritten} step=${step} />`}
    ${Number.isInteger(step.would_send) && html`<${Shadow} step=${step} />`}
    ${step.id ? html`<${Story} name=${name} step=${step} drawn=${drawn} />`
      : html`<ol class="story">${inOrder(step, results).map((each, at) => (each.trace_id ? drawn(each.trace_id) : html`<${Said} key=${at} name=${name} each=${each} at=${at} />`))}</ol>`}
    ${more > 0 && html`<p><a href=${to.results(name)}>${many(more, "more result")} in the list of results</a></p>`}
    ${step.decisions?.length ? html`<${Decisions} name=${name} step=${step} />` : ""}
    <${Numbers} step=${step} />
  </div>`;
});
