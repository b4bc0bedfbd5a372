"""Rolling context: results older than some steps become a placeholder, long ones are cut.

Owns: steps and ages, the placeholder, the rules for what is spared; over plain chat messages, and as a policy.
Must not know: where the whole result is stored, whether rolling is switched on.

Results that never become a placeholder: those that a recent call or a later message of the user refers to, errors,
pinned results, and short ones. The cap on length holds for all but the short; a cut keeps the lines that are referred
to and those of the error.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from functools import cached_property

from keepwhole.canonical.utf8 import encode
from keepwhole.canonical.value import Value
from keepwhole.models.tokens import estimate
from keepwhole.policies.failures import is_error_text
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation, replaced
from keepwhole.policies.references import ReferenceIndex, argument_texts
from keepwhole.policies.settings import RollingContext
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.choice import TEXT_STRATEGIES, choose
from keepwhole.truncation.configuration import Limits, TruncationConfiguration
from keepwhole.truncation.cut import Cut, TextSource, render, whole
from keepwhole.truncation.notice import omitted
from keepwhole.truncation.present import Artifact, present, summarise
from keepwhole.truncation.result import estimated_tokens
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy

SMALL = 100
"""Results of fewer tokens are never touched."""
_OPENING = 20_000


DEFAULTS = RollingContext()


class Rolling(Value):
    """The policy `rolling` of a session. A placeholder keeps the age at which it was chosen."""

    settings: RollingContext = DEFAULTS
    configuration: TruncationConfiguration = TruncationConfiguration()
    """How the results of each tool are cut where they are too long."""
    strategies: Mapping[str, ITruncationStrategy] = STRATEGIES

    name = "rolling"

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return a choice for each new result that is too long."""
        found = (self._capped(item) for item in new if item.number not in decided)
        return [choice for choice in found if choice is not None]

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Return a choice for each result that has become too old, or is too long and has none yet."""
        uses = _Uses(transcript, self.settings.max_age)
        found = (self._aged(item, decided.get(item.number), uses) for item in transcript.items)
        return [choice for choice in found if choice is not None]

    def _aged(self, item: Item, holds: Choice | None, uses: "_Uses") -> Choice | None:
        if estimated_tokens(len(item.text)) < SMALL or item.pinned or (holds is not None and holds.rule == "old"):
            return None
        about = ""
        age = uses.transcript.steps - item.step
        if age > self.settings.max_age and not is_error_text(item.text, item.is_error):
            used = uses.of(item)
            if used is None:
                return self._placeholder(item, age)
            about = used
        return self._capped(item, about) if holds is None else None

    def _placeholder(self, item: Item, age: int) -> Choice | None:
        words = self.settings.words(age)
        if len(words) >= len(item.text):
            return None
        return Choice(item.number, "old", replaced(item, words), estimate(words))

    def _capped(self, item: Item, about: str = "") -> Choice | None:
        """Return a cut of a result that is too long: by its tool's strategy, of an error round its error lines."""
        most = max(SMALL, self.settings.max_tokens_per_output)
        if item.pinned or estimated_tokens(len(item.text)) <= most:
            return None
        source = TextSource(item.text)
        cut, strategy = _cut(item, source, self._limits(item, source, most, about), self.strategies)
        shown = render(cut, source)
        return Choice(item.number, "long", cut, estimate(shown), strategy) if len(shown) < len(item.text) else None

    def _limits(self, item: Item, source: TextSource, most: int, about: str) -> Limits:
        limits = self.configuration.for_tool(item.call.tool if item.call else "")
        options = limits.options.replace(question=about)
        limits = limits.replace(inline_limit=4 * most, artifact_threshold=source.chars, options=options)
        if is_error_text(item.text, item.is_error) and choose(source, limits) in TEXT_STRATEGIES:
            return limits.replace(strategy="log", chosen_by_user=True)
        return limits


class _Uses:
    """What recent calls and the user refer to, indexed when the first old result asks."""

    def __init__(self, transcript: Transcript, max_age: int) -> None:
        self.transcript = transcript
        self._max_age = max_age

    def of(self, item: Item) -> str | None:
        """Return what a recent call or a later message of the user has of an old result; None for nothing."""
        known = f"{item.call.arguments if item.call else ''}\n{self._opening}"
        taken = self._recent.shared_with(item.text, known)
        if taken is not None or not self._user_at:
            return taken
        later = bisect_right(self._user_at, item.index)
        if later == len(self._user_at):
            return None
        return self._users.shared_with(item.text, known, self._users.starts[later])

    @cached_property
    def _recent(self) -> ReferenceIndex:
        """The arguments of the calls that are not old themselves."""
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
        """The indices of the user's messages."""
        return [at for at, message in enumerate(self.transcript.messages) if message.role == "user" and message.said]

    @cached_property
    def _users(self) -> ReferenceIndex:
        return ReferenceIndex(self.transcript.messages[at].said for at in self._user_at)

    @cached_property
    def _opening(self) -> str:
        """The messages before the first answer, which the model knows without any result."""
        words: list[str] = []
        for message in self.transcript.messages:
            if message.role == "assistant":
                break
            words.append(message.said)
        return "\n".join(words)[:_OPENING]


def _cut(
    item: Item, source: TextSource, limits: Limits, strategies: Mapping[str, ITruncationStrategy]
) -> tuple[Cut, str]:
    """Return the cut that shows a result within its limits, and its strategy."""
    call, name = item.call, item.name
    artifact = Artifact(
        artifact_id=name.artifact_id if name else "",
        summary=summarise(call.tool, call.arguments) if call and name else "",
        size=len(encode(item.text)[0]),
        reachable=name.reachable if name else None,
    )
    view = present(source, artifact, limits, strategies)
    cut, strategy = view.cut or whole(source.chars), view.metadata.strategy_used
    return (cut if name else _without_reference(cut, strategy, artifact.reference, source)), strategy


def _without_reference(cut: Cut, strategy: str, reference: str, source: TextSource) -> Cut:
    """Return the same cut without the call that fetches the rest, which only a session can answer."""
    if strategy == "reference":
        return cut.replace(above=omitted(source.lines, source.chars).strip())
    return cut.replace(below=cut.below.partition(reference)[0].removesuffix("\n"))
