"""How many tokens an image or a document takes, by each provider's published rule.

Owns: the rules, as numbers and names. Must not know: which model is asked (`profiles.py` names its rule).

The base64 of an image says nothing of its price: a 1024x768 screenshot is 200,000 characters and about 1,040 tokens.

    rule            how an image is counted, after it is scaled down to fit
    claude          patches of 28x28 pixels, one token each; at most 1,568 pixels an edge and 1,568 tokens
    claude_large    the same, at most 2,576 pixels and 4,784 tokens
    gpt_tiles       85 tokens and 170 for each tile of 512x512, in a square of 2,048, the short edge at most 768
    gpt_5_tiles     the same with 70 and 140
    gpt_patches     patches of 32x32, at most 1,536, each 1.62 tokens; `gpt_nano_patches` 2.46
    gpt_large       patches of 32x32, at most 2,500 and 2,048 pixels, each 1.2 tokens
    gpt_original    the same, at most 10,000 patches and 6,000 pixels unless the client asks for less detail
    gemini          258 tokens for each tile of 768x768
    gemini_3        1,120 tokens, whatever the size

Sources: platform.claude.com/docs/en/build-with-claude/vision and /pdf-support; platform.openai.com/docs/guides/
images-vision (calculating costs) and /pdf-files; ai.google.dev/gemini-api/docs/image-understanding, /media-resolution
and /document-processing. The rule of `gpt_original` is as measured by huggingface.co/datasets/JOHNISKING/
image-token-cost. A page of a PDF is an image of it and its text, of which Anthropic says 1,500 to 3,000 tokens in all;
of Gemini's only the image is counted.
"""

from collections.abc import Callable, Mapping
from functools import partial
from math import ceil, sqrt
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from keepwhole.canonical.media import Media, is_words

ImageRule: TypeAlias = Callable[[int, int, str], int]
"""Tokens of an image by its width, its height, and the `detail` that the client asks for (may be empty)."""

RuleName: TypeAlias = Literal[
    "claude",
    "claude_large",
    "gpt_tiles",
    "gpt_5_tiles",
    "gpt_patches",
    "gpt_nano_patches",
    "gpt_large",
    "gpt_original",
    "gemini",
    "gemini_3",
]

_WORD_BYTES = 4
"""Bytes of a token of a document that is text, which providers put into the prompt as it is; as much is reserved."""
FLAT_TOKENS = 1_500
"""Tokens of what cannot be read at all, about."""
_UNKNOWN_LEAST, _UNKNOWN_MOST = (512, 512), (1_600, 1_200)
"""Pixels of an image whose size is not known, such as one behind a URL: what it is counted as, so that leaving it out
never saves less than was counted on, and what room is reserved for. For the same reason a document whose pages are not
known is counted as one page without text."""
_PAGE = 1_275, 1_650
"""Pixels of a page of a document, as it is shown to a model."""
_PAGE_TEXT = 760
"""Tokens of the text of a page, about; as much again is reserved for one with more."""
_AUDIO_SECOND_BYTES, _AUDIO_SECOND_TOKENS = 16_000, 32
"""Bytes of a second of audio as tools return it, about; tokens that Gemini counts for it, where others say nothing."""
_LOW_DETAIL = "low"


class _Rule(NamedTuple):
    image: ImageRule
    page: int
    """Tokens of one page of a document."""
    text: int = 0
    """Tokens of its text among them."""


def _fit(width: int, height: int, longest: float, most: float, patch: int) -> int:
    """Patches of an image that is scaled down until its long edge is `longest` and it has at most `most` patches."""
    scale = min(1.0, longest / max(width, height))
    while (count := ceil(width * scale / patch) * ceil(height * scale / patch)) > most and scale > 0.001:
        scale *= min(0.995, sqrt(most / count))
    return count


def _patches(longest: int, most: int, patch: int, price: float, width: int, height: int, detail: str) -> int:
    return ceil(price * _fit(width, height, longest, most, patch))


def _original(width: int, height: int, detail: str) -> int:
    """As `gpt_large` where the client asks for `high`, at most 256 patches for `low`, else nearly as it came."""
    if detail == _LOW_DETAIL:
        return _patches(512, 256, 32, 1.2, width, height, detail)
    return _patches(*((2_048, 2_500) if detail == "high" else (6_000, 10_000)), 32, 1.2, width, height, detail)


def _tiles(base: int, each: int, width: int, height: int, detail: str) -> int:
    if detail == _LOW_DETAIL:
        return base
    scale = min(1.0, 2_048 / max(width, height))
    scale = min(scale, 768 / max(1, min(width, height)))
    return base + each * ceil(width * scale / 512) * ceil(height * scale / 512)


def _gemini(width: int, height: int, detail: str) -> int:
    return 258 * ceil(width / 768) * ceil(height / 768)


def _gemini_3(width: int, height: int, detail: str) -> int:
    return 1_120


def _with_text(image: ImageRule) -> _Rule:
    """A rule by which a page is shown as an image beside its text."""
    return _Rule(image, image(*_PAGE, "") + _PAGE_TEXT, _PAGE_TEXT)


RULES: Mapping[RuleName, _Rule] = MappingProxyType(
    {
        "claude": _with_text(partial(_patches, 1_568, 1_568, 28, 1.0)),
        "claude_large": _with_text(partial(_patches, 2_576, 4_784, 28, 1.0)),
        "gpt_tiles": _with_text(partial(_tiles, 85, 170)),
        "gpt_5_tiles": _with_text(partial(_tiles, 70, 140)),
        "gpt_patches": _with_text(partial(_patches, 2_048, 1_536, 32, 1.62)),
        "gpt_nano_patches": _with_text(partial(_patches, 2_048, 1_536, 32, 2.46)),
        "gpt_large": _with_text(partial(_patches, 2_048, 2_500, 32, 1.2)),
        "gpt_original": _with_text(_original),
        "gemini": _Rule(_gemini, 258),
        "gemini_3": _Rule(_gemini_3, 560),
    }
)
"""The rules by the names that profiles use."""


def media_tokens(media: Media, rule: RuleName = "claude", detail: str = "") -> int:
    """Return the tokens that an image, a document or another body takes, about.

    >>> media_tokens(Media("image/png", 200_000, b"", 1024, 768))
    1036
    """
    by = RULES[rule]
    if is_words(media.media_type) and not media.is_reference and media.kind != "image":
        return media.size // _WORD_BYTES
    if media.kind == "image":
        return by.image(*((media.width, media.height) if _has_size(media) else _UNKNOWN_LEAST), detail)
    if media.kind == "document":
        return by.page * media.pages if media.pages else by.page - by.text
    if media.kind == "audio" and not media.is_reference:
        return max(_AUDIO_SECOND_TOKENS, media.size * _AUDIO_SECOND_TOKENS // _AUDIO_SECOND_BYTES)
    return FLAT_TOKENS


def media_reserve(media: Media, rule: RuleName = "claude", detail: str = "") -> int:
    """Return how many tokens more than estimated it may take: of an image whose size is known, none."""
    by = RULES[rule]
    if is_words(media.media_type) and not media.is_reference and media.kind != "image":
        return media.size // _WORD_BYTES
    if media.kind == "image":
        return 0 if _has_size(media) else by.image(*_UNKNOWN_MOST, detail) - by.image(*_UNKNOWN_LEAST, detail)
    return by.text * (media.pages or 2) if media.kind == "document" else 0


def _has_size(media: Media) -> bool:
    return bool(media.width and media.height)
