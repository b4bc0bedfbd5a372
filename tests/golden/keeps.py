"""Scenarios of `keep`: kinds of results, forms of output, limits, strategies, trouble."""

from functools import partial
from typing import Any

from tests.golden import doors
from tests.golden.recorder import Recorder
from tests.golden.setups import Work, settings
from tests.golden.texts import KINDS, binary, text

_TOOLS = {"log": "bash", "ansi": "bash", "diff": "bash", "code": "read_file", "grep": "grep", "json": "query"}
_SIZES = (0, 300, 5_000, 11_000, 30_000, 70_000)


def kinds(given: str) -> Any:
    """Every kind of result in several sizes, under settings of this name."""

    def scenario(out: Recorder) -> None:
        work = Work(out, f"keep/kinds-{given}", given)
        for kind in KINDS:
            found = [
                doors.keep(session, tool, {"n": chars}, text(kind, chars), call_id=f"{kind}{chars}")
                for session, tool in [(work.session, _TOOLS.get(kind, "web_fetch"))]
                for chars in _SIZES
            ]
            if given in ("default", "small"):
                for chars, one in zip(_SIZES, found, strict=True):
                    out.add(f"{work.name}/{kind}-{chars}", one)
            else:
                out.add(f"{work.name}/{kind}", found)
        for chars in (200, 60_000):
            out.add(f"{work.name}/binary-{chars}", doors.keep(work.session, "bash", None, binary(chars)))
        out.add(f"{work.name}/artifacts", doors.plain(work.session.artifacts()))
        work.end()

    return scenario


def strategies(out: Recorder) -> None:
    """Every strategy, named for the tool, over every kind."""
    for name in doors.STRATEGY_NAMES:
        policy = doors.truncation(inline_limit=2_000, default_strategy=name, head_ratio=0.3)
        session = doors.open_session(policy=policy, seed=f"strategy/{name}")
        for kind in KINDS:
            shown = doors.keep(session, "unknown_tool", None, text(kind, 7_000))
            out.add(f"keep/strategy-{name}/{kind}", shown)


def forms(out: Recorder) -> None:
    """The forms in which outputs and calls come."""
    work = Work(out, "keep/forms", "truncation")
    long = text("log", 30_000)
    anthropic = {"type": "tool_use", "id": "t1", "name": "bash", "input": {"command": "make"}}
    chat = {"id": "c1", "type": "function", "function": {"name": "bash", "arguments": '{"command": "make"}'}}
    responses = {"type": "function_call", "call_id": "r1", "name": "bash", "arguments": "{}"}
    outputs: dict[str, Any] = {
        "str": lambda: long,
        "bytes": lambda: long.encode(),
        "bytearray": lambda: bytearray(long.encode()),
        "iterator": lambda: iter([long[:7].encode(), b"", long[7:20_000].encode(), long[20_000:].encode()]),
        "texts": lambda: (long[at : at + 999] for at in range(0, len(long), 999)),
        "latin1": lambda: "é ü ß\n".encode("latin-1") * 3_000,
        "utf16": lambda: text("unicode", 9_000).encode("utf-16"),
        "crlf": lambda: long.replace("\n", "\r\n"),
        "cr": lambda: long.replace("\n", "\r"),
        "one_line": lambda: "abc " * 9_000,
    }
    for label, make in outputs.items():
        work.tried(label, partial(doors.keep, work.session, "bash", {"a": 1}, make(), call_id=f"f{label}"))
    for label, call in (("anthropic", anthropic), ("chat", chat), ("responses", responses)):
        shown = doors.kept(work.session, call, long)
        work.record(doors.plain(shown), f"call-{label}")
        for dialect in ("anthropic", "openai_chat", "openai_responses", "mcp"):
            work.record(shown.block(dialect), f"block-{label}-{dialect}")
    options: dict[str, dict[str, Any]] = {
        "error": {"is_error": True},
        "exit": {"exit_code": 3},
        "exit-callable": {"exit_code": lambda: 7},
        "about": {"turn": 4, "task_id": "task", "query_id": "query"},
        "question": {"question": "which customs invoice failed with ValueError?"},
    }
    for label, given in options.items():
        for size in (400, 26_000):
            words = text("log", size, label)
            work.tried(
                f"{label}-{size}", lambda given=given, words=words: doors.keep(work.session, "bash", {}, words, **given)
            )
    work.tried("no-output", lambda: doors.keep(work.session, "bash", {}))
    work.tried("again", lambda: doors.keep(work.session, "bash", {"a": 1}, long, call_id="fstr"))
    verified = doors.plain(work.session.verify())
    work.record(verified, "verify")
    work.session.end()
    work.end()


