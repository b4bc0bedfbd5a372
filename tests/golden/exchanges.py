"""Scenarios of exchanges: what goes to a provider and back to a client, whole and streamed, with hidden rounds."""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.golden import doors
from tests.golden.conversations import DIALECTS, PATHS, Step, Talk, steps
from tests.golden.recorder import Recorder
from tests.golden.setups import settings
from tests.golden.texts import text
from tests.upstream.spelling import SPELLINGS, Part, Text, Thinking, Tool

Json = dict[str, Any]
Scenario = Callable[[Recorder], None]
Script = Callable[[str, int], list[Part] | int]
"""What a model says to a request's text in a round; a number is the status of a refusal."""


class Client:
    """A client of one dialect that sends through a desk and goes on with what it gets back."""

    def __init__(self, out: Recorder, name: str, dialect: str, desk: Any, clock: doors.Clock, *, streams: bool) -> None:
        self.out, self.name, self.desk, self.clock, self.streams = out, name, desk, clock, streams
        self.dialect = dialect
        self.talk = Talk(dialect)
        self.headers: dict[str, str] = {"content-type": "application/json"}
        self.path = PATHS[dialect]
        self.more: Json = {}
        self.bill = "half"
        self._sent = self._answers = 0
        self._figures: list[Json] = []

    def send(self, script: Script, label: str = "", settles: bool = True) -> Json | None:
        """Send the conversation, take what comes back into it; gives the answer as its dialect has it."""
        self._sent += 1
        name = f"{self.name}/{self._sent:02d}{label and '-'}{label}"
        self.clock.tick()
        body = self.talk.request(
            marked=self.dialect == "anthropic", **self.more, **({"stream": True} if self.streams else {})
        )
        begun = doors.begin(self.desk, self.path, self.headers, body)
        if not doors.is_exchange(begun):
            self.out.add(f"{name}-passed", begun if begun is None else [begun[0], begun[1]])
            return None
        sent: list[bytes] = []
        for number in range(20):
            sent.append(begun.body)
            if settles:
                doors.settle(begun)
            came = script(begun.body.decode("utf-8", "replace"), number)
            got = self._answered(begun, came)
            if got is not None:
                break
        else:
            raise AssertionError("an exchange without an end")
        self.clock.tick(3)
        self.out.add(f"{name}-sent", sent[0] if len(sent) == 1 else sent)
        self.out.add(f"{name}-got", got)
        self._figures.append(doors.figures(begun))
        return self._taken(got) if not isinstance(came, int) else None

    def end(self, store: Any) -> None:
        """Record what is on record, and what every exchange said of itself."""
        self.out.add(f"{self.name}/figures", self._figures)
        self.out.add(f"{self.name}/counts", sorted(self.desk.counts.items()))
        self.out.add(f"{self.name}/record", doors.record(store))

    def _answered(self, begun: Any, came: list[Part] | int) -> bytes | None:
        if isinstance(came, int):
            data = json.dumps({"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}).encode()
            return doors.answer_round(begun, data, [data] if self.streams else None, came)
        self._answers += 1
        usage = _usage(self.dialect, len(begun.body) // 4, self.bill)
        spelling = SPELLINGS[self.dialect]  # type: ignore[index]
        if not self.streams:
            return doors.answer_round(begun, json.dumps(spelling.whole(came, self._answers, usage)).encode(), None)
        data = b"".join(spelling.events(came, self._answers, usage))
        return doors.answer_round(begun, data, [data[at : at + 501] for at in range(0, len(data), 501)])

    def _taken(self, got: bytes) -> Json:
        answer = streamed(self.dialect, got) if self.streams else json.loads(got)
        if self.dialect == "anthropic":
            self.talk.messages.append({"role": "assistant", "content": answer["content"]})
        elif self.dialect == "openai_chat":
            self.talk.messages.append(answer["choices"][0]["message"])
        else:
            self.talk.messages += answer["output"]
        return answer

    def give(self, results: list[tuple[str, str]]) -> None:
        """Answer calls."""
        calls = tuple((id, text) for id, text in results)
        if self.dialect == "anthropic":
            blocks = [{"type": "tool_result", "tool_use_id": id, "content": words} for id, words in calls]
            self.talk.messages.append({"role": "user", "content": blocks})
        elif self.dialect == "openai_chat":
            self.talk.messages += [{"role": "tool", "tool_call_id": id, "content": words} for id, words in calls]
        else:
            self.talk.messages += [
                {"type": "function_call_output", "call_id": id, "output": words} for id, words in calls
            ]

    def calls(self, answer: Json | None) -> list[str]:
        """The ids of the calls in an answer."""
        if answer is None:
            return []
        if self.dialect == "anthropic":
            return [block["id"] for block in answer["content"] if block["type"] == "tool_use"]
        if self.dialect == "openai_chat":
            return [call["id"] for call in answer["choices"][0]["message"].get("tool_calls") or ()]
        return [item["call_id"] for item in answer["output"] if item["type"] == "function_call"]


def _usage(dialect: str, taken: int, bill: str) -> Json:
    """What a provider bills: half of it cached, none of it, nearly all, or twice what was thought."""
    share = {"half": 0.5, "none": 0.0, "all": 0.95, "dear": 0.6}[bill]
    taken = taken * (2 if bill == "dear" else 1)
    if dialect == "anthropic":
        read = int(taken * share)
        own = {"cache_read_input_tokens": read, "cache_creation_input_tokens": taken - read - 10}
        return {"input_tokens": 10, "output_tokens": 7, **own}
    if dialect == "openai_chat":
        about = {"prompt_tokens_details": {"cached_tokens": int(taken * share)}}
        return {"prompt_tokens": taken, "completion_tokens": 7, "total_tokens": taken + 7, **about}
    details = {
        "input_tokens_details": {"cached_tokens": int(taken * share)},
        "output_tokens_details": {"reasoning_tokens": 0},
    }
    return {"input_tokens": taken, "output_tokens": 7, "total_tokens": taken + 7, **details}


def streamed(dialect: str, data: bytes) -> Json:
    """The answer that a client puts together from events."""
    events = [json.loads(line[6:]) for line in data.decode().splitlines() if line.startswith("data: {")]
    if dialect == "openai_responses":
        return next(event["response"] for event in reversed(events) if event["type"] == "response.completed")
    if dialect == "openai_chat":
        return _chat([choice["delta"] for event in events for choice in event.get("choices", ())])
    blocks: dict[int, Json] = {}
    partial: dict[int, str] = {}
    for event in events:
        at = event.get("index", 0)
        if event["type"] == "content_block_start":
            blocks[at] = dict(event["content_block"])
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            key = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}.get(
                delta["type"]
            )
            if key is None:
                partial[at] = partial.get(at, "") + delta["partial_json"]
            else:
                blocks[at][key] = blocks[at].get(key, "") + delta[key]
    for at, words in partial.items():
        blocks[at]["input"] = json.loads(words or "{}")
    return {"content": list(blocks.values())}


def _chat(deltas: list[Json]) -> Json:
    words = "".join(delta.get("content") or "" for delta in deltas)
    calls: dict[int, Json] = {}
    for delta in deltas:
        for part in delta.get("tool_calls") or ():
            if part["index"] not in calls:
                calls[part["index"]] = {**part, "function": dict(part["function"])}
            else:
                calls[part["index"]]["function"]["arguments"] += part["function"]["arguments"]
    own = [{key: value for key, value in call.items() if key != "index"} for call in calls.values()]
    message: Json = {"role": "assistant", "content": words or None, **({"tool_calls": own} if own else {})}
    return {"choices": [{"message": message}]}


def recalls(rounds: int, then: list[Part], beside: list[Part] | None = None) -> Script:
    """A model that reads back what was cut before it says something."""

    def script(sent: str, number: int) -> list[Part]:
        found = re.findall(r"art_\d+_\w{22}", sent)
        name = found[number % len(found)] if found else "art_1700000000_" + "0" * 22
        own: list[Part] = [
            Text("Let me look."),
            Tool("get_artifact", {"id": name, "lines": f"{10 * number + 1}-{10 * number + 9}"}),
        ]
        if number % 3 == 1:
            own = [Tool("search_artifacts", {"query": "customs invoice"}), Tool("get_task_trace", {"trace_id": name})]
        return [*own, *(beside or [])] if number < rounds else then

    return script


def says(*parts: Part) -> Script:
    """A model that says this."""
    return lambda _, __: list(parts)


def refuses(status: int, after: int = 0) -> Script:
    """A provider that is busy, from a round on."""
    reads = recalls(after, [])
    return lambda sent, number: status if number >= after else reads(sent, number)


def _calls(step: Step) -> list[Part]:
    words: list[Part] = [Text(step.said)] if step.said else []
    return [*words, *(Tool(call.tool, call.arguments, call.id) for call in step.calls)]


def agents(dialect: str, streams: bool, given: str) -> Scenario:
    """An agent at work through a desk: hidden rounds, calls of ours beside its own, a restart, trouble."""

    def scenario(out: Recorder) -> None:
        how = "stream" if streams else "whole"
        name = f"exchange/{dialect}-{how}-{given}"
        clock, store = doors.Clock(), doors.memory_store()
        opened = {"clock": clock, "store": store, "settings": settings(given), "settles": True, "each": True}
        desk = doors.open_desk(seed=f"{name}/1", **opened)
        client = Client(out, name, dialect, desk, clock, streams=streams)
        client.headers[doors.SESSION_HEADER] = "golden"
        for number, step in enumerate(steps(f"exchange/{given}", 8)):
            thinks: list[Part] = [Thinking(f"Hm {number}.")] if number % 3 == 0 and dialect != "openai_chat" else []
            said = [*thinks, *_calls(step)]
            if number % 3 == 1:
                answer = client.send(recalls(1 + number % 2, said), "rounds")
            elif number % 3 == 2:
                answer = client.send(recalls(1, said, beside=[Tool("bash", {"command": "ls"}, f"b{number}")]), "beside")
            else:
                answer = client.send(says(*said))
            texts = {call.id: call.text for call in step.calls}
            called = client.calls(answer)
            if called:
                client.give([(one, texts.get(one, text("plain", 400))) for one in called])
            if number == 3:
                client.desk = doors.open_desk(seed=f"{name}/2", **opened)
        client.send(refuses(529), "refused")
        client.send(refuses(500, 1), "refused-later")
        client.send(recalls(14, [Text("Enough.")]), "many")
        client.talk.ask("Thanks.")
        client.send(says(Text("Bye.")), "bye", settles=False)
        client.end(store)
        again = doors.open_session("golden", store=store, settings=settings(given), clock=clock, seed=name)
        out.add(f"{name}/again", doors.sent_again(again))

    return scenario


def bills(out: Recorder) -> None:
    """Bills that are not what was expected: nothing cached, everything, twice the tokens; and cold caches."""
    for dialect in DIALECTS:
        for bill in ("none", "all", "dear"):
            name = f"exchange/bills-{dialect}-{bill}"
            clock, store = doors.Clock(), doors.memory_store()
            given = settings("eager" if bill != "dear" else "tight")
            opened = {"clock": clock, "store": store, "settings": given, "session": "s"}
            client = Client(out, name, dialect, doors.open_desk(seed=name, **opened), clock, streams=bill == "all")
            client.bill = bill
            for number, step in enumerate(steps(f"bills/{dialect}", 12, 0.6)):
                client.talk.take(step)
                client.send(says(Text(f"I see {number}.")))
                client.talk.ask("Go on.")
                if number == 5:
                    client.desk = doors.open_desk(seed=f"{name}/2", **opened)
                if number == 8:
                    clock.tick(5_000)
            client.end(store)


def strangers(out: Recorder) -> None:
    """Requests that name their session in other ways or not at all, count, compact, are for other things."""
    for dialect in DIALECTS:
        for each in (True, False):
            name = f"exchange/strangers-{dialect}-{'each' if each else 'one'}"
            clock, store = doors.Clock(), doors.memory_store()
            desk = doors.open_desk(
                clock=clock, store=store, seed=name, settings=settings("truncation"), settles=True, each=each
            )
            client = Client(out, name, dialect, desk, clock, streams=False)
            client.send(says(Text("Nothing was called yet.")), "first")
            for step in steps(f"strangers/{dialect}", 3):
                client.talk.take(step)
                client.send(says(Text("I see.")), "unnamed")
            for label, headers in _HEADERS.items():
                client.headers = {"content-type": "application/json", **headers}
                client.send(recalls(1, [Text("So.")]), label)
            client.headers = {"content-type": "application/json"}
            client.more = {"metadata": {"user_id": json.dumps({"session_id": "meta"})}, "prompt_cache_key": "key"}
            client.send(says(Text("By the body.")), "body")
            client.more = {"tools": []}
            client.send(says(Text("No tools.")), "no-tools")
            client.more = {"n": 2, "thread": "t1", "previous_response_id": "resp_9", "store": True}
            client.send(says(Text("Odd fields.")), "odd")
            client.more = {}
            for path in _PATHS[dialect]:
                client.path = path
                client.send(says(Text("Elsewhere.")), "path" + path.replace("/", "-"))
            client.path = PATHS[dialect]
            client.talk.ask("CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\nWrite a summary.")
            client.send(says(Text("A summary.")), "compaction")
            client.headers["content-encoding"] = "gzip"
            client.send(says(Text("Packed.")), "packed")
            client.end(store)


_HEADERS: dict[str, dict[str, str]] = {
    "ours": {doors.SESSION_HEADER: "mine"},
    "odd-name": {doors.SESSION_HEADER: "mine / with blanks"},
    "claude": {"x-claude-code-session-id": "5f0c"},
    "claude-agent": {"x-claude-code-session-id": "5f0c", "x-claude-code-agent-id": "helper"},
    "codex": {"session-id": "0199", "thread-id": "0199"},
    "codex-thread": {"session-id": "0199", "thread-id": "0200"},
    "opencode": {"x-session-id": "ses_2", "x-parent-session-id": "ses_1"},
    "codex-compaction": {"session-id": "0199", "x-codex-turn-metadata": '{"request_kind": "compaction"}'},
}
_PATHS = {
    "anthropic": ("/v1/messages/count_tokens", "/v1/models", "/gateway/v1/messages/"),
    "openai_chat": ("/v1/embeddings", "/openai/deployments/x/chat/completions"),
    "openai_responses": ("/v1/responses/input_tokens", "/v1/responses/compact", "/v1/files"),
}


def continued(out: Recorder) -> None:
    """OpenAI's responses that go on from one that the provider has."""
    for streams in (False, True):
        name = f"exchange/continued-{'stream' if streams else 'whole'}"
        clock, store = doors.Clock(), doors.memory_store()
        desk = doors.open_desk(clock=clock, store=store, seed=name, settings=settings("truncation"), session="s")
        client = Client(out, name, "openai_responses", desk, clock, streams=streams)
        client.more = {"store": True}
        for number, step in enumerate(steps("continued", 6)):
            answer = client.send(recalls(number % 2, _calls(step)))
            results = {call.id: call.text for call in step.calls}
            client.talk.messages.clear()
            client.give([(one, results.get(one, "ok")) for one in client.calls(answer)])
            client.more = {"store": True, "previous_response_id": (answer or {}).get("id", "resp_0")}
        client.more = {"conversation": "conv_1"}
        client.send(recalls(2, [Text("In a conversation.")]), "conversation")
        client.end(store)


def broken(out: Recorder) -> None:
    """Answers that are cut short, are no JSON, or have events that nobody knows."""
    for dialect in DIALECTS:
        name = f"exchange/broken-{dialect}"
        clock, store = doors.Clock(), doors.memory_store()
        desk = doors.open_desk(clock=clock, store=store, seed=name, settings=settings("truncation"), session="s")
        talk = Talk(dialect)
        for step in steps(f"broken/{dialect}", 3):
            talk.take(step)
        spelling = SPELLINGS[dialect]  # type: ignore[index]
        parts: list[Part] = [Text("Let me look."), Tool("search_artifacts", {"query": "customs"})]
        events = b"".join(spelling.events(parts, 1, None))
        whole = json.dumps(spelling.whole(parts, 1, None)).encode()
        answers = {
            "cut-stream": (events[: len(events) * 2 // 3], True),
            "cut-whole": (whole[: len(whole) // 2], False),
            "no-json": (b"<html>bad gateway</html>", False),
            "odd-events": (b"event: news\ndata: {}\n\n: comment\n\ndata: [1]\n\n" + events, True),
            "crlf": (events.replace(b"\n", b"\r\n"), True),
            "empty": (b"", True),
            "empty-whole": (b"", False),
            "list": (b"[]", False),
        }
        for label, (data, is_stream) in answers.items():
            clock.tick()
            begun = doors.begin(desk, PATHS[dialect], {}, talk.request(**({"stream": True} if is_stream else {})))
            for size in (7, 4_000):
                chunks = [data[at : at + size] for at in range(0, len(data), size)] if is_stream else None
                got = doors.answer_round(begun, data, chunks)
                out.add(f"{name}/{label}-{size}", [got, begun.body, doors.figures(begun)])
                begun = doors.begin(desk, PATHS[dialect], {}, talk.request(**({"stream": True} if is_stream else {})))
        out.add(f"{name}/record", doors.record(store))


def faulty(out: Recorder) -> None:
    """Exchanges over a store that fails and recovers, and under modes that change nothing."""
    for dialect in DIALECTS:
        store, clock = doors.FaultyStore(), doors.Clock()
        name = f"exchange/faults-{dialect}"
        desk = doors.open_desk(clock=clock, store=store, seed=name, settings=settings("truncation"), session="s")
        client = Client(out, name, dialect, desk, clock, streams=dialect != "openai_chat")
        for number, step in enumerate(steps(f"faults/{dialect}", 6)):
            store.broken = set(((), ("append",), (), ("rows",), ("take",), ())[number])
            client.send(recalls(1, [Text(f"So {number}.")]))
            client.talk.take(step)
        store.broken = set()
        client.send(says(Text("Recovered.")))
        client.end(store)


def _agents(streams: bool) -> list[Scenario]:
    given = ("default", "tight", "eager") if streams else ("truncation", "tight", "shadow", "off")
    return [agents(dialect, streams, one) for dialect in DIALECTS for one in given]


GROUPS: dict[str, list[Scenario]] = {
    "exchange-whole": _agents(False),
    "exchange-stream": _agents(True),
    "exchange-odd": [strangers, continued, broken, faulty],
    "exchange-bills": [bills],
}
