"""The request log: any past request can be read byte for byte, and costs only the bytes that were new in it."""

import copy
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical.manifest import ShownPiece, decode_manifest
from keepwhole.config import Settings
from keepwhole.errors import Damaged, NotFound, NotStored
from keepwhole.exchange import manifest_writer
from keepwhole.exchange.request_log import NO_ANSWER, AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.store.protocol import Store, entry_of
from keepwhole.store.verify import verify
from keepwhole.transfer.archive import export_session, import_session
from tests.build import NOON, opened, stored_bytes
from tests.build import request as drafted
from tests.promises import conversations as talk

LONG = "".join(f"line {number} of a long output é\n" for number in range(2_000))
TOOLS = [{"name": f"tool_{number}", "description": "what it does " * 30} for number in range(20)]
KEYS = {"openai_responses": "input", "gemini": "contents"}


def session(store: Store | None = None, **fields: Any) -> Session:
    return Session("s", store=store or MemoryStore(), settings=Settings(home="unused", **fields))


def request(dialect: str, messages: list[Any], **fields: Any) -> bytes:
    return json.dumps({"model": "m", KEYS.get(dialect, "messages"): messages, "tools": TOOLS, **fields}).encode()


def step(dialect: str, id: str, text: str) -> list[dict[str, Any]]:
    return [
        *talk.call_messages(dialect, [(id, "bash", {"command": f"run {id}"})]),
        *talk.result_messages(dialect, [(id, text)]),
    ]


def marked(messages: list[Any]) -> list[Any]:
    """The messages with the cache marker where a client puts it: on the last one's last block."""
    out = copy.deepcopy(messages)
    last = out[-1]
    blocks = last["content"] if isinstance(last["content"], list) else [{"type": "text", "text": last["content"]}]
    last["content"] = [*blocks[:-1], {**blocks[-1], "cache_control": {"type": "ephemeral"}}]
    return out


def manifests(store: Store) -> list[bytes]:
    return [stored_bytes(store, row) for row in store.rows("s", kind="request")]


def texts_in(manifest: bytes) -> list[ShownPiece]:
    return [piece for piece in decode_manifest(manifest) if isinstance(piece, ShownPiece)]


# Byte for byte

WORDS = st.text(st.characters(exclude_categories=()), max_size=30)
RESULTS = st.one_of(
    WORDS, st.sampled_from((LONG, LONG[:3_000], "short", "{" * 500, '"quoted" ' * 100, "\ud800 half " * 60))
)
MOVES = st.lists(
    st.tuples(
        st.sampled_from(("step", "step", "step", "words", "fork", "again", "marker", "other", "odd", "garbage")),
        RESULTS,
    ),
    min_size=1,
    max_size=10,
)
SPELLINGS = st.sampled_from(
    ({}, {"ensure_ascii": False}, {"indent": 1}, {"separators": (",", ":")}, {"indent": "\t", "ensure_ascii": False})
)


def spelled(dialect: str, messages: list[Any], how: dict[str, Any]) -> bytes:
    body = {"model": "m", "system": "be good " * 50, KEYS.get(dialect, "messages"): messages, "tools": TOOLS}
    return json.dumps(body, **how).encode("utf-8", "replace" if "ensure_ascii" in how else "strict")


