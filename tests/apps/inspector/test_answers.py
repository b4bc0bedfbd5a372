"""The answers for the page, on records of every sort, without a socket."""

import http.client
import json
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest

from keepwhole.apps.inspector import answers, raw
from keepwhole.apps.inspector import record as record_module
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.request_figures import cost_of, profiles_with
from keepwhole.apps.stated_cost import state_cost
from keepwhole.errors import NotFound, UsageError
from keepwhole.exchange.outgoing_request import TOOL as HIDDEN_ROUND_NOTE
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session
from tests.apps.inspector.inspector_server import Served
from tests.build import NOON, numbered_lines, printed_call

in_files = pytest.mark.parametrize("services", ["sqlite"], indirect=True)
"""For what looks into the files of a record."""


def steps(services: InspectorServices, name: str, **query: str) -> Any:
    return answers.list_steps(services, PageRequest((name,), query))


def lines(services: InspectorServices, id: str, **query: str) -> Any:
    return answers.lines(services, PageRequest(("s", id), {key.strip("_"): value for key, value in query.items()}))


def test_an_empty_record_has_an_empty_list(services: InspectorServices) -> None:
    found = answers.list_sessions(services, PageRequest())
    assert found["sessions"] == []
    assert found["next"] is None


def test_a_session_without_requests_has_figures_a_timeline_and_an_indicator(
    services: InspectorServices, kept: str
) -> None:
    row = answers.list_sessions(services, PageRequest())["sessions"][0]
    assert (row["name"], row["results"], row["requests"], row["health"]) == ("s", 1, 0, "ok")
    assert 0 < row["tokens_sent"] < row["tokens_whole"]
    assert row["cost"] is None
    summary = answers.one_session(services, PageRequest(("s",)))
    assert summary["indicator"]["used"] == row["tokens_sent"]
    assert [(part["kind"], part["label"]) for part in summary["indicator"]["parts"]] == [("tool", "execute_command")]
    assert summary["course"]["sent"] == [row["tokens_sent"]]
    (step,) = steps(services, "s")["steps"]
    assert step["id"] is None
    assert step["results"][0]["artifact_id"] == kept
    assert step["results"][0]["shown"]["rule"] == "arrival"
    assert step["decisions"][0]["saved"] == row["tokens_whole"] - row["tokens_sent"]


def test_the_indicator_names_its_three_thresholds(services: InspectorServices, kept: str) -> None:
    found = answers.one_session(services, PageRequest(("s",)))["indicator"]
    labels = [line["label"] for line in found["thresholds"]]
    assert labels == ["Warning at 75 %", "Compaction at 90 %", "Hard limit at 95 %"]
    assert all(line["explained"].endswith(".") for line in found["thresholds"])
    assert found["state"] == "ok"


def test_a_session_of_the_proxy_says_what_was_sent_and_billed(services: InspectorServices, played: str) -> None:
    summary = answers.one_session(services, PageRequest((played,)))
    assert summary["model"] == "claude-sonnet-4-5"
    kinds = {part["kind"] for part in summary["indicator"]["parts"]}
    assert kinds == {"system", "user", "assistant", "overhead", "tool"}
    used = sum(part["tokens"] for part in summary["indicator"]["parts"])
    assert used == pytest.approx(summary["indicator"]["used"], abs=len(summary["indicator"]["parts"]))
    assert summary["cost"]["paid"].startswith("$")
    found = steps(services, played, count="100")
    assert found["total"] == summary["steps"] == summary["requests"]
    last = found["steps"][-1]
    assert last["outcome"] == "complete"
    assert last["usage"]["cached"] == last["predicted"] > 0
    assert summary["course"]["seq"] == [step["seq"] for step in found["steps"]]
    assert summary["course"]["index"] == [step["index"] for step in found["steps"]]


