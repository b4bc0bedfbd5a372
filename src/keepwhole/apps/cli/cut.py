"""`keepwhole cut FILE`: what a model would see of it, what is left out, and why. Nothing is stored.

It is shown as any other result that arrives (`policies.arrival`), under the limits of the policy `truncation`.
"""

import argparse
import sys
import time
from collections.abc import Mapping
from typing import Any

from keepwhole import config
from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import add_config, add_json
from keepwhole.canonical.body import measure
from keepwhole.canonical.media import media_type
from keepwhole.canonical.utf8 import decode
from keepwhole.errors import ConfigError, UsageError
from keepwhole.policies.arrival import Arriving, show_within
from keepwhole.truncation.configuration import Limits
from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.present import Artifact, reason
from keepwhole.truncation.result import TruncationResult
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.strategy import STRATEGIES, strategy_named

_EXAMPLE = "art_1700000000_" + "0" * 22


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    parser.add_argument("file", metavar="FILE", help="the text; - for standard input")
    add_config(parser)
    parser.add_argument("--tool", default="tool", help="name of the tool that returned it")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--strategy", help="use this strategy, whatever the text looks like")
    how.add_argument("--compare", action="store_true", help="compare all strategies")
    parser.add_argument("--question", default="", help="the question that the text should answer")
    parser.add_argument("--limit", type=int, metavar="N", help="maximum number of characters to show")
    add_json(parser)
    parser.set_defaults(act=cut)


def cut(args: argparse.Namespace) -> int:
    """Show the view of a file."""
    text, artifact = _read(args.file)
    limits = _limits(args)
    if args.compare:
        return _compare(args, text, artifact, limits)
    source = TextSource(text)
    shown = show_within(limits, Arriving(source, args.tool, "", artifact, args.question))
    report = _report(shown, source, limits)
    if args.json:
        screen.print_json({"content": shown.content, **report})
        return 0
    screen.show(shown.content)
    screen.warn("")
    for name, value in _in_words(report).items():
        screen.warn(f"{name:>12}  {value}")
    return 0


def _read(path: str) -> tuple[str, Artifact]:
    try:
        data = sys.stdin.buffer.read() if path == "-" else _file_bytes(path)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be read ({error.strerror}). Check the path.") from error
    facts = measure(data)
    artifact = Artifact(
        artifact_id=_EXAMPLE, summary=path, size=facts.size, media_type=media_type(data), digest=facts.digest
    )
    return decode(data, facts.encoding), artifact


def _file_bytes(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _limits(args: argparse.Namespace) -> Limits:
    """The limits of the tool, overridden by the command line."""
    limits = config.load(args.config).truncation.for_tool(args.tool)
    if args.strategy:
        strategy_named(args.strategy)
        limits = limits.replace(strategy=args.strategy, chosen_by_user=True)
    if args.limit is not None:
        if args.limit < 256:
            raise ConfigError(f"`--limit` is {args.limit}; give a whole number of at least 256.")
        limits = limits.replace(inline_limit=args.limit)
    return limits


def _report(shown: TruncationResult, source: TextSource, limits: Limits) -> dict[str, Any]:
    about = shown.metadata
    gaps = shown.cut.gaps if shown.cut else []
    return {
        "kind": "binary" if about.strategy_used == "binary" else sniff(source),
        "strategy": about.strategy_used,
        "because": _because(shown, source, limits),
        "chars": about.original_size,
        "lines": source.lines,
        "tokens": about.original_tokens,
        "shown_chars": about.truncated_size,
        "shown_tokens": about.truncated_tokens,
        "left_out_chars": sum(gap.stop - gap.start for gap in gaps),
        "gaps": len(gaps),
    }


def _in_words(report: Mapping[str, Any]) -> dict[str, str]:
    """The report as people read it."""
    chars, lines, tokens, shown, shown_tokens, left_out, gaps = (
        screen.plural(report[name], word)
        for name, word in (
            *(("chars", "character"), ("lines", "line"), ("tokens", "token")),
            *(("shown_chars", "character"), ("shown_tokens", "token")),
            *(("left_out_chars", "character"), ("gaps", "place")),
        )
    )
    return {
        **{name: report[name] for name in ("kind", "strategy", "because")},
        "original": f"{chars}, {lines}, ≈ {tokens}",
        "shown": f"{shown}, ≈ {shown_tokens}",
        "left out": f"{left_out} in {gaps}",
    }


def _because(shown: TruncationResult, source: TextSource, limits: Limits) -> str:
    if not shown.metadata.was_truncated:
        return "it fits"
    return "it is not text" if shown.metadata.strategy_used == "binary" else reason(source, limits)


def _compare(args: argparse.Namespace, text: str, artifact: Artifact, limits: Limits) -> int:
    rows: list[tuple[object, ...]] = []
    for name in STRATEGIES:
        source = TextSource(text)
        began = time.perf_counter()
        arriving = Arriving(source, args.tool, "", artifact, args.question)
        shown = show_within(limits.replace(strategy=name, chosen_by_user=True), arriving)
        took = (time.perf_counter() - began) * 1000
        kept = sum(part.stop - part.start for part in shown.cut.kept) if shown.cut else 0
        gaps = len(shown.cut.gaps) if shown.cut else 0
        used = shown.metadata.strategy_used
        rows.append((name, used, len(shown.content), kept, gaps, round(took, 1), _second_line(shown)))
    if args.json:
        names = ("asked_for", "strategy", "shown_chars", "kept_chars", "gaps", "ms", "after_first_gap")
        screen.print_json([dict(zip(names, row, strict=True)) for row in rows])
    else:
        headers = ("Asked for", "Used", "Shown", "Kept", "Gaps", "ms", "After the first gap")
        screen.print_table(headers, rows, right=(2, 3, 4, 5))
    return 0


def _second_line(shown: TruncationResult) -> str:
    """The first line that is shown after something was left out."""
    after = shown.body.partition("omitted")[2].partition("\n")[2]
    return screen.line(after.strip().partition("\n")[0], 60)