def send_moves(
    talker: Session, sent: RequestLog, dialect: str, moves: list[tuple[str, str]], how: dict[str, Any]
) -> dict[str, bytes]:
    """Send the requests of a conversation that takes these moves; return the bytes of each, by trace id."""
    found: dict[str, bytes] = {}
    messages: list[Any] = [talk.user_message("What is wrong?", dialect)]
    for number, (move, text) in enumerate(moves):
        branch = "main"
        if move == "step":
            messages += step(dialect, f"c{number}", text)
        elif move == "words":
            messages.append(talk.assistant_message(text, dialect))
        elif move == "fork":
            del messages[1 + len(messages) // 2 :]
        body = spelled(dialect, marked(messages) if move == "marker" and "content" in messages[-1] else messages, how)
        if move == "other":
            branch = "helper"
            body = spelled(dialect, [talk.user_message(text, dialect)], how)
        elif move == "odd":
            body = b' {"a" :1,"a":2 , "messages" : [ ' + json.dumps(text).encode() + b" ,{}, 1E5,-0 ] }\n"
        elif move == "garbage":
            body = text.encode("utf-8", "surrogatepass") + b'\xff"'
        data = talker.view(body)
        trace_id = sent.add(data, RequestFacts(dialect=dialect, branch=branch))
        assert trace_id is not None
        found[trace_id] = data
    return found


def assert_comes_back(store: Store, name: str, found: dict[str, bytes]) -> None:
    """The log of a session has exactly these requests, in this order, and the record verifies."""
    sent = RequestLog(Session(name, store=store, settings=Settings(home="unused")))
    assert {trace_id: sent.body(trace_id) for trace_id in found} == found
    assert [each.request.trace_id for each in sent.all()] == list(found)
    report = verify(store, name)
    assert report.whole, report.findings


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_a_request_comes_back_byte_for_byte(dialect: str) -> None:
    talker = session()
    body = talker.view(request(dialect, [talk.user_message("What is wrong?", dialect), *step(dialect, "c1", LONG)]))
    log = RequestLog(talker)
    trace_id = log.add(body)
    assert trace_id is not None
    assert log.body(trace_id) == body


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(talk.DIALECTS), MOVES, SPELLINGS, st.booleans())
def test_any_requests_come_back_byte_for_byte(
    dialect: str, moves: list[tuple[str, str]], how: dict[str, Any], restarts: bool
) -> None:
    store = MemoryStore()
    talker = session(store, models={"default": {"window": 4_000}})
    found = send_moves(talker, RequestLog(talker), dialect, moves, how)
    if restarts:
        found |= send_moves(session(store), RequestLog(session(store)), dialect, moves, how)
    assert_comes_back(store, "s", found)
    other = MemoryStore()
    import_session(other, export_session(store, store.sessions()[0]), "copy")
    assert_comes_back(other, "copy", found)


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_requests_come_back_after_the_store_is_opened_again(tmp_path: Path, dialect: str) -> None:
    moves = [("step", LONG), ("marker", ""), ("step", "short"), ("other", "é"), ("step", LONG + "x"), ("fork", "")]
    with tempfile.TemporaryDirectory(dir=tmp_path) as folder:
        store = SqliteStore(folder)
        talker = session(store)
        found = send_moves(talker, RequestLog(talker), dialect, moves, {})
        store.close()
        again = SqliteStore(folder)
        assert_comes_back(again, "s", found)
        again.close()


def test_a_result_that_is_cut_is_not_stored_again_and_neither_is_a_whole_one() -> None:
    store = MemoryStore()
    talker = session(store)
    messages = [
        talk.user_message("?"),
        *step("anthropic", "c1", LONG),
        *step("anthropic", "c2", "some text " * 50),
    ]
    body = talker.view(request("anthropic", messages))
    assert len(body) < len(LONG)
    RequestLog(talker).add(body)
    shown = texts_in(manifests(store)[0])
    assert [bool(each.decision) for each in shown] == [True, False]
    assert b"line 1 of a long output" not in manifests(store)[0]


@pytest.mark.parametrize("how", ["ascii", "utf8", "markup", "by hand"])
def test_a_result_is_named_in_the_spelling_it_was_sent_in_or_not_at_all(how: str) -> None:
    store = MemoryStore()
    talker = session(store)
    messages = [talk.user_message("?"), *step("anthropic", "c1", "<b>é</b> & more " * 40)]
    body = json.dumps({"messages": messages}, ensure_ascii=how == "ascii")
    if how == "markup":
        body = body.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    elif how == "by hand":
        body = body.replace("<", "\\u003C")
    data = talker.view(body.encode())
    sent = RequestLog(talker)
    assert sent.body(sent.add(data) or "") == data
    assert [each.spelling for each in texts_in(manifests(store)[0])] == [how][: how != "by hand"]


def test_a_text_whose_bytes_are_those_of_a_result_that_is_no_text_comes_back_too() -> None:
    store = MemoryStore()
    talker = session(store)
    talker.keep("read_file", None, "\ud800".encode("utf-8", "surrogatepass") * 300)
    body = json.dumps({"messages": [talk.user_message("\ud800" * 300)]}).encode()
    sent = RequestLog(talker)
    assert sent.body(sent.add(body) or "") == body


def test_what_is_put_together_wrong_is_never_given_out() -> None:
    store = MemoryStore()
    wrong = drafted(store, digest="0" * 64)
    opened(store)
    store.append("s", [wrong])
    with pytest.raises(Damaged, match="not what was sent"):
        RequestLog(session(store)).body(wrong.header.trace_id)
    assert [finding.seq for finding in verify(store, "s").findings] == [1]


