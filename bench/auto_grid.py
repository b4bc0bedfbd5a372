"""`python -m bench.auto_grid PATH…`: compares settings of `auto`, one changed at a time, on recorded runs.

Takes the options of `python -m bench.frontier`, and `--only GROUP` for one group beside the settings in use.

Each row changes one thing against `careful`; two groups change how `auto` works. Prints Markdown, by source and in all.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bench.frontier import parser, read_job
from keepwhole.models.tokens import estimate
from keepwhole.policies.arguments import OldArguments
from keepwhole.policies.arrival import as_arriving, with_cap
from keepwhole.policies.auto import Auto
from keepwhole.policies.policy import Choice, Choices
from keepwhole.policies.settings import CAREFUL, LEAN, AutoSettings
from keepwhole.policies.transcript import Item, Transcript
from keepwhole.recall.names import OFFERED_TOKENS
from keepwhole.replay.contenders import Contender, contender_named, same_policy
from keepwhole.replay.runner import replay_all
from keepwhole.replay.summary import ComparedRun, PolicySummary, summarize, summarize_by_source
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import present
from keepwhole.truncation.strategy import STRATEGIES

_KINDS = ("shell", "search", "other", "read", "report")
_CAPPED = ("shell", "search", "other")


def _caps(chars: int, **more: int) -> dict[str, int]:
    return {**dict.fromkeys(_CAPPED, chars), **more}


GRID: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "What evidence is worth, tokens": {f"{n:,}": {"worth": n} for n in (2_000, 5_000, 10_000, 18_000, 30_000)},
    "How long a run is expected to go on": {str(n): {"horizon": n} for n in (0.05, 0.1, 0.2, 0.3, 0.5)},
    "Least that is shown on arrival of shells, searches and others": {
        **{f"{n:,}": {"arrival_least": _caps(n)} for n in (2_000, 4_000, 12_000, 16_000, 32_000)},
        "all": {"arrival_least": {}},
        "8,000, reads 16,000": {"arrival_least": _caps(8_000, read=16_000)},
        "8,000, reports 8,000": {"arrival_least": _caps(8_000, report=8_000)},
    },
    "Smallest result that ages, tokens": {str(n): {"min_tokens": n} for n in (50, 200, 500, 1_000)},
    "Newest of each kind that stay": {str(n): {"keep": dict.fromkeys(_KINDS, n)} for n in (3, 5, 10)},
    "Recent steps whose sources stay": {str(n): {"recent_steps": n} for n in (0, 3, 10)},
    "Nothing ages below, tokens": {f"{n:,}": {"start": n} for n in (1, 50_000, 100_000)},
    "Least that a batch frees, tokens": {f"{n:,}": {"clear_at_least": n} for n in (1_000, 20_000, 40_000)},
    "Only what differs from an earlier result of the same call": {"on": {"near_repeats": True}},
    "Everything may age above, tokens": {f"{n:,}": {"most": n} for n in (80_000, 100_000, 150_000)},
}
"""What was tried: a group per setting, a row per value."""


class NamedAuto(Auto):
    """`auto` under another name."""

    def __init__(self, name: str, settings: AutoSettings) -> None:
        super().__init__(settings)
        self.name = name


class LeaveCut(NamedAuto):
    """Leaves a cut of an aged result behind, chosen by the task, or by the agent's reaction to it."""

    def __init__(self, name: str, settings: AutoSettings, kinds: Sequence[str], chars: int, by: str) -> None:
        super().__init__(name, settings)
        self._kinds, self._chars, self._by = kinds, chars, by

    def _choices(
        self, transcript: Transcript, decided: Choices, items: Sequence[Item], arguments: OldArguments | None
    ) -> list[Choice]:
        choices = super()._choices(transcript, decided, items, arguments)
        return [self._leave_cut(transcript, transcript.items[choice.number], choice) for choice in choices]

    def _leave_cut(self, transcript: Transcript, item: Item, choice: Choice) -> Choice:
        if item.kind not in self._kinds or len(item.text) < 2 * self._chars:
            return choice
        limits = TruncationConfiguration().for_tool(item.call.tool if item.call else "")
        asked = _task(transcript, item) if self._by == "task" else _reaction(transcript, item)
        limits = with_cap(limits, self._chars, len(item.text))
        limits = limits.replace(options=limits.options.replace(question=asked))
        source = TextSource(item.text)
        shown = present(source, as_arriving(item, source).artifact, limits, STRATEGIES)
        if shown.cut is None:
            return choice
        return Choice(item.number, "aged", shown.cut, estimate(shown.content), shown.metadata.strategy_used)


