"""What a list says of a session: title, errors, origin and cost, read from the headers of its entries.

Owns: which entries are read for it: no body but that of the first request, or of the first words of a log.
"""

from typing import Any, NamedTuple

from keepwhole.apps.cli.command_context import CommandContext
from keepwhole.apps.request_figures import cost_of, profiles_with
from keepwhole.apps.session_title import title_of, title_of_request
from keepwhole.apps.stated_cost import StatedCost, state_cost
from keepwhole.canonical.entry import OWN_TOOLS, Request, Response, Result
from keepwhole.errors import Damaged, StoreError
from keepwhole.exchange.request_log import NO_ANSWER, LoggedRequest
from keepwhole.record.fork_note import TOOL as FORK
from keepwhole.record.fork_note import origin_in
from keepwhole.record.words_note import read_words
from keepwhole.store.protocol import Row, SessionInfo, body_of, entry_of
from keepwhole.store.requests import Requests

_WORDS = 20_000
"""Characters of words that are read for a title."""


class ListedSession(NamedTuple):
    """One session in a list."""

    title: str | None = None
    fork_of: str | None = None
    errors: int = 0
    cost: StatedCost | None = None

    @property
    def cost_words(self) -> str:
        """What was paid, and saved."""
        if self.cost is None:
            return ""
        if self.cost.unit == "tokens":
            return f"{self.cost.paid:,} ({self.cost.saved:,}) uncached tokens"
        paid, _, saved = self.cost.amounts
        return f"{paid} ({saved}){' at list price' if self.cost.is_list_price else ''}"

    def as_dict(self) -> dict[str, Any]:
        """The same for programs."""
        return {**self._asdict(), "cost": None if self.cost is None else self.cost.as_dict}


class _Read:
    """What was read of a session."""

    def __init__(self) -> None:
        self.requests: dict[str, tuple[int, Request]] = {}
        self.responses: dict[str, Response] = {}
        self.errors = 0
        self.fork_of: str | None = None
        self.first: Row | None = None
        """The first request, or the first words of the user in a log."""

    def add(self, row: Row) -> None:
        header = entry_of(row).header
        if isinstance(header, Request):
            self.requests[row.trace_id] = row.seq, header
            self.first = self.first or row
        elif isinstance(header, Response):
            self.responses[row.trace_id] = header
        elif isinstance(header, Result) and header.tool.startswith(OWN_TOOLS):
            self.fork_of = origin_in(header) if header.tool == FORK else self.fork_of
            words = read_words(header)
            self.first = self.first or (row if words is not None and words.role == "user" else None)
        elif isinstance(header, Result):
            self.errors += header.is_error

    def steps(self) -> list[LoggedRequest]:
        found = self.requests.items()
        return [LoggedRequest(seq, request, self.responses.get(name)) for name, (seq, request) in found]


def describe_session(context: CommandContext, info: SessionInfo) -> ListedSession:
    """What a list says of a session; entries that cannot be read are left out."""
    read = _Read()
    for row in context.store.rows(info.name, kind=("result", "request", "response"), light=True):
        try:
            read.add(row)
        except Damaged:
            continue
    steps = read.steps()
    failed = sum(step.outcome in (NO_ANSWER, "refused") for step in steps)
    cost = cost_of(steps, profiles_with(context.settings.models))
    stated = None if cost is None else state_cost(cost)
    return ListedSession(_title(context, read.first), read.fork_of, read.errors + failed, stated)


def _title(context: CommandContext, first: Row | None) -> str | None:
    try:
        row = None if first is None else context.store.entry(first.session, first.seq)
        if row is None:
            return None
        if row.kind == "request":
            return title_of_request(Requests(context.store, row.session).body(row))
        with context.store.open(body_of(row)) as reader:
            return title_of(reader.text(0, _WORDS))
    except StoreError:
        return None
