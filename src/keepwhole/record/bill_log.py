"""Requests of a session and their answers, as read from the record: what was sent when, and what it was billed.

Owns: pairing requests with responses, in order, until `take` hands them out; when each branch was last sent.
Must not know: what is learned from a bill (`billing`).
"""

from typing import NamedTuple

from keepwhole.canonical.entry import Header, Request, Response

_UNANSWERED = 64
"""Most requests that wait for their response; the oldest are forgotten."""


class BilledRequest(NamedTuple):
    """A request that was answered."""

    seq: int
    request: Request
    response: Response

    @property
    def sent_at(self) -> float:
        """When it was sent, in seconds."""
        return sent_at(self.request, self.response)

    @property
    def answered_at(self) -> float:
        """When its answer began, in seconds; from then on the provider's cache holds its prompt."""
        return self.sent_at + (self.response.first_ms or 0) / 1000

    @property
    def estimated(self) -> int:
        """Tokens as the view estimated them; 0 where the bill says nothing about the whole request."""
        return round(self.request.tokens_sent / self.request.scale) if self.request.scale > 0 else 0


class BillLog:
    """Billed requests that were not taken yet."""

    def __init__(self) -> None:
        self._unanswered: dict[str, tuple[int, Request]] = {}
        self._billed: list[BilledRequest] = []
        self.last_sent: dict[str, float] = {}
        """When each branch was last sent, in seconds."""
        self.has_offered_tools = False
        """Whether a request offered the recall tools."""

    def learn(self, seq: int, header: Header) -> None:
        """Add a request or a response."""
        if isinstance(header, Request):
            self._unanswered[header.trace_id] = seq, header
            if len(self._unanswered) > _UNANSWERED:
                del self._unanswered[next(iter(self._unanswered))]
            self._note_sent(header, None)
        elif isinstance(header, Response) and (asked := self._unanswered.pop(header.trace_id, None)):
            self._billed.append(BilledRequest(asked[0], asked[1], header))
            self._note_sent(asked[1], header)

    def take(self) -> list[BilledRequest]:
        """Hand out the billed requests, each once."""
        billed, self._billed = self._billed, []
        return billed

    def _note_sent(self, request: Request, response: Response | None) -> None:
        self.has_offered_tools = self.has_offered_tools or request.recall == "tools"
        if request.purpose == "turn" or request.branch not in self.last_sent:
            self.last_sent[request.branch] = sent_at(request, response)


def sent_at(request: Request, response: Response | None) -> float:
    """When a request was sent, in seconds; its entry is written when it is answered."""
    took = response.total_ms if response is not None else None
    return (request.at - (took or 0)) / 1000
