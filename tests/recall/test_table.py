"""Rows and columns of a CSV text, by number and by name."""

import pytest

from keepwhole.recall.json_path import IndexStep, KeyStep, NoSuchValue, SliceStep
from keepwhole.recall.table import Table

TEXT = '\ufeffname,note\r\na,"x, ""y"""\r\nb,\r\nc\r\n'


@pytest.fixture
def table() -> Table:
    return Table(TEXT, "\n")


def test_rows_are_counted_after_the_header(table: Table) -> None:
    assert table.rows == 3
    assert Table("name,note\n", "\n").rows == Table("name", "\n").rows == Table("", "\n").rows == 0


def test_a_row_is_shown_as_it_is_written_and_a_field_as_csv_spells_it(table: Table) -> None:
    assert table.header(None) == "\ufeffname,note\n"
    assert [table.header(column) for column in (0, 1)] == ["name\n", "note\n"]
    assert [table.row(number, None) for number in range(3)] == ['a,"x, ""y"""', "b,", "c"]
    assert [table.row(number, 0) for number in range(3)] == ["a", "b", "c"]
    assert [table.row(number, 1) for number in range(3)] == ['"x, ""y"""', "", ""]
    assert [table.row(number, 0) for number in (-1, -3)] == ["c", "a"]


@pytest.mark.parametrize("number", [3, -4])
def test_a_row_that_there_is_not_is_told_how_many_there_are(table: Table, number: int) -> None:
    with pytest.raises(NoSuchValue, match=f"There is no row {number}: there are 3, counted from 0"):
        table.row(number, None)


@pytest.mark.parametrize(
    ("step", "column"),
    [
        (KeyStep("name"), 0),
        (KeyStep("note"), 1),
        (IndexStep(0), 0),
        (IndexStep(1), 1),
        (IndexStep(-1), 1),
        (IndexStep(-2), 0),
    ],
)
def test_a_column_is_known_by_its_name_and_its_number(table: Table, step: KeyStep | IndexStep, column: int) -> None:
    assert table.column([step]) == column
    with pytest.raises(NoSuchValue):
        table.column([step, step])
    assert table.column([]) is None


@pytest.mark.parametrize("step", [KeyStep("other"), IndexStep(2), IndexStep(-3), SliceStep(0, 1)])
def test_a_column_that_there_is_not_is_told_which_there_are(table: Table, step: KeyStep) -> None:
    words = r'There is no such column\. Columns: "name", "note"\. Address rows as \$\[40:60\]\.column\.'
    with pytest.raises(NoSuchValue, match=words):
        table.column([step])


def test_thirty_columns_are_named_each_in_sixty_characters() -> None:
    table = Table(",".join(f"{number:02}{'x' * 70}" for number in range(31)) + "\n", "\n")
    with pytest.raises(NoSuchValue) as caught:
        table.column([KeyStep("no")])
    assert str(caught.value).endswith(f'"29{"x" * 58}". Address rows as $[40:60].column.')


@pytest.mark.parametrize("mark", ",\t;|")
def test_the_mark_that_the_header_has_most_of_parts_the_columns(mark: str) -> None:
    assert Table(f"a{mark}b{mark}c\n1{mark}2{mark}3\n", "\n").row(0, 1) == "2"


@pytest.mark.parametrize(
    ("field", "spelled"), [('a"b', '"a""b"'), ("a,b", '"a,b"'), ("a b", "a b"), ("a\nb", '"a\nb"')]
)
def test_a_field_is_quoted_only_where_it_has_to_be(field: str, spelled: str) -> None:
    quoted = field.replace('"', '""')
    assert Table(f'a;b\n"{quoted}";2\n', "\n").row(0, 0) == spelled
