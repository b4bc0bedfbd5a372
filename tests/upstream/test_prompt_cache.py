"""The model of providers' prompt caches: what they find, what they forget, what they refuse, what it costs."""

from typing import Any

import pytest

from tests.upstream.prompt_cache import Breakpoints, ChatPrefixes, Clock, Prefixes, Refused

Json = dict[str, Any]
MARK = {"type": "ephemeral"}


def words(tokens: int, name: str = "") -> str:
    """A text that takes more or less so many tokens."""
    return (f"{name} lorem ipsum " * (tokens // 3))[: int(tokens * 3.3)]


def text(tokens: int, name: str = "", marker: Json | None = None) -> Json:
    return {"type": "text", "text": words(tokens, name)} | ({"cache_control": marker} if marker else {})


def asked(*blocks: Json, **more: Any) -> Json:
    return {"model": "claude-sonnet-5", "messages": [{"role": "user", "content": list(blocks)}], **more}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def explicit(clock: Clock) -> Breakpoints:
    return Breakpoints(clock)


@pytest.fixture
def automatic(clock: Clock) -> Prefixes:
    return ChatPrefixes(clock)


def test_what_is_before_a_marker_is_written_once_and_then_read(explicit: Breakpoints) -> None:
    first = explicit.bill(asked(text(2_000, "a", MARK), text(300, "b")))
    again = explicit.bill(asked(text(2_000, "a", MARK), text(300, "c")))
    assert first.read == 0
    assert 2_000 < first.written < 2_100
    assert 300 < first.plain < 350
    assert (again.read, again.written) == (first.written, 0)
    assert again.cost == pytest.approx(0.1 * again.read + again.plain)
    assert first.cost == pytest.approx(1.25 * first.written + first.plain)


def test_a_request_without_markers_is_paid_in_full_every_time(explicit: Breakpoints) -> None:
    bills = [explicit.bill(asked(text(5_000))) for _ in range(2)]
    assert all(bill.read == bill.written == 0 and bill.cost == bill.tokens for bill in bills)


def test_a_marker_that_moves_finds_what_was_written_where_it_was(explicit: Breakpoints) -> None:
    first = explicit.bill(asked(text(2_000, "a", MARK)))
    moved = explicit.bill(asked(text(2_000, "a"), text(500, "b", MARK)))
    assert moved.read == first.written
    assert 500 < moved.written < 560
    assert moved.plain == 0


@pytest.mark.parametrize(("between", "is_found"), [(18, True), (19, False)])
def test_an_entry_is_found_twenty_blocks_back_and_no_further(
    explicit: Breakpoints, between: int, is_found: bool
) -> None:
    explicit.bill(asked(text(2_000, "a", MARK)))
    more = [text(20, str(number)) for number in range(between)]
    assert bool(explicit.bill(asked(text(2_000, "a"), *more, text(20, "z", MARK))).read) is is_found


def test_a_second_marker_bridges_what_one_cannot_reach(explicit: Breakpoints) -> None:
    first = explicit.bill(asked(text(2_000, "a", MARK)))
    more = [text(20, str(number)) for number in range(30)]
    assert explicit.bill(asked(text(2_000, "a", MARK), *more, text(20, "z", MARK))).read == first.written


def test_a_prefix_below_the_minimum_is_not_cached(explicit: Breakpoints) -> None:
    bills = [explicit.bill(asked(text(900, "a", MARK), text(20))) for _ in range(2)]
    assert all(bill.read == bill.written == 0 for bill in bills)


def test_a_change_before_a_marker_misses_all_of_it(explicit: Breakpoints) -> None:
    explicit.bill(asked(text(2_000, "a"), text(2_000, "b", MARK)))
    assert explicit.bill(asked(text(2_000, "A"), text(2_000, "b", MARK))).read == 0


@pytest.mark.parametrize("changed", [{"tools": [{"name": "t"}]}, {"system": "Be brief."}])
def test_tools_and_system_come_before_messages(explicit: Breakpoints, changed: Json) -> None:
    explicit.bill(asked(text(2_000, "a", MARK)))
    assert explicit.bill(asked(text(2_000, "a", MARK), **changed)).read == 0


def test_another_choice_of_tools_misses_the_messages_alone(explicit: Breakpoints) -> None:
    system = [{**text(2_000, "s"), "cache_control": MARK}]
    first = explicit.bill(asked(text(2_000, "a", MARK), system=system))
    other = explicit.bill(asked(text(2_000, "a", MARK), system=system, tool_choice={"type": "any"}))
    assert 2_000 < other.read < 2_100 < first.written


def test_a_plain_string_is_the_same_as_a_block_of_text(explicit: Breakpoints) -> None:
    first = explicit.bill(asked(text(2_000, "a", MARK)))
    plain = {"role": "user", "content": words(2_000, "a")}
    said = {"role": "assistant", "content": [text(20, "z", MARK)]}
    assert explicit.bill({"messages": [plain, said]}).read == first.written


@pytest.mark.parametrize(("marker", "lives"), [(MARK, 300), (MARK | {"ttl": "1h"}, 3_600)])
def test_entries_live_for_a_while_and_longer_when_used(
    explicit: Breakpoints, clock: Clock, marker: Json, lives: int
) -> None:
    body = asked(text(2_000, "a", marker))
    explicit.bill(body)
    for wait, is_found in ((lives - 1, True), (lives - 1, True), (lives + 1, False)):
        clock.pass_by(wait)
        assert bool(explicit.bill(body).read) is is_found


def test_an_hour_costs_twice_the_input_price(explicit: Breakpoints) -> None:
    bill = explicit.bill(asked(text(2_000, "a", MARK | {"ttl": "1h"}), text(1_000, "b", MARK)))
    assert bill.cost == pytest.approx(2.0 * bill.written_long + 1.25 * bill.written)
    assert bill.written_long > bill.written > 1_000


def test_five_markers_are_refused_as_the_provider_refuses_them(explicit: Breakpoints) -> None:
    with pytest.raises(Refused, match=r"A maximum of 4 blocks with cache_control may be provided. Found 5."):
        explicit.bill(asked(*(text(500, str(number), MARK) for number in range(5))))
    with pytest.raises(Refused, match="1h"):
        explicit.bill(asked(text(2_000, "a", MARK), text(1_000, "b", MARK | {"ttl": "1h"})))
    assert explicit.bills == []


def test_a_prompt_over_the_window_is_refused_and_leaves_no_entry(clock: Clock) -> None:
    small = Breakpoints(clock, window=3_000)
    with pytest.raises(Refused, match=r"prompt is too long: \d+ tokens > 3000 maximum"):
        small.bill(asked(text(2_000, "a", MARK), text(2_000)))
    assert small.bill(asked(text(2_000, "a", MARK))).read == 0
    with pytest.raises(Refused, match="maximum context length") as told:
        ChatPrefixes(clock, window=3_000).bill(asked(text(4_000)))
    assert (told.value.code, told.value.param) == ("context_length_exceeded", "messages")
    with pytest.raises(Refused, match="exceeds the context window"):
        Prefixes(clock, window=3_000).bill({"input": words(4_000)})


def test_an_automatic_prefix_is_read_in_steps_of_128(automatic: Prefixes) -> None:
    first = automatic.bill(asked(text(3_000, "a")))
    second = automatic.bill(asked(text(3_000, "a"), text(1_000, "b")))
    assert first.read == 0
    assert first.cost == first.tokens
    assert first.tokens - 128 < second.read <= first.tokens
    assert second.read % 128 == 0
    assert second.cost == pytest.approx(0.1 * second.read + second.plain)


def test_an_automatic_prefix_ends_inside_a_block_where_that_changes(automatic: Prefixes) -> None:
    same = words(2_000, "a")
    automatic.bill({"messages": [{"role": "user", "content": same + words(1_000, "b")}]})
    bill = automatic.bill({"messages": [{"role": "user", "content": same + words(1_000, "c")}]})
    assert 2_000 - 128 <= bill.read <= 2_048


def test_an_automatic_prefix_below_the_minimum_or_under_another_key_or_too_old_is_not_read(
    automatic: Prefixes, clock: Clock
) -> None:
    for _ in range(2):
        assert automatic.bill(asked(text(900))).read == 0
    body = asked(text(3_000, "a"), prompt_cache_key="one")
    assert [automatic.bill(body).read > 0, automatic.bill(body).read > 0] == [False, True]
    assert automatic.bill(body | {"prompt_cache_key": "two"}).read == 0
    clock.pass_by(301)
    assert automatic.bill(body).read == 0


def test_usage_is_told_as_each_provider_tells_it(explicit: Breakpoints, clock: Clock) -> None:
    bill = explicit.bill(asked(text(2_000, "a", MARK), text(300)))
    usage = explicit.usage(bill, 7)
    keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens", "output_tokens")
    assert [usage[key] for key in keys] == [bill.plain, 0, bill.written, 7]
    for till in (Prefixes(clock), ChatPrefixes(clock)):
        till.bill(asked(text(3_000, "a")))
        told = till.usage(till.bill(asked(text(3_000, "a"))), 7)
        details = told.get("input_tokens_details") or told["prompt_tokens_details"]
        assert 2_900 < details["cached_tokens"] <= told["total_tokens"] - 7
