"""`Requests`: past requests, rebuilt byte for byte from their manifests and the record.

Owns: following a request to its bases, rendering the results in it, and checking the digest of the outcome.
Must not know: how a manifest is made.
"""

import hashlib
from collections.abc import Callable
from typing import TypeVar

from keepwhole.canonical.entry import Request
from keepwhole.canonical.manifest import (
    BYTES,
    Atom,
    LiteralPiece,
    ShownPiece,
    atoms,
    decode_manifest,
    spelled,
    spelled_bytes,
)
from keepwhole.errors import Damaged
from keepwhole.store.protocol import Row, Store, body_of, decision_of, entry_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.cut import Cut, decode_cut, render

_T = TypeVar("_T")
_VERIFY = "Run `keepwhole sessions verify`."
_REMEMBERED = 32
"""Requests whose pieces are remembered, so that reading them in order takes one step each."""
_ROOM = 32_000_000
"""Bytes of rendered results that are remembered."""


class Requests:
    """The requests of one session."""

    def __init__(self, store: Store, session: str) -> None:
        self._store, self._session = store, session
        self._atoms: dict[int, list[Atom]] = {}
        self._texts: dict[ShownPiece, bytes] = {}
        self._held = 0

    def body(self, row: Row) -> bytes:
        """Return the bytes of the request that a row records; `Damaged` if they cannot be rebuilt."""
        request = request_of(row)
        data = b"".join(self._rendered(atom) for atom in self._all(row))
        if hashlib.sha256(data).hexdigest() != request.digest:
            raise Damaged(f"Request `{row.trace_id}` is not what was sent. {_VERIFY}")
        return data

    def _all(self, row: Row) -> list[Atom]:
        """Return the pieces of a request, those of its bases included, starting from the nearest remembered base."""
        line = [row]
        while line[-1].seq not in self._atoms and (base := request_of(line[-1]).base) is not None:
            line.append(self._base(line[-1], base))
        found: list[Atom] = []
        for each in reversed(line):
            known = self._atoms.pop(each.seq, None)
            found = atoms(decode_manifest(_read(self._store, each)), found) if known is None else known
            self._atoms[each.seq] = found
        while len(self._atoms) > _REMEMBERED:
            del self._atoms[next(iter(self._atoms))]
        return found

    def _base(self, row: Row, seq: int) -> Row:
        base = self._store.entry(self._session, seq) if seq < row.seq else None
        if base is None:
            raise Damaged(f"Entry {row.seq} refers to a request that is not in the record. {_VERIFY}")
        return base

    def _rendered(self, atom: Atom) -> bytes:
        if isinstance(atom, LiteralPiece):
            return atom.data
        data = self._texts.get(atom)
        if data is None:
            if atom.spelling in BYTES:
                shown = self._shown(atom, bytes_of_view)
                data = spelled_bytes(shown, atom.spelling, atom.before, atom.behind).encode()
            else:
                data = spelled(f"{atom.before}{self._shown(atom, text_of_view)}{atom.behind}", atom.spelling)
            if self._held > _ROOM:
                self._texts, self._held = {}, 0
            self._texts[atom] = data
            self._held += len(data)
        return data

    def _shown(self, shown: ShownPiece, view: Callable[[BodyReader, Cut | None], _T]) -> _T:
        """Return a result as it was shown."""
        subject = self._store.find(self._session, shown.trace_id)
        if subject is None:
            raise Damaged(f"A request shows the result `{shown.trace_id}`, which is not in the record. {_VERIFY}")
        with self._store.open(body_of(subject)) as reader:
            if not shown.decision:
                return view(reader, None)
            decided = self._store.entry(self._session, shown.decision)
            if decided is None or decision_of(decided).trace_id != shown.trace_id:
                what = f"A request shows `{shown.trace_id}` by a decision that is not in the record"
                raise Damaged(f"{what}. {_VERIFY}")
            return view(reader, decode_cut(_read(self._store, decided)))


def text_of_view(reader: BodyReader, cut: Cut | None) -> str:
    """Return the text that a cut gives of a result; without a cut, all of it."""
    return reader.text() if cut is None else render(cut, reader)


def bytes_of_view(reader: BodyReader, cut: Cut | None) -> bytes:
    """Return the bytes that a cut gives of a result: a smaller image, or a text's; without a cut, all of them."""
    if cut is None:
        return reader.read()
    return render(cut, reader).encode() if cut.image is None else cut.image.data


def request_of(row: Row) -> Request:
    """Return the request that a row records."""
    header = entry_of(row).header
    if not isinstance(header, Request):
        raise Damaged(f"Entry {row.seq} of session `{row.session}` is not a request. {_VERIFY}")
    return header


def _read(store: Store, row: Row) -> bytes:
    with store.open(body_of(row)) as reader:
        return reader.read()
