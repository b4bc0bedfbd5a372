"""Rolling context: results older than some steps become a placeholder, long ones are cut, and four kinds are spared.

Owns: steps and ages, the placeholder, the rules for what is spared; over plain chat messages, and as a policy.
Must not know: where the whole result is stored, whether rolling is switched on.

Spared from aging: results that a recent call or the user refers to, errors, and short results. The cap on length
applies to all but the short ones; the cut keeps the text around the reference or the error.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from keepwhole.canonical.value import Value
from keepwhole.models.tokens import estimate
from keepwhole.policies.arrival import Arriving, as_arriving, choice_within, show_within
from keepwhole.policies.failures import is_error_source
from keepwhole.policies.images import media_choice
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation, replacement_cut
from keepwhole.policies.references import ReferenceIndex, argument_texts
from keepwhole.policies.settings import RollingContext
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.configuration import Limits, TruncationConfiguration
from keepwhole.truncation.cut import Cut, Source, render, whole
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.present import Artifact, choose, present, summarize
from keepwhole.truncation.result import TruncationResult, estimated_tokens
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy, strategy_named

SMALL = 100
"""Results of fewer tokens are never touched."""
_OPENING = 20_000


DEFAULTS = RollingContext()


class Rolling(Value):
    """The policy `rolling` of a session. The age in a placeholder is that of the moment it was chosen, and stays."""

    settings: RollingContext = DEFAULTS
    configuration: TruncationConfiguration = TruncationConfiguration()
    """How the results of each tool are cut where they are too long."""
    strategies: Mapping[str, ITruncationStrategy] = STRATEGIES

    name = "rolling"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return a choice for each new result that is too long."""
        found = (self._cap_choice(item) for item in new if item.number not in decided)
        return [choice for choice in found if choice is not None]

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return a choice for each result that has become too old, or is too long and has none yet."""
        uses = _Uses(transcript, self.settings.max_age)
        found = (self._age_choice(item, decided.get(item.number), uses) for item in transcript.items)
        return [choice for choice in found if choice is not None]

    def _age_choice(self, item: Item, holds: Choice | None, uses: "_Uses") -> Choice | None:
        if _is_small(item) or item.pinned or (holds is not None and holds.rule == "old"):
            return None
        about: str | None = None
        age = uses.transcript.steps - item.step
        if age > self.settings.max_age and not item.has_failed:
            used = uses.reference_to(item) if item.media is None else None
            if used is None:
                return self._placeholder(item, age)
            about = used
        return self._cap_choice(item, about) if holds is None else None

    def _placeholder(self, item: Item, age: int) -> Choice | None:
        words = self.settings.words(age)
        if item.media is not None:
            return media_choice(item, "old", words)
        if len(words) >= len(item.text):
            return None
        return Choice(item.number, "old", replacement_cut(item, words), estimate(words))

    def show(self, arriving: Arriving) -> TruncationResult:
        """Cut a result that is too long by its tool's strategy, an error by the strategy `log`."""
        is_error = is_error_source(arriving.source, arriving.is_error)
        limits = self._limits(arriving.tool, arriving.source, is_error)
        if arriving.adjust is not None:
            limits = arriving.adjust(limits, arriving.source)
        return show_within(limits, arriving, self.strategies)

    def _cap_choice(self, item: Item, about: str | None = None) -> Choice | None:
        """Return a cut of a result of a conversation around the text `about`; None where the result is short enough."""
        if item.pinned or item.media is not None:
            return None
        with item.opened() as source:
            return self._cap_opened(item, source, about)

    def _cap_opened(self, item: Item, source: Source, about: str | None) -> Choice | None:
        tool = item.call.tool if item.call else ""
        limits = self._limits(tool, source, item.has_failed)
        if item.name is not None:
            return choice_within(limits, item, as_arriving(item, source, about), "long", self.strategies)
        if len(item.text) <= limits.inline_limit:
            return None
        limits = limits.replace(options=limits.options.replace(question=about or ""))
        cut, strategy = _cut(item, source, limits, self.strategies)
        shown = render(cut, source)
        return Choice(item.number, "long", cut, estimate(shown), strategy) if len(shown) < len(item.text) else None

    def _limits(self, tool: str, source: Source, is_error: bool) -> Limits:
        most = 4 * max(SMALL, self.settings.max_tokens_per_output)
        limits = self.configuration.for_tool(tool)
        if not (self.configuration.is_given("inline_limit") or tool in self.configuration.overrides):
            limits = limits.replace(inline_limit=most)
        limits = limits.replace(artifact_threshold=max(source.chars, limits.inline_limit))
        if is_error and strategy_named(choose(source, limits), self.strategies).is_text and not limits.chosen_by_user:
            return limits.replace(strategy="log", chosen_by_user=True)
        return limits


def _is_small(item: Item) -> bool:
    return (estimated_tokens(len(item.text)) if item.media is None else item.tokens) < SMALL


class _Uses:
    """The texts of recent calls and users that may refer to results, indexed at the first question."""

    def __init__(self, transcript: Transcript, max_age: int) -> None:
        self.transcript = transcript
        self._max_age = max_age

    def reference_to(self, item: Item) -> str | None:
        """Return the part of an old result that a recent call or a later user message repeats; None for none."""
        known = f"{item.call.arguments if item.call else ''}\n{self._first_words}"
        taken = self._recent.shared_with(item.text, known)
        if taken is not None or not self._user_at:
            return taken
        later = bisect_right(self._user_at, item.index)
        if later == len(self._user_at):
            return None
        return self._users.shared_with(item.text, known, self._users.starts[later])

    @cached_property
    def _recent(self) -> ReferenceIndex:
        """The arguments of recent calls."""
        arguments: list[str] = []
        left = self._max_age + 1
        for message in reversed(self.transcript.messages):
            if left == 0:
                break
            left -= bool(message.calls)
            arguments += [leaf for call in message.calls for leaf in argument_texts(call.arguments)]
        return ReferenceIndex(arguments)

    @cached_property
    def _user_at(self) -> list[int]:
        """The indexes of the user's messages."""
        return [at for at, message in enumerate(self.transcript.messages) if message.role == "user" and message.said]

    @cached_property
    def _users(self) -> ReferenceIndex:
        return ReferenceIndex(self.transcript.messages[at].said for at in self._user_at)

    @cached_property
    def _first_words(self) -> str:
        """The text before the model's first answer, which no result can have told the model."""
        words: list[str] = []
        for message in self.transcript.messages:
            if message.role == "assistant":
                break
            words.append(message.said)
        return "\n".join(words)[:_OPENING]


def _cut(item: Item, source: Source, limits: Limits, strategies: Mapping[str, ITruncationStrategy]) -> tuple[Cut, str]:
    """Return how a result is shown within its limits, and by which strategy."""
    call, name = item.call, item.name
    artifact = Artifact(
        artifact_id=name.artifact_id if name else "",
        summary=summarize(call.tool, call.arguments) if call and name else "",
        size=item.size,
        reachable=name.reachable if name else None,
    )
    view = present(source, artifact, limits, strategies)
    cut, strategy = view.cut or whole(source.chars), view.metadata.strategy_used
    return (cut if name else _without_reference(cut, strategy, artifact.reference, source)), strategy


def _without_reference(cut: Cut, strategy: str, reference: str, source: Source) -> Cut:
    """Return the cut without the call that fetches the rest: outside a session nothing can be fetched."""
    if strategy == "reference":
        return cut.replace(above=omitted(source.lines, source.chars).strip())
    return cut.replace(below=cut.below.partition(reference)[0].removesuffix("\n"))
