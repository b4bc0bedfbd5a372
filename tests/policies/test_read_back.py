"""Results of a tool are cut no more once reading them back has cost more than cutting them saved."""

import json

from keepwhole.policies.auto import Auto
from keepwhole.policies.policy import Choice
from keepwhole.policies.transcript import Transcript
from keepwhole.truncation.configuration import ToolOverride, TruncationConfiguration
from tests.policies.builders import SITUATION, add_step, transcript

LONG = "plain words in a line\n" * 1_400
GAP = LONG[8_000:]


def arrive(made: Transcript, decided: dict[int, Choice], policy: Auto | None = None) -> bool:
    """Whether the newest result is cut; the choice is added to the decided ones."""
    item = made.items[-1]
    for choice in (policy or Auto()).arrive(made, [item], decided, SITUATION):
        decided[choice.number] = choice
    return item.number in decided


def add_long(made: Transcript, number: int, tool: str = "fetch_report") -> None:
    add_step(made, f"{number}\n{LONG}", tool, json.dumps({"name": number}))


def read_back(made: Transcript, number: int, text: str, by: str = "artifact_id") -> None:
    name = made.items[number].name
    assert name is not None
    add_step(made, text, "get_artifact", json.dumps({"id": getattr(name, by)}))


def one_cut() -> tuple[Transcript, dict[int, Choice]]:
    made, decided = transcript(), dict[int, Choice]()
    add_long(made, 1)
    assert arrive(made, decided)
    return made, decided


def test_a_result_that_was_read_back_whole_is_the_last_of_its_tool_that_is_cut() -> None:
    for by in ("artifact_id", "trace_id"):
        made, decided = one_cut()
        read_back(made, 0, GAP, by)
        add_long(made, 2)
        assert not arrive(made, decided)
        add_long(made, 3, "other_tool")
        assert arrive(made, decided), "another tool has its own account"


def test_a_result_that_nobody_read_back_says_nothing() -> None:
    made, decided = one_cut()
    for number in range(2, 5):
        add_long(made, number)
        assert arrive(made, decided)


def test_what_other_cuts_saved_pays_for_reading_one_back() -> None:
    made, decided = one_cut()
    add_long(made, 2)
    add_long(made, 3)
    assert arrive(made, decided)
    read_back(made, 0, GAP)
    add_long(made, 4)
    assert arrive(made, decided)
    read_back(made, 2, GAP)
    read_back(made, 4, GAP)
    add_long(made, 5)
    assert not arrive(made, decided)


def test_a_search_that_brings_a_line_does_not_make_cutting_vain() -> None:
    made, decided = one_cut()
    read_back(made, 0, "17: plain words in a line\n[1 match shown in 1,401 lines, 30,802 characters, all there are]")
    add_long(made, 2)
    assert arrive(made, decided)


def test_many_searches_late_in_a_long_conversation_do() -> None:
    made, decided = one_cut()
    add_step(made, "plain words\n" * 40_000, "read_file")
    read_back(made, 0, "17: plain words in a line")
    add_long(made, 2)
    assert not arrive(made, decided), "each sends the whole conversation once more"


def test_a_limit_that_the_user_gave_holds() -> None:
    own = TruncationConfiguration(overrides={"fetch_report": ToolOverride(inline_limit=2_000)})
    made, decided = transcript(), dict[int, Choice]()
    add_long(made, 1)
    assert arrive(made, decided, Auto(configuration=own))
    read_back(made, 0, LONG)
    add_long(made, 2)
    assert arrive(made, decided, Auto(configuration=own))
