"""Converse's spelling: blocks without types, results of several kinds, cache points, answers whole and in frames."""

import base64
import json
import re
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.apps.proxy.connection import error_body
from keepwhole.canonical.media import MediaBytes
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.recall.names import NAMES
from keepwhole.wire.cache_markers import cache_markers, unmarked
from keepwhole.wire.dialects import (
    CONVERSE,
    conversation_dialect,
    decode_message,
    dialect_of,
    dialect_of_log,
    endpoint_of,
    parse_call,
)
from keepwhole.wire.event_stream import FramedStream, Frames
from keepwhole.wire.pairs import NO_RESULT
from keepwhole.wire.request_body import read_request
from keepwhole.wire.sse import Event, Events
from keepwhole.wire.summary import compacted
from tests.canonical.pictures import pdf, png
from tests.long_run import some_of
from tests.upstream.bedrock import framed
from tests.upstream.converse_rules import converse_complaint
from tests.upstream.spelling import SPELLINGS, Part, Text, Thinking, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")

Json = dict[str, Any]
LOG = "".join(f"line {number} of a long output\n" for number in range(3_000))
MODEL = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0"
WHOLE, STREAMED = f"{MODEL}/converse", f"{MODEL}/converse-stream"
POINT: Json = {"cachePoint": {"type": "default"}}
ASKED: Json = {"role": "user", "content": [{"text": "What does it print?"}]}
RUN = {"toolSpec": {"name": "run", "inputSchema": {"json": {"type": "object"}}}}


def call(call_id: str, command: str = "make") -> Json:
    return {"toolUse": {"toolUseId": call_id, "name": "run", "input": {"command": command}}}


def result(call_id: str, *parts: Json, **more: Any) -> Json:
    return {"toolResult": {"toolUseId": call_id, "content": list(parts), **more}}


def model(*blocks: Json) -> Json:
    return {"role": "assistant", "content": list(blocks)}


def user(*blocks: Json) -> Json:
    return {"role": "user", "content": list(blocks)}


TWO = [ASKED, model(call("c1"), call("c2", "ls")), user(result("c1", {"text": LOG}), result("c2", {"text": "a"}))]


def request(messages: list[Json], **fields: Any) -> bytes:
    return json.dumps({"messages": messages, "toolConfig": {"tools": [RUN]}, **fields}).encode()


def begin(router: SessionRouter, messages: list[Json], path: str = STREAMED, **fields: Any) -> Exchange:
    begun = router.begin("POST", path, {}, request(messages, **fields))
    assert isinstance(begun, Exchange)
    assert converse_complaint(json.loads(begun.body)) == ""
    return begun


def messages_of(body: bytes) -> list[Any]:
    return json.loads(body)["messages"]


def streamed(*said: Part) -> bytes:
    return b"".join(framed(SPELLINGS["converse"].events(list(said), 1, None), in_chunks=False))


def events_in(data: bytes) -> list[Event]:
    return Events().feed(FramedStream("events").decode(data))


def new_router() -> SessionRouter:
    return SessionRouter(each=True, settles=True, store=MemoryStore())


@pytest.mark.parametrize(
    ("path", "model_id", "frames"),
    [
        (WHOLE, "us.anthropic.claude-sonnet-4-5-20250929-v1:0", None),
        (f"/kw-t/bedrock{STREAMED}", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "events"),
        ("/model/amazon.nova-pro-v1:0/converse", "amazon.nova-pro-v1:0", None),
        (
            "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fx/converse-stream",
            *("arn:aws:bedrock:us-east-1:1:inference-profile/x", "events"),
        ),
    ],
)
def test_paths_name_the_model_and_the_frames(path: str, model_id: str, frames: str | None) -> None:
    found = endpoint_of(path)
    assert found is not None
    assert (found.dialect, found.model, found.provider, found.frames) == (CONVERSE, model_id, "bedrock", frames)
    assert not found.counts


@pytest.mark.parametrize("path", ["/model/m/count-token", "/model/m/async-invoke", "/converse", "/model/converse"])
def test_other_paths_are_passed_on(path: str) -> None:
    assert endpoint_of(path) is None


