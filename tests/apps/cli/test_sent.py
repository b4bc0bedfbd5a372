"""`keepwhole sent`: what went to a provider, as a person or a script looks at it."""

import base64
import json

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from tests.apps.cli.cli import Cli
from tests.conversation.argument_agents import WritingAgent
from tests.conversation.test_old_arguments import OLD, cut_calls, sent_after

HOSTILE = "\x1b[2J\x07é" * 90
BODY = json.dumps({"model": "m", "messages": [{"role": "user", "content": HOSTILE}]}, ensure_ascii=False).encode()
SAID = b"data: \x1b]0;title\x07 \xff\n\n"


@pytest.fixture
def ids(cli: Cli) -> tuple[str, str]:
    """The ids of two recorded requests, the first of them answered."""
    store = SqliteStore(str(cli.folder / "home"))
    session = Session("work", store=store, workspace=str(cli.folder))
    session.keep("bash", {"command": "ls"}, "a.txt")
    sent = RequestLog(session)
    one = sent.add(
        BODY, RequestFacts("anthropic", "a-model", "main", tokens_whole=1234, tokens_sent=567, predicted=500)
    )
    two = sent.add(BODY, RequestFacts("anthropic", "a-model", "helper\x1b[2J"))
    assert one is not None
    assert two is not None
    sent.add_answer(one, LoggedAnswer(SAID, 200, "complete", "msg_1", AnswerFacts(600, 490, 0, 7, 100, 900)))
    store.close()
    return one, two


def test_requests_are_listed_with_their_figures(cli: Cli, ids: tuple[str, str]) -> None:
    first, second = cli.said("sent").splitlines()[2:]
    billed = (f"{round(1234 * 600 / 567):,}", "600", "500", "490")
    assert all(word in first for word in ("main", "a-model", *billed, "complete", ids[0]))
    assert all(word in second for word in ("helper", "no answer", ids[1]))
    assert "\x1b" not in second


def test_requests_are_listed_for_programs(cli: Cli, ids: tuple[str, str]) -> None:
    listed = cli.json("sent")
    assert listed["session"] == "work"
    assert [each["request"]["trace_id"] for each in listed["requests"]] == list(ids)
    assert [each["outcome"] for each in listed["requests"]] == ["complete", "no answer"]
    assert listed["requests"][0]["response"]["cached"] == 490
    assert listed["requests"][1]["response"] is None


def test_a_request_is_printed_byte_for_byte_and_so_is_its_response(cli: Cli, ids: tuple[str, str]) -> None:
    assert [cli("sent", each).stdout for each in ids] == [BODY, BODY]
    assert cli("sent", ids[0], "--response").stdout == SAID
    told = cli.json("sent", ids[1], "--session", "work")
    assert base64.b64decode(told["body"]) == BODY
    assert told["requests"][0]["request"]["trace_id"] == ids[1]


def test_a_request_with_cut_arguments_is_printed_as_it_was_sent(cli: Cli) -> None:
    home = str(cli.folder / "home")
    settings = Settings(home=home, policy="auto", auto=OLD, recall="path")
    session = Session("work", store=SqliteStore(home), settings=settings, workspace=str(cli.folder))
    body = sent_after(WritingAgent("anthropic"), session, 20)
    assert cut_calls(body)
    id = RequestLog(session).add(body, RequestFacts("anthropic", "a-model"))
    session.close()
    assert cli("sent", str(id)).stdout == body


def test_a_terminal_acts_on_nothing_in_a_request(cli: Cli, ids: tuple[str, str]) -> None:
    for words in (("sent", ids[0]), ("sent", ids[0], "--response"), ("sent",)):
        seen = cli.on_a_terminal(*words)
        plain = seen.replace(b"\x1b[1m", b"").replace(b"\x1b[2m", b"").replace(b"\x1b[0m", b"")
        assert plain
        assert not set(plain) & (set(range(32)) - set(b"\r\n\t")), words


def test_what_does_not_exist_is_reported_as_not_found(cli: Cli, ids: tuple[str, str]) -> None:
    assert cli("sent", "trace_unknown").returncode == 3
    assert b"no response" in cli("sent", ids[1], "--response").stderr
    assert cli("sent", ids[0], "--session", "other").returncode == 3


def test_a_session_without_requests_says_so(cli: Cli) -> None:
    cli("keep", "--tool", "bash", input=b"x")
    done = cli("sent")
    assert done.returncode == 0
    assert b"has no recorded request" in done.stdout


def test_other_commands_see_results_and_no_requests(cli: Cli, ids: tuple[str, str]) -> None:
    shown = cli.json("sessions", "show")
    assert [each["tool"] for each in shown["steps"]] == ["bash"]
    assert shown["metrics"]["results_total"] == 1
    assert shown["entries"] == 4
    assert cli.json("status")["results"] == 1
    assert cli.json("explain")["edits"] == []
    assert cli.json("show", "1")["tool"] == "bash"
    assert cli("show", "2").returncode == cli("show", ids[0]).returncode == 3
    assert cli("trace", "show", ids[0]).returncode == 3
    assert cli("sessions", "verify").returncode == 0


@pytest.mark.parametrize(("is_billed", "counted"), [(False, "estimate"), (True, "bill")])
def test_status_counts_the_last_request_in_the_window_of_its_model(cli: Cli, is_billed: bool, counted: str) -> None:
    (cli.folder / "keepwhole.yaml").write_text("models: {small-model: {window: 6000}}")
    store = SqliteStore(str(cli.folder / "home"))
    session = Session("work", store=store, workspace=str(cli.folder))
    session.keep("bash", {"command": "ls"}, "a.txt")
    facts = RequestFacts("anthropic", "small-model", "main", tokens_whole=60_000, tokens_sent=5_400)
    sent = RequestLog(session)
    id = sent.add(BODY, facts)
    assert id is not None
    if is_billed:
        sent.add_answer(id, LoggedAnswer(SAID, 200, "complete", "msg_1", AnswerFacts(5_400, 5_000, 0, 7)))
    store.close()
    report = cli.json("status")
    assert (report["tokens_shown"], report["tokens_whole"], report["window"]) == (5_400, 60_000, 6_000)
    assert (report["level"], report["counted"]) == ("compact", counted)
    assert [line["reached"] for line in report["thresholds"]] == [True, True, False]
