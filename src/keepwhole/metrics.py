"""Numbers about the record, derived from its entries: the same whether they are counted live or read back.

Owns: the counters of the canonical and truncation documents, and their Prometheus text.
Must not know: who keeps the entries.
"""

import threading
from collections.abc import Iterable
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from keepwhole.canonical.entry import OWN_TOOLS, Decision, Entry, Result
from keepwhole.truncation import client_cut

MARKER = "truncation_marker"
IMITATED = "imitated_arguments"
"""The flag of a result whose call has the words that replace cut arguments: a model has written them itself."""
_HELP = {
    "results_total": "Results that were stored.",
    "truncations_total": "Decisions about how a result is shown.",
    "truncated_results_total": "Results that were shown cut or replaced.",
    "chars_in_total": "Characters of results as tools returned them.",
    "chars_out_total": "Characters of results as they are shown.",
    "bytes_kept_total": "Bytes of results that were stored.",
    "unstored_total": "Results that could not be stored.",
    "canonical_writes_with_truncation_marker": "Stored results that another program had cut before.",
    "imitated_arguments_total": "Calls in which a model wrote the words that replace cut arguments.",
    "truncation_rate": "Share of results that were shown cut or replaced.",
    "tool_result_missing_rate": "Share of calls whose result is not stored.",
    "tool_refetch_rate": "Share of calls that were repeated while the earlier result was hidden.",
}
_MOST_RESULTS = 100_000
_MOST_TOOLS = 500
_OTHERS = "others"
_K = TypeVar("_K")
_V = TypeVar("_V")


class _Call(NamedTuple):
    """The key by which a repeated call is recognized, without its arguments: they may be as large as the result."""

    tool: str
    digest: bytes


_UNKNOWN = _Call("", b"")


class _Shown(NamedTuple):
    """How a result is shown."""

    call: _Call
    chars: int
    was_cut: bool = False


def _call_of(session: str, result: Result) -> _Call:
    told = "\0".join((session, result.tool, "" if result.arguments is None else f"={result.arguments}"))
    return _Call(result.tool, blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16).digest())


