"""The manifest of a request: the pieces it was made of, so that its bytes can be assembled again.

Owns: the kinds of pieces, how a manifest is written as bytes, how a text is spelled as JSON.
Must not know: where earlier requests and results are kept, how a request was taken apart.

One line of ASCII JSON lists the pieces in order, then the literal bytes follow. A number is a literal of that size,
`[first, stop]` are pieces of the base, `[trace_id, decision, spelling]` is a result as it was shown, and
`[trace_id, decision, spelling, before, behind]` a result with what its client put around it. The spellings `base64` and
`base64url` are of a result's bytes; what is before them is the beginning of a `data:` URL.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, TypeAlias, cast

from keepwhole.canonical.base64_text import FOR_URLS, PLAIN, encode_base64
from keepwhole.errors import Damaged


class CopiedPiece(NamedTuple):
    """Pieces of the base, as they are there."""

    first: int
    stop: int


class LiteralPiece(NamedTuple):
    """Bytes as they were sent."""

    data: bytes


class ShownPiece(NamedTuple):
    """The text of a result, or the base64 of its bytes, as a JSON string, quotes included."""

    trace_id: str
    decision: int
    """The number of the decision that shows it; 0 for the whole."""
    spelling: str
    before: str = ""
    """What the client put before the text, in the same string."""
    behind: str = ""


Piece: TypeAlias = CopiedPiece | LiteralPiece | ShownPiece
Atom: TypeAlias = LiteralPiece | ShownPiece
"""A piece that needs no base."""

_encode = json.JSONEncoder(separators=(",", ":")).encode
_ascii = json.JSONEncoder().encode
_utf8 = json.JSONEncoder(ensure_ascii=False).encode
_HALVES = re.compile("[\ud800-\udfff]")
_MARKUP = re.compile("[<>&\u2028\u2029]")


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def _as_utf8(text: str) -> str:
    """As most clients write it: only lone surrogates, which have no UTF-8, are escaped."""
    return _HALVES.sub(_escaped, _utf8(text))


def _as_markup(text: str) -> str:
    """As clients write it that make JSON safe inside a page."""
    return _MARKUP.sub(_escaped, _as_utf8(text))


_SPELLINGS: dict[str, Callable[[str], str]] = {"ascii": _ascii, "utf8": _as_utf8, "markup": _as_markup}
BYTES = (PLAIN, FOR_URLS)
"""The spellings of bytes, by `spelled_bytes`."""


def spelling_of(text: str, written: str) -> str | None:
    """How `text` was spelled to give the JSON string `written`; None for an unknown spelling.

    >>> spelling_of("é", '"é"')
    'utf8'
    """
    return next((name for name, spell in _SPELLINGS.items() if spell(text) == written), None)


def spelled(text: str, spelling: str) -> bytes:
    """The JSON string of a text."""
    return _SPELLINGS[spelling](text).encode()


def spelled_bytes(data: bytes, spelling: str, before: str = "", behind: str = "") -> str:
    """The JSON string with the base64 of bytes, in one line and with padding, between plain characters.

    >>> spelled_bytes(b"abcd", "base64", "data:image/png;base64,")
    '"data:image/png;base64,YWJjZA=="'
    """
    return f'"{before}{encode_base64(data, spelling)}{behind}"'


def encode_manifest(pieces: Iterable[Piece]) -> bytes:
    """The bytes of a manifest."""
    listed: list[object] = []
    literals: list[bytes] = []
    for piece in pieces:
        if isinstance(piece, LiteralPiece):
            listed.append(len(piece.data))
            literals.append(piece.data)
        else:
            is_framed = isinstance(piece, ShownPiece) and (piece.before or piece.behind)
            listed.append(piece if is_framed else piece[:3])
    return b"\n".join((_encode(listed).encode("ascii"), b"".join(literals)))


def decode_manifest(raw: bytes) -> list[Piece]:
    """The pieces that `encode_manifest` wrote; `Damaged` for anything else."""
    listed, _, rest = raw.partition(b"\n")
    try:
        return list(_pieces(cast("Iterable[Any]", json.loads(listed)), rest))
    except (ValueError, TypeError, RecursionError) as error:
        raise Damaged(f"A stored manifest cannot be read ({error}). Run `keepwhole sessions verify`.") from error


def _pieces(listed: Iterable[Any], rest: bytes) -> Iterator[Piece]:
    at = 0
    for one in listed:
        if isinstance(one, list):
            yield _reference(*cast("list[Any]", one))
        elif one >= 0:
            yield LiteralPiece(rest[at : at + one])
            at += one
        else:
            raise ValueError("a literal is shorter than nothing")
    if at != len(rest):
        raise ValueError("its literals have another size")


def _reference(first: Any, second: Any, spelling: Any = None, before: Any = "", behind: Any = "") -> Piece:
    if spelling is None:
        return CopiedPiece(int(first), int(second))
    if spelling not in (*_SPELLINGS, *BYTES):
        raise ValueError("a text is spelled in no way that is known")
    return ShownPiece(str(first), int(second), spelling, str(before), str(behind))


def atoms(pieces: Iterable[Piece], base: list[Atom]) -> list[Atom]:
    """The pieces with copied ones replaced by those of the base; `Damaged` where the base does not have them."""
    found: list[Atom] = []
    for piece in pieces:
        if not isinstance(piece, CopiedPiece):
            found.append(piece)
        elif 0 <= piece.first <= piece.stop <= len(base):
            found += base[piece.first : piece.stop]
        else:
            raise Damaged("A request refers to what its base does not have. Run `keepwhole sessions verify`.")
    return found
