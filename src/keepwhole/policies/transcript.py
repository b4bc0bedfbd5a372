"""A conversation as policies see it: who spoke, which calls were made, what they returned, in which step.

Owns: the messages of one branch in order, their calls and results, steps and turns, sizes in tokens.
Must not know: how a provider spells a message (`wire` decodes), where results are stored.

Built message by message and cut back at a fork, so that a new step costs only its own messages.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import islice, takewhile
from operator import itemgetter
from typing import Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from keepwhole.canonical.media import TEXT, Media
from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.canonical.utf8 import count_chars, encode
from keepwhole.models.media_tokens import RuleName, media_reserve, media_tokens
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import estimate, measure
from keepwhole.policies.failures import is_error_text
from keepwhole.policies.kinds import Kind, kind_of, target_of
from keepwhole.policies.uses import ResultUses
from keepwhole.truncation.cut import ArgumentCut, Source, TextSource
from keepwhole.truncation.notice import imitates
from keepwhole.truncation.recall_link import RecallLink

_K = TypeVar("_K")


class Original(Protocol):
    """What a tool returned, where the client sent only a part of it."""

    @property
    def chars(self) -> int:
        """Characters in all."""
        ...

    @property
    def size(self) -> int:
        """Bytes in all."""
        ...

    @property
    def digest(self) -> bytes:
        """The digest of all."""
        ...

    def opened(self) -> AbstractContextManager[Source]:
        """Open it for as long as it is read."""
        ...


class Item:
    """One result in a transcript."""

    __slots__ = (
        "_images",
        "_imitates",
        "_media_chars",
        "_reads_failed",
        "arguments",
        "call",
        "changes_arguments",
        "gone",
        "index",
        "is_error",
        "kind",
        "name",
        "number",
        "original",
        "pinned",
        "reserve",
        "returned",
        "step",
        "target",
        "tokens",
        "turn",
    )

    def __init__(
        self,
        number: int,
        index: int,
        returned: ResultText,
        call: Call | None,
        step: int,
        turn: int,
        images: RuleName = DEFAULT.images,
    ) -> None:
        self.number = number
        """Its place among the results of the transcript, from 0."""
        self.index = index
        """The index of its message."""
        self.returned = returned
        self.call = call
        self.step, self.turn = step, turn
        self.kind: Kind = kind_of(call.tool, call.arguments) if call else "other"
        self._media_chars: int | None = None
        self._images: RuleName = images
        self._imitates: bool | None = None
        self._reads_failed: bool | None = None
        media = returned.media
        if media is None:
            self.tokens, self.reserve = measure(returned.text)
            """Tokens of the original: estimated, and how many more they may be."""
        else:
            self.tokens = media_tokens(media.facts, images, media.detail)
            self.reserve = media_reserve(media.facts, images, media.detail)
            self.kind = "image" if media.facts.kind == "image" else self.kind
        self.target = target_of(call.tool, call.arguments) if self.kind == "image" and call else None
        """Of what an image is; None for anything else."""
        self.is_error = returned.is_error
        self.pinned = False
        self.gone = False
        """Whether a summary replaces its message."""
        self.name: Name | None = None
        """Its name in notices, once it has one."""
        self.original: Original | None = None
        """What the tool returned, where the client had cut it and the whole is known: what is shown is a cut of this,
        and notices tell its size. None where the text is the whole."""
        self.changes_arguments: MayChange = "always"
        """When the arguments of its call may be shown otherwise."""
        self.arguments: LongArguments | None = None
        """What can be cut of these, once that was found out."""

    @property
    def text(self) -> str:
        """The text that the client means to send: the whole, or what the client itself cut from it; of an image or a
        document its description."""
        return self.returned.text

    @property
    def imitates(self) -> bool:
        """Whether something in the text looks like a notice."""
        if self._imitates is None:
            self._imitates = imitates(self.text)
        return self._imitates

    @property
    def has_failed(self) -> bool:
        """Whether it reports a failure, as its provider or its text says."""
        if self.is_error:
            return True
        if self._reads_failed is None:
            self._reads_failed = is_error_text(self.text)
        return self._reads_failed

    @property
    def media(self) -> Media | None:
        """The facts of a result that is an image, a document or the like; None for text."""
        return None if self.returned.media is None else self.returned.media.facts

    def tokens_of_words(self, words: str) -> int:
        """Tokens of words in its place, estimated; where they have to be drawn, of the image that shows them."""
        only = self.returned.only_image
        if only is None:
            return estimate(words)
        detail = "" if self.returned.media is None else self.returned.media.detail
        return media_tokens(Media("image/png", len(words), b"", *only.size(words)), self._images, detail)

    @property
    def media_type(self) -> str:
        """What it is: text, or the type of its bytes."""
        return TEXT if self.media is None else self.media.media_type

    @property
    def chars(self) -> int:
        """Characters of the whole as it is stored: a cut counts in them, also one of bytes that are no text."""
        if self.original is not None:
            return self.original.chars
        if self._media_chars is None and self.returned.media is not None:
            self._media_chars = count_chars(self.returned.media.body())
        return len(self.text) if self._media_chars is None else self._media_chars

    @chars.setter
    def chars(self, chars: int) -> None:
        self._media_chars = chars

    @property
    def size(self) -> int:
        """Bytes of the whole."""
        if self.media is not None:
            return self.media.size
        return len(encode(self.text)[0]) if self.original is None else self.original.size

    def opened(self) -> AbstractContextManager[Source]:
        """Open the whole for as long as it is read."""
        return nullcontext(TextSource(self.text)) if self.original is None else self.original.opened()

    def has_same_original(self, other: "Item") -> bool:
        """Whether two results with the same text are the same also in what the client cut from them."""
        digests = [item.original and item.original.digest for item in (self, other)]
        return digests[0] == digests[1]


MayChange: TypeAlias = Literal["always", "after the turn", "never"]
"""`after the turn`: the model's reasoning beside the call is signed, which holds until the user writes again. `never`:
the arguments are not on record as the messages have them, or the request has them in a place that is not understood."""


class LongArguments(NamedTuple):
    """What can be cut of a call's arguments."""

    cuts: tuple[ArgumentCut, ...]
    freed: int
    """Tokens that are not sent then."""