def test_messages_are_recognized_and_calls_are_read() -> None:
    assert dialect_of([ASKED]) is CONVERSE
    assert dialect_of([{"role": "user", "content": [{"type": "text", "text": "x"}]}]) is not CONVERSE
    assert conversation_dialect("bedrock") is CONVERSE
    assert parse_call(call("c1")).parsed() == {"command": "make"}
    assert (parse_call(call("c1")["toolUse"]).dialect, parse_call(call("c1")).call_id) == (CONVERSE, "c1")
    log = {"messages": [ASKED], "system": [{"text": "Be brief."}]}
    answer = SPELLINGS["converse"].whole([Text("So.")], 1, None)
    assert dialect_of_log(log, answer) is CONVERSE
    assert [decode_message(one).role for one in CONVERSE.logged_messages(log)] == ["system", "user"]
    assert [decode_message(one).said for one in CONVERSE.logged_answer(answer)] == ["So."]


def test_a_result_has_texts_values_images_and_documents() -> None:
    picture = base64.b64encode(png(64, 48, 1, 40)).decode()
    parts: list[Json] = [
        {"text": "words"},
        {"json": {"rows": [1, 2]}},
        {"image": {"format": "png", "source": {"bytes": picture}}},
        {"document": {"format": "pdf", "name": "a", "source": {"bytes": base64.b64encode(pdf(2)).decode()}}},
        {"document": {"format": "txt", "name": "b", "source": {"text": "of a file"}}},
        {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a.png"}}}},
    ]
    decoded = decode_message(user(result("c1", *parts, status="error")))
    at = ("content", 0, "toolResult", "content")
    assert decoded.role == "tool"
    assert {one.call_id for one in decoded.returned} == {"c1"}
    assert all(one.is_error for one in decoded.returned)
    assert [one.path for one in decoded.returned] == [
        (*at, 0, "text"),
        (*at, 1),
        (*at, 2),
        (*at, 3),
        (*at, 4, "document", "source", "text"),
        (*at, 5),
    ]
    words, value, image, document, file, link = decoded.returned
    assert (words.text, value.text, file.text) == ("words", '{"rows": [1, 2]}', "of a file")
    assert [one.replacement("cut") for one in (words, value, image)] == ["cut", {"text": "cut"}, {"text": "cut"}]
    assert (image.output, document.output, link.output) == (png(64, 48, 1, 40), pdf(2), b"s3://bucket/a.png")


def test_what_bedrock_runs_or_signs_itself_is_sized_and_left_alone() -> None:
    own = {"toolUse": {"toolUseId": "s", "name": "web", "input": {"q": "x" * 40}, "type": "server_tool_use"}}
    came = {"toolResult": {"toolUseId": "s", "content": [{"text": "found"}], "type": "nova_web_result"}}
    thought = {"reasoningContent": {"reasoningText": {"text": "x" * 400, "signature": "s"}}}
    sealed = {"reasoningContent": {"redactedContent": "A" * 4_000}}
    decoded = decode_message(model(own, came, thought, sealed, POINT, {"text": "So."}))
    assert (decoded.said, decoded.calls, decoded.returned) == ("So.", (), ())
    assert 0 < decoded.other < 500
    assert CONVERSE.ties(model(own)).calls == ()
    assert [CONVERSE.is_signed(model(block)) for block in (thought, sealed, own)] == [True, True, False]


def test_media_are_spelled_as_converse_takes_them() -> None:
    shown = [
        CONVERSE.media_part(MediaBytes("image/jpeg", b"\xff\xd8\xff")),
        CONVERSE.media_part(MediaBytes("application/pdf", pdf(1))),
        CONVERSE.media_part(MediaBytes("text/uri-list; kind=image", b"s3://bucket/b.JPG")),
        CONVERSE.media_part(MediaBytes("text/uri-list; kind=document", b"https://a.test/x.pdf")),
    ]
    assert [one.get("image", one.get("document", {})).get("format") for one in shown] == ["jpeg", "pdf", "jpeg", None]
    assert shown[2]["image"]["source"] == {"s3Location": {"uri": "s3://bucket/b.JPG"}}
    assert shown[3] == {"text": "https://a.test/x.pdf"}
    messages = [ASKED, model(call("c1")), user(result("c1", *shown[:2]))]
    assert converse_complaint({"messages": messages, "toolConfig": {"tools": [RUN]}}) == ""


def test_every_byte_beside_a_cut_is_as_it_came() -> None:
    rows = {"rows": [{"id": number, "name": f"row {number}"} for number in range(5_000)]}
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": Thinking("hm").signature}}}
    for part in ({"text": LOG}, {"json": rows}):
        session = Session("cut", store=MemoryStore())
        messages = [ASKED, model(thought, call("c1")), user(result("c1", part), POINT)]
        body = request(messages, system=[{"text": "ü"}, POINT])
        sent = session.view(body)
        [cut] = messages_of(sent)[2]["content"][0]["toolResult"]["content"]
        assert "get_artifact" in cut["text"]
        assert len(sent) < len(body) / 2
        assert sent.replace(json.dumps(cut).encode(), json.dumps(part).encode()) == body
        assert session.view(messages) == messages_of(sent)


def test_broken_pairs_are_repaired_as_the_provider_wants_them() -> None:
    image = {"image": {"format": "png", "source": {"bytes": base64.b64encode(png(8, 8, 1, 4)).decode()}}}
    lost = [ASKED, model(call("c1"), call("c2")), user(result("c1", {"text": "a"})), model({"text": "ok"}), ASKED]
    dropped = [ASKED, model(call("c1")), user({"text": "go on"})]
    stray = [ASKED, model({"text": "hm"}), user(result("c9", {"text": "late"}, image), {"text": "go on"})]
    twice = [ASKED, model(call("c1")), user(result("c1", {"json": {"a": 1}}), result("c1", {"json": {"a": 2}}))]
    for messages, words in ((lost, NO_RESULT), (dropped, NO_RESULT), (stray, "late"), (twice, "A second result")):
        sent = Session("pairs", store=MemoryStore()).view(request(messages))
        assert converse_complaint(json.loads(sent)) == "", words
        assert words in json.dumps(messages_of(sent))
    kept = Session("pairs", store=MemoryStore()).view(request(stray))
    assert image in messages_of(kept)[2]["content"]


def test_a_lost_result_is_put_back_from_the_record() -> None:
    session = Session("lost", store=MemoryStore())
    picture = {"image": {"format": "png", "source": {"bytes": base64.b64encode(png(8, 8, 1, 4)).decode()}}}
    whole = [
        ASKED,
        model(call("c1"), call("c2")),
        user(result("c1", {"text": "one"}, picture), result("c2", {"text": "two"})),
    ]
    session.view(request(whole))
    later = [*whole, model({"text": "ok"}), ASKED]
    for results in ([], [result("c1")], [result("c2", {"text": "two"})]):
        given = [*later[:2], user(*results, {"text": "hm"}), *later[3:]]
        sent = messages_of(session.view(request(given)))
        assert sent[2]["content"][:2] == whole[2]["content"], results


def test_roles_alternate_around_a_summary() -> None:
    messages = [ASKED, model(call("c1")), user(result("c1", {"text": "a"})), model({"text": "ok"}), ASKED]
    for upto in range(len(messages) + 1):
        made = compacted(messages, upto, "So far.", CONVERSE)
        assert converse_complaint({"messages": made, "toolConfig": {"tools": [RUN]}}) == "", upto


def test_recall_tools_are_configured_before_the_client_s_own() -> None:
    sent = json.loads(begin(new_router(), TWO, toolConfig={"tools": [RUN, POINT], "toolChoice": {"auto": {}}}).body)
    assert [tool.get("toolSpec", {}).get("name") for tool in sent["toolConfig"]["tools"]] == [*NAMES, "run", None]
    assert sent["toolConfig"]["toolChoice"] == {"auto": {}}
    assert CONVERSE.tool_names(sent) == [*NAMES, "run"]


def test_no_tool_is_offered_to_a_client_that_has_none_and_results_are_sent_whole() -> None:
    body = json.dumps({"messages": TWO}).encode()
    begun = new_router().begin("POST", WHOLE, {}, body)
    assert isinstance(begun, Exchange)
    assert (begun.offers, begun.body) == (False, body)


def recall_in(body: bytes) -> Tool:
    found = re.search(rb"art_\w+", body)
    assert found is not None
    return Tool("get_artifact", {"id": found[0].decode(), "lines": "1500"})


def ask(exchange: Exchange, is_streamed: bool, said: list[Part]) -> bytes | None:
    """What the client gets of an answer; None where another round follows."""
    if not is_streamed:
        return exchange.read_answer(json.dumps(SPELLINGS["converse"].whole(said, 1, None)).encode())
    shown = exchange.feed_chunk(streamed(*said))
    rest = exchange.end_stream()
    return None if rest is None else shown + rest


@pytest.mark.parametrize("is_streamed", [False, True], ids=["whole", "streamed"])
def test_a_hidden_round_is_answered_and_put_back_later(is_streamed: bool) -> None:
    router = new_router()
    path = STREAMED if is_streamed else WHOLE
    first = begin(router, TWO, path)
    assert ask(first, is_streamed, [Thinking("hm"), recall_in(first.body)]) is None, "another round follows"
    hidden = messages_of(first.body)[3:]
    assert hidden[0]["content"][0]["reasoningContent"]["reasoningText"]["signature"] == Thinking("hm").signature
    assert "line 1499 of" in hidden[1]["content"][0]["toolResult"]["content"][0]["text"]
    assert converse_complaint(json.loads(first.body)) == ""
    got = ask(first, is_streamed, [Text("It prints lines.")])
    assert got is not None
    assert b"get_artifact" not in got
    assert b"end_turn" in got
    later = begin(router, [*TWO, model({"text": "It prints lines."}, POINT), ASKED], path)
    assert messages_of(later.body)[3:5] == hidden
    assert messages_of(later.body)[5]["content"][-1] == POINT, "the client's marker stays behind its answer"


def test_blocks_are_numbered_through_all_rounds_and_the_last_bill_counts() -> None:
    first = begin(new_router(), TWO)
    shown = first.feed_chunk(streamed(Text("Let me look."), recall_in(first.body)))
    assert first.end_stream() is None
    last = streamed(Thinking("hm"), Text("It prints"), Tool("run", {"command": "é"}))
    shown += first.feed_chunk(last) + (first.end_stream() or b"")
    events = events_in(shown)
    indexes = [event.data()["contentBlockIndex"] for event in events if "contentBlockIndex" in event.data()]
    assert indexes == sorted(indexes)
    assert set(indexes) == {0, 1, 2, 3}
    names = [event.name for event in events]
    assert (names.count("messageStart"), names[-2:]) == (1, ["messageStop", "metadata"])
    assert first.learn_bill(200, last, complete=True) is not None


def test_a_recall_beside_a_call_of_the_client_waits_for_its_result() -> None:
    router = new_router()
    first = begin(router, TWO)
    got = ask(first, True, [Thinking("hm"), recall_in(first.body), Tool("run", {"command": "pwd"})])
    assert got is not None
    starts = [event.data()["start"]["toolUse"] for event in events_in(got) if event.name == "contentBlockStart"]
    assert [start["name"] for start in starts] == ["run"]
    own = {"toolUse": {**starts[0], "input": {"command": "pwd"}}}
    thought = {"reasoningContent": {"reasoningText": {"text": "hm", "signature": Thinking("hm").signature}}}
    answered = [*TWO, model(thought, own), user(result(starts[0]["toolUseId"], {"text": "/"}))]
    later = messages_of(begin(router, answered).body)
    assert [one["toolUse"]["name"] for one in later[3]["content"] if "toolUse" in one] == ["get_artifact", "run"]
    assert len([one for one in later[4]["content"] if "toolResult" in one]) == 2


SAID: list[Part] = [Text("Let me look."), Tool("get_artifact", {"id": "x"}), Tool("run", {"command": "é"})]


@pytest.mark.parametrize("said", [SAID, SAID[:1], [Text("Ünïcode 🎈"), SAID[2]]], ids=["recall", "words", "call"])
def test_a_stream_gives_the_same_frames_wherever_it_is_cut(said: list[Part]) -> None:
    data = streamed(*said)
    whole = shown_of(data, len(data))
    assert "get_artifact" not in whole.decode("latin-1")
    assert (whole == data) is (said is not SAID), "what is not changed comes in the frames it came in"
    assert b"".join(frame.raw for frame in Frames().feed(whole)) == whole, "every checksum is right"
    for at in some_of(5, range(1, len(data))):
        assert shown_of(data, at) == whole, at


def shown_of(data: bytes, at: int) -> bytes:
    exchange = begin(SessionRouter(each=True, settles=True, store=_STORE), [ASKED])
    shown = exchange.feed_chunk(data[:at]) + exchange.feed_chunk(data[at:])
    return shown + (exchange.end_stream() or b"")


_STORE = MemoryStore()


def test_a_stream_that_breaks_off_is_not_whole_and_keeps_its_bytes() -> None:
    data = streamed(*SAID[:1])
    exchange = begin(new_router(), [ASKED])
    assert [at for at in range(len(data) + 1) if exchange.is_whole(data[:at], True)] == [len(data)]
    for at in range(len(data)):
        broken = begin(SessionRouter(each=True, settles=True, store=_STORE), [ASKED])
        shown = broken.feed_chunk(data[:at]) + (broken.end_stream() or b"")
        assert data.startswith(shown), at


@pytest.mark.parametrize("flip", [1, 128])
def test_from_a_damaged_frame_on_everything_passes_as_it_came(flip: int) -> None:
    data = streamed(*SAID[:1])
    for at in range(0, len(data), 7):
        damaged = bytearray(data)
        damaged[at] ^= flip
        exchange = begin(SessionRouter(each=True, settles=True, store=_STORE), [ASKED])
        shown = exchange.feed_chunk(bytes(damaged)) + (exchange.end_stream() or b"")
        assert shown == bytes(damaged), at


def test_exceptions_and_unknown_events_pass_in_their_frames() -> None:
    stream = FramedStream("events")
    data = b"".join(framed([b'event: error\ndata: {"message":"m"}\n\n', b"event: ping\ndata: {}\n\n"], in_chunks=False))
    assert stream.encode(stream.decode(data)) == data


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (400, "validationException"),
        (429, "throttlingException"),
        (503, "serviceUnavailableException"),
        (500, "modelStreamErrorException"),
    ],
)
def test_a_further_round_that_is_refused_is_an_exception_of_amazon_s(status: int, name: str) -> None:
    """By its name, clients decide whether to ask again."""
    exchange = begin(new_router(), [ASKED])
    [frame] = Frames().feed(exchange.error_event(status, b'{"message": "No."}'))
    assert (frame.headers[":message-type"], frame.headers[":exception-type"]) == ("exception", name)
    assert json.loads(frame.payload) == {"message": "No."}


