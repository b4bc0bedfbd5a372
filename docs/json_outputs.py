"""Writes `docs/reference/json.md`: the JSON Schema of what each command prints with `--json`, from real output.

Every command runs over a small record that is made for it. The schema says which fields there are and of what type; a
field that is null in the small record may be of another type elsewhere, which is written as "any".
"""

import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import keepwhole
from keepwhole.apps.cli.main import main

COMMANDS = (
    "artifacts list",
    "artifacts search needle",
    "config show",
    "cut big.txt",
    "doctor",
    "explain",
    "report",
    "search needle",
    "sent",
    "sessions list",
    "sessions show",
    "sessions verify",
    "show ID",
    "show ID --lines 1-2",
    "status",
    "view messages.json",
)
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
| `at`, `began_at`, `ended_at` | milliseconds since 1970 |
| `tool`, `arguments`, `exit_code`, `is_error` | the call, and how it ended |
| `content` | text of a result, as it was asked for |

Asked for a part, `show`, `trace show` and `artifacts show` print the same fields; so do `search --by words` and
`artifacts search`. An `any` was null in the record that this page is made from.
"""


def json_outputs() -> str:
    """The page."""
    lines = [_HEAD]
    for command, printed in _outputs():
        schema = json.dumps(schema_of(printed), indent=1)
        lines.append(f"## `keepwhole {command.replace('ID', 'art_…')} --json`\n\n```text\n{schema}\n```\n")
    return "\n".join(lines).rstrip() + "\n"


def schema_of(value: Any) -> dict[str, Any]:
    """The JSON Schema of a value.

    >>> schema_of([{"bytes": 1}])
    {'type': 'array', 'items': {'type': 'object', 'properties': {'bytes': {'type': 'integer'}}}}
    """
    if isinstance(value, dict):
        return {"type": "object", "properties": {key: schema_of(inner) for key, inner in value.items()}}
    if isinstance(value, list):
        return {"type": "array", **({"items": schema_of(value[0])} if value else {})}
    if value is None:
        return {"description": "any"}
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string"}
    return {"type": kinds[type(value)]}


def _outputs() -> Iterator[tuple[str, Any]]:
    """What each command prints, over a record of its own."""
    with TemporaryDirectory() as folder, contextlib.chdir(folder):
        environ = {key: value for key, value in os.environ.items() if not key.startswith("KEEPWHOLE_")}
        environ |= {"HOME": folder, "KEEPWHOLE_HOME": f"{folder}/home"}
        with patch.dict(os.environ, environ, clear=True):
            artifact = _record(Path(folder))
            for command in COMMANDS:
                words = [artifact if word == "ID" else word for word in command.split()]
                out = io.StringIO()
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
                    main([*words, "--json"])
                yield command, json.loads(out.getvalue())


def _record(folder: Path) -> str:
    """Make a record with one long result, and the files that commands read; return the result's id."""
    text = "".join(f"line {number}\n" for number in range(9_000)) + "the needle\n"
    (folder / "big.txt").write_text(text)
    (folder / "messages.json").write_text(json.dumps(_MESSAGES))
    with keepwhole.session("example", store=str(folder / "home")) as session:
        session.view(_MESSAGES, model="claude-sonnet-5")
        return session.keep("bash", {"command": "make"}, text, exit_code=0).artifact_id
