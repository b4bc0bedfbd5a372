"""How one new result is shown by itself: the same for `keep`, views, hooks, adapters and the proxy.

Theory of operation. A policy has one arrival rule. It is asked in two ways, and gives the same answer:

    policy.show(arriving)             one result as it comes in (`keep`, hooks, the gateway, the command line)
    policy.arrive(transcript, new)    the new results of a conversation (views, the proxy, adapters)

`arrive` may then do more, because it sees the other results: replace a repeat by a pointer, cut a step that is too
large as a whole. Which limit applies to a result, first match first:

    1. the override of its tool, or an `inline_limit` that the user gave    (`tools.truncation`)
    2. what it is worth by its names and numbers, not for reads and reports (policy `auto`: `auto.worth`)
    3. the limit of its tool, or the one for all tools                     (policy `truncation`)

Example. `bash` prints 20,000 characters of plain words under the default settings. Its kind is `shell`, of which at
least 8,000 are shown, and there is nothing in it that is worth more: both `keep` and `view` show the same 8,000
characters, notices included, cut by the same strategy. With `overrides: {bash: {inline_limit: 1000}}` both show 1,000.

Invariants: the same result under the same settings and the same question is shown the same; text that imitates a
notice is marked as quoted, also where nothing is cut. The question is the caller's, else what the call itself asks:
never the conversation's, since `keep` does not know it (decision 23 has the measurement).

Owns: these rules. Must not know: other results, how decisions are recorded.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias, cast

from keepwhole.canonical.utf8 import showable
from keepwhole.models.tokens import estimate
from keepwhole.policies.atoms import atom_shapes
from keepwhole.policies.kinds import Kind, kind_of
from keepwhole.policies.settings import AutoSettings
from keepwhole.truncation.configuration import SMALLEST_INLINE_LIMIT, Limits, TruncationConfiguration
from keepwhole.truncation.cut import Source
from keepwhole.truncation.notice import imitates
from keepwhole.truncation.present import Artifact, present, show_whole, summarize
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.strategy import STRATEGIES, ITruncationStrategy

if TYPE_CHECKING:  # to show one result takes no conversation, and a hook does nothing else
    from keepwhole.policies.policy import Choice, Policy
    from keepwhole.policies.transcript import Item

Strategies: TypeAlias = Mapping[str, ITruncationStrategy]
"""Strategies by their names."""
BUILT_IN: Strategies = STRATEGIES
RULE = "arrival"
_WORTH = 21_000
"""The weight of need, over the price of sending a character once and carrying it for some turns: found by replay."""
_COUNTED = 100_000
_NEW = 0.7
"""Characters of a text whose names are counted, and the power by which their number grows with longer texts."""
_ONE_WORD = re.compile(r"[\w.:@#-]+")
_LONGEST_NAME = 60
_QUESTION_KEYS = ("question", "query", "prompt")
_PATTERN_KEYS = ("pattern", "regex", "regexp", "search_term")
"""Arguments of a call that say what it asks, and what it searches for."""

Cap = Callable[["Arriving", Limits], int]
"""Most characters of a result under a policy; the limits are those of its tool."""
AdjustLimits = Callable[[Limits, Source], Limits]
"""Narrows the limits of one result, where the caller has limits of its own."""


class Arriving(NamedTuple):
    """One result as it arrives."""

    source: Source
    tool: str
    arguments: str
    artifact: Artifact
    """What a notice says of it."""
    question: str | None = None
    """What it is needed for, if the caller says so."""
    is_error: bool = False
    adjust: AdjustLimits | None = None
    kind: Kind | None = None
    """The kind of work it comes from, if that is known already."""


class ShowsArrivals(Protocol):
    """A policy that says how one new result is shown by itself."""

    def show(self, arriving: Arriving) -> TruncationResult:
        """Return how one new result is shown."""
        ...


class ArrivalRule:
    """Shows a result whole where it fits its limit, else cut."""

    def __init__(
        self,
        configuration: TruncationConfiguration | None = None,
        strategies: Strategies = BUILT_IN,
        cap: Cap | None = None,
    ) -> None:
        """`cap` is the policy's own limit for a result; without one the limits of its tool apply."""
        self.configuration = configuration or TruncationConfiguration()
        self.strategies = strategies
        self._cap = cap
        self._limits_of = lru_cache(maxsize=256)(self.configuration.for_tool)

    def limits(self, arriving: Arriving) -> Limits:
        """Return the limits that apply to a result."""
        limits = self._limits_of(arriving.tool)
        if self._cap is not None:
            is_given = self.is_given(arriving.tool)
            cap = limits.inline_limit if is_given else self._cap(arriving, limits)
            limits = self._capped(limits, arriving.tool, cap, arriving.source.chars)
        return limits if arriving.adjust is None else arriving.adjust(limits, arriving.source)

    def is_given(self, tool: str) -> bool:
        """Return whether the user gave a limit, for this tool or for all."""
        own = self.configuration.overrides.get(tool)
        return self.configuration.is_given("inline_limit") or (own is not None and own.inline_limit is not None)

    def _capped(self, limits: Limits, tool: str, cap: int, chars: int) -> Limits:
        """Return the limits under a cap; where the user gave a threshold for previews, it applies too."""
        own = self.configuration.overrides.get(tool)
        capped = with_cap(limits, cap, chars)
        if self.configuration.is_given("artifact_threshold") or (
            own is not None and own.artifact_threshold is not None
        ):
            return capped.replace(artifact_threshold=limits.artifact_threshold)
        return capped

    def show(self, arriving: Arriving) -> TruncationResult:
        """Return how a result is shown."""
        return show_within(self.limits(arriving), arriving, self.strategies)

    def choose(
        self, item: "Item", question: str | None = None, *, rule: str = RULE, most: int | None = None
    ) -> "Choice | None":
        """Return the choice to show at most `most` characters of a new result of a conversation; None where it
        is shown as it arrived."""
        if item.name is None or item.pinned or item.media is not None:
            return None
        if most is None and len(item.text) <= SMALLEST_INLINE_LIMIT and not item.imitates:
            return None  # no limit is smaller
        with item.opened() as source:
            arriving = as_arriving(item, source, question)
            limits = self.limits(arriving) if most is None else with_cap(self._tool_limits(item), most, source.chars)
            return choice_within(limits, item, arriving, rule, self.strategies)

    def _tool_limits(self, item: "Item") -> Limits:
        return self._limits_of(item.call.tool if item.call else "")


