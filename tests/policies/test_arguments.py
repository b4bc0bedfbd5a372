"""Which arguments of old calls may be cut, and what that frees."""

import json
from typing import Any

import pytest

from keepwhole.canonical.message import Message
from keepwhole.models.tokens import estimate
from keepwhole.policies.arguments import (
    NOTE,
    OldArguments,
    arguments_choice,
    freed_tokens,
    hidden_arguments,
    may_change,
)
from keepwhole.policies.policy import shown_text
from keepwhole.policies.transcript import Item, LongArguments, Transcript
from keepwhole.truncation.arguments import cut_arguments, long_arguments
from tests.policies.builders import add_image, add_step

CONTENT = "".join(f"line {number} of a file\n" for number in range(200))
GIVEN = json.dumps({"path": "a.txt", "content": CONTENT})
FREED = estimate(GIVEN) - estimate(cut_arguments(GIVEN, long_arguments(GIVEN)))


def written(steps: int = 3, text: str = "done", **changed: Any) -> tuple[Transcript, Item]:
    """A conversation whose first step writes a long file."""
    made = Transcript()
    made.extend([Message("user", "go on")])
    for _ in range(steps):
        add_step(made, text, "write", GIVEN)
    item = made.items[0]
    item.changes_arguments = "always"
    for name, value in changed.items():
        setattr(item, name, value)
    return made, item


def found(made: Transcript, item: Item, newest: int = 1, least: int = 0) -> LongArguments:
    return OldArguments(made, newest, least).of(item)


def test_the_long_arguments_of_an_old_call_may_be_cut() -> None:
    made, item = written()
    arguments = found(made, item)
    assert arguments == (long_arguments(GIVEN), FREED)
    assert FREED > 500
    assert found(made, item) is arguments, "they are looked for once"


@pytest.mark.parametrize(("newest", "is_old"), [(0, True), (2, True), (3, False)])
def test_the_arguments_of_the_newest_steps_stay(newest: int, is_old: bool) -> None:
    assert bool(found(*written(), newest=newest).cuts) is is_old


def test_what_frees_too_little_beside_the_note_about_it_stays() -> None:
    for least, is_enough in ((FREED - NOTE, True), (FREED - NOTE + 1, False)):
        made, item = written()
        assert bool(found(made, item, least=least).cuts) is is_enough


@pytest.mark.parametrize(
    "changed",
    [{"name": None}, {"is_error": True}, {"call": None}, {"changes_arguments": "never"}, {"original": "more"}],
)
def test_arguments_stay_where_nobody_could_read_them_back_or_the_call_is_still_needed(changed: dict[str, Any]) -> None:
    made, item = written(**changed)
    assert found(made, item).cuts == ()


def test_the_arguments_of_a_call_that_failed_or_returned_an_image_stay() -> None:
    made, item = written(text="Error: disk full")
    assert item.has_failed
    assert found(made, item).cuts == ()
    images = Transcript()
    images.extend([Message("user", "go on")])
    add_image(images, 1)
    add_step(images, "done")
    images.items[0].changes_arguments = "always"
    assert found(images, images.items[0]).cuts == ()


def test_arguments_beside_signed_reasoning_may_change_once_the_user_has_spoken() -> None:
    made, item = written(changes_arguments="after the turn")
    assert not may_change(made, item)
    assert found(made, item).cuts == ()
    made.extend([Message("user", "and now?")])
    assert may_change(made, item)
    assert found(made, item).cuts != ()


def test_a_choice_cuts_the_arguments_and_says_below_the_result_how_they_are_read_back() -> None:
    made, item = written()
    arguments = found(made, item)
    choice = arguments_choice(item, None, arguments)
    assert choice.cut.arguments == arguments.cuts
    shown = shown_text(item, choice)
    assert shown.startswith("done\n[")
    assert 'part="arguments"' in shown
    assert choice.tokens == estimate(shown) - FREED
    again = arguments_choice(item, choice._replace(cut=choice.cut.replace(arguments=())), arguments)
    assert again.cut.below == 2 * choice.cut.below


def test_what_is_hidden_of_arguments_and_what_is_shown_make_them_whole() -> None:
    made, item = written()
    hidden, shown = hidden_arguments(item, found(made, item))
    assert shown == cut_arguments(GIVEN, long_arguments(GIVEN))
    assert hidden
    assert CONTENT.endswith(hidden)
    assert hidden_arguments(item, LongArguments((), 0)) == ("", "")
    item.call = None
    assert hidden_arguments(item, LongArguments(long_arguments(GIVEN), 1)) == ("", "")
    assert freed_tokens(item, long_arguments(GIVEN)) == 0
    made, item = written()
    assert freed_tokens(item, ()) == 0
    assert freed_tokens(item, long_arguments(GIVEN)) == FREED
