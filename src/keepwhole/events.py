"""What is logged: ids and sizes, never content. Names that a tool chose are escaped and kept short.

`logging` is a tenth of a short command's start, so it is loaded only for a warning, or where the program has it.
"""

import sys


def kept(session: str, trace_id: str, tool: str, size: int, shown: int, strategy: str) -> None:
    """A result was kept."""
    _info("kept session=%s trace=%s tool=%s bytes=%d", session, trace_id, _safe(tool), size)
    if strategy != "none":
        _info("cut trace=%s strategy=%s chars_shown=%d", trace_id, strategy, shown)


def unstored(session: str, tool: str, kind: str) -> None:
    """A result could not be kept and is shown whole."""
    _warning("not stored, shown whole: session=%s tool=%s reason=%s", session, _safe(tool), kind)


def strategy_failed(session: str, trace_id: str, failure: str) -> None:
    """A truncation strategy failed, and another one cut the result; the record has all of it."""
    _warning("strategy failed, cut by another: session=%s trace=%s %s", session, trace_id, _safe(failure))


def unrecorded(session: str, what: str, kind: str) -> None:
    """A request or a response could not be put on record; it was sent all the same."""
    _warning("not on record: session=%s %s reason=%s", session, what, kind)


def marked(session: str, trace_id: str, tool: str) -> None:
    """A result arrived looking cut."""
    _info("arrived with a truncation mark: session=%s trace=%s tool=%s", session, trace_id, _safe(tool))


def passed_on(what: str, kind: str) -> None:
    """Something of a client's or a provider's was passed on as it came, since we could not make anything of it."""
    _warning("passed on as it came: %s reason=%s", what, kind)


def distrusted(session: str, requests: int, predicted: int, billed: int) -> None:
    """Forecasts failed, and ageing stops."""
    _warning(
        "ageing stopped, forecasts failed: session=%s requests=%d predicted=%d billed=%d",
        *(session, requests, predicted, billed),
    )


def trusted(session: str, requests: int) -> None:
    """Forecasts hold again, and ageing goes on."""
    _info("ageing goes on, forecasts hold: session=%s requests=%d", session, requests)


def purged(session: str, entries: int, size: int) -> None:
    """A session was purged."""
    _info("purged session=%s entries=%d bytes=%d", session, entries, size)


def _info(message: str, *values: object) -> None:
    if "logging" in sys.modules:
        import logging

        logging.getLogger("keepwhole").info(message, *values)


def _warning(message: str, *values: object) -> None:
    try:
        import logging
    except OSError:  # no file can be opened now; the result itself must go on
        return
    logging.getLogger("keepwhole").warning(message, *values)


def _safe(name: str) -> str:
    return ascii(name[:80])
