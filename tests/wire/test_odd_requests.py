"""Odd requests that a provider takes: nothing of them is refused or changed but the long results that are cut."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.store.protocol import result_of
from keepwhole.wire.content import fields_of, parts_of
from tests.promises.entry_points import PATHS

pytestmark = pytest.mark.usefixtures("recall_from_start")

Json = dict[str, Any]
LOG = "".join(f"line {number} of a long output, é\n" for number in range(3_000))
DECLARED = {"name": "run", "description": "Runs.", "parameters": {"type": "object"}}
TOOLS: Json = {"tools": [{"functionDeclarations": [DECLARED]}]}
CONFIG: Json = {"toolConfig": {"tools": [{"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}]}}
ID = "ünïcode-" + "x" * 3_000


def called(name: str = "run", **more: Any) -> Json:
    return {"functionCall": {"name": name, "args": {"a": 1}, **more}}


def returned(response: Any = None, name: str = "run", **more: Any) -> Json:
    return {"functionResponse": {"name": name, "response": {"output": LOG} if response is None else response, **more}}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def use(call_id: str = "c1", **more: Any) -> Json:
    return {"toolUse": {"toolUseId": call_id, "name": "run", "input": {"a": 1}, **more}}


def done(content: list[Json] | None = None, call_id: str = "c1", **more: Any) -> Json:
    return {"toolResult": {"toolUseId": call_id, "content": [{"text": LOG}] if content is None else content, **more}}


def said(role: str, *blocks: Json) -> Json:
    return {"role": role, "content": list(blocks)}


GO, ASKED = user({"text": "go"}), said("user", {"text": "go"})
GEMINI: dict[str, list[Json]] = {
    "one part in place of a list": [GO, {"role": "model", "parts": called()}, {"role": "user", "parts": returned()}],
    "one part in place of a list of results": [GO, model(called()), {"role": "user", "parts": returned()}],
    "one part in place of a list of calls": [GO, {"role": "model", "parts": called()}, user(returned())],
    "an id on the result alone": [GO, model(called()), user(returned(id="x"))],
    "ids on the results alone": [
        *(GO, model(called(), called("look"))),
        user(returned({"output": "short"}, "look", id="2"), returned(id="1")),
    ],
    "an id on the call alone": [GO, model(called(id="x")), user(returned())],
    "an id on one of two": [GO, model(called(id="x"), called()), user(returned({"output": "b"}, id="x"), returned())],
    "empty ids": [GO, model(called(id=""), called(id="")), user(returned(id=""), returned({"output": "b"}, id=""))],
    "null ids": [GO, model(called(id=None)), user(returned(id=None))],
    "a long id": [GO, model(called(id=ID)), user(returned(id=ID))],
    "an id that is used again": [
        *(GO, model(called(id="c")), user(returned({"output": "1"}, id="c"))),
        *(model(called(id="c")), user(returned(id="c"))),
    ],
    "results in another order": [
        *(GO, model(called(), called("look"))),
        user(returned({"output": "short"}, "look"), returned()),
    ],
    "results in two messages": [GO, model(called(), called("look")), user(returned()), user(returned({}, "look"))],
    "calls in two messages": [GO, model(called()), model(called("look")), user(returned(), returned({}, "look"))],
    "no roles": [{"parts": [{"text": "go"}]}, model(called()), {"parts": [returned()]}],
    "the role of a function": [GO, model(called()), {"role": "function", "parts": [returned()]}],
    "no parts": [
        GO,
        {"role": "model"},
        {"role": "model", "parts": None},
        model(),
        model(called()),
        user({}, returned()),
    ],
    "words around a result": [GO, model(called()), user({"text": "before"}, returned(), {"text": "after"})],
    "unknown fields": [GO, model({**called(), "new": {"a": 1.0}}), {**user({**returned(), "new": [1]}), "new": 1e5}],
    "Google's own tools": [
        GO,
        model({"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "s"}, "thoughtSignature": "x"}, called()),
        user(returned()),
    ],
    "a call that waits": [GO, model(called()), user(returned()), model(called())],
    "other responses": [
        *(GO, model(called(), called(), called(), called())),
        user(returned({"error": "it broke"}), returned({"output": 5}), returned([1]), returned()),
    ],
}
CONVERSE: dict[str, list[Json]] = {
    "words around a result": [
        *(ASKED, said("assistant", use())),
        said("user", {"text": "before"}, done(), {"cachePoint": {"type": "default"}}),
    ],
    "results in another order": [
        *(ASKED, said("assistant", use("c1"), use("c2"))),
        said("user", done(call_id="c2", status="error"), done([{"json": [1, None, 1.0]}])),
    ],
    "results in two messages": [
        *(ASKED, said("assistant", use("c1"), use("c2"))),
        *(said("user", done([{"text": "x"}])), said("user", done(call_id="c2"))),
    ],
    "no content": [ASKED, said("assistant", use()), said("user", done([]))],
    "an empty text": [ASKED, said("assistant", use()), said("user", done([{"text": ""}, {"text": LOG}]))],
    "values of all kinds": [
        *(ASKED, said("assistant", use())),
        said("user", done([{"json": value} for value in (1, None, "s", [1], True, {"a": 1}, [], {})])),
    ],
    "other media": [
        *(ASKED, said("assistant", use())),
        said(
            "user", done([{"video": {"format": "mp4", "source": {"s3Location": {"uri": "s3://b/k"}}}}, {"text": LOG}])
        ),
    ],
    "unknown fields": [
        *(ASKED, {**said("assistant", use(new=1), {"newBlock": {"a": 1.0}}), "new": 1e5}),
        said("user", done([{"text": LOG}, {"newPart": {}}], new=2)),
    ],
    "a tool of Bedrock's": [
        *(ASKED, said("assistant", use(type="server_tool_use"), done([{"json": {}}], type="grounding"), {"text": "a"})),
        ASKED,
    ],
    "a long id": [ASKED, said("assistant", use(ID)), said("user", done(call_id=ID))],
    "an id that is used again": [
        *(ASKED, said("assistant", use()), said("user", done([{"text": "1"}]))),
        *(said("assistant", use()), said("user", done())),
    ],
    "a call that waits": [ASKED, said("assistant", use()), said("user", done()), said("assistant", use("c2"))],
    "text in place of blocks": [{"role": "user", "content": "go"}, said("assistant", use()), said("user", done())],
}
ALL = [
    (dialect, name, messages)
    for dialect, cases in (("gemini", GEMINI), ("converse", CONVERSE))
    for name, messages in cases.items()
]


def values(value: Any, *path: Any) -> Iterator[tuple[Any, Any]]:
    """All texts, numbers and empty lists inside of a value, with their paths."""
    if not value or not isinstance(value, dict | list):
        yield path, value
        return
    for key, one in fields_of(value).items() or enumerate(parts_of(value)):
        yield from values(one, *path, key)


@pytest.mark.parametrize(("dialect", "name", "messages"), ALL, ids=[f"{dialect}: {name}" for dialect, name, _ in ALL])
def test_only_the_long_result_of_an_odd_request_changes(dialect: str, name: str, messages: list[Json]) -> None:
    field, tools = ("contents", TOOLS) if dialect == "gemini" else ("messages", CONFIG)
    store = MemoryStore()
    router = SessionRouter(each=True, settles=True, store=store)
    body = json.dumps({field: messages, **tools, "new": {"a": 1.0}}).encode()
    begun = router.begin("POST", PATHS[dialect], {"x-keepwhole-session": "s"}, body)
    assert isinstance(begun, Exchange)
    sent = json.loads(begun.body)
    assert sent["new"] == {"a": 1.0}
    before, after = dict(values(messages)), dict(values(sent[field]))
    assert before.keys() == after.keys()
    changed = [path for path in before if before[path] != after[path]]
    assert [before[path] for path in changed] == [LOG] * len(changed)
    assert len(changed) == (LOG in before.values())
    begun.settle()
    session = Session("s", store=store)
    kept = {session.recall_bytes(result_of(row).trace_id) for row in store.rows("s", kind="result")}
    assert LOG.encode() in kept or LOG not in before.values()


@pytest.mark.parametrize(
    "odd", [{"functionResponse": ["x"]}, {"functionResponse": "x"}, {"functionCall": [1]}], ids=str
)
def test_what_is_neither_a_call_nor_a_result_of_gemini_keeps_no_result_from_the_record(odd: Json) -> None:
    store = MemoryStore()
    messages = [GO, model(called()), user(odd, returned())]
    body = json.dumps({"contents": messages, **TOOLS}).encode()
    begun = SessionRouter("s", settles=True, store=store).begin("POST", PATHS["gemini"], {}, body)
    assert isinstance(begun, Exchange)
    begun.settle()
    session = Session("s", store=store)
    assert LOG.encode() in [session.recall_bytes(result_of(row).trace_id) for row in store.rows("s", kind="result")]
    assert session.view(messages)


PROFILE = "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Aapplication-inference-profile%2Fx1y2z3/invoke"
CHAT: Json = {
    "messages": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "run", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": LOG},
    ],
    "tools": [{"type": "function", "function": DECLARED}],
}
NOVA: Json = {"schemaVersion": "messages-v1", "messages": CONVERSE["a long id"], **CONFIG}


@pytest.mark.parametrize("end", ["", "-with-response-stream"])
def test_a_body_of_anthropic_is_known_at_bedrock_by_its_version_whatever_the_model_is_called(end: str) -> None:
    blocks: list[Json] = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "run", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": LOG}]},
    ]
    tools = [{"name": "run", "input_schema": {"type": "object"}}]
    body: Json = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "messages": blocks, "tools": tools}
    router = SessionRouter(each=True, settles=True, store=MemoryStore())
    begun = router.begin("POST", PROFILE + end, {}, json.dumps(body).encode())
    assert isinstance(begun, Exchange)
    assert "get_artifact" in json.loads(begun.body)["messages"][2]["content"][0]["content"]


@pytest.mark.parametrize("path", [PROFILE, "/model/openai.gpt-oss-120b-1%3A0/invoke", "/model/my-claude-copy/invoke"])
@pytest.mark.parametrize("body", [CHAT, NOVA], ids=["Chat", "Nova"])
def test_bodies_of_other_vendors_pass_unread_at_bedrock(path: str, body: Json) -> None:
    router = SessionRouter(each=True, settles=True, store=MemoryStore())
    assert router.begin("POST", path, {}, json.dumps(body).encode()) is None
    counted = {"input": {"invokeModel": {"body": base64.b64encode(json.dumps(body).encode()).decode()}}}
    assert router.begin("POST", path.replace("/invoke", "/count-tokens"), {}, json.dumps(counted).encode()) is None
    assert router.counts["untouched: of another vendor"] == 2
