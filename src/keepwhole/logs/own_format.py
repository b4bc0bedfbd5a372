"""Keepwhole's own format: one run per line, `{"source", "id", "messages", "meta"}` with chat messages."""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from keepwhole.errors import UsageError
from keepwhole.logs.lines import LogLines
from keepwhole.logs.run import Run
from keepwhole.logs.unnamed_results import decode_logged
from keepwhole.wire.content import fields_of

_DECODER = msgspec.json.Decoder(dict[str, Any])


def recognizes(value: object) -> bool:
    """Return whether a decoded line is a run in this format."""
    fields = fields_of(value)
    return isinstance(fields.get("messages"), list) and "source" in fields and "id" in fields


def read_log(lines: LogLines) -> Iterator[Run]:
    """Yield the run of each line; note the lines that are not a run."""
    for record in lines.decode_all(_DECODER, "a run"):
        try:
            run = run_of(record) if recognizes(record) and isinstance(record.get("meta") or {}, dict) else None
        except UsageError:
            run = None
        if run is None:
            lines.note_unreadable("not a run: it needs `source`, `id` and `messages`")
        else:
            yield run


def run_of(record: Mapping[str, Any]) -> Run:
    """Return the run in one record; raise a `UsageError` if the record is not a run."""
    try:
        messages = tuple(decode_logged(message) for message in record["messages"])
        return Run(str(record["source"]), str(record["id"]), messages, record.get("meta") or {})
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"A record is not a run ({error!r}). It needs `source`, `id` and chat `messages`.") from error
