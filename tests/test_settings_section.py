"""A setting accepts what its annotation declares, and a wrong value or name is answered with what to give instead."""

from collections.abc import Mapping
from math import inf, nan
from typing import Annotated, Any, Literal

import pytest

from keepwhole.errors import ConfigError
from keepwhole.settings_section import (
    Count,
    Range,
    SettingsSection,
    Share,
    check_value,
    is_scalar,
    nearest,
    parse_text,
    refuse_unknown,
    suggestion,
    wanted,
)
from keepwhole.version import VERSION

SIDE = Literal["left", "right", "on", "off"]
ABOVE = Annotated[float, Range(0, above=True)]
BETWEEN = Annotated[int, Range(1_000, 2_000)]
UP_TO = Annotated[float, Range(0, 5, above=True)]


class Gears(SettingsSection):
    section = "gears"
    teeth: Count = 12
    side: SIDE = "left"


class Top(SettingsSection):
    share: Share = 0.5


@pytest.mark.parametrize(
    ("hint", "value", "kept"),
    [
        (Count, 1, 1),
        (Share, 0, 0),
        (Share, 1.0, 1.0),
        (ABOVE, 0.001, 0.001),
        (ABOVE, 10**9, 10**9),
        (UP_TO, 5, 5),
        (BETWEEN, 1_000, 1_000),
        (BETWEEN, 2_000, 2_000),
        (float, -7, -7),
        (SIDE, "left", "left"),
        (SIDE, True, "on"),
        (SIDE, False, "off"),
        (str, "", ""),
        (bool, True, True),
        (tuple[str, ...], ["a", "b"], ("a", "b")),
        (tuple[str, ...], (), ()),
        (Mapping[str, int], {}, {}),
        (Mapping[str, Count], {"a": 1}, {"a": 1}),
        (Mapping[str, object], {1: [2]}, {"1": [2]}),
        (Mapping[Literal["a", "b"], str], {"b": "x"}, {"b": "x"}),
    ],
)
def test_a_value_that_a_setting_accepts_is_kept(hint: Any, value: object, kept: object) -> None:
    found = check_value("key", value, hint)
    assert found == kept
    assert type(found) is type(kept)


@pytest.mark.parametrize(
    ("hint", "value", "words"),
    [
        (Count, 0, "`key` is 0; give a whole number of at least 1."),
        (Count, 1.0, "`key` is 1.0; give a whole number of at least 1."),
        (Count, True, "`key` is True; give a whole number of at least 1."),
        (Count, "1", "`key` is '1'; give a whole number of at least 1."),
        (Share, 1.1, "`key` is 1.1; give a number from 0 to 1."),
        (Share, -0.1, "`key` is -0.1; give a number from 0 to 1."),
        (Share, nan, "`key` is nan; give a number from 0 to 1."),
        (ABOVE, 0, "`key` is 0; give a number above 0."),
        (ABOVE, True, "`key` is True; give a number above 0."),
        (UP_TO, 5.1, "`key` is 5.1; give a number above 0 and up to 5."),
        (UP_TO, 0, "`key` is 0; give a number above 0 and up to 5."),
        (BETWEEN, 999, "`key` is 999; give a whole number from 1,000 to 2,000."),
        (BETWEEN, 2_001, "`key` is 2001; give a whole number from 1,000 to 2,000."),
        (float, None, "`key` is None; give a number."),
        (SIDE, "up", "`key` is 'up'; give one of left, right, on, off."),
        (Literal["a"], True, "`key` is True; give one of a."),
        (str, 7, "`key` is 7; give a string."),
        (tuple[str, ...], "a", "`key` is 'a'; give a list of strings."),
        (tuple[str, ...], ["a", 1], "`key` is ['a', 1]; give a list of strings."),
        (Mapping[str, int], [], "`key` is []; give keys and values."),
        (Mapping[str, Count], {"a": 1, "b": 0}, "`key.b` is 0; give a whole number of at least 1."),
        (str, [1] * 100, f"`key` is {str([1] * 100)[:120]}…; give a string."),
        (str, [1] * 40, f"`key` is {[1] * 40}; give a string."),
    ],
)
def test_any_other_value_is_refused_with_what_to_give(hint: Any, value: object, words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_value("key", value, hint)
    assert str(caught.value) == words


def test_a_section_checks_its_fields_wherever_they_come_from() -> None:
    assert Gears(side=True).side == "on"  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"^`gears.teeth` is 0; give"):
        Gears(teeth=0)
    with pytest.raises(ConfigError, match=r"^`gears.teeth` is 0; give"):
        Gears().replace(teeth=0)
    with pytest.raises(ConfigError, match=r"^`share` is 2; give"):
        Top(share=2)


