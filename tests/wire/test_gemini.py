"""Gemini's spelling: calls without ids, responses that are JSON objects, signatures, and answers in three forms."""

import base64
import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session
from keepwhole.apps.proxy.connection import error_body
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.policies.settings import CAREFUL
from keepwhole.recall.names import NAMES
from keepwhole.wire.dialects import GEMINI, decode_message, dialect_of, endpoint_of, parse_call
from keepwhole.wire.gemini.call_ids import is_made
from keepwhole.wire.pairs import NO_RESULT
from keepwhole.wire.request_body import read_request
from keepwhole.wire.sse import Events
from tests.canonical.pictures import png
from tests.long_run import some_of
from tests.upstream.gemini_rules import gemini_complaint
from tests.upstream.spelling import SPELLINGS, Part, Text, Thinking, Tool, gemini_signature

pytestmark = pytest.mark.usefixtures("recall_from_start")

Json = dict[str, Any]
LOG = "".join(f"line {number} of a long output\n" for number in range(3_000))
STREAMED = "/v1beta/models/gemini-2.5-pro:streamGenerateContent"
WHOLE = "/v1beta/models/gemini-2.5-pro:generateContent"
ASKED: Json = {"role": "user", "parts": [{"text": "What does it print?"}]}
TOOLS = [{"functionDeclarations": [{"name": "run", "description": "Runs.", "parameters": {"type": "object"}}]}]

SHOWS_ONE_IMAGE = Settings(
    home="unused",
    auto=CAREFUL.replace(
        arguments="old",
        keep_steps=1,
        max_loss=1_000,
        start=100,
        keep=dict.fromkeys(CAREFUL.keep, 1),
        worth=0,
        horizon=10,
        min_tokens=50,
        clear_at_least=100,
    ),
)
"""Hides all that is older than one step."""


def call(command: str, **more: Any) -> Json:
    made = {"name": "run", "args": {"command": command}}
    return {"functionCall": made, **({"thoughtSignature": gemini_signature(made)} if more.pop("signed", False) else {})}


def result(response: Any, name: str = "run", **more: Any) -> Json:
    return {"functionResponse": {"name": name, "response": response, **more}}


def model(*parts: Json) -> Json:
    return {"role": "model", "parts": list(parts)}


def user(*parts: Json) -> Json:
    return {"role": "user", "parts": list(parts)}


TWO = [ASKED, model(call("make", signed=True), call("ls")), user(result({"output": LOG}), result({"output": "a"}))]


def request(contents: list[Json], **fields: Any) -> bytes:
    return json.dumps({"contents": contents, "tools": TOOLS, **fields}).encode()


def begin(router: SessionRouter, contents: list[Json], path: str = STREAMED, **fields: Any) -> Exchange:
    begun = router.begin("POST", path, {}, request(contents, **fields))
    assert isinstance(begun, Exchange)
    assert gemini_complaint(json.loads(begun.body)) == ""
    return begun


def contents_of(body: bytes) -> list[Any]:
    return json.loads(body)["contents"]


def streamed(*said: Part) -> bytes:
    return b"".join(SPELLINGS["gemini"].events(list(said), 1, None)).replace(b"\n", b"\r\n")


@pytest.mark.parametrize(
    ("path", "model", "provider", "counts"),
    [
        ("/v1beta/models/gemini-2.5-pro:generateContent", "gemini-2.5-pro", "gemini", False),
        ("/kw-t/v1/models/gemini-3-pro-preview:streamGenerateContent", "gemini-3-pro-preview", "gemini", False),
        ("/v1beta/tunedModels/mine:countTokens", "mine", "gemini", True),
        (
            "/v1/projects/p/locations/europe-west4/publishers/google/models/gemini-2.5-flash:streamGenerateContent",
            *("gemini-2.5-flash", "vertex", False),
        ),
        ("/v1beta1/projects/p/locations/global/endpoints/12:generateContent", "12", "vertex", False),
        ("/v1/publishers/google/models/gemini-2.5-pro:countTokens", "gemini-2.5-pro", "vertex", True),
    ],
)
def test_paths_name_the_model_and_the_provider(path: str, model: str, provider: str, counts: bool) -> None:
    found = endpoint_of(path)
    assert found is not None
    assert (found.dialect, found.model, found.provider, found.counts) == (GEMINI, model, provider, counts)


