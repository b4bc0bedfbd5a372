"""The generated reference leaves nothing out: every command with JSON has a schema, every public module its names."""

import ast
import re
from pathlib import Path

import keepwhole
from docs import generate, json_outputs, public_modules, public_names

ROOT = Path(__file__).parent.parent
SOURCE = Path(str(keepwhole.__file__)).parent


def test_every_command_that_prints_json_has_a_schema_or_a_reason() -> None:
    taken = json_outputs.commands_with_json()
    run = {name for name in taken for one in json_outputs.RUN if f"{one} ".startswith(f"{name} ")}
    assert len(taken) >= 30
    assert taken - run - set(json_outputs.WITHOUT) == set()
    assert set(json_outputs.WITHOUT) <= taken


def test_no_field_has_a_space_or_two_spellings() -> None:
    page = (ROOT / "docs/reference/json.md").read_text(encoding="utf-8")
    fields = set(re.findall(r'"([^"\n]+)": \{"?', page))
    assert {"artifact_id", "is_error", "trace_id"} <= fields
    assert not {name for name in fields if " " in name}
    assert not fields & {"error", "size", "artifactId", "original_size", "strategy_used"}


def test_elements_of_a_list_that_differ_are_described_together() -> None:
    schema = json_outputs.schema_of([{"a": 1, "b": None}, {"a": 2.5, "b": [1]}, {"a": 3}])["items"]
    assert schema["properties"] == {
        "a": {"type": "number"},
        "b": {"type": ["array", "null"], "items": {"type": "integer"}},
    }
    assert schema["required"] == ["a"]


def test_every_module_that_a_page_imports_from_is_in_the_reference() -> None:
    pages = "\n".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs").rglob("*.md"))
    imported = set(re.findall(r"^from keepwhole\.((?:integrations|standalone)\.\w+) import", pages, re.M))
    listed = {name for name, _ in public_modules.MODULES}
    assert imported - listed <= {"standalone.contexts", "standalone.truncate"}
    assert all(not isinstance(page, ast.AST) and (ROOT / "docs" / page).exists() for _, page in public_modules.MODULES)


def test_every_method_of_a_session_has_an_example_that_calls_it() -> None:
    page = public_names.public_names()
    methods = re.findall(r"^### `Session\.(\w+)`", page, re.M)
    assert len(methods) > 20
    for name in methods:
        example = page.split(f"### `Session.{name}`")[1].split("```python")[1].split("```")[0]
        assert f".{name}(" in example or name == "close", name


def test_the_page_of_a_replay_has_the_output_once_however_often_it_is_written() -> None:
    page = generate.REPLAY.read_text(encoding="utf-8")
    output = page.partition("```text\n")[2].partition("\n```\n")[0]
    assert "Recommended: " in output
    assert page.count("Recommended: ") == 1
    assert generate.with_output(page, output) == page
    other = generate.with_output(page, "So far nothing.")
    assert generate.with_output(generate.with_output(page, "So far nothing."), "So far nothing.") == other
    assert generate.with_output(other, output) == page
