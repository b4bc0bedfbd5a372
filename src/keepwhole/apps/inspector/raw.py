"""The bytes of a result, as a download or an image: all of them or a range, piece by piece.

Owns: ranges, and that no body is loaded whole.
Must not know: who may ask.
"""

import asyncio
import re
from collections.abc import Mapping

from aiohttp import web

from keepwhole.apps.inspector import headers
from keepwhole.apps.inspector.record import Record
from keepwhole.apps.inspector.timeline import TimelineResult
from keepwhole.apps.proxy.connection import ClientGone, hang_up, write
from keepwhole.errors import KeepwholeError

_PIECE = 1 << 20
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")


async def send_result(
    record: Record,
    name: str,
    kept: TimelineResult,
    request: web.BaseRequest,
    shown_as: Mapping[str, str] | None = None,
) -> web.StreamResponse:
    """Send a result, or the range of it that the request asks for: a download, unless headers say what it is."""
    size = kept.facts.size
    asked = parse_range(request.headers.get("range", ""), size)
    own = {**headers.ALWAYS, **(headers.attachment(kept.result.artifact_id) if shown_as is None else shown_as)}
    if asked is not None and asked[0] >= asked[1]:
        return web.Response(status=416, headers={**own, "Content-Range": f"bytes */{size}"})
    start, stop = asked or (0, size)
    first = await asyncio.to_thread(
        _read_piece, record, name, kept, start, stop
    )  # damage is reported before the first byte
    if asked is not None:
        own["Content-Range"] = f"bytes {start}-{stop - 1}/{size}"
    answer = web.StreamResponse(status=206 if asked else 200, headers={**own, "Content-Length": str(stop - start)})
    await answer.prepare(request)
    try:
        while first:
            await write(answer, request, first)
            start += len(first)
            first = await asyncio.to_thread(_read_piece, record, name, kept, start, stop)
    except (
        ClientGone,
        KeepwholeError,
    ):  # the client left, or the rest is damaged or purged: what was sent must not look complete
        hang_up(request)
    return answer


def parse_range(header: str, size: int) -> tuple[int, int] | None:
    """The bytes that a header asks for, an empty range where they are outside; None where it asks for all of them."""
    found = _RANGE.fullmatch(header.strip())
    if found is None or found[0] == "bytes=-":
        return None
    first, last = found[1], found[2]
    if not first:
        return max(0, size - int(last)), size
    return int(first), min(size, int(last) + 1) if last else size


def _read_piece(record: Record, name: str, kept: TimelineResult, start: int, stop: int) -> bytes:
    if start >= stop:
        return b""
    with record.open_result(name, kept.result.trace_id) as (_, reader):
        return reader.read(start, min(stop, start + _PIECE))
