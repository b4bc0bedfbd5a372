// One step: what came in as it was kept, beside what the model saw of it, and the request that carried it;
// and searching all results. Fetched once the rows of the timeline are there.
import { html, useEffect, useState } from "./vendor/preact.js";
import { path, post } from "./api.js";
import { Bar, Broken, Difference, Skeleton, bytes, clock, count, many, oneLine, say, share, short, still, to, useAnswer, visible } from "./parts.js";

const OPEN_AT_ONCE = 2;
const MOST_RESULTS = 30;
const MOST_GIVEN = 300;

const PARTS = { gap: "left out", elided: "noise, counted" };
// Words of ours and words of a tool must not be taken for each other: notices wear a frame, gaps a band.
export const Segments = ({ segments }) => html`<div class="text seen">${segments.map((each, at) => {
  if (each.part === "kept") return html`<pre key=${at}>${visible(each.text)}</pre>`;
  if (each.part === "notice") return html`<div key=${at} class="segment notice"><span class="aside">Notice</span><pre>${visible(each.text).trim()}</pre></div>`;
  const size = [each.lines ? many(each.lines, "line") : "", each.chars ? many(each.chars, "character") : ""].filter(Boolean).join(", ");
  return html`<div key=${at} class=${`segment ${each.part in PARTS ? each.part : "elided"}`}>
    <span>${PARTS[each.part] ?? oneLine(each.part)}${size ? ` · ${size}` : ""}${each.from_line ? ` · from line ${count(each.from_line)}` : ""}</span>
    ${each.text ? html`<pre>${visible(each.text)}</pre>` : ""}</div>`;
})}</div>`;

const Canonical = ({ canonical, more }) => html`<div class="text"><pre>${visible(canonical.text)}</pre>
  ${canonical.more && html`<p class="more"><a href=${more}>All ${many(canonical.lines, "line")} …</a></p>`}</div>`;

// Only what the server gives as an image is displayed; everything else is a download.
export const Media = ({ address, media }) => html`<figure class="media">
  ${media.is_displayed ? html`<a href=${`${address}/image`} target="_blank" rel="noreferrer"><img src=${`${address}/image`} alt=${`${oneLine(media.looks)}, as the tool returned it`} loading="lazy" decoding="async" width=${media.width} height=${media.height} /></a>`
    : html`<p class="quiet">Not displayed here. <a href=${`${address}/raw`} download>Download it</a></p>`}
  <figcaption>${oneLine(media.looks)} · ${bytes(media.size)} · about ${count(media.tokens)} tokens</figcaption></figure>`;

// Arguments are JSON; with a line for each key they can be read and compared.
const spread = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };
export const Arguments = ({ given }) => {
  if (!given?.shown) return given?.chars > MOST_GIVEN ? html`<details class="given"><summary>All ${many(given.chars, "character")} of its arguments</summary><div class="text"><pre>${visible(spread(given.whole))}</pre></div></details>` : "";
  return html`<div class="pair given"><section aria-label="Arguments as the model wrote them"><h4>Arguments as the model wrote them <small>${many(given.chars, "character")}</small></h4><div class="text"><pre>${visible(spread(given.whole))}</pre>${given.more && html`<p class="more">The page shows no more of them.</p>`}</div></section>
    <section aria-label="Arguments as they are sent"><h4>Arguments as they are sent <small>${many(given.shown.length, "character")}</small></h4><div class="text"><pre>${visible(spread(given.shown))}</pre></div></section></div>`;
};

const Pair = ({ name, result, upto }) => {
  const { answer, error, again } = useAnswer(path.result(name, result.trace_id), { upto });
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!answer) return html`<${Skeleton} rows=${5} />`;
  const full = to.result(name, result.trace_id);
  const { media } = result;
  return html`<div class="pair">
    <section aria-label="Canonical"><h4>Canonical <small>${media ? bytes(media.size) : `${count(result.chars)} characters · ${many(result.lines, "line")}`}</small></h4>
      ${media ? html`<${Media} address=${path.result(name, result.trace_id)} media=${media} />` : html`<${Canonical} canonical=${answer.canonical} more=${full} />`}</section>
    <section aria-label="What the model saw"><h4>What the model saw <small>${answer.shown ? `${count(answer.shown.chars)} characters` : "all of it"}</small></h4>
      ${answer.shown?.segments?.length ? html`<${Segments} segments=${answer.shown.segments} />` : html`<p class="quiet">The same, whole.</p>`}</section></div><${Arguments} given=${answer.arguments} />`;
};

