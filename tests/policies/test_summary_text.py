"""The text of a summary: how much of each call, result and message it shows, and which names."""

import pytest

from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.policies.summary_text import SummaryDraft, draft_summary, find_mentions
from keepwhole.policies.transcript import Name, Transcript
from tests.policies.test_compaction import conversation, name_of, step


def draft(transcript: Transcript, max_tokens: int = 4_000, own: Name | None = None) -> SummaryDraft:
    return draft_summary(transcript, len(transcript.messages), (), name_of, max_tokens, own)


def section(text: str, title: str) -> list[str]:
    return text.partition(f"## {title}\n")[2].partition("\n\n## ")[0].splitlines()


def called(number: int, *outputs: str, arguments: str = "{}") -> list[Message]:
    """A call with several results."""
    call = Call(f"call_{number}", "bash", arguments)
    results = tuple(ResultText(call.call_id, ("content", at), text) for at, text in enumerate(outputs))
    return [Message("assistant", calls=(call,)), Message("tool", returned=results)]


def test_a_step_shows_160_characters_of_its_arguments_and_120_of_its_outcome() -> None:
    (line,) = section(draft(conversation(called(1, "o" * 300, arguments="c" * 300))).text, "Steps")
    assert line.startswith(f"- step 1: bash {'c' * 159}… → 1 line, 300 chars: {'o' * 119}… [call_1 · trace_")
    (line,) = section(draft(conversation(called(1, "o" * 120, arguments="c" * 160))).text, "Steps")
    assert line.startswith(f"- step 1: bash {'c' * 160} → 1 line, 120 chars: {'o' * 120} [call_1 · trace_")


def test_an_error_that_is_open_shows_60_characters_of_its_call() -> None:
    (line,) = section(
        draft(conversation(called(1, "Error: " + "e" * 300, arguments="c" * 61))).text, "Errors not yet resolved"
    )
    assert line == f"- step 1: bash {'c' * 59}…: failed: Error: {'e' * 112}…"


@pytest.mark.parametrize("arguments", ["", "{}", "null"])
def test_a_call_without_arguments_is_told_by_its_tool(arguments: str) -> None:
    (line,) = section(draft(conversation(called(1, "fine", arguments=arguments))).text, "Steps")
    assert line.startswith("- step 1: bash → 1 line, 4 chars: fine [")


def test_of_a_result_of_many_parts_three_are_named_and_all_in_the_body() -> None:
    for many, more in ((3, ""), (4, "; and 1 more parts]"), (6, "; and 3 more parts]")):
        made = draft(conversation(called(1, *(f"part {number}" for number in range(many)))))
        (line,) = section(made.text, "Steps")
        assert line.count("trace_") == len(made.pointers) == 3
        assert line.endswith(more or "]")
        assert "more parts" not in made.body
        assert made.body.count("trace_") == many


def test_what_the_user_said_later_has_a_tenth_of_the_room_and_one_message_a_third_of_that() -> None:
    later = [[Message("user", f"{number}: " + "and so on " * 30)] for number in range(10)]
    lines = section(draft(conversation(step(1), *later), max_tokens=1_000).text, "What the user said later")
    assert lines[0] == "- 8 earlier"
    assert sum(len(line) + 1 for line in lines[1:]) <= 400 - 24
    assert all(line.startswith("> ") for line in lines[1:])
    assert "> 9: and so on" in "\n".join(lines)
    whole = section(draft(conversation(step(1), *later[:2])).body, "What the user said later")
    assert whole == ["> 0: " + ("and so on " * 30).strip(), "> 1: " + ("and so on " * 30).strip()]


def test_errors_have_a_fraction_of_the_room_and_the_older_ones_are_counted() -> None:
    steps = [step(number, f"Error: no {'x' * 90}{number}", command=f"make part{number}") for number in range(90)]
    lines = section(draft(conversation(*steps), max_tokens=16_000).text, "Errors not yet resolved")
    earlier = int(lines[0].removeprefix("- ").removesuffix(" earlier"))
    assert earlier + len(lines) - 1 == 90
    assert 9_600 - 24 - 180 < sum(len(line) + 1 for line in lines[1:]) <= 9_600 - 24
    assert lines[-1].startswith("- step 90: ")


def test_files_have_a_tenth_of_the_room_and_the_others_are_counted() -> None:
    text = "\n".join(f"src/folder/file{number:03}.py" for number in range(90))
    (line,) = section(draft(conversation(step(1, text)), max_tokens=1_000).text, "Files")
    *named, more = line.split(", ")
    assert more == f"and {90 - len(named)} more"
    assert len(named) == (400 - 24) // (len("src/folder/file000.py") + 2)


def mentions(*parts: list[Message], ids: frozenset[str] = frozenset()) -> tuple[list[str], list[str]]:
    return find_mentions(conversation(*parts).items, ids)


def test_names_are_ordered_by_how_often_and_how_lately_they_came() -> None:
    first, second, third = (
        called(1, "a.py b.py ABC-1 ABC-2"),
        called(2, "b.py c.py ABC-2 ABC-3"),
        called(3, "z.py ABC-3 c.py"),
    )
    assert mentions(first, second, third) == (["c.py", "b.py", "z.py", "a.py"], ["ABC-3", "ABC-2"])
    assert mentions(first, second, ids=frozenset(["ABC-2"])) == (["b.py", "c.py", "a.py"], [])
    chosen = called(1, "x", arguments='{"path": "a.py", "id": "ABC-9"}')
    assert mentions(chosen, *(called(number, "b.py") for number in range(2, 5))) == (["a.py", "b.py"], ["ABC-9"])
    assert mentions(chosen, *(called(number, "b.py") for number in range(2, 6)))[0] == ["b.py", "a.py"]


@pytest.mark.parametrize(
    ("name", "is_named"), [("a" * 116 + ".py", True), ("a" * 117 + ".py", False), ("x/1", True), ("1/1", False)]
)
def test_a_name_has_a_letter_and_at_most_120_characters(name: str, is_named: bool) -> None:
    found, _ = mentions(called(1, f"see /{name}"))
    assert any(name in one for one in found) is is_named


@pytest.mark.parametrize(
    ("at", "is_named"), [(0, True), (2_995, True), (2_997, False), (5_000, False), (9_000, True), (9_990, True)]
)
def test_names_are_looked_for_at_both_ends_of_a_long_result(at: int, is_named: bool) -> None:
    text = " " * at + "a.py" + " " * (9_996 - at)
    assert mentions(called(1, text))[0] == (["a.py"] if is_named else [])


def test_a_task_is_whole_in_the_body_and_in_the_text_as_long_as_it_does_not_stay() -> None:
    task = "Mend this and that. " * 100
    transcript = conversation(step(1), task=task)
    told = [draft_summary(transcript, len(transcript.messages), kept, name_of, 4_000) for kept in ((), (0, 1))]
    assert all(f"> {task.strip()}" in one.body for one in told)
    first, second = ("\n".join(section(one.text, "Task, in the user's words")) for one in told)
    assert first == f"> {task.strip()}"
    assert 200 < len(second) <= 400
