"""How other systems show old results, as policies: for comparison, and for moving to Keepwhole step by step.

Owns: their rules, numbers and words, as in the original systems.
Must not know: Keepwhole's own policies.

Tokens are Keepwhole's estimates: the originals divide characters by four, or ask the provider. Pinned results, which no
original has, are left alone. Each policy is called before every request, and what it has cleared stays cleared.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError
from keepwhole.models.tokens import estimate
from keepwhole.policies.images import SCALED
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Policy, Situation, replacement_cut, sent_tokens
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.cut import render
from keepwhole.truncation.strategy import StrategyOptions, strategy_named


class Everything(Value):
    """Sends all results whole, always: the cost that the others are measured against."""

    name: str = "everything"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return no choices: nothing is cut on arrival."""
        return []

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return no choices: nothing is cleared later."""
        return []


class Capped(Everything):
    """Cuts a long result when it arrives, and never again.

    As Codex CLI (`utils/output-truncation`, the middle), mini-swe-agent (the middle, 10,000 characters) and SWE-agent
    (`max_observation_length`, the end) do. Their sizes and words differ; the places and words here are Keepwhole's.
    """

    limit: int = 8_000
    """Characters that a result may have, notice included."""
    strategy: str = "head_tail"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return a cut for every new result over the limit."""
        return [self._cut(item) for item in new if len(item.text) > self.limit and _is_open(item, decided)]

    def _cut(self, item: Item) -> Choice:
        with item.opened() as source:
            cut = strategy_named(self.strategy)(source, self.limit, _HALVES)
            return Choice(item.number, "arrival", cut, estimate(render(cut, source)), self.strategy)


class Masked(Everything):
    """Masks all but the last observations, at every step.

    SWE-agent, `LastNObservations(n=5, polling=1)` in `sweagent/agent/history_processors.py`; ten is the window of
    "The Complexity Trap" (JetBrains, arXiv 2508.21433).
    """

    keep: int = 5

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return choices that mask everything but the newest `keep` results."""
        return [
            _clear(item, f"Old environment output: ({len(item.text.splitlines())} lines omitted)", "masked")
            for item in _older_items(transcript.items, self.keep)
            if _is_open(item, decided)
        ]


class ClearToolUses(Everything):
    """Clears all but the newest results in one batch when a request is too long, if that frees enough.

    Anthropic's server-side edit `clear_tool_uses_20250919` (beta `context-management-2025-06-27`): it counts the
    request as it is sent, so it does nothing until that has grown to the trigger again.
    """

    trigger: int = 100_000
    keep: int = 3
    clear_at_least: int = 20_000

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return one batch if the request is over the trigger and the batch frees at least `clear_at_least`."""
        if sent_tokens(transcript, decided) + situation.overhead <= self.trigger:
            return []
        older = [item for item in _older_items(transcript.items, self.keep) if _is_open(item, decided)]
        batch = [_clear(item, "[cleared to save context]", "cleared") for item in older]
        return batch if _tokens_freed(older, batch) >= self.clear_at_least else []


class NewestImages(Everything):
    """Clears all but the newest images, a chunk at a time, so that the cache is not lost at every step.

    As the loop of Anthropic's computer-use demo does (`_maybe_filter_to_n_most_recent_images` with
    `only_n_most_recent_images` and `min_removal_threshold`); it removes the images, here a few words stand for them.
    """

    keep: int = 3
    chunk: int = 10

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return choices that clear the oldest images: as many whole chunks as are over `keep`."""
        images = [item for item in transcript.items if item.media is not None and _is_open(item, decided)]
        many = max(0, len(images) - self.keep) // self.chunk * self.chunk
        return [_clear(item, "[image removed]", "images") for item in images[:many]]


class LangChain(Everything):
    """Clears all but the newest results at every call once the history is long.

    LangChain 1.4.7, `ClearToolUsesEdit(trigger=100_000, keep=3, clear_at_least=0)` in
    `langchain/agents/middleware/context_editing.py`: it looks at a copy of the unchanged history, so past the
    trigger each new result clears another. Errors are cleared too, results without their call are not.
    """

    trigger: int = 100_000
    keep: int = 3

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return choices that clear all but the newest `keep` once the uncleared history is over the trigger."""
        if transcript.tokens <= self.trigger:
            return []
        return [
            _clear(item, "[cleared]", "cleared")
            for item in _older_items(transcript.items, self.keep)
            if item.call is not None and _is_open(item, decided)
        ]


