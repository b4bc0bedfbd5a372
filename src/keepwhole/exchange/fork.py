"""A conversation that goes on under another name: its session takes over what was shown of it before.

Theory of operation. A client may copy a conversation and go on with it in a new session: `claude --resume ID
--fork-session`, an agent started anew with saved messages, messages handed to another program. The session is new, and
the messages have results that the model has answered already. Then the same owner's sessions are searched for the ids
of their calls. Ids alone prove nothing, since some providers number them; so what both have is compared in order:

    messages of the request         a session on record
    call_0 read(a)  "text a"        call_0 read(a)  "text a", cut to art_1        the same
    call_1 bash(ls) "12 files"      (never recorded)                              says nothing
    call_2 read(b)  "text b"        call_2 read(c)  "text c"                      another one: they part here

What is the same up to there is taken over (`record.fork`), if it has enough text: results and the decisions about them,
hidden rounds of answers that the messages have, summaries, and every other result that the messages name by its id. So
the provider gets the same bytes as before, and each id that the model was shown is found, also when the origin is
purged. From then on the two sessions share nothing.

Of several sessions that agree as far, the oldest is taken: the others are copies of it themselves.

Invariants
- Only sessions of the same owner are looked at: those whose names end in the same owner (`apps.proxy.destination`).
- Once a session has a result of one of these calls, nothing is taken over: so it is done once, by one process.
- Where the record cannot be read or written, the conversation goes on as one that was never seen.

Owns: recognizing such a conversation, and what of the origin belongs to it.
Must not know: how entries are copied.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from keepwhole import events
from keepwhole.canonical.ids import trace_of
from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.conversation.summary import TOOL as SUMMARY
from keepwhole.errors import Overtaken, StoreError
from keepwhole.exchange.outgoing_request import TOOL as ROUND
from keepwhole.exchange.outgoing_request import read_round
from keepwhole.policies.transcript import Transcript
from keepwhole.record.fork import begin_fork
from keepwhole.record.fork_note import ForkNote
from keepwhole.record.journal import Journal, ResultMatch
from keepwhole.record.known_result import KnownResult
from keepwhole.session import Session
from keepwhole.store.protocol import FindsCalls, Store
from keepwhole.store.wait_guard import check_may_wait
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.frames import without_frames
from keepwhole.wire.hidden_rounds import Round, keys_in, put_back
from keepwhole.wire.request_body import RequestBody

_CALLS = 16
"""The newest calls by which sessions are found."""
_SESSIONS = 4
"""Of the sessions with most of these calls, so many of the oldest and of the newest are compared."""
_BILLS = 8
"""The newest bills of the origin that are taken over."""
_ENOUGH = 100
"""Characters of results that both must have. With less on record nothing was hidden yet."""
_ID = re.compile(r"art_\d{1,12}_[0-9A-Za-z]{22}|trace_[0-9A-Za-z]{22}")


class _Origin(NamedTuple):
    """A session that a conversation agrees with."""

    journal: Journal
    name: str
    messages: list[Any]
    """The messages with the hidden rounds of that session in them."""
    rounds: list[KnownResult]
    """The notes of these rounds."""
    results: list[KnownResult]
    """What both have."""


class _Reader(NamedTuple):
    """How the messages of a client are read."""

    dialect: Dialect
    client: str

    def decode(self, message: Any) -> Message:
        """What a message means, with the frames of its results taken off."""
        return without_frames(decode_message(message), self.client)


class ForkCheck:
    """Whether a session begins as a fork. Looked at once for each branch, when it has results that were answered."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._checked: set[str] = set()
        """Branches that were looked at by this process."""

    def take_over(self, dialect: Dialect, request: RequestBody, branch: str, client: str = "") -> bool:
        """Take over what another session has of a conversation that this one does not know; return whether it did.

        `client` is the name of the client that sends it, by which frames around results are known."""
        if branch in self._checked or self._session.settings.mode != "on":
            return False
        messages = dialect.messages_of(request)
        calls = _answered_calls(messages)
        if not calls:
            return False
        try:
            origin = self._begin_fork(_Reader(dialect, client), request, messages, calls)
        except Overtaken:  # another process was first
            origin = None
        except StoreError:
            return False
        self._checked.add(branch)
        if origin is not None:
            events.log_forked(self._session.id, origin.name, len(origin.results))
        return origin is not None

    def _begin_fork(
        self, reader: _Reader, request: RequestBody, messages: list[Any], calls: list[str]
    ) -> _Origin | None:
        store, journal = self._session.store, self._session.conversations.journal
        with journal.lock:
            journal.catch_up()
            if any(map(journal.results_of_call, calls)) or not isinstance(store, FindsCalls):
                return None
            after = journal.seq
        counts = store.count_calls(calls)
        if counts:
            check_may_wait()
        origin = _find_origin(store, counts, self._session.id, reader, messages)
        if origin is not None:
            begin_fork(self._session.writer, _note(origin), _wanted(origin, request), after)
        return origin


