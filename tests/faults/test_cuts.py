"""A file of the record is cut off: database, WAL, marks or a body. What is gone is noticed, the rest is as it was.

At a few places by default, under `torture` at every 13th byte; `KEEPWHOLE_CUT_EVERY=1` cuts at every one, for hours.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from tests.faults import damage

EVERY = int(os.environ.get("KEEPWHOLE_CUT_EVERY", "13"))
SIZES = (10, 900, 70_000)
"""Two results for rows and one for a file."""
PAGE, FRAME, WAL_HEAD = 4_096, 4_120, 32
Judge = Callable[[damage.Image, int, damage.Seen], str]


def cut(image: damage.Image, name: str, places: Iterable[int], judge: Judge) -> int:
    """How often a file was cut; `AssertionError` with each kind of trouble that came of it."""
    trouble: Counter[str] = Counter()
    example: dict[str, int] = {}
    count = 0
    for at in places:
        count += 1
        image.replace(name, image.files[name][:at])
        what = judged(image, at, judge)
        if what:
            trouble[what] += 1
            example.setdefault(what, at)
    image.replace(name, image.files[name])
    assert damage.look(image) == damage.Seen(set(), set(), set()), "the whole file is not whole"
    told = "\n".join(f"{times} × {what}, e.g. at {example[what]:,}" for what, times in trouble.most_common())
    assert not trouble, f"{trouble.total()} of {count} cuts of {name}:\n{told}"
    return count


def judged(image: damage.Image, at: int, judge: Judge) -> str:
    try:
        return judge(image, at, damage.look(image))
    except AssertionError as error:
        return str(error).splitlines()[0]
    except Exception as error:
        return f"{type(error).__name__} leaked: {error}"


def judge_database(image: damage.Image, at: int, seen: damage.Seen) -> str:
    sessions = {kept.session for kept in image.kept if kept.trace_id in seen.missing | seen.refused}
    return "" if sessions <= seen.broken else "a result cannot be read, and verify finds nothing wrong"


def judge_wal(image: damage.Image, at: int, seen: damage.Seen) -> str:
    return damage.judge_beginning(image, seen)


def judge_body(image: damage.Image, at: int, seen: damage.Seen) -> str:
    return "" if len(seen.refused) == len(seen.broken) == 1 else f"{len(seen.refused)} results refused, not one"


def judge_marks(image: damage.Image, at: int, seen: damage.Seen) -> str:
    return "results are gone with the marks" if seen.missing or seen.refused else ""


def around(edges: Iterable[int], size: int) -> list[int]:
    """A byte before each edge, at it, and after it."""
    return sorted({at for edge in edges for at in (edge - 1, edge, edge + 1) if 0 <= at < size})


def edges(image: damage.Image, name: str) -> list[int]:
    """Where the parts of a file end."""
    size = len(image.files[name])
    if name == "record.db":
        return [0, 16, 100, *range(PAGE, size, 5 * PAGE), size]
    if name == "record.db-wal":
        return [0, WAL_HEAD, *range(WAL_HEAD, size, 5 * FRAME), size]
    return [0, size // 2, min(size, 65_536), size, *range(0, min(size, 512), 64)]


FILES: dict[str, Judge] = {
    "record.db": judge_database,
    "record.db-wal": judge_wal,
    "record.marks": judge_marks,
    "body": judge_body,
}


def image_for(file: str, folder: Path) -> tuple[damage.Image, str]:
    image = damage.make(folder / "store", checkpointed=file != "record.db-wal", sizes=SIZES)
    return image, image.blobs()[0] if file == "body" else file


@pytest.mark.parametrize("file", FILES)
def test_a_file_that_was_cut_off_is_noticed_and_the_rest_is_served_as_it_was(file: str, tmp_path: Path) -> None:
    image, name = image_for(file, tmp_path)
    assert cut(image, name, around(edges(image, name), len(image.files[name])), FILES[file]) > 8


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_was_cut_off_at_any_byte_is_noticed(file: str, tmp_path: Path) -> None:
    image, name = image_for(file, tmp_path)
    count = cut(image, name, range(0, len(image.files[name]), EVERY), FILES[file])
    print(f"\n{file}: {count:,} cuts of {len(image.files[name]):,} bytes, every {EVERY}")


def test_a_record_without_marks_does_not_notice_that_its_wal_was_cut_off(tmp_path: Path) -> None:
    image, name = image_for("record.db-wal", tmp_path)
    image.files["record.marks"] = b""
    with pytest.raises(AssertionError, match="results are gone and verify does not notice"):
        cut(image, name, [WAL_HEAD + 3 * FRAME], judge_wal)
