"""A text is cut at a line end if one is near, else between two graphemes, never inside a CRLF."""

import itertools
import random
import shutil
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.edges import head_edge, tail_edge

GRAPHEMES = {
    "a plain letter": "x",
    "a letter with an accent": "e\u0301",
    "a letter with three marks": "n\u0303\u0308\u0332",
    "a letter with seventy marks": "z" + "\u0301" * 70,
    "a family of emoji": "👩\u200d👩\u200d👧\u200d👦",
    "an emoji with a skin tone": "👍🏽",
    "a heart with a variation selector": "❤\ufe0f",
    "a keycap": "1\ufe0f\u20e3",
    "a flag": "🇨🇭",
    "a flag of tags": "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "hangul in jamo": "\u1100\u1161\u11a8",
    "a hangul syllable with a final": "\uac00\u11a8",
    "a CRLF": "\r\n",
    "a Devanagari vowel sign": "नि",
    "a Devanagari conjunct": "क्ष",
    "a Tamil syllable": "நி",
    "a Thai sara am": "ก\u0e33",
    "a halfwidth voiced kana": "ｶ\uff9e",
    "a letter with a non-joiner": "a\u200c",
}


def boundaries(graphemes: list[str]) -> set[int]:
    """Where a text made of these may be cut."""
    found, at = {0}, 0
    for grapheme in graphemes:
        at += len(grapheme)
        found.add(at)
    return found


def assert_never_split(graphemes: list[str]) -> None:
    text = "".join(graphemes)
    source, allowed = TextSource(text), boundaries(graphemes)
    for place in range(len(text) + 1):
        head, tail = head_edge(source, place), tail_edge(source, place)
        assert head in allowed, f"a beginning of {place} ends inside a grapheme, at {head}"
        assert head <= place
        assert tail in allowed, f"an end from {place} begins inside a grapheme, at {tail}"
        assert tail >= place


@pytest.mark.parametrize("kind", GRAPHEMES)
def test_a_grapheme_is_never_split(kind: str) -> None:
    assert_never_split([GRAPHEMES[kind]] * 40)


@pytest.mark.parametrize("kind", GRAPHEMES)
def test_a_grapheme_among_letters_is_never_split(kind: str) -> None:
    assert_never_split([*"some letters", GRAPHEMES[kind], *"and more", GRAPHEMES[kind]])


SAFE = [GRAPHEMES[kind] for kind in list(GRAPHEMES)[4:12]] + [*"abc", "\n"]


@given(st.lists(st.sampled_from(SAFE), max_size=40))
def test_no_mixture_of_graphemes_is_ever_split(graphemes: list[str]) -> None:
    assert_never_split(graphemes)


POOLS = [
    (0x20, 0x7F),
    (0x300, 0x370),
    (0x600, 0x610),
    (0x900, 0x980),
    (0x980, 0xA00),
    (0xB80, 0xC00),
    (0xD00, 0xD80),
    (0xE00, 0xE80),
    (0xE80, 0xF00),
    (0x1000, 0x1100),
    (0x1100, 0x1200),
    (0x1780, 0x1800),
    (0x200C, 0x200E),
    (0x0A, 0x0E),
    (0xA960, 0xA97D),
    (0xAC00, 0xAC40),
    (0xD7B0, 0xD7FC),
    (0xFE0F, 0xFE10),
    (0xFF60, 0xFFA0),
    (0x1F1E6, 0x1F200),
    (0x1F3F0, 0x1F480),
    (0xE0020, 0xE0080),
]
PERL = r'chomp; my $s = join("", map { chr } split(/,/)); print join(",", map { length } $s =~ /\X/g), "\n"'


def unicode_texts(count: int) -> list[list[str]]:
    """Texts of chance, as the graphemes that Perl, which follows Unicode's own rules, finds in them."""
    chance, texts = random.Random(29), list[str]()
    for _ in range(count):
        pools = chance.sample(POOLS, chance.randint(1, 3))
        drawn = [chr(chance.randrange(*chance.choice(pools))) for _ in range(10)]
        texts.append("".join(char for char in drawn if unicodedata.category(char) != "Cn"))
    asked = "\n".join(",".join(str(ord(char)) for char in text) for text in texts)
    done = subprocess.run(["perl", "-ne", PERL], input=asked, capture_output=True, text=True, check=True)
    found: list[list[str]] = []
    for text, line in zip(texts, done.stdout.split("\n"), strict=False):
        ends = list(itertools.accumulate((int(size) for size in line.split(",") if size), initial=0))
        found.append([text[start:stop] for start, stop in itertools.pairwise(ends)])
    assert ["".join(graphemes) for graphemes in found] == texts
    return found


@pytest.mark.skipif(shutil.which("perl") is None, reason="needs Perl, whose \\X knows Unicode's graphemes")
def test_no_text_is_cut_where_unicode_sees_one_grapheme() -> None:
    for graphemes in unicode_texts(2_000):
        assert_never_split(graphemes)


def test_a_beginning_ends_at_a_line_end_where_one_is_near() -> None:
    source = TextSource("first line\nsecond line\nthird")
    assert head_edge(source, 28) == 23
    assert head_edge(source, 23) == 23
    assert head_edge(source, 22) == 11


def test_an_end_begins_at_a_line_where_one_is_near() -> None:
    source = TextSource("first line\nsecond line\nthird")
    assert tail_edge(source, 5) == 11
    assert tail_edge(source, 11) == 11
    assert tail_edge(source, 12) == 23


def test_a_line_end_that_is_far_away_is_not_waited_for() -> None:
    source = TextSource("short\n" + "x" * 10_000 + "\nlast")
    assert head_edge(source, 5_000) == 5_000
    assert tail_edge(source, 5_000) == 5_000


def test_text_of_carriage_returns_is_cut_at_them() -> None:
    source = TextSource("first line\rsecond line\rthird")
    assert head_edge(source, 28) == 23
    assert tail_edge(source, 12) == 23


@pytest.mark.parametrize("limit", [-5, 0])
def test_no_room_is_no_text(limit: int) -> None:
    assert head_edge(TextSource("text"), limit) == 0
    assert tail_edge(TextSource("text"), limit) == 0


def test_the_end_of_a_text_is_its_end() -> None:
    assert tail_edge(TextSource("text"), 4) == tail_edge(TextSource("text"), 9) == 4


def test_a_terminal_sequence_is_never_split() -> None:
    text = "x" * 100 + "\x1b[38;5;196mred" + "y" * 200
    source = TextSource(text)
    for limit in range(101, 112):
        assert head_edge(source, limit) in (100, 111)
    for start in range(101, 111):
        assert tail_edge(source, start) == 111


def test_the_only_line_end_of_a_long_text_is_never_split() -> None:
    assert_never_split(["x"] * 200 + ["\r\n"] + ["x"] * 200)
    assert_never_split(["x"] * 200 + ["\r", "x"] + ["x"] * 200)
