"""Room is reserved for the most expensive language of each script; English, code and data need none."""

import pytest

from keepwhole.models.token_reserve import reserve_of

MANY = 1_000_000.0
"""So many tokens that no character is taken for a sign of no language."""
SCRIPTS = {
    "Latin with accents": (0x01, 0x02, 1.3),
    "Greek": (0x03, 0x03, 0.1),
    "Cyrillic": (0x04, 0x04, 0.2),
    "Armenian, Hebrew": (0x05, 0x05, 0.15),
    "Arabic": (0x06, 0x06, 0.1),
    "Syriac to Mandaic": (0x07, 0x08, 1.5),
    "Devanagari, Bengali": (0x09, 0x09, 0.1),
    "Gurmukhi to Sinhala": (0x0A, 0x0D, 0.3),
    "Thai, Lao": (0x0E, 0x0E, 0.15),
    "Tibetan": (0x0F, 0x0F, 1.5),
    "Burmese, Georgian": (0x10, 0x10, 0.25),
    "Ethiopic to Canadian": (0x11, 0x16, 1.8),
    "Khmer": (0x17, 0x17, 0.35),
    "Mongolian to phonetic": (0x18, 0x1D, 2.0),
    "Vietnamese": (0x1E, 0x1E, 0.3),
    "Greek with breathings": (0x1F, 0x1F, 1.4),
    "quotes, arrows": (0x20, 0x21, 0.4),
    "mathematics": (0x22, 0x24, 1.4),
    "boxes": (0x25, 0x25, 0.5),
    "ticks": (0x26, 0x27, 1.2),
    "braille": (0x28, 0x28, 2.7),
    "more signs": (0x29, 0x2F, 2.0),
    "kana": (0x30, 0x30, 0.4),
    "rare Han": (0x31, 0x4D, 2.4),
    "Han": (0x4E, 0x9F, 0.45),
    "Yi to Meetei": (0xA0, 0xAB, 2.2),
    "Hangul": (0xAC, 0xD7, 0.25),
    "private use": (0xE0, 0xFA, 2.4),
    "forms": (0xFB, 0xFE, 1.4),
    "full width": (0xFF, 0xFF, 0.95),
}


@pytest.mark.parametrize(("first", "last", "reserve"), SCRIPTS.values(), ids=SCRIPTS)
def test_each_character_of_a_script_has_a_reserve(first: int, last: int, reserve: float) -> None:
    for page in range(first, last + 1):
        sample = 10 * chr(page << 8 | 0x91)
        assert reserve_of(sample, MANY, sample) == pytest.approx(10 * reserve), hex(page)


@pytest.mark.parametrize(
    ("sample", "reserve"),
    [
        ("é", 1.1),
        ("\u0301", 0.1 + 1.4),
        ("ֱא", 2 * 0.15 + 1.7),
        ("😀", 2 * 0.2),
        ("𓀀", 2 * 0.2 + 1.6),
        ("\x00\x7f", 2 * 0.5),
        ("\t\n\r\x1b", 0.0),
    ],
)
def test_some_characters_have_a_reserve_of_their_own(sample: str, reserve: float) -> None:
    text = "plain letters and spaces " * 4 + sample
    assert reserve_of(text, MANY, text) == pytest.approx(reserve)


@pytest.mark.parametrize(
    ("text", "share"),
    [("the one and only list of these terms is in the other file " * 3, 0.0), ("0123456789abcdef" * 20, 0.14)],
)
def test_dense_text_takes_more_than_words(text: str, share: float) -> None:
    assert reserve_of(text, 100.0, text) == pytest.approx(100 * share)


@pytest.mark.parametrize(("rare", "each"), [(27, 0.0), (28, 0.0), (30, 0.1), (32, 0.2), (60, 0.2)])
def test_letters_that_english_rarely_uses_make_another_language(rare: int, each: float) -> None:
    text = "a" * rare + "e" * (100 - rare)
    assert reserve_of(text, 100.0, text) == pytest.approx(100 * each)