def test_a_list_that_is_searched_gives_what_has_all_words_a_page_at_a_time(services: InspectorServices) -> None:
    for name in ("red-1", "red-2", "blue-1"):
        session = Session(name, store=services.record.store, settings=services.record.settings)
        session.keep("t", None, "x")
    first = answers.list_sessions(services, PageRequest((), {"query": "RED", "most": "1"}))
    assert len(first["sessions"]) == 1
    second = answers.list_sessions(services, PageRequest((), {"query": "RED", "most": "1", "after": first["next"]}))
    assert {first["sessions"][0]["name"], second["sessions"][0]["name"]} == {"red-1", "red-2"}
    assert second["next"] is None


def test_steps_come_in_pages(services: InspectorServices, session: Session) -> None:
    for number in range(120):
        session.keep("t", {"n": number}, "x")
    assert len(steps(services, "s")["steps"]) == 40
    assert [step["index"] for step in steps(services, "s", **{"from": "110"})["steps"]] == list(range(110, 120))
    assert len(steps(services, "s", count="1000")["steps"]) == 100
    assert steps(services, "s", **{"from": "nonsense"})["from"] == 0


def test_branches_and_answers_that_broke_off_are_told(services: InspectorServices, session: Session) -> None:
    session.keep("t", None, "x")
    sent = RequestLog(session)
    for branch, outcome in (("main", "complete"), ("helper", "incomplete"), ("main", "refused")):
        answer = LoggedAnswer(b"{}", 200, outcome, None, AnswerFacts(input=10, cached=0))  # type: ignore[arg-type]
        assert sent.add(b'{"messages": []}', RequestFacts(model="gpt-5", branch=branch, tokens_sent=5), answer)
    summary = answers.one_session(services, PageRequest(("s",)))
    assert summary["branches"] == [{"name": "main", "steps": 2}, {"name": "helper", "steps": 1}]
    assert summary["health"] == "warning"
    assert summary["notes"] == ["1 answer broke off", "the provider refused 1 request"]
    assert len(summary["course"]["seq"]) == 2


def test_the_cost_is_what_a_receipt_says(services: InspectorServices, session: Session) -> None:
    """An unchanged session saves and costs nothing, however far the estimates are from the bills."""
    sent, size = RequestLog(session), 10_000
    for number in range(1, 6):
        about = RequestFacts(
            "openai_chat", "gpt-5", mode="shadow", tokens_whole=number * size, tokens_sent=number * size
        )
        usage = AnswerFacts(input=number * 1_200, cached=(number - 1) * 1_200, written=0)
        sent.add(b'{"messages": []}', about, LoggedAnswer(b"{}", 200, usage=usage))
    summary = answers.one_session(services, PageRequest(("s",)))
    cost = cost_of(sent.all(), profiles_with({}))
    assert cost is not None
    assert tuple(summary["cost"][key] for key in ("paid", "off", "saved")) == state_cost(cost).amounts
    assert summary["cost"]["words"] == "about the same"
    assert not summary["cost"]["is_loss"]


def test_what_the_shadow_would_send_is_told_for_each_request_and_in_all(
    services: InspectorServices, session: Session
) -> None:
    sent = RequestLog(session)
    session.keep("t", None, "x")
    assert answers.one_session(services, PageRequest(("s",)))["shadow"] is None
    for would in (700, 500):
        about = RequestFacts("openai_chat", "gpt-5", mode="shadow", tokens_whole=1_000, tokens_sent=1_000)
        about = about._replace(would_send=would, would_edit=2)
        sent.add(b'{"messages": []}', about, LoggedAnswer(b"{}", 200))
    sent.add(b'{"messages": [1]}', RequestFacts(mode="on", tokens_sent=5), LoggedAnswer(b"{}", 200))
    summary = answers.one_session(services, PageRequest(("s",)))
    assert summary["shadow"] == {"requests": 2, "tokens_sent": 2_000, "would_send": 1_200}
    told = [(step["would_send"], step["would_edit"]) for step in steps(services, "s")["steps"]]
    assert told == [(700, 2), (500, 2), (None, None)]


