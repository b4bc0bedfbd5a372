"""The mutants are what they should be: changes of behavior, each of one line, drawn the same way for the same seed."""

import ast

from tests.mutants.__main__ import draw, equivalents
from tests.mutants.closest import ROOT, closest_tests
from tests.mutants.mutate import mutants

SOURCE = b'''
"""A docstring with 1 < 2."""
LIMIT: int = 3

def is_short(text: str) -> bool:
    """Return it."""
    if len(text) < LIMIT and text:
        raise ValueError(f"too short by {1 + 1}")
    return len(text) + 1 == 4 or not text
'''


def test_every_mutant_parses_and_differs() -> None:
    found = [mutant.apply(SOURCE) for mutant in mutants(SOURCE)]
    assert len(found) == len(set(found)) >= 9
    assert all(ast.dump(ast.parse(one)) != ast.dump(ast.parse(SOURCE)) for one in found)


def test_texts_hints_and_docstrings_stay_as_they_are() -> None:
    assert {mutant.line for mutant in mutants(SOURCE)} == {3, 7, 9}


def test_a_comparison_and_its_limit_are_broken() -> None:
    lines = [mutant.apply(SOURCE).splitlines()[6].strip() for mutant in mutants(SOURCE) if mutant.line == 7]
    assert b"if ((len(text)) <= (LIMIT)) and text:" in lines
    assert b"if ((len(text) < LIMIT) or (text)):" in lines


def test_the_same_seed_draws_the_same_and_another_does_not() -> None:
    first = draw("a", 30)
    assert draw("a", 30) == first != draw("b", 30)
    assert len({(one.path, one.mutant.line) for one in first}) == 30


def test_a_modules_own_tests_come_first() -> None:
    (first, *_) = closest_tests(ROOT / "src" / "keepwhole" / "policies" / "rolling.py")
    assert first.name == "test_rolling.py"
    assert all(closest_tests(path) for path in (ROOT / "src" / "keepwhole").rglob("*.py") if path.stem != "__init__")


def test_every_equivalent_mutant_has_a_reason_and_still_exists() -> None:
    for words, reason in equivalents().items():
        path, line, _ = words.split(" | ")
        assert len(reason) > 10, words
        assert line in (ROOT / path).read_text(encoding="utf-8"), f"{words}: gone, delete the row"