@pytest.mark.parametrize(
    "path", ["/v1beta/models", "/v1beta/models/m:embedContent", "/v1/publishers/x/models/m:rawPredict"]
)
def test_other_paths_are_passed_on(path: str) -> None:
    assert endpoint_of(path) is None


def test_messages_are_recognized_and_calls_are_read_in_either_spelling() -> None:
    assert dialect_of([ASKED]) is GEMINI
    assert parse_call(call("make")).parsed() == {"command": "make"}
    assert parse_call({"function_call": {"name": "run", "args": {}}}).dialect is GEMINI
    assert parse_call({"name": "run", "args": {}, "id": "c1"}).call_id == "c1"
    snake = {"role": "user", "parts": [{"function_response": {"name": "run", "response": {"output": "x"}}}]}
    assert decode_message(snake).returned[0].path == ("parts", 0, "function_response", "response", "output")


def test_calls_without_ids_are_matched_by_order_and_name_inside_a_step() -> None:
    again = [
        *TWO,
        model(call("ls"), {"functionCall": {"name": "look", "args": {}}}),
        user(result({}, "look"), result({})),
    ]
    read = read_request(request(again))
    assert read is not None
    decoded = [decode_message(message) for message in read.messages]
    made, later = ([one.call_id for one in decoded[at].calls] for at in (1, 3))
    assert len({*made, *later}) == 4, "the same call again has another id"
    assert all(map(is_made, (*made, *later)))
    assert [one.call_id for one in decoded[2].returned] == made
    assert GEMINI.ties(read.messages[4]).results == tuple(reversed(later))
    assert not GEMINI.is_broken(read.messages)
    grown = read_request(request([*again, model({"text": "Done."})]), read.remembered())
    assert grown is not None
    assert grown.messages[:5] == read.messages, "ids stay as the conversation grows"
    assert b"kw-run" not in read.joined([*read.messages[:1], *map(dict, read.messages[1:])]), "no made id is sent"


def test_a_turn_begins_with_the_first_of_the_models_messages_in_a_row() -> None:
    contents = [ASKED, model({"text": "a"}), ASKED, model({"text": "b"}), model(call("ls")), user(result({}))]
    assert [GEMINI.start_of_turn(contents, length) for length in range(1, 7)] == [0, 1, 1, 3, 3, 3]


def test_ids_of_the_client_stay() -> None:
    own = [
        ASKED,
        model({"functionCall": {"id": "c7", "name": "run", "args": {}}}),
        user(result({"output": "x"}, id="c7")),
    ]
    assert GEMINI.with_call_ids(own) == own


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"output": "text"}, [("text", ("output",))]),
        ({"error": "it failed"}, [("it failed", ("error",))]),
        ({"stdout": "a", "stderr": "b", "code": 1}, [("a", ("stdout",)), ("b", ("stderr",))]),
        ({"content": [{"type": "text", "text": "of MCP"}]}, [("of MCP", ("content", 0, "text"))]),
        ({"result": {"content": [{"type": "text", "text": "x"}]}}, [("x", ("result", "content", 0, "text"))]),
        ({"rows": [{"id": 1}]}, [('{"rows": [{"id": 1}]}', ())]),
        ({"count": 3}, [('{"count": 3}', ())]),
    ],
)
def test_a_response_is_any_object(response: Json, expected: list[tuple[str, tuple[str, ...]]]) -> None:
    returned = decode_message(user(result(response))).returned
    at = ("parts", 0, "functionResponse", "response")
    assert [(one.text, one.path) for one in returned] == [(text, (*at, *path)) for text, path in expected]
    assert [one.is_error for one in returned] == ["error" in response] * len(returned)