@pytest.mark.parametrize("size", [10, 5_000], ids=["stored as it came", "stored packed"])
def test_a_response_is_shown_exactly_as_received(services: InspectorServices, session: Session, size: int) -> None:
    said = json.dumps({"content": "hello " * size}).encode()
    trace_id = RequestLog(session).add(b'{"messages": []}', RequestFacts(model="gpt-5"), LoggedAnswer(said, 200))
    found = answers.one_response(services, PageRequest(("s", str(trace_id))))
    assert (found["text"], found["size"]) == (said.decode(), len(said))


def test_a_result_is_shown_beside_what_the_model_saw(services: InspectorServices, session: Session, kept: str) -> None:
    found = answers.one_result(services, PageRequest(("s", kept)))
    text = numbered_lines(5_000)
    original = found["canonical"].pop("segments")
    assert found["canonical"] == {"text": text[:16_384], "from_line": 1, "lines": 5_000, "more": True}
    assert {part["part"] for part in original} == {"kept", "gap"}
    assert sum(part["chars"] for part in original) == len(text), "the original once, in order"
    places = [sum(one["chars"] for one in original[:at]) for at in range(len(original))]
    assert all(text.startswith(part["text"], at) for at, part in zip(places, original, strict=True))
    segments = found["shown"]["segments"]
    assert "".join(part["text"] or "" for part in segments) == session.shown(kept).content
    kept_lines = text.splitlines(keepends=True)
    for part in segments:
        if part["part"] == "gap":
            assert part["text"] is None
        elif part["part"] == "kept":
            assert part["text"].startswith(kept_lines[part["from_line"] - 1][:20])
    assert {"kept", "gap", "notice"} <= {part["part"] for part in segments}
    assert printed_call(found["calls"]["whole"]) == {"id": kept}


def test_a_past_step_shows_what_the_model_saw_then(services: InspectorServices, session: Session, kept: str) -> None:
    before = session.shown(kept).content
    session.undo(kept)
    (result,) = services.record.timeline("s").results.values()
    cut, undone = result.decided

    def shown(upto: int) -> Any:
        return answers.one_result(services, PageRequest(("s", kept), {"upto": str(upto)}))["shown"]

    assert shown(cut) is None, "nothing was decided yet"
    assert "".join(part["text"] or "" for part in shown(cut + 1)["segments"]) == before
    assert shown(undone)["chars"] == len(before)
    assert shown(undone + 1)["rule"] == "undo"


def test_a_result_that_is_shown_whole_has_no_second_text_beside_it(
    services: InspectorServices, session: Session
) -> None:
    trace = session.keep("t", {"a": 1}, "short").trace_id
    found = answers.one_result(services, PageRequest(("s", trace)))
    assert found["shown"] is None
    assert found["result"]["arguments"] == '{"a": 1}'


def test_bytes_that_are_no_text_are_not_shown_as_one(services: InspectorServices, session: Session) -> None:
    trace = session.keep("screenshot", None, b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 200).trace_id
    found = answers.one_result(services, PageRequest(("s", trace)))
    assert found["canonical"]["text"] == ""
    assert found["result"]["media_type"] != "text/plain"


def test_lines_are_those_that_are_asked_for_and_their_call_fetches_them(
    services: InspectorServices, session: Session, kept: str
) -> None:
    found = lines(services, kept, from_="4990", count="100")
    assert found["lines"] == numbered_lines(5_000).splitlines()[4_989:]
    assert (found["count"], found["total"]) == (11, 5_000)
    arguments = printed_call(found["call"])
    assert "line 004990" in session.call_tool("get_artifact", arguments).content
    assert lines(services, kept, from_="6000")["lines"] == []


