"""`keepwhole search` and `artifacts search`: kept results by relevance to a question, or by the words in them.

Both take the same options; they differ in the default of `--by`.
"""

import argparse
from typing import Any, Literal, TypeAlias

from keepwhole.apps.cli import screen
from keepwhole.apps.cli.command_context import CommandContext, add_options
from keepwhole.apps.search_progress import index_all
from keepwhole.errors import UsageError
from keepwhole.recall.selection import SelectedUnit, Selection
from keepwhole.store.protocol import result_of
from keepwhole.truncation.notice import size_text

By: TypeAlias = Literal["relevance", "words"]
_NOTHING = 1
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
    parser.add_argument("--limit", type=int, default=20, metavar="N", help="by words: at most N lines (default: 20)")
    parser.add_argument(
        "--budget", type=int, default=2_000, metavar="N", help="by relevance: at most N tokens (default: 2000)"
    )
    parser.add_argument("--task", metavar="ID", help="by relevance: only what was kept under this task")
    parser.add_argument("--query-id", metavar="ID", help="by relevance: only what was kept under this query")
    parser.set_defaults(act=search)


def search(args: argparse.Namespace) -> int:
    """Print what was found; exit code 1 where nothing was."""
    if args.budget < 1:
        raise UsageError("`--budget` is a number of tokens, 1 or more.")
    context = CommandContext(args)
    try:
        return _by_words(context, args) if args.by == "words" else _by_relevance(context, args)
    finally:
        context.close()


def _by_relevance(context: CommandContext, args: argparse.Namespace) -> int:
    """Print the units relevant to a question."""
    session, query = context.current_session().name, " ".join(args.query)
    index_with_progress(context, session)
    found = context.session(session).select(query, budget=args.budget, task_id=args.task, query_id=args.query_id)
    given = [] if found.units else _calls_with(context, session, query)
    if args.json:
        screen.print_json(_report(session, found) | {"calls": given})
    elif given:
        _print_calls(given)
    elif not found.units and found.is_all:
        screen.say(f"Nothing in session {session} is relevant to that. Try a name, a path or a number from it.")
    else:
        _print(found)
    if not found.is_all and not args.json:
        screen.say("Results arrived meanwhile that were not looked at. Ask again, and it goes on from there.")
    return 0 if found.units or given else _NOTHING


def index_with_progress(context: CommandContext, session: str) -> None:
    """Look at every result of a session before anything is said about it, and show how far that is."""
    with screen.Progress("searching results", 0) as progress:
        index_all(context.store, session, lambda looked: progress.set_done(*looked))


def _by_words(context: CommandContext, args: argparse.Namespace) -> int:
    """Print the lines that have all the words."""
    session, words = context.current_session().name, " ".join(args.query)
    index_with_progress(context, session)
    rows: list[dict[str, Any]] = []
    for match in context.store.search(session, words, args.limit):
        row = context.store.find(session, match.trace_id)
        if row is not None:
            result = result_of(row)
            rows.append(
                {"artifact_id": result.artifact_id, "tool": result.tool, "line": match.line, "text": match.text}
                | {"trace_id": match.trace_id, "part": match.part}
            )
    if args.json:
        screen.print_json(rows)
    elif not rows:
        screen.say(f"Nothing in session {session} has all of: {screen.line(words)}")
    else:
        cells = [(r["artifact_id"], r["tool"], _place(r), r["text"]) for r in rows]
        screen.print_table(("ID", "Tool", "Line", "Text"), cells, right=(2,))
    return 0 if rows else _NOTHING


def _place(found: dict[str, Any]) -> str:
    return f"{found['line']:,}" if found["part"] == "result" else str(found["part"])


def _report(session: str, found: Selection) -> dict[str, Any]:
    units = [unit.as_dict() | {"call": unit.call, "command": command(unit)} for unit in found.units]
    return {"session": session, "query": found.query, "tokens": found.tokens, "is_all": found.is_all, "units": units}


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
