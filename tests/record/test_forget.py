"""Which entries have what is to be forgotten, and which rest on those."""

import base64
import json
from textwrap import wrap

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.media import MediaBytes
from keepwhole.errors import UsageError
from keepwhole.exchange.request_log import LoggedAnswer, RequestFacts, RequestLog
from keepwhole.record.forget import plan_by_result, plan_by_text
from keepwhole.store.protocol import Row

SECRET = "canary-of-the-harbor-hunter2"


def session_of(*texts: str) -> Session:
    session = Session("s", store=MemoryStore())
    for text in texts:
        session.keep("t", None, text)
    return session


def results(session: Session) -> list[Row]:
    return list(session.store.rows("s", kind="result"))


@pytest.mark.parametrize("text", ["", "abc"])
def test_a_string_of_fewer_than_four_characters_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="fewer than 4 characters"):
        plan_by_text(session_of("abcd").store, "s", text)
    assert plan_by_text(session_of("abcd").store, "s", "abcd").seqs == (1,)


def test_requests_and_responses_that_have_a_result_are_forgotten_with_it() -> None:
    session = session_of(SECRET, "harmless")
    log = RequestLog(session)
    without = log.add(json.dumps({"messages": [{"role": "user", "content": "harmless"}]}).encode(), RequestFacts())
    with_it = log.add(json.dumps({"messages": [{"role": "user", "content": SECRET}]}).encode(), RequestFacts())
    assert with_it is not None
    assert without is not None
    log.add_answer(with_it, LoggedAnswer(f"you said {SECRET}".encode(), 200))
    log.add_answer(without, LoggedAnswer(b"nothing", 200))
    planned = plan_by_result(session.store, "s", results(session)[0])
    kinds = {row.seq: (row.kind, row.trace_id) for row in session.store.rows("s")}
    assert [kinds[seq][0] for seq in planned.seqs] == ["result", "request", "response"]
    assert planned.kinds == {"result": 1, "request": 1, "response": 1}


def test_a_short_result_is_in_too_many_places_to_be_looked_for() -> None:
    session = session_of("x" * 23, "y" * 24)
    log = RequestLog(session)
    for letter, count in (("x", 23), ("y", 24)):
        log.add(json.dumps({"messages": [{"role": "user", "content": letter * count}]}).encode(), RequestFacts())
    short, telling = (plan_by_result(session.store, "s", row) for row in results(session))
    assert (short.kinds, telling.kinds) == ({"result": 1}, {"result": 1, "request": 1})


def test_what_a_stream_brings_in_pieces_is_put_together() -> None:
    session = session_of("harmless")
    log = RequestLog(session)
    trace_id = log.add(b'{"messages": []}', RequestFacts())
    assert trace_id is not None
    pieces = [{"choices": [{"delta": {"content": SECRET[:9]}}]}, {"choices": [{"delta": {"content": SECRET[9:]}}]}]
    events = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
    log.add_answer(trace_id, LoggedAnswer(events.encode(), 200))
    assert plan_by_text(session.store, "s", SECRET).kinds == {"response": 1}


def test_a_request_that_is_told_by_another_is_forgotten_with_it() -> None:
    session = session_of("harmless")
    log = RequestLog(session)
    said = [{"role": "user", "content": f"{SECRET} {'x' * 900}"}]
    log.add(json.dumps({"messages": said}).encode(), RequestFacts())
    log.add(json.dumps({"messages": [*said, {"role": "user", "content": "more"}]}).encode(), RequestFacts())
    assert plan_by_text(session.store, "s", SECRET).kinds == {"request": 2}


ESCAPES = {
    "/": "\\/",
    "+": "\\u002B",
    "'": "\\u0027",
    '\\"': "\\u0022",
    "<": "\\u003c",
    "\\u00e4": "\\u00E4",
    "\\ud83d": "\\uD83D",
}
"""How clients on PHP, .NET and Java write characters that others write as they are, or in small letters."""


@pytest.mark.parametrize("secret", ["sk/ab+cd", 'it\'s a "<key>"', "k\u00e4se \U0001f600 ", "C:\\new\\\u00e4"])
@pytest.mark.parametrize("escaped", [(), *((one,) for one in ESCAPES), tuple(ESCAPES)], ids=str)
def test_a_string_is_found_in_requests_whatever_a_client_escapes(secret: str, escaped: tuple[str, ...]) -> None:
    for depth in range(3):
        session = session_of("a result")
        text: object = f"the key is {secret}!"
        for _ in range(depth):
            text = json.dumps({"input": text})
        body = json.dumps({"messages": [{"role": "user", "content": text}]})
        for one in escaped:
            body = body.replace(one, ESCAPES[one])
        RequestLog(session).add(body.encode(), RequestFacts())
        assert plan_by_text(session.store, "s", secret).kinds == {"request": 1}
        assert plan_by_text(session.store, "s", secret.swapcase() + "x").kinds == {}


@pytest.mark.parametrize(
    "data", [b"%PDF-1.4 plain characters alone, 40 of them", b"\x89PNG\r\n\x1a\n" + bytes(range(250))]
)
def test_requests_with_the_bytes_of_an_image_or_a_document_are_forgotten_however_these_are_spelled(data: bytes) -> None:
    session = Session("s", store=MemoryStore())
    plain, urls = base64.b64encode(data).decode(), base64.urlsafe_b64encode(data).decode()
    spellings = (
        plain,
        urls,
        plain.rstrip("="),
        urls.rstrip("="),
        f"data:image/png;name=a;base64,{plain}",
        "\r\n".join(wrap(plain, 64)),
    )
    log = RequestLog(session)
    others = base64.b64encode(data[:20] + b"other" + data[25:]).decode()
    log.add(json.dumps({"messages": [{"role": "user", "content": [{"data": others}]}]}).encode(), RequestFacts())
    for text in spellings:  # before anything is on record to which they could refer
        body = json.dumps({"messages": [{"role": "user", "content": [{"data": text}]}]})
        log.add(body.encode(), RequestFacts())
        log.add(body.replace("/", "\\/").replace("+", "\\u002B").encode(), RequestFacts())  # as .NET and PHP write it
    session.keep_media("look", {}, [MediaBytes("image/png", data)])
    [kept] = results(session)
    assert plan_by_result(session.store, "s", kept).kinds == {"request": 2 * len(spellings), "result": 1}
