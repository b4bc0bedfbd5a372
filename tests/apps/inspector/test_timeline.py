"""A session's record becomes steps, whichever part of Keepwhole wrote it."""

from typing import Any

import pytest

from keepwhole import MemoryStore
from keepwhole.apps.inspector import answers, shapes
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.inspector.timeline import Timeline
from keepwhole.canonical.entry import HIDDEN_ROUND
from keepwhole.canonical.manifest import LiteralPiece, ShownPiece, encode_manifest
from keepwhole.exchange.outgoing_request import TOOL
from keepwhole.session import Session
from keepwhole.store.protocol import Draft
from tests.build import NOON, decision, draft, opened, request, response

MS = NOON * 1000


class Book:
    """A session in memory with hand-written entries."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.name = opened(self.store)
        self.timeline = Timeline(self.store, self.name, "/nowhere/results")

    def write(self, *drafts: Draft) -> Timeline:
        self.store.append(self.name, drafts)
        return self.timeline.catch_up()

    def result(self, **fields: Any) -> Draft:
        return draft(self.store, **fields)

    def request(self, **fields: Any) -> Draft:
        return request(self.store, **fields)


def sizes(timeline: Timeline) -> list[int]:
    return [len(step.results) for step in timeline.steps]


def test_results_without_a_request_make_a_step_each() -> None:
    book = Book()
    assert sizes(book.write(book.result(), book.result())) == [1, 1]


def test_results_of_one_turn_make_one_step() -> None:
    book = Book()
    timeline = book.write(*(book.result(turn=turn) for turn in (1, 1, 2)))
    assert sizes(timeline) == [2, 1]


def test_a_request_has_the_results_that_were_kept_since_the_one_before() -> None:
    book = Book()
    book.write(book.result(), book.result(), book.request(), book.result(), book.request())
    assert sizes(book.timeline) == [2, 1]
    assert all(step.request for step in book.timeline.steps)


def test_what_is_kept_after_a_request_becomes_the_next_requests_step_in_its_place() -> None:
    book = Book()
    book.write(book.request(), book.result(), book.result())
    assert sizes(book.timeline) == [0, 2]
    assert book.timeline.steps[1].request is None
    book.write(sent := book.request())
    assert sizes(book.timeline) == [0, 2]
    assert book.timeline.steps[1].request == sent.header


def test_results_long_before_the_first_request_stay_steps_of_their_own() -> None:
    book = Book()
    old = [book.result(at=MS - 3_600_000), book.result(at=MS - 3_599_000)]
    book.write(*old, book.result(at=MS - 1_000), book.request())
    assert sizes(book.timeline) == [1, 1, 1]
    assert [step.index for step in book.timeline.steps] == [0, 1, 2]


def test_an_answer_goes_to_its_request_even_when_another_came_between() -> None:
    book = Book()
    first, second = book.request(), book.request(branch="helper")
    book.write(first, second, response(book.store, first.header.trace_id, outcome="incomplete"))
    assert [step.response.outcome if step.response else None for step in book.timeline.steps] == ["incomplete", None]


def test_a_decision_changes_the_step_it_is_made_in_and_the_one_of_its_result() -> None:
    book = Book()
    kept = book.result()
    book.write(kept, book.request())
    seq = book.timeline.seq
    book.write(decision(kept.header.trace_id, "aged"), book.request())
    changed = book.timeline.steps_changed_after(seq)
    assert sorted(step.index for step in changed) == [0, 1]
    assert [made.rule for _, made in book.timeline.steps[1].decisions] == ["aged"]
    assert [made.rule for made in book.timeline.steps[0].results[0].decisions] == ["aged"]


def shows(*kept: Draft) -> bytes:
    return encode_manifest([ShownPiece(one.header.trace_id, 0, "utf8") for one in kept])


def test_results_of_conversations_side_by_side_go_to_the_request_that_shows_them() -> None:
    book = Book()
    book.write(book.request(), book.request(branch="helper"))
    mine, others = book.result(call_id="mine"), book.result(call_id="others")
    book.write(mine, others, book.request(output=shows(others), branch="helper"))
    assert [[kept.result for kept in step.results] for step in book.timeline.steps[2:]] == [
        [others.header],
        [mine.header],
    ]
    book.write(book.request(output=shows(mine)))
    last = book.timeline.steps[3]
    assert last.request is not None
    assert [kept.result for kept in last.results] == [mine.header]
    assert len(book.timeline.steps) == 4


def test_a_short_result_of_a_conversation_side_by_side_is_told_by_the_id_of_its_call() -> None:
    """A request has a short result in its own bytes, and not as a reference."""
    book = Book()
    book.write(book.request(), book.request(branch="helper"))
    long, short = book.result(call_id="long"), book.result(call_id="short")
    pieces = [ShownPiece(long.header.trace_id, 0, "utf8"), LiteralPiece(b'{"tool_use_id": "short"}')]
    book.write(long, short, book.request(output=encode_manifest(pieces)))
    assert sizes(book.timeline) == [0, 0, 2]


def test_a_result_that_was_kept_before_the_request_before_it_was_written_is_in_its_own_step() -> None:
    """The client sends its next request as soon as it has an answer; what was answered is written a moment later."""
    book = Book()
    old = book.result()
    book.write(old, book.request())
    one, two = book.result(call_id="one", turn=1), book.result(call_id="two", turn=2)
    aged = decision(old.header.trace_id, "aged")
    book.write(one, two, aged, book.request(output=encode_manifest([LiteralPiece(b'{"tool_use_id": "one"}')])))
    book.write(book.request(output=encode_manifest([LiteralPiece(b'{"tool_use_id": "two"}')])))
    told = [[kept.result.call_id for kept in step.results] for step in book.timeline.steps]
    assert told == [[None], ["one"], ["two"]]
    assert [len(step.decisions) for step in book.timeline.steps] == [0, 0, 1], "what it has aged is in its step too"
    assert all(kept.step is step for step in book.timeline.steps for kept in step.results)


def test_what_a_hidden_round_read_back_is_in_the_step_of_the_round(services: InspectorServices, played: str) -> None:
    timeline = services.record.timeline(played)
    at = next(step.index for step in timeline.steps if any(kept.result.tool == "get_artifact" for kept in step.results))
    told = timeline.steps[at]
    assert told.request is not None
    assert told.request.purpose == HIDDEN_ROUND
    before = timeline.request_before(told)
    assert before is not None
    assert before.request is not None
    story = services.stories.tell(played, before.request.trace_id, {})
    assert [each["tool"] for each in story["next"]["results"]] == ["get_artifact"]
    assert all(step.results or not step.index for step in timeline.steps), "each request of the sample has a result"


def test_a_result_that_no_request_shows_does_not_wait_forever() -> None:
    book = Book()
    book.write(book.request(), book.request(branch="helper"), book.result())
    for _ in range(12):
        shown = book.result()
        book.write(shown, book.request(output=shows(shown)))
    assert book.timeline.steps[-1].request is not None
    assert sum(sizes(book.timeline)) == 13


def test_hidden_rounds_are_counted_and_are_no_results() -> None:
    book = Book()
    book.write(book.request(), book.result(tool=TOOL, arguments="{}"), book.request())
    assert sizes(book.timeline) == [0, 0]
    assert [step.rounds for step in book.timeline.steps] == [0, 1]


def test_only_what_is_new_is_read() -> None:
    book = Book()
    book.write(*(book.result() for _ in range(20)))
    asked: list[int] = []
    rows = book.store.rows

    def counted(session: str, *, after: int = 0, **options: Any) -> Any:
        asked.append(after)
        assert options["light"], "no body is loaded"
        return rows(session, after=after, **options)

    book.store.rows = counted  # type: ignore[method-assign]
    book.timeline.catch_up()
    book.write(book.result())
    assert set(asked) == {19}, "from the last one on that is known"


def test_a_session_that_was_purged_starts_again() -> None:
    book = Book()
    book.write(kept := book.result())
    book.store.purge(book.name, MS)
    opened(book.store)
    book.write(book.result(), book.result())
    assert sizes(book.timeline) == [1, 1]
    assert book.timeline.find(kept.header.trace_id) is None
    assert book.timeline.generation == 1


def test_a_long_session_opens_with_what_is_read_and_goes_on_until_all_is(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepwhole.apps.inspector.timeline._PIECE", 4)
    monkeypatch.setattr("keepwhole.apps.inspector.sessions.PATIENCE", 0.0)
    for number in range(10):
        session.keep("t", {"n": number}, f"{number}\n")
    told = [answers.one_session(services, PageRequest(("s",))) for _ in range(3)]
    assert [(one["steps"], one["reading"]) for one in told] == [(4, 0.4), (8, 0.8), (10, None)]
    assert [kept.result.arguments for kept in services.record.timeline("s").results.values()] == [
        f'{{"n": {number}}}' for number in range(10)
    ]


def test_the_chart_of_costs_ends_at_the_costs_of_the_session(services: InspectorServices, played: str) -> None:
    told = answers.one_session(services, PageRequest((played,)))
    paid, off = (told["course"][name] for name in ("paid", "off"))
    assert paid == sorted(paid)
    assert (f"${paid[-1]:.2f}", f"${off[-1]:.2f}") == (
        f"${told['cost']['figures']['paid']:.2f}",
        f"${told['cost']['figures']['mode_off']:.2f}",
    )


def test_what_the_decisions_about_a_result_have_saved_adds_up(
    services: InspectorServices, session: Session, kept: str
) -> None:
    own = services.record.find_result("s", kept)
    (cut,) = shapes.decisions(own)
    session.undo(kept)
    services.record.timeline("s")
    fields, both = shapes.result(own), shapes.decisions(own)
    assert cut["saved"] > 1_000
    assert [each["saved"] for each in both] == [cut["saved"], -cut["saved"]]
    assert sum(each["saved"] for each in both) == fields["tokens"] - fields["shown"]["tokens"] == 0
