"""`python -m bench.sniff_accuracy [FOLDER]`: what `sniff` says of real tool results, against a slow classification.

The texts are private: `--markdown` prints only counts; examples are for the screen.
"""

import argparse
import csv
import gzip
import json
import os
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast, get_args
from xml.parsers import expat

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.sniff import Kind, sniff

_SOURCE = re.compile(
    r"\.(?:py|pyi|go|ts|tsx|js|jsx|mjs|cjs|rs|java|kt|c|h|cc|cpp|hpp|cs|rb|php|swift|scala|sh|bash|sql|lua|css|scss|vue"
    r"|pl|pm|ex|exs|dart|zig|proto|svelte|astro|ps1|zsh)['\"]?$"
)
_NUMBERED = re.compile(r"\s*\d+(?:→|\t|:|\|)")
_HUNK = re.compile(r"^(?:diff --git a/|@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@)", re.M)
_SHOWS = re.compile(
    r"(?:^|&&|;|\n)\s*(?:cat|sed -n|head|tail|nl|bat|git show|e?grep(?=(?: -[ABCEhiwe]+ ?\d*)* ''))\b([^;&<>\n]*)"
)
_REDIRECTED = re.compile(r"\d?>(?:&\d| ?/dev/null)")
_FILE = re.compile(r"^\[File: (\S+) \(\d+ lines total\)\]", re.M)
_QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
_WRAPPER = re.compile(r"\A(?:Chunk ID: .*?\nOutput:\n(?:Total output lines: \d+\n)?|Exit code \d+\n)", re.S)
_SESSION = re.compile(r"^Process running with session ID (\d+)$", re.M)
_TESTS = re.compile(
    r"(?:\w+=\S+ |time )*(?:go (?:test|vet)|golangci-lint run|gotestsum|cargo (?:test|check|clippy)"
    r"|(?:\S*python3? -m )?pytest|mise (?:run )?(?:test|lint|check|ci)|tsc"
    r"|(?:npx|bunx|pnpm exec) (?:tsc|jest|vitest|eslint|biome)"
    r"|(?:npm|pnpm|yarn|bun)(?: run)?(?: --?[\w-]+(?:[= ][@\w./*-]+)?)*(?: run)? "
    r"(?:test|lint|typecheck|check|ci|verify|validate)"
    r"|gh run (?:view|watch)\b.*--log|docker(?:-| )compose logs|docker logs|journalctl|kubectl logs)\b"
)
_BUILDS = re.compile(
    r"(?:\w+=\S+ |time )*(?:go (?:build|install|mod)|cargo (?:build|install)|mise (?:run )?(?:build|fmt|dup)|make"
    r"|cmake|ninja|docker build|(?:npm|pnpm|yarn|bun)(?: run)?(?: --?[\w-]+(?:[= ][@\w./*-]+)?)*(?: run)? "
    r"(?:build|install|ci))\b"
)
_PARTS = re.compile(r"&&|\|\||[;\n]")
_SEARCHES = re.compile(r"\b(?:rg|grep|ag)\b")
_MERELY = re.compile(r"\s*(?:cd|pwd|printf|echo|true|set)\b[^;&|\n]*(?:&&|;|\n|$)")
_MATCH = re.compile(r"^(?:[\w./-]+:)?[^\s:]+[:-]\d+[:-]")
_IN_A_FILE = re.compile(r"^[^\s:]*[/.][^\s:]*:\S?")
_MATCH_IN_FILE = re.compile(r"^(?:\d+[:-]|--$)")
_PATH = re.compile(r"^\.{0,2}/?[\w@.+\[\]()~ -]+(?:/[\w@.+\[\]()~ -]+)*/?$")
_LONG_LISTING = re.compile(r"^[bcdlps-][rwxsStT-]{9}[.+@]? ")
_STAMP = re.compile(
    r"^(?:\S+\s){0,4}\W{0,3}\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|^\W{0,3}\d\d:\d\d:\d\d"
    r"|^\W{0,3}(?:[A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d|\w{3} \w{3} +\d+ \d\d:)"
    r"|^\W{0,2}(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL)\b"
    r"|^(?:=== (?:RUN|PAUSE|CONT)|\s*--- (?:PASS|FAIL|SKIP)|(?:ok|FAIL|PASS)\s)"
)
_MOSTLY = 0.6
_READERS = frozenset(("read", "read_file", "view", "open_file", "open", "cat"))
_EDITORS = frozenset(("str_replace_editor", "edit", "multiedit", "write"))
_REFUSALS = ("<tool_use_error>", "Error", "Your proposed edit")
_SEARCHERS = frozenset(("grep", "search_files", "grep_search", "rg", "search"))
_LISTERS = frozenset(("glob", "ls", "list_directory", "list_dir", "find_file"))
_SHELLS = frozenset(("bash", "exec_command", "write_stdin", "shell", "run_shell_command", "execute_command"))


