"""Previews are bounded, honest about what they leave out, and cannot reach the record."""

import ast
import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepwhole
from keepwhole.canonical.guard import TRANSPORT_TRUNCATION_MUST_NOT_MUTATE_CANONICAL_HISTORY
from keepwhole.errors import ConfigError
from keepwhole.standalone.transport_limiter import TransportLimiter
from keepwhole.truncation.edges import joined
from tests.build import in_memory

SOURCE = Path(str(keepwhole.__file__)).parent
TRACE = "trace_0000000000000000000001"
LIMITER = TransportLimiter(max_chars=300, max_total=1_000)
chunks = st.lists(st.text(alphabet="ab\n\r e\u0301👍🏽\u200d🇩🇪한", max_size=200) | st.just("x" * 500), max_size=12)


def previews(given: list[str]) -> list[dict[str, Any]]:
    stream = LIMITER.stream(TRACE)
    shown = [stream.event(chunk) for chunk in given]
    return [*(preview for preview in shown if preview is not None), stream.last()]


def body_of(preview: dict[str, Any]) -> str:
    return preview["text"].split("\n... [Remainder omitted: ")[0]


def test_a_short_result_is_previewed_whole_and_says_what_it_is_a_preview_of() -> None:
    assert LIMITER.preview(TRACE, "all of it") == {
        "text": "all of it",
        "preview": True,
        "canonical": {"trace_id": TRACE, "chars": 9},
        "ended": True,
        "left_out": 0,
    }


def test_a_long_result_is_cut_and_the_preview_counts_what_is_missing() -> None:
    preview = LIMITER.preview(TRACE, "x" * 5_000)
    missing = preview["left_out"]
    assert preview["text"].endswith(f"\n... [Remainder omitted: 1 lines / {missing:,} chars] ...")
    assert len(body_of(preview)) + missing == preview["canonical"]["chars"] == 5_000


@given(chunks)
def test_no_preview_is_longer_than_its_limit_nor_all_of_them_together(given: list[str]) -> None:
    shown = previews(given)
    assert all(len(preview["text"]) <= LIMITER.max_chars for preview in shown)
    assert sum(len(preview["text"]) for preview in shown) <= LIMITER.max_total


@given(chunks)
def test_what_is_shown_and_what_is_left_out_is_all_there_was(given: list[str]) -> None:
    shown = previews(given)
    assert sum(len(body_of(preview)) for preview in shown) + shown[-1]["left_out"] == len("".join(given))
    assert shown[-1]["canonical"]["chars"] == len("".join(given))


@given(chunks)
def test_no_grapheme_is_split_within_a_chunk_or_between_two(given: list[str]) -> None:
    text = "".join(given)
    at = 0
    for preview in previews(given):
        body = body_of(preview)
        at = text.find(body, at) + len(body)
        if "Remainder" in preview["text"]:
            assert at in (0, len(text)) or not joined(text, at)
            return


def test_once_the_limit_of_a_result_is_reached_nothing_more_is_sent_until_the_end() -> None:
    stream = LIMITER.stream(TRACE)
    sent = [stream.event("y" * 250) for _ in range(20)]
    assert sent[-1] is None
    last = stream.last()
    assert last["ended"] is True
    assert last["left_out"] > 3_500
    assert "Remainder omitted" in last["text"]


def test_an_endless_stream_of_combining_marks_is_not_held_back_forever() -> None:
    stream = TransportLimiter(max_total=9_000).stream(TRACE)
    assert [stream.event("\u0301" * 1_000) is None for _ in range(6)] == [True] * 4 + [False, True]


def test_a_known_length_is_told_from_the_start() -> None:
    preview = LIMITER.stream(TRACE, chars=90_000).event("begin")
    assert preview is not None
    assert preview["canonical"] == {"trace_id": TRACE, "chars": 90_000}


def test_an_event_keeps_its_short_values_and_its_order_and_has_its_long_ones_cut() -> None:
    event = {"type": "tool-result", "output": "z" * 9_000, "toolCallId": "call_1", "ok": True, "took": None}
    before = copy.deepcopy(event)
    preview = LIMITER.preview(TRACE, event)
    assert event == before
    assert list(preview)[:5] == list(event)
    assert (preview["type"], preview["toolCallId"], preview["ok"], preview["took"]) == (
        "tool-result",
        "call_1",
        True,
        None,
    )
    assert "Remainder omitted" in preview["output"]
    assert preview["preview"] is True


