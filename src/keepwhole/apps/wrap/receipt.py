"""What a run came to, in a few lines: only what was recorded or billed, and nothing where nothing is known.

Owns: the words.
Must not know: where the figures come from.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain

from keepwhole.apps import steps as figures
from keepwhole.apps.steps import Cost, ProfileOf
from keepwhole.apps.wrap.meter import Tally
from keepwhole.exchange.request_log import LoggedRequest

_WIDTH = 9
_SAME = 0.005
"""Share of a cost below which a difference is none."""


def receipt(tally: Tally, profile_of: ProfileOf, command: str) -> list[str]:
    """The lines to print; at most twelve."""
    steps = list(chain.from_iterable(tally.steps.values()))
    if not steps and not tally.passed and not tally.trouble:
        return [
            "keepwhole: no request came through",
            f"  Either nothing was asked, or a setting of `{command}` counts more than the address it was given.",
        ]
    told = [*_sent(steps), *_kept(tally), *_cache(steps), *_cost(tally, profile_of), *_window(tally, profile_of)]
    lines = [f"  {name:<{_WIDTH}} {words}" for name, words in (*told, *_trouble(tally.trouble), *_look(tally))]
    passed = f", {tally.passed} of them not on record" if tally.passed else ""
    return [f"keepwhole: {_count(len(steps) + tally.passed, 'request')}{passed}", *lines]


def _sent(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    if not steps:
        return
    sent, whole = (sum(size) for size in zip(*map(figures.sizes, steps), strict=True))
    if not any(step.request.edited for step in steps):
        yield "sent", f"≈ {_tokens(sent)} tokens; nothing was changed"
        return
    yield "sent", f"≈ {_tokens(sent)} of {_tokens(whole)} tokens, {1 - sent / whole:.0%} left out".replace("%", " %")


def _kept(tally: Tally) -> Iterator[tuple[str, str]]:
    if tally.kept:
        back = f", read back {_times(tally.recalls)}" if tally.recalls else ", nothing was read back"
        yield "kept", f"{_count(tally.kept, 'result')} whole{back}"


def _cache(steps: Sequence[LoggedRequest]) -> Iterator[tuple[str, str]]:
    """What the cache served, beside what was predicted of the same requests."""
    answers = [(step.request, step.response) for step in steps if figures.billed(step) is not None and step.response]
    told = [(asked, answer) for asked, answer in answers if answer.cached is not None]
    if not told:
        return
    total = sum(figures.billed(step) or 0 for step in steps)
    served = sum(answer.cached or 0 for _, answer in told)
    words = f"{_tokens(served)} of {_tokens(total)} input tokens came from it"
    both = [(asked.predicted, answer.cached or 0) for asked, answer in told if asked.predicted is not None]
    if both:
        predicted, found = map(sum, zip(*both, strict=True))
        words += f"; {_tokens(predicted)} predicted" + (f" where {_tokens(found)} came" if found != served else "")
    yield "cache", words


def _cost(tally: Tally, profile_of: ProfileOf) -> Iterator[tuple[str, str]]:
    each = [cost for steps in tally.steps.values() if (cost := figures.cost_of(steps, profile_of)) is not None]
    cost = sum(each, Cost())
    if not each or not cost.whole:
        return
    saved = 1 - cost.paid / cost.whole
    share = f"{abs(saved):.0%} {'less' if saved >= 0 else 'more'} than".replace("%", " %")
    share = f"{share if abs(saved) >= _SAME else 'the same as'} with everything"
    if cost.dollars is None or cost.dollars_whole is None:
        yield "input", f"cost ≈ {share}"
    else:
        yield "input", f"cost ≈ ${cost.dollars:.2f}, with everything ≈ ${cost.dollars_whole:.2f}: {share}"


def _window(tally: Tally, profile_of: ProfileOf) -> Iterator[tuple[str, str]]:
    """When the longest conversation would have been compacted."""
    every = [branch for steps in tally.steps.values() for branch in figures.branches(steps)]
    longest = max(every, key=len) if every else ()
    whole = figures.first_full(longest, profile_of, whole=True)
    sent = figures.first_full(longest, profile_of, whole=False)
    if sent is not None:
        yield "window", f"90 % full at request {sent}" + (f", with everything at {whole}" if whole != sent else "")
    elif whole is not None:
        yield "window", f"never 90 % full; with everything at request {whole}"


def _trouble(trouble: Mapping[str, int]) -> Iterator[tuple[str, str]]:
    if trouble:
        most = [f"{what} ({_times(count)})" for what, count in Counter(trouble).most_common(4)]
        yield "trouble", "; ".join(most)


def _look(tally: Tally) -> Iterator[tuple[str, str]]:
    names = [name for name, steps in tally.steps.items() if steps]
    if names:
        first, *others = names
        yield "look", f"`keepwhole sessions show {first}`" + (f" and {len(others)} more" if others else "")


def _tokens(number: float) -> str:
    return f"{number:,.0f}" if number < 10_000 else f"{number / 1_000:,.0f}k"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
