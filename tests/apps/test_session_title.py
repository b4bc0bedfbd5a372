"""A session is called by the user's first words, whatever a client puts before them."""

import json
from typing import Any

import pytest

from keepwhole.apps.session_title import newest_words_of_request, title_of, title_of_request

FIRST = "Fix the tests, please."


def request(*messages: tuple[str, Any]) -> bytes:
    return json.dumps({"model": "m", "messages": [{"role": role, "content": said} for role, said in messages]}).encode()


def test_a_title_has_at_most_a_hundred_and_twenty_characters() -> None:
    assert title_of("x" * 120) == "x" * 120
    assert title_of("x" * 121) == "x" * 119 + "…"


def test_a_title_is_one_line_that_a_terminal_can_show() -> None:
    assert title_of("  Fix\n\tthe \x1b[31mtests  ") == "Fix the  [31mtests"


@pytest.mark.parametrize(
    "words",
    [
        f"<system-reminder>Monday.</system-reminder> {FIRST}",
        f"<env os='linux'>\n<cwd>/home</cwd>\n</env>{FIRST}",
        f"{FIRST}<A>one</a>",
        f"<a>one<a>two</a></a>{FIRST}<b>three</b>",
        f"<a>one</a><a>two</a>{FIRST}",
    ],
)
def test_what_clients_put_around_the_words_is_left_out(words: str) -> None:
    assert title_of(words) == FIRST


def test_a_tag_that_is_never_closed_is_the_users_own() -> None:
    assert title_of("Use <br> and </p> here") == "Use <br> and </p> here"


@pytest.mark.parametrize(
    "words",
    ["", " \n", "<a>only this</a>", "# AGENTS.md of x", "# Instructions: be brief", "Caveat: the messages below"],
)
def test_where_nothing_is_the_users_own_there_is_no_title(words: str) -> None:
    assert title_of(words) is None


def test_the_beginning_of_very_long_words_is_looked_at() -> None:
    assert title_of(" " * 19_999 + "ab") == "a"
    assert title_of(" " * 20_000 + "ab") is None


def test_the_first_message_of_the_user_that_says_something_names_the_session() -> None:
    told = ("user", "<system-reminder>Monday.</system-reminder>")
    assert title_of_request(request(("system", "Be brief."), told, ("user", FIRST), ("user", "later"))) == FIRST
    assert title_of_request(request(("assistant", "Hello."), ("user", ""))) is None


def test_twelve_messages_at_the_beginning_are_looked_at() -> None:
    assert title_of_request(request(*[("assistant", "hm")] * 11, ("user", FIRST))) == FIRST
    assert title_of_request(request(*[("assistant", "hm")] * 12, ("user", FIRST))) is None


def test_a_prompt_that_is_a_text_names_the_session_too() -> None:
    assert title_of_request(json.dumps({"model": "m", "input": FIRST}).encode()) == FIRST
    assert title_of_request(b"not a request") is None


@pytest.mark.parametrize(
    ("words", "title"), [(FIRST, FIRST), (f"<env>x</env> {FIRST}", FIRST), ("<env>x</env>", None), ("", None)]
)
def test_words_that_are_the_whole_input_are_the_first_and_the_newest(words: str, title: str | None) -> None:
    body = json.dumps({"model": "m", "input": words}).encode()
    assert title_of_request(body) == title
    assert newest_words_of_request(body) == title


def test_the_newest_words_are_those_behind_the_last_answer() -> None:
    said = [("user", "First."), ("assistant", "Done."), ("user", FIRST), ("user", "<env>x</env>")]
    assert newest_words_of_request(request(*said)) == FIRST
    assert newest_words_of_request(request(*said, ("assistant", "Done."))) is None
    assert newest_words_of_request(request(*said, *[("user", "<a>x</a>")] * 10)) == FIRST, "the twelve last are read"
    assert newest_words_of_request(request(*said, *[("user", "<a>x</a>")] * 11)) is None
    assert newest_words_of_request(b"no JSON") is None
