"""Near-repeats: only the lines that differ are shown, in order, in linear time, and their base stays whole."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.policies.auto import Auto
from keepwhole.policies.near_repeats import NEAR, differing_spans, unchanged_lines
from keepwhole.policies.policy import shown_text
from keepwhole.policies.settings import CAREFUL
from tests.policies.builders import SITUATION, by_number, transcript

NEAR_ON = CAREFUL.replace(near_repeats=True)
_lines = st.lists(st.sampled_from(["a\n", "b\n", "c\n", "d\n", "e"]), max_size=30)


def report(failed: int) -> str:
    return "".join(f"test_{number} {'FAILED' if number == failed else 'passed'}\n" for number in range(300))


@given(_lines, _lines)
def test_what_is_said_to_be_unchanged_is_there_in_the_same_order(earlier: list[str], now: list[str]) -> None:
    same = [line for line, is_same in zip(now, unchanged_lines(earlier, now), strict=True) if is_same]
    rest = iter(earlier)
    assert all(line in rest for line in same)
    assert all(unchanged_lines(now, now))


@given(_lines, _lines)
def test_every_line_that_differs_is_shown(earlier: list[str], now: list[str]) -> None:
    spans = differing_spans("".join(earlier), "".join(now))
    text, at = "".join(now), 0
    hidden = ""
    for start, stop in [*spans, (len(text), len(text))]:
        hidden += text[at:start]
        at = stop
    rest = iter("".join(earlier).splitlines(keepends=True))
    assert all(line in rest for line in hidden.splitlines(keepends=True))


def test_time_grows_with_the_lines_and_no_faster() -> None:
    def seconds(count: int) -> float:
        earlier, now = [f"{n % 97} {n // 3}\n" for n in range(count)], [f"{n % 89} {n // 3}\n" for n in range(count)]
        began = time.thread_time()
        unchanged_lines(earlier, now)
        return time.thread_time() - began

    small, large = (min(seconds(count) for _ in range(3)) for count in (5_000, 50_000))
    assert large < 40 * small


def test_the_second_run_shows_only_what_changed_and_names_the_first() -> None:
    made = transcript(report(7), report(250))
    (choice,) = Auto(NEAR_ON).arrive(made, made.items, {}, SITUATION)
    shown = shown_text(made.items[1], choice)
    assert choice.rule == NEAR
    assert "test_250 FAILED" in shown
    assert "test_7 passed" in shown, "what failed before is seen to pass"
    assert "test_100 " not in shown
    assert made.items[0].name is not None
    assert made.items[0].name.artifact_id in shown
    assert choice.tokens < made.items[1].tokens / 10
    own, first = made.items[1].name, made.items[0].name
    assert own is not None
    assert shown.startswith(
        f"[Artifact: {own.artifact_id}] Like the earlier result of call call_1 ({first.artifact_id}) but for the lines "
        f"below; what is omitted is as it is there. All of it: {own.way.whole()}\n"
    )


def test_it_is_off_unless_it_is_asked_for() -> None:
    made = transcript(report(7), report(250))
    assert Auto(CAREFUL).arrive(made, made.items, {}, SITUATION) == []


def test_a_result_that_differs_in_most_lines_is_shown_whole() -> None:
    made = transcript(report(7), report(7).upper())
    assert Auto(NEAR_ON).arrive(made, made.items, {}, SITUATION) == []


def test_a_base_is_not_left_out_before_what_differs_from_it() -> None:
    made = transcript(report(7), report(250), *(f"{n} " * 4_000 for n in range(12)))
    auto = Auto(NEAR_ON.replace(start=1, worth=0, horizon=1_000, keep_steps=1, max_loss=1_000, clear_at_least=1))
    decided = by_number(auto.arrive(made, made.items, {}, SITUATION))
    assert decided[1].rule == NEAR
    choices = by_number(auto.age(made, decided, SITUATION))
    assert (0 in choices) <= (1 in choices)


@pytest.mark.parametrize(
    ("earlier", "now", "same"),
    [
        ("abcd", "abcd", "++++"),
        ("abcd", "abXcd", "++-++"),
        ("aabb", "aabb", "++++"),
        ("aaXbb", "aaYbb", "++-++"),
        ("xaax", "aa", "--"),
        ("aa", "aaa", "++-"),
        ("aab", "aaab", "++-+"),
        ("abab", "bab", "+++"),
        ("qaazaa", "qaaaa", "+++++"),
        ("abc", "cab", "-++"),
        ("abcde", "edabc", "--+++"),
        ("", "ab", "--"),
        ("ab", "", ""),
        ("ccXcc", "cc", "++"),
        ("mccX", "nccX", "-+++"),
        ("mccXcc", "mccYcc", "+++-++"),
        ("XaZ", "YaW", "-+-"),
        ("qcz", "qXczc", "+-++-"),
    ],
)
def test_lines_are_matched_by_those_that_are_there_once_and_the_equal_ones_beside_them(
    earlier: str, now: str, same: str
) -> None:
    found = "".join("+" if one else "-" for one in unchanged_lines(earlier, now))
    assert found == same


@pytest.mark.parametrize(
    ("earlier", "now", "shown"),
    [
        ("abcde", "abcde", []),
        ("abcde", "abXde", [(2, 8)]),
        ("abcde", "Xbcde", [(0, 4)]),
        ("abcde", "abcdX", [(6, 10)]),
        ("abcdefgh", "aXcdefXh", [(0, 6), (10, 16)]),
        ("abcdefgh", "aXcdXfgh", [(0, 12)]),
    ],
)
def test_a_line_around_those_that_differ_is_shown(earlier: str, now: str, shown: list[tuple[int, int]]) -> None:
    assert differing_spans(*("".join(f"{line}\n" for line in text) for text in (earlier, now))) == shown
