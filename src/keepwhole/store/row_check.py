"""What the hashes of a session do not cover in its rows: columns beside the header, and the session's description.

Owns: what each column of an entry must be, by its header and by the entry before it.
Must not know: a back end, bodies and the chain.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, cast

from keepwhole.store.sql_store import FORGOTTEN, as_bytes

COLUMNS = (
    "SELECT seq, kind, at, call_id, stored, format, key_id, header FROM entries "
    "WHERE session = ? AND seq > ? ORDER BY seq LIMIT 1000"
)
"""The query for a page of rows to compare."""


def compare_columns(read_page: Callable[[int], Sequence[Any]]) -> Iterator[tuple[int, str]]:
    """Yield the entries whose columns do not say what their headers say.

    `read_page` returns the first rows of `COLUMNS` after a number.
    """
    after = stored = 0
    while page := read_page(after):
        for seq, kind, at, call_id, total, format, key_id, header in page:
            after = seq
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


def describe(about: Sequence[object]) -> bytes:
    """Return the digest of a session's description: its name, agent, workspace, time and kind as they are stored."""
    return hashlib.sha256(json.dumps(list(about), default=str).encode("ascii")).digest()
