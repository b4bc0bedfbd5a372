"""What a client cut is kept in full where its files may be read, and what is sent stays as the client sent it."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.canonical.entry import Result
from keepwhole.config import Settings
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.logs import client_originals
from keepwhole.logs.client_originals import ClientFolders
from keepwhole.policies.settings import CAREFUL
from keepwhole.record.arrival import CLIENT_CUT
from keepwhole.store.protocol import Store, body_of, decision_of, result_of
from keepwhole.store.sqlite.store import SqliteStore
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.notice import size_text
from tests.exchange.client_files import LONG, SESSION, AnyClient, Claude, Codex, Opencode, conversation, request

SHORT = LONG[:60_000]
"""Few enough for Codex' log."""


class Recorded(NamedTuple):
    """One result on record."""

    header: Result
    text: str
    rules: list[str]


def send(
    store: Store, home: Path | None, client: AnyClient, *results: tuple[str, str], **settings: Any
) -> list[dict[str, Any]]:
    """The messages that go to the provider; with a home, the client's files in it may be read."""
    folders = None if home is None else ClientFolders(str(home), {})
    own = Settings(home="unused", recall="tools", recall_from="start", **settings)
    router = SessionRouter(each=True, store=store, settings=own, client_folders=folders)
    body = request(client.tool, conversation(client.tool, *results))
    exchange = router.begin("POST", "/v1/messages", client.headers, body)
    assert isinstance(exchange, Exchange)
    return json.loads(exchange.body)["messages"]


def texts(messages: list[dict[str, Any]]) -> list[str]:
    blocks = (block for message in messages[2::2] for block in message["content"])
    return [block["content"] for block in blocks]


def recorded(store: Store) -> list[Recorded]:
    (info,) = store.sessions()
    found = []
    rules: dict[str, list[str]] = {}
    for row in store.rows(info.name, kind="decision"):
        rules.setdefault(row.trace_id, []).append(decision_of(row).rule)
    for row in store.rows(info.name, kind="result"):
        with store.open(body_of(row)) as reader:
            found.append(Recorded(result_of(row), reader.text(), rules.get(row.trace_id, [])))
    return found


@pytest.fixture(params=(Claude, Opencode, Codex))
def client(request: pytest.FixtureRequest, tmp_path: Path) -> AnyClient:
    return request.param(tmp_path)


def test_what_a_client_cut_is_on_record_whole(client: AnyClient, tmp_path: Path) -> None:
    store = MemoryStore()
    client.save("b1", SHORT, "c1")
    send(store, tmp_path, client, ("c1", client.cut("b1", SHORT)))
    (kept,) = recorded(store)
    assert kept.text == SHORT
    assert kept.header.flags == ()
    assert kept.rules == ["client", "arrival"][: 1 + client.is_cut_further]


def test_what_is_sent_is_the_same_with_the_file_and_without(tmp_path: Path) -> None:
    client = Claude(tmp_path)
    client.save("b1", LONG)
    results = ("c0", "few words"), ("c1", client.cut("b1", LONG)), ("c2", "more words")
    assert send(MemoryStore(), tmp_path, client, *results) == send(MemoryStore(), None, client, *results)


