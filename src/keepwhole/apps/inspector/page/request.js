// A request exactly as it was sent, and what came back; a page of characters at a time.
import { html, useState } from "./vendor/preact.js";
import { path } from "./api.js";
import { Broken, Copy, Skeleton, bytes, count, oneLine, to, useAnswer, visible } from "./parts.js";

const PAGE = 65_536;

const Paged = ({ title, address, raw }) => {
  const [from, setFrom] = useState(0);
  const { answer, error, again } = useAnswer(address, { from, count: PAGE });
  const text = answer?.text ?? "";
  return html`<section class="paged"><div class="head"><h2>${title} ${answer?.size !== undefined && html`<small>${bytes(answer.size)}</small>`}</h2>
    <span class="acts">${answer && html`<${Copy} text=${text} label="Copy" what=${`${title}, what is shown`} />`} ${raw && html`<a class="button small" href=${raw} download>Download</a>`}</span></div>
    ${answer?.digest && html`<p class="quiet"><code>${oneLine(answer.digest)}</code></p>`}
    ${error ? html`<${Broken} error=${error} again=${again} />` : !answer ? html`<${Skeleton} rows=${12} />` : html`<pre class="body" tabindex="0" aria-label=${title}>${visible(text)}</pre>`}
    ${(answer?.more || from > 0) && html`<p class="pager"><button type="button" disabled=${from === 0} onClick=${() => setFrom(Math.max(from - PAGE, 0))}>← Before</button>
      <span>Characters ${count(from)} to ${count(from + text.length)}</span>
      <button type="button" disabled=${!answer?.more} onClick=${() => setFrom(from + (text.length || PAGE))}>After →</button></p>`}
  </section>`;
};

export default ({ route }) => {
  const { name, id } = route;
  const address = path.request(name, id);
  return html`<div class="wide"><p class="crumbs"><a href=${to.session(name)}>${oneLine(name)}</a> / request</p>
    <h1>${oneLine(id)}</h1>
    <${Paged} title="As it was sent" address=${address} raw=${`${address}/raw`} />
    <${Paged} title="Response" address=${`${address}/response`} /></div>`;
};
