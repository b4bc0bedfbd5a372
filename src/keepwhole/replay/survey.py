"""The first pass over all logs, before any policy is tried: tokens by tool, and the location of each run.

Owns: what is kept of each run. Runs themselves are not kept in memory.
Must not know: policies.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from keepwhole.logs.duplicates import PrefixDigests, numbers_without_copies, prefix_digests
from keepwhole.logs.lines import UnreadPart, file_size
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Length, Run, length_of
from keepwhole.models.tokens import estimate
from keepwhole.replay.run_facts import RunFacts


class RunLocation(NamedTuple):
    """The file of a run, and its place in it."""

    path: Path
    ordinal: int
    """Its number among the runs of the file, from 0."""


class LoggedRun(NamedTuple):
    """What is kept of a run after the first pass."""

    location: RunLocation
    source: str
    task: str
    digest: str
    chars: int
    largest: int
    """Characters of its largest result."""
    length: Length
    steps: int
    tokens: int
    tools: dict[str, tuple[int, int]]
    """By tool the number of results, and their tokens."""
    model: str
    prefix_digests: PrefixDigests
    """By these copies are recognized."""


class FileDone(NamedTuple):
    """A file that was read to its end."""

    path: Path
    bytes: int


SurveyItem: TypeAlias = LoggedRun | FileDone | UnreadPart


def survey(path: Path) -> Iterator[SurveyItem]:
    """Read a file once; yield what is kept of its runs, what could not be read, and that the file is done."""
    ordinal = 0
    for found in read_runs(path):
        if isinstance(found, Run):
            yield logged_run(found, RunLocation(path, ordinal))
            ordinal += 1
        else:
            yield found
    yield FileDone(path, file_size(path))


def logged_run(run: Run, location: RunLocation) -> LoggedRun:
    """Return what is kept of one run."""
    facts = RunFacts(run, None, estimate)
    chars = run.chars
    return LoggedRun(
        location,
        run.source,
        run.task,
        hashlib.sha256(f"{run.source}\n{run.id}".encode("utf-8", "surrogatepass")).hexdigest()[:16],
        chars,
        run.largest,
        length_of(chars),
        facts.steps,
        facts.tokens,
        _tools(facts),
        str(run.meta.get("model") or ""),
        prefix_digests(run),
    )


def _tools(facts: RunFacts) -> dict[str, tuple[int, int]]:
    """Return, by tool, the number of results and their tokens."""
    names: dict[str, str] = {}
    found: dict[str, tuple[int, int]] = {}
    sizes = iter(facts.result_tokens)
    for message in facts.run.messages:
        names.update((call.call_id, call.tool) for call in message.calls)
        for returned in message.returned:
            tool = names.get(returned.call_id, "?")
            results, tokens = found.get(tool, (0, 0))
            found[tool] = results + 1, tokens + next(sizes)
    return found


class LogTotals:
    """Sums over all runs of the logs."""

    def __init__(self) -> None:
        self.runs = self.steps = self.tokens = self.result_tokens = self.chars = 0
        self.files = self.bytes = 0
        self.unread: list[dict[str, Any]] = []
        """What could not be read, with the reasons."""
        self.results: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        """Tokens of results by tool."""
        self.sources: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        """Tokens by model, for runs that name it."""

    def add(self, found: SurveyItem) -> None:
        """Add one run or one file to the sums, or note what could not be read."""
        if isinstance(found, FileDone):
            self.files += 1
            self.bytes += found.bytes
        elif isinstance(found, UnreadPart):
            self.unread.append(
                {"path": str(found.path), "why": found.why, "count": found.count, "first_line": found.first_line}
            )
        else:
            self._add_run(found)

    def _add_run(self, found: LoggedRun) -> None:
        self.runs += 1
        self.steps += found.steps
        self.tokens += found.tokens
        self.chars += found.chars
        self.sources[found.source] += 1
        if found.model:
            self.models[found.model] += found.tokens
        for tool, (results, tokens) in found.tools.items():
            self.results[tool] += results
            self.tools[tool] += tokens
            self.result_tokens += tokens

    @property
    def share(self) -> float:
        """Return the share of tool results in all tokens."""
        return self.result_tokens / self.tokens if self.tokens else 0.0


def without_copies(runs: Sequence[LoggedRun]) -> list[LoggedRun]:
    """Return the runs that are not the beginning of another one, those of one file together."""
    in_order = sorted(runs, key=lambda run: run.location)
    return [in_order[number] for number in numbers_without_copies([run.prefix_digests for run in in_order])]


def merge_survey(found: Iterable[SurveyItem]) -> tuple[list[LoggedRun], LogTotals]:
    """Return the runs without copies, and the sums over them."""
    found = list(found)
    runs = without_copies([one for one in found if isinstance(one, LoggedRun)])
    totals = LogTotals()
    for one in (*runs, *(one for one in found if not isinstance(one, LoggedRun))):
        totals.add(one)
    return runs, totals
