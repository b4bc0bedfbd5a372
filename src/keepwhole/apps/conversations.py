"""Which requests of a branch go on with which, and which of its conversations is that of the session's main agent.

Owns: both rules. Every figure that speaks of a conversation (costs, the window, an undo, *What if?*) follows them.
Must not know: stores, prices.

Theory of operation
-------------------
Not every client names its sub-agents, so that a branch may hold several conversations. A request goes on with the one
that its manifest is written against, unless that is longer than it; then it begins a new one. By that alone a sub-agent
cannot be told from the same agent after its client has compacted or gone back:

    request       1     2     3     4     5     6     7     8     9     10
    tokens        9k    20k   31k   5k    8k    42k   53k   60k   6k    17k
    conversation  A     A     A     B     B     A     A     (A)   C     C

B was a sub-agent's, since A goes on behind it (6). C takes the place of A at once, since A ended with a request for a
summary (8). Where neither is known yet, as at 4, the instructions decide: an agent that has begun anew still has the
same ones, and a sub-agent has its own.

Invariant: a conversation behind which an earlier one of the main agent goes on is never the main agent's.

A sub-agent that begins with more tokens than the conversation that called it, and shares a tenth of its text with it,
is taken for that conversation until the latter goes on.
"""

import re
from collections.abc import Callable, Iterable
from typing import Generic, Protocol, TypeAlias, TypeVar

from keepwhole.canonical.entry import HIDDEN_ROUND, Request
from keepwhole.errors import StoreError
from keepwhole.exchange.request_log import LoggedRequest
from keepwhole.wire.identity import MAIN
from keepwhole.wire.instructions import instructions_of
from keepwhole.wire.request_body import read_request

_SHRUNK = 0.9
"""A conversation that has shrunk to less than this was compacted, or is another one."""
_MOST = 16
"""Conversations of one branch that may go on."""
_COMPACTION = "compaction"
TURNS = frozenset(("turn", HIDDEN_ROUND))
"""Purposes of requests that go on with what is said; others ask for a summary, or for a count."""
_ALIKE = 0.5
"""Share of two agents' instructions above which they are those of one: dates and reminders in them change."""
_LONGEST = 100_000
"""Characters of instructions that are compared."""
_SENTENCES = re.compile(r"[\n.;]+\s*")


ReadBody: TypeAlias = Callable[[str], bytes]
"""Reads a request on record by its id."""
ANSWERED = frozenset(("complete", "incomplete"))
"""Outcomes of requests that were answered, at least in part."""


class Conversation:
    """What a client says to a model and goes on with."""

    def __init__(self) -> None:
        self.tokens = 0.0
        """The estimated tokens of its last request."""
        self.seqs: set[int] = set()
        """The numbers of its requests."""


_C = TypeVar("_C", bound=Conversation)


class BranchConversations(Generic[_C]):
    """The conversations of one branch."""

    def __init__(self, make: Callable[[], _C]) -> None:
        self._make = make
        self._going_on: list[_C] = []
        """The one that went on last at the end."""

    def going_on_with(self, seq: int, request: Request) -> _C:
        """The conversation that a request goes on with: that of the request it is recorded against, or else, as after a
        restart, the longest that is not longer than it; a new one where there is none."""
        tokens = request.tokens_whole / (request.scale or 1.0)
        found = self._closest(request, longest=tokens / _SHRUNK) or self._make()
        if not self._going_on or self._going_on[-1] is not found:
            self._going_on = [*(each for each in self._going_on if each is not found), found][-_MOST:]
        found.tokens = tokens
        found.seqs.add(seq)
        return found

    def _closest(self, request: Request, longest: float) -> _C | None:
        found = [each for each in self._going_on if request.base in each.seqs] or self._going_on
        return max((each for each in found if each.tokens <= longest), key=lambda each: each.tokens, default=None)


class SentStep(Protocol):
    """A request, as a session's steps or its log have it."""

    @property
    def seq(self) -> int:
        """The number of its entry."""
        ...

    @property
    def request(self) -> Request | None:
        """The request itself."""
        ...


_S = TypeVar("_S", bound=SentStep)


class _Talk(Conversation, Generic[_S]):
    """A conversation with its first turn, its newest one, and the newest that was answered."""

    def __init__(self) -> None:
        super().__init__()
        self.first: _S | None = None
        self.newest: _S | None = None
        self.answered: _S | None = None
        self.began = self.went_on = 0
        """The numbers of its first turn and of its last."""
        self.is_compacted = False
        """Whether its last request asked for a summary."""


