"""`get_artifact`: read back what a view left out. Bounded, never cut again; only ids of the session are valid."""

from collections.abc import Mapping
from typing import Any

from keepwhole.canonical.entry import Result
from keepwhole.canonical.media import FILE_ID, PDF, TEXT, URL, MediaBytes, image_size, is_words
from keepwhole.canonical.media import media_type as media_type_of
from keepwhole.canonical.utf8 import encode
from keepwhole.canonical.whole_media import is_whole
from keepwhole.errors import UsageError
from keepwhole.recall.address import AddressedElements, outline, page_elements, resolve_address
from keepwhole.recall.answer import NOT_TEXT, RecallAnswer, RecallCall
from keepwhole.recall.grep import grep, parse_grep
from keepwhole.recall.page import page
from keepwhole.recall.ranges import range_of
from keepwhole.store.reader import BodyReader, bytes_reader
from keepwhole.truncation import notice

_MOST_SHOWN = 20_000_000
"""Bytes of an image or a document that is shown; no provider takes more."""
_LONGEST_EDGE = 8_000
"""Pixels of an image that every provider takes."""
ARGUMENTS = "arguments"
"""The `part` of an artifact that its call was given."""


def asks_for_arguments(arguments: Mapping[str, Any]) -> bool:
    """Whether a call asks for the arguments of the call whose result an artifact is; `UsageError` for another part."""
    part = str(arguments.get("part") or "result")
    if part not in ("result", ARGUMENTS):
        message = f'There is no part "{part[:40]}". Give part="arguments", or leave it out for the result.'
        raise UsageError(message, message)
    return part == ARGUMENTS


def read_arguments(result: Result, call: RecallCall, arguments: Mapping[str, Any], limit: int) -> RecallAnswer:
    """The part of a call's own arguments that `arguments` ask for."""
    if result.arguments is None:
        return RecallAnswer("[No arguments of this call are on record]")
    with arguments_reader(result) as reader:
        return read_artifact(reader, TEXT, call.with_arguments(part=ARGUMENTS), arguments, limit)


def arguments_reader(result: Result) -> BodyReader:
    """The arguments of a call, to be read like a result."""
    return bytes_reader(encode(result.arguments or "")[0])


def read_artifact(
    reader: BodyReader, media_type: str, call: RecallCall, arguments: Mapping[str, Any], limit: int
) -> RecallAnswer:
    """The part of an open artifact that `arguments` ask for."""
    if not _is_readable(reader, media_type):
        return _media_answer(reader, media_type, call)
    path = arguments.get("path")
    if path is None or path == "":
        return RecallAnswer(_read(reader, call, arguments, limit))
    return RecallAnswer(_at_path(reader, call, str(path).strip(), arguments, limit))


def _media_answer(reader: BodyReader, media_type: str, call: RecallCall) -> RecallAnswer:
    """What is no text, in bytes for those who can show it, and in words for all others."""
    words = notice.binary(media_type, reader.facts.size, reader.facts.digest)
    shown = MediaBytes(media_type, reader.read()) if reader.facts.size <= _MOST_SHOWN else None
    line = f"{words}{NOT_TEXT}`keepwhole artifacts show {call.id} --raw` gives the bytes]"
    return RecallAnswer(line, media=shown if shown is not None and _is_as_told(shown) else None)


def _is_readable(reader: BodyReader, media_type: str) -> bool:
    """Whether an artifact is read as text: also a document that is text, and an SVG, which no provider shows."""
    if media_type == TEXT or media_type.startswith((URL, FILE_ID)):
        return True
    return is_words(media_type) and reader.facts.encoding != "bytes"


def _is_as_told(media: MediaBytes) -> bool:
    """Whether providers take an image or a document: others would refuse the request, and each one after it."""
    if not is_whole(media.data, media.media_type):
        return False
    if media.kind == "image":
        return media_type_of(media.data) == media.media_type and max(image_size(media.data)) <= _LONGEST_EDGE
    return media.media_type != PDF or media_type_of(media.data) == PDF


def _read(reader: BodyReader, call: RecallCall, arguments: Mapping[str, Any], limit: int) -> str:
    wanted, within = parse_grep(arguments), range_of(arguments)
    return grep(reader, call, wanted, within, limit) if wanted else page(reader, call, within, limit)


def _at_path(reader: BodyReader, call: RecallCall, path: str, arguments: Mapping[str, Any], limit: int) -> str:
    """The value at an address; one that is too long for one answer is paged, an array by its elements."""
    if len(call.text(path=path)) > limit // 3:
        message = "The path is too long to be followed here. Read the part above it instead."
        raise UsageError(message, message)
    found, narrower = resolve_address(reader, path), limit - len(path) - 100
    if isinstance(found, AddressedElements):
        shown = page_elements(found, call, narrower)
        return shown if isinstance(shown, str) else _at_path(reader, call, found.one(shown), arguments, limit)
    with found.reader as value:
        call = call.with_arguments(path=path)
        if value.chars <= limit or range_of(arguments) is not None or parse_grep(arguments) is not None:
            return _read(value, call, arguments, limit)
        return _too_long(reader, value, call, path, limit)


def _too_long(reader: BodyReader, value: BodyReader, call: RecallCall, path: str, limit: int) -> str:
    """A page of a long value: of an array by elements, of an object by keys, else by lines and characters."""
    bare, first = RecallCall(call.id, call.tool, call.key), value.text(0, 1)
    if first == "[":
        array = resolve_address(reader, f"{path}[0:]")
        shown = page_elements(array, bare, limit - len(path) - 100) if isinstance(array, AddressedElements) else 0
        if isinstance(shown, str):
            return shown
    if first == "{":
        return outline(value, bare, path, limit)
    return page(value, call, None, limit)
