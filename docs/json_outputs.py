"""Writes `docs/reference/json.md`: the JSON Schema of what each command prints with `--json`, from real output.

Every command that has the option runs over a made-up record. The schema says which fields there are and of what types:
all elements of a list count, and a field that only some of them have is not among the required ones.
"""

import argparse
import contextlib
import io
import json
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import keepwhole
from keepwhole import config
from keepwhole.apps.cli.main import COMMANDS, main
from keepwhole.apps.cli.parser import module_of
from keepwhole.apps.inspector.sample import play
from keepwhole.replay.samples.files import write_samples

NOW = 1_790_000_000
RUN = (
    "artifacts list",
    "artifacts search pilot",
    "artifacts show ID",
    "artifacts collect",
    "config show",
    "config check",
    "cut big.txt",
    "cut big.txt --compare",
    "doctor",
    "explain",
    "run --session mine -- seq 9000",
    "report",
    "report --tools",
    "replay logs --jobs 1",
    "import logs",
    "rolling-context status",
    "search pilot",
    "sent",
    "sent REQUEST",
    "sessions list",
    "sessions show",
    "sessions verify",
    "sessions export mine -o mine.archive",
    "show ID",
    "show ID --lines 1-2",
    "trace show ID",
    "status",
    "view messages.json",
    "undo ID",
    "undo",
    "store backup all.backup",
    "store restore all.backup --into other",
    "store copy home third",
    "sessions import mine.archive --as again",
    "forget ID --yes",
    "sessions purge mine --yes",
    "artifacts clean",
)
"""In this order, since some change what others print."""
SILENT = ("sessions export mine -o mine.archive",)
"""Commands that print nothing, and make what a later one reads."""
WITHOUT = {
    "keep": "the fields of `run`, without `exit_code`",
    "sessions export": "what it writes is the session itself",
    "store migrate": "`store`, `ran` (the migrations) and `granted`; it needs a server",
}
"""Commands that take the option, and why there is no schema of theirs."""
_WIDTH = 110
"""Columns that a part of a schema may take to be on one line."""
_MESSAGES = [{"role": "user", "content": "What is in it?"}]
_HEAD = """\
# JSON outputs

Every command with `--json` prints one line of JSON. Fields may be added; none is renamed or removed without a line in
the changelog. The same thing has the same name everywhere:

| field | means |
|---|---|
| `session` | the name of a session |
| `artifact_id`, `trace_id` | the two ids of a result; every command that takes one takes the other |
| `seq`, `step` | the number of an entry in its session, from 1; the number of a result among the results |
| `bytes`, `chars`, `lines`, `tokens` | sizes; tokens are estimated unless a provider has billed them |
| `shown_chars`, `left_out_chars` | how much of it is shown, and how much is not |
| `at`, `began_at`, `ended_at` | milliseconds since 1970 |
| `tool`, `arguments`, `exit_code`, `is_error` | the call, and how it ended |
| `strategy`, `rule`, `policy` | how a text was cut, why it was, and what the user decided |
| `content` | the part of a result's text that was asked for |

When they are asked for a part, `show`, `trace show` and `artifacts show` print the same fields; so do
`search --by words` and `artifacts search`. The schemas are made from what each command prints for a made-up record;
`any` marks a field that was null or empty there.
"""


def json_outputs() -> str:
    """The page."""
    lines = [_HEAD]
    for command, printed in _outputs():
        schema = "\n".join(_lines(schema_of(printed)))
        words = command.replace("REQUEST", "req_…").replace("ID", "art_…")
        if " -- " in words:
            own, _, rest = words.partition(" -- ")
            words = f"{own} --json -- {rest}"
        else:
            words += " --json"
        lines.append(f"## `keepwhole {words}`\n\n```text\n{schema}\n```\n")
    lines += ["## Without a schema here\n", *(f"- `keepwhole {name}`: {why}." for name, why in WITHOUT.items())]
    return "\n".join(lines).rstrip() + "\n"


