"""A relay in front of the provider that counts what every request costs, and refuses one that could cost too much.

Owns: the key, the budget, retries, and the bill of every run. Must not know: tasks, arms.

Theory of operation. Every arm reaches the provider through the meter, and nothing else has the key:

    direct        agent ─────────────────────▶ meter ──▶ provider
    keepwhole     agent ──▶ keepwhole proxy ──▶ meter ──▶ provider
    proxy:URL     agent ──▶ other proxy ──────▶ meter ──▶ provider

A proxy may ask the provider several times for one request of the agent, and show the agent the usage of one of them. So
bills are read here and not in what the agent gets. The run that a request belongs to is named in its system prompt
(`Run 5f2a…`), which also keeps one run from being served by the prompt cache that another has filled.

Invariants
- Before a request is sent, the most that it can cost is reserved; where the budget has less, it is answered with 402,
  and the run is unfinished, whatever a proxy makes of that.
- A request that sets no limit on the answer is not sent: nobody knows the most that it can cost.
- A request whose bill is unknown (the connection broke, a gateway timed out, the answer has no usage) is charged what
  was reserved. A streamed answer is read whole and billed by its usage too; the calls in it are not counted.
- Where a provider answers with an error, nothing is charged; 429 and 5xx are tried again.
- A request that names no run, as when a proxy asks a model for itself, is charged to the run that is being made; where
  there are several, or where it names one that has ended, it is not sent.
"""

import http.client
import json
import re
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.live.budget import Budget
from bench.live.prices import Prices
from bench.live.wires import WIRES
from bench.live.wires.wire import Json
from keepwhole.wire.content import fields_of
from keepwhole.wire.dialects import conversation_dialect

RUN = re.compile(rb"Run ([0-9a-f]{12})\.")
NO_MONEY = 402
_TRIES = 5
_PATIENCE = 600.0
_AGAIN = frozenset((408, 409, 429, 500, 502, 503, 504, 524, 529))
_MAYBE_BILLED = frozenset((408, 502, 504, 524))
"""Statuses of a gateway that lost the provider's answer, which may have been made and billed."""
_DROPPED = frozenset(
    ("host", "content-length", "connection", "accept-encoding", "authorization", "x-api-key", "x-goog-api-key")
)


@dataclass
class RunBill:
    """What one run has cost."""

    dollars: float = 0.0
    requests: int = 0
    input: int = 0
    cached: int = 0
    written: int = 0
    output: int = 0
    retries: int = 0
    waited: float = 0.0
    """Seconds between tries."""
    unknown: int = 0
    """Requests whose bill is not known, charged at the most they can cost."""
    called: dict[str, int] = field(default_factory=dict[str, int])
    """How often the model called each tool, those that only a proxy offers too."""
    is_out_of_money: bool = False
    """Whether the budget had no room for one of its requests."""


class Provider(NamedTuple):
    """Where requests go, in which dialect, and what they cost."""

    url: str
    dialect: str
    prices: Prices
    key: str
    pause: float = 2.0
    """Seconds before the first retry; each further one takes twice as long."""


class _Reply(NamedTuple):
    status: int
    headers: Mapping[str, str]
    data: bytes
    is_own: bool = False
    """Whether the meter wrote it: the provider was not asked."""


