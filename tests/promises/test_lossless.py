"""Lossless: any bytes in, the same bytes out; kept segments plus gaps equal the original."""

import hashlib
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import MemoryStore, Session, SqliteStore
from keepwhole.canonical.utf8 import showable
from keepwhole.record.kept_result import KeptResult
from keepwhole.store.protocol import result_of
from keepwhole.store.verify import verify
from keepwhole.transfer.archive import export_session, import_session
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.cut import Inserted
from tests.build import in_memory, run_python
from tests.promises.recorded_outputs import FOLDER, NAMES, read_output

any_text = st.text(st.characters(exclude_categories=()))
seeds = st.integers(0, 1 << 32)


def in_pieces(data: bytes, seed: int) -> Iterator[bytes]:
    """The same bytes in chunks of chance."""
    chance, at = random.Random(seed), 0
    while at < len(data):
        size = chance.choice((1, 7, 1_000, 65_536, 100_000))
        yield data[at : at + size]
        at += size


def rebuilt(session: Session, shown: KeptResult) -> str:
    """The original from what was shown and, for every gap, from what is recalled."""
    assert shown.cut is not None
    parts, at = list[str](), len(shown.cut.above)
    for piece in shown.cut.pieces:
        if isinstance(piece, Inserted):
            assert shown.content.startswith(piece.text, at)
            at += len(piece.text)
        elif piece.part == "kept":
            size = piece.stop - piece.start
            parts.append(shown.content[at : at + size])
            at += size
        else:
            parts.append(showable(session.recall(str(shown.trace_id), chars=(piece.start, piece.stop))))
    assert shown.content == shown.cut.above + shown.body + shown.cut.below
    assert at + len(shown.cut.below) == len(shown.content)
    return "".join(parts)


def large(seed: int, size: int) -> bytes:
    """Bytes that are text, nearly text, or no text at all, depending on the seed."""
    chance = random.Random(seed)
    atoms = (b"line of text\n", "é€😀".encode(), b"\xff", b"\r", b"\x00", b"\xe2\x82", b"x" * 999)
    some = chance.sample(atoms, chance.randint(1, len(atoms)))
    return (b"".join(chance.choices(some, k=200)) * (size // 200 + 1))[:size]


@pytest.mark.parametrize("name", NAMES)
def test_real_output_comes_back_byte_for_byte(tmp_path: Path, name: str) -> None:
    data = read_output(name)
    session = Session("s", store=str(tmp_path))
    with open(FOLDER / name, "rb") as file:
        for output in (data, in_pieces(data, 1), file):
            shown = session.keep(name, None, output)
            assert session.recall_bytes(str(shown.trace_id)) == data
            assert b"".join(session.stream(str(shown.trace_id))) == data
    assert session.verify().whole
    session.close()


@pytest.mark.parametrize("limit", [256, 1_000, 8_000])
@pytest.mark.parametrize("strategy", ["head", "head_tail"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_shown_and_what_is_recalled_make_the_real_output(name: str, strategy: str, limit: int) -> None:
    session = in_memory(policy=TruncationConfiguration(inline_limit=limit, default_strategy=strategy))
    shown = session.keep(name, None, read_output(name))
    assert rebuilt(session, shown) == showable(session.recall(str(shown.trace_id)))


@given(st.binary(max_size=2_000))
def test_any_bytes_come_back(data: bytes) -> None:
    session = in_memory()
    shown = session.keep("t", None, data)
    assert session.recall_bytes(str(shown.trace_id)) == data
    assert session.recall(str(shown.trace_id)).encode("utf-8", "surrogateescape") == data


@given(any_text)
def test_any_text_comes_back(text: str) -> None:
    session = in_memory()
    assert session.recall(str(session.keep("t", None, text).trace_id)) == text


@given(any_text, any_text, any_text)
def test_anything_that_is_said_about_a_result_comes_back(tool: str, arguments: str, question: str) -> None:
    session = in_memory()
    session.keep(tool, arguments, "x", question=question, call_id=question)
    (row,) = session.store.find_call(session.id, question)
    about = result_of(row)
    assert (about.tool, about.arguments, about.question, about.call_id) == (tool, arguments, question, question)


@settings(max_examples=25)
@given(seeds, st.sampled_from((32_767, 32_769, 65_536, 65_537, 200_000, 1_048_577)), seeds)
def test_large_bytes_come_back_from_the_disk_however_they_were_chunked(seed: int, size: int, chunking: int) -> None:
    data = large(seed, size)
    with TemporaryDirectory() as folder:
        session = Session("s", store=folder)
        shown = session.keep("t", None, in_pieces(data, chunking))
        session.close()
        session = Session("s", store=folder)
        assert session.recall_bytes(str(shown.trace_id)) == data
        assert session.verify().whole
        session.close()


@settings(max_examples=50)
@given(seeds, st.integers(300, 60_000), st.integers(256, 9_000), st.sampled_from(("head", "head_tail")))
def test_what_is_shown_and_what_is_recalled_make_any_original(seed: int, size: int, limit: int, strategy: str) -> None:
    session = in_memory(policy=TruncationConfiguration(inline_limit=limit, default_strategy=strategy))
    shown = session.keep("t", None, large(seed, size))
    assert rebuilt(session, shown) == showable(session.recall(str(shown.trace_id)))


READ = """
import hashlib, sys
from keepwhole import Session
session = Session("s", store=sys.argv[1])
for row in session.store.rows("s", kind="result"):
    print(hashlib.sha256(session.recall_bytes(row.trace_id)).hexdigest())
assert session.verify().whole
"""


def test_another_process_reads_what_this_one_kept(tmp_path: Path) -> None:
    session = Session("s", store=str(tmp_path))
    for name in NAMES:
        session.keep(name, None, read_output(name))
    session.close()
    assert run_python(READ, str(tmp_path)).split() == [hashlib.sha256(read_output(name)).hexdigest() for name in NAMES]


def test_an_archive_carries_all_real_output_to_another_record(tmp_path: Path) -> None:
    store, other = SqliteStore(str(tmp_path)), MemoryStore()
    session = Session("s", store=store)
    for name in NAMES:
        session.keep(name, None, read_output(name))
    import_session(other, export_session(store, store.sessions()[0]))
    assert verify(other, "s") == verify(store, "s")
    copies = [Session("s", store=other).recall_bytes(row.trace_id) for row in other.rows("s", kind="result")]
    assert copies == [read_output(name) for name in NAMES]
    store.close()


def test_no_recorded_output_tells_of_the_machine_it_was_made_on() -> None:
    for name in NAMES:
        data = read_output(name)
        for secret in (b"/work/", b"/root", b"/home/", b"index-url", b"noreply"):
            assert secret not in data, name
