"""One result of another server: every part of it is kept whole, and what is returned is within budget.

Owns: what becomes of texts and structured content. Images, audio, embedded files and links are kept and returned as
they came: a file as its bytes or its text, a link as its JSON.
Only the setting `images.max_edge` makes an image smaller.
Must not know: servers, clients.
"""

import asyncio
import json
from base64 import b64encode
from typing import Any, NamedTuple, cast

from keepwhole.apps.mcp.recall_tools import shown_items
from keepwhole.canonical.media import TEXT, MediaBytes
from keepwhole.canonical.utf8 import encode
from keepwhole.conversation.image_scaler import scaled_down
from keepwhole.record.kept_result import KeptResult
from keepwhole.session import Session
from keepwhole.wire.fields import fields_of, kind_of_part
from keepwhole.wire.media import read_media


class Kept(NamedTuple):
    """Keeps the result of one call."""

    session: Session
    tool: str
    arguments: dict[str, Any]
    version: str
    """The revision that the client speaks."""

    async def within_budget(self, result: dict[str, Any]) -> dict[str, Any]:
        """Return the result for the client; a text that could not be stored is in it whole."""
        failed = bool(result.get("isError"))
        content: list[Any] = list(result.get("content") or [])
        texts = [text for item in content if (text := _text_of(item)) is not None]
        unchanged = [one for item in content if (one := _shown_as_it_came(fields_of(item))) is not None]
        stored = await self.session.akeep_media(self.tool, self.arguments, unchanged, is_error=failed)
        max_edge = self.session.settings.images.max_edge
        if max_edge and len(stored) == len(unchanged):  # a smaller image hides pixels, which must be on record by then
            content = await asyncio.to_thread(lambda: [_with_smaller_image(item, max_edge) for item in content])
        if _too_many(texts, self._limit()):
            content = await self._together(content, texts, failed)
        else:
            content = self._each(content, [await self._keep(text, failed) for text in texts])
        more, structured = await self._structured(result.get("structuredContent"), texts, failed)
        changed = {**result, "content": [*content, *more]}
        if structured is None:
            changed.pop("structuredContent", None)
        return changed

    async def _together(self, content: list[Any], texts: list[str], failed: bool) -> list[Any]:
        """The content with all texts as one, for texts that are too long even if each is cut."""
        joined = await self._keep("\n".join(texts), failed)
        if joined.artifact_id is None:
            return content
        return [*shown_items(joined, self.version), *(item for item in content if _text_of(item) is None)]

    def _each(self, content: list[Any], kept: list[KeptResult]) -> list[Any]:
        shown, items = iter(kept), list[Any]()
        for item in content:
            if _text_of(item) is None:
                items.append(item)
            else:
                one = next(shown)
                view, *links = shown_items(one, self.version)
                is_unchanged = one.artifact_id is None and one.content == _text_of(item)
                items += [item if is_unchanged else {**item, **view}, *links]
        return items

    async def _structured(self, value: Any, texts: list[str], failed: bool) -> tuple[list[Any], Any]:
        """Return what to add to the content, and the structured content: all of it or None."""
        if value is None:
            return [], None
        written = json.dumps(value, ensure_ascii=False)
        if len(written) <= self._limit():
            return [], value
        if any(_repeats(text, value) for text in texts):
            return [], None
        shown = await self._keep(written, failed)
        return ([], value) if shown.artifact_id is None else (shown_items(shown, self.version), None)

    def _limit(self) -> int:
        return self.session.settings.truncation.for_tool(self.tool).inline_limit

    async def _keep(self, text: str, failed: bool) -> KeptResult:
        return await self.session.akeep(self.tool, self.arguments, text, is_error=failed)


def _shown_as_it_came(item: dict[str, Any]) -> MediaBytes | None:
    """What is kept of an image, a sound, an embedded file or a link; None for a text, and for what cannot be read."""
    if kind_of_part(item) == "resource_link":
        return MediaBytes(TEXT, encode(json.dumps(item, ensure_ascii=False))[0])
    embedded = fields_of(item.get("resource")).get("text") if kind_of_part(item) == "resource" else None
    if isinstance(embedded, str):
        return MediaBytes(TEXT, encode(embedded)[0])
    media = read_media(item)
    return None if media is None or media.facts.is_reference else MediaBytes(media.facts.media_type, media.body())


def _with_smaller_image(item: Any, max_edge: int) -> Any:
    """The item with its image at most `max_edge` pixels wide and high; anything else as it came."""
    media = read_media(fields_of(item)) if kind_of_part(fields_of(item)) == "image" else None
    smaller = scaled_down(media.body(), max_edge) if media is not None and media.has_bytes else None
    return item if smaller is None else {**item, "data": b64encode(smaller).decode()}


def _text_of(item: Any) -> str | None:
    if not isinstance(item, dict):
        return None
    fields = cast("dict[str, Any]", item)
    text = fields.get("text") if fields.get("type") == "text" else None
    return text if isinstance(text, str) else None


def _too_many(texts: list[str], limit: int) -> bool:
    """Whether texts are too long together, even if each were cut to its limit."""
    return len(texts) > 1 and sum(min(len(text), limit) for text in texts) > 2 * limit


def _repeats(text: str, value: Any) -> bool:
    """Whether a text says what the structured content says, as servers are asked to have it."""
    if isinstance(value, dict) and list(cast("dict[str, Any]", value).values()) == [text]:
        return True
    try:
        return json.loads(text) == value
    except (ValueError, RecursionError):
        return False
