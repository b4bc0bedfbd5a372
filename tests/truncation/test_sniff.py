"""What each kind of text looks like, and what merely resembles it."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.rows import rows
from keepwhole.truncation.sniff import sniff
from keepwhole.truncation.strategy import StrategyOptions

CODEX = "Chunk ID: 0a1b2c\nWall time: 0.1 seconds\nProcess exited with code 0\nOriginal token count: 9\nOutput:\n"
SHELL = "Exit code: 0\nWall time: 0.2 seconds\nOutput:\n"
PROSE = "The lock is taken by whoever comes first, and the others wait for it.\n"


def kind_of(text: str) -> str:
    return sniff(TextSource(text))


def repeated(line: str, times: int = 40) -> str:
    return "".join(line.format(n=n, s=n % 60) + "\n" for n in range(times))


@pytest.mark.parametrize(
    "line",
    [
        "{n:06} 2026-03-04T12:00:{s:02}.553795Z INFO cache miss for key k{n}",
        "2026-03-04 12:00:{s:02},123 worker: took {n} ms",
        "[2026-03-04T12:00:{s:02}Z] request {n} done",
        "[12:00:{s:02}] request {n} done",
        "[INFO] request {n} done",
        "[worker-{n}] INFO: request done",
        "info: request {n} done",
        "warn[cache]: request {n} was slow",
        'time="2026-03-04" level=info msg="request {n} done"',
        "Mar  4 12:00:{s:02} host sshd[{n}]: session opened",
        "mar 04 12:00:{s:02} web-1 systemd[1]: WARN unit {n} failed".replace("mar", "Mar"),
        "03-04 12:00:{s:02}.123  1000  1001 D Tag: value {n}",
        "D/Tag( {n}): value",
        "I0304 12:00:{s:02}.000000 1 server.go:{n}] ready",
        '10.0.0.{n} - - [04/Mar/2026:12:00:{s:02} +0000] "GET /a HTTP/1.1" 200 12',
        "web-1  | handled request {n}",
        "db | checkpoint {n} complete",
        "test\tRun tests\t2026-03-04T12:00:{s:02}.1Z go: downloading example.com/m v1.{n}.0",
    ],
)
def test_lines_with_a_time_a_level_or_a_service_are_a_log(line: str) -> None:
    assert kind_of(repeated(line)) == "log"


@pytest.mark.parametrize(
    "text",
    [
        "===== test session starts =====\ncollected 9 items\n\n" + repeated("tests/test_a.py::test_{n} PASSED [ 10%]"),
        "running 40 tests\n" + repeated("test store::tests::case_{n} ... ok") + "\ntest result: ok. 40 passed\n",
        "PASS src/a.test.ts\n" + repeated("  ✓ adds {n} (2 ms)") + "Tests:       40 passed, 40 total\n",
        repeated("=== RUN   TestThing{n}\n    thing_test.go:{n}: got 1\n--- PASS: TestThing{n} (0.00s)"),
        repeated("ok  \texample.com/m/pkg{n}\t0.{n}s"),
        "[test] $ go test ./...\n" + repeated("ok  \texample.com/m/pkg{n}\t(cached) [no tests to run]"),
        repeated("src/main.c:{n}:5: error: expected ';' before 'x'"),
        repeated("src/app.ts({n},9): error TS2322: Type 'a' is not assignable to type 'b'."),
        repeated("cmd/run.go:{n}:2: G104: errors unhandled (gosec)"),
        repeated("make[1]: Entering directory '/src/m{n}'"),
        repeated("@scope/core test: (pass) store > keeps item {n} [1.02ms]"),
        "> app@1.0.0 build\n" + repeated("npm warn deprecated thing@{n}"),
    ],
)
def test_runs_of_tests_and_builds_are_logs(text: str) -> None:
    assert kind_of(text) == "log"


@pytest.mark.parametrize(
    "text",
    [
        "<status>done</status>\n<id>7</id>\n<output>\n" + PROSE * 40 + "</output>",
        "<system>Tool ran without output</system>\n" + PROSE * 40 + "</p>",
        "<file_contents>\nif a < b && c > d:\n" + PROSE * 90 + "</file_contents>",
        "<div className={style}>\n" + "  <Row key={n} />\n" * 60 + "</div>",
        "<!DOCTYPE html>\n<html>" + "<br>" * 900 + "</html>",
        '<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e "x">]><a>' + "<b>1</b>" * 900 + "</a>",
    ],
)
def test_tags_alone_do_not_make_xml(text: str) -> None:
    assert kind_of(text) != "xml"


@pytest.mark.parametrize(
    "text",
    [
        '<?xml version="1.0"?>\n<!-- <b> --><a x="1">' + "<b>1</b>" * 900 + "</a>\n",
        "<a>" + "<b/>" * 20 + "</a>" + " " * 900,
        "<file_contents>" + PROSE * 200 + "</file_contents>",
    ],
)
def test_one_element_round_everything_is_xml(text: str) -> None:
    assert kind_of(text) == "xml"


@pytest.mark.parametrize(
    "text",
    [
        "[test] $ go vet ./...\n" + PROSE * 30 + "[done]",
        "[12:00:01] started\n" + PROSE * 30 + "[12:00:09]",
        "[2026-03-04] notes\n" + PROSE * 30 + "[end]",
        "[1] first item\n" + PROSE * 30 + "[2]",
        json.dumps({"a": 1}, indent=2) + "\n" + json.dumps({"b": 2}, indent=2),
        '{"a": 1}{"b": 2}',
        json.dumps({"a": 1}, indent=2) + "\n---\n" + json.dumps({"b": 2}, indent=2),
        "".join(f"[INFO] request {{{n}}}\n" for n in range(40)),
    ],
)
def test_brackets_alone_do_not_make_json(text: str) -> None:
    assert kind_of(text) not in ("json", "ndjson")


@pytest.mark.parametrize("spaces", [0, 255, 256, 300, 5_000, 100_000])
def test_json_is_json_whatever_room_is_left_after_it(spaces: int) -> None:
    assert kind_of(json.dumps([{"id": n} for n in range(900)]) + " " * spaces) == "json"


@given(st.recursive(st.none() | st.floats() | st.text(alphabet='a}{]["\n \\', max_size=9), st.lists, max_leaves=9))
def test_whatever_json_writes_is_json(value: object) -> None:
    for indent in (None, 0, 2):
        text = json.dumps([value, {"a": value}], indent=indent)
        assert kind_of(text) == "json"
        assert kind_of(text.replace("\n", "\r\n")) == "json"


@pytest.mark.parametrize("size", [10, 9_000, 17_000, 200_000])
def test_a_value_on_every_line_is_ndjson_however_long_the_lines(size: int) -> None:
    line = json.dumps({"id": 1, "text": "x" * size})
    assert kind_of(f"{line}\n{line}\n{line}\n") == "ndjson"
    assert kind_of(f"{line}\r\n{line}") == "ndjson"
    assert kind_of(line + "\n") == "json"
    assert kind_of(line[:-1] + "\n}\n") == "json"


def test_a_table_whose_header_begins_with_a_bracket_is_cut_as_a_table() -> None:
    text = "[id],name,note\n" + "".join(f"[{n}],b,[c]\n" for n in range(900))
    assert kind_of(text) == "csv"
    cut = rows(TextSource(text), 600, StrategyOptions())
    assert "omitted" in cut.below
    assert len(cut.pieces) == len(cut.segments)


def test_a_table_with_times_in_it_is_a_table() -> None:
    assert kind_of("id,at,level\n" + repeated("{n},2026-03-04T12:00:{s:02}Z,INFO")) == "csv"


SOURCES = {
    "go": ('package store\n\nimport (\n\t"context"\n\t"fmt"\n)\n\nfunc Open(path string) error {\n\treturn nil\n}\n'),
    "rust": (
        "use std::fmt;\n"
        "\n"
        "#[derive(Debug)]\n"
        "pub struct Row {\n"
        "    id: u64,\n"
        "}\n"
        "\n"
        "impl Row {\n"
        "    pub fn id(&self) -> u64 {\n"
        "        self.id\n"
        "    }\n"
        "}\n"
    ),
    "c": ("#include <stdio.h>\n\n/* Says it. */\nstatic int say(const char *s) {\n    puts(s);\n    return 0;\n}\n"),
    "java": (
        "package a.b;\n"
        "\n"
        "import java.util.List;\n"
        "\n"
        "public final class Row {\n"
        "    private int id;\n"
        "\n"
        "    public int id() {\n"
        "        return id;\n"
        "    }\n"
        "}\n"
    ),
    "ruby": (
        "require 'json'\n"
        "\n"
        "module Store\n"
        "  class Row\n"
        "    attr_reader :id\n"
        "\n"
        "    def initialize(id)\n"
        "      @id = id\n"
        "    end\n"
        "  end\n"
        "end\n"
    ),
    "php": (
        "<?php\n"
        "\n"
        "namespace A;\n"
        "\n"
        "class Row {\n"
        "    private $id = 0;\n"
        "    public function id() {\n"
        "        return $this->id;\n"
        "    }\n"
        "}\n"
    ),
    "bash": (
        "#!/usr/bin/env bash\n"
        "set -eu\n"
        "\n"
        "# Where things are kept.\n"
        'ROOT="${ROOT:-/tmp}"\n'
        'if [[ -d "$ROOT" ]]; then\n'
        '  echo "there"\n'
        "fi\n"
    ),
    "py": (
        "import os\n"
        "\n"
        "\n"
        "class Row:\n"
        '    """One."""\n'
        "\n"
        "    def __init__(self) -> None:\n"
        "        self.id = 0\n"
        "\n"
        "    def get(self):\n"
        "        return self.id\n"
    ),
    "ts": (
        "import { z } from 'zod';\n"
        "\n"
        "/**\n"
        " * A row.\n"
        " * It has an id.\n"
        " */\n"
        "export const Row = z.object({\n"
        "  id: z.number(),\n"
        "  name: z.string().optional(),\n"
        "});\n"
    ),
}


@pytest.mark.parametrize("language", SOURCES)
@pytest.mark.parametrize("number", ["", "{:6}→", "{:6}\t", "{}: ", "{}|", "{}. "])
def test_source_is_code_in_any_language_and_with_its_lines_numbered(language: str, number: str) -> None:
    lines = SOURCES[language].split("\n")
    assert kind_of("".join(f"{number.format(at)}{line}\n" for at, line in enumerate(lines, 1))) == "code"


@pytest.mark.parametrize(
    "text",
    [
        "added packages\n\n" + repeated("@babel/plugin-{n}@7.{n}.0 (was 6.{n}.0)"),
        "name: build\non:\n  push:\n    branches:\n" + repeated("      - release-{n}"),
        "[tool]\nname = 'a'\n\n[tool.one]\nsize = 1\n\n[tool.two]\nsize = 2\n",
        "# Title\n\n"
        + PROSE * 3
        + "\n## Part\n\n- **One** thing\n\n```go\nfunc f() {\n}\n```\n\n## Other\n\n1. First\n",
        "Here is the answer:\n" + json.dumps([{"id": n, "name": "x"} for n in range(20)], indent=2),
        "".join(f"{at:6}→{line}\n" for at, line in enumerate(json.dumps(list(range(40)), indent=1).split("\n"))),
        PROSE * 60,
    ],
)
def test_packages_configuration_and_prose_are_text(text: str) -> None:
    assert kind_of(text) == "text"


@pytest.mark.parametrize(
    "text",
    [
        repeated("{n}5:\tvalue := load({n})"),
        "12-\n13-func one() {{\n14:\treturn load(1)\n15-}}\n--\n40-\n41:\tload(2)\n42-}}\n",
        "src/a.py\n12:import os\n90:os.exit(1)\n\nsrc/b.py\n3:import os\n44:os.getcwd()\n",
        repeated("src/a.py:{n}:5:    value = load({n})"),
        repeated("src/a.py-{n}-    value = load({n})"),
        repeated("src/a_{n}.py:value = load({n})"),
        repeated("origin/main:src/a_{n}.py:{n}:value = load({n})"),
        repeated("docs/2026-03-04-plan.md:{n}:Then load it"),
        repeated("Makefile:{n}:build: all"),
    ],
)
@pytest.mark.parametrize("before", ["", CODEX, SHELL, "Found 9 matches\n"])
def test_matches_are_a_search_in_one_file_or_many(before: str, text: str) -> None:
    assert kind_of(before + text) == "search"


@pytest.mark.parametrize("before", [CODEX, SHELL, "Exit code 1\n", CODEX + "Total output lines: 90\n\n"])
def test_what_a_shell_says_first_is_looked_past(before: str) -> None:
    assert kind_of(before + repeated("src/package/file_{n}.py")) == "listing"
    assert kind_of(before + SOURCES["py"]) == "code"
    assert kind_of(before + repeated("2026-03-04T12:00:{s:02}Z INFO {n}")) == "log"
    assert kind_of(before + "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n") == "diff"


def test_of_data_after_words_only_that_after_a_wrapper_is_data() -> None:
    assert kind_of(CODEX + json.dumps([{"id": n} for n in range(90)])) == "wrapped"
    assert kind_of("Some words.\n" + json.dumps([{"id": n} for n in range(90)])) == "text"
    assert kind_of(CODEX + "id,name,note\n" + "1,2,3\n" * 40) == "csv"
    assert kind_of("Some words.\n" + "id,name,note\n" + "1,2,3\n" * 40) == "text"


@given(st.text(alphabet="a1:-/.,;|=<>{}[]()\"' \t\n→#@*", max_size=400), st.integers(1, 60))
def test_no_text_makes_it_fail(text: str, times: int) -> None:
    assert kind_of(text * times)


@pytest.mark.parametrize("char", [*"a1:-/. ,(=<{[\"'→#@*|_", "a ", "a.", "1:", "a=b ", "a/", "::", "<a>", "a::b "])
def test_no_long_line_makes_it_slow(char: str) -> None:
    source = TextSource(char * 200_000)
    began = time.thread_time()
    sniff(source)
    assert time.thread_time() - began < 0.05


@pytest.mark.parametrize(("logged", "kind"), [(7, "text"), (8, "log"), (9, "log")])
def test_two_fifths_of_the_lines_make_a_log(logged: int, kind: str) -> None:
    lines = [f"2026-01-01 10:00:{number:02} INFO started" for number in range(logged)]
    lines += [f"words of number {number} without a time" for number in range(20 - logged)]
    assert kind_of("\n".join(lines) + "\n") == kind


@pytest.mark.parametrize(("first", "kind"), [("/*", "code"), ("--", "text")])
def test_the_lines_of_a_long_comment_are_code_where_a_comment_begins(first: str, kind: str) -> None:
    comment = " * What this does for the people who use it.\n" * 20
    source = f"{first}\n{comment} -\nint main(void) {{\n    return 0;\n}}\n"
    assert kind_of(source) == kind


def test_a_carriage_return_inside_a_cell_or_a_name_makes_no_table() -> None:
    table = "id,name,state\n" + "".join(f"{number},x{number},ok\n" for number in range(50))
    assert kind_of(table) == "csv"
    assert kind_of(table.replace("x7,", "x7\rmore,")) == "text"
    assert kind_of(table.replace("id,", "id\rno,")) == "text"


_INDEXED = "".join(f"{number},n{number},{number * 3}\n" for number in range(90))
_PAIRS = "".join(f"n{number},{number * 3}\n" for number in range(90))


@pytest.mark.parametrize(
    "table",
    [
        "\ufeffname,amount\n" + _PAIRS,
        ",amount\n" + _PAIRS,
        ",name,amount\n" + _INDEXED,
        '"",name,amount\n' + _INDEXED,
        ("\ufeff,name,amount\n" + _INDEXED).replace(",", ";"),
        ("\tname\tamount\n" + _INDEXED.replace(",", "\t")),
    ],
    ids=["mark, two columns", "two columns", "comma", "quoted", "mark, semicolon", "tab"],
)
def test_a_table_with_an_unnamed_index_or_a_byte_order_mark_is_a_table(table: str) -> None:
    assert kind_of(table) == "csv"


@pytest.mark.parametrize(
    "text",
    [
        "\tone\n" + "\ttwo\n" * 20,
        "\tone\tx\n" + "\ttwo\ty\n" * 20,
        "| a | b |\n" + "| 1 | 2 |\n" * 20,
        ",a,,\n" + "1,2,3,4\n" * 20,
        ",,,\n" + "1,2,3,4\n" * 20,
    ],
    ids=["indented", "indented columns", "markdown", "two unnamed", "none named"],
)
def test_lines_that_begin_with_a_separator_are_no_table_without_an_index(text: str) -> None:
    assert kind_of(text) != "csv"


def test_a_table_has_three_records_and_a_header_that_none_repeats() -> None:
    rows = "".join(f"{number},x{number},y\n" for number in range(40))
    assert sniff(TextSource("id,name,kind\n" + rows)) == "csv"
    assert sniff(TextSource("id,name,kind\nid,name,kind\n" + rows)) != "csv"
    assert [sniff(TextSource("id,name,kind\n" + "".join(rows.splitlines(True)[:many]))) for many in (1, 2)] == [
        "text",
        "csv",
    ]


@pytest.mark.parametrize(("odd", "kind"), [(3, "csv"), (4, "text")])
def test_nine_in_ten_records_of_a_table_have_as_many_fields_as_its_header(odd: int, kind: str) -> None:
    rows = [f"{number},x{number},y\n" if number >= odd else f"{number},x\n" for number in range(31)]
    assert sniff(TextSource("id,name,kind\n" + "".join(rows[::-1]))) == kind