def _answered_calls(messages: Sequence[Any]) -> list[str]:
    """The newest calls whose results the model has answered."""
    found: dict[str, None] = {}
    is_answered = False
    for message in map(decode_message, reversed(messages)):
        if is_answered:
            found.update(dict.fromkeys(returned.call_id for returned in message.returned))
        is_answered = is_answered or message.role == "assistant"
        if len(found) >= _CALLS:
            break
    return list(found)[:_CALLS]


def owner_of(name: str) -> str:
    """The owner in the name of a session; empty where it has none."""
    return name.rpartition("@")[2] if "@" in name else ""


def _find_origin(
    store: Store, counts: dict[str, int], own: str, reader: _Reader, messages: list[Any]
) -> _Origin | None:
    """The session that agrees with most of the messages; of several the oldest."""
    names = [name for name in counts if name != own and owner_of(name) == owner_of(own)]
    most = max((counts[name] for name in names), default=0)
    names = [name for name in names if counts[name] == most]
    best: _Origin | None = None
    for name in dict.fromkeys([*names[:_SESSIONS], *names[-_SESSIONS:]]):
        origin = _compare(store, name, reader, messages)
        if origin is not None and (best is None or len(origin.results) > len(best.results)):
            best = origin
    return best


def _compare(store: Store, name: str, reader: _Reader, messages: list[Any]) -> _Origin | None:
    """What a session has of the messages; None where that is too little."""
    journal = Journal(store, name)
    journal.catch_up()
    used = _used_rounds(journal, keys_in(reader.dialect, messages))
    rounds: dict[str, list[Round]] = {}
    for one, _ in used:
        rounds.setdefault(one.key, []).append(one)
    whole = put_back(reader.dialect, messages, rounds)
    results = list(_agreeing(journal, [reader.decode(message) for message in whole]))
    chars = sum(len(text) for text, _ in results)
    known = list({one.result.trace_id: one for _, one in results}.values())
    return _Origin(journal, name, whole, [note for _, note in used], known) if chars >= _ENOUGH else None


def _used_rounds(journal: Journal, keys: list[str]) -> list[tuple[Round, KnownResult]]:
    """The hidden rounds of the answers with these keys: of those with the same key, the first."""
    left, found = Counter(keys), list[tuple[Round, KnownResult]]()
    for note in reversed(journal.of_tool(ROUND)):
        one = read_round(note.result)
        if one is not None and left[one.key] > 0:
            left[one.key] -= 1
            found.append((one, note))
    return found


def _agreeing(journal: Journal, messages: Sequence[Message]) -> Iterator[tuple[str, KnownResult]]:
    """The texts in the messages that are results of a session, up to the first that contradicts it."""
    calls: dict[str, Call] = {}
    texts = [returned.identity for message in messages for returned in message.returned]
    matches = iter(journal.match_all(texts))
    for message in messages:
        calls.update((call.call_id, call) for call in message.calls)
        for returned in message.returned:
            known = _known(journal, returned, next(matches))
            if known is None and not journal.results_of_call(returned.call_id):
                continue
            if known is None or not _is_same_call(known, calls.get(returned.call_id)):
                return
            yield returned.text, known


def _known(journal: Journal, returned: ResultText, match: ResultMatch | None) -> KnownResult | None:
    """The result of a session that a text is: whole, as one of our views, or as the client has cut it."""
    if match is None and returned.is_framed:  # a record from before frames were known has the result in its frame
        match = journal.match(returned.call_id, returned.around(returned.text))
    if match is not None:
        return match.known
    if journal.is_foreign_cut(returned.call_id, returned.text):
        return journal.results_of_call(returned.call_id)[-1]
    return None


def _is_same_call(known: KnownResult, call: Call | None) -> bool:
    """Whether a result is that of a call; one that is known by a view which names its id needs no call."""
    result = known.result
    if call is None or result.call_id != call.call_id:
        return call is None or result.call_id is None
    return result.tool == call.tool and _parsed(result.arguments or "") == _parsed(call.arguments)


def _parsed(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments


def _wanted(origin: _Origin, request: RequestBody) -> list[str]:
    """The trace ids of what is taken over."""
    own = [*origin.results, *origin.rounds, *origin.journal.of_tool(SUMMARY)]
    text = "".join([request.text, *(note.result.arguments or "" for note in origin.rounds)])
    return list(dict.fromkeys([*(one.result.trace_id for one in own), *map(trace_of, _ID.findall(text))]))


def _note(origin: _Origin) -> ForkNote:
    transcript = Transcript()
    transcript.extend(map(decode_message, origin.messages))
    bills, before = origin.journal.bills, origin.journal.fork
    origins = (origin.name, *(before.origins if before is not None else ()))
    return ForkNote(origins, transcript.turns, tuple(bills.offered), tuple(bills.newest(_BILLS)))
