"""`python -m bench.shell_order [FOLDER]`: by which order shells should be cut, from real results of shell tools.

Compares three orders of choice for results over the limit, for failing and for passing commands:

    tail              always the end
    job first         data by structure, else the end (the shell's job)
    appearance first  data by structure, else by what the text looks like, else the end

A command failed where `policies.failures` says so of its result. A line that is an error is one that the same module
takes for one by itself, wherever it is. Counted are results in which the quoted error line is shown, those in which
every one of the error lines is (of more than twenty the first and last ten), and those that show the last five lines.
The texts are private: only counts are printed.
"""

import argparse
import gzip
import json
import os
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from keepwhole.policies.failures import error_line
from keepwhole.truncation.configuration import SHELL, Limits, TruncationConfiguration, job_of
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact, present
from keepwhole.truncation.strategy import STRATEGIES

_ARTIFACT = Artifact(artifact_id="art_1700000000_" + "0" * 22, summary="Bash", size=1)
_LAST, _MOST_ERRORS = 5, 20
_LIMITS = (5_000, 8_000)
"""Of the policy `truncation`, and of `auto`."""
_FIGURES = ("results", "quoted line", "all error lines", "share of error lines", "last lines")


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", default=os.environ.get("KEEPWHOLE_CORPUS"))
    folder = parser.parse_args().folder
    if not folder:
        print("Name the folder with transcripts, or set KEEPWHOLE_CORPUS.", file=sys.stderr)
        return 2
    counts: dict[tuple[int, str, str], dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for text in _shell_results(Path(folder)):
        for limit in _LIMITS:
            if len(text) > limit:
                _count(counts, text, limit)
    print(f"| limit | commands | order | {' | '.join(_FIGURES)} |")
    print("|---|---|---|" + "---:|" * len(_FIGURES))
    for (limit, ended, order), found in sorted(counts.items()):
        total = found["results"]
        told = _FIGURES[1:] if ended == "failing" else _FIGURES[-1:]
        shares = (f"{100 * found[name] / total:.1f} %" if name in told else "" for name in _FIGURES[1:])
        print(f"| {limit:,} | {ended} | {order} | {total:,.0f} | {' | '.join(shares)} |")
    return 0


def _shell_results(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            for line in lines:
                for message in json.loads(line)["messages"]:
                    if message["role"] == "tool" and job_of(message.get("name") or "") is SHELL:
                        yield message["content"]


def _count(counts: dict[tuple[int, str, str], dict[str, float]], text: str, limit: int) -> None:
    quoted = error_line(text)
    lines = text.splitlines()
    errors = [line for line in lines if line.strip() and error_line(line) is not None] if quoted else []
    if len(errors) > _MOST_ERRORS:
        errors = errors[: _MOST_ERRORS // 2] + errors[-_MOST_ERRORS // 2 :]
    last = [line for line in lines if line.strip()][-_LAST:]
    for order, limits in _orders(limit).items():
        body = present(TextSource(text), _ARTIFACT, limits, STRATEGIES).body
        shown = set(body.splitlines())
        found = counts[limit, "failing" if quoted else "passing", order]
        kept = [line in shown or line[:200] in body for line in errors]
        found["results"] += 1
        found["quoted line"] += quoted is not None and quoted in body
        found["all error lines"] += bool(kept) and all(kept)
        found["share of error lines"] += sum(kept) / len(kept) if kept else 0
        found["last lines"] += all(line in shown or line[:200] in body for line in last)


def _orders(limit: int) -> dict[str, Limits]:
    shell = TruncationConfiguration(inline_limit=limit, artifact_threshold=10**9).for_tool("Bash")
    return {
        "tail": shell.replace(strategy="tail", chosen_by_user=True),
        "job first": shell.replace(strategy="tail", firm=True),
        "appearance first": shell.replace(strategy="tail", firm=False),
    }


if __name__ == "__main__":
    sys.exit(main())
