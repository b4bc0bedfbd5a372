"""Headers on their way: all that are meant for the other end go on as they came.

Owns: which are between two neighbours only, which are ours, and which no longer hold for a body that was changed.
Must not know: bodies.
"""

import re
from collections.abc import Mapping

from multidict import CIMultiDict, CIMultiDictProxy

OWN = "x-keepwhole-"
BYPASS = "x-keepwhole-bypass"
_HOP = frozenset(
    (
        "connection",
        "expect",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    )
)
_LONE = re.compile("[\udc80-\udcff]")
_OF_BODY = frozenset(("content-encoding", "content-length"))


def to_upstream(headers: CIMultiDictProxy[str], is_read: bool) -> CIMultiDict[str]:
    """What goes to the provider; where its answer is read here, it is asked not to pack it."""
    dropped = _HOP | _named_in(headers) | {"content-length"}
    sent = CIMultiDict(
        (name, _text(value))
        for name, value in headers.items()
        if (low := name.lower()) not in dropped and not low.startswith(OWN)
    )
    if is_read and "accept-encoding" in sent:
        sent["accept-encoding"] = "identity"
    return sent


def to_client(headers: CIMultiDictProxy[str], is_changed: bool, own: Mapping[str, str]) -> CIMultiDict[str]:
    """What goes back, with what there is to say about it."""
    dropped = _HOP | _named_in(headers) | (_OF_BODY if is_changed else _HOP)
    sent = CIMultiDict((name, _text(value)) for name, value in headers.items() if name.lower() not in dropped)
    sent.update({OWN + name: value for name, value in own.items()})
    return sent


def _named_in(headers: CIMultiDictProxy[str]) -> frozenset[str]:
    """Headers that `Connection` says are between neighbours."""
    named = headers.getall("connection", ())
    return frozenset(name.strip().lower() for value in named for name in value.split(","))


def _text(value: str) -> str:
    """A value as it can be written: bytes that are not UTF-8 would be lost, so they are taken for Latin-1."""
    return value if value.isascii() else _LONE.sub(lambda found: chr(ord(found[0]) - 0xDC00), value)
