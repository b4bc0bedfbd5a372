// A request: as messages with what changed since the one before, or exactly as it was sent; and what came back.
import { html, useEffect, useState } from "./vendor/preact.js";
import { get, isSaved, path } from "./api.js";
import { Broken, Copy, Skeleton, bytes, count, many, oneLine, say, to, useAnswer, visible } from "./parts.js";
import { Message, Part, Text } from "./words.js";

const PAGE = 65_536;
const RUN = 40;
const OPEN = 12;
const WHOLE = 262_144;
const TABS = [["messages", "Messages"], ["json", "JSON"], ["bytes", "As it was sent"]];

const range = (run) => `${count(run.from + 1)}${run.count > 1 ? ` to ${count(run.from + run.count)}` : ""}`;
// Messages in a row with the same state. Those that are as before stay folded; the rest is open as far as it is short.
const Run = ({ address, name, run, opened, title }) => {
  const [open, setOpen] = useState(opened);
  const [known, setKnown] = useState([]);
  const [error, setError] = useState(null);
  const ask = (from, most, chars) => get(`${address}/messages`, { from, count: most, chars });
  const load = () => {
    const from = run.from + known.length;
    ask(from, Math.min(RUN, run.from + run.count - from)).then((answer) => setKnown((old) => [...old, ...answer.messages]), setError);
  };
  useEffect(() => { if (open && !known.length) load(); }, [open]);
  const whole = (index) => ask(index, 1, WHOLE).then((answer) => setKnown((old) => old.map((each) => (each.index === index ? answer.messages[0] : each))), setError);
  const more = run.count - known.length;
  return html`<li class=${`run ${run.state}`}>${run.state === "same" && isSaved ? html`<p class="fold">${many(run.count, "message")} as before <small>${range(run)}</small></p>` : run.state === "same" && html`<button type="button" class="fold" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "▾" : "▸"} ${title ?? `${many(run.count, "message")} as before`} <small>${range(run)}</small></button>`}
    ${error && html`<p class="note bad">${error.message}</p>`}
    ${open && html`<ol>${known.map((each) => html`<${Message} key=${each.index} name=${name} message=${each} whole=${() => whole(each.index)} numbered />`)}</ol>`}
    ${open && !known.length && !error && html`<${Skeleton} rows=${3} />`}
    ${open && more > 0 && known.length > 0 && html`<p><button type="button" class="small" onClick=${load}>${many(Math.min(more, RUN), "more message")}</button></p>`}
    ${!open && run.state !== "same" && html`<button type="button" class="fold" onClick=${() => setOpen(true)}>▸ ${many(run.count, `${run.state} message`)} <small>${range(run)}</small></button>`}</li>`;
};

const counted = (runs, state) => runs.filter((each) => each.state === state).reduce((sum, each) => sum + each.count, 0);
const Since = ({ name, known }) => {
  if (!known.before) return html`<p class="quiet">The first request of its branch: ${many(known.total, "message")}.</p>`;
  const [fresh, changed] = [counted(known.runs, "new"), counted(known.runs, "changed")];
  const words = [fresh && many(fresh, "new message"), changed && `${count(changed)} changed`, known.gone && `${count(known.gone)} gone`, known.is_system_new && "a different system prompt"].filter(Boolean).join(", ");
  return html`<p class="quiet">Since ${known.before.index === null ? "the previous request" : html`<a href=${to.request(name, known.before.id)}>the previous request</a>`} (step ${known.before.number ?? known.before.index + 1}): ${words || "nothing changed"}. ${many(known.total, "message")} in all.</p>`;
};

const Messages = ({ name, address }) => {
  const { answer, error, again } = useAnswer(`${address}/messages`, { count: 0 });
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!answer) return html`<${Skeleton} rows=${10} />`;
  if (!answer.is_readable) return html`<p class="quiet">This request has no readable messages.${isSaved ? "" : " The tab “As it was sent” has its bytes."}</p>`;
  let open = 0;
  return html`<${Since} name=${name} known=${answer} />
    <details class="fixed"><summary>System prompt <small>${many(answer.system.chars, "character")}</small>${answer.is_system_new ? html` <b class="badge turn">changed</b>` : ""}</summary>${answer.system.chars ? html`<${Text} part=${answer.system} label="the system prompt" />` : html`<p class="quiet">This request has no system prompt.</p>`}</details>
    <details class="fixed"><summary>Tools <small>${count(answer.tools.length)}, ${count(answer.tools.reduce((sum, each) => sum + each.tokens, 0))} tokens</small></summary><ul class="offered">${answer.tools.map((each, at) => html`<li key=${at}><code>${oneLine(each.name)}</code> <small>${count(each.tokens)} tokens</small></li>`)}</ul></details>
    <ol class="runs">${answer.runs.map((run) => {
      const shown = run.state !== "same" && open < OPEN;
      if (shown) open += 1;
      return html`<${Run} key=${run.from} name=${name} address=${address} run=${run} opened=${shown} />`;
    })}</ol>`;
};

const Answered = ({ name, address }) => {
  const { answer, error, again } = useAnswer(`${address}/answer`);
  if (error) return html`<${Broken} error=${error} again=${again} />`;
  if (!answer) return html`<${Skeleton} rows=${3} />`;
  if (answer.error) return html`<p class="note bad">${visible(answer.error)}</p>`;
  if (!answer.messages?.length) return html`<p class="quiet">${answer.status === undefined ? "No answer was recorded." : `The answer has no readable messages.${isSaved ? "" : " The tab “As it was sent” has its bytes."}`}</p>`;
  return html`<div class="answer">${answer.messages.flatMap((each) => each.parts).map((part, at) => html`<${Part} key=${at} name=${name} part=${part} />`)}</div>`;
};