def test_what_is_done_to_a_preview_does_not_reach_the_event() -> None:
    event = {"result": {"rows": [1, 2]}}
    LIMITER.preview(TRACE, event)["result"]["rows"].append(3)
    assert event == {"result": {"rows": [1, 2]}}


values = st.none() | st.integers() | st.text(max_size=20) | st.sampled_from([199, 201, 299, 700]).map("é".__mul__)
nested = st.lists(values, max_size=8) | st.dictionaries(st.text(max_size=5), values, max_size=4)


@given(st.dictionaries(st.text(max_size=9) | st.just("k" * 290), values | nested, max_size=12))
def test_an_event_of_any_shape_is_bounded(event: dict[str, Any]) -> None:
    preview = LIMITER.preview(TRACE, event)
    ours = ("preview", "canonical", "left_out")
    shown = {key: value for key, value in preview.items() if key in event and key not in ours}
    texts = [value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for value in shown.values()]
    assert sum(map(len, [*shown, *texts])) <= LIMITER.max_chars + len("left_out, text")
    assert preview["canonical"]["trace_id"] == TRACE


def test_an_event_that_json_cannot_say_is_previewed_in_python_s_words() -> None:
    ring: list[Any] = []
    ring.append(ring)
    assert LIMITER.preview(TRACE, {"ring": ring, 1: {2}})["ring"] == "[[...]]"


@pytest.mark.parametrize("limit", [0, 10, "300", True])
def test_a_limit_with_no_room_is_refused_with_the_least_there_is(limit: object) -> None:
    with pytest.raises(ConfigError, match="at least 256"):
        TransportLimiter(max_chars=limit)  # type: ignore[arg-type]


def imports_of(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {str(node.module), *(f"{node.module}.{name.name}" for name in node.names)}
    return found


def reached_from(*modules: str) -> set[str]:
    """Every Keepwhole module that these import, directly or not."""
    found: set[str] = set()
    todo = list(modules)
    while todo:
        name = todo.pop()
        path = SOURCE.parent.joinpath(*name.split("."))
        files = [one for one in (path.with_suffix(".py"), path / "__init__.py") if one.exists()]
        if name not in found and files:
            found.add(name)
            todo += [one for one in imports_of(files[0]) if one.startswith("keepwhole.")]
    return found


def test_no_way_leads_from_keeping_or_the_store_to_the_limiter() -> None:
    keeping = {f"keepwhole.{place}" for place in ("record.arrival", "session", "async_session", "canonical.guard")}
    stores = {f"keepwhole.store.{path.stem}" for path in (SOURCE / "store").glob("*.py")}
    stores |= {f"keepwhole.store.sqlite.{path.stem}" for path in (SOURCE / "store" / "sqlite").glob("*.py")}
    reached = reached_from(*keeping, *stores)
    assert "keepwhole.truncation.present" in reached
    assert "keepwhole.standalone.transport_limiter" not in reached, (
        TRANSPORT_TRUNCATION_MUST_NOT_MUTATE_CANONICAL_HISTORY
    )


def test_no_way_leads_from_the_limiter_to_the_record() -> None:
    reached = reached_from("keepwhole.standalone.transport_limiter")
    assert not [
        name for name in reached if name.startswith(("keepwhole.store", "keepwhole.session", "keepwhole.recall"))
    ]


def test_a_preview_that_comes_back_as_a_result_is_kept_flagged_and_counted() -> None:
    session = in_memory()
    whole = session.keep("bash", {}, "k" * 6_000)
    preview = LIMITER.preview(str(whole.trace_id), "k" * 6_000)
    session.keep("bash", {}, json.dumps(preview))
    session.keep("bash", {}, preview["text"])
    assert session.metrics.canonical_writes_with_truncation_marker == 2
    assert session.recall(str(whole.trace_id)) == "k" * 6_000


def test_keeping_is_the_same_while_a_page_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("keeping must not ask the limiter")

    text = "m" * 70_000
    for name in ("stream", "preview"):
        monkeypatch.setattr(TransportLimiter, name, refuse)
    session = in_memory()
    assert session.recall(str(session.keep("bash", {}, text).trace_id)) == text
