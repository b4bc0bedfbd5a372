// What a tool returned beside what the model saw of it: the parts that were left out are shaded on both sides.
import { html, useRef, useState } from "./vendor/preact.js";
import { path } from "./api.js";
import { Broken, Skeleton, bytes, count, many, oneLine, to, useAnswer, visible } from "./parts.js";

const MOST_GIVEN = 300;
const PARTS = { gap: "left out", elided: "noise, counted" };
const sized = (each) => [each.lines ? many(each.lines, "line") : "", each.chars ? many(each.chars, "character") : ""].filter(Boolean).join(", ");
const from = (each) => (each.from_line ? ` · from line ${count(each.from_line)}` : "");

// Words of ours and words of a tool must not be taken for each other: notices wear a frame, gaps a band.
export const Segments = ({ segments, pane }) => html`<div class="text seen" tabindex="0" role="group" aria-label="What the model saw, its text" ref=${pane}>${segments.map((each, at) => {
  if (each.part === "kept") return html`<pre key=${at}>${visible(each.text)}</pre>`;
  if (each.part === "notice") return html`<div key=${at} class="segment notice"><span class="aside">Notice</span><pre>${visible(each.text).trim()}</pre></div>`;
  return html`<div key=${at} class=${`segment ${each.part in PARTS ? each.part : "elided"}`}>
    <span>${PARTS[each.part] ?? oneLine(each.part)}${sized(each) ? ` · ${sized(each)}` : ""}${from(each)}</span>
    ${each.text ? html`<pre>${visible(each.text)}</pre>` : ""}</div>`;
})}</div>`;

// The original in order; what the model did not see is shaded.
const Original = ({ canonical, more, pane }) => html`<div class="text" tabindex="0" role="group" aria-label="What the tool returned, its text" ref=${pane}>
  ${canonical.segments ? canonical.segments.map((each, at) => (each.part === "kept" ? html`<pre key=${at}>${visible(each.text)}</pre>`
    : html`<div key=${at} class=${`segment unseen ${each.part}`}><span class="aside">${PARTS[each.part]}${from(each)}</span><pre>${visible(each.text)}</pre>
      ${each.more && html`<p class="more">… ${many(each.chars - each.text.length, "character")} more that the model did not see</p>`}</div>`))
    : html`<pre>${visible(canonical.text)}</pre>`}
  ${canonical.more && html`<p class="more"><a href=${more}>All ${many(canonical.lines, "line")} …</a></p>`}</div>`;

// Only what the server gives as an image is displayed; everything else is a download.
export const Media = ({ address, media }) => html`<figure class="media">
  ${media.is_displayed ? html`<a href=${media.data ?? `${address}/image`} target="_blank" rel="noreferrer"><img src=${media.data ?? `${address}/image`} alt=${`${oneLine(media.looks)}, as the tool returned it`} loading="lazy" decoding="async" width=${media.width} height=${media.height} /></a>`
    : html`<p class="quiet">Not displayed here. <a href=${`${address}/raw`} download>Download it</a></p>`}
  <figcaption>${oneLine(media.looks)} · ${bytes(media.size)} · about ${count(media.tokens)} tokens</figcaption></figure>`;

// Arguments are JSON; with a line for each key they can be read and compared.
export const spread = (text) => { try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; } };
const Given = ({ label, text, more }) => html`<section aria-label=${label}><h4>${label} <small>${many(text.length, "character")}</small></h4>
  <div class="text" tabindex="0" role="group" aria-label=${`${label}, as text`}><pre>${visible(spread(text))}</pre>${more && html`<p class="more">This page shows no more of them.</p>`}</div></section>`;
export const Arguments = ({ given }) => {
  if (given?.shown) return html`<div class="pair given"><${Given} label="Arguments as the model wrote them" text=${given.whole} more=${given.more} /><${Given} label="Arguments as they are sent" text=${given.shown} /></div>`;
  if (!(given?.chars > MOST_GIVEN)) return "";
  return html`<details class="given"><summary>All ${many(given.chars, "character")} of its arguments</summary><div class="text" tabindex="0" role="group" aria-label="Arguments"><pre>${visible(spread(given.whole))}</pre></div></details>`;
};

// Both panes go to the same gap, so that what was left out is beside what stands in its place.
const useGaps = (known) => {
  const panes = [useRef(null), useRef(null)];
  const [at, setAt] = useState(-1);
  const total = known?.segments?.filter((each) => each.part === "gap").length ?? 0;
  const next = () => {
    const to = (at + 1) % total;
    setAt(to);
    for (const { current } of panes) {
      const gaps = current?.querySelectorAll(".segment.gap") ?? [];
      gaps.forEach((each, number) => each.classList.toggle("now", number === to));
      if (gaps[to]) current.scrollTop = gaps[to].offsetTop - current.offsetTop - current.clientHeight / 4;
    }
  };
  return { panes, at, total, next };
};

export const Pair = ({ name, result, upto }) => {
  const { answer, error, again } = useAnswer(path.result(name, result.trace_id), { upto });
  const gaps = useGaps(answer?.shown);
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!answer) return html`<${Skeleton} rows=${5} />`;
  const full = to.result(name, result.trace_id);
  const { media } = result;
  const segments = answer.shown?.segments;
  const size = media ? bytes(media.size) : `${many(result.chars, "character")} · ${many(result.lines, "line")}`;
  const both = segments?.length;
  return html`${gaps.total > 0 && html`<p class="gaps"><button type="button" class="small" onClick=${gaps.next}>Next gap</button> <small role="status">${gaps.at < 0 ? many(gaps.total, "gap") : `gap ${gaps.at + 1} of ${gaps.total}`}</small></p>`}
  <div class=${both ? "pair" : "pair alone"}><section aria-label="What the tool returned"><h4>${both ? "What the tool returned" : "What the tool returned, and the model saw"} <small>${size}</small></h4>
      ${media ? html`<${Media} address=${path.result(name, result.trace_id)} media=${media} />` : html`<${Original} canonical=${answer.canonical} more=${full} pane=${gaps.panes[0]} />`}</section>
    ${both ? html`<section aria-label="What the model saw"><h4>What the model saw <small>${many(answer.shown.chars, "character")}</small></h4>
      <${Segments} segments=${segments} pane=${gaps.panes[1]} /></section>` : ""}</div><${Arguments} given=${answer.arguments} />`;
};
