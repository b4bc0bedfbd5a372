"""The second line of defense for keys: every log record is searched for text in the form of a key.

Owns: the shapes. The first line is that no key is handed to a log at all.
Must not know: where a key comes from.
"""

import logging
import re

HIDDEN = "[redacted]"
"""What is written in the place of a key."""
_SHAPES = re.compile(
    r"(?i:\bbearer\s+)[\w.~+/=-]{8,}"
    r"|\b(?:sk|pk|rk)-[\w-]{8,}"
    r"|\bhf-[\w-]{16,}"
    r"|\bhf_\w{16,}"
    r"|\bgh[pousr]_\w{20,}"
    r"|\bA(?:KIA|SIA)[0-9A-Z]{12,}"
    r"|\bAIza[\w-]{20,}"
    r"|\bxox[abprs]-[\w-]{8,}"
    r"|(?:(?<=://)|(?<=:\\/\\/))[^\s/:@]+:[^\s/@]+(?=@)"
    r"|(?i:\b(?:x-api-key|api-key|authorization|x-goog-api-key)[\"'\\]{0,8}\s*[:=]\s*[\"'\\]{0,8}"
    r"(?:(?:basic|digest|negotiate|token|apikey)\s+)?)[^\s\"'\\,]{8,}"
)


def redacted(text: str) -> str:
    """A text without what looks like a key.

    >>> redacted("sent with Bearer sk-ant-api03-AAAABBBB to the provider")
    'sent with [redacted] to the provider'
    """
    return _SHAPES.sub(HIDDEN, text)


def has_key_shape(text: str) -> bool:
    """Whether something in a text looks like a key."""
    return _SHAPES.search(text) is not None


class Redaction(logging.Filter):
    """Searches every log record before it is written."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Write the record, without keys."""
        message = record.getMessage()
        clean = redacted(message)
        if clean != message:
            record.msg, record.args = clean, ()
        if record.exc_info:
            record.exc_text = redacted(logging.Formatter().formatException(record.exc_info))
        return True


def redact_logs() -> None:
    """Remove text in the form of a key from all logs of this process."""
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        if not any(isinstance(each, Redaction) for each in logger.filters):
            logger.addFilter(Redaction())


_LOGGERS = (
    "keepwhole",
    "asyncio",
    "aiohttp.access",
    "aiohttp.client",
    "aiohttp.internal",
    "aiohttp.server",
    "aiohttp.web",
)
