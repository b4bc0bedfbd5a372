"""What logs hold before any policy is tried: tokens by tool, and where each run lies.

Owns: the first pass over all files.
Must not know: policies. Runs are not held; what is kept of each fits on a line.
"""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from keepwhole.logs.duplicates import PrefixDigests, numbers_without_copies, prefix_digests
from keepwhole.logs.lines import Unread, file_size
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Length, Run, length_of
from keepwhole.models.tokens import estimate
from keepwhole.replay.run_facts import Measured


class Where(NamedTuple):
    """Where a run is found again."""

    path: Path
    ordinal: int
    """Its place among the runs of its file, from 0."""


class Logged(NamedTuple):
    """A run in the logs: what is kept of it after the first pass."""

    where: Where
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
    """Results of each tool, and their tokens."""
    model: str
    prefix_digests: PrefixDigests
    """By which copies are known."""


class Finished(NamedTuple):
    """A file was read to its end."""

    path: Path
    bytes: int


Found: TypeAlias = Logged | Finished | Unread


def survey(path: Path) -> Iterator[Found]:
    """All runs of a file, each looked at once."""
    ordinal = 0
    for found in read_runs(path):
        if isinstance(found, Run):
            yield logged(found, Where(path, ordinal))
            ordinal += 1
        else:
            yield found
    yield Finished(path, file_size(path))


def logged(run: Run, where: Where) -> Logged:
    """What is kept of one run."""
    measured = Measured(run, None, estimate)
    chars = run.chars
    return Logged(
        where,
        run.source,
        run.task,
        hashlib.sha256(f"{run.source}\n{run.id}".encode("utf-8", "surrogatepass")).hexdigest()[:16],
        chars,
        run.largest,
        length_of(chars),
        measured.steps,
        measured.tokens,
        _tools(measured),
        str(run.meta.get("model") or ""),
        prefix_digests(run),
    )


def _tools(measured: Measured) -> dict[str, tuple[int, int]]:
    """Results and their tokens by the tool that gave them."""
    names: dict[str, str] = {}
    found: dict[str, tuple[int, int]] = {}
    sizes = iter(measured.result_tokens)
    for message in measured.run.messages:
        names.update((call.call_id, call.tool) for call in message.calls)
        for returned in message.returned:
            tool = names.get(returned.call_id, "?")
            results, tokens = found.get(tool, (0, 0))
            found[tool] = results + 1, tokens + next(sizes)
    return found


class Totals:
    """Sums over all runs that were seen."""

    def __init__(self) -> None:
        self.runs = self.steps = self.tokens = self.result_tokens = self.chars = 0
        self.files = self.bytes = 0
        self.unread: list[dict[str, Any]] = []
        """What could not be read, and why."""
        self.results: Counter[str] = Counter()
        self.tools: Counter[str] = Counter()
        """Tokens of results by tool."""
        self.sources: Counter[str] = Counter()
        self.models: Counter[str] = Counter()
        """Tokens by model, where it is known."""

    def add(self, found: Found) -> None:
        """Count one run, or one file, or note what could not be read."""
        if isinstance(found, Finished):
            self.files += 1
            self.bytes += found.bytes
        elif isinstance(found, Unread):
            self.unread.append(
                {"path": str(found.path), "why": found.why, "count": found.count, "first_line": found.first_line}
            )
        else:
            self._add(found)

    def _add(self, found: Logged) -> None:
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
        """Of all tokens, those in tool results."""
        return self.result_tokens / self.tokens if self.tokens else 0.0


def without_copies(runs: Sequence[Logged]) -> list[Logged]:
    """The runs that are not the beginning of another one, those of one file together."""
    in_order = sorted(runs, key=lambda run: run.where)
    return [in_order[number] for number in numbers_without_copies([run.prefix_digests for run in in_order])]


def summed(found: Iterable[Found]) -> tuple[list[Logged], Totals]:
    """The runs without copies, and the sums over them."""
    found = list(found)
    runs = without_copies([one for one in found if isinstance(one, Logged)])
    totals = Totals()
    for one in (*runs, *(one for one in found if not isinstance(one, Logged))):
        totals.add(one)
    return runs, totals
