"""`keepwhole search` and `artifacts search`: kept results by relevance to a question, or by the words in them.

Both take the same options; they differ in the default of `--by`.
"""

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Literal, TypeAlias

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_count, add_options
from keepwhole.apps.search_progress import Looked, index_all
from keepwhole.errors import UsageError
from keepwhole.recall.selection import SelectedUnit, Selection
from keepwhole.store.protocol import Match, Passages, result_of
from keepwhole.truncation.notice import size_text

By: TypeAlias = Literal["relevance", "words"]
_NOTHING = 1
_LIMIT, _BUDGET = 20, 2_000
_OF = {"limit": "words", "budget": "relevance", "task": "relevance", "query_id": "relevance"}
"""The options that only one way of searching has."""
_HEADINGS = ("ID", "Tool", "Line", "Text")
_SOON, _FIRST, _REPORTED = 0.1, 0.3, 0.2
"""Seconds of indexing before anything is read instead; of reading for the first lines; between reports of progress."""
_AROUND = 10
"""Lines before and after one that are read around it."""
_CALLS = 10
"""Most calls that are shown where no result has the words."""


def add(parser: argparse.ArgumentParser) -> None:
    """Describe the command's options."""
    add_options(parser)
    add_search(parser, "relevance")


def add_search(parser: argparse.ArgumentParser, by: By) -> None:
    """Describe the options of one of the two names."""
    parser.add_argument(
        "query", metavar="QUERY", nargs="+", help="a question, names, numbers, paths, beginnings of words"
    )
    parser.add_argument(
        "--by",
        choices=("relevance", "words"),
        default=by,
        help=f"passages that answer a question, or lines that have all the words (default: {by})",
    )
    add_count(parser, "--limit", f"by words: at most N lines (default: {_LIMIT})")
    add_count(parser, "--budget", f"by relevance: at most N tokens (default: {_BUDGET})")
    parser.add_argument("--task", metavar="ID", help="by relevance: only what was kept under this task")
    parser.add_argument("--query-id", metavar="ID", help="by relevance: only what was kept under this query")
    parser.set_defaults(act=search)


def search(args: argparse.Namespace) -> int:
    """Print what was found; exit code 1 where nothing was."""
    if not any(word.strip() for word in args.query):
        raise UsageError('Say what to search for: `keepwhole search "where is the timeout set?"`.')
    for option, by in _OF.items():
        if getattr(args, option) is not None and args.by != by:
            name = option.replace("_", "-")
            raise UsageError(f"`--{name}` is for `--by {by}`. Give both, or leave `--{name}` out.")
    args.limit, args.budget = args.limit or _LIMIT, args.budget or _BUDGET
    context = CommandContext(args)
    try:
        return _by_words(context, args) if args.by == "words" else _by_relevance(context, args)
    finally:
        context.close()


def _by_relevance(context: CommandContext, args: argparse.Namespace) -> int:
    """Print the units relevant to a question."""
    session, query = context.current_session().name, " ".join(args.query)
    if not args.json:
        _print_first_lines(context, session, query, args)
    index_with_progress(context, session)
    found = context.session(session).select(query, budget=args.budget, task_id=args.task, query_id=args.query_id)
    given = [] if found.units else _calls_with(context, session, query)
    if args.json:
        screen.print_json(_report(session, found) | {"calls": given})
    elif given:
        _print_calls(given)
    elif not found.units and found.is_all:
        screen.say(f"Nothing in session {session} is relevant to that. Try a name, a path or a number.")
    else:
        _print(found)
    if not found.is_all and not args.json:
        screen.say("Results that arrived during the search were not searched. Search again to include them.")
    return 0 if found.units or given else _NOTHING


def index_with_progress(context: CommandContext, session: str) -> None:
    """Look at every result of a session before anything is said about it, and show how far that is."""
    with screen.Progress("searching results", 0) as progress:
        index_all(context.store, session, lambda looked: progress.set_done(*looked))


def _print_first_lines(context: CommandContext, session: str, query: str, args: argparse.Namespace) -> None:
    """Where much is not indexed yet, print the lines that reading finds in half a second; the answer takes longer."""
    if context.store.passages(session, until=time.monotonic() + _SOON).is_all:
        return
    from keepwhole.recall.first_lines import first_lines  # most commands never search

    until = time.monotonic() + _FIRST
    lines = first_lines(context.store, session, query, until, task_id=args.task, query_id=args.query_id)
    if lines:
        screen.say("First lines, from the newest results; the answer follows once every result is indexed:")
    for row in _rows(context, session, lines):
        screen.say(f"{screen.bold(screen.line(row['tool'], 100))}  line {row['line']:,}: {screen.line(row['text'])}")
        around = f"{max(1, row['line'] - _AROUND)}-{row['line'] + _AROUND}"
        screen.say(screen.dim(f"more: keepwhole artifacts show {row['artifact_id']} --lines {around}"))
    if lines:
        screen.say()
        sys.stdout.flush()


