// One result: all its lines without loading it, what the model saw of it, and the calls that fetch it.
import { html, useEffect, useRef, useState } from "./vendor/preact.js";
import { get, isSaved, path, saved } from "./api.js";
import { Broken, Call, Copy, Difference, Skeleton, bytes, count, day, many, oneLine, say, short, to, useAddress, useAnswer, visible } from "./parts.js";
import { Lines } from "./lines.js";
import { Arguments, Media, Segments } from "./pair.js";

const MOST_ARGUMENTS = 300;

// Finding goes on by itself, a bounded piece a call, until there is a hit, the end, or Stop.
const useFind = (address, total) => {
  const [state, setState] = useState({});
  const stop = useRef(null);
  const end = () => stop.current?.abort();
  const find = async (text, from) => {
    end();
    stop.current = new AbortController();
    const { signal } = stop.current;
    setState({ busy: true, at: from });
    try {
      for (let at = from; at;) {
        const answer = await get(`${address}/find`, { text, from: at, most: 1 }, signal);
        if (answer.found.length) {
          say(`Found in line ${answer.found[0].line}`);
          return setState({ line: answer.found[0].line, text });
        }
        setState({ busy: true, at: answer.searched_to });
        at = answer.next;
      }
      say("Not found");
      return setState({ none: true });
    } catch (error) {
      return setState(error.name === "AbortError" ? {} : { error });
    }
  };
  useEffect(() => end, []);
  return { ...state, find, end, share: state.at && total ? state.at / total : 0 };
};

const Find = ({ address, total, sight, go }) => {
  const [text, setText] = useState("");
  const [line, setLine] = useState("");
  const finding = useFind(address, total);
  useEffect(() => { if (finding.line) go(finding.line); }, [finding.line]);
  const next = (event) => {
    event.preventDefault();
    if (text) finding.find(text, finding.line && finding.text === text ? finding.line + 1 : sight[0]);
  };
  const jump = (event) => { event.preventDefault(); if (Number(line) > 0) go(Math.min(Number(line), total ?? Number(line))); };
  return html`<div class="tools">
    <form role="search" onSubmit=${next}><input type="search" data-search placeholder="Find in this result  /" aria-label="Find in this result" value=${text} onInput=${(event) => setText(event.target.value)} />
      ${finding.busy ? html`<button type="button" onClick=${finding.end}>Stop</button><progress max="1" value=${finding.share} aria-label="Searched"></progress><small>${count(finding.at)} of ${count(total)}</small>`
        : html`<button type="submit">Find next</button><small role="status">${finding.line ? `line ${count(finding.line)}` : finding.none ? "no more below" : finding.error ? finding.error.message : ""}</small>`}</form>
    <form onSubmit=${jump}><label>Line <input type="number" min="1" max=${total ?? undefined} value=${line} onInput=${(event) => setLine(event.target.value)} /></label><button type="submit">Go</button></form>
  </div>`;
};

const About = ({ result, decisions }) => {
  const facts = [["Kept", day(result.at)], ["Size", bytes(result.size ?? result.chars)], result.media ? ["Format", oneLine(result.media.looks)] : ["Lines", count(result.lines)], ["Tokens", short(result.tokens)], ["Shown", result.shown ? `${short(result.shown.tokens)} tokens` : "in full"], ["Type", oneLine(result.media_type || "text")]];
  if (result.flags?.includes("client_cut")) facts.push(["Kept as", "the client had cut it"]);
  if (result.exit_code !== null && result.exit_code !== undefined) facts.push(["Exit code", result.exit_code]);
  return html`<dl class="facts">${facts.map(([term, value]) => html`<div key=${term}><dt>${term}</dt><dd>${value}</dd></div>`)}</dl>
    ${decisions?.length ? html`<ul class="decided quiet">${decisions.slice(-6).map((each, at) => html`<li key=${at}><b class="badge cut">${oneLine(each.rule)}</b> ${oneLine(each.strategy)} · ${day(each.at)}${each.saved ? html` · ≈ <${Difference} tokens=${-each.saved} unit=" tokens" />` : ""} ${each.why ? html`<small>${visible(each.why)}</small>` : ""}</li>`)}</ul>` : ""}`;
};

