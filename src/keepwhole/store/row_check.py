"""What the hashes of a session do not cover in its rows: columns beside the header, and the session's description.

Owns: what each column of an entry must be, by its header and by the entry before it; how missing bodies are reported.
Must not know: a back end, bodies and the chain.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from keepwhole.store.sql_store import FORGOTTEN, as_bytes, is_after

COLUMNS = (
    "SELECT seq, kind, at, call_id, stored, format, key_id, header FROM entries "
    "WHERE session = ? AND seq > ? ORDER BY seq LIMIT 1000"
)
"""The query for a page of rows to compare."""
NAMED = 3
"""Findings of one kind that are named; more are counted."""
LOST_OUTSIDE = (
    "where `blobs` says. Check that `blobs` is as it was when they were kept; else put the objects back, from a "
    "version of the bucket or a backup with `keepwhole store restore`."
)
"""The end of a sentence that `name_owners` begins."""


def compare_columns(read_page: Callable[[int], Sequence[Any]]) -> Iterator[tuple[int, str]]:
    """Yield the entries whose columns do not say what their headers say.

    `read_page` returns the first rows of `COLUMNS` after a number.
    """
    after = stored = 0
    while page := read_page(after):
        for seq, kind, at, call_id, total, format, key_id, header in page:
            if format == FORGOTTEN:  # what is left of it is checked with the chain
                stored = total
                if (call_id, key_id) != (None, None):
                    yield seq, "it was forgotten, and has a call id or a key id again"
                continue
            try:
                fields = cast("dict[str, Any]", json.loads(header))
                size, wanted = int(fields["body"][0]), fields.get("call_id") if kind == "result" else None
                columns = {
                    "at": at == fields["at"],
                    "call_id": call_id == (None if wanted is None else as_bytes(wanted)),
                    "stored": total == stored + size,
                    "format": format == 0,
                    "key_id": key_id is None,
                }
            except (ValueError, KeyError, IndexError, TypeError, AttributeError):
                yield seq, "its header cannot be read"
                stored = total if isinstance(total, int) else stored
                continue
            stored += size
            changed = [name for name, is_same in columns.items() if not is_same]
            if changed:
                yield seq, f"these of its columns were changed: {', '.join(changed)}"
        if not is_after(page[-1][0], after):
            yield 0, "its entries are out of order"
            return
        after = page[-1][0]


def describe(about: Sequence[object]) -> bytes:
    """Return the digest of a session's description: its name, agent, workspace, time and kind as they are stored."""
    return hashlib.sha256(json.dumps(list(about), default=str).encode("ascii")).digest()


def name_owners(blobs: Sequence[str], entries_with: Callable[[str], Sequence[tuple[str, int]]]) -> str:
    """Return of which entries these are the bodies, as the beginning of a sentence.

    `entries_with` returns the session and number of each entry with a body.
    """
    owners = [row for blob in blobs[:NAMED] for row in entries_with(blob)]
    named = [f"entry {seq:,} of session `{session}`" for session, seq in owners]
    more = len(blobs) - len(named)
    return f"The bodies of {', '.join(named)}{f' and {more:,} more' if more > 0 else ''} are not"