class Name(NamedTuple):
    """How a notice names a result."""

    trace_id: str
    artifact_id: str
    reachable: RecallLink | None = None
    """How it is read back; by `get_artifact` if not given."""

    @property
    def way(self) -> RecallLink:
        """How it is read back."""
        return self.reachable or RecallLink(self.artifact_id)


Namer: TypeAlias = Callable[[Item], Name]


class Transcript:
    """The messages of one branch so far."""

    def __init__(self, images: RuleName = DEFAULT.images) -> None:
        """`images` is the rule by which images and documents are counted."""
        self._image_rule: RuleName = images
        self.messages: list[Message] = []
        self.items: list[Item] = []
        self.steps = 0
        self.turns = 0
        self.tokens = 0
        """Tokens of everything as it came."""
        self.reserve = 0
        """How many tokens more it may take than estimated."""
        self.calls: dict[str, Call] = {}
        self._same: dict[int, list[int]] = {}
        self._of_kind: dict[Kind, list[int]] = {}
        """The numbers of all results by their kind, in order."""
        self._images_of: dict[tuple[str, ...], list[int]] = {}
        """The numbers of all images by what they are of, in order."""
        self.tokens_before: list[int] = []
        """For each message the tokens of all before it, as they came."""
        self._marks: list[tuple[int, int, int, int]] = []
        self._asked: list[tuple[int, int]] = []
        """The user's messages that are not only results: the index of each, and the number of turns before it."""
        self._undo: list[list[tuple[str, Call | None]]] = []
        self._uses = ResultUses()
        self._unchanged = 0
        self.kept: object = None
        """What a policy keeps of the results from one request to the next."""

    def extend(self, messages: Iterable[Message]) -> None:
        """Add the next messages."""
        for message in messages:
            self._add(message)

    def cut_back(self, length: int) -> None:
        """Forget all messages from `length` on, since the conversation was forked there."""
        length = max(length, 0)
        if length >= len(self.messages):
            return
        items, self.steps, self.turns, self.reserve = self._marks[length]
        self._unchanged = min(self._unchanged, items)
        self.tokens = self.tokens_before[length]
        for changes in reversed(self._undo[length:]):
            for call_id, before in reversed(changes):
                if before is None:
                    self.calls.pop(call_id, None)
                else:
                    self.calls[call_id] = before
        for item in reversed(self.items[items:]):
            _drop_newest(self._same, hash(item.text))
            _drop_newest(self._of_kind, item.kind)
            if item.target is not None:
                _drop_newest(self._images_of, item.target)
        while self._asked and self._asked[-1][0] >= length:
            self._asked.pop()
        del self.messages[length:], self.items[items:], self._marks[length:], self._undo[length:]
        del self.tokens_before[length:]
        if not self._uses.take_back(length):
            self._uses = ResultUses(self._uses.start)

    def take_unchanged(self) -> int:
        """Return how many results at the front are the same as at the last time."""
        unchanged, self._unchanged = self._unchanged, len(self.items)
        return unchanged

    @property
    def uses(self) -> ResultUses:
        """How all results have been used."""
        return self.uses_from(0)

    def uses_from(self, number: int) -> ResultUses:
        """Return how the results from a number on have been used; counted when it is asked for."""
        if number < self._uses.start or not self._uses.messages:
            self._uses = ResultUses(number)
        for index in range(self._uses.messages, len(self.messages)):
            self._uses.add(self.messages[index], self.items_in(index), self.turns_before(index + 1))
        return self._uses

    def user_messages_after(self, item: Item) -> int:
        """Return how many messages the user wrote after a result."""
        return len(self._asked) - bisect_right(self._asked, item.index, key=itemgetter(0))

    def results_before(self, index: int) -> int:
        """Return how many results came before message `index`."""
        return self._marks[index][0] if index < len(self._marks) else len(self.items)

    def results_before_user(self) -> list[int]:
        """Return for each message of the user how many results came before it."""
        return [self._marks[index][0] for index, _ in self._asked]

    def newest_open(self, kind: Kind, many: int, numbers: Sequence[int]) -> Iterator[int]:
        """Yield the newest `many` results of a kind that are among `numbers`, which rise."""
        of_kind = reversed(self._of_kind.get(kind, ()))
        return islice((number for number in of_kind if _contains(numbers, number)), many)

    def requests(self, start: int = 0) -> Iterator[tuple[int, int, int]]:
        """Yield the requests that the model has answered, from the turn `start` on: the number of turns before each,
        of its messages, and of their original tokens."""
        for turn in range(start, self.turns):
            index = bisect_right(self._marks, turn, key=itemgetter(2)) - 1
            yield turn, index, self.tokens_before[index]

    def turns_before(self, length: int) -> int:
        """Return how many turns of the model are in the first `length` messages."""
        return self._marks[length][2] if length < len(self._marks) else self.turns

    def last_calls_before(self, length: int) -> int:
        """Return where the last run of model messages with calls begins in the first `length`; 0 for none."""
        found = False
        for index in range(min(length, len(self.messages)) - 1, 0, -1):
            found = found or bool(self.messages[index].calls)
            if found and self.messages[index - 1].role not in ("assistant", "other"):
                return index
        return 0

    def items_in(self, index: int) -> list[Item]:
        """Return the results in message `index`."""
        after = self._marks[index + 1][0] if index + 1 < len(self._marks) else len(self.items)
        return self.items[self._marks[index][0] : after]

    def start_of_step(self, number: int) -> int:
        """Return the index of the message that begins a step; counted from the end where `number` is below 0.

        The number of messages where there is no such step, 0 where there are fewer.
        """
        wanted = number if number >= 0 else self.steps + number
        if wanted < 0:
            return 0
        return bisect_right(self._marks, wanted, key=itemgetter(1)) - 1 if wanted < self.steps else len(self.messages)

    def same_text(self, item: Item) -> list[int]:
        """Return the numbers of all results with the same text, in order."""
        alike = (self.items[number] for number in self._same[hash(item.text)])
        return [other.number for other in alike if other.text == item.text and other.has_same_original(item)]

    def tokens_of_media(self, item: Item, shown: Media) -> int:
        """Return the tokens of an image that is sent in place of another."""
        part = item.returned.media
        return media_tokens(shown, self._image_rule, "" if part is None else part.detail)

    def newest_of(self, target: tuple[str, ...]) -> Item | None:
        """Return the newest image of a page, a window or a file; None where there is none."""
        numbers = self._images_of.get(target)
        return self.items[numbers[-1]] if numbers else None

    def same_call(self, item: Item) -> list[Item]:
        """Return the results of all calls of the same tool with the same arguments, in order."""
        if item.call is None:
            return [item]
        wanted = item.call[1:]
        return [other for other in self.items if other.call is not None and other.call[1:] == wanted]

    def index_of_call(self, item: Item) -> int:
        """Return the index of the message that made the call of a result; that of the result where none did."""
        for index in range(item.index - 1, -1, -1) if item.call is not None else ():
            if any(call is item.call for call in self.messages[index].calls):
                return index
        return item.index

    def leads_its_call(self, item: Item) -> bool:
        """Return whether a result is the first text that its call returned."""
        before = takewhile(lambda other: other.step == item.step, reversed(self.items[: item.number]))
        return item.call is not None and not any(other.call is item.call for other in before)

    def tokens_from(self, index: int) -> int:
        """Return the original tokens of message `index` and of all after it."""
        return self.tokens - self.tokens_before[index] if index < len(self.tokens_before) else 0

    def tokens_of(self, index: int) -> int:
        """Return the original tokens of message `index`."""
        after = self.tokens_before[index + 1] if index + 1 < len(self.tokens_before) else self.tokens
        return after - self.tokens_before[index]

    def reserve_from(self, index: int) -> int:
        """How many tokens more than estimated the message `index` and all after it may take, as they came."""
        return self.reserve - self._marks[index][3] if index < len(self._marks) else 0

    def arguments_since(self, step: int) -> list[str]:
        """Return the arguments of the calls made after `step`."""
        found: list[str] = []
        for (_, before, *_), message in zip(reversed(self._marks), reversed(self.messages), strict=True):
            found += [call.arguments for call in message.calls]
            if before <= step:
                break
        return found

    def user_texts(self) -> list[str]:
        """Return what the user wrote, in order."""
        return [message.said for message in self.messages if message.role == "user" and message.said]

    def next_user_turn(self, item: Item) -> int | None:
        """Return the number of turns before the user's first message after a result; None for no message."""
        if not self._asked or self._asked[-1][0] <= item.index:
            return None
        at = bisect_right(self._asked, item.index, key=itemgetter(0))
        return self._asked[at][1]

    def _goes_on(self, message: Message) -> bool:
        """Return whether a message only adds a parallel call to those before it, each in a message of its own."""
        before = self.messages[-1] if self.messages else None
        return before is not None and before.role == "assistant" and bool(before.calls) and bool(message.calls)

    def _add(self, message: Message) -> None:
        self._marks.append((len(self.items), self.steps, self.turns, self.reserve))
        self.tokens_before.append(self.tokens)
        changes: list[tuple[str, Call | None]] = []
        if message.role == "assistant" and not self._goes_on(message):
            self.turns += 1
            self.steps += bool(message.calls)
        for call in message.calls:
            changes.append((call.call_id, self.calls.get(call.call_id)))
            self.calls[call.call_id] = call
            self._count(call.arguments)
        for returned in message.returned:
            call = self.calls.get(returned.call_id)
            item = Item(len(self.items), len(self.messages), returned, call, self.steps, self.turns, self._image_rule)
            item.pinned = message.pinned
            self.items.append(item)
            self._same.setdefault(hash(returned.text), []).append(item.number)
            self._of_kind.setdefault(item.kind, []).append(item.number)
            if item.target is not None:
                self._images_of.setdefault(item.target, []).append(item.number)
            self.tokens += item.tokens
            self.reserve += item.reserve
        if message.said:
            self._count(message.said)
            if message.role == "user" and not message.returned:
                self._asked.append((len(self.messages), self.turns))
        self.tokens += message.other
        self.messages.append(message)
        self._undo.append(changes)

    def _count(self, text: str) -> None:
        tokens, reserve = measure(text)
        self.tokens += tokens
        self.reserve += reserve


def _contains(numbers: Sequence[int], number: int) -> bool:
    place = bisect_left(numbers, number)
    return place < len(numbers) and numbers[place] == number


def _drop_newest(numbers: dict[_K, list[int]], key: _K) -> None:
    """Forget the newest number under a key, and the key with the last."""
    numbers[key].pop()
    if not numbers[key]:
        del numbers[key]
