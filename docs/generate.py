"""Writes the pages under `docs/reference/` that follow from the code. `make docs` runs it."""

import argparse
import inspect
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path

from docs.json_outputs import json_outputs
from docs.public_names import public_names
from keepwhole import config, errors
from keepwhole.apps.cli.main import COMMANDS
from keepwhole.apps.cli.parser import module_of
from keepwhole.truncation.configuration import ToolOverride
from keepwhole.truncation.strategy import STRATEGIES

REFERENCE = Path(__file__).parent / "reference"
DECISIONS = Path(__file__).parent / "decisions"
REPLAY = Path(__file__).parent / "howto/replay.md"
_NOTE = "<!-- Written by docs/generate.py; change the code, then run `make docs`. -->\n\n"

_EXAMPLE = """\
retrieval_limit: 32000
policy: auto
mode: on
auto:
  start: 80000
  keep:
    read: 20
rolling:
  max_age: 5
thresholds:
  warn: 0.7
models:
  my-model:
    window: 64000
proxy:
  hosts: [keepwhole.example]
tools:
  truncation:
    inline_limit: 8000
    artifact_threshold: 50000
    overrides:
      execute_command:
        inline_limit: 5000
"""


def pages() -> dict[str, str]:
    """Return every generated page by its file name."""
    made = {
        "../decisions/README.md": _decisions(),
        "cli.md": _cli(),
        "settings.md": _settings(),
        "errors.md": _errors(),
        "api.md": public_names(),
        "json.md": json_outputs(),
    }
    return {name: _NOTE + text for name, text in made.items()}


def _cli() -> str:
    lines = [
        "# Command line\n",
        "`--json` prints JSON for programs. Exit codes: 1 a check that failed, or the system; 2 wrong use;",
        "3 no such session, result or record; 4 trouble with the record. `run` exits with its command's code.\n",
    ]
    for name, summary in COMMANDS.items():
        parser = argparse.ArgumentParser(prog=f"keepwhole {name}", add_help=False)
        import_module(module_of(name)).add(parser)
        lines.append(f"## `keepwhole {name}`\n\n{_sentence(summary)}\n")
        lines += _options(parser)
    return "\n".join(lines) + "\n"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + ("" if words.endswith((".", "?")) else ".")


def _options(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help for choice in action._choices_actions}
            for name, sub in action.choices.items():
                words = summaries[name] or ""
                yield f"### `{parser.prog} {name}`\n\n{_sentence(words)}\n"
                yield from _options(sub)
        elif action.dest != "help":
            words = ", ".join(action.option_strings) or str(action.metavar or action.dest)
            value = f" {action.metavar or action.dest.upper()}" if action.option_strings and action.nargs != 0 else ""
            yield f"- `{words}{value}`: {action.help or ''}"
    yield ""


def _settings() -> str:
    lines = [
        "# Settings\n",
        "A setting is taken from the first of these that has it: the constructor, the environment, the settings file,",
        "the default. The settings file is the one that `--config` or `KEEPWHOLE_CONFIG` names, else the nearest",
        "`keepwhole.yaml` in this folder or above it, else the one in `~/.keepwhole`. An unknown key is refused with a",
        "suggestion. A map is merged with its default, so that naming one kind keeps the others.\n",
        "The variable of a key is `KEEPWHOLE_` and the key in capitals, with `_` for `.`; `tools.truncation` is left",
        "out. A list is written with commas; a map can only be given in the file.\n",
        "```yaml",
        *_EXAMPLE.splitlines(),
        "```\n",
        "| key | default | environment | means |",
        "|---|---|---|---|",
    ]
    sections = {"": config.Settings, **config.Settings.__annotations__}
    for setting in config.all_settings():
        kind = sections[setting.section]
        sentence = " ".join(_field_sentences(kind)[setting.name].split())
        if setting.name == "overrides":
            own = ", ".join(f"`{name}`" for name in ToolOverride.fields)
            lines.append(f"| `{setting.key}.<tool>` | | | {sentence} It may have {own}. |")
            continue
        variable = f"`{setting.variable}`" if setting.variable else ""
        lines.append(f"| `{setting.key}` | {_as_yaml(getattr(kind, setting.name))} | {variable} | {sentence} |")
    lines += [
        "",
        "`KEEPWHOLE_HOME` names the folder of the record; `KEEPWHOLE_SESSION` the session of the command line.\n",
        "Strategies: " + ", ".join(f"`{name}`" for name in STRATEGIES) + ".",
    ]
    return "\n".join(lines) + "\n"


def _as_yaml(default: object) -> str:
    """A default as one would write it into the settings file; nothing where it is empty.

    >>> _as_yaml(True), _as_yaml({"shell": 8_000}), _as_yaml(()), _as_yaml(0.05)
    ('`true`', '`{shell: 8000}`', '', '`0.05`')
    """
    if default is None or default == "" or default == () or default == {}:
        return ""
    if isinstance(default, Mapping):
        inside = ", ".join(f"{key}: {_as_yaml(value).strip('`')}" for key, value in default.items())
        return f"`{{{inside}}}`" if inside else ""
    if isinstance(default, (tuple, list)):
        return f"`[{', '.join(map(str, default))}]`"
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _field_sentences(kind: type) -> dict[str, str]:
    """The string under each field of a class."""
    import ast
    import textwrap

    body = ast.parse(textwrap.dedent(inspect.getsource(kind))).body[0]
    assert isinstance(body, ast.ClassDef)
    found: dict[str, str] = {}
    for here, after in zip(body.body, [*body.body[1:], None], strict=True):
        if isinstance(here, ast.AnnAssign) and isinstance(here.target, ast.Name):
            is_string = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            found[here.target.id] = str(after.value.value) if is_string else ""  # type: ignore[union-attr]
    return found


def _errors() -> str:
    tree = (errors.__doc__ or "").split("\n\n")[1]
    lines = ["# Errors\n", "```text", tree, "```\n"]
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, errors.KeepwholeError):
            lines.append(f"- `{name}`: {inspect.getdoc(kind)}")
    lines.append("\nEvery error has `for_model`: one sentence for the model, with the next call in it.")
    return "\n".join(lines) + "\n"


def _run_replay() -> str:
    """Run `keepwhole replay` on the made-up sessions; return what it prints."""
    command = [sys.executable, "-m", "keepwhole", "replay", "--sample", "--missed"]
    environ = {**os.environ, "COLUMNS": "100"}
    return subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout.rstrip()


def with_output(page: str, output: str) -> str:
    """The page of a replay, with what the command prints in its first block of text."""
    before, opening, rest = page.partition("```text\n")
    _, closing, after = rest.partition("\n```\n")
    if not opening or not closing:
        raise SystemExit(f"{REPLAY} needs a block that begins with ```text.")
    return before + opening + output + closing + after


def _decisions() -> str:
    """The index of all decisions."""
    lines = [
        "# Decisions",
        "",
        "What was decided, why, and what was tried. Newer ones supersede older ones.",
        "",
        "| | decision |",
        "|---|---|",
    ]
    for path in sorted(DECISIONS.glob("[0-9]*.md")):
        number, _, title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").partition(". ")
        lines.append(f"| {number} | [{title}]({path.name}) |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    for file, text in pages().items():
        (REFERENCE / file).write_text(text, encoding="utf-8")
    REPLAY.write_text(with_output(REPLAY.read_text(encoding="utf-8"), _run_replay()), encoding="utf-8")
