"""Facts about a run that do not depend on a policy: its tokens, its texts and its evidence."""

from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, groupby

from keepwhole.canonical.message import Message, ResultText
from keepwhole.logs.run import Run
from keepwhole.models.media_tokens import RuleName, media_tokens
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import Counter, estimate
from keepwhole.policies.atoms import occurrences_in_context
from keepwhole.replay.argument_evidence import RunArguments
from keepwhole.replay.evidence import Evidence, ResultUse, evidence, result_uses
from keepwhole.replay.evidence_uses import EvidenceUse, evidence_uses
from keepwhole.replay.frequency import Frequency
from keepwhole.replay.run_texts import ChangedTexts, RepeatedCalls, RunTexts, repeated_calls
from keepwhole.replay.search import ResultSearch
from keepwhole.replay.token_sources import TokenSources, sources_of


def _tokens(returned: ResultText, counter: Counter, images: RuleName) -> int:
    media = returned.media
    return counter(returned.text) if media is None else media_tokens(media.facts, images, media.detail)


class RunFacts:
    """A run, with its tokens counted and its evidence extracted once for all policies."""

    def __init__(
        self,
        run: Run,
        frequency: Frequency | None = None,
        counter: Counter = estimate,
        images: RuleName = DEFAULT.images,
    ) -> None:
        """`images` is the rule by which images and documents are counted."""
        self.run = run
        self._frequency = frequency
        self.count_tokens = counter
        returned = (one for message in run.messages for one in message.returned)
        self.result_tokens = [_tokens(one, counter, images) for one in returned]
        """The tokens of each result, by number."""
        self.sources = _sources(run.messages, self.result_tokens, counter)
        """The tokens of each message by where they come from, with its results whole."""
        self.sizes = [sum(one) for one in self.sources]
        """The tokens of each message with its results whole."""
        self.blocks = list(accumulate(_blocks(message) for message in run.messages))
        """For each message the number of content blocks up to and including it."""
        self._near: dict[tuple[str, int], tuple[str, ...]] = {}
        self._uses: dict[int, dict[int, list[EvidenceUse]]] = {}

    @cached_property
    def texts(self) -> RunTexts:
        """Return the texts of the run with an index of their words."""
        return RunTexts(self.run)

    @cached_property
    def arguments(self) -> RunArguments:
        """Return the arguments of calls, and what was used of them that only they could have told."""
        return RunArguments(self.run, self.texts, self._frequency or Frequency())

    @cached_property
    def search(self) -> ResultSearch:
        """Return the search in results that an agent no longer sees."""
        return ResultSearch(self.texts.results, self.count_tokens)

    @cached_property
    def repeats(self) -> RepeatedCalls:
        """Return the calls that repeat an earlier one."""
        return repeated_calls(self.texts)

    @cached_property
    def results(self) -> tuple[ResultUse, ...]:
        """Return the size and the use of each result."""
        return result_uses(self.texts, self.result_tokens, self.evidence)

    @cached_property
    def evidence(self) -> list[Evidence]:
        """Return the strings that steps used and that only results could have told the agent."""
        return evidence(self.run, self._frequency, self.texts)

    def uses_from(self, limit: int) -> dict[int, list[EvidenceUse]]:
        """Return, by step, what was used after a request with everything had reached `limit` tokens."""
        if limit not in self._uses:
            whole = [0, *accumulate(self.sizes)]
            first = next((number for number, step in enumerate(self.texts.steps) if whole[step.at] >= limit), None)
            found = [] if first is None else evidence_uses(self.run, self.texts, self._frequency or Frequency(), first)
            self._uses[limit] = {step: list(those) for step, those in groupby(found, lambda use: use.step)}
        return self._uses[limit]

    def shows(self, text: str, source: int, changed: ChangedTexts) -> bool:
        """Return whether a result shows a string together with the text that was around it originally."""
        if source not in changed:
            return True
        key = text, source
        if key not in self._near:
            self._near[key] = tuple(occurrences_in_context(text, self.texts.results[source]))
        return any(near in changed[source] for near in self._near[key])

    @property
    def steps(self) -> int:
        """Return the number of requests of the run."""
        return sum(message.role == "assistant" for message in self.run.messages)

    @property
    def tokens(self) -> int:
        """Return the tokens of the whole run."""
        return sum(self.sizes)


def _sources(messages: Sequence[Message], result_tokens: list[int], counter: Counter) -> list[TokenSources]:
    results = iter(result_tokens)
    return [sources_of(message, [next(results) for _ in message.returned], counter) for message in messages]


def _blocks(message: Message) -> int:
    """Return the number of content blocks: a text, each call, each result."""
    return max(1, bool(message.said) + len(message.calls) + len(message.returned))
