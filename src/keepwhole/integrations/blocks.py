"""The view of a session for frameworks whose messages are lists of parts: text, calls and results.

Owns: which part of which message each block of a view was made from.
Must not know: any framework. An adapter says how it spells a part (`PartSpelling`), and gets back its own messages: the
same objects, except those with a result that is shown otherwise.

Messages are given to `Session.view` as Anthropic's blocks, because these have several results in one message too. Each
block carries the place of its part; a block without a place was put in by the view: a result for a call that never got
one, or a summary.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import is_
from typing import Any, Generic, Protocol, TypeAlias, TypeVar, cast

from keepwhole.canonical.base64_text import encode_base64
from keepwhole.session import Session

MessageT = TypeVar("MessageT")
PartT = TypeVar("PartT")
Block: TypeAlias = dict[str, Any]
_AT = "keepwhole_at"
"""The key in a block for the place of its part: the index of the message and of the part."""


class PartSpelling(Protocol[MessageT, PartT]):
    """How a framework spells messages and parts."""

    def is_answer(self, message: MessageT) -> bool:
        """Whether the model wrote a message."""
        ...

    def parts(self, message: MessageT) -> Sequence[PartT]:
        """The parts of a message."""
        ...

    def block(self, part: PartT) -> Block:
        """A part as a block of Anthropic's: made with `text_block`, `call_block` or `result_block`."""
        ...

    def edited(self, part: PartT, content: str, media: Sequence[str | None]) -> PartT:
        """The part of a result with other text. Of its images and documents, in order, those that are None stay, and
        words take the place of the others."""
        ...

    def lost_result(self, call_id: str, name: str, content: str) -> PartT:
        """The part of a result for a call that has none."""
        ...

    def words(self, text: str) -> PartT:
        """A part with words."""
        ...

    def message(self, own: MessageT | None, parts: list[PartT]) -> MessageT:
        """A message with these parts, otherwise like `own`; of the user where there is none."""
        ...


def text_block(text: str) -> Block:
    """The block of words."""
    return {"type": "text", "text": text}


def call_block(call_id: str, name: str, arguments: object) -> Block:
    """The block of a call."""
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result_block(call_id: str, content: str, is_error: bool = False, media: Sequence[Block] = ()) -> Block:
    """The block of a result: its text, and images and documents made with `media_block`."""
    parts = [*([text_block(content)] if content else []), *media] if media else content
    return {"type": "tool_result", "tool_use_id": call_id, "content": parts, "is_error": is_error}


def media_block(media_type: str, data: bytes) -> Block:
    """The block of an image, or of a document or other bytes."""
    source = {"type": "base64", "media_type": media_type, "data": encode_base64(data)}
    return {"type": "image" if media_type.startswith("image/") else "document", "source": source}


class PartsViewer(Generic[MessageT, PartT]):
    """Shows a session's view of messages."""

    def __init__(self, spelling: PartSpelling[MessageT, PartT]) -> None:
        self._spelling = spelling

    def view(self, session: Session, messages: Sequence[MessageT], model: str | None) -> list[MessageT]:
        """The messages to send: the same objects where nothing is left out."""
        if session.settings.mode == "off":
            return [*messages]
        wire = [self._spell(at, message) for at, message in enumerate(messages)]
        own = {id(spelled): message for spelled, message in zip(wire, messages, strict=True)}
        sent = session.view(wire, model=model)
        return [own[id(each)] if id(each) in own else self._read(each, messages) for each in sent]

    def _spell(self, at: int, message: MessageT) -> Block:
        parts = self._spelling.parts(message)
        blocks = [{**self._spelling.block(part), _AT: (at, number)} for number, part in enumerate(parts)]
        return {"role": "assistant" if self._spelling.is_answer(message) else "user", "content": blocks}

    def _read(self, spelled: Mapping[str, Any], messages: Sequence[MessageT]) -> MessageT:
        """The message that blocks were made from, edited or joined; other fields are those of the newest one."""
        blocks: list[Block] = _blocks_of(spelled)
        places: list[int] = [block[_AT][0] for block in blocks if _AT in block]
        own = messages[places[-1]] if places else None
        if own is not None and self._spelling.is_answer(own):
            return own
        parts = [self._part(block, messages) for block in blocks]
        before = () if own is None else self._spelling.parts(own)
        is_same = own is not None and len(parts) == len(before) and all(map(is_, parts, before))
        return own if own is not None and is_same else self._spelling.message(own, parts)

    def _part(self, block: Block, messages: Sequence[MessageT]) -> PartT:
        """The part that a block was made from."""
        if _AT in block:
            at, number = cast("tuple[int, int]", block[_AT])
            part = self._spelling.parts(messages[at])[number]
            own = self._spelling.block(part)
            is_same = block["type"] != "tool_result" or block == {**own, _AT: block[_AT]}
            return part if is_same else self._spelling.edited(part, *_text_and_media(own, block))
        if block["type"] == "text":
            return self._spelling.words(block["text"])
        call_id = block["tool_use_id"]
        return self._spelling.lost_result(call_id, self._called(call_id, messages), _words(block["content"]))

    def _called(self, call_id: str, messages: Iterable[MessageT]) -> str:
        """The name of the tool that a call named."""
        parts = (part for message in messages for part in self._spelling.parts(message))
        blocks = map(self._spelling.block, parts)
        return next((block["name"] for block in blocks if block.get("id") == call_id), "tool")


def _text_and_media(own: Block, shown: Block) -> tuple[str, list[str | None]]:
    """What is shown of a result's text, and of each image or document the words in its place, or None if it stays."""
    parts, views = own["content"], shown["content"]
    if isinstance(parts, str) or isinstance(views, str):
        return _words(views), []
    pairs = cast("list[tuple[Block, Block]]", list(zip(parts, views, strict=True)))
    text = "".join(view["text"] for part, view in pairs if part["type"] == "text")
    return text, [view["text"] if view["type"] == "text" else None for part, view in pairs if part["type"] != "text"]


def _words(content: str | list[Block]) -> str:
    """The text of a result that the view has put in; an image in it has no words."""
    return content if isinstance(content, str) else "\n".join(part["text"] for part in content if "text" in part)


def _blocks_of(spelled: Mapping[str, Any]) -> list[Block]:
    content = spelled["content"]
    return [text_block(content)] if isinstance(content, str) else content
