"""The promises hold on every back end: the same bytes, chain heads and views everywhere."""

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical.utf8 import showable
from keepwhole.config import Settings
from keepwhole.policies.auto import Auto
from keepwhole.store.protocol import Store, result_of
from keepwhole.store.verify import verify
from keepwhole.transfer.archive import export_session, import_session
from tests.build import draft, fixed_clock, numbered_lines, opened, run_python, seeded
from tests.promises import conversations as talk
from tests.promises.recorded_outputs import NAMES, keep_all, read_output
from tests.promises.test_lossless import any_text, in_pieces, large, rebuilt, seeds
from tests.promises.test_recall import check_every_gap, check_printed
from tests.promises.test_views import SMALL, tool_output
from tests.stores import DURABLE, Place, place

_few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture(params=DURABLE)
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    return place(request.param, tmp_path / "record")


@pytest.fixture
def store(where: Place) -> Iterator[Store]:
    store = where.open()
    yield store
    store.close()


def test_every_back_end_holds_and_shows_what_memory_does(store: Store) -> None:
    one, shown = keep_all(MemoryStore())
    two, again = keep_all(store)
    assert shown == again
    assert one.verify() == two.verify()


def send_steps(store: Store, dialect: str) -> tuple[list[str], str]:
    """Send a conversation step by step with fixed ids and times; return the requests and the head of its chain."""
    settings = Settings(home="unused", models={"m": {"window": 20_000}})
    session = Session("s", store=store, settings=settings, clock=fixed_clock, random=seeded("talk"))
    messages, sent = [talk.user_message("What is wrong?", dialect)], list[str]()
    for number in range(18):
        name = ("read_file", "bash", "grep", "query")[number % 4]
        messages += talk.call_messages(dialect, [(f"c{number}", name, {"n": number % 7})])
        messages += talk.result_messages(
            dialect, [(f"c{number}", tool_output(number % 11, (5, 60, 400, 1_500)[number % 4]))]
        )
        sent.append(json.dumps(session.view(messages, model="m", policy=Auto(SMALL))))
    assert session.verify().whole
    return sent, session.verify().head


@pytest.mark.parametrize("dialect", talk.DIALECTS)
def test_the_same_conversation_is_sent_the_same_and_has_the_same_head(store: Store, dialect: str) -> None:
    sent, head = send_steps(MemoryStore(), dialect)
    shown = [dict(talk.result_texts(dialect, json.loads(request))) for request in sent]
    changed = [
        call_id
        for earlier, later in itertools.pairwise(shown)
        for call_id, text in earlier.items()
        if later[call_id] != text
    ]
    assert changed, "nothing aged"
    assert send_steps(store, dialect) == (sent, head)


@_few
@given(data=st.binary(max_size=100_000) | st.builds(large, seeds, st.integers(0, 3_000_000)), seed=seeds)
def test_any_bytes_come_back_as_they_were(store: Store, data: bytes, seed: int) -> None:
    session = Session("bytes", store=store)
    shown = session.keep("tool", None, in_pieces(data, seed))
    assert session.recall_bytes(str(shown.trace_id)) == data


@_few
@given(text=any_text)
def test_any_text_comes_back_as_it_was_and_any_call_is_known_again(store: Store, text: str) -> None:
    session = Session("text", store=store)
    shown = session.keep("tool", {"text": text}, text, call_id=text or None)
    assert session.recall(str(shown.trace_id)) == text
    if text:
        assert [row.trace_id for row in store.find_call("text", text)] == [shown.trace_id]
    assert isinstance(store.search("text", text), list)


@pytest.mark.parametrize("name", NAMES[:6])
def test_what_was_shown_and_what_is_recalled_make_the_original(store: Store, name: str) -> None:
    session = Session("s", store=store)
    shown = session.keep(name, None, read_output(name))
    assert session.recall_bytes(str(shown.trace_id)) == read_output(name)
    assert shown.cut is None or rebuilt(session, shown) == showable(session.recall(str(shown.trace_id)))


