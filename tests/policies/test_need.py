"""What makes a result more or less needed, and how much of a new one is worth showing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.errors import ConfigError
from keepwhole.policies.auto import Auto
from keepwhole.policies.need import need_of, reasons
from keepwhole.policies.settings import CAREFUL, LEAN, AutoSettings, NeedWeights
from keepwhole.policies.uses import ResultUse
from tests.policies.test_auto import HERE, transcript


def use(unsaid: int = 40, referred: int = 10, again: bool = False, written: bool = False) -> ResultUse:
    made = ResultUse(referred)
    made.unsaid, made.again, made.written = unsaid, again, written
    return made


counts = st.integers(0, 3_000)


@given(counts, counts, st.integers(0, 500), st.integers(0, 30), st.booleans(), st.booleans())
def test_need_falls_with_time_and_rises_with_what_is_unsaid(
    unsaid: int, more: int, since: int, messages: int, again: bool, written: bool
) -> None:
    now = 10 + since
    need = need_of(use(unsaid, 10, again, written), now, messages)
    assert need > 0
    assert need_of(use(unsaid + more, 10, again, written), now, messages) >= need
    assert need_of(use(unsaid, 10, again, written), now + 1, messages) < need
    assert need_of(use(unsaid, 10, again, written), now, messages + 1) < need
    assert need_of(use(unsaid, 10, True, True), now, messages) <= need


def test_reasons_say_in_words_what_counts() -> None:
    assert reasons(use(0, 9), 10) == "last referred to 1 turn ago"
    told = reasons(use(7, 2, True, True), 33, 2)
    assert told == (
        "last referred to 31 turns ago; the same call was made again since; its file was written to since; "
        "the user has written since; 7 of its names not taken up"
    )
    assert reasons(use(0), 12, is_obsolete=True) == "last referred to 2 turns ago; a newer image shows the same"


@pytest.mark.parametrize(
    ("weight", "value"), [("unsaid", -0.1), ("turns", 0.1), ("user", 0.2), ("again", 1.5), ("base", 0), ("written", -1)]
)
def test_weights_that_would_turn_the_model_round_are_refused(weight: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"auto.need.{weight}"):
        AutoSettings(need={**CAREFUL.need, weight: value})


def test_the_default_of_the_setting_is_the_table() -> None:
    assert CAREFUL.weights == NeedWeights()


def shown(text: str, settings: AutoSettings = CAREFUL, tool: str = "lookup") -> int:
    made = transcript(text, tool=tool)
    choices = Auto(settings).arrive(made, made.items, {}, HERE)
    return len(text) if not choices else sum(part.stop - part.start for part in choices[0].cut.kept)


def names(many: int) -> str:
    """Lines with a name each that no other has."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    made = ("".join(letters[number // 26**place % 26] for place in range(4)) for number in range(1, many * 97, 97))
    return "\n".join(f"get_{name} returns one {name}Response and takes some words" for name in made)


def test_a_text_with_many_names_is_shown_at_length_and_a_log_of_the_same_size_is_not() -> None:
    overview = names(900)
    log = "\n".join(f"2026-11-18 08:{n % 60:02}:00 test_{n:05} of the work has gone well so far" for n in range(900))
    assert shown(overview) > 3 * shown(log)
    assert shown(log[:7_900]) == 7_900
    assert shown(log) <= CAREFUL.arrival_least["other"]


def test_the_less_evidence_is_worth_the_less_is_shown_and_never_less_than_the_least() -> None:
    text = names(1_800)
    sizes = [shown(text, CAREFUL.replace(worth=worth)) for worth in (0, LEAN.worth, CAREFUL.worth, 10**6)]
    assert sizes == sorted(sizes)
    assert sizes[0] <= 8_000 < sizes[1] < sizes[2]
    assert sizes[3] == len(text)


def test_of_a_new_result_a_cheaper_preset_shows_less_only_by_the_root_of_what_evidence_is_worth() -> None:
    text = names(1_800)
    less = shown(text, LEAN) / shown(text, CAREFUL)
    assert less == pytest.approx((LEAN.worth / CAREFUL.worth) ** 0.5, abs=0.05)


def test_a_read_is_whole_whatever_is_in_it() -> None:
    text = "plain words only, line by line\n" * 1_000
    assert shown(text, tool="read_file") == len(text)
