"""What a reader sees of a text: no terminal sequences or invisible characters, and look-alikes as plain letters."""

import pytest

from keepwhole.truncation import skeleton
from keepwhole.truncation.skeleton import Skeleton

BOLD = "\x1b[1m"


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("Plain Words", "plain words"),
        ("a\tb\rc\vd\fe\nf", "a b c d e\nf"),
        ("a\x00b\x7fc\x0ed", "abcd"),
        ("é\xa0b\u2003c\u3000d", "e b c d"),
        ("é\u2028b\u2029c\x85d\ne", "e\nb\nc\nd\ne"),
        ("[Аrtіfасt]", "[artifact]"),
        ("ｆｕｌｌ ﬁle", "full file"),
        ("ｆ\u00adu\u200bl\u115fl\U000e0041", "full"),
        ("ꜰu\ua66fll꞉ ꜱ꞊ꓽ", "full: s=:"),
        ("中文 b한", "\ufffd\ufffd b\ufffd"),
        ("\u3400\ud7ff\U00020000\U000323af", "\ufffd" * 4),
        ("ß Ψ ½é", "\ufffd \ufffd \ufffde"),
        (f"{BOLD}a\x1b[0mb", "ab"),
        (r"caf\u00e9 \u0041b \u200b.", "cafe ab ."),
        (r"\u4e2d\u3199", "\\u4e2d\ufffd"),
        (r"\ud83d\ude00x", "\ufffdx"),
        (r"\n is an escape", r"\n is an escape"),
    ],
)
def test_a_text_is_folded_to_what_a_reader_sees(text: str, seen: str) -> None:
    assert Skeleton(text).text == seen


@pytest.mark.parametrize(
    "text",
    [
        "plain words",
        "a\x00b c\x7fd",
        f"{BOLD}one{BOLD} two\x1b[0m",
        r"caf\u00e9 \u0041b\u200bc",
        "ﬁle \u200b中e\u0301x",
        f"é{BOLD}b\\u0041ﬁ end",
        "é" * 70_000 + "x",
    ],
)
def test_every_character_of_a_skeleton_has_its_place_in_the_text(text: str) -> None:
    folded = Skeleton(text)
    places = folded.places(range(len(folded.text)))
    assert places == sorted(places)
    assert len(places) == len(folded.text)
    for at in range(0, len(places), max(1, len(places) // 50)):
        place = places[at]
        rest = text[place:]
        long = 6 if rest.startswith("\\u") else 1
        assert folded.text[at] in Skeleton(rest[:long]).text
    assert folded.places([]) == []
    last = len(folded.text) - 1
    assert folded.places([last]) == places[last:]


def test_a_text_that_is_folded_in_pieces_is_folded_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "é b中ﬁ " * 20
    whole = Skeleton(text).text
    monkeypatch.setattr(skeleton, "_PIECE", 7)
    assert Skeleton(text).text == whole
