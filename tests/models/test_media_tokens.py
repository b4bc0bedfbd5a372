"""Images and documents take the tokens that their provider's rule says."""

from typing import get_args

import pytest

from keepwhole.canonical.media import Media, reference_to
from keepwhole.models.media_tokens import FLAT_TOKENS, RULES, RuleName, media_reserve, media_tokens
from keepwhole.models.profiles import profile_for


def _image(width: int, height: int) -> Media:
    return Media("image/png", 200_000, b"", width, height)


def test_a_screenshot_costs_what_anthropic_bills_for_it() -> None:
    billed = 1_062  # measured, a little text around the image included
    assert billed - 40 < media_tokens(_image(1024, 768), "claude") <= billed


@pytest.mark.parametrize(
    ("model", "width", "height", "tokens"),
    [
        ("claude-sonnet-4-5", 1000, 1000, 1_296),
        ("claude-opus-5-5", 1920, 1080, 2_691),
        ("gpt-4o", 1024, 1024, 765),
        ("gpt-4o", 2048, 4096, 1_105),
        ("gpt-4.1-mini", 1024, 1024, 1_659),
        ("gpt-5", 1024, 1024, 630),
        ("gpt-5.5", 2560, 1440, 4_320),
        ("gpt-5.5", 4032, 3024, 11_868),
        ("gemini-2.5-pro", 300, 384, 258),
        ("gemini-2.5-pro", 1500, 700, 516),
        ("gemini-3-pro", 4000, 3000, 1_120),
    ],
)
def test_published_examples_and_measurements(model: str, width: int, height: int, tokens: int) -> None:
    assert media_tokens(_image(width, height), profile_for(model).images) == tokens


SIZES = [(1, 1), (512, 512), (513, 512), (1_024, 768), (1_568, 1_568), (2_048, 4_096), (8_000, 6_000)]


@pytest.mark.parametrize(
    ("rule", "tokens"),
    {
        "claude": (1, 361, 361, 1_036, 1_521, 1_568, 1_564),
        "claude_large": (1, 361, 361, 1_036, 3_136, 4_232, 4_740),
        "gpt_tiles": (255, 255, 425, 765, 765, 1_105, 765),
        "gpt_5_tiles": (210, 210, 350, 630, 630, 910, 630),
        "gpt_patches": (2, 415, 441, 1_245, 2_465, 2_362, 2_479),
        "gpt_nano_patches": (3, 630, 670, 1_890, 3_742, 3_587, 3_764),
        "gpt_large": (2, 308, 327, 922, 2_882, 2_458, 2_993),
        "gpt_original": (2, 308, 327, 922, 2_882, 9_831, 11_868),
        "gemini": (258, 258, 258, 516, 2_322, 4_644, 22_704),
        "gemini_3": (1_120,) * 7,
    }.items(),
)
def test_an_image_takes_the_patches_or_tiles_that_it_has_when_it_is_scaled_down(
    rule: RuleName, tokens: tuple[int, ...]
) -> None:
    assert tuple(media_tokens(_image(*size), rule) for size in SIZES) == tokens


@pytest.mark.parametrize(
    ("rule", "low", "high"), [("gpt_original", 231, 2_993), ("gpt_tiles", 85, 765), ("gpt_5_tiles", 70, 630)]
)
def test_the_detail_that_a_client_asks_for_counts(rule: RuleName, low: int, high: int) -> None:
    assert [media_tokens(_image(8_000, 6_000), rule, detail) for detail in ("low", "high")] == [low, high]


def test_an_image_that_is_too_large_is_scaled_down_at_once_by_as_much_as_its_patches_are_too_many() -> None:
    assert media_tokens(_image(4_602, 3_957), "claude") == 42 * 36


def test_a_long_image_is_scaled_to_2048_pixels_before_its_tiles_are_counted() -> None:
    assert media_tokens(_image(2_048, 512), "gpt_tiles") == 85 + 4 * 170
    assert media_tokens(_image(4_096, 1_024), "gpt_tiles") == 85 + 4 * 170
    assert media_tokens(_image(4_096, 1_028), "gpt_tiles") == 85 + 8 * 170


