"""`python -m bench.peers.headroom`: time per call and planted facts kept, by headroom's `compress()` and by Keepwhole.

New texts of 100 KB of ten kinds, one fact in each, a question that names it. headroom runs in its own environment (see
`README.md`) as its users call it, in a warm process, by default and lossless (`mode="agent"`). Keepwhole is `present()`
on the same texts with the strategy it chooses, once at as many characters as headroom's default shows or 8,000 if that
is more, and once at 8,000, the default. headroom never sees a text twice: its two modes get different ones.
`--markdown` prints the page `docs/reference/peers-truncation.md`.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import cast

from bench.peers import planted
from bench.support.setup import plain_environment, say
from bench.texts import planted_results
from bench.texts.planted_results import Sample
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact, present, summarize
from keepwhole.truncation.strategy import STRATEGIES

_SIZE = 100_000
_LEAST = 8_000
_WARMING = 1
_TOOL = "fetch_url"
"""A tool that headroom does not exclude, and that has no limits of its own in Keepwhole."""
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headroom_worker.py")
_KINDS: Mapping[str, Callable[[int, int], Sample]] = {
    "JSON": planted_results.json_array,
    "log": planted_results.log,
    "CSV": planted_results.csv,
    "source": planted_results.source_code,
    "HTML": planted_results.html,
    "log, fact on an INFO line": planted.info_log,
    "CSV, dates first": planted.dates_first,
    "CSV, dates last": planted.dates_last,
    "HTML on one line": planted.one_line_html,
    "Chinese": planted.chinese,
}
_MODES = ("default", "agent")
_WISH = 50
"""The factor by which Keepwhole should be faster."""
_HEADINGS = (
    "100 KB of",
    "headroom",
    "headroom, lossless",
    "Keepwhole, as many characters",
    "CPU, times less",
    "Keepwhole, 8,000 characters",
    "CPU, times less",
)
_PAGE = """<!-- Written by python -m bench.peers.headroom --markdown; bench/peers/README.md says how to set it up. -->

# Truncation compared with headroom

`python -m bench.peers.headroom --markdown` prints this page: `headroom-ai`
0.42.0 and Keepwhole on the same texts, fresh ones for every call. In each text one fact is a little after the
middle, and the question names it. A cell gives the CPU time of a call (median), the characters shown (median) and in
how many texts the fact was still there. headroom takes no budget: Keepwhole gets as many characters as headroom showed,
at least 8,000, and then 8,000. If headroom passes a text on uncut, it keeps every fact; so does Keepwhole if it may
show as much. If headroom shows a few hundred characters, Keepwhole shows more, which is an advantage. headroom also
counts tokens on every call, which Keepwhole only estimates. Chinese takes three bytes a character.

{about}

{table}

{lost}
"""


@dataclass(frozen=True)
class Call:
    """One call: CPU seconds, and the shown text."""

    cpu: float
    shown: str


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.headroom", description="Compare with headroom-ai.")
    parser.add_argument("--python", default="/tmp/headroom-env/bin/python", help="the Python that has headroom-ai")
    parser.add_argument("--calls", type=int, default=7, help="calls per kind that count (default: 7)")
    parser.add_argument("--markdown", action="store_true", help="print the whole page for the documentation")
    args = parser.parse_args()
    texts = {(kind, mode): _fresh(kind, mode, args.calls) for kind in _KINDS for mode in _MODES}
    theirs = _headroom(args.python, texts)
    rows = [_row(kind, texts, theirs) for kind in _KINDS]
    about = f"Calls per kind: {args.calls}; load average {os.getloadavg()[0]:.1f}."
    lines = [_HEADINGS, tuple("---" for _ in _HEADINGS), *(row.cells for row in rows)]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    lost = "\n".join(f"- {line}" for line in _weak_points(rows))
    page = _PAGE if args.markdown else "{about}\n\n{table}\n\n{lost}"
    print(page.format(about=about, table=table, lost=lost).rstrip("\n"))


def _fresh(kind: str, mode: str, calls: int) -> list[Sample]:
    first = 100 if mode == "default" else 5_100
    return [_KINDS[kind](_SIZE, seed) for seed in range(first, first + calls + _WARMING)]


def _headroom(python: str, texts: Mapping[tuple[str, str], list[Sample]]) -> dict[tuple[str, str], list[Call]]:
    """headroom's calls by kind and mode, without the warm-up calls."""
    payloads = [
        {"kind": kind, "mode": mode, "tool": _TOOL, "question": sample.question, "text": sample.text}
        for (kind, mode), found in texts.items()
        for sample in found
    ]
    with tempfile.TemporaryDirectory(prefix="headroom-") as folder:
        source, target = os.path.join(folder, "in.json"), os.path.join(folder, "out.json")
        with open(source, "w", encoding="utf-8") as file:
            json.dump(payloads, file)
        say(f"headroom: {len(payloads)} calls")
        command = (python, "-I", _WORKER, source, target, folder)
        done = subprocess.run(command, env=plain_environment(), capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"headroom failed; see bench/peers/README.md for its environment.\n{done.stderr[-2000:]}")
        with open(target, encoding="utf-8") as file:
            found = cast("list[dict[str, object]]", json.load(file))
    calls: dict[tuple[str, str], list[Call]] = {}
    for one in found:
        call = Call(cast("float", one["cpu"]), cast("str", one["shown"]))
        calls.setdefault((cast("str", one["kind"]), cast("str", one["mode"])), []).append(call)
    return {key: made[_WARMING:] for key, made in calls.items()}


