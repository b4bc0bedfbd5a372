"""Past requests and what came back for them, in pages of text.

Owns: how much goes out at a time.
Must not know: sockets, how a request is put together.
"""

import hashlib
from collections.abc import Mapping
from typing import Any

from keepwhole.apps.inspector import shapes
from keepwhole.apps.inspector.record import Record

_PAGE = 65_536


def request(record: Record, name: str, trace_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Some of a request, exactly as it was sent."""
    return _page(record.sent(name, trace_id), query)


def response(record: Record, name: str, trace_id: str, query: Mapping[str, str]) -> dict[str, Any]:
    """Some of what came back for it."""
    return _page(record.answered(name, trace_id), query)


def _page(data: bytes, query: Mapping[str, str]) -> dict[str, Any]:
    start, count = shapes.number(query, "from", 0, 0, 1 << 40), shapes.number(query, "count", _PAGE, 1, _PAGE)
    text = data.decode("utf-8", "replace")
    return {
        "size": len(data),
        "digest": hashlib.sha256(data).hexdigest(),
        "from": start,
        "chars": len(text),
        "text": text[start : start + count],
        "more": start + count < len(text),
    }
