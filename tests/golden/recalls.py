"""Scenarios of reading back: imported runs, the recall tools, selection; and the functions beside a session."""

from collections.abc import Callable
from functools import partial
from typing import Any

from tests.canonical.pictures import png
from tests.golden import doors
from tests.golden.conversations import DIALECTS, Talk, steps
from tests.golden.recorder import Recorder
from tests.golden.setups import Work, settings
from tests.golden.texts import KINDS, text

_ASKED: dict[str, dict[str, Any]] = {
    "all": {},
    "lines": {"lines": "5-25"},
    "open": {"lines": "40-"},
    "beyond": {"lines": "99999-100000"},
    "chars": {"start_char": 1_000, "length": 700},
    "pattern": {"pattern": "customs"},
    "regex": {"pattern": r"\b(crane|tug)\b.*\d"},
    "path": {"path": "$.items[0:3].name"},
    "path-odd": {"path": "$.nothing[0"},
    "odd": {"lines": "x-y"},
}
_QUERIES = ("customs invoice", "ValueError traceback", "漢字", "weight of the crane", "", "nothing like it anywhere")


def imports(out: Recorder) -> None:
    """The sample runs, and runs of every dialect, put on record and read back."""
    store = doors.memory_store()
    for at, run in enumerate(doors.sample_runs()):
        name = f"import/sample-{at}"
        out.add(f"{name}/run", doors.run_about(run))
        done = doors.import_into(store, run, name)
        out.add(f"{name}/imported", done)
        out.add(f"{name}/again", doors.import_into(store, run, f"{name}/again"))
        _answers(out, name, store, done["session"], 4)
        cramped = doors.memory_store()
        out.add(f"{name}/cramped", doors.import_into(cramped, run, name, quota=20_000))
        out.add(f"{name}/cramped-record", doors.record(cramped))
    out.add("import/samples/record", doors.record(store))
    for dialect in DIALECTS:
        talk, store = Talk(dialect, "blocks"), doors.memory_store()
        for step in steps(f"import/{dialect}", 8):
            talk.take(step)
        run = doors.made_run("golden", f"{dialect} with / odd name", talk.messages)
        done = doors.import_into(store, run, dialect)
        out.add(f"import/{dialect}/imported", done)
        _answers(out, f"import/{dialect}", store, done["session"], 3)
        out.add(f"import/{dialect}/record", doors.record(store))


def _answers(out: Recorder, name: str, store: Any, session: str, most: int) -> None:
    """What the recall tools say about the largest results of a session."""
    opened = doors.open_session(session, store=store, settings=settings("lean_window"), seed=name)
    results = [entry for entry in doors.record(store) if entry.get("kind") == "result"]
    for at, entry in enumerate(sorted(results, key=lambda entry: (-entry["size"], entry["seq"]))[:most]):
        asked = [{"id": entry["artifact_id"], **asked} for asked in _ASKED.values()]
        out.add(f"{name}/get-{at}", [doors.recall(opened, "get_artifact", given) for given in asked])
        given = {"trace_id": entry["trace_id"]}
        out.add(f"{name}/trace-{at}", doors.recall(opened, "get_task_trace", given))
    for at, query in enumerate(_QUERIES):
        out.add(f"{name}/search-{at}", doors.recall(opened, "search_artifacts", {"query": query}))
        out.add(f"{name}/select-{at}", doors.select(opened, query, budget=600))


