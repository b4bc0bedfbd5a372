"""Strings whose use is followed through a run: found as whole words, wherever in a text they are."""

import pytest

from keepwhole.policies.atoms import (
    argument_text,
    atom_parts,
    atom_shapes,
    atoms,
    is_atom,
    is_rare,
    long_lines,
    occurrences_in_context,
    occurs,
    positions,
    words,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("needle", [0]),
        ("xneedle", []),
        ("needlex", []),
        (".needle.", [1]),
        ("xneedle needle", [8]),
        ("needle, needle", [0, 8]),
    ],
)
def test_a_string_is_found_where_it_is_no_part_of_a_longer_word(text: str, found: list[int]) -> None:
    assert list(positions("needle", text)) == found
    assert occurs("needle", text) == bool(found)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("open src/app.py, then parseArgs at line 12345.", ["src/app.py", "parseArgs", "12345"]),
        ("abc1 ab1 a_b_ A.b. plain words Here", ["abc1", "a_b_"]),
        ("#tag4 @user x$y%z4 -x-12- :a1b2: +a1b2+ /a1b2/ %a1b2%", ["#tag4", "@user", "x$y%z4", "x-12", "a1b2"]),
        ("a1b2 a1b2 b1a2", ["a1b2", "b1a2"]),
        (f"{'x' * 199}1 {'y' * 200}1", ["x" * 199 + "1"]),
        ("naïve4 über5", ["ber5"]),
        ("aBcd abcD ABCD", ["aBcd", "abcD", "ABCD"]),
        ("a(b)1234[5678]", ["1234", "5678"]),
    ],
)
def test_atoms_have_a_rare_shape_and_four_to_two_hundred_characters(text: str, found: list[str]) -> None:
    assert list(atoms(text)) == found


def test_atoms_that_differ_in_digits_alone_have_one_shape() -> None:
    assert atom_shapes("host-7:80 host-12:443 parseArgs a1b22 a9b8") == {"host-0:0", "parseArgs", "a0b0"}
    assert [is_rare(text) for text in ("abc", "Abc", "aBc", "a1", "a_b", "a/b", "a.b", "a-b", "@a", "#a", "")] == [
        *(False, False),
        *(True,) * 8,
        False,
    ]
    assert [is_atom(text) for text in ("a_b", "a_bc", "abcd", "x_" * 100, "x_" * 100 + "y")] == [
        *(False, True, False, True, False),
    ]


@pytest.mark.parametrize(
    ("atom", "parts"),
    [
        ("src/app.py:120-140", ["app.py", "120-140"]),
        ("a=b1c2,d3e4+f5g6@h7i8", ["b1c2", "d3e4", "f5g6", "h7i8"]),
        ("b1c2", []),
        ("b1c2.", ["b1c2"]),
        ("plain/words", []),
    ],
)
def test_the_parts_of_an_atom_are_atoms(atom: str, parts: list[str]) -> None:
    assert atom_parts(atom) == parts


def test_lines_of_twenty_to_three_hundred_characters_are_long_enough() -> None:
    lines = ["x" * 19, "x" * 20, f"  {'y' * 20}  ", "z" * 300, "w" * 301, "x" * 20]
    assert list(long_lines("\n".join(lines))) == ["x" * 20, "y" * 20, "z" * 300]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ("no JSON", "no JSON"),
        ("[" * 9_000, "[" * 9_000),
        ('{"a": [1, "two", {"b": 3.5}], "c": null, "d": true, "e": "five"}', "1\ntwo\n3.5\nfive"),
        ('"one"', "one"),
        ("null", ""),
    ],
)
def test_the_values_of_arguments_are_lines(arguments: str, text: str) -> None:
    assert argument_text(arguments) == text


def test_words_are_letters_digits_and_underscores() -> None:
    assert words("a-b_c d1,ü") == {"a", "b_c", "d1"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("id-7", ["id-7"]),
        ("a" * 15 + " id-7 " + "b" * 15, ["a" * 15 + " id-7 " + "b" * 15]),
        ("a" * 16 + " id-7 " + "b" * 16, ["a" * 15 + " id-7 " + "b" * 15]),
        ("no\nyes id-7\nno", ["yes id-7"]),
        (f"no\n{'a' * 15} id-7 {'b' * 14}\nno", [f"{'a' * 15} id-7 {'b' * 14}"]),
        ("id-7\nid-7 x", ["id-7", "id-7 x"]),
        ("id-7\nid-7", ["id-7"]),
        ("\nid-7\n", ["id-7"]),
        ("id-77", []),
    ],
)
def test_an_occurrence_has_sixteen_characters_of_its_line_on_either_side(text: str, found: list[str]) -> None:
    assert list(occurrences_in_context("id-7", text)) == found