def test_what_is_cut_stays_a_json_object_and_every_other_byte_is_as_it_came() -> None:
    rows = {"rows": [{"id": number, "name": f"row {number}"} for number in range(5_000)]}
    for response in ({"output": LOG, "code": 0}, rows):
        session = Session("cut", store=MemoryStore())
        body = request([ASKED, model(call("make", signed=True)), user(result(response))], cachedExtra="ü")
        sent = session.view(body)
        cut = contents_of(sent)[2]["parts"][0]["functionResponse"]["response"]
        assert isinstance(cut, dict)
        assert "get_artifact" in cut["output"]
        assert len(sent) < len(body) / 2
        ends = body.index(b'{"functionResponse"')
        assert sent[:ends] == body[:ends], "signatures, calls and what comes before are untouched"
        assert session.view([ASKED, model(call("make", signed=True)), user(result(response))]) == contents_of(sent)


def test_images_are_results_in_a_response_and_behind_it() -> None:
    data = base64.b64encode(png(64, 48, 1, 40)).decode()
    image = {"inlineData": {"mimeType": "image/png", "data": data}}
    returned = decode_message(user(result({"output": "x"}, parts=[image]), image)).returned
    assert [one.path[-2:] for one in returned if one.media] == [("parts", 0), ("parts", 1)]
    inside, behind = (one for one in returned if one.media)
    assert behind.replacement("gone") == {"text": "gone"}
    shown = inside.replacement("gone")["inlineData"]
    assert (shown["mimeType"], base64.b64decode(shown["data"])) == ("text/plain", b"gone"), "no text part may be there"
    assert decode_message(user({"text": "see"}, image)).returned == ()
    assert decode_message(user({"text": "see"}, image)).other > 0


def test_broken_pairs_are_repaired_as_the_provider_wants_them() -> None:
    lost = [ASKED, model(call("make"), call("ls")), user(result({"output": "a"})), model({"text": "ok"}), ASKED]
    stray = [ASKED, model({"text": "hm"}), user(result({"output": "late"}), {"text": "go on"})]
    for contents, words in ((lost, NO_RESULT), (stray, "late")):
        sent = contents_of(Session("pairs", store=MemoryStore()).view(request(contents)))
        assert gemini_complaint({"contents": sent}) == ""
        assert words in json.dumps(sent)
        assert "kw-run" not in json.dumps([part for one in sent for part in one["parts"] if "functionResponse" in part])


@st.composite
def steps(draw: st.DrawFn) -> tuple[list[Json], int, int]:
    """A conversation with calls, the number of results it lacks, and of results that no call waits for."""
    contents, lost, strays = [ASKED], 0, 0
    with_ids = draw(st.booleans())
    for number in range(draw(st.integers(1, 3))):
        calls = [call(f"make {number}") for _ in range(draw(st.integers(1, 2)))]
        results = [result({"output": f"made {number} {at}"}) for at in range(len(calls))]
        for at, (one, its) in enumerate(zip(calls, results, strict=True)):
            if with_ids:
                one["functionCall"]["id"] = its["functionResponse"]["id"] = f"c{number}_{at}"
        if draw(st.booleans()):
            results, lost = results[1:], lost + 1
        elif draw(st.booleans()):
            more = {"id": f"gone_{number}"} if with_ids else {}
            results, strays = [*results, result({"output": "nobody asked"}, **more)], strays + 1
        contents += [model(*calls), user({"text": "go on"}, *results)]
    return contents, lost, strays


@given(steps())
def test_a_broken_pair_is_found_wherever_it_is_and_whole_ones_are_left_alone(made: tuple[list[Json], int, int]) -> None:
    contents, lost, strays = made
    mended, repairs = GEMINI.repair(contents)
    assert GEMINI.is_broken(contents) == bool(lost + strays)
    assert (repairs.calls_without_result, repairs.total) == (lost, lost + strays)
    assert (mended is contents) == (lost + strays == 0)
    assert gemini_complaint({"contents": list(mended)}) == ""


