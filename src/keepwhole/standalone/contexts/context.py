"""A saved tool output and the pointer to it, as values; how they are named, described and written.

Owns: the file's JSON, its name, the two hashes. Must not know: where files are stored, what is selected.
"""

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

from keepwhole.standalone.contexts.arguments import check_mapping, check_text
from keepwhole.standalone.contexts.file_system import UNFINISHED, FileSystem

CONTEXT_DIR = "~/.agent/context"
PERSIST_THRESHOLD = 32 * 1024
SUFFIX = ".json"
Debug: TypeAlias = Callable[[str, object], None]
TaskId: TypeAlias = int | str
_HASH = 12
_NAME = 80
_SUBJECT, _LONGEST_SUBJECT = 40, 4_096
"""Characters of a subject in a file's name, and of the argument that it is read from."""
_PARTED = re.compile(r"[/\\]")
_DESCRIPTION, _VALUE = 300, 80
_DEEPEST = 100
_LONGEST_NUMBER = 10_000
"""Bits; Python refuses to read or write much longer numbers as decimals."""
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
OURS = re.compile(rf"[A-Za-z0-9._-]+_[0-9a-f]{{{_HASH}}}(?:-[1-9][0-9]*)?\.json(?:{UNFINISHED})?")
"""The names of files that a `ContextManager` writes, or began to; it removes no others."""


class ContextPointer(NamedTuple):
    """What is known of a saved context without loading it."""

    filepath: str
    filename: str
    tool_name: str
    tool_description: str
    """What the tool did, for people."""
    args: dict[str, Any]
    task_id: TaskId | None = None
    query_id: str | None = None


class StoredContext(NamedTuple):
    """A tool's output with everything that is known of its call."""

    tool_name: str
    tool_description: str
    args: dict[str, Any]
    timestamp: str
    """When it was saved, ISO 8601 in UTC."""
    task_id: TaskId | None = None
    query_id: str | None = None
    result: Any = None


class ContextManagerOptions(NamedTuple):
    """How a `ContextManager` is set up."""

    context_dir: str = CONTEXT_DIR
    persist_threshold: int = PERSIST_THRESHOLD
    """Results of fewer bytes are kept in memory too."""
    file_system: FileSystem | None = None
    """None for the disk."""
    on_debug: Debug | None = None
    """Called with a message and what it is about."""


def hash_args(args: Mapping[str, Any]) -> str:
    """Return twelve digits that are the same for the same arguments in any order.

    >>> hash_args({"a": 1, "b": 2}) == hash_args({"b": 2, "a": 1})
    True
    """
    return _hashed(json.dumps(plain(check_mapping("args", args)), sort_keys=True, separators=(",", ":")))


def hash_query(query: str) -> str:
    """Return twelve digits that can be the id of a query; spaces around it do not count.

    >>> hash_query("how did it go?") == hash_query(" how did it go?\\n")
    True
    """
    return _hashed(check_text("query", query).strip())


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def file_stem(tool_name: str, args: Mapping[str, Any]) -> str:
    """Return the name of a context's file without its suffix: what the call is about, the tool, and the arguments.

    >>> file_stem("get_financials", {"ticker": "AAPL"})
    'AAPL_get_financials_2a14d3c504fb'
    """
    subject = subject_of(args)
    tool = _UNSAFE.sub("_", tool_name).lstrip(".")[:_NAME] or "tool"
    return f"{subject}_{tool}_{hash_args(args)}" if subject else f"{tool}_{hash_args(args)}"


def subject_of(args: Mapping[str, Any]) -> str:
    """Return what a call is about, as the beginning of a file's name: at most 40 letters, digits, dots and dashes.

    It is the first of these arguments that says something: a ticker or symbol; the last part of a path; the host of a
    URL; a query, question or pattern. Empty where there is none.

    >>> subject_of({"path": "../src/app.py"}), subject_of({"url": "https://me:secret@example.org:80/a?b=c"})
    ('app.py', 'example.org')
    """
    for keys, shorten in _SUBJECTS:
        for key in keys:
            value = args.get(key)
            if isinstance(value, str):
                name = _UNSAFE.sub("_", shorten(value[:_LONGEST_SUBJECT])).strip("._-")[:_SUBJECT].rstrip("._-")
                if name:
                    return name
    return ""


