"""The argument that tells a call from others of its tool, in one line."""

import json

import pytest

from keepwhole.apps.argument_words import telling_argument


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (None, None),
        ("", None),
        ("{}", None),
        ("not json", "not json"),
        ("[" * 9_000, "[" * 119 + "…"),
        ('["make", "lint", 3]', "make lint 3"),
        ("3", None),
        ("null", None),
        ('"text\\n of  it"', "text of it"),
        ('{"name": "n", "command": "c"}', "c"),
        ('{"command": "", "path": "p"}', "p"),
        ('{"other": 3, "text": "first", "more": "second"}', "first"),
        ('{"other": 3}', None),
        ('{"path": 3}', None),
        ('{"command": ["a", "b"]}', "a b"),
        ('{"command": "a\\u0007b\\ud800"}', "a b "),
        (json.dumps({"q": "x" * 120}), "x" * 120),
        (json.dumps({"q": "x" * 121}), "x" * 119 + "…"),
        (json.dumps({"q": " " * 480 + "x"}), None),
        (json.dumps({"q": " " * 479 + "x"}), "x"),
    ],
)
def test_the_telling_argument_is_one_line(arguments: str | None, line: str | None) -> None:
    found = telling_argument(arguments)
    assert found == line or (line == "a b " and found is not None and found.startswith("a b"))


def test_arguments_are_read_up_to_a_mebibyte() -> None:
    exactly = '{"q": "' + "x" * (1_048_576 - 9) + '"}'
    assert len(exactly) == 1_048_576
    assert telling_argument(exactly) == "x" * 119 + "…"
    assert telling_argument(exactly + " ") is None