def test_a_result_alone_that_answers_no_call_becomes_text() -> None:
    stray = [ASKED, model({"text": "hm"}), user(result({"output": "nobody asked"}))]
    assert GEMINI.is_broken(stray)
    mended, repairs = GEMINI.repair(stray)
    assert (repairs.total, mended[:2]) == (1, stray[:2])
    assert any("nobody asked" in part["text"] for part in mended[2]["parts"])


def test_recall_tools_are_declared_beside_the_client_s_own() -> None:
    router = SessionRouter(each=True, settles=True, store=MemoryStore())
    search = {"functionDeclarations": TOOLS[0]["functionDeclarations"], "googleSearch": {}}
    sent = json.loads(begin(router, TWO, tools=[{"codeExecution": {}}, search]).body)
    assert sent["tools"][0] == {"codeExecution": {}}
    assert [one["name"] for one in sent["tools"][1]["functionDeclarations"]] == [*NAMES, "run"]


@pytest.mark.parametrize(
    "fields", [{"tools": [{"googleSearch": {}}]}, {"tools": [], "cachedContent": "cachedContents/1"}]
)
def test_no_tool_is_offered_where_the_provider_takes_none_and_results_are_sent_whole(fields: Json) -> None:
    router = SessionRouter(each=True, settles=True, store=MemoryStore())
    begun = router.begin("POST", WHOLE, {}, request(TWO, **fields))
    assert isinstance(begun, Exchange)
    assert (begun.offers, begun.body) == (False, request(TWO, **fields))


def test_one_tool_in_place_of_a_list_gets_the_recall_tools_too() -> None:
    """Google's own examples for `curl` write them so."""
    tool = {"function_declarations": TOOLS[0]["functionDeclarations"]}
    begun = begin(SessionRouter(each=True, settles=True, store=MemoryStore()), TWO, tools=tool)
    declared = json.loads(begun.body)["tools"]["function_declarations"]
    assert [one["name"] for one in declared] == [*NAMES, "run"]
    assert "get_artifact" in json.dumps(contents_of(begun.body)), "a long result is cut"


def recall_in(body: bytes) -> Tool:
    found = re.search(rb"art_\w+", body)
    assert found is not None
    return Tool("get_artifact", {"id": found[0].decode(), "lines": "1500"})


@pytest.mark.parametrize("form", ["events", "whole", "array", "events with numbers", "array with numbers"])
def test_a_hidden_round_is_answered_and_put_back_later(form: str) -> None:
    router = SessionRouter(each=True, settles=True, store=MemoryStore())
    path = WHOLE if form == "whole" else STREAMED
    first = begin(router, TWO, path)
    recall = recall_in(first.body)
    assert ask(first, form, [Thinking("hm"), recall]) is None, "another round follows"
    hidden = contents_of(first.body)[3:]
    assert hidden[0]["parts"][-1]["thoughtSignature"], "signatures go back as they came"
    assert "line 1499 of" in hidden[1]["parts"][0]["functionResponse"]["response"]["output"]
    assert gemini_complaint(json.loads(first.body)) == ""
    got = ask(first, form, [Text("It prints lines.")])
    assert got is not None
    assert b"get_artifact" not in got
    assert (b"STOP" in got) == ("numbers" not in form)
    assert first.is_whole(got, form.startswith("events"))
    usage = first.learn_bill(200, got, complete=True)
    assert usage is not None
    later = begin(router, [*TWO, model({"text": "It prints lines."}), ASKED], path)
    assert contents_of(later.body)[3:5] == hidden


