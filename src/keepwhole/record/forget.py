"""Forgetting: which entries of a session say something that must go, and everything that rests on them.

Owns: finding a result or a string wherever an entry may have it, in any spelling it is stored in.
Must not know: how a back end removes an entry (`Forgets`).

An entry is removed whole: its hash covers all of it. What cannot be read without a removed entry goes with it: the
decisions about a removed result, the requests that showed it, and the requests that are written against one of those.
So a session in which something was forgotten verifies like any other.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, cast

from keepwhole.canonical.base64_text import encode_base64
from keepwhole.canonical.entry import Request, Response
from keepwhole.canonical.manifest import ShownPiece, decode_manifest
from keepwhole.errors import Damaged, StoreError, UsageError
from keepwhole.store.protocol import Forgets, Row, Store, body_of, entry_of
from keepwhole.store.requests import Requests

_LEVELS = 3
"""Strings of JSON inside strings of JSON, as calls whose arguments are JSON have them."""
_SHORTEST = 4
"""Characters of a string that can be forgotten: a shorter one is in almost every entry."""
_TELLING = 24
"""Bytes of a result from which on it is looked for in other entries too."""
_NEVER_ESCAPED = re.compile(rb"[A-Za-z0-9]+")
"""What every client writes as it is."""
_ESCAPE = re.compile(rb"\\(?:(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4})|.)", re.S)
"""Two halves of a character, a character, or one that is written behind a backslash."""
_HALF = re.compile(rb"u([0-9a-fA-F]{4})")
_CHARACTERS = {
    **{char: char for char in (b'"', b"\\", b"/")},
    **{b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f"},
}
_SPELLED_IN_BASE64 = (
    (re.compile(rb"\\+u002[bB]"), b"+"),
    (re.compile(rb"\\+u002[fF]"), b"/"),
    (re.compile(rb"\\+(?:[rnt]|u000[9aAdD])|[\s\\]"), b""),
)
"""How JSON may write the characters of base64, and the ends of lines in it."""
_TO_PLAIN = bytes.maketrans(b"-_", b"+/")


class Forgetting(NamedTuple):
    """What is to be forgotten in one session."""

    session: str
    seqs: tuple[int, ...]
    kinds: dict[str, int]
    """How many entries of each kind."""


def plan_by_text(store: Store, session: str, text: str) -> Forgetting:
    """Return the entries of a session that have a string, and those that rest on them."""
    if len(text) < _SHORTEST:
        raise UsageError(
            f"A string of fewer than {_SHORTEST} characters is in too many entries to be forgotten. Give a longer one."
        )
    return _with_dependents(store, session, {row.seq for row in store.rows(session) if _has(store, row, text)})


def plan_by_shape(store: Store, session: str, has_shape: Callable[[str], bool]) -> Forgetting:
    """Return the entries of a session with a text of a certain shape, such as a key, and those that rest on them."""
    found: set[int] = set()
    for row in store.rows(session):
        texts = (row.header, *_texts(store, row))
        if any(has_shape(data.decode("utf-8", "replace")) for data in texts):
            found.add(row.seq)
    return _with_dependents(store, session, found)


def plan_by_result(store: Store, session: str, row: Row) -> Forgetting:
    """Return a result, every entry that has all of its text or the base64 of its bytes, and those that rest on them."""
    found = {row.seq}
    with store.open(body_of(row)) as reader:
        is_telling = reader.facts.size >= _TELLING
        data = reader.read() if is_telling else b""
        text = reader.text() if is_telling and reader.facts.encoding != "bytes" else ""
    encoded = encode_base64(data[: len(data) // 3 * 3]).encode()  # of what is behind, encoders differ
    for other in store.rows(session, kind=("request", "response")) if is_telling else ():
        if (text.strip() and _has(store, other, text)) or any(
            encoded in _without_spelling(each) for each in _texts(store, other)
        ):
            found.add(other.seq)
    return _with_dependents(store, session, found)


def _without_spelling(data: bytes) -> bytes:
    """JSON in which all base64 is in one line and in the plain alphabet, whoever wrote it.

    >>> _without_spelling(b'"a\\\\u002Bb\\\\/c\\\\r\\\\nd-e_"')
    b'"a+b/cd+e/"'
    """
    for spelled_so, plain in _SPELLED_IN_BASE64:
        data = spelled_so.sub(plain, data)
    return data.translate(_TO_PLAIN)


def carry_out(store: Store, forgetting: Forgetting) -> int:
    """Remove the entries; return how many."""
    return as_forgetful(store).forget(forgetting.session, forgetting.seqs)


def as_forgetful(store: Store) -> Forgets:
    """Return the store, or raise `UsageError` if it cannot forget single entries."""
    if not isinstance(store, Forgets):
        raise UsageError(
            "This record cannot forget single entries; remove the whole session with `keepwhole sessions purge`."
        )
    return store


def has_text(data: bytes, text: str) -> bool:
    r"""Return whether bytes have a string: as it is, inside JSON, and inside JSON that is a string of JSON, three deep.

    Clients escape different characters, so what is there is read as JSON and compared with the string as it is.

    >>> has_text(rb'{"arguments": "{\"key\": \"a\\u002Bb\\/c\"}"}', "a+b/c")
    True
    """
    wanted = text.encode("utf-8", "surrogatepass")
    core = max(_NEVER_ESCAPED.findall(wanted), key=len, default=b"")
    if core not in data:  # which rules out nearly everything, fast
        return False
    for _ in range(_LEVELS + 1):
        if wanted in data:
            return True
        data = _unescaped(data)
    return False


def _unescaped(data: bytes) -> bytes:
    """JSON with the characters that its escapes stand for."""
    return _ESCAPE.sub(_character, data) if b"\\" in data else data


def _character(escape: re.Match[bytes]) -> bytes:
    if escape[1] is None:
        return _CHARACTERS.get(escape[0][1:], escape[0])
    halves = "".join(chr(int(half, 16)) for half in _HALF.findall(escape[0]))
    return halves.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass").encode("utf-8", "surrogatepass")


def _has(store: Store, row: Row, text: str) -> bool:
    """Return whether an entry has a string anywhere; one that cannot be read is looked at as it is stored."""
    return has_text(row.header, text) or any(has_text(data, text) for data in _texts(store, row))


def _texts(store: Store, row: Row) -> Iterator[bytes]:
    """Yield the body of an entry as it is stored, and as it was sent or received."""
    try:
        header = entry_of(row).header
        with store.open(body_of(row)) as reader:
            data = reader.read()
        yield data
        if isinstance(header, Response):
            data = zlib.decompress(data) if header.packing else data
            yield data
            yield from _streamed(data)
        elif isinstance(header, Request):
            yield Requests(store, row.session).body(row)
    except (StoreError, zlib.error):
        yield row.inline or b""


def _streamed(data: bytes) -> Iterator[bytes]:
    """Yield the texts that a stream of events brings piece by piece, each put together."""
    texts: dict[tuple[str, ...], list[str]] = {}
    for line in data.splitlines():
        if not line.startswith(b"data:"):
            continue
        try:
            _gather(json.loads(line[5:]), (), texts)
        except (ValueError, RecursionError):
            continue
    for pieces in texts.values():
        yield "".join(pieces).encode("utf-8", "surrogatepass")


def _gather(value: Any, path: tuple[str, ...], texts: dict[tuple[str, ...], list[str]]) -> None:
    if isinstance(value, str):
        texts.setdefault(path, []).append(value)
    elif isinstance(value, dict):
        for key, each in cast("dict[str, Any]", value).items():
            _gather(each, (*path, key), texts)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            _gather(each, path, texts)


def _with_dependents(store: Store, session: str, found: set[int]) -> Forgetting:
    """Return these entries and those that cannot be read without them."""
    kinds: dict[str, int] = {}
    results: set[str] = set()
    seqs: list[int] = []
    for row in store.rows(session):
        if row.seq in found or _rests_on(store, row, results, found):
            found.add(row.seq)
            seqs.append(row.seq)
            kinds[row.kind] = kinds.get(row.kind, 0) + 1
            if row.kind == "result":
                results.add(row.trace_id)
    return Forgetting(session, tuple(seqs), kinds)


def _rests_on(store: Store, row: Row, results: set[str], found: set[int]) -> bool:
    if row.kind == "decision":
        return row.trace_id in results
    if row.kind != "request":
        return False
    try:
        header = entry_of(row).header
        with store.open(body_of(row)) as reader:
            pieces = decode_manifest(reader.read())
    except Damaged:
        return False
    if isinstance(header, Request) and header.base in found:
        return True
    shown = [piece for piece in pieces if isinstance(piece, ShownPiece)]
    return any(piece.trace_id in results or piece.decision in found for piece in shown)
