"""What is logged: ids and sizes, one line an event, never content."""

import logging
import re
from collections.abc import Callable

import pytest

from keepwhole import MemoryStore, Session, events
from tests.build import in_memory, numbered_lines

CANARY = "canary-7c1f9e"


@pytest.fixture(autouse=True)
def _all_levels(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name.startswith("keepwhole")]


def test_a_kept_result_is_one_line_with_ids_and_sizes(caplog: pytest.LogCaptureFixture) -> None:
    session = in_memory()
    shown = session.keep("fetch", {"path": "x"}, "hello")
    assert lines(caplog) == [f"kept session={session.id} trace={shown.trace_id} tool='fetch' bytes=5"]


def test_a_cut_result_is_said_to_be_cut(caplog: pytest.LogCaptureFixture) -> None:
    shown = in_memory().keep("fetch", None, numbered_lines(1_000))
    assert lines(caplog)[1:] == [
        f"cut trace={shown.trace_id} strategy=head_tail chars_shown={len(shown.content)}",
    ]


def test_a_result_that_could_not_be_kept_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    Session("s", store="/proc/keepwhole").keep("fetch", None, f"{CANARY}" * 100)
    (record,) = (record for record in caplog.records if record.name == "keepwhole")
    assert record.levelno == logging.WARNING
    assert record.getMessage() == "not stored, shown in full: session=s tool='fetch' reason=StoreRefused"


def test_a_purge_is_said_with_what_went(caplog: pytest.LogCaptureFixture) -> None:
    with Session("s", store=MemoryStore(), ephemeral=True) as session:
        session.keep("t", None, "hello")
    assert lines(caplog)[-1] == "purged session=s entries=1 bytes=5"


def test_a_result_that_arrived_cut_is_noted(caplog: pytest.LogCaptureFixture) -> None:
    in_memory().keep("t", None, f"{CANARY} <response clipped>")
    assert "arrived with a truncation mark" in lines(caplog)[-1]


def test_no_content_no_argument_and_no_question_is_ever_logged(caplog: pytest.LogCaptureFixture) -> None:
    for store in (MemoryStore(), "/proc/keepwhole"):
        session = Session("s", store=store)
        for output in (CANARY, f"{CANARY}\n" * 2_000, CANARY.encode() + b"\xff\x00" * 50, iter([CANARY])):
            session.keep("t", {"key": CANARY}, output, call_id=CANARY, question=CANARY, task_id=CANARY, query_id=CANARY)
        session.call_tool("get_artifact", {"id": CANARY})
    assert len(lines(caplog)) >= 8
    assert CANARY not in caplog.text


NAMES = ["a\nb", "a\r\nkept session=forged", "\x1b[2J", "\u2028line", "\u202eevil", "\ud800", "x" * 5_000, 'quo"te', ""]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_a_tool_chose_stays_on_one_short_line_of_ascii(caplog: pytest.LogCaptureFixture, name: str) -> None:
    in_memory().keep(name, None, numbered_lines(1_000))
    written = lines(caplog)
    assert len(written) == 2
    for line in written:
        assert line.isascii()
        assert line.isprintable()
        assert len(line) < 600


def test_nothing_secret_is_in_the_metrics_text() -> None:
    session = in_memory()
    session.keep("t", {"key": CANARY}, f"{CANARY}\n" * 2_000, call_id=CANARY)
    assert CANARY not in session.metrics.prometheus() + str(session.metrics.as_dict())
    assert re.search(r'truncations_total\{tool="t",strategy="head_tail"\} 1', session.metrics.prometheus())


@pytest.mark.parametrize(
    ("log", "level", "said"),
    [
        (lambda: events.log_passed_on("a result", "TypeError"), "WARNING", "a result reason=TypeError"),
        (lambda: events.log_unrecorded("s", "a request", "Full"), "WARNING", "session=s a request reason=Full"),
        (lambda: events.log_unstored("s", "fetch", "Full"), "WARNING", "session=s tool='fetch' reason=Full"),
        (lambda: events.log_strategy_failed("s", "t", "odd"), "WARNING", "session=s trace=t failure='odd'"),
        (lambda: events.log_truncation_mark("s", "t", "fetch"), "INFO", "session=s trace=t tool='fetch'"),
        (lambda: events.log_aging_stopped("s", 5, 900, 10), "WARNING", "session=s"),
        (lambda: events.log_aging_resumed("s", 5), "INFO", "session=s requests=5"),
        (lambda: events.log_budget_spent(9, 8), "WARNING", "paid=9 with_mode_off=8"),
        (lambda: events.log_purged("s", 3, 40), "INFO", "session=s entries=3 bytes=40"),
    ],
)
def test_each_event_is_one_line_of_its_level(
    caplog: pytest.LogCaptureFixture, log: Callable[[], None], level: str, said: str
) -> None:
    log()
    ((name, text),) = [(record.levelname, record.getMessage()) for record in caplog.records]
    assert name == level
    assert said in text
