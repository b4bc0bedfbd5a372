"""What the tools of real agents are for, by their names, and how results of each job are shown by default."""

import re

from keepwhole.canonical.value import Value

_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


class Job(Value):
    """How results of one kind of tool are shown by default."""

    name: str
    strategy: str
    inline_limit: int | None = None
    firm: bool = False
    """Whether text keeps this strategy whatever it looks like; data is cut by structure all the same."""


READ = Job("read", "head_tail", firm=True)
SHELL = Job("shell", "tail", inline_limit=5_000)
LIST = Job("list", "element", inline_limit=10_000)
SEARCH = Job("search", "element")
DIFF = Job("diff", "head_tail", firm=True)

_NAMES: dict[Job, tuple[str, ...]] = {
    READ: (
        "read file",
        "read",
        "view",
        "cat",
        "open file",
        "view file",
        "read text file",
        "get file contents",
        "file read",
    ),
    SHELL: (
        *("execute command", "exec command", "run command", "bash", "shell", "terminal", "exec", "execute", "run"),
        *("local shell", "run terminal cmd", "run shell command", "write stdin", "container exec", "bash output"),
    ),
    LIST: ("list directory", "list dir", "list files", "ls", "glob", "directory tree", "find files", "file glob"),
    SEARCH: (
        *("search files", "grep", "search", "ripgrep", "rg", "grep search", "search code", "codebase search"),
        *("search file content", "file search", "find in files"),
    ),
    DIFF: ("git diff", "diff"),
}
_JOBS = {name: job for job, names in _NAMES.items() for name in names}


def job_of(tool: str) -> Job | None:
    """The job that a tool's name speaks for, however its words are joined and whatever server it comes from.

    >>> job_of("mcp__files__readFile") is READ
    True
    """
    words = [word.lower() for word in _BORDER.split(tool.rpartition("__")[2]) if word]
    for first in range(len(words)):
        job = _JOBS.get(" ".join(words[first:]))
        if job is not None and (first == 0 or len(words) - first > 1):
            return job
    return None