def ask(exchange: Exchange, form: str, said: list[Part]) -> bytes | None:
    """What the client gets of an answer in one of its forms; None where another round follows. Reasons are numbers for
    clients that ask for `$alt=json;enum-encoding=int`, as Google's generated ones do."""
    data = streamed(*said)
    if "numbers" in form:
        data = data.replace(b'"STOP"', b"1")
    if form.startswith("events"):
        shown = exchange.feed_chunk(data)
        rest = exchange.end_stream()
        return None if rest is None else shown + rest
    body = SPELLINGS["gemini"].whole(said, 1, None)
    chunks = [event.data() for event in Events().feed(data)]
    return exchange.read_answer(json.dumps(body if form == "whole" else chunks).encode())


def in_pieces(name: str, **given: str) -> list[Json]:
    """A call whose arguments are streamed, as Vertex AI does where a client asks for it."""
    pieces: list[Json] = [{"name": name, "willContinue": True}]
    for key, value in given.items():
        values = [{"jsonPath": f"$.{key}", "stringValue": piece} for piece in (value[:3], value[3:])]
        pieces += [{"partialArgs": [one], "willContinue": True} for one in values]
    first, *rest = [{"functionCall": piece} for piece in (*pieces, {})]
    return [{**first, "thoughtSignature": gemini_signature({"name": name, "args": given})}, *rest]


def test_a_call_in_pieces_is_answered_and_none_of_them_is_shown() -> None:
    first = begin(SessionRouter(each=True, settles=True, store=MemoryStore()), TWO)
    recall = recall_in(first.body)
    chunks = [{"candidates": [{"content": model(part)}]} for part in in_pieces(recall.name, **recall.arguments)]
    chunks[-1]["candidates"][0]["finishReason"] = "STOP"
    stream = b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in chunks)
    assert b"functionCall" not in first.feed_chunk(stream)
    assert first.end_stream() is None, "another round follows"
    said, answer = contents_of(first.body)[3:]
    assert said["parts"][0]["functionCall"] == {"name": recall.name, "args": recall.arguments}
    assert "line 1499 of" in answer["parts"][0]["functionResponse"]["response"]["output"]
    assert gemini_complaint(json.loads(first.body)) == ""
    theirs = [{"candidates": [{"content": model(part)}]} for part in in_pieces("run", command="pwd")]
    theirs[-1]["candidates"][0]["finishReason"] = "STOP"
    stream = b"".join(f"data: {json.dumps(chunk)}\r\n\r\n".encode() for chunk in theirs)
    shown = first.feed_chunk(stream) + (first.end_stream() or b"")
    assert [event.data()["candidates"] for event in Events().feed(shown)] == [one["candidates"] for one in theirs]


def test_a_recall_beside_a_call_of_the_client_waits_for_its_result() -> None:
    router = SessionRouter(each=True, settles=True, store=MemoryStore())
    first = begin(router, TWO)
    got = ask(first, "events", [Thinking("hm"), recall_in(first.body), Tool("run", {"command": "pwd"})])
    assert got is not None
    shown = [part for event in Events().feed(got) for part in event.data()["candidates"][0]["content"]["parts"]]
    assert [part["functionCall"]["name"] for part in shown if "functionCall" in part] == ["run"]
    answered = [*TWO, model(*shown), user(result({"output": "/"}))]
    later = contents_of(begin(router, answered).body)
    assert [part["functionCall"]["name"] for part in later[3]["parts"] if "functionCall" in part] == [
        "get_artifact",
        "run",
    ]
    assert [part["functionResponse"]["name"] for part in later[4]["parts"]] == ["get_artifact", "run"]


SAID: list[Part] = [Text("Let me look."), Tool("get_artifact", {"id": "x"}), Tool("run", {"command": "é"})]


@pytest.mark.parametrize("said", [SAID, SAID[:1], [Text("Ünïcode 🎈"), SAID[2]]], ids=["recall", "words", "call"])
def test_a_stream_gives_the_same_wherever_it_is_cut(said: list[Part]) -> None:
    data = streamed(*said)
    whole = shown_of(data, len(data))
    assert "get_artifact" not in whole.decode()
    for at in some_of(5, range(1, len(data))):
        assert shown_of(data, at) == whole, at