def test_keys_of_a_mapping_that_are_not_known_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^There is no setting `key\.lefd`\. Did you mean `left`\?$"):
        check_value("key", {"lefd": "x"}, Mapping[SIDE, str])


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Annotated[int, Range(least=5)], "a whole number of at least 5"),
        (Annotated[int, Range()], "a whole number"),
        (Annotated[int, "a note"], "a whole number"),
        (Annotated[int, "a note", Range(7)], "a whole number of at least 7"),
        (Annotated[float, Range(0, inf, above=True)], "a number above 0"),
        (Mapping[str, int], "keys and values"),
        (tuple[str, ...], "a list of strings"),
        (str, "a string"),
    ],
)
def test_what_a_setting_accepts_is_told_in_words(hint: Any, words: str) -> None:
    assert wanted(hint) == words


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("8_000", Count, 8_000),
        ("0.5", Share, 0.5),
        ("7", str, "7"),
        ("left", SIDE, "left"),
        (" a , b ,, ", tuple[str, ...], ("a", "b")),
        ("", tuple[str, ...], ()),
    ],
)
def test_a_text_gives_a_setting_its_value(text: str, hint: Any, value: object) -> None:
    assert parse_text(text, hint) == value
    assert is_scalar(hint)


def test_a_text_that_is_no_number_gives_none_and_mappings_have_no_text() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        parse_text("x", Count)
    assert not is_scalar(Mapping[str, int])
    assert is_scalar(int)
    assert is_scalar(Annotated[float, Range()])


def refused(name: str, **more: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        refuse_unknown("tools.", ["known", name], ["known", "retrieval_limit"], **more)
    return str(caught.value)


def test_a_name_that_is_not_known_is_answered_with_the_nearest_or_all() -> None:
    assert refused("retreival_limit") == (
        "There is no setting `tools.retreival_limit`. Did you mean `retrieval_limit`?"
    )
    assert refused("zzz") == (
        f"There is no setting `tools.zzz` in Keepwhole {VERSION}; a newer one may have it. "
        "Known: `known`, `retrieval_limit`."
    )
    assert f"`tools.{'z' * 120}` in" in refused("z" * 121)
    refuse_unknown("tools.", ["known"], ["known"])


def test_a_setting_that_was_removed_or_is_elsewhere_is_answered_with_that() -> None:
    removed = {"tools.old": "Give `new`.", "zzz": "Another."}
    assert refused("old", removed=removed) == "The setting `tools.old` was removed: Give `new`."
    assert refused("zzz", removed=removed).startswith("There is no setting `tools.zzz` in ")
    places = {"mode": "top.mode"}
    assert refused("mode", elsewhere=places.get) == "There is no setting `tools.mode`. Did you mean `top.mode`?"
    assert refused("zzz", elsewhere=places.get) == refused("zzz")


def test_the_nearest_name_is_suggested_and_without_one_all() -> None:
    assert nearest("shwo", ["search", "show"]) == "show"
    assert nearest("zzz", ["search", "show"]) is None
    assert suggestion("shwo", iter(["search", "show"])) == "Did you mean `show`?"
    assert suggestion("zzz", iter(["search", "show"])) == "Known: `search`, `show`."
