"""Results that a client has lost: it dropped the message, emptied it, or put `null` in its place.

Owns: which results on record a conversation has lost, and which of them are put back.
Must not know: how a dialect spells a result (`wire`), how a result is shown (`pipeline`).

Theory of operation. Before messages are viewed, each lost result is put back whole, as it is on record. From there on
it is a result like any other: the decision on record is applied to it, so it is sent as it was sent before, and it is
not stored again.

A result is lost where its call is in the messages, its place is empty, and the record has a result of that very call:
the same id, tool and arguments. Where two calls in the messages have the same id, nobody can tell which of them a
result on record belongs to, so nothing is put back. A tool that returns nothing has nothing else on record, so its
result stays empty.

Clients send a little more of the same with every request, so only what is new is looked at (`LostResultCheck`): a
place that was not empty stays so, and of one that was, the record would have to have learned another result.

What a client cut or cleared on purpose, with a mark of its own, is put back by `hydrate` only. A view sends the mark,
since that is what the client would send with `mode: off`: a whole result would cost more, and the client counts on the
room.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from keepwhole.canonical.guard import is_blank
from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Path, ResultText
from keepwhole.errors import StoreError
from keepwhole.record.journal import Journal
from keepwhole.record.known_result import KnownResult
from keepwhole.truncation.arguments import has_mark, is_cut_of
from keepwhole.truncation.notice import size_text
from keepwhole.wire.call_arguments import find_arguments, restoring_edits
from keepwhole.wire.dialects import DEFAULT, decode_message, dialect_of
from keepwhole.wire.edits import apply
from keepwhole.wire.pairs import LostResult, texts_in

IsLost: TypeAlias = Callable[[str, str], bool]
"""Whether the text in the place of a call's result says that the result is lost."""


class LostResultCheck:
    """How far the messages of one branch are known to have lost nothing."""

    def __init__(self) -> None:
        self._upto = 0
        """Messages that were looked at."""
        self._unknown: dict[str, int] = {}
        """The calls whose place was empty, each with the number of results that the record had of it."""
        self._continues = False

    def with_lost_results(
        self, messages: Sequence[Any], shared: int, journal: Journal, *, continues: bool
    ) -> Sequence[Any]:
        """The messages with lost results put back whole; the same object where none is lost.

        The first `shared` are those of the branch. A request that `continues` another one has half of its pairs, so
        none of its calls lacks a result.
        """
        is_taken_back = shared < self._upto and bool(self._unknown)
        if continues != self._continues or is_taken_back or not self._is_still_known(journal):
            self._upto, self._unknown, self._continues = 0, {}, continues
        dialect = dialect_of(messages) or DEFAULT
        start = dialect.start_of_turn(messages, min(shared, self._upto))
        finder = _Finder(messages, journal, _is_blank, continues)
        new = messages[start:] if start else messages
        found = dialect.understand_and_put_back(new, finder.find)
        self._unknown |= finder.unknown
        self._upto = 0 if found is None or finder.has_failed else start + len(found)
        return messages if found is None or found is new else [*messages[:start], *found]

    def _is_still_known(self, journal: Journal) -> bool:
        try:
            return all(len(journal.results_of_call(call_id)) == many for call_id, many in self._unknown.items())
        except StoreError:
            return False


def _is_blank(_: str, text: str) -> bool:
    return is_blank(text)


def hydrated(messages: Sequence[Any], journal: Journal) -> list[Any]:
    """The messages with every result whole that the record has."""

    def is_lost(call_id: str, text: str) -> bool:
        return is_blank(text) or (bool(journal.results_of_call(call_id)) and journal.is_foreign_cut(call_id, text))

    finder = _Finder(messages, journal, is_lost, continues=False)
    messages = (dialect_of(messages) or DEFAULT).put_back(messages, finder.find)
    decoded = [decode_message(message) for message in messages]
    texts = [(index, returned) for index, message in enumerate(decoded) for returned in message.returned]
    matches = journal.match_all([returned.identity for _, returned in texts])
    edits: dict[int, list[tuple[Path, Any]]] = {}
    for (index, returned), match in zip(texts, matches, strict=True):
        original = None if match is None or match.is_whole else _original(journal, match.known, returned)
        if isinstance(original, str):
            edits.setdefault(index, []).append((returned.path, original))
        elif original is not None and (edit := _whole_media(messages, returned, original)) is not None:
            edits.setdefault(index, []).append(edit)
    answers = {
        returned.call_id: match.known for (_, returned), match in zip(texts, matches, strict=True) if match is not None
    }
    for index, call in [(index, call) for index, message in enumerate(decoded) for call in message.calls]:
        if has_mark(call.arguments):
            # An id that was made of the whole arguments is another one than that of a view of them.
            known = [*journal.results_of_call(call.call_id), answers.get(call.call_id)]
            edits.setdefault(index, []).extend(_whole_arguments(messages, index, call, known))
    return apply(messages, edits).messages