def judge(text: str, tool: str, arguments: str) -> Kind:
    """The kind of one result: by its call, if that decides it; else by parsing it and by its lines."""
    tool = tool.lower().rpartition("__")[2]
    lines = [line for line in _WRAPPER.sub("", text[:100_000]).splitlines() if line.strip()]
    if tool in _EDITORS and _share(_NUMBERED, lines) < _MOSTLY:
        return _data_kind(text) or "text"
    is_source = _shows_source(tool, arguments, text)
    if is_source is None:
        return _data_kind(text) or _line_kind(text, lines, tool, _command(tool, arguments))
    if tool in _SHELLS and _HUNK.search(text):
        return "diff"
    is_script = _NUMBERED.sub("", lines[0]).startswith("#!") if lines else False
    if (is_source or is_script) and not text.startswith(_REFUSALS):
        return "code"
    return _data_kind(text) or "text"


def _data_kind(text: str) -> Kind | None:
    """The kind of data that the whole text parses as."""
    if isinstance(_load_json(text), list | dict):
        return "json"
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) > 1 and all(isinstance(_load_json(line), list | dict) for line in lines):
        return "ndjson"
    behind = _WRAPPER.sub("", text)
    if behind != text and isinstance(_load_json(behind), list | dict):
        return "wrapped"
    return "xml" if _is_xml(text) else None


def _line_kind(text: str, lines: Sequence[str], tool: str, command: str) -> Kind:
    """The kind that most lines look like; search and log are tried before table, which matches too easily."""
    is_search = tool in _SEARCHERS or _SEARCHES.search(command) is not None
    if _share(_STAMP, lines) >= _MOSTLY:
        return "log"
    if _share(_LONG_LISTING, lines) >= _MOSTLY or _are_paths(lines):
        return "listing"
    if is_search and _share(_MATCH, lines) + _share(_MATCH_IN_FILE, lines) >= _MOSTLY:
        return "search"
    if _HUNK.search(text):
        return "diff"
    if _is_run(command):
        return "log"
    if _share(_MATCH, lines) >= _MOSTLY or (is_search and _share(_IN_A_FILE, lines) >= _MOSTLY):
        return "search"
    if tool in _LISTERS and _share(_PATH, lines) >= _MOSTLY:
        return "listing"
    return "csv" if _is_csv(text) else "text"


def _is_run(command: str) -> bool:
    """Whether a command tests or checks something, or only builds; a build as one of several commands prints little."""
    parts = [part.strip(" (") for part in _PARTS.split(_MERELY.sub("", command))]
    if any(_TESTS.match(part) for part in parts):
        return True
    return any(parts) and all(_BUILDS.match(part) for part in parts if part)


def _are_paths(lines: Sequence[str]) -> bool:
    """Whether nearly every line is a path: one word with a slash or an extension in it."""
    paths = sum(" " not in line.strip() and ("/" in line or "." in line[1:]) for line in lines)
    return paths >= 0.9 * len(lines) > 0 and _share(_PATH, lines) >= 0.9