def test_scrolling_gets_the_same_pages_at_once(
    services: InspectorServices, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def at_once(start: int) -> Any:
        return answers.lines_if_ready(services, PageRequest(("s", kept), {"from": str(start)}))

    assert at_once(1) is None, "nobody has opened it yet"
    first = lines(services, kept)
    assert at_once(1) == first
    assert at_once(201)["lines"] == numbered_lines(5_000).splitlines()[200:400]
    with services.record.open_result("s", kept):
        assert at_once(1) is None, "somebody else reads"
    monkeypatch.setattr(record_module, "_FRESH", 0.0)
    assert at_once(1) is None, "it may have been purged since"


def test_endless_lines_are_cut_and_the_page_stays_small(services: InspectorServices, session: Session) -> None:
    text = "a\n" + "x" * 1_000_000 + "\n" + "é" * 5_000 + "\nz\n"
    trace = session.keep("t", None, text).trace_id
    found = lines(services, trace)
    assert found["lines"][0] == "a"
    assert len(json.dumps(found)) < 300_000
    after = lines(services, trace, from_="2", count="1")
    assert (after["lines"], after["cut"]) == (["x" * 4_000], [0])
    rest = lines(services, trace, from_="3")
    assert rest["lines"] == ["é" * 4_000, "z"]


def test_every_line_is_reached_page_by_page(services: InspectorServices, session: Session) -> None:
    text = "".join(f"{number} {'y' * (number * 37 % 3_000)}\n" for number in range(900))
    trace = session.keep("t", None, text).trace_id
    at, found = 1, []
    while at <= 900:
        page = lines(services, trace, from_=str(at), count="300")
        assert page["count"] > 0
        found += page["lines"]
        at += page["count"]
    assert found == text.splitlines()


def test_a_text_is_found_in_its_lines_and_the_search_goes_on(services: InspectorServices, kept: str) -> None:
    asked = {"text": "7 of the", "most": "200"}
    found = answers.find(services, PageRequest(("s", kept), asked))
    assert [hit["line"] for hit in found["found"][:3]] == [7, 17, 27]
    assert found["found"][0]["text"] == "line 000007 of the text"
    more = answers.find(services, PageRequest(("s", kept), asked | {"from": str(found["next"])}))
    assert more["found"][0]["line"] == 2_007
    last = answers.find(services, PageRequest(("s", kept), {"text": "nowhere"}))
    assert last == {"found": [], "next": None, "searched_to": 5_000}


def test_a_search_for_an_empty_text_is_refused(services: InspectorServices, kept: str) -> None:
    with pytest.raises(UsageError):
        answers.find(services, PageRequest(("s", kept), {"text": ""}))


def test_a_match_in_an_endless_line_is_shown_with_the_text_around_it(
    services: InspectorServices, session: Session
) -> None:
    text = "q" * 300_000 + "NEEDLE" + "q" * 300_000
    trace = session.keep("t", None, text).trace_id
    (hit,) = answers.find(services, PageRequest(("s", trace), {"text": "NEEDLE"}))["found"]
    assert "NEEDLE" in hit["text"]
    assert len(hit["text"]) < 500


def test_results_are_listed_by_words_and_by_what_was_cut(
    services: InspectorServices, session: Session, kept: str
) -> None:
    session.keep("grep", {"pattern": "needle"}, "a.txt:1", is_error=True)
    listed = answers.list_results
    assert listed(services, PageRequest(("s",)))["total"] == 2
    assert [r["artifact_id"] for r in listed(services, PageRequest(("s",), {"only": "cut"}))["results"]] == [kept]
    assert [r["tool"] for r in listed(services, PageRequest(("s",), {"query": "NEEDLE grep"}))["results"]] == ["grep"]
    assert [r["tool"] for r in listed(services, PageRequest(("s",), {"only": "error"}))["results"]] == ["grep"]


def test_words_are_found_in_all_results(services: InspectorServices, kept: str) -> None:
    (hit,) = answers.search(services, PageRequest(("s",), {"query": "004321"}))["found"]
    assert (hit["artifact_id"], hit["line"]) == (kept, 4_321)
    assert answers.search(services, PageRequest(("s",), {"query": " "}))["found"] == []


def test_a_past_request_is_given_exactly_as_it_was_sent(services: InspectorServices, played: str) -> None:
    name = steps(services, played)["steps"][-1]["id"]
    text, at = "", 0
    while True:
        page = answers.one_request(services, PageRequest((played, name), {"from": str(at), "count": "5000"}))
        text, at = text + page["text"], at + 5_000
        if not page["more"]:
            break
    session = Session(played, store=services.record.store, settings=services.record.settings)
    assert text.encode() == RequestLog(session).body(name)
    assert page["size"] == len(text.encode())
    assert json.loads(answers.one_response(services, PageRequest((played, name)))["text"])["role"] == "assistant"


def test_lone_surrogates_and_bytes_that_are_no_text_reach_the_page_as_json(page: Served, session: Session) -> None:
    first = session.keep("t\ud800", {"a": "\ud800"}, "x \ud800 y\n").trace_id
    second = session.keep("t", None, b"caf\xe9 \xff\xfe but mostly text\n" * 30).trace_id
    assert RequestLog(session).add(b'{"messages": []}', RequestFacts(model="m\ud800", branch="\ud800", policy="\ud800"))
    session.keep("t", None, "z", call_id="\ud800")
    for trace in (first, second):
        for path in ("", "/lines", "/find?text=t"):
            assert page.get(f"/api/sessions/s/results/{trace}{path}").status == 200
    for path in ("", "/steps", "/results"):
        assert page.get(f"/api/sessions/s{path}").status == 200


def test_pin_and_undo_are_recorded(page: Served, kept: str) -> None:
    told = page.post(f"/api/sessions/s/results/{kept}/pin")
    assert told.status == 200
    assert told.json["tokens"] > 1_000
    result = page.get(f"/api/sessions/s/results/{kept}").json["result"]
    assert result["pinned"] is True
    assert result["shown"]["chars"] == result["chars"]


def test_health_counts_no_notes_of_keepwholes_own_and_no_result_twice(
    services: InspectorServices, session: Session, kept: str
) -> None:
    """A result that is decided about twice is one result that was shown cut; a rate is a share."""
    session.pin(kept)
    session.undo(kept)
    session.keep(HIDDEN_ROUND_NOTE, {}, "said")
    counters = services.health.report()["counters"]
    assert (counters["results_total"], counters["truncated_results_total"], counters["truncation_rate"]) == (1, 1, 1)
    assert counters["truncations_total"] > 1
    assert "tool_result_missing_rate" not in counters, "what is not in a record cannot be counted from it"


@in_files
def test_verify_proves_a_session_or_says_what_is_wrong(page: Served, services: InspectorServices, kept: str) -> None:
    assert page.post("/api/sessions/s/verify").json["ok"] is True
    damage(
        services,
        "UPDATE entries SET header = CAST(replace(CAST(header AS TEXT), 'execute', 'EXECUTE') AS BLOB) WHERE seq = 1",
    )
    told = page.post("/api/sessions/s/verify").json
    assert told["ok"] is False
    assert told["findings"][0]["entry"] == 1


def damage(services: InspectorServices, statement: str) -> None:
    connection = sqlite3.connect(services.record.store.path)  # type: ignore[attr-defined]
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement)
    connection.commit()
    connection.close()


