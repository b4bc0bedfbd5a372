"""Columns of stored entries that do not say what their headers say are named, with the numbers of the entries."""

import hashlib
import json
from typing import Any

import pytest

from keepwhole.store.row_check import compare_columns, describe, name_owners
from keepwhole.store.sql_store import FORGOTTEN, as_bytes

Row = tuple[Any, ...]


def row(seq: int, stored: int, size: int, kind: str = "result", /, **changed: Any) -> Row:
    """The columns of a valid entry with some of them changed: a body of `size` ends at `stored`."""
    columns = {
        "seq": seq,
        "kind": kind,
        "at": 7.5,
        "call_id": as_bytes("c1") if kind == "result" else None,
        "stored": stored,
        "format": 0,
        "key_id": None,
        "header": json.dumps({"at": 7.5, "body": [size, "digest"], "call_id": "c1"}),
    }
    return tuple({**columns, **changed}.values())


def found(rows: list[Row], page: int = 2) -> list[tuple[int, str]]:
    return list(compare_columns(lambda after: [one for one in rows if one[0] > after][:page]))


GOOD = [row(1, 10, 10), row(2, 15, 5, "decision"), row(4, 15, 0), row(5, 16, 1)]


def test_entries_that_say_what_their_headers_say_are_not_named() -> None:
    assert found(GOOD) == []
    assert found([]) == []
    without_id = json.dumps({"at": 7.5, "body": [10, "d"]})
    assert found([row(1, 10, 10, call_id=None, header=without_id)]) == []


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"at": 7.0}, "at"),
        ({"call_id": as_bytes("c2")}, "call_id"),
        ({"call_id": None}, "call_id"),
        ({"stored": 14}, "stored"),
        ({"stored": 16}, "stored"),
        ({"format": 2}, "format"),
        ({"key_id": b"k"}, "key_id"),
        ({"at": 1.0, "format": 2, "key_id": b""}, "at, format, key_id"),
    ],
)
def test_every_column_that_was_changed_is_named(changed: dict[str, Any], named: str) -> None:
    rows = [row(1, 10, 10), row(2, 15, 5, **changed), row(3, 18, 3)]
    assert found(rows) == [(2, f"these of its columns were changed: {named}")]


def test_only_results_have_a_call_id() -> None:
    rows = [row(1, 10, 10, "decision", call_id=as_bytes("c1"))]
    assert found(rows) == [(1, "these of its columns were changed: call_id")]


@pytest.mark.parametrize(
    "header",
    ["", "no JSON", "[]", "{}", '{"at": 7.5, "body": []}', '{"at": 7.5, "body": ["x"]}', '{"body": [5]}', "7", None],
)
def test_a_header_that_cannot_be_read_is_named_and_the_rest_is_compared_as_before(header: object) -> None:
    rows = [row(1, 10, 10), row(2, 15, 5, header=header), row(3, 18, 3), row(4, 30, 3)]
    assert found(rows) == [
        (2, "its header cannot be read"),
        (4, "these of its columns were changed: stored"),
    ]
    rows[1] = row(2, 15, 5, header=header, stored="15")
    assert found([*rows[:2], row(3, 13, 3)]) == [(2, "its header cannot be read")]


def test_what_is_left_of_a_forgotten_entry_has_no_ids() -> None:
    def with_forgotten(**ids: Any) -> list[tuple[int, str]]:
        gone = row(2, 15, 5, **{"call_id": None, "format": FORGOTTEN, "header": "", **ids})
        return found([row(1, 10, 10), gone, row(3, 18, 3)])

    again = [(2, "it was forgotten, and has a call id or a key id again")]
    assert with_forgotten() == []
    assert with_forgotten(call_id=b"c") == with_forgotten(key_id=b"k") == again
    assert with_forgotten(stored=20) == [(3, "these of its columns were changed: stored")]


def test_entries_out_of_order_are_told_instead_of_read_for_ever() -> None:
    assert list(compare_columns(lambda _: [row(2, 5, 5), row(1, 10, 5)]))[-1] == (0, "its entries are out of order")
    pages = {0: [row(1, 5, 5)], 1: [row(1, 10, 5)]}
    assert list(compare_columns(pages.__getitem__)) == [(0, "its entries are out of order")]


def test_a_description_has_a_digest_of_all_its_values() -> None:
    assert describe(["s", None, 1.5]) == hashlib.sha256(b'["s", null, 1.5]').digest()
    assert describe(["s"]) != describe(["t"])
    assert describe([{1}]) == hashlib.sha256(b'["{1}"]').digest()


@pytest.mark.parametrize(
    ("blobs", "words"),
    [
        (["a"], "The bodies of entry 1 of session `s` are not"),
        (["b"], "The bodies of entry 2,000 of session `s`, entry 3 of session `t` are not"),
        (["a", "a", "a"], "The bodies of " + ", ".join(["entry 1 of session `s`"] * 3) + " are not"),
        (["a"] * 4, "The bodies of " + ", ".join(["entry 1 of session `s`"] * 3) + " and 1 more are not"),
        (["a"] * 2_004, "The bodies of " + ", ".join(["entry 1 of session `s`"] * 3) + " and 2,001 more are not"),
    ],
)
def test_three_bodies_are_named_by_their_entries_and_more_are_counted(blobs: list[str], words: str) -> None:
    owners = {"a": [("s", 1)], "b": [("s", 2_000), ("t", 3)]}
    assert name_owners(blobs, owners.__getitem__) == words