@pytest.mark.parametrize(("size", "tokens"), [(100, 32), (16_000, 32), (16_500, 33), (960_000, 1_920)])
def test_audio_is_counted_by_seconds_of_16000_bytes(size: int, tokens: int) -> None:
    assert media_tokens(Media("audio/wav", size, b"")) == tokens


def test_a_page_is_an_image_and_its_text() -> None:
    page = Media("application/pdf", 1_000, b"", pages=1)
    for rule in RULES:
        image = media_tokens(_image(1_275, 1_650), rule)
        wanted = {"gemini": 258, "gemini_3": 560}.get(rule, image + 760)
        assert media_tokens(page, rule) == wanted


def test_no_image_is_over_the_most_of_its_rule() -> None:
    for width in (1, 27, 500, 1_569, 8_000):
        for height in (1, 29, 2_000, 8_000):
            assert 1 <= media_tokens(_image(width, height), "claude") <= 1_568
            assert 1 <= media_tokens(_image(width, height), "claude_large") <= 4_784


def test_low_detail_is_cheap() -> None:
    assert media_tokens(_image(4_000, 3_000), "gpt_tiles", "low") == 85
    assert media_tokens(_image(4_000, 3_000), "gpt_original", "low") <= 308
    assert [media_tokens(_image(width, 32), "gpt_original", "low") for width in (160, 161, 512)] == [6, 8, 20]


def test_a_document_is_counted_by_pages() -> None:
    one, ten = (Media("application/pdf", 1_000, b"", pages=pages) for pages in (1, 10))
    for rule in RULES:
        assert media_tokens(ten, rule) == 10 * media_tokens(one, rule)
    assert 1_500 <= media_tokens(one, "claude") <= 3_000


def test_an_image_of_unknown_size_is_counted_as_a_small_one_and_room_is_kept_for_a_large_one() -> None:
    for unknown in (reference_to("image", "https://x/y.png", True), _image(0, 0)):
        for rule in RULES:
            small, large = media_tokens(_image(512, 512), rule), media_tokens(_image(1_600, 1_200), rule)
            assert media_tokens(unknown, rule) == small
            assert media_tokens(unknown, rule) + media_reserve(unknown, rule) == large


def test_a_document_of_unknown_pages_is_counted_as_the_least_that_one_page_takes() -> None:
    unknown, one = reference_to("document", "file_1", False), Media("application/pdf", 1_000, b"", pages=1)
    for rule in RULES:
        assert media_tokens(unknown, rule) <= media_tokens(one, rule)
        assert media_tokens(unknown, rule) + media_reserve(unknown, rule) == (
            media_tokens(one, rule) + media_reserve(one, rule)
        )
    assert media_tokens(unknown, "claude") <= 1_500, "Anthropic says 1,500 to 3,000 tokens a page"


def test_room_is_kept_for_pages_with_much_text_and_for_no_image_whose_size_is_known() -> None:
    pages = Media("application/pdf", 1_000, b"", pages=4)
    assert media_tokens(pages) + media_reserve(pages) >= 4 * 3_000
    assert media_reserve(_image(1_024, 768)) == 0


def test_what_cannot_be_read_has_a_flat_price() -> None:
    assert media_tokens(Media("application/zip", 9, b"")) == FLAT_TOKENS
    page = Media("application/pdf", 1_000, b"", pages=1)
    assert media_reserve(page) < FLAT_TOKENS < media_tokens(page), "less than a page and its text"


def test_every_rule_has_its_name() -> None:
    assert set(RULES) == set(get_args(RuleName))


def test_a_document_that_is_text_is_counted_by_its_bytes_with_as_many_in_reserve() -> None:
    table = Media("text/csv", 4_003, b"")
    assert (media_tokens(table), media_reserve(table)) == (1_000, 1_000)
    named = reference_to("document", "file-1", is_url=False)
    assert media_tokens(named) > named.size
    drawing = Media("image/svg+xml", 4_003, b"", 100, 100)
    assert (media_tokens(drawing), media_reserve(drawing)) == (media_tokens(Media("image/png", 9, b"", 100, 100)), 0)
