"""Long arguments of old calls with recall by path: cut only once a file has them, which the result after them names."""

import json
import os
import shlex
import stat
import subprocess
from pathlib import Path

import pytest

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.store.files import ResultFiles
from tests.conversation.argument_agents import DIALECTS, WritingAgent, arguments_in, messages_of, results_in, script
from tests.conversation.test_old_arguments import OLD, cut_calls, sent_after

HOSTILE = "../../etc/passwd; rm -rf $HOME\n'\"\0é"
STEPS = 20


def by_path(folder: Path, reader: str = "Read") -> Session:
    settings = Settings(home=str(folder), policy="auto", auto=OLD, recall="path", recall_reader=reader)
    return Session("s", store=SqliteStore(str(folder)), settings=settings)


def command_in(shown: str) -> str:
    """The command that a result names for the arguments of its call."""
    return shown.rpartition("hidden: ")[2].removesuffix("]")


def files_of(session: Session) -> ResultFiles:
    return session.store.files  # type: ignore[attr-defined]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("reader", ["Read", "sed"])
def test_the_result_names_a_command_that_prints_the_whole_arguments(tmp_path: Path, dialect: str, reader: str) -> None:
    agent, session = WritingAgent(dialect), by_path(tmp_path / "a folder's name", reader=reader)
    sent = sent_after(agent, session, STEPS)
    assert "call_0" in cut_calls(sent)
    shown = results_in(sent)["call_0"]
    assert "get_artifact" not in shown
    done = subprocess.run(command_in(shown), shell=True, capture_output=True, check=True)
    (path,) = shlex.split(command_in(shown))[1:]
    row = next(iter(session.store.rows("s", kind="result")))
    assert path == files_of(session).arguments_path_of("s", row.trace_id)
    assert done.stdout == session.recall(row.trace_id, part="arguments").encode()
    assert json.loads(done.stdout)["content"] == script(0)
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o400
    assert session.hydrate(messages_of(sent)) == agent.messages
    session.close()


def test_only_arguments_that_are_cut_have_a_file_and_it_goes_with_the_result_and_the_session(tmp_path: Path) -> None:
    agent, session = WritingAgent("anthropic"), by_path(tmp_path)
    sent = sent_after(agent, session, STEPS)
    cut = cut_calls(sent)
    there = {path.name for path in (tmp_path / "results").rglob("*.arguments.json")}
    assert len(there) == len(cut)
    row = next(iter(session.store.rows("s", kind="result")))
    path = Path(files_of(session).arguments_path_of("s", row.trace_id))
    path.chmod(0o600)
    path.write_text("spoiled")
    (finding,) = session.verify().findings
    assert str(path) in finding.what
    session.forget(row.trace_id)
    assert not path.exists()
    assert session.verify().whole
    session.store.purge("s", 0)
    assert not list((tmp_path / "results").iterdir())
    session.close()


def test_where_the_file_cannot_be_written_the_arguments_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    agent, session = WritingAgent("openai_chat"), by_path(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as during:
        during.setattr("keepwhole.store.durable.write_all", full)
        sent = sent_after(agent, session, STEPS)
        assert arguments_in(sent) == arguments_in(agent.body())
        assert "hidden" not in "".join(results_in(sent).values())
    assert cut_calls(sent_after(agent, session, 3, STEPS))
    session.close()


def test_another_process_sends_the_same_and_writes_a_file_again_that_is_gone(tmp_path: Path) -> None:
    agent, session = WritingAgent("openai_responses"), by_path(tmp_path)
    sent = sent_after(agent, session, STEPS)
    session.close()
    (path,) = shlex.split(command_in(results_in(sent)["call_0"]))[1:]
    Path(path).unlink()
    again = by_path(tmp_path)
    assert again.view(agent.body()) == sent
    assert json.loads(Path(path).read_text())["content"] == script(0)
    assert again.hydrate(messages_of(sent)) == agent.messages
    again.close()


def test_hostile_names_make_no_path_and_hostile_values_come_back(tmp_path: Path) -> None:
    agent, session = WritingAgent("anthropic"), by_path(tmp_path)
    given = {HOSTILE: HOSTILE * 50, "lone": "\ud800" * 900}
    agent.call(HOSTILE, given, "Done.")
    sent = sent_after(agent, session, STEPS)
    assert HOSTILE in cut_calls(sent)
    command = command_in(results_in(sent)[HOSTILE])
    (path,) = shlex.split(command)[1:]
    assert Path(path).parent.parent == tmp_path / "results"
    assert Path(files_of(session).arguments_path_of("../..", "../../x")).parent.parent == tmp_path / "results"
    assert json.loads(Path(path).read_bytes().decode("utf-8", "surrogatepass")) == given
    session.close()


def test_a_link_in_place_of_the_file_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("not of this session")
    files = ResultFiles(str(tmp_path / "results"))
    path = Path(files.arguments_path_of("s", "trace_1"))
    path.parent.mkdir(parents=True)
    path.symlink_to(tmp_path / "secret")
    assert files.changed_file("s", "trace_1", [b"text"], "text/plain", b"{}") == str(path)
    files.lay_out_arguments("s", "trace_1", b"{}")
    assert (path.read_bytes(), path.is_symlink()) == (b"{}", False)
    assert (tmp_path / "secret").read_text() == "not of this session"
