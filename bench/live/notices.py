"""The notices that an oracle can follow: which call reads back what a text says is missing.

Owns: the grammar of Keepwhole's notices, as `keepwhole.testing` parses it, and of the peers' that have a tool for it.
Must not know: tasks. A notice that no grammar parses leads nowhere, so a change of the words that breaks it is seen.
"""

import re
from typing import NamedTuple

from keepwhole.recall.names import GET_ARTIFACT, NAMES
from keepwhole.testing import PrintedCall, printed_calls

_POINTER = re.compile(r"(?<!\[quoted\] )\[Artifact: (art_\d+_\w+)\]")


class Grammar(NamedTuple):
    """How a peer names what it left out, and the tool that reads it back."""

    tool: str
    argument: str
    named: re.Pattern[str]


PEERS = (
    Grammar("headroom_retrieve", "hash", re.compile(r"(?:hash=|<<ccr:)([0-9a-f]{8,})")),
    Grammar("distil_expand", "handle", re.compile(r"handle=([0-9a-f]{8})")),
    Grammar("litellm_content_retrieve", "key", re.compile(r"\[Compressed: (.+?) — \d+ lines")),
)
RECALL_TOOLS = frozenset((*NAMES, *(peer.tool for peer in PEERS)))


def calls_in(text: str) -> list[PrintedCall]:
    """Return the calls that a text prints; for an artifact that it only names, the call that reads it whole.

    >>> calls_in("[Artifact: art_1_x] 2.0 KB returned by fetch")
    [PrintedCall(name='get_artifact', arguments={'id': 'art_1_x'})]
    """
    printed = printed_calls(text)
    if printed:
        return printed
    whole = [PrintedCall(GET_ARTIFACT, {"id": name}) for name in pointers_in(text)]
    return whole + [
        PrintedCall(peer.tool, {peer.argument: name}) for peer in PEERS for name in peer.named.findall(text)
    ]


def pointers_in(text: str) -> list[str]:
    """Return the ids of the artifacts that a text names, each once."""
    return list(dict.fromkeys(_POINTER.findall(text)))


def names_in(text: str) -> set[str]:
    """Return the ids under which what a text leaves out is read back."""
    printed = {str(value) for call in calls_in(text) for value in list(call.arguments.values())[:1]}
    return printed | set(pointers_in(text))


def name_of(arguments: dict[str, object]) -> str:
    """Return the id that a call of a recall tool gives."""
    return str(next(iter(arguments.values()), ""))
