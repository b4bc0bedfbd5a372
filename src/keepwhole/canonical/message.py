"""A message of a conversation in any dialect: its role, the tools it calls, the results it returns.

Owns: the values that dialects decode to and policies read.
Must not know: how a provider spells a message (`wire`), steps and turns (`policies.transcript`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias

from keepwhole.canonical.base64_text import base64_in, decode_base64, encode_base64_like
from keepwhole.canonical.media import Media, MediaBytes
from keepwhole.canonical.utf8 import encode

Role: TypeAlias = Literal["system", "user", "assistant", "tool", "other"]
Identity: TypeAlias = tuple[str, str, bytes | None]
"""By which a result is recognized: its call id, its text, and the digest of what is no text."""
Path: TypeAlias = tuple[str | int, ...]
"""Where a text is inside its message: `("content",)`, or `("content", 2, "content", 0, "text")`."""


class Call(NamedTuple):
    """A model called a tool."""

    call_id: str
    tool: str
    arguments: str
    """As JSON text."""


class MediaPart(NamedTuple):
    """An image, a document or another part of a result that is no text."""

    facts: Media
    source: str
    """Its base64, `data:` URL, other URL or file id as it is in the message; empty where a view of it came."""
    text_part: Mapping[str, Any]
    """The part that shows a line of text in its place, without that text."""
    detail: str = ""
    """How closely the client wants it looked at, where its provider's tokens depend on that."""
    at: Path = ()
    """Where the source is in the part."""

    def __hash__(self) -> int:
        """By its bytes: the part of text beside them is a mapping, which has no hash."""
        return hash((self.facts.media_type, self.facts.digest))

    def body(self) -> bytes:
        """The bytes that are kept: the decoded base64, or the reference."""
        if self.facts.is_reference:
            return encode(self.source)[0]
        return decode_base64(base64_in(self.source)) or b""

    @property
    def has_bytes(self) -> bool:
        """Whether the message has the bytes themselves, at a place where others may be put."""
        return bool(self.source and self.at) and not self.facts.is_reference

    def source_of(self, data: bytes) -> str:
        """The source that has other bytes of the same type, spelled as this one is."""
        own = base64_in(self.source)
        return self.source[: len(self.source) - len(own)] + encode_base64_like(data, own)


class OnlyImage(NamedTuple):
    """How a place that takes an image and nothing else shows a text or the original."""

    size: Callable[[str], tuple[int, int]]
    """Pixels of the image that shows a text."""
    whole: Callable[[MediaBytes], Any]
    """What is put at the path to show an image."""


class ResultText(NamedTuple):
    """One text that a tool returned, or one image or document. A result of several parts is several of these."""

    call_id: str
    path: Path
    """Where the text is; of an image or a document, where the whole part is."""
    text: str
    """Of an image or a document a description, which is the same for the same bytes."""
    is_error: bool = False
    media: MediaPart | None = None

    before: str = ""
    """What the client put into the same string before the text, where its form is known."""
    behind: str = ""
    """The same behind the text."""
    exit_code: int | None = None
    """How the command ended, where what the client put there says it."""
    spell: Callable[[str], Any] | None = None
    """Makes what is put at the path to show a text; None where that is the text itself."""
    only_image: OnlyImage | None = None
    """Set where no text may be put."""

    @property
    def identity(self) -> Identity:
        """By which it is recognized."""
        return self.call_id, self.text, None if self.media is None else self.media.facts.digest

    def as_view_of(self, media: Media) -> "ResultText":
        """The image or document of which this is a view: a text, or a smaller image."""
        part = MediaPart(media, "", {}) if self.media is None else self.media._replace(facts=media)
        return self._replace(text=media.description, media=part)

    @property
    def output(self) -> str | bytes:
        """What the tool returned, as it is stored."""
        return self.text if self.media is None else self.media.body()

    def with_image(self, data: bytes) -> tuple[Path, str] | None:
        """Where the bytes of other media are put in place of its own, and how they are spelled; None where it has no
        bytes, or these."""
        if self.media is None or not self.media.has_bytes:
            return None
        source = self.media.source_of(data)
        return None if source == self.media.source else ((*self.path, *self.media.at), source)

    def replacement(self, text: str) -> Any:
        """What is put at its path to show `text` in its place."""
        if self.spell is not None:
            return self.spell(self.around(text))
        if self.media is None or not self.media.text_part:
            return self.around(text)
        return {**self.media.text_part, "text": text}

    @property
    def is_framed(self) -> bool:
        """Whether the client put something around what the tool returned."""
        return bool(self.before or self.behind)

    def around(self, text: str) -> str:
        """The string to send where this text is shown of the result."""
        return f"{self.before}{text}{self.behind}" if self.is_framed else text


class Message(NamedTuple):
    """One message in any dialect's spelling, decoded."""

    role: Role
    said: str = ""
    """What a user or an assistant wrote, in which quotes of results are searched for."""
    calls: tuple[Call, ...] = ()
    returned: tuple[ResultText, ...] = ()
    other: int = 0
    """Tokens of parts that are not text: images, documents, encrypted reasoning."""
    pinned: bool = False
    """Whether nothing of it may be changed."""
