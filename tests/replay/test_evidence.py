"""Evidence: the used strings that only a result contained; an example for each pitfall of the definition."""

import pytest

from keepwhole.errors import UsageError
from keepwhole.logs.own_format import run_of
from keepwhole.logs.run import Run
from keepwhole.policies.atoms import atom_parts, atoms, long_lines, occurrences_in_context, occurs
from keepwhole.replay.evidence import Evidence, evidence, is_recorded_under_masking
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.outcome import EvidenceShare, shares_by_kind
from tests.replay.recorded import calls, result, run, says, user


def found(run: Run, frequency: Frequency | None = None) -> list[str]:
    return [one.text for one in evidence(run, frequency)]


def test_a_string_that_a_result_showed_and_a_later_call_uses_is_evidence() -> None:
    one = run(user("Cancel it."), calls(q="orders"), result("order W-2380 is open"), calls(id="W-2380"))
    assert evidence(one) == [Evidence(1, "W-2380", "args", (0,), 1)]


def test_plain_words_are_no_evidence_and_rare_shapes_are() -> None:
    assert list(atoms("Update the customer named Smith")) == []
    assert list(atoms("a_b1 x-y.z parseArgs user@host #1234 HTTP2 v1.")) == [
        "a_b1",
        "x-y.z",
        "parseArgs",
        "user@host",
        "#1234",
        "HTTP2",
    ]
    assert list(atoms("x" * 199 + "/y")) == []


def test_what_the_user_or_the_agent_said_before_is_restated_and_no_evidence() -> None:
    asked = run(user("Cancel W-2380."), calls(q="orders"), result("order W-2380 is open"), calls(id="W-2380"))
    thought = run(
        user("Cancel it."),
        calls(q="orders"),
        result("W-2380 is open"),
        says("W-2380?"),
        user("Yes."),
        calls(i="W-2380"),
    )
    assert found(asked) == []
    assert [(one.step, one.kind) for one in evidence(thought)] == [(1, "answer")]


def test_only_the_first_use_counts() -> None:
    one = run(calls(q="x"), result("W-2380"), calls(id="W-2380"), result("done"), calls(id="W-2380"))
    assert [item.step for item in evidence(one)] == [1]


def test_a_part_of_a_longer_word_is_no_occurrence() -> None:
    assert found(run(calls(q="x"), result("order XW-23805 is open"), calls(id="W-2380"))) == []
    assert not occurs("app.py", "myapp.py app.pyc")
    assert occurs("app.py", "src/app.py:12")


def test_a_path_that_the_agent_joined_is_tried_in_parts() -> None:
    one = run(user("Go."), calls(q="ls"), result("main_test.go\nREADME"), calls(path="/home/me/main_test.go"))
    assert found(one) == ["main_test.go"]
    assert atom_parts("a/b_1.go:120-140") == ["b_1.go", "120-140"]


def test_a_quoted_line_is_evidence_of_its_own_kind() -> None:
    line = "return the first of them"
    one = run(calls(q="x"), result(f"def pick():\n    {line}\n"), calls(old=f"  {line}\n  and more"))
    assert evidence(one) == [Evidence(1, line, "line", (0,), 1)]
    assert list(long_lines("short\n" + "long " * 100)) == []


def test_a_string_that_is_an_atom_and_a_line_counts_once() -> None:
    path = "src/pkg/long_module_name.go"
    assert found(run(calls(q="x"), result(f"see {path}"), calls(path=path))) == [path]


def test_arguments_are_read_without_their_escapes_and_keys() -> None:
    one = run(calls(q="x"), result("n_items and key_9 here"), calls(key_9="first\nn_items"))
    assert found(one) == ["n_items"]


def test_what_an_agent_says_beside_a_call_is_not_its_answer() -> None:
    one = run(calls(q="x"), result("W-2380"), calls(says="I saw W-2380.", id="other"))
    assert found(one) == []


def test_age_counts_steps_since_a_result_last_showed_it() -> None:
    one = run(
        calls("a"),
        result("W-2380", "a"),
        calls("b"),
        result("W-2380 again", "b"),
        calls("d", x="y"),
        result("other", "d"),
        calls("e", id="W-2380"),
    )
    (item,) = evidence(one)
    assert (item.sources, item.age) == ((0, 1), 2)


def test_what_the_results_of_other_tasks_show_too_is_common() -> None:
    def task(number: int, text: str) -> Run:
        return run(user("Go."), calls(q="x"), result(text), calls(a="pkg/mod.go"), id=str(number))

    three = Frequency([task(number, "pkg/mod.go" if number <= 3 else "nothing") for number in range(6)])
    four = Frequency([task(number, "pkg/mod.go" if number <= 4 else "nothing") for number in range(6)])
    assert found(task(0, "pkg/mod.go"), three) == ["pkg/mod.go"]
    assert found(task(0, "pkg/mod.go"), four) == []


def test_trials_of_one_task_count_once() -> None:
    trials = [
        run(calls(q="x"), result("W-2380"), calls(a="W-2380"), id=str(number), task_id="same") for number in range(9)
    ]
    assert found(trials[0], Frequency(trials)) == ["W-2380"]


def test_common_words_do_not_make_a_rare_string_common() -> None:
    others = [run(calls(q="x"), result("src main go, go to main src"), id=str(number)) for number in range(9)]
    one = run(calls(q="x"), result("src/main.go"), calls(a="src/main.go"), id="me")
    assert found(one, Frequency([one, *others])) == ["src/main.go"]


def test_context_is_up_to_sixteen_characters_of_the_same_line() -> None:
    text = "above\n" + "a" * 20 + " W-2380 " + "b" * 20 + "\nbelow"
    assert list(occurrences_in_context("W-2380", text)) == ["a" * 15 + " W-2380 " + "b" * 15]
    assert list(occurrences_in_context("W-2380", "x\nid W-2380\nbelow")) == ["id W-2380"]
    assert list(occurrences_in_context("W-2380", "W-2380")) == ["W-2380"]


def test_runs_recorded_under_masking_are_recognized_by_how_recent_their_evidence_is() -> None:
    assert is_recorded_under_masking(982, 1000)
    assert not is_recorded_under_masking(670, 1000)
    assert not is_recorded_under_masking(10, 10), "too few to tell"


def test_a_record_that_is_no_run_is_refused_in_words() -> None:
    with pytest.raises(UsageError, match="messages"):
        run_of({"source": "a", "id": "b"})


def test_evidence_is_old_after_five_steps() -> None:
    found = [Evidence(9, f"W-{age}", "args", (0,), age) for age in (5, 6)]
    assert shares_by_kind(found, [])["old"] == EvidenceShare(1, 1)
