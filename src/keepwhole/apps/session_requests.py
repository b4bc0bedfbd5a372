"""The requests of a session for figures: hidden rounds are told apart from what the client asked for.

Owns: how a hidden round is recognized on record.
Must not know: what a request cost.

Theory of operation. A hidden round is on record as a request like any other. What it was made for, the answer of a
recall tool, is kept before the request that led to it is recorded: requests are recorded once they are answered.

    result Bash, turn 4 · result get_artifact, turn 5 · request · request (the hidden round) · result Bash, turn 6 · …

So after a request that follows results of N turns with nothing but answers of recall tools, the next N requests of its
branch are hidden rounds. Where a turn has a result of the client too, both are sent with the client's next request.
"""

from collections import Counter

from keepwhole.canonical.entry import Header, Request, Result
from keepwhole.errors import Damaged
from keepwhole.exchange.request_log import LoggedRequest, RequestLog
from keepwhole.recall.names import NAMES
from keepwhole.session import Session
from keepwhole.store.protocol import entry_of

HIDDEN_ROUND = "hidden round"
"""The purpose of a request that was made only to recall something."""


class RoundFinder:
    """Finds the hidden rounds of a session, entry by entry."""

    def __init__(self) -> None:
        self.found: set[int] = set()
        """The numbers of their entries."""
        self._is_recall: dict[int, bool] = {}
        """For each turn since the request before: whether all of its results are answers of recall tools."""
        self._due: Counter[str] = Counter()
        """Hidden rounds that are not recorded yet, by branch."""

    def add(self, seq: int, header: Header) -> None:
        """Look at the next entry."""
        if isinstance(header, Result) and header.turn is not None:
            self._is_recall[header.turn] = self._is_recall.get(header.turn, True) and header.tool in NAMES
        elif isinstance(header, Request):
            if self._due[header.branch]:
                self._due[header.branch] -= 1
                self.found.add(seq)
            if header.recall:
                self._due[header.branch] += sum(self._is_recall.values())
            self._is_recall.clear()

    def mark(self, step: LoggedRequest) -> LoggedRequest:
        """The request, with its purpose where it is a hidden round."""
        return step._replace(request=step.request.replace(purpose=HIDDEN_ROUND)) if step.seq in self.found else step


def read_requests(session: Session) -> list[LoggedRequest]:
    """Every request of a session in order, with the newest answer to it."""
    rounds = RoundFinder()
    for row in session.store.rows(session.id, kind=("result", "request"), light=True):
        try:
            rounds.add(row.seq, entry_of(row).header)
        except Damaged:
            continue
    return [rounds.mark(step) for step in RequestLog(session).all()]