def _share(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    return sum(pattern.match(line[:200]) is not None for line in lines) / len(lines) if lines else 0.0


def _load_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_xml(text: str) -> bool:
    if not text.lstrip().startswith("<"):
        return False
    parser = expat.ParserCreate()
    try:
        parser.Parse(text.strip().encode("utf-8", "replace"), True)
    except expat.ExpatError:
        return False
    return True


def _is_csv(text: str) -> bool:
    """Whether every record has the same number of columns, at least three, and the first one looks like names."""
    for separator in (",", "\t", ";", "|"):
        try:
            records = [one for one in csv.reader(text.splitlines(keepends=True), delimiter=separator) if one]
        except csv.Error:
            continue
        if len(records) >= 3 and len(records[0]) >= 3 and {len(one) for one in records} == {len(records[0])}:
            return all(0 < len(name.strip()) <= 60 for name in records[0])
    return False


def _shows_source(tool: str, arguments: str, text: str) -> bool | None:
    """Whether a call that shows files shows source; None where it does something else."""
    if tool in _READERS or tool in _EDITORS:
        given = _read_arguments(arguments)
        named = next((given[key] for key in ("file_path", "path", "filePath", "absolute_path") if key in given), None)
        if named is None:
            named = shown[1] if (shown := _FILE.search(text)) else None
        if named is None or str(named).endswith(".log"):
            return None
        return _SOURCE.search(str(named)) is not None
    command = _command(tool, arguments)
    return _command_shows_source(command) if command else None


def _read_arguments(arguments: str) -> dict[str, Any]:
    loaded = _load_json(arguments)
    return cast("dict[str, Any]", loaded) if isinstance(loaded, dict) else {}


def _command(tool: str, arguments: str) -> str:
    """The shell command of a call; empty for any other call."""
    given = _read_arguments(arguments) if tool in _SHELLS else {}
    command: object = given.get("cmd") or given.get("command")
    return command if isinstance(command, str) else ""


def _command_shows_source(command: str) -> bool | None:
    """The same for a shell command: whether all of it shows files, and most of them are source."""
    command = _QUOTED.sub("''", _REDIRECTED.sub("", command))
    shows = _SHOWS.findall(command)
    if not shows or _MERELY.sub("", _SHOWS.sub("", command)).strip(" \n;&"):
        return None
    words = [word for part in shows for word in part.partition("|")[0].split()]
    files = [word for word in words if "." in word and not word.startswith(("-", "'"))]
    if not files or all(word.endswith(".log") for word in files):
        return None
    return sum(_SOURCE.search(word) is not None for word in files) > len(files) / 2


KINDS: tuple[Kind, ...] = get_args(Kind)
FOLDER = os.path.join(os.path.dirname(__file__), "..", "..", "shared", "corpus")
_LONGER_THAN = 500
_MOST = 6_000
_EXAMPLES = 3
_WIDTH = 80
_PAGE = """<!-- Written by python -m bench.sniff_accuracy --markdown -->

# What kind of text is it?

`sniff`, which sees a sample and no tool's name, against a slow judgement of {count:,} real tool results over {longer:,}
characters, which sees every line and the call (`judge` in `bench/sniff_accuracy.py`). It decides by:

- What the call shows: a file is code or text by its extension or its `#!` line; data is what a parser takes as a whole.
- What the command runs: tests, checks and builds print logs, also when they are read from a running shell later.
- What most lines look like, where neither says it: times and levels, hunks, matches of a search, paths, a table.

This judgment is made by a program too, and is sometimes wrong: it is a reference, not the truth. A failed edit, or data
inside a sentence, counts as text; lines that `grep` prints of one source file, without numbers, count as code.
"""

Pair = tuple[Kind, Kind]


def results(folder: str) -> Iterator[tuple[str, str, str]]:
    """The text, the tool and the arguments of every long tool result under `folder`."""
    for name in sorted(os.listdir(folder)):
        if name.endswith(".jsonl.gz"):
            with gzip.open(os.path.join(folder, name), "rt", encoding="utf-8") as file:
                for line in file:
                    yield from _results_of(json.loads(line)["messages"])


def _results_of(messages: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str, str]]:
    """The results in messages; output of a running shell belongs to the command that started it."""
    calls: dict[str, str] = {}
    arguments: str
    sessions: dict[str, str] = {}
    for message in messages:
        for call in message.get("tool_calls") or ():
            arguments = call["function"]["arguments"]
            calls[call["id"]] = sessions.get(str(_read_arguments(arguments).get("session_id")), arguments)
        content = message.get("content")
        if message["role"] == "tool" and isinstance(content, str):
            arguments = calls.get(message["tool_call_id"], "")
            running = _SESSION.search(content[:300])
            if running:
                sessions[running[1]] = arguments
            if len(content) > _LONGER_THAN:
                yield content, message.get("name") or "", arguments