def _original(journal: Journal, known: KnownResult, returned: ResultText) -> str | MediaBytes | None:
    """The whole of a result of which this is a view. A file whose type may be that of a text too was a part of the
    message if its view is a part, or describes one."""
    looks = f"{known.result.media_type}, {size_text(known.body.facts.size)}"
    line = f"[Artifact: {known.result.artifact_id}] {looks}"
    return journal.original(known, returned.media is not None or returned.text.startswith((line, looks)))


def _whole_media(messages: Sequence[Any], returned: ResultText, original: MediaBytes) -> tuple[Path, Any] | None:
    """The edit that puts an image or a document back: its bytes where one of its type is shown, else the whole part."""
    shown = returned.media
    if shown is not None and shown.facts.media_type == original.media_type:
        return returned.with_image(original.data)
    if shown is None and returned.path[-1:] != ("text",):
        return None
    place = returned.path if shown is not None else returned.path[:-1]
    if returned.only_image is not None:
        return place, returned.only_image.whole(original)
    return place, (dialect_of(messages) or DEFAULT).media_part(original)


def _whole_arguments(
    messages: Sequence[Any], index: int, call: Call, known: Sequence[KnownResult | None]
) -> list[tuple[Path, str]]:
    """The edits that put the arguments of a call back whole, as far as they are a view of what is on record."""
    place = find_arguments(messages, index, call)
    given = (one.result.arguments or "" for one in known if one is not None)
    original = next((each for each in given if is_cut_of(call.arguments, each)), None)
    return [] if place is None or original is None else restoring_edits(place, original)


class _Finder:
    """Finds lost results of one list of messages."""

    def __init__(self, messages: Sequence[Any], journal: Journal, is_lost: IsLost, continues: bool) -> None:
        self._messages, self._journal, self._is_lost = messages, journal, is_lost
        self._continues = continues
        self._calls: dict[str, list[Call]] | None = None
        self.unknown: dict[str, int] = {}
        """The calls whose place is empty and stays so, each with the number of results that the record has of it."""
        self.has_failed = False
        """Whether the record could not be read."""

    def find(self, call_id: Any, *content: object) -> LostResult | None:
        """The lost result of a call, given what is in its place, or nothing where its message was dropped."""
        if not isinstance(call_id, str) or (self._continues and not content):
            return None
        texts = texts_in(content[0]) if content else None
        if content and texts is None:
            return None
        text = None if texts is None else "\n".join(texts)
        try:
            if text is not None and not self._is_lost(call_id, text):
                return None
            known = self._journal.results_of_call(call_id)
            self.unknown[call_id] = len(known)
            if not known or any(self._journal.match(call_id, one) is not None for one in texts or ()):
                return None  # a part of it is there
            return self._read(self._of_this_call(call_id, known))
        except StoreError:
            self.has_failed = True
            return None

    def _of_this_call(self, call_id: str, known: Sequence[KnownResult]) -> list[KnownResult]:
        """The results of a call: all texts of the newest one that is of the same tool with the same arguments."""
        calls = self._calls_in_messages().get(call_id, [])
        if len(calls) > 1:
            return []
        found = [one for one in known if not calls or one.is_of(calls[0])]
        return [
            one for one in found if (one.result.at, one.result.turn) == (found[-1].result.at, found[-1].result.turn)
        ]

    def _calls_in_messages(self) -> dict[str, list[Call]]:
        if self._calls is None:
            self._calls = {}
            for message in self._messages:
                for call in decode_message(message).calls:
                    self._calls.setdefault(call.call_id, []).append(call)
        return self._calls

    def _read(self, known: Sequence[KnownResult]) -> LostResult | None:
        parts = [_framed(one, part) for one in known if (part := self._journal.original(one)) is not None]
        if not any(parts) or len(parts) < len(known):
            return None
        turn = known[-1].result.turn

        def is_beside(call_id: Any) -> bool:
            return turn is None or any(one.result.turn == turn for one in self._journal.results_of_call(call_id))

        return LostResult(tuple(parts), any(one.result.is_error for one in known), is_beside)


def _framed(known: KnownResult, part: str | MediaBytes) -> str | MediaBytes:
    """A result as the client sent it, with what it put around a text."""
    if known.result.frame is None or not isinstance(part, str):
        return part
    before, behind = known.result.frame
    return f"{before}{part}{behind}"