def show_within(limits: Limits, arriving: Arriving, strategies: Strategies = BUILT_IN) -> TruncationResult:
    """Return how a result is shown within `limits`."""
    source = arriving.source
    if source.chars <= limits.inline_limit and arriving.artifact.is_text:
        text = source.text(0, source.chars)
        if limits.trusted or not imitates(text):
            return show_whole(source, showable(text), arriving.artifact.size)
    else:
        asked, pattern = (named_in(arriving.arguments, keys) for keys in (_QUESTION_KEYS, _PATTERN_KEYS))
        question = asked if arriving.question is None else arriving.question
        names = names_in(arriving.arguments)
        limits = limits.replace(options=limits.options.replace(question=question, pattern=pattern, names=names))
    return present(source, arriving.artifact, limits, strategies)


def choice_within(
    limits: Limits,
    item: "Item",
    arriving: Arriving,
    rule: str,
    strategies: Strategies = BUILT_IN,
) -> "Choice | None":
    """Return the choice to show a result within `limits`; None where it is shown as it arrived."""
    if len(item.text) <= limits.inline_limit and not item.imitates:
        return None
    shown = show_within(limits, arriving, strategies)
    is_cut = shown.metadata.was_truncated
    is_quoted = shown.cut is not None and not is_cut and len(shown.cut.pieces) > 1
    if shown.cut is None or not (is_quoted or (is_cut and len(shown.content) < len(item.text))):
        return None
    from keepwhole.policies.policy import Choice

    return Choice(item.number, rule, shown.cut, estimate(shown.content), shown.metadata.strategy_used)


