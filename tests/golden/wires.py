"""Scenarios of the dialects: what each makes of messages, requests, answers and streams of every provider."""

from collections.abc import Callable, Iterator

from tests.golden import more_shapes
from tests.golden import wire_doors as doors
from tests.golden.recorder import Recorder
from tests.golden.wire_shapes import (
    ANSWERS,
    CONVERSATIONS,
    HEADERS,
    MESSAGES,
    PARTS,
    REQUESTS,
    STREAMS,
    rearranged,
    varied,
)


def messages(out: Recorder) -> None:
    """Every message and part, varied at each place."""
    for number, message in enumerate((*MESSAGES, *more_shapes.MESSAGES)):
        found = list(varied(message))
        for name in doors.DIALECTS:
            out.add(f"wire/message-{number}/{name}", [doors.about_message(name, one) for one in found])
        out.add(f"wire/message-{number}/any", [doors.about_any_message(one) for one in found])
    for name in doors.DIALECTS:
        out.add(f"wire/media/{name}", doors.media_parts(name))
    for number, part in enumerate((*PARTS, *more_shapes.PARTS)):
        out.add(f"wire/part-{number}", [doors.about_part(one) for one in varied(part)])


def conversations(out: Recorder) -> None:
    """Conversations in which something is missing, doubled or exchanged."""
    for name, items in (CONVERSATIONS | more_shapes.CONVERSATIONS).items():
        for other in doors.DIALECTS:
            found = rearranged(items) if name == other else iter((items,))
            out.add(f"wire/conversation/{name}-{other}", [doors.about_conversation(other, one) for one in found])


def requests(out: Recorder) -> None:
    """Requests, varied at each place, and whose they are."""
    for number, request in enumerate((*REQUESTS, *more_shapes.REQUESTS)):
        for name in doors.DIALECTS:
            found = [doors.about_request(name, one) for one in varied(request)]
            out.add(f"wire/request-{number}/{name}", found)
        for at, headers in enumerate(HEADERS):
            out.add(f"wire/request-{number}/headers-{at}", doors.identities(headers, request))


def answers(out: Recorder) -> None:
    """Answers, varied at each place, and streams with events left out, doubled, exchanged and cut."""
    for number, answer in enumerate((*ANSWERS, *more_shapes.ANSWERS)):
        for name in doors.DIALECTS:
            out.add(f"wire/answer-{number}/{name}", [doors.about_answer(name, one) for one in varied(answer)])
    for name, events in (STREAMS | more_shapes.STREAMS).items():
        out.add(f"wire/stream/{name}", [doors.about_stream(name, one) for one in _near(events)])


def _near(events: list[bytes]) -> Iterator[list[bytes]]:
    """Yield a stream with one event left out, doubled or exchanged with the next, and cut after each."""
    yield events
    for at in range(len(events)):
        yield [*events[:at], *events[at + 1 :]]
        yield [*events[: at + 1], *events[at:]]
        yield [*events[:at], *events[at : at + 2][::-1], *events[at + 2 :]]
        yield events[:at]


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {"wire": [messages, conversations, requests, answers]}