def sample(folder: str) -> list[tuple[str, str, str]]:
    """Some of the results, the same ones every time."""
    found = list(results(folder))
    return found if len(found) <= _MOST else random.Random(3).sample(found, _MOST)


def confusion_table(counts: Mapping[Pair, int]) -> list[list[str]]:
    """The judged kinds as rows, those of `sniff` as columns."""
    header = ["judged \\ said", *KINDS]
    return [header, *([truth, *(str(counts.get((truth, said), 0) or "") for said in KINDS)] for truth in KINDS)]


def score_table(counts: Mapping[Pair, int]) -> list[list[str]]:
    """Precision and recall of every kind."""
    rows = [["kind", "judged", "said", "both", "precision", "recall"]]
    for kind in KINDS:
        both = counts.get((kind, kind), 0)
        truth = sum(counts.get((kind, said), 0) for said in KINDS)
        said = sum(counts.get((truth, kind), 0) for truth in KINDS)
        rows.append([kind, str(truth), str(said), str(both), _percent(both, said), _percent(both, truth)])
    right, everything = sum(counts.get((kind, kind), 0) for kind in KINDS), sum(counts.values())
    rows.append(["all", str(everything), str(everything), str(right), *[_percent(right, everything)] * 2])
    return rows


def _percent(part: int, of: int) -> str:
    return f"{part / of:.1%}" if of else "–"


def render(rows: Sequence[Sequence[str]], markdown: bool) -> str:
    """A table for the page or for the screen."""
    if markdown:
        rule = ["---", *["---:"] * (len(rows[0]) - 1)]
        return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.sniff_accuracy", description=__doc__)
    parser.add_argument("folder", nargs="?", default=FOLDER, help="where transcripts are (default: ../shared/corpus)")
    parser.add_argument("--markdown", action="store_true", help="print the page for the docs: counts, no examples")
    args = parser.parse_args()
    if not os.path.isdir(args.folder):
        sys.exit(f"There are no transcripts at {args.folder}: give the folder with the .jsonl.gz files.")
    counts: Counter[Pair] = Counter()
    wrong: defaultdict[Pair, list[str]] = defaultdict(list)
    for text, tool, arguments in sample(args.folder):
        pair = judge(text, tool, arguments), sniff(TextSource(text))
        counts[pair] += 1
        if pair[0] != pair[1] and len(wrong[pair]) < _EXAMPLES:
            wrong[pair].append(f"{tool}: {text[:_WIDTH]!a}")
    tables = "\n\n".join(render(table(counts), args.markdown) for table in (confusion_table, score_table))
    if args.markdown:
        print(f"{_PAGE.format(count=counts.total(), longer=_LONGER_THAN)}\n{tables}")
        return
    print(tables)
    for (truth, said), examples in sorted(wrong.items(), key=lambda item: -counts[item[0]]):
        print(f"\n{truth}, said to be {said}: {counts[truth, said]}")
        print("\n".join(f"  {example}" for example in examples))


if __name__ == "__main__":
    main()