def as_arriving(item: "Item", source: Source, question: str | None = None) -> Arriving:
    """Return a result of a conversation as it arrives; `source` is the whole of it, opened."""
    assert item.name is not None, "a result is named before it is cut"
    call = item.call
    tool, arguments = (call.tool, call.arguments) if call else ("tool", None)
    artifact = Artifact(
        artifact_id=item.name.artifact_id,
        summary=summarize(tool, arguments),
        size=item.size,
        reachable=item.name.reachable,
    )
    own = call.tool if call else ""
    return Arriving(source, own, arguments or "", artifact, question, item.is_error, None, item.kind)


def show_arriving(policy: "Policy | ShowsArrivals", arriving: Arriving) -> TruncationResult:
    """Return how a policy shows one new result by itself; without a rule of its own, within its tool's limits."""
    shows: ShowsArrivals = cast("ShowsArrivals", policy) if hasattr(policy, "show") else ArrivalRule()
    return shows.show(arriving)


def whole_cap(arriving: Arriving, limits: Limits) -> int:
    """Return the cap of policies that show new results whole."""
    return arriving.source.chars


def choices_to_mark(new: "Iterable[Item]") -> "list[Choice]":
    """Return the choices of policies that show new results whole: those with text that imitates a notice are marked."""
    found = (SHOWS_WHOLE.choose(item) for item in new)
    return [choice for choice in found if choice is not None]


def cap_by_worth(settings: AutoSettings, arriving: Arriving, limits: Limits) -> int:
    """Return the cap of the policy `auto`: most characters of a result on arrival.

    The first part of a text tells most and each further part less, since need grows about with the root of what a
    result has to tell (`need.py`), while each further character costs the same. So a text is cut where one more would
    cost more than it is worth: an overview of an interface is shown at length, a build log of the same size is not.
    Only the root of `worth` counts: what is cut on arrival was never read, so a cheaper preset saves more by aging.
    """
    source, kind = arriving.source, arriving.kind or kind_of(arriving.tool, arriving.arguments)
    least = settings.arrival_least.get(kind, settings.outsized)
    if source.chars <= least or least >= settings.outsized:
        return min(least, settings.outsized)
    most = int(_WORTH * settings.worth**0.5 * shapes_within(source) / source.chars)
    return max(least, min(settings.outsized, source.chars, most))


def auto_rule(
    settings: AutoSettings, configuration: TruncationConfiguration | None = None, strategies: Strategies = BUILT_IN
) -> ArrivalRule:
    """Return how the policy `auto` shows one new result."""
    return ArrivalRule(configuration, strategies, partial(cap_by_worth, settings))


def shapes_within(source: Source) -> float:
    """Return the number of different names in a text, about; of a long one from its beginning.

    Names that differ only in digits are one: every line of a log has its own time, every test its own number.
    """
    chars = min(source.chars, _COUNTED)
    return len(atom_shapes(source.text(0, chars))) * (source.chars / chars) ** _NEW if chars else 0.0


def with_cap(limits: Limits, cap: int, chars: int) -> Limits:
    """Return the limits of a tool with another cap, under which no result is so long that only a preview is shown."""
    if chars <= min(cap, limits.inline_limit):  # whole under both
        return limits
    return limits.replace(inline_limit=max(SMALLEST_INLINE_LIMIT, cap), artifact_threshold=max(chars, cap))


def named_in(arguments: str, keys: Sequence[str]) -> str:
    """Return the first of these arguments of a call that is a text; empty where it has none of them."""
    found = (_fields_of(arguments).get(key) for key in keys)
    return next((text for text in found if isinstance(text, str)), "")


def names_in(arguments: str) -> str:
    """Return the arguments of a call that are one word, one on each line; paths and addresses are not among them, since
    a text seldom tells of its own.

    >>> names_in('{"name": "report-3", "path": "src/a.py", "command": "make test", "ticket": "none"}')
    'report-3\\nnone'
    """
    texts = (value for value in _fields_of(arguments).values() if isinstance(value, str))
    return "\n".join(text for text in texts if 2 < len(text) <= _LONGEST_NAME and _ONE_WORD.fullmatch(text))


def _fields_of(arguments: str) -> dict[str, object]:
    try:
        named: object = json.loads(arguments) if arguments else None
    except (ValueError, RecursionError):
        return {}
    return cast("dict[str, object]", named) if isinstance(named, dict) else {}


SHOWS_WHOLE = ArrivalRule(cap=whole_cap)
"""Shows every new result whole."""
