"""The bytes of a result as a download: all of them or a range, piece by piece, however many.

Owns: ranges, and that nothing is loaded whole.
Must not know: who may ask.
"""

import asyncio
import re

from aiohttp import web

from keepwhole.apps.inspector import headers
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import Kept
from keepwhole.apps.proxy.connection import ClientGone, hang_up, write
from keepwhole.errors import KeepwholeError

_PIECE = 1 << 20
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


async def result(record: Record, name: str, kept: Kept, request: web.BaseRequest) -> web.StreamResponse:
    """A download of a result."""
    size = kept.facts.size
    asked = ranged(request.headers.get("range", ""), size)
    own = {**headers.ALWAYS, **headers.attachment(kept.result.artifact_id)}
    if asked is not None and asked[0] >= asked[1]:
        return web.Response(status=416, headers={**own, "Content-Range": f"bytes */{size}"})
    start, stop = asked or (0, size)
    first = await asyncio.to_thread(_piece, record, name, kept, start, stop)  # what is damaged is said before any byte
    if asked is not None:
        own["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    answer = web.StreamResponse(status=206 if asked else 200, headers={**own, "Content-Length": str(stop - start)})
    await answer.prepare(request)
    try:
        while first:
            await write(answer, request, first)
            start += len(first)
            first = await asyncio.to_thread(_piece, record, name, kept, start, stop)
    except (ClientGone, KeepwholeError):  # it left, or the rest is damaged or purged: what it has must not look whole
        hang_up(request)
    return answer


def ranged(header: str, size: int) -> tuple[int, int] | None:
    """The bytes that a header asks for, none where they lie outside; None where it asks for all of them."""
    found = _RANGE.fullmatch(header.strip())
    if found is None or found[0] == "bytes=-":
        return None
    first, last = found[1], found[2]
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1) if last else size


def _piece(record: Record, name: str, kept: Kept, start: int, stop: int) -> bytes:
    if start >= stop:
        return b""
    with record.reading(name, kept.result.trace_id) as (_, reader):
        return reader.read(start, min(stop, start + _PIECE))
