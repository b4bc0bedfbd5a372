"""Calls that are made again while their result is hidden."""

from typing import Any

from keepwhole.logs.run import Run
from keepwhole.replay.replay import replay
from keepwhole.replay.run_texts import repeated_calls
from keepwhole.replay.summary import ComparedRun, Repeated, summarize
from tests.replay.recorded import DROP_ALL, KEEP_ALL, Made, calls, facts, once_read, result, run, user


def again(policy: Made, one: Run) -> Repeated:
    whole = facts(one)
    return summarize([ComparedRun(replay(whole, policy), replay(whole, KEEP_ALL))]).requests.repeated


READ_TWICE = run(
    user("Go."),
    calls("a", path="x", limit=5),
    result("some text", "a"),
    calls("b", path="y"),
    result("other text", "b"),
    calls("c", limit=5, path="x"),
    result("some text", "c"),
)


def test_a_call_made_again_counts_while_its_result_is_hidden() -> None:
    assert again(KEEP_ALL, READ_TWICE) == Repeated(0, 3)
    assert again(DROP_ALL, READ_TWICE) == Repeated(1, 3)
    assert again(once_read("gone"), READ_TWICE) == Repeated(1, 3)


def test_it_does_not_count_while_the_last_result_of_that_call_is_shown() -> None:
    hides_first = Made(arriving=lambda item: "-" if item.number == 0 else None)
    thrice = run(
        *(turn for name in "abc" for turn in (calls(name, path="x"), result(f"text {name}", name))),
    )
    assert again(hides_first, thrice) == Repeated(1, 3)


def test_other_arguments_are_another_call() -> None:
    one = run(calls("a", path="x"), result("t", "a"), calls("b", path="x", limit=1), result("t", "b"))
    assert again(DROP_ALL, one) == Repeated(0, 2)


def test_calls_without_a_result_before_are_no_repeats() -> None:
    both = {**calls("a", path="x")}
    both["tool_calls"] = [*both["tool_calls"], *calls("b", path="x")["tool_calls"]]
    parallel = run(both, result("t", "a"), result("t", "b"))
    assert repeated_calls(facts(parallel).texts).by_step == {}


def test_arguments_that_are_no_json_are_compared_as_texts() -> None:
    odd = run(
        *(
            turn
            for name, words in (("a", "{broken"), ("b", "{other"), ("c", "{broken"))
            for turn in (_with_arguments(calls(name), words), result(f"text {name}", name))
        )
    )
    assert repeated_calls(facts(odd).texts).by_step == {2: [(0,)]}


def _with_arguments(message: dict[str, Any], arguments: str) -> dict[str, Any]:
    (call,) = message["tool_calls"]
    return {**message, "tool_calls": [{**call, "function": {**call["function"], "arguments": arguments}}]}