def _last_part(path: str) -> str:
    return _PARTED.split(path.rstrip("/\\"))[-1]


def _host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


_SUBJECTS: tuple[tuple[tuple[str, ...], Callable[[str], str]], ...] = (
    (("ticker", "symbol"), str),
    (("path", "file_path", "filename", "file"), _last_part),
    (("url", "uri"), _host),
    (("query", "question", "pattern"), str),
)


def get_tool_description(tool_name: str, args: Mapping[str, Any]) -> str:
    """Return what a tool did, in one line for people.

    >>> get_tool_description("read_file", {"path": "src/app.py", "limit": 5})
    'read_file: path src/app.py, limit 5'
    """
    known = check_mapping("args", args)
    given = ", ".join(f"{key} {_short(value)}" for key, value in known.items() if value is not None)
    line = f"{check_text('tool_name', tool_name)}: {given}" if given else check_text("tool_name", tool_name)
    return "".join(char if char.isprintable() else " " for char in line[:_DESCRIPTION])


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    return text if len(text) <= _VALUE else text[: _VALUE - 1] + "…"


def written(context: StoredContext) -> bytes:
    """Return the file of a context: JSON that people can read."""
    fields = {key: value for key, value in context._asdict().items() if value is not None or key == "result"}
    return as_json(fields, indent=2)


def as_json(value: object, indent: int | None = None) -> bytes:
    """Return a value as JSON in UTF-8; escaped where it contains lone surrogates."""
    try:
        return json.dumps(plain(value), ensure_ascii=False, indent=indent).encode()
    except UnicodeEncodeError:
        return json.dumps(plain(value), indent=indent).encode()


def size_of(result: object) -> int:
    """Return the bytes of a result: of text as it is, of anything else as JSON."""
    return len(result.encode("utf-8", "surrogatepass")) if isinstance(result, str) else len(as_json(result))


def read_back(data: bytes) -> StoredContext:
    """Return the context in a file, its keys in either spelling; `ValueError` where there is none."""
    fields = json.loads(data)
    if not isinstance(fields, dict):
        raise ValueError("no object")
    found = {_SPELLED.get(key, key): value for key, value in cast("dict[str, Any]", fields).items()}
    known = {key: found[key] for key in StoredContext._fields if key in found}
    if "result" not in known or not isinstance(known.get("args"), dict):
        raise ValueError("no result with its arguments")
    if not all(isinstance(known.get(key), str) for key in ("tool_name", "tool_description", "timestamp")):
        raise ValueError("no tool, description or time")
    return StoredContext(**known)


_SPELLED = {
    "toolName": "tool_name",
    "toolDescription": "tool_description",
    "taskId": "task_id",
    "queryId": "query_id",
}


def plain(value: object, depth: int = 0) -> Any:
    """Return a value that JSON can express: other objects become text, endless nesting is cut off."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        return value if value.bit_length() < _LONGEST_NUMBER else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if depth > _DEEPEST:
        return "…"
    if isinstance(value, Mapping):
        named = _named(cast("Mapping[object, object]", value))
        return {name: plain(each, depth + 1) for name, each in named.items()}
    if isinstance(value, list | tuple):
        return [plain(each, depth + 1) for each in cast("list[object]", value)]
    if isinstance(value, set | frozenset):  # in an order that is the same in every process
        return sorted((plain(each, depth + 1) for each in cast("set[object]", value)), key=json.dumps)
    if isinstance(value, bytes | bytearray):
        return _text_of(bytes(value))
    return str(value)


def _named(value: Mapping[object, object]) -> dict[str, object]:
    """Return the mapping with text keys; a key that would equal another gets its type added, so no value is lost."""
    named = {key: each for key, each in value.items() if isinstance(key, str)}
    found: dict[str, object] = {}
    for key, each in value.items():
        name = key if isinstance(key, str) else str(key)
        while not isinstance(key, str) and (name in named or name in found):
            name += f" ({type(key).__name__})"
        found[name] = each
    return found


def _text_of(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "base64:" + base64.b64encode(data).decode()
