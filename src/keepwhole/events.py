"""What is logged: ids and sizes, never content. Names that a tool chose are escaped and kept short.

Importing `logging` takes a tenth of the start of a short command. So it is imported only for a warning; everything
else is logged only where the program has imported it.
"""

import sys


def log_kept(session: str, trace_id: str, tool: str, size: int, shown: int, strategy: str) -> None:
    """Log that a result was kept, and how it was cut."""
    _info("kept session=%s trace=%s tool=%s bytes=%d", session, trace_id, _safe(tool), size)
    if strategy != "none":
        _info("cut trace=%s strategy=%s chars_shown=%d", trace_id, strategy, shown)


def log_processed(artifact_id: str, tool: str, size: int, shown: int, strategy: str) -> None:
    """Log that the processor gave an original to its storage, and how it was cut."""
    _info("kept artifact=%s tool=%s bytes=%d", artifact_id, _safe(tool), size)
    if strategy != "none":
        _info("cut artifact=%s strategy=%s chars_shown=%d", artifact_id, strategy, shown)


def log_strategy_failed(session: str, trace_id: str, failure: str) -> None:
    """A strategy raised an exception, or made no valid cut; the built-in `head_tail` was used instead."""
    _warning("strategy failed, head_tail used: session=%s trace=%s failure=%s", session, trace_id, _safe(failure))


def log_unstored(session: str, tool: str, kind: str) -> None:
    """Log that a result could not be stored and is shown in full."""
    _warning("not stored, shown in full: session=%s tool=%s reason=%s", session, _safe(tool), kind)


UNRECORDED = "not recorded"
"""The subject of the warning that a request or a response could not be stored."""


def log_unrecorded(session: str, what: str, kind: str) -> None:
    """Log that a request or a response could not be recorded; it was sent all the same."""
    _warning(f"{UNRECORDED}: session=%s %s reason=%s", session, what, kind)


def log_truncation_mark(session: str, trace_id: str, tool: str) -> None:
    """Log that a result carried a truncation mark when it arrived."""
    _info("arrived with a truncation mark: session=%s trace=%s tool=%s", session, trace_id, _safe(tool))


def log_passed_on(what: str, kind: str) -> None:
    """Log that a part of a request or a response was forwarded unchanged because of an error."""
    _warning("passed on unchanged: %s reason=%s", what, kind)


UNTRIED = "untried version"
"""The subject of the warning about a client that is newer than those that were tried."""


def log_untried_version(client: str, version: str, newest: str) -> None:
    """Log that a client is newer than all versions that were tried: what it writes into results may be unknown."""
    _warning(f"{UNTRIED}: client=%s version=%s newest_tried=%s", client, version, newest)


def log_aging_stopped(session: str, requests: int, predicted: int, billed: int) -> None:
    """Log that aging stops because forecasts of the cache failed."""
    _warning(
        "aging stopped, forecasts failed: session=%s requests=%d predicted=%d billed=%d",
        *(session, requests, predicted, billed),
    )


def log_aging_resumed(session: str, requests: int) -> None:
    """Log that aging resumes because forecasts of the cache hold again."""
    _info("aging continues, forecasts are right again: session=%s requests=%d", session, requests)


def log_budget_spent(paid: int, unmanaged: int) -> None:
    """Log that a conversation costs more than it may, so that nothing ages for cost any more."""
    _warning("aging stopped, nothing more can be afforded: paid=%d with_mode_off=%d", paid, unmanaged)


def log_forked(session: str, origin: str, results: int) -> None:
    """Log that a session goes on from another one."""
    _info("forked session=%s origin=%s results=%d", session, origin, results)


def log_purged(session: str, entries: int, size: int) -> None:
    """Log that a session was purged."""
    _info("purged session=%s entries=%d bytes=%d", session, entries, size)


def _info(message: str, *values: object) -> None:
    if "logging" in sys.modules:
        import logging

        logging.getLogger("keepwhole").info(message, *values)


def _warning(message: str, *values: object) -> None:
    try:
        import logging
    except OSError:  # no file can be opened now; that must not stop the result
        return
    logging.getLogger("keepwhole").warning(message, *values)


def _safe(name: str) -> str:
    return ascii(name[:80])