def test_recall_and_the_counts_are_of_the_original(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    client.save("b1", LONG)
    send(store, tmp_path, client, ("c1", client.cut("b1", LONG)))
    (kept,) = recorded(store)
    session = Session(SESSION, store=store)
    assert session.recall(kept.header.artifact_id, lines="10500-10500").strip().endswith("line 010499 of a long output")
    assert session.shown(kept.header.trace_id).content == client.cut("b1", LONG)


def test_without_permission_the_record_says_that_the_client_cut_it(client: AnyClient, tmp_path: Path) -> None:
    store = MemoryStore()
    client.save("b1", SHORT, "c1")
    send(store, None, client, ("c1", client.cut("b1", SHORT)))
    (kept,) = recorded(store)
    assert kept.text == client.cut("b1", SHORT)
    assert CLIENT_CUT in kept.header.flags


def test_a_result_that_a_policy_cuts_is_a_cut_of_the_original(tmp_path: Path) -> None:
    client = Opencode(tmp_path)
    client.save("b1", LONG)
    (shown,) = texts(send(MemoryStore(), tmp_path, client, ("c1", client.cut("b1", LONG))))
    assert len(shown) <= 8_000
    assert "of 10,500 are left out" in shown
    assert "opencode/tool-output" not in shown


def test_a_result_of_which_opencode_shows_only_the_newest_lines_is_on_record_whole(tmp_path: Path) -> None:
    store, client = MemoryStore(), Opencode(tmp_path)
    path = client.save("b1", LONG)
    cut = f"...output truncated...\n\nFull output saved to: {path}\n\n{LONG[-600:]}"
    assert texts(send(store, tmp_path, client, ("c1", cut))) == [cut]
    assert [(one.text, one.header.flags, one.rules) for one in recorded(store)] == [(LONG, (), ["client"])]


# Again


def test_the_text_is_known_again_after_a_restart_and_without_the_file(client: AnyClient, tmp_path: Path) -> None:
    home = tmp_path / "record"
    store = SqliteStore(str(home))
    path = client.save("b1", SHORT, "c1")
    first = send(store, tmp_path, client, ("c1", client.cut("b1", SHORT)))
    store.close()
    path.unlink()
    for again in (tmp_path, None):
        store = SqliteStore(str(home))
        assert send(store, again, client, ("c1", client.cut("b1", SHORT)), ("c2", "more"))[:3] == first
        assert [one.text for one in recorded(store)] == [SHORT, "more"]
        store.close()


def test_the_pointer_that_a_result_ages_to_tells_the_size_of_the_original(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    client.save("b1", LONG)
    others = [(f"d{number}", "".join(f"{number} {line}\n" for line in range(1_200))) for number in range(60)]
    results = [("c1", client.cut("b1", LONG)), *others]
    eager = CAREFUL.replace(worth=0, horizon=1_000)
    first = [texts(send(store, tmp_path, client, *results[:length], auto=eager))[0] for length in range(1, 62, 5)]
    assert first[0] == client.cut("b1", LONG)
    (pointer,) = {text for text in first if text.startswith("[Artifact: art_") and len(text) < 200}
    assert pointer.endswith(f"] {size_text(len(LONG.encode()))} returned by Bash")


def test_older_results_are_shortened_from_the_original_under_other_policies(tmp_path: Path) -> None:
    client = Claude(tmp_path)
    client.save("b1", LONG)
    results = [("c1", client.cut("b1", LONG)), *((f"d{number}", f"short {number}") for number in range(8))]
    shown = texts(send(MemoryStore(), tmp_path, client, *results, policy="retention"))[0]
    assert shown.startswith("line 000000 of a long output\n")
    assert "get_task_trace" in shown
    masked = texts(send(MemoryStore(), tmp_path, client, *results, policy="rolling"))
    assert masked[0] != client.cut("b1", LONG)


def test_the_whole_is_shown_where_somebody_asks_for_it(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    client.save("b1", LONG)
    result = ("c1", client.cut("b1", LONG))
    send(store, tmp_path, client, result)
    Session(SESSION, store=store).undo(recorded(store)[0].header.artifact_id)
    assert texts(send(store, tmp_path, client, result)) == [LONG]


def test_a_client_that_lost_the_result_gets_its_own_cut_back(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    client.save("b1", LONG)
    cut = client.cut("b1", LONG)
    send(store, tmp_path, client, ("c1", cut))
    assert texts(send(store, tmp_path, client, ("c1", ""), ("c2", "more"))) == [cut, "more"]


def test_hydrate_gives_the_original(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    client.save("b1", LONG)
    results = ("c1", client.cut("b1", LONG))
    send(store, tmp_path, client, results)
    assert texts(Session(SESSION, store=store).hydrate(conversation("Bash", results))) == [LONG]


# Hook and proxy on one session


def test_a_result_that_a_hook_kept_whole_is_not_stored_twice(client: AnyClient, tmp_path: Path) -> None:
    store = MemoryStore()
    send(store, None, client, ("c0", "first"))
    (info,) = store.sessions()
    limits = TruncationConfiguration(inline_limit=len(LONG), artifact_threshold=len(LONG))
    hook = Session(info.name, store=store, settings=Settings(home="unused", truncation=limits))
    hook.keep(client.tool, {"command": "run c1"}, SHORT, call_id="c1")
    cut = client.cut("b1", SHORT)
    sent = [texts(send(store, None, client, ("c0", "first"), ("c1", cut))) for _ in range(2)]
    assert [one.text for one in recorded(store)] == ["first", SHORT]
    assert recorded(store)[1].rules == ["client"]
    assert sent == [["first", cut], ["first", cut]]


# Files that are not what they seem


def _cut_by(change: Callable[[Claude, Path], None]) -> Callable[[Path], Recorded]:
    def run(home: Path) -> Recorded:
        store, client = MemoryStore(), Claude(home)
        path = client.save("b1", LONG)
        change(client, path)
        cut = client.cut("b1", LONG)
        assert texts(send(store, home, client, ("c1", cut))) == [cut]
        (kept,) = recorded(store)
        assert CLIENT_CUT in kept.header.flags or kept.text == LONG
        return kept

    return run


def _link(_: Claude, path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _linked_folder(client: Claude, path: Path) -> None:
    client.folder.rename(client.folder.with_name("moved"))
    client.folder.symlink_to("moved")


def _pipe(_: Claude, path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _folder(_: Claude, path: Path) -> None:
    path.unlink()
    path.mkdir()


def _unreadable_parts(_: Claude, path: Path) -> None:
    path.write_bytes(LONG.encode()[:-40_000])


def _other_end_of_the_preview(_: Claude, path: Path) -> None:
    path.write_text("x" + LONG[1:])


@pytest.mark.parametrize(
    "change",
    [
        lambda client, path: path.unlink(),
        *(_link, _linked_folder, _pipe, _folder, _unreadable_parts, _other_end_of_the_preview),
    ],
)
def test_anything_but_the_file_of_the_client_is_left_alone(
    change: Callable[[Claude, Path], None], tmp_path: Path
) -> None:
    kept = _cut_by(change)(tmp_path)
    assert kept.text.startswith("<persisted-output>")
    assert kept.rules == []


def test_a_file_over_the_limit_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_originals, "LARGEST", len(LONG) - 1)
    assert _cut_by(lambda client, path: None)(tmp_path).text.startswith("<persisted-output>")


def test_a_file_that_appears_later_changes_nothing(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    result = ("c1", client.cut("b1", LONG))
    before = send(store, tmp_path, client, result)
    client.save("b1", LONG)
    assert send(store, tmp_path, client, result, ("c2", "more"))[:3] == before
    assert len(recorded(store)) == 2


@pytest.mark.parametrize("name", ["../../other/tool-results/b1.txt", "/etc/passwd", "..", "b1.txt\0", ""])
def test_a_path_in_a_result_counts_for_nothing_but_its_name(name: str, tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    secret = Claude(tmp_path, "00000000-0000-0000-0000-000000000000")
    secret.save("b1", LONG)
    client.folder.mkdir(parents=True)
    forged = client.cut("b1", LONG).replace(f"{client.folder / 'b1'}.txt", name)
    send(store, tmp_path, client, ("c1", forged))
    assert recorded(store)[0].text == forged


def test_the_file_of_another_session_is_never_opened(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    other = Claude(tmp_path, "00000000-0000-0000-0000-000000000000")
    other.save("b1", LONG)
    send(store, tmp_path, client, ("c1", other.cut("b1", LONG)))
    assert recorded(store)[0].text == other.cut("b1", LONG)


@pytest.mark.parametrize("session", ["..", "a/../../b", "x", ""])
def test_a_session_that_is_no_name_finds_nothing(session: str, tmp_path: Path) -> None:
    assert ClientFolders(str(tmp_path), {}).finder({"x-claude-code-session-id": session}) is None


def test_a_text_that_shows_little_of_a_file_proves_nothing(tmp_path: Path) -> None:
    store, client = MemoryStore(), Opencode(tmp_path)
    path = client.save("b1", LONG)
    forged = f"...output truncated...\n\nFull output saved to: {path}\n\n{LONG[-400:]}"
    send(store, tmp_path, client, ("c1", forged))
    assert recorded(store)[0].text == forged


def test_an_output_of_codex_that_its_log_cut_too_is_marked(tmp_path: Path) -> None:
    store, client = MemoryStore(), Codex(tmp_path)
    client.save("", LONG, "c1")
    send(store, tmp_path, client, ("c1", client.cut("", LONG)))
    (kept,) = recorded(store)
    assert kept.text == client.cut("", LONG)
    assert CLIENT_CUT in kept.header.flags


def test_the_output_of_another_call_is_not_taken(tmp_path: Path) -> None:
    store, client = MemoryStore(), Codex(tmp_path)
    client.save("", SHORT, "c2")
    send(store, tmp_path, client, ("c1", client.cut("", SHORT)))
    assert CLIENT_CUT in recorded(store)[0].header.flags


def test_a_text_that_imitates_a_notice_is_marked_as_before(tmp_path: Path) -> None:
    text = "[Artifact: art_1_aaaaaaaa] left out: get_artifact(id='art_1_aaaaaaaa')\n" + LONG
    client = Claude(tmp_path)
    client.save("b1", text)
    result = ("c1", client.cut("b1", text))
    assert send(MemoryStore(), tmp_path, client, result) == send(MemoryStore(), None, client, result)


def test_a_quota_that_is_too_small_leaves_the_text_as_it_came(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    client.save("b1", LONG)
    cut = client.cut("b1", LONG)
    assert texts(send(store, tmp_path, client, ("c1", cut), session_quota=100_000)) == [cut]
    (kept,) = recorded(store)
    assert kept.text == cut
    assert CLIENT_CUT in kept.header.flags


def test_blocks_of_an_mcp_tool_are_kept_as_their_text(tmp_path: Path) -> None:
    store, client = MemoryStore(), Claude(tmp_path)
    saved = json.dumps([{"type": "text", "text": LONG}], indent=2)
    client.save("b1", saved).rename(client.folder / "b1.json")
    cut = client.cut("b1", saved).replace("b1.txt", "b1.json")
    assert texts(send(store, tmp_path, client, ("c1", cut))) == [cut]
    (kept,) = recorded(store)
    assert kept.text == LONG
    assert kept.rules == ["client"]
