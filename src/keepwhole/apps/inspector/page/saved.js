// The answers of an exported file: the same as the server's, from what the file has in itself.
import { Trouble, saved } from "./api.js";

const number = (value, usual) => (value === undefined || value === "" ? usual : Number(value));
const absent = (words) => { throw new Trouble(words, 404); };
const lined = new Map();
const lines = (id) => {
  if (!lined.has(id)) lined.set(id, (saved.texts[id]?.text ?? "").split("\n"));
  return lined.get(id);
};

const result = (id, values) => {
  const known = saved.results[id] ?? absent("This result is not in the exported steps.");
  const media = known.now.result.media && { ...known.now.result.media, data: saved.texts[id]?.data, is_displayed: Boolean(saved.texts[id]?.data) && known.now.result.media.is_displayed };
  const own = { ...known.now, result: { ...known.now.result, media } };
  return values.upto === undefined || !(values.upto in known.then) ? own : { ...own, shown: known.then[values.upto] };
};
const page = (id, values) => {
  const from = number(values.from, 1);
  const all = lines(id);
  const found = all.slice(from - 1, from - 1 + number(values.count, 200));
  return { from, count: found.length, lines: found, cut: [], total: all.length };
};
const find = (id, values) => {
  const all = lines(id);
  for (let at = number(values.from, 1); at <= all.length; at++) if (all[at - 1].includes(values.text)) return { found: [{ line: at, text: all[at - 1] }], next: at + 1, searched_to: at };
  return { found: [], next: null, searched_to: all.length };
};

const listed = () => saved.steps.flatMap((step) => step.results);
const results = (values) => {
  const words = (values.query ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const found = listed().filter((each) => words.every((word) => `${each.tool} ${each.arguments}`.toLowerCase().includes(word)) && (values.only !== "cut" || each.shown));
  const from = number(values.from, 0);
  return { total: found.length, from, results: found.slice(from, from + number(values.count, 100)) };
};
const search = (values) => {
  const words = values.query.toLowerCase().split(/\s+/).filter(Boolean);
  const found = [];
  for (const each of listed()) {
    const at = lines(each.trace_id).findIndex((line) => words.every((word) => line.toLowerCase().includes(word)));
    if (at >= 0) found.push({ trace_id: each.trace_id, tool: each.tool, line: at + 1, text: lines(each.trace_id)[at].slice(0, 400) });
  }
  return { found: found.slice(0, number(values.most, 20)), is_all: true };
};

const request = (id, kind, values) => {
  const known = saved.requests[id] ?? absent("This request is not in the exported steps.");
  if (kind === "story") return known.story;
  if (kind === "answer") return known.story.answer ?? {};
  if (kind !== "messages") return absent("An exported file has only the messages of a request.");
  const from = number(values.from, 0);
  return { ...known.head, from, messages: known.messages.filter((each) => each.index >= from && each.index < from + number(values.count, 40)) };
};

export const answer = (address, values) => {
  const [, , , kind, id, what] = address.split("/").map(decodeURIComponent);
  if (!kind) return address.startsWith("api/sessions/") ? { ...saved.summary } : absent("This file has one session.");
  if (kind === "steps" && id) return absent("This is not in the exported file.");
  if (kind === "steps") return { total: saved.steps.length, from: number(values.from, 0), steps: saved.steps.slice(number(values.from, 0), number(values.from, 0) + number(values.count, 40)) };
  if (kind === "search") return search(values);
  if (kind === "requests") return request(id, what, values);
  if (!id) return results(values);
  return what === "lines" ? page(id, values) : what === "find" ? find(id, values) : result(id, values);
};