class Meter:
    """The relay's state. Safe from threads."""

    def __init__(self, provider: Provider, budget: Budget) -> None:
        self.provider, self.budget = provider, budget
        self.url = ""
        self._bills: dict[str, RunBill] = {}
        """By the runs that are being made."""
        self._wire, self._dialect = WIRES[provider.dialect], conversation_dialect(provider.dialect)

    @contextmanager
    def bill_of(self, run_id: str) -> Generator[RunBill]:
        """Count what a run costs while it is being made."""
        self._bills[run_id] = RunBill()
        try:
            yield self._bills[run_id]
        finally:
            del self._bills[run_id]

    def relay(self, path: str, headers: Mapping[str, str], data: bytes) -> _Reply:
        """Send a request to the provider, if the budget has room for it, and count what it costs."""
        bill, most_output = self._bill_for(data), self._wire.most_output(_read(data))
        if bill is None:
            return _error(
                400, "The request names no run that is being made. With a proxy that asks by itself take `--jobs 1`."
            )
        if most_output is None:
            return _error(
                400, "The request sets no limit on the tokens of the answer, so nobody knows what it can cost."
            )
        reply: _Reply | None = None
        for attempt in range(_TRIES):
            reserved = self.provider.prices.worst(data, most_output)
            if not self.budget.reserve(reserved):
                bill.is_out_of_money = True
                return _error(NO_MONEY, "budget_exhausted: `--max-dollars` has no room for this request")
            cost = reserved
            try:
                reply = self._send(path, headers, data)
                cost = self._count(bill, data, reply, reserved)
            finally:
                self.budget.settle(reserved, cost)
            if reply is not None and reply.status not in _AGAIN:
                return reply
            if attempt < _TRIES - 1:
                self._wait(bill, reply, attempt)
        return reply or _error(502, "the provider could not be reached")

    def _bill_for(self, data: bytes) -> RunBill | None:
        found, bills = RUN.search(data), dict(self._bills)
        if found is not None:
            return bills.get(found[1].decode())
        return next(iter(bills.values())) if len(bills) == 1 else None

    def _count(self, bill: RunBill, data: bytes, reply: _Reply | None, reserved: float) -> float:
        """Add a reply to a run's bill; return what it cost."""
        if reply is not None and reply.status != 200 and (reply.is_own or reply.status not in _MAYBE_BILLED):
            return 0.0
        bill.requests += 1
        is_stream = reply is not None and "event-stream" in reply.headers.get("content-type", "")
        usage = self._dialect.usage_of(reply.data, is_stream) if reply and reply.status == 200 else None
        if reply is None or usage is None:
            bill.unknown += 1
            bill.dollars += reserved
            return reserved
        cost = self.provider.prices.dollars(usage, data)
        bill.dollars += cost
        bill.input, bill.cached = bill.input + usage.input, bill.cached + usage.cached
        bill.written, bill.output = bill.written + usage.written, bill.output + usage.output
        for name in () if is_stream else self._wire.called(_read(reply.data)):
            bill.called[name] = bill.called.get(name, 0) + 1
        return cost

    def _wait(self, bill: RunBill, reply: _Reply | None, attempt: int) -> None:
        told = reply.headers.get("retry-after", "") if reply else ""
        seconds = float(told) if told.isdigit() else self.provider.pause * 2**attempt
        bill.retries, bill.waited = bill.retries + 1, bill.waited + seconds
        time.sleep(seconds)

    def _send(self, path: str, headers: Mapping[str, str], data: bytes) -> _Reply | None:
        """Return the provider's reply; None where the connection broke, so that nobody knows what it cost."""
        kept = {name: value for name, value in headers.items() if name.lower() not in _DROPPED}
        wire = WIRES[self.provider.dialect]
        sent = {**kept, **wire.headers(self.provider.key), "accept-encoding": "identity"}
        base = urlsplit(self.provider.url)
        kind = http.client.HTTPSConnection if base.scheme == "https" else http.client.HTTPConnection
        connection = kind(base.netloc, timeout=_PATIENCE)
        try:
            connection.connect()
        except OSError:
            return _error(503, "the provider could not be reached")
        try:
            connection.request("POST", base.path.rstrip("/") + path, data, sent)
            response = connection.getresponse()
            return _Reply(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        except (OSError, http.client.HTTPException):
            return None
        finally:
            connection.close()


def _error(status: int, message: str) -> _Reply:
    body = {"type": "error", "error": {"type": "meter_error", "message": message}}
    return _Reply(status, {"content-type": "application/json"}, json.dumps(body).encode(), is_own=True)


def _read(data: bytes) -> Json:
    """Return a body; without fields where it is no JSON object."""
    try:
        return fields_of(json.loads(data))
    except (ValueError, RecursionError):
        return {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    meter: Meter

    def do_POST(self) -> None:
        data = self.rfile.read(int(self.headers["content-length"]))
        reply = self.meter.relay(self.path, dict(self.headers.items()), data)
        self.send_response(reply.status)
        self.send_header("content-type", reply.headers.get("content-type", "application/json"))
        self.send_header("content-length", str(len(reply.data)))
        self.send_header("connection", "close")  # a proxy must not go on with a meter that has ended
        self.end_headers()
        self.wfile.write(reply.data)

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: a request line may have a key in it."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextmanager
def serve_meter(provider: Provider, budget: Budget, port: int = 0) -> Generator[Meter]:
    """Serve a meter on loopback while it is needed."""
    meter = Meter(provider, budget)
    server = _Server(("127.0.0.1", port), type("Handler", (_Handler,), {"meter": meter}))
    meter.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield meter
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