// All of a text, a page after the other.
const gathered = async (address) => {
  let text = "";
  for (let more = true; more;) {
    const answer = await get(address, { from: [...text].length, count: PAGE });
    text += answer.text;
    more = answer.more && answer.text.length > 0;
  }
  return text;
};

const MOST_PRETTY = 20_000_000;
const Pretty = ({ address, title }) => {
  const [state, setState] = useState({});
  useEffect(() => {
    gathered(address).then((text) => {
      try { setState({ text: text.length > MOST_PRETTY ? text : JSON.stringify(JSON.parse(text), null, 2) }); } catch { setState({ text, plain: true }); }
    }, (error) => setState({ error }));
  }, [address]);
  const [from, setFrom] = useState(0);
  if (state.error) return html`<${Broken} error=${state.error} />`;
  if (state.text === undefined) return html`<${Skeleton} rows=${12} />`;
  const shown = state.text.slice(from, from + PAGE);
  return html`<div class="head"><p class="quiet">${state.plain ? "This is not one JSON value, so it is shown unchanged." : "Indented for reading; the next tab has the bytes that were sent."}</p><${Copy} text=${() => state.text} label="Copy" what=${title} /></div>
    <pre class="body" tabindex="0" aria-label=${title}>${visible(shown)}</pre>
    ${state.text.length > PAGE && html`<p class="pager"><button type="button" disabled=${from === 0} onClick=${() => setFrom(Math.max(from - PAGE, 0))}>← Previous</button>
      <span>Characters ${count(from)} to ${count(from + shown.length)} of ${count(state.text.length)}</span><button type="button" disabled=${from + PAGE >= state.text.length} onClick=${() => setFrom(from + PAGE)}>Next →</button></p>`}`;
};

const Paged = ({ title, address, raw }) => {
  const [from, setFrom] = useState(0);
  const { answer, error, again } = useAnswer(address, { from, count: PAGE });
  const text = answer?.text ?? "";
  return html`<section class="paged"><div class="head"><h2>${title} ${answer?.size !== undefined && html`<small>${bytes(answer.size)}</small>`}</h2>
    <span class="acts">${answer && html`<${Copy} text=${text} label="Copy" what=${`${title}, what is shown`} />`} ${raw && html`<a class="button small" href=${raw} download>Download</a>`}</span></div>
    ${answer?.digest && html`<p class="quiet"><code>${oneLine(answer.digest)}</code></p>`}
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${12} />` : html`<pre class="body" tabindex="0" aria-label=${title}>${visible(text)}</pre>`}
    ${(answer?.more || from > 0) && html`<p class="pager"><button type="button" disabled=${from === 0} onClick=${() => setFrom(Math.max(from - PAGE, 0))}>← Previous</button>
      <span>Characters ${count(from)} to ${count(from + text.length)}</span>
      <button type="button" disabled=${!answer?.more} onClick=${() => setFrom(from + (text.length || PAGE))}>Next →</button></p>`}
  </section>`;
};

// The key is a variable of the shell that the command is pasted into; a long body is the file that Download saves.
const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
const Curl = ({ address }) => {
  const [said, setSaid] = useState("");
  const copy = async () => {
    try {
      const { curl } = await get(`${address}/messages`, { count: 0 });
      const body = curl.is_inline ? `--data-raw ${quoted(await gathered(address))}` : `--data-binary @${curl.file}`;
      await navigator.clipboard.writeText(`${curl.command} ${body}`);
      setSaid(curl.is_inline ? "Copied, without the key" : `Copied; save the request as ${curl.file} first`);
    } catch (error) { setSaid(error.message); }
    say("Copied");
  };
  return html`<button type="button" class="small" onClick=${copy}>Copy as curl</button> <small role="status">${said}</small>`;
};

export default ({ route, session }) => {
  const { name, id } = route;
  const address = path.request(name, id);
  const [tab, setTab] = useState("messages");
  const { answer } = useAnswer(`${address}/messages`, { count: 0 });
  const step = answer?.step;
  useEffect(() => { if (Number.isInteger(step)) { session.looked.step = step; session.looked.tell(step); } }, [step]);
  return html`<div class="wide"><p class="crumbs"><a href=${to.session(name)}>${oneLine(name)}</a>${Number.isInteger(step) && html` / <a href=${to.step(name, step)}>step ${step + 1}</a>`} / request</p>
    <div class="title"><h1>${!Number.isInteger(step) ? "Request" : `Request of step ${count(step + 1)}`} ${answer?.model && html`<small>${oneLine(answer.model)}</small>`}</h1>
      ${!isSaved && html`<span class="acts"><${Curl} address=${address} /> <a class="button small" href=${`${address}/raw`} download>Download</a></span>`}</div>
    ${!isSaved && html`<div class="tabs" role="group" aria-label="Shown as">${TABS.map(([key, label]) => html`<button key=${key} type="button" aria-pressed=${tab === key} onClick=${() => setTab(key)}>${label}</button>`)}</div>`}
    ${tab === "messages" ? html`<${Messages} name=${name} address=${address} /><h2 class="after">Answer</h2><${Answered} name=${name} address=${address} />`
      : tab === "json" ? html`<section class="paged"><h2>Request</h2><${Pretty} address=${address} title="Request as JSON" /></section><section class="paged"><h2>Answer</h2><${Pretty} address=${`${address}/response`} title="Answer as JSON" /></section>`
        : html`<p class="quiet"><code>${oneLine(id)}</code></p><${Paged} title="As it was sent" address=${address} raw=${`${address}/raw`} /><${Paged} title="Response" address=${`${address}/response`} />`}</div>`;
};
