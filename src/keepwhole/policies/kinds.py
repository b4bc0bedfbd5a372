"""What kind of work a result comes from: a file read is worth keeping longer than the output of a shell."""

import json
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, cast

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.policies.settings import Kind
from keepwhole.truncation.configuration import LIST, READ, SEARCH, SHELL, job_of

_REPORTS = lazy_pattern(
    r"(?:(?:dispatch|spawn|run|call|launch|invoke|wait|new|sub)[_-]?)?(?:task|agent|subagent)s?(?:[_-]?output)?"
    r"|delegate\w*",
    re.I,
)
_MORE: dict[str, Kind] = {
    **dict.fromkeys(("open", "goto", "scroll_up", "scroll_down", "NotebookRead"), "read"),
    **dict.fromkeys(("find_file", "search_dir", "search_file"), "search"),
}
"""SWE-agent's tools and others whose names say too little for `job_of`."""
_EDITORS = lazy_pattern(r"str_replace|text_editor", re.I)
_VIEWS = lazy_pattern(r'"command"\s*:\s*"view"')
_COMMAND = lazy_pattern(r'"(?:command|cmd|script|input)"\s*:\s*"\s*([\w-]*)')
_STRING = lazy_pattern(r'[^"\\]*(?:\\.[^"\\]*)*', re.S)
_COMMAND_KEYS = ("command", "cmd", "commands", "script", "input")
_LONGEST = 400
_HARMLESS = lazy_pattern(r"2>(?:&1|/dev/null)|\|\| *(?:true\b|echo\b[^;&|\n]*)|'[^'\n]*'|\"[^\"\n]*\"")
_BETWEEN = lazy_pattern(r"\s*(?:&&|;|\n)\s*")
_ODD = frozenset("|&;\n<>`$")
"""What makes a command line more than one program with its arguments."""
_PROGRAMS: dict[str, Kind | None] = {
    **dict.fromkeys(("cat", "nl", "head", "tail", "less", "more", "bat", "batcat"), "read"),
    **dict.fromkeys(("rg", "grep", "egrep", "ag", "find", "fd", "ls", "tree"), "search"),
    **dict.fromkeys(("cd", "pwd", "echo", "printf", "true", "set"), None),
}
"""What a program's output is; None for those that show nothing."""
_SHOWS = lazy_pattern(r"\s*(?:(sed -n)|git grep|git ls-files)\b")
"""Programs that only show, by their first two words."""
_TARGETS = ("url", "page", "pageId", "page_id", "tab", "tabId", "tab_id", "window", "app", "path", "file_path", "file")
_TARGET_CHARS = 10_000
"""Arguments that name what an image is of; longer arguments are not read."""
_SIFTS = lazy_pattern(r"\s*(?:sort|uniq|cut|wc|tr|column|cat|nl|head|tail|less|more|rg|grep|egrep|sed -n)\b")


def kind_of(tool: str, arguments: str) -> Kind:
    """Return the kind of a call; of a shell, by the command that it runs.

    >>> kind_of("bash", '{"command": "cat README.md"}')
    'read'
    """
    kind = _kind_of_tool(tool)
    if kind == "shell":
        return _kind_of_shell(arguments)
    if kind == "editor":
        return "read" if _VIEWS.search(arguments, 0, _LONGEST) else "other"
    return kind


def target_of(tool: str, arguments: str) -> tuple[str, ...]:
    """Return what the image that a call returns is of: the tool, and the page, window or file that the call names. Most
    calls name none, since they show the one that is open.

    >>> target_of("screenshot", '{"url": "https://a", "full": true}')
    ('screenshot', 'https://a')
    """
    try:
        given: object = json.loads(arguments) if len(arguments) <= _TARGET_CHARS else None
    except (ValueError, RecursionError):
        given = None
    fields = cast("dict[str, object]", given) if isinstance(given, dict) else {}
    return tool, *(str(fields[key]) for key in _TARGETS if key in fields)


def works_on_files(tools: Iterable[str]) -> bool:
    """Return whether tools of these names run commands, or read or search files: such an agent has long results.

    >>> works_on_files(["Bash"]), works_on_files(["get_order", "cancel_order"])
    (True, False)
    """
    return any(_kind_of_tool(tool) in ("shell", "read", "search", "editor") for tool in tools)


@lru_cache(1_024)
def _kind_of_tool(tool: str) -> Kind | Literal["editor"]:
    name = tool.rpartition("__")[2]
    job = job_of(tool)
    if job is READ:
        return "read"
    if job in (SEARCH, LIST):
        return "search"
    if job is SHELL:
        return "shell"
    if _REPORTS.fullmatch(name):
        return "report"
    return "editor" if _EDITORS.search(name) else _MORE.get(name, "other")


def _kind_of_command(command: str) -> Kind:
    """Return `read` or `search` if the whole line does nothing else; reads among searches make it a read."""
    line = command[:_LONGEST].lstrip()
    first = _kind_of_program(line)
    if first == "shell" or _ODD.isdisjoint(line):
        return first or "shell"
    line = _HARMLESS.sub("''", line).strip(" ';\n")
    kinds = {_kind_of_pipe(part) for part in _BETWEEN.split(line)}
    if "shell" in kinds:
        return "shell"
    return "read" if "read" in kinds else "search" if "search" in kinds else "shell"


def _kind_of_pipe(part: str) -> Kind | None:
    """Return the kind of a pipe's first program, if the others only filter; None for one that prints nothing."""
    if not _ODD.isdisjoint(part.replace("|", "").replace("$", "")):
        return "shell"
    first, *rest = part.split("|")
    return _kind_of_program(first) if all(map(_SIFTS.match, rest)) else "shell"


def _kind_of_program(line: str) -> Kind | None:
    word = _first_word(line)
    if word in _PROGRAMS:
        return _PROGRAMS[word]
    shows = _SHOWS.match(line)
    return "shell" if shows is None else "read" if shows[1] else "search"


def _first_word(line: str) -> str:
    return line.lstrip().partition(" ")[0]


def _kind_of_shell(arguments: str) -> Kind:
    """Return the kind of a shell's command line; the first word decides most of them."""
    found = _COMMAND.search(arguments, 0, 10 * _LONGEST)
    if found is None:
        return _kind_of_command(_loaded_command(arguments))
    word = found[1]
    if word not in _PROGRAMS and not _SHOWS.match(arguments, found.start(1)):
        return "shell"
    return _kind_of_command(_read_beginning(arguments, found.start(1)))


def _read_beginning(arguments: str, start: int) -> str:
    """Return the beginning of the JSON string that `start` is in, with quotes and line ends unescaped."""
    line = arguments[start : start + _LONGEST].partition('"')[0]
    if "\\" not in line:
        return line
    written = _STRING.match(arguments, start, start + _LONGEST)
    return (written[0] if written else line).replace('\\"', '"').replace("\\n", "\n")


def _loaded_command(arguments: str) -> str:
    try:
        given = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
    if isinstance(given, dict):
        fields = cast("dict[str, object]", given)
        given = next((fields[key] for key in _COMMAND_KEYS if key in fields), "")
    if isinstance(given, list):
        words = [str(word) for word in cast("list[object]", given)]
        given = words[-1] if len(words) == 3 and words[1] in ("-c", "-lc") else " ".join(words)
    return given if isinstance(given, str) else ""