class Pruned(Everything):
    """Protects the newest tokens of tool output and clears what is older, if that is enough to be worth it.

    opencode, `prune` in `packages/opencode/src/session/compaction.ts` (`PRUNE_PROTECT`, `PRUNE_MINIMUM`). Errors and
    the tool `skill` are spared, and the walk back ends at what was cleared before. opencode spares the last two user
    turns as well, so that a long run on one prompt is never pruned; `turns=0` is the rule without that.
    """

    protect: int = 40_000
    minimum: int = 20_000
    turns: int = 0
    """User's turns whose results are spared."""

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return choices that clear results older than the protected tokens, if they exceed the minimum."""
        old = list(self._items_behind(_newest_first(transcript, self.turns), decided))
        if sum(item.tokens for item in old) <= self.minimum:
            return []
        return [_clear(item, _OLD, "pruned") for item in reversed(old)]

    def _items_behind(self, newest_first: Iterable[Item], decided: Choices) -> Iterator[Item]:
        seen = 0
        for item in newest_first:
            if item.is_error or item.pinned or (item.call is not None and item.call.tool == "skill"):
                continue
            if item.number in decided:
                return
            seen += item.tokens
            if seen > self.protect:
                yield item


class HalfWatermark(Everything):
    """Clears oldest first down to half of the mark when a request is over it.

    Qwen-code, `packages/core/src/services/microcompaction` (high mark 500,000 characters of tool output, down to half,
    so that not every turn breaks the prompt's prefix; the newest 5 and errors stay). The mark here is a share of the
    model's window, counted over the whole request.
    """

    mark: float = 0.5
    """Share of the window."""
    keep: int = 5

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return choices that clear the oldest results until the request takes half of the mark."""
        limit = self.mark * situation.profile.window
        sent = sent_tokens(transcript, decided) + situation.overhead
        if sent <= limit:
            return []
        batch: list[Choice] = []
        for item in _older_items(transcript.items, self.keep):
            if sent <= limit / 2:
                break
            if not item.is_error and _is_open(item, decided):
                batch.append(_clear(item, _OLD, "cleared"))
                sent -= item.tokens - batch[-1].tokens
        return batch


_OLD = "[Old tool result content cleared]"
_HALVES = StrategyOptions(head_ratio=0.5)

PEERS: dict[str, Callable[[], Policy]] = {
    "everything": Everything,
    "head_8000": lambda: Capped("head_8000", 8_000, "head"),
    "head_tail_8000": lambda: Capped("head_tail_8000", 8_000),
    "head_tail_16000": lambda: Capped("head_tail_16000", 16_000),
    "mask_5": lambda: Masked("mask_5", 5),
    "mask_10": lambda: Masked("mask_10", 10),
    "clear_tool_uses": lambda: ClearToolUses("clear_tool_uses"),
    "clear_tool_uses_50k": lambda: ClearToolUses("clear_tool_uses_50k", 50_000),
    "clear_tool_uses_70k": lambda: ClearToolUses("clear_tool_uses_70k", 70_000),
    "clear_tool_uses_150k": lambda: ClearToolUses("clear_tool_uses_150k", 150_000),
    "langchain": lambda: LangChain("langchain"),
    "opencode": lambda: Pruned("opencode"),
    "opencode_user_turns": lambda: Pruned("opencode_user_turns", turns=2),
    "half_watermark": lambda: HalfWatermark("half_watermark"),
    "newest_images": lambda: NewestImages("newest_images"),
}
"""The policies by the names that settings and reports use."""


def peer_named(name: str) -> Policy:
    """Return the peer called `name`; the error lists the others."""
    if name not in PEERS:
        known = ", ".join(f"`{known}`" for known in PEERS)
        raise UsageError(f"There is no policy `{name}`. Use one of {known}.")
    return PEERS[name]()


def _is_open(item: Item, decided: Choices) -> bool:
    """Return whether a result may be changed and has not been yet."""
    choice = decided.get(item.number)
    return (choice is None or choice.rule == SCALED) and not item.pinned


def _clear(item: Item, words: str, rule: str) -> Choice:
    return Choice(item.number, rule, replacement_cut(item, words), item.tokens_of_words(words))


def _tokens_freed(items: Iterable[Item], choices: Iterable[Choice]) -> int:
    return sum(item.tokens for item in items) - sum(choice.tokens for choice in choices)


def _older_items(items: Sequence[Item], keep: int) -> Sequence[Item]:
    """Return the results without those of the newest `keep` calls; one call may have returned several texts."""
    at, kept, last = len(items), 0, None
    while at:
        place = items[at - 1].index, items[at - 1].returned.call_id
        if place != last:
            kept, last = kept + 1, place
        if kept > keep:
            break
        at -= 1
    return items[:at]


def _newest_first(transcript: Transcript, turns: int) -> Iterator[Item]:
    """Return the results, newest first, without those of the user's last `turns` turns."""
    if not turns:
        return reversed(transcript.items)
    asked = (index for index in range(len(transcript.messages) - 1, -1, -1) if _is_asked(transcript, index))
    before = next(islice(asked, turns - 1, None), 0)
    return (item for item in reversed(transcript.items) if item.index < before)


def _is_asked(transcript: Transcript, index: int) -> bool:
    message = transcript.messages[index]
    return message.role == "user" and message.said != ""
