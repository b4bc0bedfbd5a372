"""Records of CSV: the same ones that Python's `csv` reads, stray quotes or not."""

import csv
import io
import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole.truncation.cut import TextSource
from keepwhole.truncation.lines import line_bounds
from keepwhole.truncation.rows import record_bounds, rows
from keepwhole.truncation.strategy import StrategyOptions

ends = st.sampled_from(("\n", "\r\n"))
fields = st.text(alphabet='ab ,;"\n', max_size=6)
wild = st.text(alphabet='ab,"\n\r;\t|', max_size=40)


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


def pieces(text: str) -> list[str]:
    bounds = record_bounds(text, TextSource(text).eol, quoted=True)
    return [text[start:stop] for start, stop in pairwise(bounds)]


def is_closed(text: str) -> bool:
    """Whether no field is left open at the end: one more record is then read as its own."""
    return len(read(text + ("" if text.endswith(("\n", "\r")) else "\n") + "x,y\n")) == len(read(text)) + 1


@given(st.lists(st.lists(fields, min_size=3, max_size=3), min_size=1, max_size=8), ends)
def test_written_records_are_split_as_they_were_written(table: list[list[str]], end: str) -> None:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=end).writerows([["a", "b", "c"], *table])
    assert [read(piece) for piece in pieces(out.getvalue())] == [[row] for row in [["a", "b", "c"], *table]]


@settings(max_examples=500)
@given(wild)
def test_any_text_is_split_as_csv_reads_it_or_else_by_lines(tail: str) -> None:
    text = "a,b,c,d\n" + tail
    if [read(piece) for piece in pieces(text)] == [[row] for row in read(text)]:
        return
    assert not is_closed(text) or "\r" in text.replace("\r\n", "")
    assert list(record_bounds(text, "\n", quoted=True)) == list(line_bounds(text, "\n"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('a,b,c\n1,5" disk,x\n2,y,z\n', 3),
        ('a,b,c\n1,"two\nlines",x\n2,y,z\n', 3),
        ('a,b,c\n1,"say ""hi""\nthere",x\n', 2),
        ('a,b,c\n1,"x" y\n2,"z\n",q\n', 3),
        ('a;b;c\n1;"x\ny";2\n', 2),
        ('a\tb\tc\n1\t6"\t7"\n', 2),
        ('a,b,c\r\n1,"x\r\ny",2\r\n3,4,5', 3),
        ('a,b,c\r1,"x\ry",2\r', 2),
    ],
)
def test_a_quote_opens_a_field_only_where_the_field_begins(text: str, count: int) -> None:
    assert len(pieces(text)) == count


def test_a_quote_that_is_never_closed_makes_no_record_of_the_rest() -> None:
    text = "id,name,note\n" + "".join(f'{n},"open {n},x\n' if n == 40 else f"{n},b,c\n" for n in range(500))
    assert len(pieces(text)) == 501
    cut = rows(TextSource(text), 600, StrategyOptions())
    assert cut.covers(len(text))
    assert cut.kept[0].start == 0


@pytest.mark.parametrize("line", ["a" * 400_000 + "\rb", '","' * 200_000, '"' * 300_001, ',"x\n' * 100_001])
def test_no_line_makes_splitting_slow(line: str) -> None:
    began = time.thread_time()
    record_bounds(f'a,b,c\n"1",2,3\n{line}', "\n", quoted=True)
    assert time.thread_time() - began < 1