@pytest.mark.parametrize(
    ("deltas", "block"),
    [
        ([{"text": "a"}, {"text": "b"}], {"text": "ab"}),
        (
            [{"reasoningContent": {"text": "a"}}, {"reasoningContent": {"signature": "s"}}],
            {"reasoningContent": {"reasoningText": {"text": "a", "signature": "s"}}},
        ),
        ([{"reasoningContent": {"redactedContent": "QQ=="}}], {"reasoningContent": {"redactedContent": "QQ=="}}),
        (
            [{"text": "a"}, {"citation": {"title": "t"}}, {"text": "b"}],
            {"citationsContent": {"content": [{"text": "ab"}], "citations": [{"title": "t"}]}},
        ),
    ],
)
def test_blocks_grow_from_their_deltas(deltas: list[Json], block: Json) -> None:
    reply = read_stream(deltas)
    assert (reply.said[0]["content"][0], reply.whole) == (block, True)


def read_stream(deltas: list[Json]) -> Any:
    stream = CONVERSE.stream(NAMES)
    told = [("contentBlockDelta", {"contentBlockIndex": 0, "delta": delta}) for delta in deltas]
    start = {"toolUse": {"toolUseId": "o", "name": "get_artifact"}}
    told += [
        ("contentBlockStart", {"contentBlockIndex": 1, "start": start}),
        ("messageStop", {"stopReason": "tool_use"}),
    ]
    for name, data in told:
        stream.feed(Event(name, json.dumps(data), b""))
    return stream.reply()