def shown_of(data: bytes, at: int) -> bytes:
    exchange = begin(SessionRouter(each=True, settles=True, store=_STORE), _SHORT)
    shown = exchange.feed_chunk(data[:at]) + exchange.feed_chunk(data[at:])
    return shown + (exchange.end_stream() or b"")


_STORE = MemoryStore()
_SHORT = [ASKED]


def test_a_stream_that_breaks_off_is_not_whole() -> None:
    data = streamed(*SAID)
    assert GEMINI.is_whole(data, True)
    assert not [at for at in range(len(data) - 4) if GEMINI.is_whole(data[:at], True)]
    array = json.dumps([event.data() for event in Events().feed(data)]).encode()
    assert GEMINI.is_whole(array, False)
    assert not [at for at in range(len(array)) if GEMINI.is_whole(array[:at], False)]


def test_errors_are_written_as_google_writes_them() -> None:
    body = json.loads(error_body(400, "no", endpoint_of(WHOLE)))
    assert body == {"error": {"code": 400, "message": "keepwhole: no", "status": "INVALID_ARGUMENT"}}
    [event] = Events().feed(GEMINI.error_event({"code": 503, "message": "m", "status": "UNAVAILABLE"}))
    assert event.data() == {"error": {"code": 503, "message": "m", "status": "UNAVAILABLE"}}
    [event] = Events().feed(GEMINI.error_event({"type": "api_error", "message": "m"}))
    assert event.data()["error"]["status"] == "INTERNAL"
    exchange = begin(SessionRouter(each=True, settles=True, store=MemoryStore()), [ASKED])
    [event] = Events().feed(exchange.error_event(429, b"slow down"))
    assert (event.data()["error"]["code"], event.data()["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")


def test_an_image_beside_a_response_is_hydrated_as_an_image() -> None:
    """A file of text takes its place while it is hidden, and the whole part takes the place of that."""
    pictures = (base64.b64encode(png(1280, 800, number, 600)).decode() for number in range(5))
    images = [{"inlineData": {"mimeType": "image/png", "data": one}} for one in pictures]
    contents = [ASKED]
    for image in images:
        contents += [model(call("look")), user(result({"output": "Seen."}, parts=[image]))]
    session = Session("s", store=MemoryStore(), settings=SHOWS_ONE_IMAGE)
    sent = contents_of(session.view(request(contents)))
    [hidden] = sent[2]["parts"][0]["functionResponse"]["parts"]
    assert hidden["inlineData"]["mimeType"] == "text/plain"
    assert session.hydrate(sent) == contents


def test_what_a_response_refers_to_beside_it_keeps_its_name_where_it_is_hidden() -> None:
    contents = [ASKED]
    for number in range(5):
        data = base64.b64encode(png(1280, 800, number, 600)).decode()
        image = {"inlineData": {"mimeType": "image/png", "data": data, "displayName": f"{number}.png"}}
        response = {"output": "Seen.", "screenshot": {"$ref": f"{number}.png"}}
        contents += [model(call("run")), user(result(response, "run", parts=[image]))]
    assert gemini_complaint(json.loads(request(contents))) == ""
    session = Session("s", store=MemoryStore(), settings=SHOWS_ONE_IMAGE)
    sent = json.loads(session.view(request(contents)))
    assert "text/plain" in json.dumps(sent), "else nothing is hidden"
    assert gemini_complaint(sent) == ""


def test_arguments_of_a_call_without_an_id_are_hydrated() -> None:
    """A view of them would get an id of its own."""
    contents = [ASKED]
    for number in range(8):
        written = {"name": "run", "args": {"content": "".join(f"value_{number}_{line} = 1\n" for line in range(200))}}
        contents += [model({"functionCall": written}), user(result({"output": f"Written {number}."}))]
    session = Session("s", store=MemoryStore(), settings=SHOWS_ONE_IMAGE)
    sent = contents_of(session.view(request(contents)))
    assert "this view hides them" in json.dumps(sent[1]), "else nothing is hidden"
    assert session.hydrate(sent) == contents
