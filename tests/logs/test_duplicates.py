"""Sessions that were resumed or forked into other files."""

from pathlib import Path

from keepwhole.logs.duplicates import read_all
from keepwhole.logs.lines import UnreadPart
from keepwhole.logs.run import Run
from tests.logs.log_files import ClaudeCode, chat_messages, text, written


def session(path: Path, name: str, *said: str) -> Path:
    log = ClaudeCode(name)
    for number, words in enumerate(said):
        log.user(words)
        log.assistant(f"m{number}", text(f"{words}, yes"))
    return written(path / f"{name}.jsonl", log.lines)


def test_a_session_that_goes_on_in_another_file_counts_once(tmp_path: Path) -> None:
    paths = [session(tmp_path, "first", "one"), session(tmp_path, "resumed", "one", "two")]
    assert [run.id for run in read_all(paths) if isinstance(run, Run)] == ["resumed"]


def test_forks_that_went_different_ways_are_both_given(tmp_path: Path) -> None:
    paths = [session(tmp_path, "a", "one", "this way"), session(tmp_path, "b", "one", "that way")]
    assert sorted(run.id for run in read_all(paths) if isinstance(run, Run)) == ["a", "b"]


def test_runs_without_times_are_no_copies_of_each_other(tmp_path: Path) -> None:
    record = {"source": "s", "messages": chat_messages()}
    path = written(tmp_path / "r.jsonl", [{**record, "id": "1"}, {**record, "id": "2"}])
    assert [run.id for run in read_all([path]) if isinstance(run, Run)] == ["1", "2"]


def test_what_cannot_be_read_is_told_too(tmp_path: Path) -> None:
    (unread,) = read_all([tmp_path / "gone.jsonl"])
    assert isinstance(unread, UnreadPart)
