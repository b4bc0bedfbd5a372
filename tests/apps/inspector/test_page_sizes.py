"""How much one answer for the page contains: by default, at least, and at most."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.inspector.sessions import _notes
from keepwhole.apps.inspector.totals import SessionTotals
from keepwhole.exchange.request_log import LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session
from tests.build import numbered_lines

Answer = Callable[[InspectorServices, PageRequest], Any]


@pytest.fixture
def many(session: Session) -> str:
    """The trace of a result with 3,000 lines, the last of 210 results."""
    for number in range(210):
        kept = session.keep("t", {"n": number}, "a crane\n" if number < 209 else numbered_lines(3_000))
    return str(kept.trace_id)


@pytest.mark.parametrize(
    ("answer", "listed", "size", "more", "default", "most"),
    [
        (answers.list_steps, "steps", "count", {}, 40, 100),
        (answers.list_results, "results", "count", {}, 100, 200),
        (answers.lines, "lines", "count", {}, 200, 1_000),
        (answers.find, "found", "most", {"text": "line"}, 50, 200),
        (answers.search, "found", "most", {"query": "crane"}, 20, 100),
    ],
)
def test_a_list_has_a_usual_size_and_is_never_empty_nor_too_long(
    services: InspectorServices,
    many: str,
    answer: Answer,
    listed: str,
    size: str,
    more: dict[str, str],
    default: int,
    most: int,
) -> None:
    for given, wanted in (({}, default), *(({size: str(n)}, max(1, min(most, n))) for n in (-3, 0, 1, 7, most, 5_000))):
        found = answer(services, PageRequest(("s", many), more | given))[listed]
        assert len(found) == wanted, given


def test_a_list_of_sessions_has_fifty_by_default_and_at_most_two_hundred(services: InspectorServices) -> None:
    for number in range(201):
        Session(f"s{number}", store=services.record.store, settings=services.record.settings).keep("t", None, "x")
    for given, wanted in (({}, 50), ({"most": "0"}, 1), ({"most": "200"}, 200), ({"most": "999"}, 200)):
        assert len(answers.list_sessions(services, PageRequest((), given))["sessions"]) == wanted


def test_a_page_begins_where_it_is_asked_to_and_nonsense_means_the_beginning(
    services: InspectorServices, many: str
) -> None:
    def first(start: str) -> tuple[int, str]:
        found = answers.lines(services, PageRequest(("s", many), {"from": start, "count": "2"}))
        return found["from"], found["lines"][0][:11]

    assert [first(start) for start in ("7", "1", "0", "-4", "x", "")] == [(7, "line 000007"), *[(1, "line 000001")] * 5]
    listed = answers.list_results(services, PageRequest(("s",), {"from": "208"}))
    assert (listed["total"], listed["from"], len(listed["results"])) == (210, 208, 2)


@pytest.mark.parametrize(("chars", "more"), [(16_383, False), (16_384, False), (16_385, True)])
def test_a_result_is_shown_with_its_first_16384_characters(
    services: InspectorServices, session: Session, chars: int, more: bool
) -> None:
    trace = session.keep("t", None, "x" * chars).trace_id
    canonical = answers.one_result(services, PageRequest(("s", trace)))["canonical"]
    assert (len(canonical["text"]), canonical["more"]) == (min(chars, 16_384), more)
    assert (canonical["from_line"], canonical["lines"]) == (1, 1)


@pytest.mark.parametrize(("chars", "cut"), [(3_999, []), (4_000, []), (4_001, [1])])
def test_a_line_of_a_page_is_cut_at_4000_characters(
    services: InspectorServices, session: Session, chars: int, cut: list[int]
) -> None:
    trace = session.keep("t", None, f"a\n{'y' * chars}\nz\n").trace_id
    found = answers.lines(services, PageRequest(("s", trace)))
    assert (found["cut"], found["lines"]) == (cut, ["a", "y" * min(chars, 4_000), "z"])


@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (100, 296, "q" * 100 + "NEEDLE" + "q" * 294),
        (0, 394, "NEEDLE" + "q" * 394),
        (0, 395, "NEEDLE" + "q" * 394 + "…"),
        (101, 5, "…" + "q" * 100 + "NEEDLE" + "q" * 5),
        (99, 5, "q" * 99 + "NEEDLE" + "q" * 5),
    ],
)
def test_a_line_that_was_found_is_shown_up_to_400_bytes_a_quarter_of_them_before_the_match(
    services: InspectorServices, session: Session, before: int, after: int, shown: str
) -> None:
    trace = session.keep("t", None, "q" * before + "NEEDLE" + "q" * after).trace_id
    (hit,) = answers.find(services, PageRequest(("s", trace), {"text": "NEEDLE"}))["found"]
    assert hit["text"].rstrip("…") == shown.rstrip("…")
    assert hit["text"].startswith("…") == shown.startswith("…")


def test_a_response_is_shown_in_pages_of_65536_characters(services: InspectorServices, session: Session) -> None:
    said = "é" * 65_537
    trace_id = RequestLog(session).add(b'{"messages": []}', RequestFacts(model="m"), LoggedAnswer(said.encode(), 200))

    def page(**query: str) -> tuple[int, int, bool]:
        asked = {key.strip("_"): value for key, value in query.items()}
        found = answers.one_response(services, PageRequest(("s", str(trace_id)), asked))
        assert (found["chars"], found["size"]) == (65_537, 2 * 65_537)
        return found["from"], len(found["text"]), found["more"]

    assert page() == page(count="99999") == (0, 65_536, True)
    assert page(from_="1") == (1, 65_536, False)
    assert page(count="0") == (0, 1, True)
    assert page(from_="65536") == (65_536, 1, False)


@pytest.mark.parametrize(("length", "ends"), [(199, '"}'), (200, '"}'), (201, "…")])
def test_arguments_in_a_list_have_at_most_200_characters(
    services: InspectorServices, session: Session, length: int, ends: str
) -> None:
    session.keep("t", {"a": "x" * (length - len('{"a": ""}'))}, "x")
    (listed,) = answers.list_results(services, PageRequest(("s",)))["results"]
    assert (len(listed["arguments"]), listed["arguments"].endswith(ends)) == (min(200, length), True)


@pytest.mark.parametrize(("damaged", "told"), [(0, 0), (20, 20), (21, 20)])
def test_twenty_damaged_entries_are_named(damaged: int, told: int) -> None:
    timeline: Any = SimpleNamespace(
        broken=[SimpleNamespace(seq=number) for number in range(damaged)], totals=SessionTotals()
    )
    notes = [note for note in _notes(timeline) if "is damaged and left out" in note]
    assert len(notes) == told