def test_a_decision_that_came_later_leaves_earlier_requests_as_they_were() -> None:
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    messages = [talk.user_message("?"), *step("anthropic", "c1", LONG)]
    body = talker.view(request("anthropic", messages))
    first = sent.add(body)
    row = next(store.rows("s", kind="result"))
    talker.undo(row.trace_id)
    messages.append(talk.assistant_message("I see."))
    later = talker.view(request("anthropic", messages))
    second = sent.add(later)
    assert first is not None
    assert second is not None
    assert len(later) > 2 * len(body)
    assert (sent.body(first), sent.body(second)) == (body, later)
    assert len(manifests(store)[1]) < 2_000


# At the cost of what is new


def requests_with_markers(steps: int, branch: str = "") -> list[list[Any]]:
    """The messages of each request of a conversation whose cache marker moves to the newest message."""
    messages: list[Any] = [talk.user_message(f"{branch} is broken. " * 20)]
    found = [marked(messages)]
    for number in range(steps):
        text = "".join(f"{branch} {number} {line} of what came\n" for line in range(40))
        messages += step("anthropic", f"{branch}{number}", text)
        found.append(marked(messages))
    return found


def test_a_long_conversation_stores_what_is_new_and_not_what_is_said_again() -> None:
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    bodies = [talker.view(request("anthropic", messages)) for messages in requests_with_markers(100)]
    names = [sent.add(body) for body in bodies]
    sizes = list(map(len, manifests(store)))
    assert max(sizes[1:]) < 1_500
    assert sum(sizes) < len(bodies[-1])
    assert [sent.body(name) for name in names if name] == bodies
    assert sent.all()[50].request.same > 0.9 * len(bodies[49]) - len(json.dumps(TOOLS))


def test_a_long_text_is_not_stored_again_where_only_the_marker_beside_it_moves() -> None:
    store = MemoryStore()
    sent = RequestLog(session(store))
    pasted = [{"role": "user", "content": [{"type": "text", "text": LONG}]}]
    for body in (request("anthropic", marked(pasted)), request("anthropic", pasted)):
        assert sent.body(sent.add(body) or "") == body
    assert len(manifests(store)[0]) > len(LONG)
    assert len(manifests(store)[1]) < 500


def test_branches_that_take_turns_are_each_written_against_their_own() -> None:
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    talks = [
        [request("anthropic", messages) for messages in requests_with_markers(12, name)]
        for name in ("main", "other", "third")
    ]
    for number in range(12):
        for branch, bodies in zip(("main", "other", "third"), talks, strict=True):
            talker.view(bodies[number])
            sent.add(bodies[number], RequestFacts(branch=branch))
    assert max(map(len, manifests(store)[3:])) < 1_500
    steps = {each.seq: each.request for each in sent.all()}
    assert all(steps[each.base].branch == each.branch for each in list(steps.values())[3:] if each.base)


def test_a_line_of_requests_ends_and_one_stands_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifest_writer, "_LONGEST_CHAIN", 5)
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    bodies = [request("anthropic", messages) for messages in requests_with_markers(12)]
    names = [sent.add(body) for body in bodies]
    alone = [number for number, each in enumerate(sent.all()) if each.request.base is None]
    assert alone == [0, 6, 12]
    assert [sent.body(name) for name in names if name] == bodies


# Answers


def test_a_request_is_listed_with_its_answer_and_without_one_if_there_is_none() -> None:
    talker = session()
    sent = RequestLog(talker)
    body = request("anthropic", [talk.user_message("?")])
    one = sent.add(
        body, RequestFacts("anthropic", "m", tokens_whole=9, tokens_sent=5, predicted=4, edited=2, decisions=1)
    )
    two = sent.add(body)
    assert one is not None
    assert two is not None
    assert sent.add_answer(
        one,
        LoggedAnswer(
            b"\xffdata: x\n\n", 200, "complete", "msg_1", AnswerFacts(1, 2, 3, 4, 5, 6, answered_by="m", written_hour=2)
        ),
    )
    first, second = sent.all()
    assert first.response is not None
    assert (first.outcome, first.response.status, first.response.response_id) == ("complete", 200, "msg_1")
    told = [1, 2, 3, 4, 5, 6, None, None, None, "m", 2]
    assert [getattr(first.response, name) for name in AnswerFacts._fields] == told
    assert (first.request.predicted, first.request.tokens_whole, first.request.size) == (4, 9, len(body))
    assert (second.outcome, second.response) == (NO_ANSWER, None)
    assert sent.response(one) == b"\xffdata: x\n\n"
    with pytest.raises(NotFound):
        sent.response(two)
    with pytest.raises(NotFound):
        sent.body("trace_unknown")


