"""The doors into the package: every import of it that the golden recordings need, behind thin functions.

After a rename this is the only file to edit. Clock, ids, settings and folders are injected here, so that nothing that
comes out depends on the day, the machine, the environment or the process.
"""

import asyncio
import hashlib
import itertools
import json
import logging
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch
from weakref import WeakKeyDictionary

from keepwhole import MemoryStore, Session, SqliteStore, config
from keepwhole.apps.hooks import command as hook_command
from keepwhole.apps.hooks import run as hook_run
from keepwhole.canonical.entry import Decision
from keepwhole.canonical.round_times import RoundTimes
from keepwhole.conversation.costs import BranchCosts
from keepwhole.errors import KeepwholeError, NotFound, NotStored
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.request_log import RequestLog
from keepwhole.exchange.router import OwnAnswer, SessionRouter
from keepwhole.logs.reader import read_runs
from keepwhole.logs.run import Run
from keepwhole.models.profiles import Profile
from keepwhole.policies.catalog import BUILT_IN
from keepwhole.policies.compaction import Compaction
from keepwhole.policies.other_systems import PEERS
from keepwhole.policies.rolling import RollingContext
from keepwhole.policies.transcript import Name, Transcript
from keepwhole.record.log_import import import_run
from keepwhole.replay.samples.files import write_samples
from keepwhole.standalone import rolling
from keepwhole.standalone.context_window import (
    AssistantMessage,
    ContextWindow,
    SpecRefreshMessage,
    ToolResultMessage,
    UserMessage,
)
from keepwhole.standalone.processor import TruncationProcessor
from keepwhole.standalone.retention import ToolResultRetentionPolicy
from keepwhole.standalone.transport_limiter import TransportLimiter
from keepwhole.store.protocol import body_of, entry_of
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES
from keepwhole.wire.dialects import decode_message
from keepwhole.wire.identity import Identity
from tests.memory_folder import memory_folder

NOON = 1_700_000_000
"""When every scenario begins, in unix seconds."""
POLICIES = (*BUILT_IN, *PEERS)
STRATEGY_NAMES = tuple(STRATEGIES)
PLACEHOLDER = "/golden/folder"
Error = KeepwholeError
StoreFault = NotStored
SESSION_HEADER = "x-keepwhole-session"


# Time, chance, folders, settings


class Clock:
    """A clock that only moves when a scenario says so."""

    def __init__(self) -> None:
        self.at = float(NOON)

    def __call__(self) -> float:
        """Now, in unix seconds."""
        return self.at

    def tick(self, seconds: float = 20.0) -> None:
        """Let time pass."""
        self.at += seconds


def seeded(seed: str) -> Callable[[int], bytes]:
    """Random bytes that are the same in every run."""
    count = itertools.count()
    return lambda size: hashlib.shake_128(f"{seed}/{next(count)}".encode()).digest(size)


@contextmanager
def unhurried() -> Iterator[None]:
    """No time runs out however busy the machine is, since it runs a thousand times slower; the environment is empty."""
    kept, clock = dict(os.environ), time.monotonic
    began = clock()
    logging.disable()
    for name in [name for name in os.environ if name.startswith("KEEPWHOLE_")]:
        del os.environ[name]
    try:
        with patch.object(time, "monotonic", lambda: began + (clock() - began) / 1_000):
            yield
    finally:
        logging.disable(logging.NOTSET)
        os.environ.clear()
        os.environ.update(kept)


@contextmanager
def counted_costs() -> Iterator[list[Any]]:
    """What conversations have cost before each request, and what is left of compacted ones, as they are worked out."""
    found: list[Any] = []
    before, note = BranchCosts.before, BranchCosts.note_compaction

    def count(costs: BranchCosts, *given: Any, **options: Any) -> Any:
        one = before(costs, *given, **options)
        client = one.ledger.client
        sums = one.ledger.paid, one.ledger.unmanaged, client.compactions, client.size
        found.append([[round(each, 6) for each in sums], plain(one.request), list(one.ends), one.profile.window])
        return one

    def compact(costs: BranchCosts, *given: Any) -> None:
        note(costs, *given)
        found.append(plain(costs.compacted))

    with patch.multiple(BranchCosts, before=count, note_compaction=compact):
        yield found