def test_an_answer_with_an_unknown_delta_is_not_sent_back_as_if_it_were_known() -> None:
    assert not read_stream([{"text": "a"}, {"of_next_year": 1}]).whole
    assert not read_stream([{"image": {"source": {"bytes": "QQ=="}}}]).whole
    assert CONVERSE.stream(NAMES).reply() is None


def test_usage_counts_what_was_read_and_written_too() -> None:
    told = {"inputTokens": 3, "outputTokens": 5, "cacheReadInputTokens": 100, "cacheWriteInputTokens": 10}
    routed = {"promptRouter": {"invokedModelId": "arn:aws:bedrock:us-east-1::foundation-model/amazon.nova-pro-v1:0"}}
    usage = CONVERSE.usage_in({"usage": told, "trace": routed})
    assert usage is not None
    assert (usage.input, usage.cached, usage.written, usage.output, usage.says_cached) == (113, 100, 10, 5, True)
    assert usage.model.endswith("nova-pro-v1:0")
    bare = CONVERSE.usage_in({"usage": {"inputTokens": 3, "outputTokens": 5}})
    assert bare is not None
    assert (bare.input, bare.says_cached) == (3, False)
    exchange = begin(new_router(), [ASKED])
    assert exchange.learn_bill(200, streamed(Text("x")), complete=True) == CONVERSE.usage_in(
        SPELLINGS["converse"].whole([Text("x")], 1, None)
    )


