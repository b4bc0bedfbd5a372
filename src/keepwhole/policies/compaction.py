"""Compaction: the oldest steps are replaced by a summary that says how to read them back.

Owns: where the summary ends and the conversation goes on, and what is accepted of a summarizer.
Must not know: where summaries are recorded, how a provider spells them (`wire.compacted`).

Theory of operation
-------------------
    messages   0 system   1 task   2 call  3 result   4 call  5 result   6 call  7 result
                                   |------ upto = 6: replaced ------|    |--- these stay ---|
    sent       0 system   1 task   summary of 2 to 5                      6 call  7 result

1. `boundary` chooses `upto`: the first place from the front after which at most `keep_tokens` are left. A place
   is between two steps, never between a call and its results, and never after the current step.
2. `messages_kept_before` finds the messages before `upto` that stay: system prompts, pinned messages with their
   steps, and the task if it is not too long.
3. `draft_summary` writes the summary without a model, within a budget, from the originals and never from cut views.
4. If there is a summarizer (any callable that takes text), it gets the replaced messages whole. Its text is taken if it
   is shorter than what it replaces; ids and files that it does not name are appended. Else the draft is taken, and
   `fallback` says why.

Invariants: a call and its results are on the same side of the boundary; every result that the draft names can be read
back by an id in the summary; the body, with nothing folded, names every replaced result.
"""

import re
from collections.abc import Awaitable, Iterator, Mapping

from keepwhole.canonical.message import Message
from keepwhole.canonical.steps import newest_step, split_points, ties_of, whole_steps
from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.models.tokens import estimate
from keepwhole.policies.call_outcomes import ResultPointer, one_line
from keepwhole.policies.policy import Choice, Choices, Summarizer
from keepwhole.policies.summary_text import MIN_TOKENS, SummaryDraft, draft_summary
from keepwhole.policies.transcript import Name, Namer, Transcript

MAX_TOKENS = 4_000
TASK_TOKENS = 4_000
"""Tokens up to which the first message stays as the user wrote it; a longer one is quoted in part."""
_NOTHING: Mapping[int, Choice] = {}
_POINTERS = 2
"""The ids that are appended to a summarizer's text may take one part in this many of the budget."""


class Summary(Value):
    """The text that replaces the first messages of a conversation."""

    text: str
    upto: int
    """The first message that it does not replace."""
    replaced_tokens: int
    """Tokens of the messages that it replaces."""
    tokens: int
    fallback: str | None = None
    """Why the summarizer's text was not taken; None if it was, or if there is no summarizer."""
    kept: tuple[int, ...] = ()
    """Messages before `upto` that stay: system prompts, pinned ones with their steps, the task."""
    body: str = ""
    """The summary with nothing folded, to be recorded with it."""

    @property
    def saves(self) -> bool:
        """Whether it is shorter than the messages that it replaces."""
        return self.tokens < self.replaced_tokens