@contextmanager
def folder() -> Iterator[str]:
    """A new folder whose path always has the same length, so that what fits beside it is the same."""
    place, prefix = (memory, "go-") if (memory := memory_folder()) else ("/tmp", "golden-")
    path = tempfile.mkdtemp(prefix=prefix, dir=place)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def drawn(clock: Clock, seed: str) -> Iterator[None]:
    """Sessions that are opened without a clock and ids of their own have these."""
    defaults: dict[str, Any] = Session.__init__.__kwdefaults__
    before = dict(defaults)
    defaults.update(clock=clock, random=seeded(seed))
    try:
        yield
    finally:
        defaults.update(before)


def settings(text: str = "", home: str = "/golden/home") -> Any:
    """The settings that a file with this text gives, without any environment."""
    with folder() as place:
        path = os.path.join(place, "settings.yaml")
        Path(path).write_text(text, encoding="utf-8")
        return config.load(path, environ={"HOME": place}, folder=place, home=home)


def truncation(**limits: Any) -> Any:
    """Limits and strategies for `keep`."""
    return TruncationConfiguration(**limits)


# Stores


def memory_store() -> Any:
    """A store in memory."""
    return MemoryStore()


def folder_store(path: str, inline_body: int = 32_768) -> Any:
    """A store in a folder."""
    return SqliteStore(path, inline_body=inline_body)


_RECORDED_AS = {"store_body": "take"}
"""Methods of a store whose names in the recordings are older."""


class FaultyStore(MemoryStore):
    """A store of which single methods fail while they are named."""

    def __init__(self) -> None:
        super().__init__()
        self.broken: set[str] = set()

    def __getattribute__(self, name: str) -> Any:
        recorded = _RECORDED_AS.get(name, name)
        if recorded in super().__getattribute__("__dict__").get("broken", ()):
            raise NotStored(f"{recorded} fails")
        return super().__getattribute__(name)


class RacingStore(MemoryStore):
    """A store in which somebody else does something just before an append, once each time it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], None] | None = None

    def append(self, *args: Any, **terms: Any) -> Any:
        """Let the other one act first."""
        act, self.meanwhile = self.meanwhile, None
        if act is not None:
            act()
        return super().append(*args, **terms)


def purge(store: Any, session: str) -> None:
    """Remove everything of a session."""
    store.purge(session, NOON * 1000)


def record(store: Any, bare: bool = False) -> list[dict[str, Any]]:
    """Everything on record: headers without the chain, bodies by digest.

    With `bare`, without digests of views, which name files in a folder that differs from run to run.
    """
    found: list[dict[str, Any]] = []
    for info in sorted(store.sessions(), key=lambda info: info.name):
        about = {"session": info.name, "agent": info.agent, "ephemeral": info.ephemeral, "ended": info.ended_at}
        found.append({**about, "stored": info.stored if not bare else 0})
        for row in store.rows(info.name):
            entry = entry_of(row)
            header = {key: value for key, value in entry.header.as_dict().items() if key != "version"}
            header = {key: value for key, value in header.items() if key not in NEWER or value is not None}
            with store.open(body_of(row)) as reader:
                data: bytes = reader.read()
            if bare and isinstance(entry.header, Decision):
                header.pop("shown_digest")
                found.append({"kind": entry.kind, **header, "body": data.decode("utf-8", "surrogateescape")})
                continue
            body = hashlib.sha256(data).hexdigest()
            found.append({"kind": entry.kind, "seq": row.seq, **header, "body": body, "size": len(data)})
    return found


# Sessions


def open_session(
    name: str | None = "s",
    *,
    store: Any = None,
    settings: Any = None,
    clock: Clock | None = None,
    seed: str = "",
    **options: Any,
) -> Any:
    """A session with injected clock and ids."""
    return Session(
        name,
        store=store if store is not None else MemoryStore(),
        settings=settings or _default(),
        clock=clock or Clock(),
        random=seeded(seed),
        workspace=options.pop("workspace", "/golden/work"),
        **options,
    )


_DEFAULTS: list[Any] = []


def _default() -> Any:
    if not _DEFAULTS:
        _DEFAULTS.append(settings())
    return _DEFAULTS[0]


def keep(session: Any, *given: Any, **options: Any) -> dict[str, Any]:
    """What `keep` gives, as plain values."""
    return plain(session.keep(*given, **options))


def kept(session: Any, *given: Any, **options: Any) -> Any:
    """What `keep` gives, itself."""
    return session.keep(*given, **options)


def view(session: Any, messages: Any, **options: Any) -> Any:
    """What to send of a list of messages or of a request's bytes."""
    return session.view(messages, **options)