def commands_with_json() -> set[str]:
    """Every command and action that takes `--json`, from the parsers."""

    def below(parser: argparse.ArgumentParser, path: str) -> Iterator[str]:
        inner = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
        if not inner and "--json" in parser._option_string_actions:
            yield path
        for one in inner:
            for name, sub in one.choices.items():
                yield from below(sub, f"{path} {name}")

    found: set[str] = set()
    for name in COMMANDS:
        parser = argparse.ArgumentParser()
        import_module(module_of(name)).add(parser)
        found.update(below(parser, name))
    return found


def schema_of(value: Any) -> dict[str, Any]:
    """The JSON Schema of a value; all elements of a list count.

    >>> schema_of([{"bytes": 1}, {"bytes": None}])["items"]["properties"]
    {'bytes': {'type': ['integer', 'null']}}
    """
    if isinstance(value, dict):
        schema = {"type": "object", "properties": {key: schema_of(inner) for key, inner in value.items()}}
        return {**schema, "required": list(value)}
    if isinstance(value, list):
        items: dict[str, Any] = {}
        for one in value:
            items = _merged(items, schema_of(one))
        return {"type": "array", **({"items": items} if items else {})}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return {"type": kinds[type(value)]}


def _merged(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    """The schema of values that either describes."""
    if not one or one == other:
        return other
    types = sorted({*_types(one), *_types(other)}, key=lambda name: (name == "null", name))
    if "number" in types and "integer" in types:
        types.remove("integer")
    merged: dict[str, Any] = {"type": types[0] if len(types) == 1 else types}
    if "items" in one or "items" in other:
        merged["items"] = _merged(one.get("items", {}), other.get("items", {})) or {}
    mine, theirs = one.get("properties"), other.get("properties")
    if mine is not None or theirs is not None:
        both = {**(mine or {}), **(theirs or {})}
        merged["properties"] = {
            name: _merged((mine or {}).get(name, {}), (theirs or {}).get(name, {})) or both[name] for name in both
        }
        required = [set(each["required"]) for each in (one, other) if "required" in each]
        merged["required"] = [name for name in both if all(name in each for each in required)]
    return merged


def _lines(value: Any, before: str = "", indent: str = "") -> Iterator[str]:
    """A value as JSON: what fits is on one line, and so is every list of names."""
    short = indent + before + json.dumps(value, ensure_ascii=False)
    if not isinstance(value, dict) or len(short) <= _WIDTH:
        yield short
        return
    yield f"{indent}{before}{{"
    for number, (name, inner) in enumerate(value.items(), 1):
        lines = list(_lines(inner, f"{json.dumps(name)}: ", indent + " "))
        lines[-1] += "," if number < len(value) else ""
        yield from lines
    yield indent + "}"


def _types(schema: dict[str, Any]) -> list[str]:
    found = schema.get("type", [])
    return [found] if isinstance(found, str) else found


def _outputs() -> Iterator[tuple[str, Any]]:
    """What each command prints, over a record of its own."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        environ = {key: value for key, value in os.environ.items() if not key.startswith("KEEPWHOLE_")}
        environ |= {"HOME": folder, "KEEPWHOLE_HOME": f"{folder}/home"}
        with patch.dict(os.environ, environ, clear=True):
            names = _record(Path(folder))
            for command in RUN:
                printed = _printed([names.get(word, word) for word in command.split()])
                if command not in SILENT:
                    yield command, json.loads(printed)


def _printed(words: list[str]) -> str:
    at = words.index("--") if "--" in words else len(words)
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        main([*words[:at], "--json", *words[at:]])
    return out.getvalue()


def _record(folder: Path) -> dict[str, str]:
    """Make a record with a made-up session, and the files that commands read; return the ids that commands name."""
    text = "".join(f"line {number}\n" for number in range(9_000)) + "the needle\n"
    (folder / "big.txt").write_text(text)
    (folder / "messages.json").write_text(json.dumps(_MESSAGES))
    (folder / "logs").mkdir()
    write_samples(folder / "logs")
    settings = config.load()
    store = config.open_record(settings)
    name = play(settings, store, NOW)
    request = next(iter(store.rows(name, kind="request"))).trace_id
    store.close()
    os.environ["KEEPWHOLE_SESSION"] = name
    with keepwhole.session(name) as session:
        return {"ID": session.artifacts()[0].artifact_id, "REQUEST": request}


if __name__ == "__main__":
    sys.stdout.write(json_outputs())
