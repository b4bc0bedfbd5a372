"""Whatever a model sends, a recall tool answers: bounded, within a second, and without an exception."""

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.recall import tools
from keepwhole.recall.names import NAMES
from tests.build import in_memory, numbered_lines

LIMIT = 2_000
BODIES = {
    "log": numbered_lines(3_000),
    "json": json.dumps({"a": [{"b": n, "c": "x" * 30} for n in range(900)], "d": {"e": None}}),
    "csv": "id,name\n" + "".join(f'{n},"n ""{n}"""\n' for n in range(900)),
    "ndjson": "".join(json.dumps({"n": n}) + "\n" for n in range(900)),
    "giant": "é😀x" * 20_000,
    "broken": '{"a": [1, 2' + "]" * 10 + "\ud800" * 5_000,
    "deep": "[" * 20_000 + "]" * 20_000,
    "empty": "",
}
KEYS = ("id", "artifact_id", "trace_id", "traceId", "lines", "start_line", "end_line", "start_char", "length")
KEYS += ("from_end", "pattern", "regex", "context", "path", "part", "query", "q")
texts = st.text(max_size=30) | st.sampled_from(
    (
        "(a+)+$",
        "a" * 600,
        "$.a[0:9].b",
        "$" + "[0]" * 90,
        "$.a[*][*]",
        "$.." + "a" * 50,
        "100-200",
        "-",
        "9" * 400,
        "true",
    )
)
numbers = st.integers() | st.integers(-5, 5) | st.floats() | st.booleans() | st.just(10**400)
plain = texts | numbers | st.none()
values = plain | st.lists(plain | st.lists(plain, max_size=2), max_size=3) | st.dictionaries(texts, plain, max_size=3)


@pytest.fixture(scope="module")
def kept() -> tuple[Session, list[str]]:
    session = in_memory(settings=Settings(home="unused", retrieval_limit=LIMIT, policy="truncation"))
    return session, [str(session.keep(name, {"n": name}, text).trace_id) for name, text in BODIES.items()]


def check(session: Session, tool: str, arguments: dict[str, Any], most: float = 1.0) -> None:
    began = time.thread_time()  # other processes may keep this one waiting
    answer = session.call_tool(tool, arguments)
    assert time.thread_time() - began < most
    assert len(answer.content) <= LIMIT
    answer.content.encode()


@settings(max_examples=300)
@given(st.sampled_from(NAMES), st.dictionaries(st.sampled_from(KEYS) | texts, values, max_size=5), st.integers(0, 7))
def test_any_arguments_are_answered(
    kept: tuple[Session, list[str]], tool: str, arguments: dict[str, Any], body: int
) -> None:
    session, ids = kept
    check(session, tool, arguments)
    check(session, tool, {**arguments, "id": ids[body]})


@settings(max_examples=150)
@given(
    st.sampled_from(NAMES[:2]),
    st.fixed_dictionaries(
        {},
        optional={
            "lines": st.builds("{}-{}".format, st.integers(-3, 4_000), st.integers(-3, 10**20)) | texts,
            "start_char": st.integers(-2, 10**9),
            "length": st.integers(-2, 10**9),
            "from_end": st.integers(-2, 10**9),
            "pattern": texts | st.sampled_from(("e", "line", "x", "\n", "é", "[")),
            "context": st.integers(-1, 10**6),
            "path": st.sampled_from(
                ("$", "$.a", "$.a[*]", "$.a[5:].b", "$[*]", "$[3]", "$.name", "$[-1].n", "$[0:99999]")
            )
            | texts,
        },
    ),
    st.integers(0, 7),
)
def test_sensible_arguments_in_any_combination_are_answered(
    kept: tuple[Session, list[str]], tool: str, arguments: dict[str, Any], body: int
) -> None:
    session, ids = kept
    check(session, tool, {**arguments, "id": ids[body]})


@pytest.mark.torture
def test_a_body_of_any_size_is_read_within_a_second_and_searched_for_nothing_in_a_few(tmp_path: Any) -> None:
    settings = Settings(home=str(tmp_path), retrieval_limit=LIMIT, policy="truncation")
    session = Session("s", store=SqliteStore(str(tmp_path)), settings=settings)
    piece = numbered_lines(50_000)
    shown = session.keep("bash", None, (piece for _ in range(800)))
    for arguments in ({"pattern": "nowhere"}, {"pattern": "e"}, {"pattern": "00001", "context": 3}, {"path": "$.a"}):
        check(session, "get_artifact", {"id": shown.artifact_id, **arguments})
    check(
        session, "search_artifacts", {"query": "nowhere to be found"}, most=tools._SEARCH_SECONDS + tools._THOROUGH + 1
    )
    session.close()
