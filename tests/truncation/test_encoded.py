"""Bytes written as text are shown by their beginning, and the room goes to what can be read."""

import json
import random
from base64 import b64encode, encodebytes

import pytest

import keepwhole
from keepwhole.truncation.encoded import encoded_runs, is_encoded, looks_encoded

PNG = b64encode(b"\x89PNG\r\n\x1a\n" + random.Random(7).randbytes(60_000)).decode()
LOG = "".join(f"step {number} of the build went as expected\n" for number in range(600))
URL = f"data:image/png;base64,{PNG}"
HEX = random.Random(3).randbytes(9_000).hex()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"png": PNG, "log": LOG}),
        json.dumps({"log": LOG, "png": PNG}),
        json.dumps({"log": LOG, "url": URL}),
        json.dumps({"log": LOG, "lines": encodebytes(PNG.encode()).decode()}),
        json.dumps({"code": f"0x{HEX}", "log": LOG}),
        f"<page><log>{LOG}</log><img>{PNG}</img></page>",
        f"{PNG}\n{LOG}",
        f"before\n{LOG}{URL}\n{LOG}",
        f"hello\n![]({URL})\n{LOG}",
        f"$ xxd -p shot.png\n{HEX}\n{LOG}",
    ],
)
def test_what_can_be_read_gets_the_room(text: str) -> None:
    shown = keepwhole.truncate(text, limit=8_000)
    assert len(shown) <= 8_000
    assert sum(stop - start for start, stop in encoded_runs(shown)) == 0
    assert shown.count("went as expected") > 120


@pytest.mark.parametrize("text", [PNG, URL, HEX, json.dumps(PNG), json.dumps([PNG, PNG])])
def test_bytes_alone_are_shown_by_their_beginning(text: str) -> None:
    shown = keepwhole.truncate(text, limit=8_000)
    assert text[:30] in shown
    assert len(shown) < 1_000


def test_what_is_left_out_is_counted_once() -> None:
    shown = keepwhole.truncate(PNG, limit=8_000)
    assert shown.count("omitted") == 1


def test_json_still_parses_and_keeps_its_keys() -> None:
    shown = keepwhole.truncate(json.dumps({"png": PNG, "id": 7, "rows": list(range(9_000))}), limit=4_000)
    read = json.loads(shown[: shown.rindex("}") + 1])
    assert read["id"] == 7
    assert read["png"].startswith(PNG[:30])
    assert len(read["rows"]) > 500


@pytest.mark.parametrize(
    "text",
    [
        "a" * 900,
        "0123456789" * 90,
        "ACGT" * 300,
        "GetTheNameOfTheUser" * 50,
        "/usr/lib/python3.11/site-packages/" * 30,
        "some words with spaces between them, 12 times A and B " * 20,
        "word_" * 200,
        PNG[:399],
    ],
)
def test_what_can_be_read_is_not_taken_for_bytes(text: str) -> None:
    assert not is_encoded(text, 0, len(text))
    assert encoded_runs(text) == []


@pytest.mark.parametrize("before", range(0, 420, 7))
def test_a_run_is_found_wherever_it_begins(before: int) -> None:
    text = "b " * before + PNG[:400] + " and more" * 60
    assert encoded_runs(text) == [(2 * before, 2 * before + 400)]


@pytest.mark.parametrize(
    ("upper", "lower", "figures", "is_bytes"),
    [
        (24, 90, 6, True),
        (23, 91, 6, False),
        (90, 24, 6, True),
        (91, 23, 6, False),
        (57, 58, 5, False),
    ],
)
def test_bytes_have_letters_of_both_cases_and_figures(upper: int, lower: int, figures: int, is_bytes: bool) -> None:
    """Of 120 characters a fifth are of each case, and a twentieth figures."""
    assert looks_encoded("Q" * upper + "w" * lower + "7" * figures) is is_bytes


@pytest.mark.parametrize(("letters", "is_bytes"), [(24, True), (23, False), (96, True), (97, False)])
def test_hexadecimal_has_a_fifth_of_letters_and_a_fifth_of_figures(letters: int, is_bytes: bool) -> None:
    assert looks_encoded("a" * letters + "7" * (120 - letters)) is is_bytes
    assert not looks_encoded("g" * letters + "7" * (120 - letters))


def test_a_stretch_of_four_hundred_characters_is_judged_by_its_ends_and_its_middle() -> None:
    chance = random.Random(3)
    coded = b64encode(chance.randbytes(900)).decode()
    assert [is_encoded(coded, 10, 10 + size) for size in (399, 400)] == [False, True]
    for at, is_bytes in (
        (0, True),
        (31, True),
        (40, False),
        (640, False),
        (1_000, True),
        (1_050, False),
        (1_180, True),
    ):
        words = coded[:at] + " " + coded[at + 1 :]
        assert is_encoded(words, 0, len(words)) is is_bytes, at
