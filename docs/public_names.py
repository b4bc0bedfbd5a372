"""Writes `docs/reference/api.md`: every public name with signature, purpose and example, and what is stable."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, get_overloads

import keepwhole
from docs.public_modules import modules, returned

_STABLE = """\
# Public names

These are stable from 1.0 on, and change before that only with a line in the changelog: the ten names of `keepwhole`
below with their parameters, the command line with its options, exit codes and [JSON](json.md), the
[settings](settings.md), and the format of the record, which every later version reads.
[What the methods return](#what-the-methods-return) is stable with its attributes.

`keepwhole.integrations.*`, `keepwhole.standalone` and `keepwhole.testing` are [public](#other-public-modules) and may
still change. Everything else is internal, even if a page imports it.

"""
_EXAMPLES = {
    "KeepwholeError": """
try:
    keepwhole.session("reference").recall("art_1_unknown")
except keepwhole.KeepwholeError as error:
    assert error.for_model  # one sentence for the model; `str(error)` is for you
""",
    "MemoryStore": """
with keepwhole.session("in-memory", store=keepwhole.MemoryStore()) as s:
    s.keep("bash", {"command": "ls"}, "a.txt\\n")  # gone with the object; for tests
""",
    "NotFound": """
try:
    keepwhole.session("reference").recall("art_1_unknown")
except keepwhole.NotFound as error:
    assert "artifacts list" in str(error)
""",
    "NotStored": """
with keepwhole.session("reference") as s:
    try:
        s.keep("bash", {"command": "ls"}, "a.txt\\n", on_trouble="raise")  # else it is shown in full instead
    except keepwhole.NotStored:
        print("the disk is full, the folder read-only or the quota used up")
""",
    "Session": """
s = keepwhole.Session("reference")  # or `with keepwhole.Session("reference") as s:`, which closes it
shown = s.keep("bash", {"command": "seq 9000"}, "".join(f"{n}\\n" for n in range(1, 9_001)))
assert s.recall(shown.artifact_id, lines="5000-5001") == "5000\\n5001\\n"
""",
    "SqliteStore": """
with keepwhole.session("elsewhere", store=keepwhole.SqliteStore("my-record")) as s:
    s.keep("bash", {"command": "ls"}, "a.txt\\n")
""",
    "async_http_client": """
client = keepwhole.async_http_client()  # AsyncAnthropic(http_client=client), AsyncOpenAI(http_client=client)
""",
    "http_client": """
client = keepwhole.http_client()  # Anthropic(http_client=client), OpenAI(http_client=client)
""",
    "session": """
with keepwhole.session("reference", agent="my-agent") as s:
    assert s.keep("bash", {"command": "ls"}, "a.txt\\n").content == "a.txt\\n"
""",
    "truncate": """
short = keepwhole.truncate("line\\n" * 9_000, limit=1_000)
assert len(short) <= 1_000
""",
}

_CALLS = {
    "answer": """
call = {"type": "tool_use", "id": "c1", "name": "get_artifact", "input": {"id": shown.artifact_id, "lines": "1-2"}}
assert s.answer(call)["tool_use_id"] == "c1"  # None for a call of your own tools
""",
    "artifacts": """
assert shown.artifact_id in [one.artifact_id for one in s.artifacts()]
""",
    "call_tool": """
assert s.call_tool("get_artifact", {"id": shown.artifact_id, "pattern": "8999"}).is_error is False
""",
    "close": """
with keepwhole.Session("reference") as other:  # leaving the block closes it
    assert other.recall(shown.trace_id) == s.recall(shown.trace_id)
""",
    "end": """
scratch = keepwhole.Session("scratch", ephemeral=True)
scratch.keep("bash", {"command": "ls"}, "a.txt\\n")
scratch.end()  # purged
""",
    "forget": """
secret = s.keep("bash", {"command": "env"}, "TOKEN=x\\n")
assert s.forget(secret.trace_id) == 1
""",
    "hydrate": """
messages = [
    {"role": "user", "content": "Which line is in the middle?"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c2", "name": "bash", "input": {"command": "wc"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "9000 lines"}]},
]
assert s.hydrate(messages) == messages  # nothing in them was shortened
""",
    "keep": """
kept = s.keep("bash", {"command": "make"}, "error: no rule\\n", exit_code=2, call_id="c3", question="Why does it fail?")
assert kept.is_error and kept.block("anthropic")["tool_use_id"] == "c3"
""",
    "keep_media": """
from keepwhole.canonical.media import MediaBytes

(image,) = s.keep_media("screenshot", {}, [MediaBytes("image/png", b"\\x89PNG...")])
assert s.recall_bytes(image) == b"\\x89PNG..."
""",
    "open": """
with s.open(shown.artifact_id) as reader:
    assert reader.lines == 9_000 and reader.line_range(2, 3) == "2\\n3\\n"
""",
    "pin": """
assert s.pin(shown.trace_id) > 1_000  # tokens
""",
    "projection": """
seen = s.projection(messages, model="claude-sonnet-5")
assert seen.account.results == 1 and seen.edits == ()
""",
    "recall": """
assert s.recall(shown.artifact_id, lines="5000-5001") == "5000\\n5001\\n"
assert s.recall(shown.trace_id, chars="0-4") == "1\\n2\\n"
""",
    "recall_bytes": """
assert s.recall_bytes(shown.artifact_id).startswith(b"1\\n2\\n")
""",
    "select": """
assert "no rule" in s.select("error: no rule", budget=500).text
""",
    "settle": """
sent = s.view(messages, model="claude-sonnet-5", settles=True)  # answers before it is recorded
s.settle()
""",
    "shown": """
assert s.shown(kept.trace_id).content == kept.content
""",
    "stream": """
assert b"".join(s.stream(shown.artifact_id)) == s.recall_bytes(shown.artifact_id)
""",
    "tools": """
assert "get_artifact" in [tool["name"] for tool in s.tools("anthropic")]
""",
    "tools_to_offer": """
offered = s.tools_to_offer("anthropic")  # none until something is left out, with `recall_from: need`
""",
    "undo": """
assert s.undo(shown.artifact_id) > 1_000  # tokens
""",
    "verify": """
assert s.verify().whole
""",
    "view": """
assert s.view(messages, model="claude-sonnet-5") == messages  # short enough to be sent unchanged
s.end()
""",
}
"""A call of each method, in the order of the page; `s` and `shown` are those of the example above them."""


def public_names() -> str:
    """The page."""
    lines = [_STABLE, "```python\nimport keepwhole\n```\n"]
    for name in keepwhole.__all__:
        thing = getattr(keepwhole, name)
        is_class = inspect.isclass(thing)
        lines += [
            f"## `keepwhole.{name}`\n",
            f"```text\n{'class ' if is_class else ''}{_signature(name, thing)}\n```\n",
        ]
        lines += [f"{inspect.getdoc(thing)}\n", f"```python\n{_EXAMPLES[name].strip()}\n```\n"]
        if name == "Session":
            lines += _methods(thing)
    lines += [*returned(), *modules()]
    return "\n".join(lines).rstrip() + "\n"


def _methods(kind: type) -> Iterator[str]:
    """The methods with their signatures; the async twins in one sentence, since they have the same."""
    members = [(name, method) for name, method in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"]
    names = {name for name, _ in members}
    for name, method in members:
        if not (name.startswith("a") and name[1:] in names):
            yield f"### `Session.{name}`\n\n```text\n{_signature(name, method)}\n```\n\n{_first_sentences(method)}\n"
            yield f"```python\n{_CALLS[name].strip()}\n```\n"
    twins = ", ".join(f"`{name}`" for name in sorted(names) if name.startswith("a") and name[1:] in names)
    yield f"Without blocking the event loop, with the same parameters: {twins}.\n"


def _first_sentences(method: Callable[..., Any]) -> str:
    return (inspect.getdoc(method) or "").split("\n\n")[0].replace("\n", " ")


def _signature(name: str, thing: Callable[..., Any]) -> str:
    """The signatures as they are written in the source, one parameter a line where one is long."""
    function: Any = thing.__init__ if inspect.isclass(thing) else inspect.unwrap(thing)
    return "\n".join(_written(name, one, inspect.isclass(thing)) for one in get_overloads(function) or [function])


def _written(name: str, function: Callable[..., Any], is_class: bool) -> str:
    (written,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(written, (ast.FunctionDef, ast.AsyncFunctionDef))
    given = [one for one in _parameters(written.args, inspect.unwrap(function).__globals__) if one != "self"]
    result = "" if written.returns is None or is_class else f" -> {_type(written.returns)}"
    short = f"{name}({', '.join(given)}){result}"
    return short if len(short) <= 100 else "\n".join([f"{name}(", *(f"    {one}," for one in given), f"){result}"])


def _parameters(args: ast.arguments, known: Mapping[str, Any]) -> Iterator[str]:
    """Each parameter with its type and default, in order; options by name are listed one by one."""
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    yield from (_parameter(*pair) for pair in zip(positional, defaults, strict=True))
    if args.vararg is not None:
        yield f"*{_parameter(args.vararg, None)}"
    elif args.kwonlyargs:
        yield "*"
    yield from (_parameter(*pair) for pair in zip(args.kwonlyargs, args.kw_defaults, strict=True))
    if args.kwarg is not None:
        options = _options(args.kwarg.annotation, known)
        yield from ["*"] if options and not (args.vararg or args.kwonlyargs) else []
        yield from options or [f"**{_parameter(args.kwarg, None)}"]


def _options(annotation: ast.expr | None, known: Mapping[str, Any]) -> list[str]:
    """The options of `**options: Unpack[Options]`; none where it is written otherwise."""
    if not (isinstance(annotation, ast.Subscript) and ast.unparse(annotation.value) == "Unpack"):
        return []
    (written,) = ast.parse(inspect.getsource(known[ast.unparse(annotation.slice)])).body
    assert isinstance(written, ast.ClassDef)
    fields = [field for field in written.body if isinstance(field, ast.AnnAssign)]
    return [f"{ast.unparse(field.target)}: {_type(field.annotation)} = …" for field in fields]


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    typed = f"{one.arg}: {_type(one.annotation)}" if one.annotation is not None else one.arg
    return typed if default is None else f"{typed} = {ast.unparse(default)}"


def _type(annotation: ast.expr) -> str:
    return ast.unparse(annotation).strip("'")
