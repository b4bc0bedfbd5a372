r"""What a client cut by itself, read as a cut of the original.

Theory of operation. Clients cut long outputs before they send them, and most save the original in a file. The text that
they send is then parts of the original with words of the client around them:

    <persisted-output>\nOutput too large (297.4KB). Full output saved to: …/b1.txt\n\nPreview (first 2KB):\n    before
    line 1\nline 2\n…                                                                                          head
    \n...\n</persisted-output>                                                                                 after

`readings` takes such a text apart by the forms that the client's data file lists. `cut_of` then says whether an
original is the one that was cut: it must begin with the head and end with the tail, and have the size that the client
states. Only then is the text a `Cut` of that original, which shows the same characters as the client sent.

A tool can print text in such a form, and name any file. So a form says how much of the original must be shown (500
characters of its beginning or of its end): a text that shows less proves nothing, and is no reading.

Owns: reading such texts, and comparing them with an original. Must not know: files, who looks for an original.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from keepwhole.clients.table import CLIENTS
from keepwhole.truncation.cut import Cut, Inserted, Piece, Segment, Source

RULE = "client"
"""The rule of a decision that shows a result as the client had cut it."""
_LONGEST = 1 << 20
"""Characters of a text that a client may have cut; what they leave is far shorter."""
_UNITS = {"bytes": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30}


class ClientCut(NamedTuple):
    """A text that a client cut: the parts of the original in it, and the client's words around them."""

    before: str
    head: str = ""
    between: str = ""
    tail: str = ""
    after: str = ""
    path: str = ""
    """The file that the client names for the original; empty where it names none."""
    size: str = ""
    """The size of the original as the client states it, as in `297.4KB`; empty where it states none."""
    lines: str = ""
    """The same for its lines."""
    client: str = ""

    @property
    def text(self) -> str:
        """The text as the client sent it."""
        return self.before + self.head + self.between + self.tail + self.after

    def without_parts(self) -> "ClientCut":
        """The same text with nothing of the original in it: for a client that shows it in another spelling."""
        return ClientCut(self.text)


def is_client_cut(text: str) -> bool:
    """Whether a text has the form of a result that a client cut."""
    return len(text) <= _LONGEST and any(form.search(text) is not None for _, form in _forms())


def readings(text: str) -> Iterator[ClientCut]:
    """Yield the ways to read a text as parts of an original with words of a client around them."""
    if len(text) > _LONGEST:
        return
    for client, form in _forms():
        found = form.search(text)
        groups = {} if found is None else found.groupdict()
        if found is not None and ("head" in groups or "tail" in groups):
            yield _reading(client, text, found)


def _reading(client: str, text: str, found: re.Match[str]) -> ClientCut:
    head, tail = (found.span(name) if name in found.re.groupindex else None for name in ("head", "tail"))
    first, last = head or tail or (0, 0), tail or head or (0, 0)
    told = {name: found[name] for name in ("path", "size", "lines") if name in found.re.groupindex}
    return ClientCut(
        before=text[: first[0]],
        head=text[slice(*head)] if head else "",
        between=text[head[1] : tail[0]] if head and tail else "",
        tail=text[slice(*tail)] if tail else "",
        after=text[last[1] :],
        client=client,
        **told,
    )


def cut_of(reading: ClientCut, original: Source) -> Cut | None:
    """The cut that shows the text of a reading; None where `original` is not what the client cut."""
    chars, head, tail = original.chars, len(reading.head), len(reading.tail)
    if head + tail >= chars or not _has_stated_size(reading, original):
        return None
    if original.text(0, head) != reading.head or original.text(chars - tail, chars) != reading.tail:
        return None
    pieces: tuple[Piece, ...] = (
        Segment("kept", 0, head),
        Inserted(reading.between),
        Segment("gap", head, chars - tail),
        Segment("kept", chars - tail, chars),
    )
    return Cut(tuple(piece for piece in pieces if not _is_empty(piece)), reading.before, reading.after)


def _is_empty(piece: Piece) -> bool:
    return not piece.text if isinstance(piece, Inserted) else piece.start == piece.stop


def _has_stated_size(reading: ClientCut, original: Source) -> bool:
    """Whether an original has the size and the lines that the client states, which it rounds to one decimal."""
    if reading.lines and original.eol == "\n" and int(reading.lines) != original.lines:
        return False
    if not reading.size:
        return True
    number, unit = re.fullmatch(r"([\d.]+) ?(\w+)", reading.size).groups()  # pyright: ignore[reportOptionalMemberAccess]
    stated, scale = float(number), _UNITS[unit]
    return any(abs(size / scale - stated) <= 0.06 for size in (original.chars, original.byte_at(original.chars)))


@cache
def _forms() -> list[tuple[str, re.Pattern[str]]]:
    return [(client.name, re.compile(form, re.DOTALL)) for client in CLIENTS for form in client.cut_forms]
