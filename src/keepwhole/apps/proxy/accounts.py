"""Sign-ins whose token changes while a conversation goes on: which tokens may enter a session of an account.

Theory of operation. What a token says of its account (`credentials.account_forms`) is not checked by anybody before the
upstream has seen it, and the account in `metadata.user_id` not even then. So the account is a part of the session's
name and opens nothing by itself. A session of an account is entered by

- the token that made the session;
- a token that was let in before, by any process: its keyed hash is recorded in the session;
- a new token whose request repeats results of this session whole, under the ids of their calls.

The ids are drawn by the provider and the results were seen by the client alone, so the request comes from somebody who
has the conversation, as a client has after its token was refreshed. Any other token gets a session of its own,
as if the account were not known.

Owns: this rule and its notes in the record. Must not know: how a token is hashed.
"""

import json
import logging
import threading
from collections.abc import Iterator

from keepwhole.canonical.entry import Result
from keepwhole.errors import StoreError
from keepwhole.session import Session
from keepwhole.store.wait_guard import check_may_wait
from keepwhole.wire.content import fields_of, text_of
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.request_body import RequestBody

TOOL = "keepwhole_token"
"""The tool name of a note in the record that lets a token in."""
_ENOUGH = 100
"""Characters of results that a request has to repeat. With less on record nothing was hidden yet."""
_MOST = 4_096
_log = logging.getLogger("keepwhole.proxy")


class AccountSessions:
    """Which tokens may enter which sessions. Safe from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._admitted: set[tuple[str, str]] = set()
        """Sessions and tokens that are known, so that the record is asked once."""

    def admit(self, session: Session, token: str, request: RequestBody, may_write: bool) -> bool:
        """Whether a token, known by its hash, may enter a session with this request; note it where it is new."""
        if (session.id, token) in self._admitted:
            return True
        check_may_wait()
        try:
            if token not in _tokens(session) and not _let_in(session, token, request, may_write):
                return False
        except StoreError as error:
            _log.warning("a token could not be looked up (%s): it gets a session of its own", type(error).__name__)
            return False
        with self._lock:
            if len(self._admitted) >= _MOST:
                self._admitted.clear()
            if may_write:
                self._admitted.add((session.id, token))
        return True


def _let_in(session: Session, token: str, request: RequestBody, may_write: bool) -> bool:
    """Let a new token in, where it makes the session or repeats its results."""
    journal = session.conversations.journal
    with journal.lock:
        journal.catch_up()
        is_first = not journal.seq
    if not is_first and not _repeats_results(session, request):
        return False
    if not may_write:
        return True
    note = session.writer.new_result(TOOL, {"v": 1, "token": token, "first": is_first})
    session.writer.append_notes([(note, "")])
    return token in _tokens(session)


def _repeats_results(session: Session, request: RequestBody) -> bool:
    """Whether a request has enough text of results of this session, whole and under the ids of their calls."""
    journal = session.conversations.journal
    repeated = 0
    for message in request.messages:
        for returned in decode_message(message).returned:
            with journal.lock:
                match = journal.match(returned.call_id, returned.text)
            if match is not None and match.is_whole and match.known.result.call_id == returned.call_id:
                repeated += len(returned.text)
        if repeated >= _ENOUGH:
            return True
    return False


def _tokens(session: Session) -> set[str]:
    """The tokens that notes in the record let in. Of several that say they made the session, the first did."""
    with session.conversations.journal.lock:
        session.conversations.journal.catch_up()  # `notes` would go on where the record cannot be read
    return set(_read_notes(session.conversations.notes(TOOL)))


def _read_notes(notes: list[Result]) -> Iterator[str]:
    for number, note in enumerate(notes):
        try:
            about = fields_of(json.loads(note.arguments or ""))
        except ValueError:
            continue
        if number == 0 or not about.get("first", True):
            yield text_of(about.get("token"))