Texts = Mapping[tuple[str, str], list[Sample]]
Calls = Mapping[tuple[str, str], list[Call]]


@dataclass(frozen=True)
class Measured:
    """The results of one side for the texts of one kind."""

    cpu: float
    chars: int
    kept: int
    calls: int

    def __str__(self) -> str:
        return f"{self.cpu * 1e3:.1f} ms, {self.chars:,}, {self.kept} of {self.calls}"


@dataclass(frozen=True)
class KindRow:
    """One kind of text: headroom by default and lossless, Keepwhole at headroom's size and at 8,000."""

    kind: str
    default: Measured
    lossless: Measured
    alike: Measured
    ours: Measured

    @property
    def least(self) -> float:
        """The factor by which Keepwhole takes less CPU, at the size where it is smaller."""
        return self.default.cpu / max(self.alike.cpu, self.ours.cpu)

    @property
    def cells(self) -> tuple[str, ...]:
        alike, ours = (f"{self.default.cpu / one.cpu:,.0f}×" for one in (self.alike, self.ours))
        return (self.kind, str(self.default), str(self.lossless), str(self.alike), alike, str(self.ours), ours)


def _row(kind: str, texts: Texts, calls: Calls) -> KindRow:
    default, lossless = (_measure(texts[kind, mode], calls[kind, mode]) for mode in _MODES)
    alike, ours = (_our_measure(texts[kind, "default"], budget) for budget in (max(default.chars, _LEAST), _LEAST))
    return KindRow(kind, default, lossless, alike, ours)


def _measure(texts: list[Sample], calls: list[Call]) -> Measured:
    pairs = zip(texts[_WARMING:], calls, strict=True)
    kept = sum(_plain(sample.fact) in _plain(call.shown) for sample, call in pairs)
    chars = int(median(len(call.shown) for call in calls))
    return Measured(median(call.cpu for call in calls), chars, kept, len(calls))


def _our_measure(texts: list[Sample], budget: int) -> Measured:
    return _measure(texts, [_ours(sample, budget) for sample in texts][_WARMING:])


def _weak_points(rows: list[KindRow]) -> Iterator[str]:
    """Sentences about Keepwhole's weak points."""
    for row in rows:
        for size, ours in (("as many characters", row.alike), ("8,000 characters", row.ours)):
            theirs = row.default.kept
            if ours.kept < theirs:
                yield f"**{row.kind}**: with {size} we keep {ours.kept} facts of {ours.calls}, headroom {theirs}."
    slow = [f"{row.kind} ({row.least:.0f}×)" for row in rows if row.least < _WISH]
    if slow:
        yield f"The goal of being {_WISH} times faster at either size is missed for: {'; '.join(slow)}."
    dearer = [row.kind for row in rows if row.lossless.kept > row.ours.kept]
    if dearer:
        yield f"headroom's lossless mode, which mostly cuts nothing, keeps facts that we lose in: {'; '.join(dearer)}."


def _ours(sample: Sample, budget: int) -> Call:
    """One view as a session makes it: strategy chosen by content, notice within the budget."""
    limits = TruncationConfiguration(inline_limit=budget, artifact_threshold=10**9).for_tool(_TOOL)
    limits = limits.replace(options=limits.options.replace(question=sample.question))
    summary = summarize(_TOOL, None)
    cpu = time.thread_time()
    artifact = Artifact(artifact_id="art_0123456789abcdef", summary=summary, size=len(sample.text))
    result = present(TextSource(sample.text), artifact, limits, STRATEGIES)
    return Call(time.thread_time() - cpu, result.content)


def _plain(text: str) -> str:
    """The words of a text, so that a fact in another notation counts as kept."""
    for tag in ("<td>", "</td>", "|", '"', "\\", "\n", "\t", " "):
        text = text.replace(tag, "")
    return text


if __name__ == "__main__":
    main()