const change = (result) => (result.shown ? result.shown.tokens - result.tokens : 0);
const Change = ({ name, result }) => {
  const [said, setSaid] = useState("");
  const [pinned, setPinned] = useState(result.pinned);
  const act = (what) => post(`${path.result(name, result.trace_id)}/${what}`).then(
    (answer) => {
      setPinned(what === "pin" ? true : pinned);
      setSaid(what === "pin" ? "Pinned: never cut from now on." : `Shown whole again from the next request (+${count(answer.tokens)} tokens).`);
      say("Done");
    },
    (error) => setSaid(error.message),
  );
  return html`<span class="acts"><button type="button" class="small" disabled=${pinned} onClick=${() => act("pin")}>${pinned ? "Pinned" : "Pin"}</button>
    ${result.shown && html`<button type="button" class="small" onClick=${() => act("undo")}>Show whole again</button>`} <span class="quiet" role="status">${said}</span></span>`;
};

// How a result is shown now. Where that was decided after this step, both are said.
const Rule = ({ result, then, later }) => {
  if (!result.shown) return html`<span class="quiet">whole · ${short(result.tokens)} tokens</span>`;
  return html`${later && html`<span class="quiet">here ${then ? oneLine(then.rule) : "whole"}, later</span> `}<b class="badge cut">${oneLine(result.shown.rule)}</b> ${oneLine(result.shown.strategy)} ${change(result) ? html`· <${Difference} tokens=${change(result)} unit=" tokens" />` : ""}`;
};

const Result = ({ name, result, opened, then, upto }) => {
  const later = Boolean(result.shown && then?.rule !== result.shown.rule);
  const [open, setOpen] = useState(opened);
  return html`<article class="result">
    <div class="head"><h3><a href=${to.result(name, result.trace_id)}>${oneLine(result.tool)}</a>
      ${result.is_error && html`<b class="badge bad">error</b>`}${result.exit_code ? html`<b class="badge bad">exit ${result.exit_code}</b>` : ""}</h3>
      <p class="rule"><${Rule} result=${result} then=${then} later=${later} /></p></div>
    <p class="arguments"><code>${oneLine(result.arguments)}</code></p>
    <details open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}><summary>${open ? "Hide" : "Show"} both sides</summary>${open && html`<${Pair} name=${name} result=${result} upto=${upto} />`}</details>
    <${Change} name=${name} result=${result} />
  </article>`;
};

const unusual = (value, usual, before = "") => (value && value !== usual ? `${before}${oneLine(value)}` : "");
const Usage = ({ step }) => {
  const { usage } = step;
  const facts = [["Whole", count(step.tokens_whole)], ["Sent", count(step.tokens_sent)], ["Cache foreseen", count(step.predicted)]];
  if (usage) facts.push(["Input billed", count(usage.input)], ["From cache", count(usage.cached)], ["Cache written", count(usage.written)], ["Output", count(usage.output)]);
  if (step.first_ms) facts.push(["First byte", `${count(step.first_ms)} ms`]);
  if (step.total_ms) facts.push(["All", `${count(step.total_ms)} ms`]);
  return html`<dl class="facts">${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>`;
};

const Rewritten = ({ step }) => html`<p class="note turn"><b class="badge turn">Prefix rewritten</b> ${bytes(step.rewritten.bytes)} of what had been sent before changed: ${count(step.rewritten.tokens)} tokens had to be read anew instead of coming from the provider's cache.</p>`;

