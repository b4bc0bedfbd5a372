"""What kind of work a result comes from: a file read is worth keeping longer than the output of a shell."""

import json
import re
from typing import Literal, TypeAlias, cast

from holdfast.truncation.tools import LIST, READ, SEARCH, SHELL, job_of

Kind: TypeAlias = Literal["read", "shell", "search", "report", "other"]

_REPORTS = re.compile(r"(?:^|_|\b)(?:task|agent|subagent|sub_agent|delegate|dispatch_agent|spawn_agent)s?$", re.I)
_PRINTS_A_FILE = re.compile(r"(?:cd [^;&|]+&& *)?(?:cat|nl|head|tail|less|bat|sed -n)\s[^|;&<>]*$")
_SEARCHES = re.compile(r"(?:cd [^;&|]+&& *)?(?:rg|grep|ag|find|fd|ls|tree|git grep)\b")
_COMMAND_KEYS = ("command", "cmd", "script", "input")


def kind_of(tool: str, arguments: str) -> Kind:
    """The kind of a call; what a shell is asked to do counts, not that it is a shell.

    >>> kind_of("bash", '{"command": "cat README.md"}')
    'read'
    """
    job = job_of(tool)
    if job is READ:
        return "read"
    if job in (SEARCH, LIST):
        return "search"
    if job is SHELL:
        return _kind_of_command(_command(arguments))
    return "report" if _REPORTS.search(tool) else "other"


def _kind_of_command(command: str) -> Kind:
    line = command.strip()[:400]
    if _PRINTS_A_FILE.match(line):
        return "read"
    return "search" if _SEARCHES.match(line) else "shell"


def _command(arguments: str) -> str:
    """The command line in a call's arguments; a list is joined."""
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