class Metrics:
    """Counters over observed entries. Safe from threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.results_total = 0
        self.truncations_total: dict[tuple[str, str], int] = {}
        self.chars_in_total = 0
        self.chars_out_total = 0
        self.bytes_kept_total = 0
        self.canonical_writes_with_truncation_marker = 0
        self.imitated_arguments_total = 0
        self.unstored_total = 0
        self.refetches_total = 0
        self.truncated_results_total = 0
        self._results: dict[str, _Shown] = {}
        self._missing: dict[tuple[str, str], None] = {}
        """Calls in conversations that have no result, by session and call id."""
        self._hidden: dict[_Call, None] = {}

    def observe(self, entry: Entry) -> None:
        """Count one entry."""
        with self._lock:
            if isinstance(entry.header, Result):
                if not entry.header.tool.startswith(OWN_TOOLS):  # a note of Keepwhole's own is no result of a tool
                    self._observe_result(entry.session, entry.header, entry.facts.chars, entry.facts.size)
            elif isinstance(entry.header, Decision):
                self._observe_decision(entry.header)

    def observe_unstored(self) -> None:
        """Count a result that could not be stored."""
        with self._lock:
            self.unstored_total += 1

    def observe_missing(self, session: str, call_ids: Iterable[str]) -> None:
        """Count calls in a conversation that have no result, each once, until one is stored."""
        with self._lock:
            for call_id in call_ids:
                _remember(self._missing, (session, call_id), None)

    def _observe_result(self, session: str, result: Result, chars: int, size: int) -> None:
        self.results_total += 1
        self.chars_in_total += chars
        self.chars_out_total += chars
        self.bytes_kept_total += size
        self.canonical_writes_with_truncation_marker += MARKER in result.flags
        self.imitated_arguments_total += IMITATED in result.flags
        call = _call_of(session, result)
        self.refetches_total += call in self._hidden
        _remember(self._results, result.trace_id, _Shown(call, chars))
        if self._missing and result.call_id is not None:
            self._missing.pop((session, result.call_id), None)

    def _observe_decision(self, decision: Decision) -> None:
        known = self._results.get(decision.trace_id)
        call, shown, was_cut = known or _Shown(_UNKNOWN, decision.shown_chars)
        if decision.rule == client_cut.RULE:  # it was never sent otherwise
            self.chars_in_total += decision.shown_chars - shown
            self.chars_out_total += decision.shown_chars - shown
            _remember(self._results, decision.trace_id, _Shown(call, decision.shown_chars, was_cut))
            return
        key = (call.tool, decision.strategy)
        if key not in self.truncations_total and len(self.truncations_total) >= _MOST_TOOLS:
            key = (_OTHERS, decision.strategy)
        self.truncations_total[key] = self.truncations_total.get(key, 0) + 1
        self.chars_out_total += decision.shown_chars - shown
        is_cut = decision.strategy != "none"
        self.truncated_results_total += known is not None and is_cut and not was_cut
        _remember(self._results, decision.trace_id, _Shown(call, decision.shown_chars, was_cut or is_cut))
        _remember(self._hidden, call, None)

    @property
    def truncation_rate(self) -> float:
        """Share of results that were shown cut or replaced."""
        return self.truncated_results_total / self.results_total if self.results_total else 0.0

    @property
    def tool_result_missing_rate(self) -> float:
        """Share of calls whose result is not stored: it could not be, or the conversation has none."""
        missing = self.unstored_total + len(self._missing)
        calls = self.results_total + missing
        return missing / calls if calls else 0.0

    @property
    def tool_refetch_rate(self) -> float:
        """Share of calls that were repeated with the same arguments while the earlier result was hidden."""
        calls = self.results_total + self.unstored_total
        return self.refetches_total / calls if calls else 0.0

    def as_dict(self) -> dict[str, float]:
        """Every number by its name; those with labels are summed."""
        with self._lock:
            return self._numbers()

    def _numbers(self) -> dict[str, float]:
        return {
            "results_total": self.results_total,
            "truncations_total": sum(self.truncations_total.values()),
            "truncated_results_total": self.truncated_results_total,
            "chars_in_total": self.chars_in_total,
            "chars_out_total": self.chars_out_total,
            "bytes_kept_total": self.bytes_kept_total,
            "unstored_total": self.unstored_total,
            "canonical_writes_with_truncation_marker": self.canonical_writes_with_truncation_marker,
            "imitated_arguments_total": self.imitated_arguments_total,
            "truncation_rate": self.truncation_rate,
            "tool_result_missing_rate": self.tool_result_missing_rate,
            "tool_refetch_rate": self.tool_refetch_rate,
        }

    def prometheus(self) -> str:
        """The numbers in Prometheus' text format."""
        lines: list[str] = []
        for name, value in self.as_dict().items():
            kind = "gauge" if name.endswith("_rate") else "counter"
            lines += [f"# HELP keepwhole_{name} {_HELP[name]}", f"# TYPE keepwhole_{name} {kind}"]
            if name == "truncations_total":
                lines += [
                    f'keepwhole_{name}{{tool="{_label(tool)}",strategy="{_label(strategy)}"}} {count}'
                    for (tool, strategy), count in sorted(self.truncations_total.copy().items())
                ]
            else:
                lines.append(f"keepwhole_{name} {value:g}" if kind == "gauge" else f"keepwhole_{name} {value}")
        return "\n".join(lines) + "\n"


def _remember(known: dict[_K, _V], key: _K, value: _V) -> None:
    """Add an entry and drop the oldest ones, so that a process that runs for months does not grow."""
    known[key] = value
    if len(known) > _MOST_RESULTS:
        del known[next(iter(known))]


def _label(text: str) -> str:
    """A label value, escaped, printable and short: the names of tools are untrusted."""
    printable = "".join(char if char.isprintable() else "?" for char in text[:80])
    return printable.replace("\\", "\\\\").replace('"', '\\"')
