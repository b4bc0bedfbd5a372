"""How a result is cut when it first arrives, and the policy `truncation`, which does nothing else."""

from collections.abc import Callable, Mapping, Sequence

from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import UNKNOWN_MODEL, Choice, Choices, Situation
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.truncation.configuration import Limits, TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact, present, summarise
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy

_QUESTION = 400


def artifact_of(item: Item) -> Artifact:
    """Return what a notice says of a result."""
    assert item.name is not None, "a result is named before it is cut"
    call = item.call
    return Artifact(
        artifact_id=item.name.artifact_id,
        summary=summarise(call.tool if call else "tool", call.arguments if call else None),
        size=len(item.text.encode("utf-8", "surrogatepass")),
        reachable=item.name.reachable,
    )


def capped(
    item: Item, limits: Limits, rule: str, strategies: Mapping[str, ITruncationStrategy] = STRATEGIES
) -> Choice | None:
    """Return the choice to show a result within `limits`; None where it fits, or has no name to be fetched by."""
    if item.name is None or len(item.text) <= limits.inline_limit:
        return None
    shown = present(TextSource(item.text), artifact_of(item), limits, strategies)
    if shown.cut is None or not shown.metadata.was_truncated or len(shown.content) >= len(item.text):
        return None
    return Choice(item.number, rule, shown.cut, estimate(shown.content), shown.metadata.strategy_used)


def question_in(transcript: Transcript, item: Item) -> str:
    """Return the question that a result answers: the end of the user's last message before it."""
    for message in reversed(transcript.messages[: item.index]):
        if message.role == "user" and message.said:
            return message.said[-_QUESTION:]
    return ""


class Truncation:
    """The policy `truncation`: every result is cut to its tool's limit on arrival and never touched again."""

    name = "truncation"

    def __init__(
        self,
        configuration: TruncationConfiguration | None = None,
        strategies: Mapping[str, ITruncationStrategy] = STRATEGIES,
        question: str | None = None,
    ) -> None:
        self._limits: Callable[[str], Limits] = (configuration or TruncationConfiguration()).for_tool
        self._strategies = strategies
        self._question = question

    def arrive(
        self, transcript: Transcript, new: Sequence[Item], decided: Choices, situation: Situation = UNKNOWN_MODEL
    ) -> list[Choice]:
        """Return a cut for each new result that is over its tool's limit."""
        choices: list[Choice] = []
        for item in new:
            limits = self._limits(item.call.tool if item.call else "")
            if item.pinned or len(item.text) <= limits.inline_limit:
                continue
            asked = question_in(transcript, item) if self._question is None else self._question
            limits = limits.replace(options=limits.options.replace(question=asked))
            choice = capped(item, limits, "arrival", self._strategies)
            if choice is not None:
                choices.append(choice)
        return choices

    def age(self, transcript: Transcript, decided: Choices, situation: Situation) -> list[Choice]:
        """Nothing ages."""
        return []
