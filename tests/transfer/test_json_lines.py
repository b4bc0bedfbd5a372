"""The lines of archives: a record each, bodies in pieces, and no more in memory than a line."""

import base64
import io
import json

import pytest

from keepwhole.transfer import json_lines
from keepwhole.transfer.json_lines import PIECE, RecordReader, line_of, lines_in, piece_of


def reader(*records: object) -> RecordReader:
    return RecordReader(record if isinstance(record, bytes) else json.dumps(record).encode() for record in records)


def test_a_record_is_a_line_of_ascii_without_spaces() -> None:
    assert line_of({"entry": {"tool": "é", "n": [1, 2]}}) == b'{"entry":{"tool":"\\u00e9","n":[1,2]}}\n'
    assert json.loads(piece_of(b"\xff\x00")) == {"body": base64.b64encode(b"\xff\x00").decode()}


def test_the_base64_of_a_whole_piece_has_no_padding() -> None:
    assert b"=" not in piece_of(bytes(PIECE))


def test_lines_are_read_one_by_one_and_one_that_is_too_long_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_lines, "_LONGEST", 5)
    assert list(lines_in(io.BytesIO(b"123\n1\n1234"))) == [b"123\n", b"1\n", b"1234"]
    for line in (b"1234\n", b"12345"):
        with pytest.raises(ValueError, match="longer than"):
            list(lines_in(io.BytesIO(line)))


def test_a_line_may_have_an_entry_with_long_arguments() -> None:
    line = b'"' + bytes(33 << 20) + b'"\n'
    assert list(lines_in(io.BytesIO(line))) == [line]


def test_records_are_read_in_order_each_under_its_key() -> None:
    records = reader({"session": 1}, {"end": 2})
    assert (records.next_is("session"), records.next_is("end"), records.at_end()) == (True, False, False)
    with pytest.raises(ValueError, match="no `end` where one must be"):
        records.read("end")
    assert records.read("session") == {"session": 1}
    assert records.read("end") == {"end": 2}
    assert records.at_end()
    with pytest.raises(ValueError, match="no `end`"):
        records.read("end")


@pytest.mark.parametrize("line", [b"{", b"[]", b"5", b"null", b"\xff", b"[" * 200_000])
def test_a_line_that_is_no_object_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a JSON object"):
        reader(line)
    records = reader({"session": 1}, line)
    with pytest.raises(ValueError, match="not a JSON object"):
        records.read("session")


def body(*pieces: bytes) -> RecordReader:
    return reader(*(piece_of(piece) for piece in pieces), {"end": 1})


def test_a_body_is_read_in_pieces_up_to_the_next_record() -> None:
    records = body(b"one", b"", b"three")
    assert list(records.read_pieces()) == [b"one", b"", b"three"]
    assert records.next_is("end")
    assert body(b"one", b"three").read_body(8) == b"onethree"
    assert body().read_body(0) == b""
    skipped = body(b"one", b"three")
    skipped.skip_body()
    assert skipped.read("end") == {"end": 1}


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_body_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match="the size of a body is not"):
        body(b"one", b"three").read_body(size)


def test_a_body_that_is_longer_than_its_entry_says_is_not_read_to_its_end() -> None:
    records = body(b"one", b"three", b"more")
    with pytest.raises(ValueError, match="the size of a body is not"):
        records.read_body(2)
    assert list(records.read_pieces()) == [b"three", b"more"]


def test_a_piece_that_is_no_base64_is_refused() -> None:
    with pytest.raises(ValueError, match="base64"):
        list(reader({"body": "a*b="}).read_pieces())
