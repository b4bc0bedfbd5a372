"""A match is shown with the value it belongs to: as far as fifteen lines on each side, and never more than fits."""

import pytest

from keepwhole import MemoryStore, Session


def shown(text: str, pattern: str = "needle") -> list[str]:
    """The lines that a search of a text shows, without their numbers, and without what is said below them."""
    session = Session("s", store=MemoryStore())
    found = session.keep("fetch", None, text)
    answer = session.call_tool("get_artifact", {"id": found.artifact_id or found.trace_id, "pattern": pattern})
    return [line.partition(" ")[2] if line[0].isdigit() else line for line in answer.content.splitlines()[:-1]]


def value(before: int, after: int, filling: str = "") -> str:
    """A list of two values, the first with so many lines before and after the one that is searched for."""
    lines = [f'"b{number}": "{filling}",' for number in range(before)]
    lines += ['"x": "needle",', *(f'"a{number}": 0,' for number in range(after)), '"z": 0']
    inside = "".join(f"    {line}\n" for line in lines)
    return f'[\n  {{\n{inside}  }},\n  {{\n    "other": 1\n  }}\n]\n'


@pytest.mark.parametrize(("before", "opens"), [(0, True), (14, True), (15, False)])
def test_a_value_is_shown_from_the_line_that_opens_it_up_to_fifteen_lines_before(before: int, opens: bool) -> None:
    lines = shown(value(before, 2))
    assert ("  {" in lines[0]) is opens
    assert len(lines) == (1 if opens else 0) + before + 5
    assert "other" not in "".join(lines)


@pytest.mark.parametrize(("after", "closes"), [(0, True), (13, True), (14, False)])
def test_a_value_is_shown_to_the_line_that_closes_it_up_to_fifteen_lines_behind(after: int, closes: bool) -> None:
    lines = shown(value(2, after))
    assert ("}" in lines[-1]) is closes
    assert len(lines) == 4 + after + 1 + (1 if closes else 0)


def test_a_line_that_opens_something_comes_with_what_is_in_it() -> None:
    lines = shown("top: 1\nneedle:\n  c: 2\n  d:\n    e: 3\nlast: 4\n")
    assert [line.strip() for line in lines] == ["needle:", "c: 2", "d:", "e: 3"]


def test_an_item_of_yaml_comes_with_its_neighbors_and_a_line_of_the_outermost_level_alone() -> None:
    text = "jobs:\n  - name: build\n    with: needle\n  - name: test\n    with: other\nneedle: 1\n"
    lines = [line.strip() for line in shown(text)]
    assert lines[-1] == "needle: 1"
    assert "with: needle" in lines
    assert "with: other" not in lines


@pytest.mark.parametrize("indent", [1, 2, 4])
def test_an_empty_line_ends_what_belongs_together_in_yaml(indent: int) -> None:
    space = " " * indent
    text = f"top:\n{space}a: 1\n{space}b: 2\n\n{space}c: needle\n{space}d: 3\n\n{space}e: 4\nlast: 5\n"
    assert [line.strip() for line in shown(text)] == ["c: needle", "d: 3"]


@pytest.mark.parametrize(("filling", "is_whole"), [(600, True), (1_600, False)])
def test_where_the_lines_around_are_too_long_a_match_is_shown_alone(filling: int, is_whole: bool) -> None:
    lines = shown(value(14, 0, "y" * filling))
    assert (len(lines) == 18) is is_whole
    assert any("needle" in line for line in lines)


def test_in_text_whose_lines_stand_for_themselves_a_match_is_shown_alone() -> None:
    log = "".join(f"2030-01-01 00:00:{number:02d} INFO step {number}\n" for number in range(30))
    assert len(shown(log, "step 17")) == 1
    table = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(30))
    assert [line.strip() for line in shown(table, "n17")] == ["id,name", "17,n17"]


def test_a_record_of_a_table_comes_with_all_its_lines_and_the_header() -> None:
    rows = "".join(f'{number},"said ""hi""\nto n{number}\nand left",x\n' for number in range(60))
    assert shown(f"id,text,mark\n{rows}", "to n17") == ["id,text,mark", '17,"said ""hi""', "to n17", 'and left",x']
    assert len([line for line in shown(f"id,text,mark\n{rows}", "to n1") if line == "id,text,mark"]) == 1


@pytest.mark.parametrize("sign", [" = ", "=", ": "])
@pytest.mark.parametrize("pattern", ["[svc-7]", "tok-7"])
def test_a_line_of_a_settings_file_comes_with_its_section(sign: str, pattern: str) -> None:
    text = "# all of them\n" + "".join(
        f"[svc-{number}]\n; the host\nhost{sign}h{number}\ntoken{sign}tok-{number}\n\n" for number in range(30)
    )
    assert shown(text, pattern)[:4] == ["[svc-7]", "; the host", f"host{sign}h7", f"token{sign}tok-7"]
    assert "svc-8" not in "".join(shown(text, pattern))


def test_a_bracket_above_prose_is_no_section() -> None:
    text = "[note]\nThe needle is in the hay.\nIt is small.\n"
    assert shown(text) == ["The needle is in the hay."]


def test_rows_of_other_tables_come_with_the_names_of_their_columns() -> None:
    pods = "".join(f"pod-{number}   1/1   Running   {number}d\n" for number in range(90))
    assert shown(f"NAME   READY   STATUS   AGE\n{pods}", "pod-80") == [
        "NAME   READY   STATUS   AGE",
        "pod-80   1/1   Running   80d",
    ]
    rows = "".join(f"| acct-{number} | {number} |\n" for number in range(90))
    page = f"# One\n\n| account | quota |\n|---|--:|\n{rows}\n# Two\n\n| account | debt |\n|---|--:|\n{rows}"
    assert shown(page, "acct-80") == [
        "| account | quota |",
        "| acct-80 | 80 |",
        "| account | debt |",
        "| acct-80 | 80 |",
    ]


def test_an_element_on_one_long_line_is_shown_whole_also_where_json_was_broken_off() -> None:
    rows = ", ".join(f'{{"account": "acct-{number:03}", "note": {{"quota": {number}}}}}' for number in range(400))
    element = '{"account": "acct-123", "note": {"quota": 123}}'
    for text in (f"[{rows}]", f"[{rows[:-9]}", f"Exit code: 0\nOutput:\n[{rows}]", f'[{rows}, "{"x" * 1_000_000}"]'):
        (line,) = shown(text, "acct-123")
        assert element in line, "short elements are shown together"
        assert len(line) < 3 * len(element)
