"""What a transcript takes as it is sent, and how far above its estimate that may be."""

import pytest

from keepwhole.models.profiles import DEFAULT
from keepwhole.policies.policy import Choice, Situation, TrackedChoices, replacement_cut, sent_reserve, sent_tokens
from keepwhole.policies.transcript import Transcript
from tests.policies.builders import transcript

WORDS = "слово и число 17\n" * 60


def made() -> Transcript:
    return transcript(WORDS, "short", WORDS * 2)


def choice(of: Transcript, number: int, tokens: int, rule: str = "made") -> Choice:
    return Choice(number, rule, replacement_cut(of.items[number], "-"), tokens)


def tracked(of: Transcript, *choices: Choice) -> TrackedChoices:
    held = TrackedChoices()
    for one in choices:
        held.hold(of.items[one.number], one)
    return held


def test_what_is_left_out_is_not_sent_however_decisions_are_kept() -> None:
    of = made()
    choices = choice(of, 0, 3), choice(of, 2, 5)
    saved = of.items[0].tokens - 3 + of.items[2].tokens - 5
    assert sent_tokens(of, tracked(of, *choices)) == of.tokens - saved
    assert sent_tokens(of, {one.number: one for one in choices}) == of.tokens - saved
    assert sent_tokens(of, {}) == sent_tokens(of, TrackedChoices()) == of.tokens


def test_what_may_be_more_than_estimated_shrinks_with_what_is_sent() -> None:
    of = made()
    whole, first = of.reserve_from(0), of.items[0]
    assert first.reserve > 0
    assert sent_reserve(of, {}) == sent_reserve(of, TrackedChoices()) == whole
    for tokens, left in ((0, 0.0), (first.tokens // 2, (first.tokens // 2) / first.tokens), (-5, 0.0)):
        expected = whole - first.reserve * (1 - left)
        decided = choice(of, 0, tokens)
        assert sent_reserve(of, {0: decided}) == pytest.approx(expected)
        held = tracked(of, decided)
        assert sent_reserve(of, held) == pytest.approx(expected)
        assert sent_reserve(of, held) == pytest.approx(expected)
    assert sent_reserve(of, {0: choice(of, 0, first.tokens)}) == whole
    assert sent_reserve(of, {0: choice(of, 0, first.tokens + 9)}) == whole


def test_only_messages_from_a_place_on_count() -> None:
    of = made()
    decided = {0: choice(of, 0, 0), 2: choice(of, 2, 0)}
    start = of.items[0].index + 1
    assert sent_reserve(of, decided, start) == pytest.approx(of.reserve_from(start) - of.items[2].reserve)
    assert sent_reserve(of, decided, of.items[2].index) == pytest.approx(
        of.reserve_from(of.items[2].index) - of.items[2].reserve
    )
    assert sent_reserve(of, decided, len(of.messages)) == 0


@pytest.mark.parametrize(
    ("scale", "margin", "doubt", "most"),
    [
        *((1.0, 1.0, 1.0, 1.0), (1.2, 1.0, 1.0, 1.2), (1.0, 1.5, 1.0, 1.5), (1.2, 1.5, 1.0, 1.5)),
        *((1.2, 1.6, 0.5, 1.4), (0.8, 1.5, 1.0, 1.3), (1.0, 1.5, 0.0, 1.0)),
    ],
)
def test_a_window_holds_what_bills_and_scripts_may_make_of_it(
    scale: float, margin: float, doubt: float, most: float
) -> None:
    situation = Situation(DEFAULT.replace(window=100_000), scale=scale, margin=margin, doubt=doubt)
    assert situation.most_billed == pytest.approx(most)
    assert situation.window == int(100_000 / situation.most_billed)
