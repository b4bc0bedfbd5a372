"""A table of two columns is a table: its header stays, its rows can be addressed. What only looks like one is not."""

import pytest

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.sniff import sniff
from tests.build import TRUNCATION, in_memory

COMMAS = "id,name\n" + "".join(f"{number},n{number}\n" for number in range(3_000))
TABLES = {
    "commas": COMMAS,
    "tabs": COMMAS.replace(",", "\t"),
    "quoted": "id,name\n" + "".join(f'{number},"n{number}, or so"\n' for number in range(3_000)),
    "all quoted": '"id","name"\r\n' + "".join(f'"{number}","n{number}"\r\n' for number in range(3_000)),
    "units": "city,area (km2)\n" + "".join(f"c{number},{number}\n" for number in range(3_000)),
    "words": "word\tcount\n" + "".join(f"w{number}\t{number}\n" for number in range(3_000)),
}


@pytest.mark.parametrize("tool", ["Bash", "sql_query", "Grep"])
@pytest.mark.parametrize("name", TABLES)
def test_the_header_is_kept_and_rows_are_addressed(name: str, tool: str) -> None:
    text = TABLES[name]
    with in_memory() as session:
        shown = session.keep(tool, {"command": "sqlite3 -csv db 'select …'"}, text)
        rows = session.call_tool("get_artifact", {"id": shown.artifact_id, "path": "$[10:12]"}).content
    assert shown.metadata.strategy_used == "rows"
    assert shown.body.startswith(text.splitlines()[0])
    assert shown.body.rstrip().endswith(text.splitlines()[-1])
    for line in text.splitlines()[11:13]:
        assert line in rows


NO_TABLES = {
    "prose": "First of all, hello\n" + "This is a line, and it goes on\n" * 9,
    "name status": "M\tsrc/a.py\n" + "".join(f"{'AMD'[number % 3]}\tsrc/b{number}.py\n" for number in range(9)),
    "numbered lines": "".join(f"{number}\tsome text\n" for number in range(9)),
    "sizes": "".join(f"{number}.0K\tfolder{number}\n" for number in range(9)),
    "places": "".join(f"src/a.ts({number},{number}) is wrong\n" for number in range(9)),
    "lines and columns": "".join(f"src/a.py:{number},{number}\n" for number in range(9)),
    "no header": "".join(f"{number},{number * 2}\n" for number in range(9)),
    "code": "call(a,b)\n" + "".join(f"x{number} = call(a,b{number})\n" for number in range(9)),
    "members": "const all = [\n" + "".join(f"  red{number},blue{number}\n" for number in range(9)) + "]\n",
    "trace": "Traceback, most recent last\n" + "".join(f"at place,{number}\n" for number in range(9)),
    "log": "start,2026-01-01T10:00:00\n" + "start,2026-01-01T10:00:01\n" * 9,
    "too short": "id,name\n1,one\n2,two\n",
    "ragged": "id,name\n" + "1,one\n2,two,three\n" * 9,
}


@pytest.mark.parametrize("name", NO_TABLES)
def test_what_only_looks_like_a_table_of_two_columns_is_none(name: str) -> None:
    assert sniff(TextSource(NO_TABLES[name])) != "csv"


def test_the_policy_truncation_keeps_the_header_too() -> None:
    shown = in_memory(settings=TRUNCATION).keep("Bash", {}, COMMAS)
    assert shown.body.startswith("id,name\n0,n0\n")


@pytest.mark.parametrize(
    ("rows", "kind"),
    [
        (["a,b"] * 2, "text"),
        (["x1,1", "x2,2", "x3,3"], "csv"),
        (["x1,1", "x2,2"], "text"),
        (["id,1", "x2,2", "x3,3"], "text"),
        (["x1,name", "x2,2", "x3,3"], "text"),
        (["name,1", "x2,2", "x3,3"], "csv"),
        (["x1,id", "x2,2", "x3,3"], "csv"),
        (["x1,1", ",2", "x3,3"], "text"),
        (["x1,1", "x2", "x3,3"], "text"),
        (["x1,1", "x2,2,2", "x3,3"], "text"),
        (["x1,", "x2,", "x3,"], "csv"),
        (["x1, 1", "x2,2", "x3,3"], "text"),
        (["x1,1 ", "x2,2", "x3,3"], "csv"),
    ],
)
def test_no_record_of_a_pair_table_repeats_a_name_lacks_a_field_or_begins_with_a_space(
    rows: list[str], kind: str
) -> None:
    assert sniff(TextSource("\n".join(["id,name", *rows, ""]))) == kind
