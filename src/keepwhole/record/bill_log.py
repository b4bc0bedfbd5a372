"""What was sent in a session and what it was billed, by whichever process, as far as the record was read.

Owns: requests with their answers, in order, until somebody has taken them in; when each branch was last sent.
Must not know: what is learned from them.
"""

from typing import NamedTuple

from keepwhole.canonical.entry import Header, Request, Response

_UNANSWERED = 64
"""Requests whose answer is waited for."""


class Billed(NamedTuple):
    """A request that was answered."""

    seq: int
    request: Request
    response: Response

    @property
    def at(self) -> float:
        """When it was sent, in seconds."""
        return sent_at(self.request, self.response)

    @property
    def answered_at(self) -> float:
        """When its answer began, in seconds: what it left in a cache is there from then on."""
        return self.at + (self.response.first_ms or 0) / 1000

    @property
    def estimated(self) -> int:
        """Tokens as the view estimated them; 0 where its bill says nothing about that."""
        return round(self.request.tokens_sent / self.request.scale) if self.request.scale > 0 else 0


class Past:
    """What of it nobody has taken in yet."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[int, Request]] = {}
        self._new: list[Billed] = []
        self.last: dict[str, float] = {}
        """When each branch was last sent, in seconds."""
        self.offered = False
        """Whether tools of ours were."""

    def learn(self, seq: int, header: Header) -> None:
        """Add what one entry says."""
        if isinstance(header, Request):
            self._asked[header.trace_id] = seq, header
            if len(self._asked) > _UNANSWERED:
                del self._asked[next(iter(self._asked))]
            self._saw(header, None)
        elif isinstance(header, Response) and (asked := self._asked.pop(header.trace_id, None)):
            self._new.append(Billed(asked[0], asked[1], header))
            self._saw(asked[1], header)

    def take(self) -> list[Billed]:
        """What is new, once."""
        new, self._new = self._new, []
        return new

    def _saw(self, request: Request, response: Response | None) -> None:
        self.offered = self.offered or request.recall == "tools"
        if request.purpose == "turn" or request.branch not in self.last:
            self.last[request.branch] = sent_at(request, response)


def sent_at(request: Request, response: Response | None) -> float:
    """When a request was sent, in seconds; it goes on record when it is answered."""
    took = response.total_ms if response is not None else None
    return (request.at - (took or 0)) / 1000
