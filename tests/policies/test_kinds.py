"""The kind of a result comes from its tool, and for shells from what they were asked to run."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.policies.kinds import Kind, kind_of, target_of, works_on_files


@pytest.mark.parametrize(
    ("tool", "kind"),
    [
        ("Read", "read"),
        ("read_file", "read"),
        ("mcp__files__read_file", "read"),
        ("view", "read"),
        ("open", "read"),
        ("Grep", "search"),
        ("Glob", "search"),
        ("LS", "search"),
        ("find_file", "search"),
        ("Task", "report"),
        ("Agent", "report"),
        ("TaskOutput", "report"),
        ("spawn_agent", "report"),
        ("delegate_to_writer", "report"),
        ("BashOutput", "shell"),
        ("write_stdin", "shell"),
        ("Edit", "other"),
        ("Write", "other"),
        ("MultiEdit", "other"),
        ("apply_patch", "other"),
        ("TodoWrite", "other"),
        ("TaskUpdate", "other"),
        ("WebFetch", "other"),
        ("get_user_details", "other"),
        ("transfer_to_human_agents", "other"),
    ],
)
def test_the_tools_of_real_agents_have_a_kind(tool: str, kind: Kind) -> None:
    assert kind_of(tool, "{}") == kind


@pytest.mark.parametrize(
    ("command", "kind"),
    [
        ("cat README.md", "read"),
        ("sed -n '1,200p' src/a.py", "read"),
        ("nl -ba src/a.go | sed -n '1,120p'", "read"),
        ("cat x | head -20", "read"),
        ("cd /repo && cat src/a.py", "read"),
        ("sed -n '1,9p' a && sed -n '1,9p' b", "read"),
        ('cat "my file.txt" 2>/dev/null', "read"),
        ("echo == && cat a", "read"),
        ("rg -n 'a|b' src | head", "search"),
        ('grep -rn "foo(" . | wc -l', "search"),
        ("ls -la .git 2>/dev/null || echo none", "search"),
        ("find . -name '*.py'", "search"),
        ("git grep -n needle", "search"),
        ("cd src && ls", "search"),
        ("ls && cat a", "read"),
        ("mise run lint 2>&1 | tail -3", "shell"),
        ("git status", "shell"),
        ("git log | head", "shell"),
        ("echo hi", "shell"),
        ("cd src", "shell"),
        ("ls && make test", "shell"),
        ("cat a; rm b", "shell"),
        ("cat a\nrm b", "shell"),
        ("cat a | python x.py", "shell"),
        ("cat > a <<'EOF'\nhi\nEOF", "shell"),
        ("sed -i s/a/b/ x", "shell"),
        ("catalog --all", "shell"),
        ("", "shell"),
    ],
)
def test_a_shell_counts_for_what_it_was_asked_to_do(command: str, kind: Kind) -> None:
    assert kind_of("Bash", json.dumps({"command": command, "description": "Do it"})) == kind
    assert kind_of("exec_command", json.dumps({"workdir": "/x", "cmd": command})) == kind
    assert kind_of("shell", json.dumps({"command": ["bash", "-lc", command], "timeout": 9})) == kind


def test_arguments_may_be_a_list_or_plain_text() -> None:
    assert kind_of("shell", '["bash", "-lc", "cat x"]') == "read"
    assert kind_of("shell", '{"command": ["cat", "x"]}') == "read"
    assert kind_of("bash", "ls -la") == "search"


def test_a_long_script_is_a_shells_work_whatever_it_begins_with() -> None:
    assert kind_of("Bash", json.dumps({"command": "make test\n" + "echo 1\n" * 900})) == "shell"
    assert kind_of("Bash", json.dumps({"command": "cat a\n" + "rm 1\n" * 900})) == "shell"


def test_an_editor_that_views_reads() -> None:
    assert kind_of("str_replace_editor", '{"command": "view", "path": "/a.py"}') == "read"
    assert kind_of("str_replace_based_edit_tool", '{"command": "create", "path": "/a.py"}') == "other"


@given(st.text(max_size=60))
def test_no_arguments_raise(arguments: str) -> None:
    assert kind_of("Bash", arguments) in ("read", "search", "shell")
    assert kind_of(arguments, "{}") in ("read", "search", "shell", "report", "other")


@given(st.text(max_size=60))
def test_no_command_raises(command: str) -> None:
    assert kind_of("Bash", json.dumps({"command": command})) in ("read", "search", "shell")


@pytest.mark.parametrize(
    ("tool", "arguments", "target"),
    [
        ("shot", '{"url": "u", "full": true}', ("shot", "u")),
        ("shot", '{"path": "p", "url": "u", "app": 3}', ("shot", "u", "3", "p")),
        ("shot", "{}", ("shot",)),
        ("shot", "[1]", ("shot",)),
        ("shot", "no JSON", ("shot",)),
        ("shot", "[" * 9_000, ("shot",)),
        ("shot", '{"url": "' + "u" * 9_989 + '"}', ("shot", "u" * 9_989)),
        ("shot", '{"url": "' + "u" * 9_990 + '"}', ("shot",)),
    ],
)
def test_an_image_is_of_what_its_call_names(tool: str, arguments: str, target: tuple[str, ...]) -> None:
    assert target_of(tool, arguments) == target


@pytest.mark.parametrize(
    ("tools", "works"),
    [
        (["Bash"], True),
        (["get_order", "Read"], True),
        (["Grep"], True),
        (["str_replace_editor"], True),
        (["Task", "get_order"], False),
        ([], False),
    ],
)
def test_an_agent_works_on_files_where_a_tool_reads_searches_edits_or_runs(tools: list[str], works: bool) -> None:
    assert works_on_files(tools) is works


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ('{"command": "view", "path": "a"}', "read"),
        ('{"command": "create", "path": "a"}', "other"),
        ('{"x": "' + "y" * 380 + '", "command": "view"}', "other"),
        ('{"x": "' + "y" * 370 + '", "command": "view"}', "read"),
    ],
)
def test_an_editor_reads_where_it_views(arguments: str, kind: Kind) -> None:
    assert kind_of("str_replace_based_edit_tool", arguments) == kind


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ('{"cmd": ["bash", "-lc", "cat a"]}', "read"),
        ('{"cmd": ["bash", "-c", "rg a"]}', "search"),
        ('{"cmd": ["bash", "-x", "cat a"]}', "shell"),
        ('{"cmd": ["cat", "a"]}', "read"),
        ('["cat", "a"]', "read"),
        ('"cat a"', "read"),
        ("cat a", "read"),
        ("3", "shell"),
        ("{}", "shell"),
        ('{"command": 3}', "shell"),
        ('{"other": "x", "command": "cat \\"my file\\" && ls"}', "read"),
        ('{"command": "cat a\\nls b"}', "read"),
        ('{"command": "ls a\\nls b"}', "search"),
        ('{"command": "cat a\\nmake"}', "shell"),
        ('{"command": "pwd"}', "shell"),
        ('{"command": "cd a && pwd"}', "shell"),
        ('{"command": "git grep x"}', "search"),
        ('{"command": "git ls-files"}', "search"),
        ('{"command": "git log"}', "shell"),
        ('{"command": "sed -i s/a/b/ c"}', "shell"),
        ('{"command": "cat a | tee b"}', "shell"),
        ('{"command": "cat a > b"}', "shell"),
        ('{"command": "cat $FILE"}', "read"),
        ('{"command": "cat $(ls)"}', "read"),
        ('{"command": "cat `ls`"}', "shell"),
        ('{"command": "cat a || true"}', "read"),
        ('{"command": "cat ' + "a" * 390 + '; make"}', "shell"),
        ('{"command": "cat ' + "a" * 400 + '; make"}', "read"),
        ('{"x": "' + "y" * 3_960 + '", "command": "cat a"}', "read"),
    ],
)
def test_a_shell_that_only_shows_is_known_in_every_spelling(arguments: str, kind: Kind) -> None:
    assert kind_of("bash", arguments) == kind


@pytest.mark.parametrize(("at", "kind"), [(390, "shell"), (398, "shell"), (400, "read"), (410, "read")])
def test_four_hundred_characters_of_a_command_say_what_it_does(at: int, kind: Kind) -> None:
    command = "cat README.md".ljust(at) + ";make"
    assert kind_of("bash", command) == kind
    assert kind_of("bash", json.dumps({"command": command})) == kind


@pytest.mark.parametrize(("size", "target"), [(10_000, ("shot", "a")), (10_001, ("shot",))])
def test_of_longer_arguments_nobody_reads_what_an_image_is_of(size: int, target: tuple[str, ...]) -> None:
    arguments = '{"url": "a", "x": ""}'
    assert target_of("shot", arguments.replace('""', f'"{"y" * (size - len(arguments))}"')) == target