def test_letters_at_random_take_the_most_and_few_letters_say_nothing() -> None:
    text = "z" * 37 + "e" * 63
    assert reserve_of(text, 100.0, text) == pytest.approx(36)
    assert [reserve_of("z" * letters, 100.0, "") for letters in (39, 40)] == [0.0, pytest.approx(40 * 0.36)]


def test_a_text_in_which_hardly_anything_comes_twice_may_take_a_token_a_byte() -> None:
    text = "".join(chr(0x1000 + 37 * number % 0x800) for number in range(300))
    assert reserve_of(text, 100.0, text) == len(text.encode()) - 100


def letters(count: int, first: int = 0x1000) -> str:
    """So many different letters, each of which may take a quarter of a token more."""
    return "".join(map(chr, range(first, first + count)))


def test_the_middle_of_a_text_shows_whether_pairs_of_characters_come_again() -> None:
    sample = 2 * letters(150)  # three quarters of its characters are not new
    often, new = 300 * "\u1000\u1001", letters(150) + letters(250, 0x1050)[::-1]
    for text, is_language in ((often + new + often, False), (new + often + new, True)):
        reserve = 300 * 0.25 if is_language else len(sample.encode()) - 100
        assert reserve_of(sample, 100.0, text) == pytest.approx(reserve)


@pytest.mark.parametrize(("distinct", "is_language"), [(150, True), (151, False)])
def test_a_text_is_in_no_language_where_more_than_three_quarters_of_its_characters_are_new(
    distinct: int, is_language: bool
) -> None:
    sample = letters(distinct) + (200 - distinct) * "\u1000"
    assert reserve_of(sample, 100.0, 9 * "\u1000") == pytest.approx(200 * 0.25 if is_language else 500)


def test_too_short_a_text_says_nothing_about_its_language() -> None:
    for length, reserve in ((199, 199 * 0.25), (200, 3 * 200 - 100)):
        assert reserve_of(letters(length), 100.0, letters(length)) == pytest.approx(reserve)


def test_a_text_whose_script_has_hardly_any_reserve_is_taken_for_what_it_is() -> None:
    sample = letters(200)  # which may take 50 tokens more
    assert reserve_of(sample, 501.0, sample) == pytest.approx(50)
    assert reserve_of(sample, 499.0, sample) == pytest.approx(101), "as many tokens as bytes"


def test_words_in_which_characters_come_again_take_the_reserve_of_their_script() -> None:
    sample = "слово " * 60
    assert reserve_of(sample, 100.0, sample) == pytest.approx(300 * 0.2)


def test_pairs_say_nothing_of_scripts_without_an_alphabet() -> None:
    """In Chinese most pairs are new, too."""
    sample = 2 * "".join(chr(0x4E00 + number) for number in range(110))
    text = "".join(chr(0x4E00 + number) for number in range(500))
    assert reserve_of(sample, 100.0, text) == pytest.approx(220 * 0.45)
    mixed = 2 * ("".join(chr(0x4E00 + number) for number in range(30)) + letters(70))
    assert reserve_of(mixed, 50.0, text) == pytest.approx(len(mixed.encode()) - 50)
    more = 2 * ("".join(chr(0x4E00 + number) for number in range(31)) + letters(69))
    assert reserve_of(more, 50.0, text) == pytest.approx(62 * 0.45 + 138 * 0.25)
    kana = 2 * "".join(chr(0x3040 + number) for number in range(110))
    assert reserve_of(kana, 50.0, text) == pytest.approx(220 * 0.4)


@pytest.mark.parametrize("accented", ["éàü", "ęłć", "şżš", "éłş"])
def test_accents_tell_a_language_apart_whose_letters_are_those_of_english(accented: str) -> None:
    plain = "a" * 28 + "e" * 72
    few, more = (plain + accented[:3] + accented[0] * extra for extra in (0, 1))
    of_accents = reserve_of(more, MANY, more) - reserve_of(few, MANY, few)
    own = reserve_of(plain[:9] + accented[0], MANY, "")
    assert of_accents == pytest.approx(own + 0.2 * 100)