def _by_words(context: CommandContext, args: argparse.Namespace) -> int:
    """Print the lines that have all the words: best first, or each when it is found where much is not indexed yet."""
    session, words = context.current_session().name, " ".join(args.query)
    passages = context.store.passages(session, until=time.monotonic() + _SOON)
    if not passages.is_all:
        return _read_newest_first(context, args, passages)
    rows = list(_rows(context, session, context.store.search(session, words, args.limit)))
    if args.json:
        screen.print_json(rows)
    elif not rows:
        screen.say(_nothing(session, words))
    else:
        screen.print_table(_HEADINGS, [_cells(row) for row in rows], right=(2,))
    return 0 if rows else _NOTHING


def _read_newest_first(context: CommandContext, args: argparse.Namespace, passages: Passages) -> int:
    """Read results until there are enough lines, or every result was read; print each line when it is found."""
    from keepwhole.store.text_search import NewestFirst

    session, words = context.current_session().name, " ".join(args.query)
    scan, total = NewestFirst(context.store, session, words, passages=passages), passages.size()
    table = screen.GrowingTable(_HEADINGS, right=(2,))
    rows: list[dict[str, Any]] = []

    def take(matches: Iterable[Match]) -> None:
        for row in _rows(context, session, islice(matches, args.limit - len(rows))):
            rows.append(row)
            if not args.json:
                progress.clear()
                table.add(_cells(row))

    with screen.Progress("searching results", total) as progress:
        while scan.reached and len(rows) < args.limit:
            take(scan.matches(time.monotonic() + _REPORTED, least=1))
            progress.set_done(scan.looked)
        if len(rows) < args.limit:
            take(scan.in_arguments({row["trace_id"] for row in rows}, args.limit))
    if args.json:
        screen.print_json(rows)
    elif not rows:
        screen.say(_nothing(session, words))
    else:
        screen.say(screen.dim(f"{Looked(scan.looked, total).words_while(not scan.reached)}, newest first"))
    return 0 if rows else _NOTHING


def _rows(context: CommandContext, session: str, matches: Iterable[Match]) -> Iterator[dict[str, Any]]:
    """What is printed of each match."""
    for match in matches:
        row = context.store.find(session, match.trace_id)
        if row is not None:
            result = result_of(row)
            yield {
                "artifact_id": result.artifact_id,
                "tool": result.tool,
                "line": match.line,
                "text": match.text,
                "trace_id": match.trace_id,
                "part": match.part,
            }


def _cells(row: Mapping[str, Any]) -> tuple[str, str, str, str]:
    return row["artifact_id"], row["tool"], _place(row), row["text"]


def _nothing(session: str, words: str) -> str:
    return f"No line in session {session} has all of: {screen.line(words)}. Try fewer words, or beginnings of words."


def _place(found: Mapping[str, Any]) -> str:
    return f"{found['line']:,}" if found["part"] == "result" else str(found["part"])


def _report(session: str, found: Selection) -> dict[str, Any]:
    units = [_unit_as_dict(unit) for unit in found.units]
    return {"session": session, "query": found.query, "tokens": found.tokens, "is_all": found.is_all, "units": units}


def _unit_as_dict(unit: SelectedUnit) -> dict[str, Any]:
    """A unit under the names that every output has: its result's size is in bytes."""
    facts = unit.as_dict()
    facts.pop("reachable")
    return {"bytes": facts.pop("size"), **facts, "call": unit.call, "command": command(unit)}


def _calls_with(context: CommandContext, session: str, words: str) -> list[dict[str, Any]]:
    """The calls that were given all these words, newest first: the model wrote them, and no result has them."""
    found = (match for match in context.store.search(session, words, _CALLS) if match.part == "arguments")
    rows = ((match, context.store.find(session, match.trace_id)) for match in found)
    return [
        {"artifact_id": result.artifact_id, "tool": result.tool, "text": match.text}
        for match, row in rows
        if row is not None and (result := result_of(row))
    ]


def _print_calls(calls: list[dict[str, Any]]) -> None:
    for call in calls:
        screen.say(f"{screen.bold(screen.line(call['tool'], 100))}  in the arguments of the call")
        screen.say(screen.safe(call["text"]))
        screen.say(screen.dim(f"more: keepwhole artifacts show {call['artifact_id']} --part arguments"))
        screen.say()


def command(unit: SelectedUnit) -> str:
    """The command that reads a unit and the text around it."""
    part = f"--lines {unit.lines_around}" if not unit.in_long_line else f"--chars {unit.chars_around}"
    return f"keepwhole artifacts show {unit.artifact_id} {part}"


def _print(found: Selection) -> None:
    for unit in found.units:
        where = f"{unit.place} of {size_text(unit.size)}"
        screen.say(f"{screen.bold(screen.line(unit.summary, 100))}  {where}")
        screen.say(screen.safe(unit.text.strip("\n")))
        screen.say(screen.dim(f"more: {command(unit)}"))
        screen.say()
    screen.say(screen.dim(f"{screen.plural(len(found.units), 'unit')}, about {found.tokens:,} tokens"))