class _Branch(Generic[_S]):
    """The conversations of a branch, by whether they are those of its own agent."""

    def __init__(self) -> None:
        self.turns = 0
        self._conversations: BranchConversations[_Talk[_S]] = BranchConversations(_Talk)
        self._own: list[_Talk[_S]] = []
        """The conversations of its agent, each in the place of the one before."""
        self._new: list[_Talk[_S]] = []
        """Those that have begun since its agent went on, of which is not known whose they are."""
        self._unanswered: dict[int, _Talk[_S]] = {}

    def add(self, step: _S, request: Request) -> None:
        talk = self._conversations.going_on_with(step.seq, request)
        if request.purpose == _COMPACTION:
            self._note_compaction(talk)
            return
        if talk.first is None:
            talk.first, talk.began = step, step.seq
            (self._new if self._own else self._own).append(talk)
        elif talk in self._own:  # then what has begun since were other agents
            self._own, self._new = self._own[: self._own.index(talk) + 1], []
        talk.newest, talk.went_on, talk.is_compacted = step, step.seq, False
        self.turns += 1
        self._unanswered[step.seq] = talk

    def _note_compaction(self, talk: _Talk[_S]) -> None:
        """Note that a client asks for a summary; where it has the history written out, it is that of the agent that
        went on last."""
        if talk.first is None:
            talk = max([*self._own, *self._new], key=lambda each: each.went_on, default=talk)
        talk.is_compacted = True

    def answer(self, step: _S) -> None:
        talk = self._unanswered.pop(step.seq, None)
        if talk is not None and (talk.answered is None or step.seq >= talk.answered.seq):
            talk.answered = step

    def current(self, read_body: ReadBody) -> _S | None:
        for talk in self._new:
            last = self._own[-1]
            if talk.began < last.went_on or talk.first is None or last.newest is None:
                continue
            if last.is_compacted or _are_of_one_agent(last.newest, talk.first, read_body):
                self._own.append(talk)
        self._new = []
        return self._own[-1].answered or self._own[-1].newest if self._own else None

    def own(self, steps: Iterable[_S]) -> list[_S]:
        return [step for step in steps if any(step.seq in talk.seqs for talk in self._own)]


class MainAgent(Generic[_S]):
    """The requests of a session's main agent: of the branch that no sub-agent names, else of the longest one."""

    def __init__(self) -> None:
        self._branches: dict[str, _Branch[_S]] = {}

    def add(self, step: _S) -> None:
        """Take in a request, in the order of the record."""
        request = step.request
        if request is not None and (request.purpose in TURNS or request.purpose == _COMPACTION):
            self._branches.setdefault(request.branch, _Branch()).add(step, request)

    def answer(self, step: _S) -> None:
        """Take in that a request was answered, at least in part."""
        if step.request is not None and step.request.branch in self._branches:
            self._branches[step.request.branch].answer(step)

    @property
    def branch(self) -> str:
        """The branch of the main agent."""
        if MAIN in self._branches and self._branches[MAIN].turns:
            return MAIN
        return max(self._branches, key=lambda name: self._branches[name].turns, default=MAIN)

    def current(self, read_body: ReadBody) -> _S | None:
        """The request that fills the main agent's window now: the newest that was answered, else the newest."""
        found = self._branches.get(self.branch)
        return None if found is None else found.current(read_body)

    def own(self, steps: Iterable[_S]) -> list[_S]:
        """Those of some steps that are the main agent's, as far as `current` has found out."""
        found = self._branches.get(self.branch)
        return [] if found is None else found.own(steps)


def current_request(steps: Iterable[LoggedRequest], read_body: ReadBody) -> LoggedRequest | None:
    """The request of a session that fills the window of its main agent now."""
    main: MainAgent[LoggedRequest] = MainAgent()
    for step in steps:
        main.add(step)
        if step.outcome in ANSWERED:
            main.answer(step)
    return main.current(read_body)


def _are_of_one_agent(one: SentStep, other: SentStep, read_body: ReadBody) -> bool:
    """Whether two requests have about the same instructions, or none; also where they are damaged."""
    try:
        sentences, others = (_sentences(read_body(step.request.trace_id)) for step in (one, other) if step.request)
    except StoreError:
        return True
    return len(sentences & others) >= _ALIKE * max(len(sentences), len(others))


def _sentences(body: bytes) -> set[str]:
    request = read_request(body)
    text = "" if request is None else instructions_of(request)
    return {one for one in _SENTENCES.split(text[:_LONGEST]) if one}