def test_cache_points_are_markers_that_the_prompt_does_not_contain() -> None:
    long = {"cachePoint": {"type": "default", "ttl": "1h"}}
    fields = {"system": [{"text": "s"}, POINT], "toolConfig": {"tools": [RUN, long]}}
    body = read_request(request([ASKED, model({"text": "ok"}), user({"text": "a"}, POINT)], **fields))
    assert body is not None
    assert [(one.message, one.block, one.seconds) for one in cache_markers(body)] == [
        (-2, 1, 3_600),
        (-1, 1, None),
        (2, 1, None),
    ]
    plain = json.dumps(user({"text": "a"}))
    for marked in (user({"text": "a"}, POINT), user(POINT, {"text": "a"})):
        assert unmarked(json.dumps(marked)) == plain
    quoted = json.dumps(user({"text": json.dumps(POINT)}))
    assert unmarked(quoted) == quoted
    added = CONVERSE.with_cache_marker(body, 0, 4)
    assert added is not None
    assert messages_of(added)[0]["content"] == [*ASKED["content"], {"cachePoint": {"type": "default"}}]
    assert converse_complaint(json.loads(added.replace(b', "ttl": "1h"', b""))) == ""
    assert CONVERSE.with_cache_marker(body, 2, 4) is None, "there is one"
    assert CONVERSE.with_cache_marker(body, 0, 3) is None, "no more are allowed"