def recalls(out: Recorder) -> None:
    """Every kind of result kept and read back in every way."""
    for given in ("truncation", "lean_window"):
        work = Work(out, f"recall/kept-{given}", given)
        for number, kind in enumerate(KINDS):
            shown = doors.kept(
                work.session, "bash", {"kind": kind}, text(kind, 40_000), task_id=f"t{number % 2}", query_id="q"
            )
            asked = [{"id": shown.artifact_id, **more} for more in _ASKED.values()]
            found = [doors.recall(work.session, "get_artifact", one) for one in asked]
            text_of = work.session.recall(shown.artifact_id, lines="3-5")
            out.add(f"{work.name}/{kind}", [found, text_of, work.session.recall(shown.trace_id, chars=(9, 99))])
        shown = doors.kept(work.session, "bash", {}, png(640, 400, 1, 50_000))
        asked = [{"id": shown.trace_id, **more} for more in _ASKED.values()]
        out.add(f"{work.name}/binary", [doors.recall(work.session, "get_artifact", one) for one in asked])
        for at, asked in enumerate(({}, {"id": 7}, {"id": "nobody"}, {"artifact_id": "x"}, {"id": None, "lines": 5})):
            for tool in ("get_artifact", "get_task_trace", "search_artifacts"):
                work.tried(f"odd-{at}-{tool}", partial(doors.recall, work.session, tool, asked))
        work.tried("no-tool", partial(doors.recall, work.session, "nobody", {}))
        for at, query in enumerate(_QUERIES):
            work.record(doors.recall(work.session, "search_artifacts", {"query": query}), f"search-{at}")
            work.record(doors.select(work.session, query, task_id="t1"), f"select-{at}")
        for call in (
            {"type": "tool_use", "id": "a", "name": "get_artifact", "input": {"id": shown.trace_id}},
            {"id": "b", "type": "function", "function": {"name": "get_artifact", "arguments": '{"id": "x"'}},
            {"type": "function_call", "call_id": "c", "name": "search_artifacts", "arguments": '{"query": "tug"}'},
            {"type": "function_call", "call_id": "d", "name": "bash", "arguments": "{}"},
        ):
            work.record(work.session.answer(call), "answer")
        work.end()


def processing(out: Recorder) -> None:
    """The processor and previews, without a session."""
    limits: tuple[tuple[int, dict[str, int]], ...] = ((4_000, {"inline_limit": 1_000}), (30_000, {}), (60_000, {}))
    for kind in KINDS:
        for tool in ("bash", "read_file"):
            found = [doors.processed(text(kind, chars), tool, **own) for chars, own in limits]
            out.add(f"functions/processor/{kind}-{tool}", found)
        words = text(kind, 12_000)
        chunks = [words[at : at + 1_700] for at in range(0, len(words), 1_700)]
        for most, total in ((2_000, 20_000), (300, 1_500)):
            out.add(f"functions/previews/{kind}-{most}", doors.previews(chunks, most, total, len(words)))
    event = {"type": "tool", "id": "x", "output": text("json", 5_000), "rows": [1, 2, {"a": None}]}
    for most in (256, 1_000, 9_000):
        out.add(f"functions/previews/event-{most}", doors.previews([event, event, "then text"], most, 4_000))


def ageing(out: Recorder) -> None:
    """Retention over a window of one's own, and the rolling functions over chat messages."""
    messages = [
        ("spec", "The specification.", 0),
        *((("user", "assistant", "tool")[n % 3], text("log", 900, n), n // 3) for n in range(18)),
    ]
    for turn in range(7):
        out.add(f"functions/retention/{turn}", doors.retained(messages, turn))
    for style in ("plain", "blocks"):
        talk = Talk("openai_chat", style)
        for number, step in enumerate(steps(f"rolled/{style}", 10)):
            talk.take(step)
            out.add(f"functions/rolling/{style}-{number}", doors.rolled(talk.messages))
            tight = doors.rolled(talk.messages, max_age=2, max_tokens_per_output=200, placeholder="[{N} ago]")
            out.add(f"functions/rolling/{style}-{number}-tight", tight)


def summing(out: Recorder) -> None:
    """Compaction without a session."""
    for dialect in DIALECTS:
        talk = Talk(dialect)
        for number, step in enumerate(steps(f"summed/{dialect}", 12)):
            talk.take(step)
            if number % 3 == 2:
                for label, words in (("plain", None), ("words", "It went well."), ("empty", "")):
                    found = doors.summary(talk.messages, 3_000, 600, words)
                    out.add(f"functions/compaction/{dialect}-{number}-{label}", found)


GROUPS: dict[str, list[Callable[[Recorder], None]]] = {
    "import": [imports],
    "recall": [recalls],
    "functions": [processing, ageing, summing],
}
