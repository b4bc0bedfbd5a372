"""Images and documents among results: when one is obsolete, and the line that is shown in its place.

Owns: when a later image shows the same thing, and the words. Must not know: when anything ages.
"""

from keepwhole.canonical.media import MediaBytes, media_of
from keepwhole.policies.policy import Choice, replacement_cut
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.notice import aged_media

SCALED = "scaled"
"""The rule of a choice to send an image smaller."""


def is_superseded(transcript: Transcript, item: Item) -> bool:
    """Return whether a later step returned another image of the same page or window: this one shows how it was."""
    newest = transcript.newest_of(item.target) if item.target is not None else None
    return newest is not None and newest.step > item.step


def media_words(item: Item) -> str:
    """Return the line that is shown in place of an image or a document."""
    assert item.name is not None, "a result is named before it is left out"
    assert item.media is not None
    return aged_media(item.name.way, item.media.looks, item.media.size, item.call.tool if item.call else "a tool")


def scaled_choice(transcript: Transcript, item: Item, smaller: bytes) -> Choice:
    """Return the choice to send a smaller image in place of one."""
    image = MediaBytes(item.media_type, smaller)
    cut = replacement_cut(item, "").replace(image=image)
    return Choice(item.number, SCALED, cut, transcript.tokens_of_media(item, media_of(smaller)), "scale")


def media_choice(item: Item, rule: str, words: str) -> Choice | None:
    """Return the choice to show `words` in place of an image or a document; None where that is not shorter."""
    tokens = item.tokens_of_words(words)
    return Choice(item.number, rule, replacement_cut(item, words), tokens) if tokens < item.tokens else None