// A name may hold anything; what is copied must not do anything else when it is pasted.
const shell = (text) => (/^[\w.:@%+-]+$/.test(text) ? text : `'${text.replace(/'/g, "'\\''")}'`);
const ranged = (name, result, [first, last]) => {
  const id = result.artifact_id || result.trace_id;
  return {
    model: `get_artifact(id=${JSON.stringify(id)}, lines="${first}-${last}")`,
    python: `keepwhole.session(${JSON.stringify(name)}).recall(${JSON.stringify(id)}, lines=(${first}, ${last}))`,
    line: `keepwhole artifacts show ${shell(id)} --session ${shell(name)} --lines ${first}-${last}`,
  };
};

const Ways = ({ name, result, answer, sight }) => {
  const own = ranged(name, result, sight);
  return html`<details class="ways"><summary>Fetch these lines elsewhere</summary>
    <${Call} name="A model" text=${own.model} /><${Call} name="Python" text=${own.python} /><${Call} name="Command line" text=${own.line} />
    ${answer.calls?.whole && html`<${Call} name="All of it" text=${answer.calls.whole} />`}</details>`;
};

const Known = ({ route, answer, address }) => {
  const { name, id } = route;
  const { result } = answer;
  const [start, setStart] = useState(route.line);
  const [mark, setMark] = useState(route.line > 1 ? route.line : null);
  const [sight, setSight] = useState([route.line, route.line]);
  const [total, setTotal] = useState(result.lines);
  const [side, setSide] = useState("lines");
  const remember = useAddress();
  const go = (line) => { setMark(line); setStart(Math.max(line - 3, 1)); };
  const seen = (first, last, all) => {
    setSight([first, last]);
    if (all) setTotal(all);
    remember(to.result(name, id, first));
  };
  useEffect(() => { if (route.line !== sight[0] && route.line > 1) go(route.line); }, [route.line]);
  return html`<div class="wide one-result"><p class="crumbs"><a href=${to.session(name)}>${oneLine(name)}</a> / <a href=${to.results(name)}>results</a></p>
    <div class="title"><h1>${oneLine(result.tool)} ${result.is_error ? html`<b class="badge bad">error</b>` : ""}</h1>
      ${!isSaved && html`<span class="acts"><a class="button small" href=${`${address}/raw`} download>Download</a></span>`}</div>
    ${isSaved && saved.texts[id]?.is_all === false && html`<p class="note">The export has only the beginning of this result.</p>`}
    <p class="arguments"><code>${oneLine(result.arguments).slice(0, MOST_ARGUMENTS)}${result.arguments?.length > MOST_ARGUMENTS ? " …" : ""}</code></p>
    <${About} result=${result} decisions=${answer.decisions} /><${Arguments} given=${answer.arguments} />
    <div class="tabs" role="group" aria-label="Side"><button type="button" aria-pressed=${side === "lines"} onClick=${() => setSide("lines")}>What the tool returned</button>
      <button type="button" aria-pressed=${side === "shown"} onClick=${() => setSide("shown")}>What the model saw</button></div>
    ${side === "lines" && result.media ? html`<${Media} address=${address} media=${result.media} />` : side === "lines" ? html`<${Find} address=${address} total=${total} sight=${sight} go=${go} />
      <${Lines} address=${address} start=${start} mark=${mark} onSight=${seen} />
      <p class="under quiet">Lines ${count(sight[0])} to ${count(sight[1])} of ${count(total)}</p><${Ways} name=${name} result=${result} answer=${answer} sight=${sight} />`
      : answer.shown?.segments?.length ? html`<${Segments} segments=${answer.shown.segments} />` : html`<p class="quiet">The model saw all of it.</p>`}
  </div>`;
};

export default ({ route }) => {
  const address = path.result(route.name, route.id);
  const { answer, error, again } = useAnswer(address);
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!answer) return html`<${Skeleton} rows=${14} />`;
  return html`<${Known} route=${route} answer=${answer} address=${address} />`;
};
