"""`python -m bench.peers.headroom`: time per call and planted facts kept, headroom's `compress()` and ours.

Fresh 100 KB of five kinds, one fact in each, a question that names it. headroom runs in its own environment (see
`README.md`) as its users call it, in a warm process, by default and lossless (`mode="agent"`). Ours is `present()` on
the same texts, the strategy chosen by Holdfast, once at as many characters as headroom's default shows or 8,000 if that
is more, and once at 8,000, our default. headroom never sees a text twice: its two modes get different ones.
"""

import argparse
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import cast

from bench import samples
from bench.samples import Sample
from bench.setup import plain_environment, say
from holdfast.truncation.configuration import TruncationConfiguration
from holdfast.truncation.cut import TextSource
from holdfast.truncation.present import Artifact, present, summarise
from holdfast.truncation.result import TruncationResult
from holdfast.truncation.strategy import STRATEGIES

_SIZE = 100_000
_LEAST = 8_000
_WARMING = 1
_TOOL = "fetch_url"
"""A tool that headroom does not exclude, and that has no defaults of its own with us."""
_WORKER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "headroom_worker.py")
_KINDS: Mapping[str, Callable[[int, int], Sample]] = {
    "JSON": samples.json_array,
    "log": samples.log,
    "CSV": samples.csv,
    "source": samples.source_code,
    "HTML": samples.html,
}
_MODES = ("default", "agent")
_HEADINGS = (
    *(
        "100 KB of",
        "who",
        "budget",
        "p50, wall (CPU)",
        "characters",
        "fact kept",
        "headroom beside it, wall (CPU)",
        "how",
    ),
)


@dataclass(frozen=True)
class Call:
    """One call of headroom's."""

    wall: float
    cpu: float
    shown: str


@dataclass(frozen=True)
class Ours:
    """One call of ours."""

    wall: float
    cpu: float
    result: TruncationResult


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.headroom", description="Compare with headroom-ai.")
    parser.add_argument("--python", default="/tmp/headroom-env/bin/python", help="the Python that has headroom-ai")
    parser.add_argument("--calls", type=int, default=7, help="calls per kind that count (default: 7)")
    args = parser.parse_args()
    texts = {(kind, mode): _fresh(kind, mode, args.calls) for kind in _KINDS for mode in _MODES}
    theirs = _headroom(args.python, texts)
    rows = [row for kind in _KINDS for row in _rows(kind, texts, theirs)]
    about = f"Calls per kind: {args.calls}, each with a text of its own; load average {os.getloadavg()[0]:.1f}."
    lines = [_HEADINGS, tuple("---" for _ in _HEADINGS), *rows]
    print(about + "\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines))


def _fresh(kind: str, mode: str, calls: int) -> list[Sample]:
    first = 100 if mode == "default" else 5_100
    return [_KINDS[kind](_SIZE, seed) for seed in range(first, first + calls + _WARMING)]


def _headroom(python: str, texts: Mapping[tuple[str, str], list[Sample]]) -> dict[tuple[str, str], list[Call]]:
    """What headroom makes of all texts, by kind and mode, without the calls that warm it."""
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
        call = Call(cast("float", one["wall"]), cast("float", one["cpu"]), cast("str", one["shown"]))
        calls.setdefault((cast("str", one["kind"]), cast("str", one["mode"])), []).append(call)
    return {key: made[_WARMING:] for key, made in calls.items()}


Texts = Mapping[tuple[str, str], list[Sample]]
Calls = Mapping[tuple[str, str], list[Call]]


def _rows(kind: str, texts: Texts, calls: Calls) -> list[tuple[str, ...]]:
    default, lossless = (calls[kind, mode] for mode in _MODES)
    given = texts[kind, "default"]
    most = int(median(len(call.shown) for call in default))
    rows = [
        _their_row(kind, "headroom", texts[kind, "default"], default),
        _their_row(kind, "headroom, lossless", texts[kind, "agent"], lossless),
    ]
    if most > _LEAST:
        rows.append(_our_row(kind, given, most, "as headroom", default))
    return [*rows, _our_row(kind, given, _LEAST, "ours" if most > _LEAST else "more than headroom's", default)]


def _their_row(kind: str, who: str, texts: list[Sample], calls: list[Call]) -> tuple[str, ...]:
    shown = [call.shown for call in calls]
    passed = sum(text.text == one for text, one in zip(texts[_WARMING:], shown, strict=True))
    how = f"{passed} of {len(shown)} passed on unchanged" if passed else ""
    return (kind, who, "none", _times(calls), _size(shown), _kept(texts, shown), "", how)


def _our_row(kind: str, texts: list[Sample], budget: int, which: str, theirs: list[Call]) -> tuple[str, ...]:
    ours = [_ours(sample, budget) for sample in texts][_WARMING:]
    shown = [call.result.content for call in ours]
    wall = median(call.wall for call in theirs) / median(call.wall for call in ours)
    cpu = median(call.cpu for call in theirs) / median(call.cpu for call in ours)
    how = ", ".join(f"`{name}`" for name in sorted({call.result.metadata.strategy_used for call in ours}))
    ratio = f"{wall:,.0f}× ({cpu:,.0f}×)"
    return (kind, "Holdfast", f"{budget:,}, {which}", _times(ours), _size(shown), _kept(texts, shown), ratio, how)


def _ours(sample: Sample, budget: int) -> Ours:
    """One view as a session makes it: the strategy chosen by content, the notice inside the budget."""
    limits = TruncationConfiguration(inline_limit=budget, artifact_threshold=10**9).for_tool(_TOOL)
    limits = limits.replace(options=limits.options.replace(question=sample.question))
    summary = summarise(_TOOL, None)
    wall, cpu = time.perf_counter(), time.thread_time()
    artifact = Artifact(artifact_id="art_0123456789abcdef", summary=summary, size=len(sample.text))
    result = present(TextSource(sample.text), artifact, limits, STRATEGIES)
    return Ours(time.perf_counter() - wall, time.thread_time() - cpu, result)


def _times(calls: list[Call] | list[Ours]) -> str:
    wall, cpu = (median(values) * 1e3 for values in ([one.wall for one in calls], [one.cpu for one in calls]))
    return f"{wall:.1f} ms ({cpu:.1f})"


def _size(shown: list[str]) -> str:
    return f"{int(median(map(len, shown))):,}"


def _kept(texts: list[Sample], shown: list[str]) -> str:
    """In how many of the texts the fact is still there; a quote may be escaped, a tag may be gone."""
    pairs = zip(texts[_WARMING:], shown, strict=True)
    kept = sum(sample.fact in text or _plain(sample.fact) in _plain(text) for sample, text in pairs)
    return f"{kept} of {len(shown)}"


def _plain(text: str) -> str:
    """The words alone, so that a fact that was only written differently counts as kept."""
    for tag in ("<td>", "</td>", "|", '"', "\\", "\n", "\t", " "):
        text = text.replace(tag, "")
    return text


if __name__ == "__main__":
    main()