@in_files
def test_damaged_rows_are_shown_as_broken_and_break_nothing_else(
    services: InspectorServices, session: Session, kept: str
) -> None:
    session.keep("t", None, "whole")
    damage(services, "UPDATE entries SET header = x'7b7d' WHERE seq = 1")
    summary = answers.one_session(services, PageRequest(("s",)))
    assert summary["health"] == "broken"
    assert summary["notes"][0] == "entry 1 is damaged and left out"
    assert [result["tool"] for step in steps(services, "s")["steps"] for result in step["results"]] == ["t"]
    with pytest.raises(NotFound):
        answers.one_result(services, PageRequest(("s", kept)))


@in_files
def test_a_damaged_body_is_reported_and_not_served(page: Served, services: InspectorServices, session: Session) -> None:
    trace = session.keep("t", None, "a" * 1_000).trace_id
    damage(services, "UPDATE entries SET body = CAST(replace(CAST(body AS TEXT), 'a', 'b') AS BLOB) WHERE seq = 1")
    for path in ("", "/lines", "/raw"):
        answer = page.get(f"/api/sessions/s/results/{trace}{path}")
        assert answer.status == 409, path
        assert "damaged" in answer.json["error"]


def test_a_purged_session_is_gone_from_everything(services: InspectorServices, kept: str) -> None:
    steps(services, "s")
    lines(services, kept)
    services.record.store.purge("s", NOON * 1000)
    for ask in (answers.one_session, answers.list_steps, answers.list_results):
        with pytest.raises(NotFound):
            ask(services, PageRequest(("s",)))
    with pytest.raises(NotFound):
        lines(services, kept)