const Shadow = ({ step }) => html`<p class="note"><b class="badge">Shadow</b> Everything was sent as it came. With mode: on, ${many(step.would_edit, "result")} would be shown otherwise, and ${count(step.would_send)} of ${count(step.tokens_sent)} tokens sent.</p>`;

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
  return html`<li><p><b class="badge cut">${oneLine(first.rule)}</b> ${oneLine(first.strategy)} · ${many(group.length, "result")} · <${Difference} tokens=${-saved} unit=" tokens" /></p>
    ${first.why && html`<p class="quiet">${visible(first.why)}</p>`}
    <details><summary>Which</summary><ul>${group.map((each, at) => html`<li key=${at}><a href=${to.result(name, each.trace_id)}>${oneLine(each.artifact_id || each.trace_id)}</a> <small>${short(each.saved)} tokens</small></li>`)}</ul></details></li>`;
};
const Decisions = ({ name, step }) => html`<section class="decisions"><h3>Decided in this request</h3>
  <ul>${batched(step.decisions).map((group, at) => html`<${Batch} key=${at} name=${name} group=${group} />`)}</ul>
  ${step.decisions_more ? html`<p class="quiet">and ${many(step.decisions_more, "more decision")}</p>` : ""}</section>`;

export const Search = still(({ name }) => {
  const [query, setQuery] = useState("");
  const [asked, setAsked] = useState("");
  useEffect(() => {
    const timer = setTimeout(() => setAsked(query.trim()), 200);
    return () => clearTimeout(timer);
  }, [query]);
  const { answer, error } = useAnswer(asked.length > 1 && `${path.session(name)}/search`, { query: asked, most: 20 });
  return html`<input type="search" data-search placeholder="Search in all results  /" aria-label="Search in all results" value=${query} onInput=${(event) => setQuery(event.target.value)} />
    ${asked.length > 1 && html`<ul class="found" aria-label="Found">
      ${error && html`<li class="quiet">${error.message}</li>`}
      ${answer?.found.map((each, at) => html`<li key=${at}><a href=${to.result(name, each.trace_id, each.line)}><small>${each.tool ? `${oneLine(each.tool)}, ` : ""}line ${count(each.line)}</small> <code>${oneLine(each.text).slice(0, 200)}</code></a></li>`)}
      ${answer && !answer.found.length && html`<li class="quiet">Nothing found.</li>`}
      ${!answer && !error && html`<li class="quiet">Searching …</li>`}</ul>`}`;
});

export const Step = still(({ step, name, total }) => {
  const less = step.tokens_whole ? 1 - step.tokens_sent / step.tokens_whole : 0;
  const results = (step.results ?? []).slice(0, MOST_RESULTS);
  const more = (step.results?.length ?? 0) - results.length + (step.results_more ?? 0);
  return html`<div class="step">
    <div class="title"><h2>Step ${count(step.index + 1)} <small>of ${count(total)}</small></h2>
      <p class="quiet">${[clock(step.at), oneLine(step.model || ""), step.policy && `policy ${oneLine(step.policy)}`, unusual(step.mode, "on", "mode "), unusual(step.purpose, "turn"), unusual(step.branch, "main", "branch "), unusual(step.outcome, "complete"), step.rounds && many(step.rounds, "hidden recall")].filter(Boolean).join(" · ")}</p></div>
    ${step.tokens_whole ? html`<${Bar} whole=${step.tokens_whole} part=${step.tokens_sent} label=${`${share(1 - less)} of the whole was sent`} />` : ""}
    <${Usage} step=${step} />
    ${step.rewritten && html`<${Rewritten} step=${step} />`}
    ${Number.isInteger(step.would_send) && html`<${Shadow} step=${step} />`}
    ${step.id && html`<p class="ways"><a class="button" href=${to.request(name, step.id)}>The request as it was sent${step.size ? ` (${bytes(step.size)})` : ""}, and its response</a></p>`}
    ${step.decisions?.length ? html`<${Decisions} name=${name} step=${step} />` : ""}
    ${results.length ? html`<h3 class="new">${results.length === 1 ? "New in this step" : `${results.length} results new in this step`}</h3>` : html`<p class="quiet">No tool result was new in this step.</p>`}
    ${results.map((result, at) => html`<${Result} key=${result.trace_id} name=${name} result=${result} opened=${at < OPEN_AT_ONCE} upto=${step.seq} then=${step.decisions?.findLast((each) => each.trace_id === result.trace_id)} />`)}
    ${more > 0 && html`<p><a href=${to.results(name)}>${many(more, "more result")} in the list of results</a></p>`}
  </div>`;
});