def _task(transcript: Transcript, item: Item) -> str:
    """The user's last words before a result."""
    said = (message.said for message in reversed(transcript.messages[: item.index]) if message.role == "user")
    return next((words[-400:] for words in said if words), "")


def _reaction(transcript: Transcript, item: Item) -> str:
    """What the agent said and did right after a result."""
    after = transcript.messages[item.index + 1 : item.index + 4]
    said = [message.said for message in after if message.role == "assistant"]
    return " ".join((*said, *(call.arguments for message in after for call in message.calls)))[:2_000]


def _rows() -> Iterator[tuple[str, Contender]]:
    yield "In use", _contender("careful", CAREFUL)
    yield "In use", _contender("lean", LEAN)
    for name in ("clear_tool_uses", "clear_tool_uses_70k", "langchain", "opencode", "clairvoyant"):
        yield "Others", contender_named(name)
    for group, values in GRID.items():
        for value, changes in values.items():
            yield group, _contender(value, CAREFUL.replace(**changes))
    for kinds, many in (("shell", ("shell", "search")), ("reads", ("read",)), ("all", _KINDS)):
        for by in ("task", "reaction"):
            for chars in (1_000, 3_000):
                yield (
                    "Left behind, by units",
                    _leaving_contender(f"{chars:,} characters of {kinds} by the {by}", many, chars, by),
                )


def _contender(name: str, settings: AutoSettings) -> Contender:
    return Contender(name, same_policy(lambda: NamedAuto(name, settings)), tools=OFFERED_TOKENS)


def _leaving_contender(name: str, kinds: Sequence[str], chars: int, by: str) -> Contender:
    return Contender(name, same_policy(lambda: LeaveCut(name, CAREFUL, kinds, chars, by)), tools=OFFERED_TOKENS)


def main() -> None:
    """Replay the grid and print it."""
    options = parser()
    options.add_argument("--only", metavar="GROUP", help="the beginning of a group's name")
    args = options.parse_args()
    job, rows = read_job(args), list(_rows())
    if args.only:
        rows = [row for row in rows if row[0] == "In use" or row[0].startswith(args.only)]
    found: list[list[ComparedRun]] = []
    for pairs in replay_all(job, [one for _, one in rows], args.jobs):
        found += [pairs[1:]] if pairs else []
        print(f"{len(found)} runs", file=sys.stderr)
    _print(rows, [list(pairs) for pairs in zip(*found, strict=True)])


def _print(rows: Sequence[tuple[str, Contender]], by_row: Sequence[list[ComparedRun]]) -> None:
    sources = sorted({pair.outcome.source for pair in by_row[0]})
    print(f"{len(by_row[0])} runs. Evidence kept in context @ all-in cost; `dearest` is the dearest run.\n")
    print(f"| what | value | all | {' | '.join(sources)} | $ .05 | $ .02 | $ tail | dearest | over 128k |")
    print(f"|{'---|' * (8 + len(sources))}")
    before = ""
    for (group, one), pairs in zip(rows, by_row, strict=True):
        row, split = summarize(pairs), summarize_by_source(pairs)
        cells = [_point(row), *(_point(split[source]) for source in sources)]
        price = (f"{row.cost.by_price['.05']:.3f}", f"{row.cost.by_price['.02']:.3f}", f"{row.cost.tail:.3f}")
        over = sum(pair.outcome.peak > 128_000 for pair in pairs)
        cells += [*price, f"{row.cost.highest:.3f}", str(over)]
        print(f"| {'' if group == before else group} | {one.name} | {' | '.join(cells)} |", flush=True)
        before = group


def _point(row: PolicySummary) -> str:
    return f"{row.evidence.in_context.value:.3f} @ {row.cost.all_in_context.value:.3f}"


if __name__ == "__main__":
    main()
