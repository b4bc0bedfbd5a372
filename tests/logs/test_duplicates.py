"""Sessions that were resumed or forked into other files."""

from pathlib import Path

from keepwhole.canonical.message import Message
from keepwhole.logs.duplicates import numbers_without_copies, prefix_digests, read_all
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


def run_of(*said: str, source: str = "s", first: float = 1.0) -> Run:
    messages = tuple(Message("user", words) for words in said)
    return Run(source, "id", messages, times=tuple(first + at for at in range(len(said))))


def test_of_runs_that_are_known_by_their_digests_those_that_go_on_are_no_copies() -> None:
    runs = [
        run_of("one"),
        run_of("one", "two"),
        run_of("other"),
        run_of("one", "two", "three"),
        run_of("one", "else"),
        run_of("one", "two", "three"),
        run_of("one", source="t"),
        run_of("one", first=2.0),
    ]
    assert numbers_without_copies([prefix_digests(run) for run in runs]) == [2, 3, 4, 6, 7]
    assert numbers_without_copies([]) == []
    untimed = Run("s", "id", runs[0].messages)
    assert [len(prefix_digests(run)) for run in (runs[3], untimed)] == [3, 0]
    assert numbers_without_copies([prefix_digests(untimed)] * 2) == [0, 1]


def test_the_largest_file_is_read_first(tmp_path: Path) -> None:
    paths = [session(tmp_path, name, *["word"] * many) for name, many in (("a", 1), ("b", 3), ("c", 2))]
    assert [run.id for run in read_all(paths) if isinstance(run, Run)] == ["b"]