def test_errors_are_written_as_amazon_writes_them() -> None:
    assert json.loads(error_body(400, "no", endpoint_of(WHOLE))) == {"message": "keepwhole: no"}


def shape_of(name: str) -> tuple[Any, Any]:
    """A shape of Amazon's own model of the service, and its validator."""
    loaders: Any = pytest.importorskip("botocore.loaders")
    models: Any = pytest.importorskip("botocore.model")
    validate: Any = pytest.importorskip("botocore.validate")
    service = models.ServiceModel(loaders.Loader().load_service_model("bedrock-runtime", "service-2"))
    return service.shape_for(name), validate.ParamValidator()


def test_amazon_s_own_model_of_the_service_accepts_what_is_sent() -> None:
    shape, validator = shape_of("ConverseRequest")
    router = new_router()
    first = begin(router, TWO, WHOLE, system=[{"text": "s"}, POINT])
    bodies = [first.body]
    assert ask(first, False, [Thinking("hm"), recall_in(first.body)]) is None
    bodies.append(first.body)
    media = CONVERSE.result_block("c1", "x", media=MediaBytes("image/png", png(8, 8, 1, 4)))
    bodies.append(json.dumps({"messages": [ASKED, model(call("c1")), {"role": "user", "content": [media]}]}).encode())
    for body in bodies:
        fields = json.loads(body, object_hook=_with_bytes)
        assert validator.validate({"modelId": "m", **fields}, shape).generate_report() == ""
    wrong = validator.validate({"modelId": "m", "messages": [{"role": "user", "content": [{"words": "x"}]}]}, shape)
    assert "Unknown parameter" in wrong.generate_report()


def _with_bytes(fields: Json) -> Json:
    return {**fields, "bytes": base64.b64decode(fields["bytes"])} if isinstance(fields.get("bytes"), str) else fields