def test_whatever_is_left_out_of_real_output_is_one_call_away(store: Store) -> None:
    session = Session("s", store=store)
    cut = [
        shown for name in NAMES[2::3] if (shown := session.keep(name, None, read_output(name))).artifact_id is not None
    ]
    for shown in cut:
        if shown.metadata.strategy_used != "binary":
            check_every_gap(session, shown)
            check_printed(session, shown)
    assert len(cut) > 3


def test_what_was_shown_once_is_shown_again_by_a_process_of_other_settings(where: Place) -> None:
    store = where.open()
    _, shown = keep_all(store)
    store.close()
    code = "import sys\nfrom keepwhole import Session\n"
    code += "from keepwhole.truncation.configuration import TruncationConfiguration\n"
    code += "policy = TruncationConfiguration(inline_limit=300, default_strategy='head')\n"
    code += "session = Session('s', store=sys.argv[1], policy=policy)\n"
    code += "for trace in sys.argv[2:]:\n    sys.stdout.write(session.shown(trace).content)\n"
    command = [sys.executable, "-c", code, where.name, *(str(view.trace_id) for view in shown)]
    done = subprocess.run(command, env={**os.environ, **where.environ}, capture_output=True, check=True)
    assert done.stdout.decode() == "".join(view.content for view in shown)


def test_what_the_model_asked_to_read_again_is_whole_in_the_next_request(store: Store) -> None:
    session = Session("s", store=store, settings=Settings(home="unused", models={"m": {"window": 30_000}}))
    messages = [talk.user_message("go")]
    for number in range(12):
        name = "get_artifact" if number % 4 == 3 else "bash"
        text = numbered_lines(600) + str(number)
        messages += talk.call_messages("openai_chat", [(f"c{number}", name, {"n": number})])
        messages += talk.result_messages("openai_chat", [(f"c{number}", text)])
        sent = dict(talk.result_texts("openai_chat", session.view(messages, model="m", policy="auto")))
        assert name == "bash" or sent[f"c{number}"] == text


def test_archives_of_real_output_go_there_and_back_with_the_same_head(store: Store, tmp_path: Path) -> None:
    here, back = SqliteStore(str(tmp_path / "here")), SqliteStore(str(tmp_path / "back"))
    keep_all(here)
    name = here.sessions()[0].name
    carry(here, store)
    carry(store, back)
    assert verify(back, name) == verify(store, name) == verify(here, name)
    for each in (here, back):
        each.close()


def carry(source: Store, target: Store) -> None:
    import_session(target, export_session(source, source.sessions()[0]))


CHILD = """
import sys
from keepwhole.store.factory import open_store
from tests.build import draft
store = open_store(sys.argv[1], sys.argv[2], inline_body=32_768)
for number in range(20):
    store.append("s", [draft(store, b"%d" % number, call_id=str(number))], once=True)
store.close()
"""


def test_processes_that_append_the_same_calls_add_each_once_and_in_one_chain(where: Place, store: Store) -> None:
    opened(store)
    threads = [threading.Thread(target=run_python, args=(CHILD, where.address, where.folder)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for number in range(20):
        store.append("s", [draft(store, b"%d" % number, call_id=str(number))], once=True)
    for thread in threads:
        thread.join()
    assert sorted(int(result_of(row).call_id or "") for row in store.rows("s")) == list(range(20))
    assert verify(store, "s").whole


HELD = """
import sys
from keepwhole.store.factory import open_store
store = open_store(sys.argv[1], sys.argv[2], inline_body=32_768)
store.hold("s")
print("held", flush=True)
sys.stdin.read()
"""


def test_a_session_is_in_use_as_long_as_another_process_has_it_open(where: Place, store: Store) -> None:
    opened(store, ephemeral=True)
    command = [sys.executable, "-c", HELD, where.address, where.folder]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        assert store.is_held("s")
        other.kill()
        other.wait()
    for _ in range(100):
        if not store.is_held("s"):
            break
        threading.Event().wait(0.05)
    assert not store.is_held("s")