def test_a_process_that_is_killed_leaves_a_request_without_an_answer(tmp_path: Path) -> None:
    script = (
        "import os, signal\n"
        "from keepwhole import Session, SqliteStore\n"
        "from keepwhole.exchange.request_log import RequestLog\n"
        f"sent = RequestLog(Session('s', store=SqliteStore({str(tmp_path)!r})))\n"
        "print(sent.add(b'{\"messages\": [{}]}'), flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, env=os.environ, check=False)
    trace_id = done.stdout.decode().strip()
    store = SqliteStore(str(tmp_path))
    sent = RequestLog(session(store))
    assert [(each.request.trace_id, each.outcome) for each in sent.all()] == [(trace_id, NO_ANSWER)]
    assert sent.body(trace_id) == b'{"messages": [{}]}'
    assert verify(store, "s").whole
    store.close()


# Trouble


class Full(MemoryStore):
    """A store in which nothing more can be written."""

    full = False

    def append(self, *args: Any, **named: Any) -> Any:
        if self.full:
            raise NotStored("full")
        return super().append(*args, **named)


def test_what_cannot_be_stored_raises_nothing_and_the_next_is_stored_again() -> None:
    store = Full()
    sent = RequestLog(session(store))
    body = request("anthropic", [talk.user_message("?")])
    one = sent.add(body)
    assert one is not None
    store.full = True
    assert sent.add(body) is None
    assert not sent.add_answer(one, LoggedAnswer(b"x", 200))
    store.full = False
    two = sent.add(body)
    assert two is not None
    assert sent.body(two) == body


def test_requests_count_towards_the_quota_and_one_too_many_is_not_stored() -> None:
    store = MemoryStore()
    sent = RequestLog(session(store, session_quota=5_000))
    assert sent.add(b"x" * 4_000) is not None
    assert sent.add(b"y" * 4_000) is None
    assert store.stored("s") < 5_000


def test_a_large_request_that_another_process_left_no_room_for_leaves_no_file(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    first, second = (RequestLog(session(store, session_quota=250_000)) for _ in range(2))
    assert first.add(b"a") is not None
    assert second.add(b"b" * 200_000) is not None
    files = sorted((tmp_path / "blobs").rglob("*/*"))
    assert first.add(b"c" * 200_000) is None
    assert sorted((tmp_path / "blobs").rglob("*/*")) == files
    store.close()


def test_after_a_purge_requests_rest_on_nothing_that_is_gone() -> None:
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    bodies = [request("anthropic", messages) for messages in requests_with_markers(3)]
    for body in bodies[:2]:
        sent.add(talker.view(body))
    store.purge("s", NOON)
    names = [sent.add(talker.view(body)) for body in bodies]
    assert [sent.body(name) for name in names if name] == bodies
    assert verify(store, "s").whole


def test_a_session_without_results_that_is_purged_is_no_base_either() -> None:
    store = MemoryStore()
    sent = RequestLog(session(store))
    sent.add(b"x" * 5_000)
    store.purge("s", NOON)
    name = sent.add(b"x" * 5_000)
    assert name is not None
    assert sent.body(name) == b"x" * 5_000
    assert verify(store, "s").whole


def test_a_purge_in_the_middle_of_writing_leaves_a_request_that_can_be_read() -> None:
    class Purged(MemoryStore):
        armed = False

        def append(self, session: str, *args: Any, **named: Any) -> Any:
            if self.armed:
                self.armed = False
                self.purge(session, NOON)
            return super().append(session, *args, **named)

    store = Purged()
    sent = RequestLog(session(store))
    bodies = [request("anthropic", messages) for messages in requests_with_markers(1)]
    sent.add(bodies[0])
    store.armed = True
    name = sent.add(bodies[1])
    assert name is not None
    assert sent.body(name) == bodies[1]


def test_a_flipped_byte_is_found_and_never_served(tmp_path: Path) -> None:
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    names = [sent.add(talker.view(request("anthropic", messages))) for messages in requests_with_markers(2)]
    rows = store._rows["s"]
    at = next(number for number, row in enumerate(rows) if row.kind == "request")
    inline = bytearray(rows[at].inline or b"")
    inline[-5] ^= 1
    rows[at] = rows[at].replace(inline=bytes(inline))
    store._index["s"] = {
        key: [rows[at] if row.seq == rows[at].seq else row for row in found] for key, found in store._index["s"].items()
    }
    with pytest.raises(Damaged):
        sent.body(names[0] or "")
    with pytest.raises(Damaged):
        sent.body(names[2] or "")
    assert rows[at].seq in [finding.seq for finding in verify(store, "s").findings]


def test_a_request_whose_result_is_shown_otherwise_than_it_was_is_found() -> None:
    store = MemoryStore()
    talker = session(store)
    trace_id = RequestLog(talker).add(talker.view(request("anthropic", requests_with_markers(1)[-1])))
    row = next(store.rows("s", kind="request"))
    result = store.find("s", texts_in(stored_bytes(store, row))[0].trace_id)
    assert result is not None
    del store._index["s"]["id", result.trace_id]
    with pytest.raises(Damaged, match="not in the record"):
        RequestLog(talker).body(trace_id or "")
    assert [finding.seq for finding in verify(store, "s").findings] == [row.seq]


def test_many_threads_send_at_once_and_every_request_comes_back() -> None:
    store = MemoryStore()
    talker = session(store)
    sent = RequestLog(talker)
    found: dict[str, bytes] = {}

    def talking(name: str) -> None:
        for messages in requests_with_markers(6, name):
            body = request("anthropic", messages)
            talker.view(body)
            trace_id = sent.add(body, RequestFacts(branch=name))
            assert trace_id is not None
            found[trace_id] = body
            sent.add_answer(trace_id, LoggedAnswer(body, 200))

    threads = [threading.Thread(target=talking, args=(f"b{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 28
    assert {name: sent.body(name) for name in found} == found
    assert all(each.outcome == "complete" for each in sent.all())


# Beside everything else that is on record


def test_requests_are_no_results_to_anything_that_reads_the_record(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    talker = session(store)
    sent = RequestLog(talker)
    talker.keep("bash", None, "the needle in a result", call_id="c0")
    body = request("anthropic", [talk.user_message("secretword " * 40)])
    trace_id = sent.add(body) or ""
    sent.add_answer(trace_id, LoggedAnswer(b"otherword " * 40, 200))
    numbers = talker.metrics.as_dict()
    assert numbers["results_total"] == 1
    assert store.find("s", trace_id) is None
    assert store.search("s", "secretword") == store.search("s", "otherword") == []
    assert len(store.search("s", "needle")) == 1
    assert talker.select("secretword otherword").units == ()
    assert talker.artifacts() == []
    with pytest.raises(NotFound):
        talker.recall(trace_id)
    assert json.loads(talker.view(body)) == json.loads(body)
    assert store.stored("s") > len(body)
    store.close()


def test_a_light_row_of_a_request_or_a_response_has_no_body(tmp_path: Path) -> None:
    store = SqliteStore(str(tmp_path))
    sent = RequestLog(session(store))
    sent.add_answer(sent.add(b"x" * 900) or "", LoggedAnswer(b"y" * 900, 200))
    assert [(row.kind, row.inline) for row in store.rows("s", light=True)] == [("request", None), ("response", None)]
    assert [entry_of(row).kind for row in store.rows("s")] == ["request", "response"]
    store.close()


def test_a_request_and_its_answer_are_put_on_record_together_or_not_at_all(tmp_path: Path) -> None:
    with Session("s", store=str(tmp_path), settings=Settings(str(tmp_path), session_quota=1_000)) as session:
        sent = RequestLog(session)
        noise = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(100))
        assert sent.add(b"x" * 100, answer=LoggedAnswer(noise, 200)) is None
        assert sent.all() == []
        name = sent.add(b"x" * 100, answer=LoggedAnswer(b"y" * 50, 200, "incomplete"))
        assert name is not None
        assert [(step.request.trace_id, step.outcome) for step in sent.all()] == [(name, "incomplete")]
        assert (sent.body(name), sent.response(name)) == (b"x" * 100, b"y" * 50)