def projection(session: Any, messages: Any, **options: Any) -> dict[str, Any]:
    """The edits and the account of a projection, and what it sends."""
    made = session.projection(messages, **options)
    undo = [edit.undo for edit in made.edits]
    return {"messages": made.messages, "edits": plain(made.edits), "undo": undo, "account": plain(made.account)}


def run_async(work: Any) -> Any:
    """The result of a coroutine, in a loop of its own."""
    return asyncio.run(work)


NEWER = ("width", "height", "pages", "media", "frame")
"""Fields that are newer than the recordings, and only say something of images and documents."""


def plain(value: Any) -> Any:
    """A value of the package as JSON can have it."""
    if isinstance(value, KeepwholeError):
        return [type(value).__name__, str(value), value.for_model]
    if hasattr(value, "as_dict"):
        fields = {key: plain(each) for key, each in value.as_dict().items() if key != "version"}
        if fields.get("strategy_failure") == "":
            del fields["strategy_failure"]  # newer than the recordings, and only there where a strategy failed
        fields.pop("images" if isinstance(value, Profile) else "", None)  # newer too
        return {key: each for key, each in fields.items() if key not in NEWER or each is not None}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        newer = {*NEWER, *({"client", "version"} if isinstance(value, Identity) else ())}
        return {key: plain(each) for key, each in value._asdict().items() if key not in newer or each not in (None, "")}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if isinstance(value, set | frozenset):
        return sorted(plain(each) for each in value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return f"<{type(value).__name__}>"


# Exchanges


def open_desk(*, clock: Clock, seed: str, store: Any = None, settings: Any = None, **options: Any) -> Any:
    """What a transport asks for each request."""
    store = store if store is not None else MemoryStore()
    given = {"store": store, "settings": settings or _default(), "clock": clock, "random": seeded(seed)}
    return SessionRouter(options.pop("session", None), **given, workspace="/golden/work", **options)


def begin(desk: Any, path: str, headers: Mapping[str, str], body: bytes) -> Any:
    """The exchange that a request begins: None where it is passed on, a status and bytes where it is refused."""
    begun = desk.begin("POST", path, headers, body)
    return (begun.status, begun.body) if isinstance(begun, OwnAnswer) else begun


def settle(exchange: Any) -> bool:
    """Put on record what was sent in full; whether there was something."""
    if not exchange.is_unsettled:
        return False
    exchange.settle()
    return True


def answer_round(exchange: Any, data: bytes, chunks: list[bytes] | None, status: int = 200) -> bytes | None:
    """Feed a round's answer, whole or in pieces, learn from it and put it on record.

    Gives what the client gets; None with another round to send.
    """
    number, streamed = exchange.count, chunks is not None
    if status != 200:
        out: bytes | None = exchange.error_event(status, data) if streamed else data
    elif not exchange.offers:
        out = data
    elif chunks is not None:
        pieces = [exchange.feed_chunk(chunk) for chunk in chunks]
        last = exchange.end_stream()
        out = b"".join(pieces) + (last or b"")
    else:
        out, last = exchange.read_answer(data), b""
    whole = exchange.dialect.is_whole(data, streamed)
    outcome: Any = "refused" if status != 200 else "complete" if whole else "incomplete"
    usage = exchange.learn_bill(status, data, outcome == "complete")
    exchange.record(number, status, data, outcome, usage, RoundTimes(1, 2, 9, 333))
    goes_on = status == 200 and exchange.offers and streamed and last is None
    if goes_on:
        _EARLY[exchange] = _EARLY.get(exchange, b"") + (out or b"")
        return None
    return _EARLY.pop(exchange, b"") + out if out is not None else None


_EARLY: WeakKeyDictionary[Any, bytes] = WeakKeyDictionary()
"""What clients got of rounds before the last, by exchange."""


def figures(exchange: Any) -> dict[str, Any]:
    """What an exchange says of itself."""
    return {
        "identity": plain(exchange.identity),
        "account": plain(exchange.account),
        "session": exchange.session,
        "offers": exchange.offers,
        "count": exchange.count,
        "tokens": exchange.tokens,
        "expected": plain(exchange.expected),
        "trouble": exchange.trouble,
        "record": exchange.has_record,
        "model": exchange.model,
    }


def sent_again(session: Any) -> list[Any]:
    """Every request on record put together again, with what is said of it and of its answer."""
    sent = RequestLog(session)
    return [[plain(step), digest(sent.body(step.request.trace_id))] for step in sent.all()]


def unanswered(exchange: Any) -> None:
    """Put a round on record of which no answer came."""
    exchange.record_unanswered(exchange.count)


def digest(data: bytes) -> str:
    """SHA-256 in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def is_exchange(begun: Any) -> bool:
    """Whether a request is ours to send."""
    return isinstance(begun, Exchange)


# The transport of the SDKs


def send_all(
    requests: Iterable[tuple[str, dict[str, str], bytes]],
    handle: Callable[[str, bytes], tuple[str, list[bytes]]],
    session: Any,
    is_async: bool = False,
) -> list[tuple[int, list[tuple[str, str]], bytes]]:
    """Send requests through the transport to a handler; gives what the client got of each."""
    import httpx2

    from keepwhole import async_http_client, http_client

    def answered(request: Any) -> Any:
        kind, pieces = handle(request.url.path, request.read())
        return httpx2.Response(200, headers={"content-type": kind}, stream=_Pieces.of(pieces))

    async def aanswered(request: Any) -> Any:
        kind, pieces = handle(request.url.path, await request.aread())
        return httpx2.Response(200, headers={"content-type": kind}, stream=_Pieces.of(pieces))

    def told(response: Any, data: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        return response.status_code, sorted(response.headers.multi_items()), data

    found: list[tuple[int, list[tuple[str, str]], bytes]] = []
    if not is_async:
        with http_client(session, transport=httpx2.MockTransport(answered)) as client:
            for path, headers, body in requests:
                response = client.post(f"http://provider{path}", headers=headers, content=body)
                found.append(told(response, response.content))
        return found

    async def work() -> None:
        async with async_http_client(session, transport=httpx2.MockTransport(aanswered)) as client:
            for path, headers, body in requests:
                response = await client.post(f"http://provider{path}", headers=headers, content=body)
                found.append(told(response, response.content))

    asyncio.run(work())
    return found


class _Pieces:
    """A body of httpx2 in pieces, for both kinds of clients."""

    @staticmethod
    def of(pieces: list[bytes]) -> Any:
        """The stream that gives these pieces."""
        import httpx2

        class Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
            """Pieces of a body."""

            def __iter__(self) -> Iterator[bytes]:
                yield from pieces

            async def __aiter__(self) -> Any:
                for piece in pieces:
                    yield piece

            def close(self) -> None:
                """Nothing is held open."""

            async def aclose(self) -> None:
                """Nothing is held open."""

        return Stream()


# Hooks and MCP


@contextmanager
def hook_place(place: str, clock: Clock, seed: str, text: str = "") -> Iterator[Callable[[str, Any], Any]]:
    """What answers hooks of clients in a folder, under settings of this text."""
    work = os.path.join(place, "work")
    os.makedirs(work, exist_ok=True)
    file = os.path.join(work, config.FILE)
    Path(file).write_text(text, encoding="utf-8")
    before = dict(os.environ)
    os.environ.update(HOME=place, KEEPWHOLE_HOME=os.path.join(place, "home"), KEEPWHOLE_CONFIG=file)

    def answer(client: str, event: Any) -> Any:
        return hook_run.answer(client, json.dumps({**event, "cwd": work}).encode())

    try:
        with drawn(clock, seed):
            yield answer
    finally:
        os.environ.clear()
        os.environ.update(before)


def hook_store(place: str) -> Any:
    """The record that hooks in a folder write."""
    return SqliteStore(os.path.join(place, "home"))


def own_command() -> str:
    """How notices call our command line on this machine."""
    return hook_command.command_line()


def gateway_result(session: Any, tool: str, arguments: dict[str, Any], version: str, result: Any) -> Any:
    """What an MCP gateway passes on of a server's result."""
    from keepwhole.apps.mcp.results import Kept

    return asyncio.run(Kept(session, tool, arguments, version).within_budget(result))


def mcp_recalled(session: Any, name: str, arguments: dict[str, Any]) -> Any:
    """What an MCP server of ours answers to a call of a recall tool."""
    from keepwhole.apps.mcp.recall_tools import recall

    return asyncio.run(recall(session, name, arguments))


def mcp_resource(session: Any, artifact_id: str) -> Any:
    """What an MCP server of ours gives for the address of a result."""
    from keepwhole.apps.mcp.recall_tools import SCHEME, read_artifact

    return asyncio.run(read_artifact(session, f"{SCHEME}{artifact_id}"))


# Runs of others, and recall


def sample_runs() -> list[Any]:
    """The made-up runs that come with the package, read from the files that clients would have written."""
    with folder() as place:
        return [run for path in write_samples(Path(place)) for run in read_runs(path) if isinstance(run, Run)]


def import_into(store: Any, run: Any, seed: str, quota: int = 1 << 40) -> dict[str, Any]:
    """Put a run on record."""
    return plain(import_run(store, run, quota=quota, now=NOON * 1000, random=seeded(seed)))


def run_about(run: Any) -> list[Any]:
    """A run as plain values, but for where it was read from."""
    return [run.source, run.id, plain(run.messages), list(run.times)]


def made_run(source: str, name: str, messages: list[Any]) -> Any:
    """A run of these messages."""
    return Run(source, name, tuple(decode_message(message) for message in messages))


def recall(session: Any, tool: str, arguments: Mapping[str, Any]) -> Any:
    """What one of the recall tools answers."""
    return plain(session.call_tool(tool, arguments))


def select(session: Any, query: str, **options: Any) -> Any:
    """The units that have to do with a query."""
    found = session.select(query, seconds=600.0, **options)
    return [str(found).replace("SelectedUnit(", "Found("), plain(found)]  # as the class was called when recorded


# Functions beside a session


class _Shelf:
    """Storage for the processor, in memory."""

    def __init__(self) -> None:
        self.contents: list[str] = []

    def create(self, content: str, tool_name: str) -> str:
        """Store a content."""
        self.contents.append(content)
        return f"art_{NOON}_{tool_name[:8]:x<8}{len(self.contents):014d}"

    def get(self, artifact_id: str, *, lines: tuple[int, int] | None = None) -> str:
        """Not asked for here."""
        raise NotFound(artifact_id)


def processed(content: str, tool: str, **limits: Any) -> Any:
    """What the truncation processor gives."""
    processor = TruncationProcessor(STRATEGIES, _Shelf(), TruncationConfiguration(**limits))
    return plain(processor.process(content, tool))


def retained(messages: list[tuple[str, str, int]], turn: int) -> Any:
    """A window of one's own under the retention policy: kind, content and turn of each message."""
    kinds: dict[str, Any] = {"user": UserMessage, "assistant": AssistantMessage, "spec": SpecRefreshMessage}
    made = [
        ToolResultMessage(id=f"m{at}", content=content, turn=own, trace_id=f"trace-{at}")
        if kind == "tool"
        else kinds[kind](id=f"m{at}", content=content, turn=own)
        for at, (kind, content, own) in enumerate(messages)
    ]
    return plain(ToolResultRetentionPolicy().apply(ContextWindow(made), turn))


def rolled(messages: list[Any], **settings: Any) -> Any:
    """The rolling functions over chat messages."""
    own = RollingContext(**settings)
    return {
        "steps": rolling.count_steps(messages),
        "tags": [tag.step for tag in rolling.tag_with_steps(messages)],
        "old": rolling.truncate_old_tool_outputs(messages, own),
        "rolled": plain(rolling.roll(messages, own)),
    }


def previews(chunks: list[Any], max_chars: int, max_total: int, chars: int | None = None) -> list[Any]:
    """What a screen is sent of a result, chunk by chunk, and the last word."""
    stream = TransportLimiter(max_chars=max_chars, max_total=max_total).stream("trace-1", chars)
    return [*(stream.event(chunk) for chunk in chunks), stream.last()]


def summary(messages: list[Any], keep_tokens: int, max_tokens: int, words: str | None = None) -> Any:
    """What compaction makes of a conversation, without a session."""
    transcript = Transcript()
    transcript.extend(decode_message(message) for message in messages)
    compaction = Compaction(None if words is None else lambda _: words, max_tokens=max_tokens)
    upto = compaction.boundary(transcript, {}, keep_tokens)

    def name(item: Any) -> Any:
        return Name(f"trace-{item.number}", f"art_{NOON}_{item.number:022d}")

    return [upto, plain(compaction.summarize(transcript, upto, name))]