class Compaction:
    """Chooses the messages to summarize, and summarizes them: without a model, or with any callable that takes text."""

    def __init__(self, summarizer: Summarizer | None = None, *, max_tokens: int = MAX_TOKENS) -> None:
        if max_tokens < MIN_TOKENS:
            raise UsageError(
                f"A summary of {max_tokens:,} tokens has no room. Give `max_tokens` at least {MIN_TOKENS}."
            )
        self.summarizer = summarizer
        self.max_tokens = max_tokens

    def boundary(self, transcript: Transcript, decided: Choices, keep_tokens: int) -> int:
        """Return how many messages to summarize so that about `keep_tokens` of the newest stay; 0 for none."""
        return boundary(transcript, decided, keep_tokens)

    def summarize(
        self, transcript: Transcript, upto: int, namer: Namer, decided: Choices = _NOTHING, own: Name | None = None
    ) -> Summary:
        """Return the summary of the messages before `upto`; `own` is the name that it will be recorded by."""
        made = self._prepare(transcript, upto, namer, decided, own)
        if self.summarizer is None:
            return made.as_drafted()
        try:
            said = self.summarizer(_original_text(transcript, upto, made.kept, namer))
        except Exception as error:
            return made.as_drafted(f"it raised {type(error).__name__}")
        if isinstance(said, Awaitable):
            _close(said)
            raise UsageError("This summarizer is asynchronous. Use `await compaction.summarize_async(...)`.")
        return made.with_text(said)

    async def summarize_async(
        self, transcript: Transcript, upto: int, namer: Namer, decided: Choices = _NOTHING, own: Name | None = None
    ) -> Summary:
        """Return the same with a summarizer that may be awaited."""
        made = self._prepare(transcript, upto, namer, decided, own)
        if self.summarizer is None:
            return made.as_drafted()
        try:
            said = self.summarizer(_original_text(transcript, upto, made.kept, namer))
            said = await said if isinstance(said, Awaitable) else said
        except Exception as error:
            return made.as_drafted(f"it raised {type(error).__name__}")
        return made.with_text(said)

    def _prepare(
        self, transcript: Transcript, upto: int, namer: Namer, decided: Choices, own: Name | None
    ) -> "_Prepared":
        kept = messages_kept_before(transcript, upto)
        sizes = _sizes(transcript, decided)
        replaced = sum(size for index, size in enumerate(sizes[:upto]) if index not in kept)
        budget = min(self.max_tokens, max(MIN_TOKENS, replaced // 2))
        draft = draft_summary(transcript, upto, kept, namer, budget, own)
        return _Prepared(draft=draft, upto=upto, replaced=replaced, kept=kept, max_tokens=self.max_tokens)


def boundary(transcript: Transcript, decided: Choices, keep_tokens: int) -> int:
    """Return how many messages to summarize so that about `keep_tokens` of the newest stay; 0 for none.

    A call and its results are never separated, the current step stays, and so does at least one message.
    """
    if keep_tokens < 0:
        raise UsageError(f"`keep_tokens` is {keep_tokens}; give how many tokens of the newest steps should stay.")
    sizes = _sizes(transcript, decided)
    ties = [ties_of(message) for message in transcript.messages]
    newest = newest_step(ties)
    points = [point for point in split_points(ties) if point <= newest]
    left, at = sum(sizes), 0
    if left <= keep_tokens:
        return 0
    for point in points:
        left -= sum(sizes[at:point])
        at = point
        if left <= keep_tokens:
            break
    return at if len(messages_kept_before(transcript, at)) < at else 0


def messages_kept_before(transcript: Transcript, upto: int) -> tuple[int, ...]:
    """Return the messages before `upto` that stay: system, pinned, a task that is not too long, and their steps."""
    messages = transcript.messages
    if not 0 <= upto <= len(messages):
        raise UsageError(f"There are {len(messages)} messages; `upto` is {upto}. Take it from `boundary`.")
    wanted = {index for index, message in enumerate(messages[:upto]) if message.pinned or message.role == "system"}
    wanted |= _task(messages[:upto])
    stays = whole_steps([ties_of(message) for message in messages], {*wanted, *range(upto, len(messages))})
    return tuple(sorted(index for index in stays if index < upto))


def _task(messages: list[Message]) -> set[int]:
    """Return the first message of the user, unless it is too long to stay or has results in it."""
    for index, message in enumerate(messages):
        if message.role == "user" and not message.returned and (message.said.strip() or message.other):
            return {index} if estimate(message.said) + message.other <= TASK_TOKENS else set()
    return set()


def _sizes(transcript: Transcript, decided: Choices) -> list[int]:
    """Return the tokens of each message as it is sent."""
    sizes = [
        estimate(message.said) + message.other + sum(estimate(call.arguments) for call in message.calls)
        for message in transcript.messages
    ]
    for item in transcript.items:
        choice = decided.get(item.number)
        sizes[item.index] += item.tokens if choice is None else choice.tokens
    return sizes


class _Prepared(Value):
    """A draft, and what is needed to accept or refuse a summarizer's text in its place."""

    draft: SummaryDraft
    upto: int
    replaced: int
    kept: tuple[int, ...]
    max_tokens: int

    def as_drafted(self, why: str | None = None) -> Summary:
        """Return the draft itself as the summary."""
        return self._summary(self.draft.text, why)

    def with_text(self, said: object) -> Summary:
        """Return a summarizer's text with the ids that it lacks; else the draft, with the reason."""
        if not isinstance(said, str) or not said.strip():
            return self.as_drafted("it returned nothing")
        text = "\n\n".join([said.strip(), *self._forgotten(said)])
        if estimate(text) >= self.replaced:
            return self.as_drafted("it is not shorter than what it replaces")
        return self._summary(text, None)

    def _summary(self, text: str, fallback: str | None) -> Summary:
        return Summary(
            text=text,
            upto=self.upto,
            replaced_tokens=self.replaced,
            tokens=estimate(text),
            fallback=fallback,
            kept=self.kept,
            body=self.draft.body,
        )

    def _forgotten(self, said: str) -> Iterator[str]:
        """Yield the ids and files that the draft names and a summarizer's text does not."""
        missing = [pointer for pointer in self.draft.pointers if not _is_named(pointer, said)]
        room = self.max_tokens * 4 // _POINTERS
        lines: list[str] = []
        for pointer in reversed(missing):
            line = f"- {' '.join(pointer.words.split())}"
            room -= len(line) + 1
            if room < 0:
                break
            lines.append(line)
        if lines:
            older = len(missing) - len(lines)
            more = f"\n- {older:,} older results, in the full account" if older else ""
            yield "Results that the summary above does not name:\n" + "\n".join(reversed(lines)) + more
        paths = [path for path in self.draft.paths if not _contains(said, path)]
        if paths:
            yield "Files that it does not name: " + ", ".join(one_line(path, 200) for path in paths)


def _is_named(pointer: ResultPointer, said: str) -> bool:
    """Return whether a text names a result by its call and by an id that reads it back."""
    by_call = not pointer.call_id or _contains(said, pointer.call_id)
    return by_call and (_contains(said, pointer.name.trace_id) or _contains(said, pointer.name.artifact_id))


def _contains(text: str, name: str) -> bool:
    """Return whether a text contains `name` as a word of its own: `call_1` is not in `call_10`."""
    if name not in text:
        return False
    return re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) is not None


def _original_text(transcript: Transcript, upto: int, kept: tuple[int, ...], namer: Namer) -> str:
    """Return the messages to be replaced as one text: originals, each result with its ids."""
    parts: list[str] = []
    items = iter(item for item in transcript.items if item.index < upto)
    by_index: dict[int, list[str]] = {}
    for item in items:
        pointer = ResultPointer(item.returned.call_id, namer(item))
        by_index.setdefault(item.index, []).append(f"[result of {pointer.words}]\n{item.text}")
    for index, message in enumerate(transcript.messages[:upto]):
        if index in kept:
            continue
        if message.said:
            parts.append(f"[{message.role}]\n{message.said}")
        parts += [f"[call {call.call_id}] {call.tool} {call.arguments}" for call in message.calls]
        parts += by_index.get(index, ())
    return "\n\n".join(parts)


def _close(awaitable: Awaitable[object]) -> None:
    """Close a coroutine that is not awaited, so that Python does not warn."""
    close = getattr(awaitable, "close", None)
    if callable(close):
        close()