@pytest.mark.parametrize("name", ["", "nobody", "../s", "s/..", "x" * 500])
def test_a_session_that_is_not_there_is_not_made_by_asking(
    page: Served, services: InspectorServices, name: str
) -> None:
    from urllib.parse import quote

    for path in ("", "/steps", "/results", "/results/x", "/requests/x/raw"):
        assert page.get(f"/api/sessions/{quote(name, safe='')}{path}").status == 404
    for path in ("/verify", "/play", "/results/x/pin"):
        assert page.post(f"/api/sessions/{quote(name, safe='')}{path}").status == 404
    assert services.record.store.sessions() == []


def test_raw_bytes_are_a_download_that_runs_nothing(page: Served, session: Session) -> None:
    data = b"<script>alert(1)</script>\x00\xff" * 90_000
    trace = session.keep("t", None, data).trace_id
    answer = page.get(f"/api/sessions/s/results/{trace}/raw")
    assert answer.body == data
    assert answer.headers["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["Content-Type"] == "application/octet-stream"
    part = page.get(f"/api/sessions/s/results/{trace}/raw", range="bytes=5-9")
    assert (part.status, part.body) == (206, data[5:10])
    assert part.headers["Content-Range"] == f"bytes 5-9/{len(data)}"
    assert page.get(f"/api/sessions/s/results/{trace}/raw", range=f"bytes={len(data)}-").status == 416


@in_files
def test_a_download_whose_rest_is_damaged_is_cut_off_and_does_not_look_whole(
    page: Served, services: InspectorServices, session: Session
) -> None:
    trace = session.keep("t", None, b"x" * 3_000_000).trace_id
    (blob,) = [path for path in Path(services.record.settings.home, "blobs").rglob("*") if path.is_file()]
    blob.chmod(0o600)
    with blob.open("r+b") as file:
        file.seek(2_500_000)
        file.write(b"y")
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        page.get(f"/api/sessions/s/results/{trace}/raw")


@pytest.mark.parametrize(
    ("header", "found"),
    [
        *(("", None), ("bytes=-", None), ("lines=1-2", None), ("bytes=0-0,2-3", None), ("bytes=-3", (7, 10))),
        *(("bytes=2-", (2, 10)), ("bytes=2-99", (2, 10)), ("bytes=20-30", (20, 10)), ("bytes=5-2", (5, 3))),
    ],
)
def test_ranges_are_read_as_the_standard_says(header: str, found: object) -> None:
    assert raw.parse_range(header, 10) == found


def test_health_counts_and_checks_without_repairing(page: Served, services: InspectorServices, kept: str) -> None:
    told = page.get("/api/health").json
    assert told["counters"]["results_total"] == 1
    assert told["counters"]["truncations_total"] == 1
    assert told["counters"]["truncation_rate"] == 1
    assert told["store"]["sessions"] == told["counted"] == 1
    assert told["store"]["bytes"] > 100_000
    is_server = bool(services.record.settings.store)
    looked = {"server"} if is_server else {"folder", "database", "space"}
    assert looked <= {finding["name"] for finding in told["doctor"]}
    assert told["store"]["home"].startswith("postgresql://") == is_server
    assert {finding["state"] for finding in told["doctor"]} <= {"ok", "warning"}


@in_files
def test_many_readers_of_many_results_leave_no_file_open(services: InspectorServices, session: Session) -> None:
    from tests.build import open_files

    traces = [session.keep("t", None, f"{number}\n" * 40_000).trace_id for number in range(12)]
    for trace in traces * 2:
        assert lines(services, trace, count="1")["count"] == 1
    assert len([path for path in open_files(services.record.settings.home) if "/blobs/" in path]) <= 8
    services.close()
    assert [path for path in open_files(services.record.settings.home) if "/blobs/" in path] == []


def test_a_step_with_very_many_results_lists_some_and_counts_the_rest(
    services: InspectorServices, session: Session
) -> None:
    for number in range(60):
        session.keep("t", {"n": number}, "x", turn=1)
    (step,) = steps(services, "s")["steps"]
    assert (len(step["results"]), step["results_more"]) == (50, 10)


def test_the_first_look_at_a_long_session_is_small(page: Served, session: Session) -> None:
    sent = RequestLog(session)
    for number in range(150):
        session.keep("read_file", {"path": f"src/module_{number}.py"}, f"result {number}")
        sent.add(b'{"messages": []}', RequestFacts(model="gpt-5", tokens_whole=number * 90, tokens_sent=number * 60))
    packed = {"accept-encoding": "gzip"}
    paths = ("/api/sessions", "/api/sessions/s", "/api/sessions/s/steps")
    total = sum(len(page.get(path, **packed).body) for path in paths)
    assert total < 30_000


def test_a_search_of_what_is_not_indexed_goes_on_until_every_result_was_looked_at(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("services._INDEXING", "services._READING"):
        monkeypatch.setattr(f"keepwhole.apps.inspector.{name}", -1)
    monkeypatch.setattr("keepwhole.apps.search_progress._BATCH", -1)
    monkeypatch.setattr("keepwhole.apps.search_progress._PAUSE", 60)
    for number in range(9):
        session.keep("read_file", {"path": "quokka.py"} if number == 5 else {}, f"needle no{number}")
    found: list[str] = []
    query, asked = {"query": "needle"}, 0
    while True:
        told = answers.search(services, PageRequest(("s",), query))
        found += [hit["text"] for hit in told["found"]]
        asked += 1
        if told["is_all"]:
            break
        assert told["looked"] == asked
        assert told["words"] == f"Searched {asked} of 9 results so far"
        query["after"] = str(told["next"])
    assert list(dict.fromkeys(found)) == [f"needle no{number}" for number in range(8, -1, -1)]
    assert told["looked"] == 9
    query = {"query": "quokka", "after": "2"}
    while not (told := answers.search(services, PageRequest(("s",), query)))["is_all"]:
        query["after"] = str(told["next"])
    assert [hit["text"] for hit in told["found"]] == ["quokka.py"]


def test_what_was_searched_is_indexed_in_the_background(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepwhole.apps.inspector.services._INDEXING", -1)
    monkeypatch.setattr("keepwhole.apps.search_progress._PAUSE", 0.001)
    for number in range(9):
        session.keep("read_file", {}, f"needle no{number}")
    assert not services.record.store.passages("s", until=0.0).is_all
    answers.search(services, PageRequest(("s",), {"query": "quokka"}))
    until = time.monotonic() + 20
    while not services.record.store.passages("s", until=0.0).is_all:
        assert time.monotonic() < until
        time.sleep(0.01)