def trouble(out: Recorder) -> None:
    """Quotas, stores that fail and come back, recall off, ephemeral sessions, purges."""
    work = Work(out, "keep/quota", "quota")
    for number in range(5):
        words = text("plain", 22_000, number)
        work.tried("show", lambda words=words: doors.keep(work.session, "bash", {}, words))
        work.tried("raise", lambda words=words: doors.keep(work.session, "bash", {}, words, on_trouble="raise"))
    work.end()
    store = doors.FaultyStore()
    work = Work(out, "keep/faults", store=store)
    for broken in ((), ("append",), ("take",), ("open_session",), ("append", "take"), ("stored",), ()):
        store.broken = set(broken)
        for size in (500, 19_000):
            words = text("json", size, len(broken))
            label = "-".join(("at", *broken, str(size)))
            work.tried(label, lambda words=words: doors.keep(work.session, "query", {}, words))
            work.tried(f"{label}-stream", lambda words=words: doors.keep(work.session, "q", {}, iter([words.encode()])))
    work.end()
    work = Work(out, "keep/off", "off")
    for kind in ("log", "json", "code"):
        work.record(doors.keep(work.session, "bash", {}, text(kind, 70_000)), kind)
    work.end()
    work = Work(out, "keep/ephemeral", ephemeral=True)
    with work.session as session:
        work.record(doors.keep(session, "bash", {}, text("log", 20_000)))
        work.record(doors.record(work.store))
    work.end()
    work = Work(out, "keep/purged", agent="golden")
    for number in range(3):
        work.record(doors.keep(work.session, "bash", {}, text("log", 20_000, number), call_id="same"))
        if number == 1:
            doors.purge(work.store, "s")
    work.end()


def folders(out: Recorder) -> None:
    """Recall from files: the record in a folder, in the words of every reader."""
    for reader in ("Read", "read", "read_file", "sed"):
        with doors.folder() as place:
            out.replace(place, doors.PLACEHOLDER)
            given = doors.settings(f"recall: path\nrecall_reader: {reader}\npolicy: truncation\n", home=place)
            store = doors.folder_store(place)
            clock = doors.Clock()
            session = doors.open_session(store=store, settings=given, clock=clock, seed=f"folder/{reader}")
            name = f"keep/path-{reader}"
            for kind in KINDS:
                found = doors.keep(session, _TOOLS.get(kind, "bash"), {}, text(kind, 14_000), call_id=kind)
                out.add(f"{name}/{kind}", found)
            out.add(f"{name}/big", doors.keep(session, "bash", {}, text("log", 90_000)))
            units = doors.select(session, "customs invoice error")[1]["units"]  # tokens depend on the folder's name
            out.add(f"{name}/select", units)
            out.add(f"{name}/tools", session.tools("anthropic"))
            out.add(f"{name}/record", doors.record(store, bare=True))
            store.close()


def twins(out: Recorder) -> None:
    """The async calls."""
    work = Work(out, "keep/async")

    async def chunks() -> Any:
        for at in range(9):
            yield text("log", 3_000, at).encode()

    async def scenario() -> None:
        session = work.session
        work.record(doors.plain(await session.akeep("bash", {}, chunks(), call_id="a")))
        work.record(doors.plain(await session.akeep("query", {}, text("json", 50_000), call_id="b")))
        shown = await session.akeep("bash", {}, text("log", 50_000), call_id="c")
        messages = [{"role": "user", "content": "go"}]
        work.record(await session.aview(messages))
        work.record(doors.plain(await session.aprojection(messages)))
        work.record(doors.plain(await session.acall_tool("get_artifact", {"id": shown.artifact_id, "lines": "3-9"})))

    doors.run_async(scenario())
    work.end()


def offered(out: Recorder) -> None:
    """The recall tools as they are offered."""
    for given in ("default", "off", "shadow", "mode_off"):
        session = doors.open_session(settings=settings(given))
        for dialect in ("anthropic", "openai_chat", "openai_responses", "mcp"):
            out.add(f"keep/tools-{given}/{dialect}", session.tools(dialect))
            out.add(f"keep/tools-{given}/{dialect}-to-offer", session.tools_to_offer(dialect))


GROUPS = {
    "keep-kinds": [kinds(name) for name in ("default", "small")],
    "keep-more": [kinds(name) for name in ("overrides", "line_cap", "lean", "truncation", "off", "shadow")],
    "keep-forms": [strategies, forms, trouble, folders, twins, offered],
}
