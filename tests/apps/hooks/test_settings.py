"""Our hooks in a settings text: added at the end, found again, and taken out to the byte."""

import json
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.apps.hooks.command import is_own
from keepwhole.apps.hooks.settings import commands, installed, uninstalled

EVENTS = ("PostToolUse", "PreCompact", "SessionStart")
COMMAND = "/opt/bin/keepwhole hook run claude-code"
own = partial(is_own, client="claude-code")

names = st.text(max_size=6) | st.sampled_from(["env", "model", "permissions"])
plain = st.none() | st.booleans() | st.integers() | st.text(max_size=12)
values = st.recursive(
    plain, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3), max_leaves=6
)
foreign = st.fixed_dictionaries(
    {"hooks": st.just([{"type": "command", "command": "lint"}])}, optional={"matcher": st.just("Bash")}
)
hooks = st.dictionaries(st.sampled_from([*EVENTS, "Stop"]), st.lists(foreign, max_size=2), max_size=4)
settings = st.tuples(st.dictionaries(names, values, max_size=3), st.none() | hooks, st.booleans()).map(
    lambda made: (
        made[0] if made[1] is None else {"hooks": made[1], **made[0]} if made[2] else made[0] | {"hooks": made[1]}
    )
)
spaces = st.sampled_from(["", " ", "\n", "\r\n", "\t\n "])


@st.composite
def texts(draw: st.DrawFn) -> str:
    """Settings as people and programs write them."""
    text = json.dumps(
        draw(settings),
        indent=draw(st.sampled_from([None, 0, 2, 4, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([None, (",", ":"), (" ,", " : ")])),
    )
    if draw(st.booleans()):
        text = text.replace("\n", "\r\n")
    if draw(st.booleans()):
        spaced = text.replace("{}", "{" + draw(spaces) + "}").replace("[]", "[" + draw(spaces) + "]")
        with suppress(ValueError):  # one of them may stand inside a name, where there is no room for a line's end
            json.loads(spaced)
            text = spaced
    return draw(st.sampled_from(["", "\ufeff"])) + draw(spaces) + text + draw(spaces)


def value(text: str) -> Any:
    return json.loads(text.removeprefix("\ufeff"))


def without_ours(settings: dict[str, Any]) -> dict[str, Any]:
    found = settings.get("hooks", {})
    kept = {
        event: [one for one in entries if one["hooks"][0]["command"] != COMMAND] for event, entries in found.items()
    }
    return {**settings, "hooks": kept}


@given(texts())
def test_what_is_put_in_is_taken_out_to_the_byte(text: str) -> None:
    assert uninstalled(installed(text, EVENTS, COMMAND, own), own) == text


@given(texts())
def test_a_second_install_changes_nothing(text: str) -> None:
    once = installed(text, EVENTS, COMMAND, own)
    assert installed(once, EVENTS, COMMAND, own) == once
    assert commands(once, EVENTS, own) == [[COMMAND]] * 3


@given(texts())
def test_what_is_not_ours_keeps_its_value_and_its_order(text: str) -> None:
    before, after = value(text), value(installed(text, EVENTS, COMMAND, own))
    assert {key: made for key, made in after.items() if key != "hooks"} == {
        key: made for key, made in before.items() if key != "hooks"
    }
    assert [key for key in after if key in before] == list(before)
    left = {event: entries for event, entries in without_ours(after)["hooks"].items() if entries}
    assert left == {event: entries for event, entries in before.get("hooks", {}).items() if entries}


@given(texts())
def test_another_path_to_us_takes_the_place_of_the_old_one(text: str) -> None:
    moved = "/home/u/bin/keepwhole hook run claude-code"
    after = installed(installed(text, EVENTS, COMMAND, own), EVENTS, moved, own)
    assert commands(after, EVENTS, own) == [[moved]] * 3
    assert uninstalled(after, own) == text


def test_settings_that_were_not_there_are_gone_again() -> None:
    made = installed(None, EVENTS, COMMAND, own)
    assert list(value(made)["hooks"]) == list(EVENTS)
    assert uninstalled(made, own) is None


def test_what_others_added_to_settings_that_we_made_stays() -> None:
    made = value(installed(None, EVENTS, COMMAND, own))
    made["hooks"]["Stop"] = [{"hooks": [{"type": "command", "command": "ring"}]}]
    rest = uninstalled(json.dumps({"model": "m", **made}, indent=2), own)
    assert rest is not None
    assert value(rest) == {"model": "m", "hooks": {"Stop": made["hooks"]["Stop"]}}


def test_an_entry_of_ours_that_somebody_added_a_command_to_is_theirs() -> None:
    both = [{"type": "command", "command": COMMAND}, {"type": "command", "command": "ring"}]
    text = json.dumps({"hooks": {"PostToolUse": [{"hooks": both}]}})
    assert uninstalled(text, own) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "{",
        '{"a": 1,}',
        '{"a": 1} // why',
        "[]",
        '{"hooks": []}',
        '{"hooks": {"PreCompact": {}}}',
        '{"a": NaN}',
    ],
)
def test_settings_that_cannot_be_edited_safely_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        installed(text, EVENTS, COMMAND, own)
    with pytest.raises(ValueError, match=r"\w"):
        uninstalled(text, own)
