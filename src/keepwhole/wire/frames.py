"""Frames: what a client puts inside a result, around the text that the tool returned.

Claude Code writes how many tokens are left behind the last result of a message, Codex the exit code and the time before
each. Without its frame a result is what the tool returned: the same command gives the same text again, its digest and
its lines are those of the output, and a cut or a pointer leaves the frame where it was.

    Chunk ID: 8ecf88                     before
    Wall time: 0.0000 seconds
    Process exited with code 0
    Output:
    1                                    text
    2

Owns: taking frames off. Frames are known by the forms in `clients`, and only at the very beginning and the very end of
a string, so `before + text + behind` is always exactly what came. Only a few thousand characters at each end are read.
A frame around nothing is left alone: then it is all that the client has to say. So is one with something in it that
looks like a notice of Keepwhole's: in what is shown of a result such imitations are marked, in a frame they are not.
Must not know: what becomes of a result.
"""

import re
from functools import cache

from keepwhole.canonical.message import Message, ResultText
from keepwhole.clients.facts import ClientFacts, Frame
from keepwhole.clients.table import CLIENTS, facts_of
from keepwhole.truncation.notice import imitates

_LONGEST = 4_096
"""Characters of one frame at most."""
_MOST = 8
"""Frames behind a result at most."""


def without_frames(message: Message, client: str) -> Message:
    """The message with the frames of its results taken off, as the client of this name writes them."""
    if not client or not message.returned:
        return message
    begins, ends = _edges(client)
    if not any([one.text.startswith(begins) or one.text.endswith(ends) for one in message.returned]):
        return message
    facts = facts_of(client)
    return message._replace(returned=tuple(_without_frame(one, facts) for one in message.returned))


def split_frame(text: str) -> tuple[str, str, str]:
    """The frame of any client before a text, the text itself, and the frame behind it; joined they are what came."""
    for client in CLIENTS:
        start, stop = _bounds(text, client)
        if stop - start < len(text):
            return text[:start], text[start:stop], text[stop:]
    return "", text, ""


def _without_frame(returned: ResultText, client: ClientFacts) -> ResultText:
    text = returned.text
    start, stop = _bounds(text, client)
    if stop - start == len(text):
        return returned
    before = text[:start]
    code = _exit_code(before, client)
    is_error = returned.is_error or bool(code)
    return returned._replace(
        text=text[start:stop], is_error=is_error, before=before, behind=text[stop:], exit_code=code
    )


def _exit_code(before: str, client: ClientFacts) -> int | None:
    found = _compiled(client.exit_code).search(before) if before and client.exit_code else None
    return None if found is None else int(found[1])


def _bounds(text: str, client: ClientFacts) -> tuple[int, int]:
    """Where the text that the tool returned begins and ends."""
    start = next((end for frame in client.frames_before if (end := _end_of_first(text, frame))), 0)
    stop, left = len(text), _MOST
    while left and (begin := _begin_of_last(text, start, stop, client.frames_behind)) is not None:
        stop, left = begin, left - 1
    return (start, stop) if start < stop else (0, len(text))


def _end_of_first(text: str, frame: Frame) -> int:
    """Where a frame ends that the text begins with; 0 where it begins with none."""
    if not text.startswith(frame.begins):
        return 0
    end = text.find(frame.ends, len(frame.begins), _LONGEST)
    return end + len(frame.ends) if end >= 0 and _is_frame(text, 0, end + len(frame.ends), frame) else 0


def _begin_of_last(text: str, start: int, stop: int, frames: tuple[Frame, ...]) -> int | None:
    """Where a frame begins that ends at `stop`; None where there is none."""
    for frame in frames:
        if text.endswith(frame.ends, start, stop):
            begin = text.rfind(frame.begins, max(start, stop - _LONGEST), stop - len(frame.ends))
            if begin >= 0 and _is_frame(text, begin, stop, frame):
                return begin
    return None


def _is_frame(text: str, start: int, stop: int, frame: Frame) -> bool:
    """Whether what is between a beginning and an end is the client's too, and imitates nothing of Keepwhole's."""
    first, last = start + len(frame.begins), stop - len(frame.ends)
    if _compiled(frame.pattern).fullmatch(text, first, last) is None:
        return False
    return not frame.has_any_words or not imitates(text[start:stop])


@cache
def _edges(client: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """How a text with a frame of a client begins, and how it ends: most texts need no closer look."""
    facts = facts_of(client)
    return tuple(frame.begins for frame in facts.frames_before), tuple(frame.ends for frame in facts.frames_behind)


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
