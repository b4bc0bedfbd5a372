"""How much of a result is shown, and by which strategy, for all tools and for each.

Owns: the limits, their defaults and validation, and the jobs of well-known tools, which have limits of their own.
Must not know: files or environment variables (`config.py` reads those).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from keepwhole.canonical.value import Value
from keepwhole.errors import ConfigError
from keepwhole.truncation.strategy import StrategyOptions

SMALLEST_INLINE_LIMIT = 256
_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")


class Job(Value):
    """How results of one kind of tool are shown by default."""

    name: str
    strategy: str
    inline_limit: int | None = None
    firm: bool = False
    """Whether text is cut by this strategy whatever it looks like; structured data is cut by its structure anyway."""


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
    """The job that a tool's name implies, however its words are joined and whichever server offers it.

    >>> job_of("mcp__files__readFile") is READ
    True
    """
    words = [word.lower() for word in _BORDER.split(tool.rpartition("__")[2]) if word]
    for first in range(len(words)):
        job = _JOBS.get(" ".join(words[first:]))
        if job is not None and (first == 0 or len(words) - first > 1):
            return job
    return None


class ToolOverride(Value):
    """Settings of one tool; what is not given is taken from the settings for all."""

    strategy: str | None = None
    inline_limit: int | None = None
    artifact_threshold: int | None = None
    max_artifact_size: int | None = None
    preview_limit: int | None = None
    head_ratio: float | None = None
    line_cap: int | None = None
    max_lines: int | None = None
    side: str | None = None
    max_depth: int | None = None
    keep_keys: tuple[str, ...] | None = None


_NO_OVERRIDE = ToolOverride()


class Limits(Value):
    """The settings of one tool, all resolved."""

    inline_limit: int
    artifact_threshold: int
    preview_limit: int
    strategy: str
    options: StrategyOptions
    chosen_by_user: bool = False
    """Whether the strategy is the user's choice for this tool, which nothing overrules."""
    firm: bool = False
    """Whether text keeps the strategy whatever it looks like."""
    max_artifact_size: int = 10_485_760
    """Bytes of a result that is returned in full at once."""
    trusted: bool = False
    """Whether notices in the text are genuine, as in a result of `get_artifact`."""


class TruncationConfiguration(Value):
    """The settings under `tools.truncation`."""

    inline_limit: int = 8_000
    """Maximum number of characters of a result that are shown, notices included. At least 256."""
    artifact_threshold: int = 50_000
    """Results longer than this are shown as a reference and a preview."""
    max_artifact_size: int = 10_485_760
    """Results larger than this, in bytes, are stored in full but returned only in parts."""
    preview_limit: int = 2_000
    """Maximum number of characters of the preview above `artifact_threshold`."""
    default_strategy: str = "head_tail"
    """How plain text is cut where neither an override nor the tool's job says otherwise."""
    head_ratio: float = 0.6
    """Share of the room that goes to the beginning where both ends are kept."""
    line_cap: int = 2_000
    """Maximum number of characters of one line, where other lines want the room."""
    overrides: Mapping[str, ToolOverride] = MappingProxyType({})
    """Settings per tool, by the tool's name."""

    def _check(self) -> None:
        """Refuse wrong limits."""
        check_settings("tools.truncation", self.as_dict())
        for tool, override in self.overrides.items():
            given = {key: value for key, value in override.as_dict().items() if value is not None}
            check_settings(f"tools.truncation.overrides.{tool}", given)

    @property
    def strategy_names(self) -> tuple[str, ...]:
        """The strategies that are named: for all tools, and for some."""
        return (self.default_strategy, *(own.strategy for own in self.overrides.values() if own.strategy is not None))

    def for_tool(self, tool: str) -> Limits:
        """The limits of one tool: its override, else its job's, else those for all."""
        own, job = self.overrides.get(tool, _NO_OVERRIDE), job_of(tool)
        usual = job.inline_limit if job and not self.is_given("inline_limit") else None
        options: dict[str, Any] = {"head_ratio": self.head_ratio, "line_cap": self.line_cap}
        options |= {key: value for key, value in own.as_dict().items() if key in _OPTIONS and value is not None}
        return Limits(
            inline_limit=own.inline_limit or usual or self.inline_limit,
            artifact_threshold=own.artifact_threshold or self.artifact_threshold,
            preview_limit=own.preview_limit or self.preview_limit,
            strategy=own.strategy or (job.strategy if job else self.default_strategy),
            options=StrategyOptions(**options),
            chosen_by_user=own.strategy is not None or (job is None and self.is_given("default_strategy")),
            firm=job.firm if job else False,
            max_artifact_size=own.max_artifact_size or self.max_artifact_size,
        )


_OPTIONS = frozenset(StrategyOptions.fields) - {"question", "pattern", "names"}
_SIDES = ("head", "tail", "both")


def check_settings(where: str, settings: Mapping[str, Any]) -> None:
    """Raise `ConfigError` where a setting has a wrong value; the message says which values are right."""
    for key, value in settings.items():
        wanted = _wanted(key, value)
        if wanted is not None:
            raise ConfigError(f"`{where}.{key}` is {value!r}; give {wanted}.")


def _wanted(key: str, value: Any) -> str | None:
    """What a setting should be, where its value is wrong; None where it is right."""
    if key == "overrides":
        return None
    if key in ("strategy", "default_strategy"):
        return None if isinstance(value, str) else "the name of a strategy"
    if key == "side":
        return None if value in _SIDES else "one of " + ", ".join(_SIDES)
    if key == "keep_keys":
        names = isinstance(value, list | tuple) and all(isinstance(name, str) for name in cast("list[object]", value))
        return None if names else "a list of names"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if key == "head_ratio":
        return None if is_number and 0 <= value <= 1 else "a number from 0 to 1"
    least = SMALLEST_INLINE_LIMIT if key == "inline_limit" else 1
    return None if is_number and isinstance(value, int) and value >= least else f"a whole number of at least {least}"
