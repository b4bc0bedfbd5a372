"""Our own form: one run a line, `{"source", "id", "messages", "meta"}` with chat messages."""

from collections.abc import Iterator
from typing import Any

import msgspec

from keepwhole.errors import UsageError
from keepwhole.logs.lines import Lines
from keepwhole.logs.run import Run, run_of
from keepwhole.wire.content import fields_of

_DECODER = msgspec.json.Decoder(dict[str, Any])


def knows(value: object) -> bool:
    """Whether it is such a line."""
    fields = fields_of(value)
    return isinstance(fields.get("messages"), list) and "source" in fields and "id" in fields


def runs(lines: Lines) -> Iterator[Run]:
    """A run a line."""
    for record in lines.decoded(_DECODER, "a run"):
        try:
            run = run_of(record) if _is_whole(record) else None
        except UsageError:
            run = None
        if run is None:
            lines.unreadable("no run: it needs `source`, `id` and `messages`")
        else:
            yield run


def _is_whole(record: dict[str, Any]) -> bool:
    return knows(record) and isinstance(record.get("meta") or {}, dict)
