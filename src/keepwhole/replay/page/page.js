// Sorting, searching, copying, and the chart of a run. Everything else is in the page already.
// Text from transcripts is only ever set as text.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const report = JSON.parse($("data").textContent);
  document.documentElement.classList.add("live");
  const say = (text) => { $("said").textContent = text; };

  const make = (name, attributes = {}, ...inside) => {
    const one = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    one.append(...inside);
    return one;
  };
  const draw = (name, attributes = {}, ...inside) => {
    const one = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) one.setAttribute(key, value);
    one.append(...inside);
    return one;
  };

  // Sorting. What has no figure is last, whichever way.
  const valueOf = (row, column) => row.cells[column].dataset.value;
  const compare = (a, b, numbers) => (numbers ? a - b : a.localeCompare(b));
  const sort = (table, head, numbers) => {
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    for (const body of table.tBodies) {
      const rows = [...body.rows].map((row) => [valueOf(row, head.cellIndex), row]);
      rows.sort(([a], [b]) => {
        if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
        return compare(a, b, numbers) * (down ? -1 : 1);
      });
      body.append(...rows.map(([, row]) => row));
    }
    say(`Sorted by ${head.textContent}, ${down ? "descending" : "ascending"}.`);
  };
  for (const head of document.querySelectorAll("th[data-sort]")) {
    const button = make("button", { type: "button" }, head.textContent);
    button.addEventListener("click", () => sort(head.closest("table"), head, head.dataset.sort === "number"));
    head.replaceChildren(button);
  }
  $("source")?.addEventListener("change", (event) => {
    for (const body of document.querySelectorAll("tbody[data-source]")) {
      body.hidden = body.dataset.source !== event.target.value;
    }
  });

  // Long lists: the first few, all of them on demand, and a search through all.
  const FEW = 8;
  const browse = (list, what) => {
    const items = [...list.children];
    const search = make("input", { type: "search", placeholder: `Search ${what}`, "aria-label": `Search ${what}` });
    const more = make("button", { type: "button" });
    const count = make("span", { class: "quiet" });
    const texts = items.map((item) => item.textContent.toLowerCase());
    let all = items.length <= FEW;
    const show = () => {
      const wanted = search.value.trim().toLowerCase().split(/\s+/).filter(Boolean);
      let found = 0;
      items.forEach((item, at) => {
        const fits = wanted.every((word) => texts[at].includes(word));
        item.hidden = !fits || (!all && !wanted.length && at >= FEW);
        found += fits;
      });
      more.hidden = items.length <= FEW || wanted.length > 0;
      more.textContent = all ? `Show the first ${FEW}` : `Show all ${items.length}`;
      count.textContent = wanted.length ? `${found} of ${items.length}` : "";
      if (wanted.length) say(`${found} of ${items.length} found.`);
    };
    search.addEventListener("input", show);
    more.addEventListener("click", () => { all = !all; show(); });
    list.before(make("p", { class: "control" }, search, count));
    list.after(make("p", { class: "control" }, more));
    show();
  };
  if ($("results")) browse($("results"), "results");
  if ($("missed") && $("missed").children.length > FEW) browse($("missed"), "what was hidden");

  // Copying. Where the clipboard is closed to pages, the text is selected instead.
  const copy = async (code, button) => {
    const range = document.createRange();
    range.selectNodeContents(code);
    let done = true;
    try {
      await navigator.clipboard.writeText(code.textContent);
    } catch {
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      done = document.execCommand("copy");
    }
    button.textContent = done ? "Copied" : "Selected";
    say(button.textContent);
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  };
  for (const code of document.querySelectorAll("code[data-copy]")) {
    const button = make("button", { type: "button", class: "copy" }, "Copy");
    button.addEventListener("click", () => copy(code, button));
    code.after(button);
  }
  $("save").addEventListener("click", () => {
    const address = URL.createObjectURL(new Blob([JSON.stringify(report, null, 1)], { type: "application/json" }));
    make("a", { href: address, download: "keepwhole-replay.json" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  });

  // The chart of a run.
  const tokens = (n) => (n < 1e3 ? `${Math.round(n)}` : n < 999500 ? `${Math.round(n / 1e3)}k` : `${+(n / 1e6).toFixed(1)}M`);
  const shown = new Set(["everything", "auto"]);
  const looks = new Map([["everything", "l-everything"], ["auto", "l-auto"]]);
  for (const row of report.policies || []) if (row.bound) looks.set(row.name, "l-bound");
  const classOf = (name, names) => looks.get(name) || `l-${names.filter((each) => !looks.has(each)).indexOf(name) % 5}`;
  const nice = (most) => {
    const raw = most / 4;
    const unit = 10 ** Math.floor(Math.log10(raw));
    return [1, 2, 2.5, 5, 10].map((by) => by * unit).find((step) => step >= raw);
  };

  const chart = (run) => {
    const names = Object.keys(run.context).filter((name) => Array.isArray(run.context[name]));
    const visible = names.filter((name) => shown.has(name));
    const drawn = [...visible].sort((a, b) => (a === "auto") - (b === "auto"));  // what is drawn last is on top
    const width = Math.max(280, $("chart").clientWidth), height = width < 560 ? 260 : 340;
    const left = 44, right = width - 8, top = 12, bottom = height - 34;
    const steps = Math.max(2, ...names.map((name) => run.context[name].length));
    const limit = report.window || 0;
    const most = 1.1 * Math.max(1, limit, ...visible.map((name) => run.context[name].reduce((a, b) => Math.max(a, b), 0)));
    const x = (at) => left + (at / (steps - 1)) * (right - left);
    const y = (size) => bottom - (size / most) * (bottom - top);
    const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", tabindex: "0", "aria-label":
      `Tokens of each request of ${steps} requests. ` + visible.map((name) => {
        const sizes = run.context[name];
        return `${name}: at most ${tokens(sizes.reduce((a, b) => Math.max(a, b), 0))}, ${tokens(sizes.at(-1) || 0)} at the end`;
      }).join("; ") + ". Arrow keys read it step by step." });

    if (limit) svg.append(draw("rect", { class: "over", x: left, y: top, width: right - left, height: Math.max(0, y(limit) - top) }));
    const gap = nice(most);
    for (let size = 0; size <= most; size += gap) {
      svg.append(draw("line", { class: "grid", x1: left, x2: right, y1: y(size), y2: y(size) }));
      svg.append(draw("text", { x: left - 8, y: y(size), dy: ".35em", "text-anchor": "end" }, tokens(size)));
    }
    const apart = Math.max(1, Math.round(nice(steps)));
    for (let at = 0; at < steps; at += apart) {
      svg.append(draw("text", { x: x(at), y: bottom + 18, "text-anchor": at ? "middle" : "start" }, at ? `${at}` : "step 0"));
    }
    if (limit) {
      svg.append(draw("line", { class: "window", x1: left, x2: right, y1: y(limit), y2: y(limit) }));
      svg.append(draw("text", { class: "window-words", x: left + 8, y: y(limit) - 7 }, `window ${tokens(limit)}`));
    }
    for (const name of drawn) {
      const sizes = run.context[name];
      const look = classOf(name, names);
      svg.append(draw("polyline", { class: `stroke ${look}`, points: sizes.map((size, at) => `${x(at).toFixed(1)},${y(size).toFixed(1)}`).join(" ") }));
      const marks = run.rewrites?.[name] || [];
      if (marks.length > 60) continue;  // more rings than that would hide the line
      for (const at of marks) {
        if (sizes[at] !== undefined) svg.append(draw("circle", { class: `ring ${look}`, cx: x(at), cy: y(sizes[at]), r: 4 }));
      }
    }
    const cursor = draw("line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
    svg.append(cursor);
    let at = -1;
    const read = (to) => {
      at = Math.min(steps - 1, Math.max(0, to));
      cursor.setAttribute("x1", x(at));
      cursor.setAttribute("x2", x(at));
      cursor.setAttribute("visibility", "visible");
      const parts = visible.filter((name) => run.context[name][at] !== undefined).map((name) => {
        const anew = run.rewrites?.[name]?.includes(at) ? " (rewritten)" : "";
        return `${name} ${tokens(run.context[name][at])}${anew}`;
      });
      $("readout").textContent = `Step ${at}: ${parts.join(" · ")}`;
    };
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      read(Math.round((((event.clientX - box.left) / box.width) * width - left) / (right - left) * (steps - 1)));
    });
    svg.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -steps, End: steps }[event.key];
      if (!by) return;
      event.preventDefault();
      read(at + by);
    });
    $("chart").replaceChildren(svg);
    $("readout").textContent = "Point at the chart, or use the arrow keys on it, to read a step.";
  };

  const choose = () => {
    const run = report.runs[Number($("run").value)];
    const names = Object.keys(run.context).filter((name) => Array.isArray(run.context[name]));
    $("lines").replaceChildren(...names.map((name) => {
      const box = make("input", { type: "checkbox" });
      box.checked = shown.has(name);
      box.addEventListener("change", () => { shown[box.checked ? "add" : "delete"](name); chart(run); });
      const line = draw("line", { class: `stroke ${classOf(name, names)}`, x1: 0, x2: 28, y1: 6, y2: 6 });
      return make("label", {}, box, draw("svg", { viewBox: "0 0 28 12", "aria-hidden": "true" }, line), name);
    }));
    chart(run);
  };
  if ($("run")) {
    $("run").addEventListener("change", choose);
    let width = 0;
    new ResizeObserver(([entry]) => {
      if (Math.abs(entry.contentRect.width - width) < 1) return;
      width = entry.contentRect.width;
      choose();
    }).observe($("chart"));
  }
})();
