"""The sections of `docs/reference/api.md` that are read from the source without importing it: what the methods of
`Session` return, and the names of the adapters, whose frameworks are not installed here.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import keepwhole

_SOURCE = Path(keepwhole.__file__ or "").parent
_READER = ("close", "read", "text", "stream", "line_range")
"""The methods of `BodyReader` for programs; the others serve strategies."""
RETURNED = (
    ("record/kept_result.py", "KeptResult", "truncation/result.py", "TruncationResult"),
    ("truncation/result.py", "TruncationMetadata"),
    ("policies/account.py", "Projection"),
    ("policies/account.py", "Account"),
    ("policies/account.py", "Edit"),
    ("recall/selection.py", "Selection"),
    ("recall/selection.py", "SelectedUnit"),
    ("recall/answer.py", "RecallAnswer"),
    ("recall/answer.py", "StoredArtifact"),
    ("store/verify.py", "Verification"),
    ("store/verify.py", "Finding"),
    ("store/reader.py", "BodyReader"),
)
"""Each class by its file, followed by the class that it inherits attributes from."""
MODULES = (
    ("integrations.langchain", "howto/langchain.md"),
    ("integrations.openai_agents", "howto/openai-agents.md"),
    ("integrations.pydantic_ai", "howto/pydantic-ai.md"),
    ("integrations.claude_agent", "howto/claude-agent-sdk.md"),
    ("integrations.google_adk", "howto/google-adk.md"),
    ("integrations.strands", "howto/strands.md"),
    ("integrations.agent_framework", "howto/agent-framework.md"),
    ("integrations.litellm", "howto/litellm.md"),
    ("integrations.anthropic_bedrock", "howto/providers.md"),
    ("integrations.bedrock", "howto/providers.md"),
    ("integrations.loop", "howto/adapters.md"),
    ("standalone.processor", "howto/processor.md"),
    ("standalone.retention", "howto/retention.md"),
    ("standalone.rolling", "howto/rolling.md"),
    ("standalone.context_window", "howto/retention.md"),
    ("standalone.normalize", "howto/conversations.md"),
    ("standalone.transport_limiter", "howto/conversations.md"),
    ("standalone.contexts.persistence", "howto/contexts.md"),
)
"""The other public modules, and the page with an example that runs."""


def returned() -> Iterator[str]:
    """What the methods of a session return, attribute by attribute."""
    yield "## What the methods return\n"
    for file, name, *base in RETURNED:
        kind = _class(file, name)
        yield f"### `{name}`\n\n{_first(kind)}\n"
        rows = [*(_attributes(_class(*base)) if base else ()), *_attributes(kind)]
        if rows:
            yield "\n".join(["| attribute | type | |", "|---|---|---|", *rows, ""])
        methods = [one for one in _functions(kind) if not _is_property(one)]
        if name == "BodyReader":
            methods = [one for one in methods if one.name in _READER]
        if methods:
            yield "\n".join(f"- `{_signature(one)}`: {_first(one)}" for one in methods) + "\n"


def modules() -> Iterator[str]:
    """The functions and classes of the other public modules."""
    yield "## Other public modules\n\nThe page of each has an example that runs.\n"
    for name, page in MODULES:
        tree = ast.parse((_SOURCE / (name.replace(".", "/") + ".py")).read_text(encoding="utf-8"))
        yield f"### `keepwhole.{name.removesuffix('.persistence')}`\n\nSee [{_title(page)}](../{page}).\n"
        for node in _last_of_each(tree):
            if isinstance(node, ast.ClassDef):
                start = next(
                    (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None
                )
                words = _signature(start, node.name) if start else f"{node.name}({', '.join(_fields(node, tree))})"
                yield f"```text\nclass {words}\n```\n\n{_first(node)}\n"
                methods = [one for one in _functions(node) if _first(one) and not _is_property(one)]
                if methods:
                    yield "\n".join(f"- `{_signature(one)}`: {_first(one)}" for one in methods) + "\n"
            else:
                yield f"```text\n{_signature(node)}\n```\n\n{_first(node)}\n"


def _title(page: str) -> str:
    text = (Path(__file__).parent / page).read_text(encoding="utf-8")
    return text.partition("\n")[0].removeprefix("# ")


def _last_of_each(tree: ast.Module) -> list[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """The public names of a module; of overloads, the last one."""
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return list({node.name: node for node in tree.body if isinstance(node, kinds) and node.name[0] != "_"}.values())


def _class(file: str, name: str) -> ast.ClassDef:
    tree = ast.parse((_SOURCE / file).read_text(encoding="utf-8"))
    return next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name)


def _functions(kind: ast.ClassDef) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [one for one in kind.body if isinstance(one, kinds) and one.name[0] != "_"]


def _is_property(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "property" for one in function.decorator_list)


def _attributes(kind: ast.ClassDef) -> Iterator[str]:
    """A row for each field and property, with the sentence under it."""
    for here, after in zip(kind.body, [*kind.body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name) and here.target.id[0] != "_":
            told = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) and after.value.value
            yield _row(here.target.id, here.annotation, str(told or ""))
        elif isinstance(here, ast.FunctionDef) and _is_property(here) and here.name[0] != "_":
            yield _row(here.name, here.returns, _first(here))


def _row(name: str, kind: ast.expr | None, words: str) -> str:
    written = ast.unparse(kind).strip("'\"") if kind is not None else ""
    return f"| `{name}` | `{written}` | {' '.join(words.split())} |".replace(" | None`", " or None`")


def _fields(kind: ast.ClassDef, module: ast.Module) -> list[str]:
    """The fields of a class, after those of its bases in the same module."""
    names = {base.id for base in kind.bases if isinstance(base, ast.Name)}
    bases = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name in names]
    own = [ast.unparse(one) for one in kind.body if isinstance(one, ast.AnnAssign)]
    return [*(field for base in bases for field in _fields(base, module)), *own]


def _signature(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str = "") -> str:
    args = ast.unparse(function.args).replace("self, ", "", 1).removeprefix("self")
    result = f" -> {ast.unparse(function.returns)}" if function.returns is not None and not name else ""
    before = "async " if isinstance(function, ast.AsyncFunctionDef) else ""
    return f"{before}{name or function.name}({args}){result}"


def _first(node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())
