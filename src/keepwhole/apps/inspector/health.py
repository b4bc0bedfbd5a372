"""The record's health: counters, disk space, and what the doctor finds.

Owns: what is counted, a few sessions at a time. Nothing is changed here.
Must not know: sockets.
"""

import os
import shutil
import time
from collections.abc import Mapping
from typing import Any

from keepwhole.apps import doctor
from keepwhole.apps.inspector.record import Record
from keepwhole.canonical.utf8 import showable
from keepwhole.errors import Damaged, StoreError
from keepwhole.metrics import Metrics
from keepwhole.store.protocol import SessionInfo, entry_of
from keepwhole.store.verify import verify
from keepwhole.version import VERSION

_BUDGET = 1.0
_RATES = {"truncation_rate": "truncated_results_total", "tool_refetch_rate": "refetches"}
"""The count that each rate is a share of all results of. What is not in a record cannot be counted from it."""
_LIVE = ("unstored_total", "tool_result_missing_rate")
"""What only the process knows that could not store a result, and no record."""
_STATES = {"ok": "ok", "note": "warning", "bad": "bad"}


class Health:
    """Counts sessions once each. Safe from threads."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._counted: dict[tuple[str, int, int], dict[str, float]] = {}

    def report(self) -> dict[str, Any]:
        """Count what is in the record and run the checks that change nothing."""
        infos = self._record.store.sessions()
        counters, counted = self._counters(infos)
        return {
            "counters": counters,
            "counted": counted,
            "store": {"home": self._record.location, "sessions": len(infos), **self._space(infos)},
            "doctor": [
                {"name": name, "state": _STATES[finding.grade], "words": showable(finding.what)}
                for name, finding in doctor.look_at_record(self._record.settings, self._record.store, len(infos))
            ],
            "version": VERSION,
        }

    def _space(self, infos: list[SessionInfo]) -> dict[str, int | None]:
        """The size of the record and the free space; on a server only the stored bytes are known."""
        home = self._record.settings.home
        if self._record.settings.store:
            return {"bytes": sum(info.stored for info in infos), "free": None}
        return {"bytes": _size(home), "free": shutil.disk_usage(home).free if os.path.isdir(home) else None}

    def _counters(self, infos: list[SessionInfo]) -> tuple[dict[str, float], int]:
        """The counters over the sessions counted so far, and the number of these sessions."""
        until, total, counted = time.monotonic() + _BUDGET, dict[str, float](), 0
        for info in infos:
            key = info.name, info.entries, info.last_at
            numbers = self._counted.get(key)
            if numbers is None and time.monotonic() < until:
                numbers = self._counted[key] = self._count(info.name)
            if numbers is not None:
                counted += 1
                for name, value in numbers.items():
                    total[name] = total.get(name, 0) + value
        return _with_rates(total), counted

    def _count(self, name: str) -> dict[str, float]:
        metrics = Metrics()
        try:
            for row in self._record.store.rows(name, kind=("result", "decision"), light=True):
                try:
                    metrics.observe(entry_of(row))
                except Damaged:
                    continue
        except StoreError:
            return {}
        return metrics.as_dict() | {"refetches": metrics.refetches_total}


def _with_rates(total: Mapping[str, float]) -> dict[str, float]:
    """The counts of several sessions, with the rates of all of them together."""
    results = total.get("results_total", 0)
    counts = {name: value for name, value in total.items() if name != "refetches" and name not in _LIVE}
    return counts | {rate: total[count] / results for rate, count in _RATES.items() if results}


def verify_session(record: Record, name: str) -> dict[str, Any]:
    """Verify every entry of a session; the findings say what differs from what was written."""
    record.info(name)
    report = verify(record.store, name)
    findings = [{"entry": finding.seq, "what": showable(finding.what)} for finding in report.findings[:200]]
    return {"ok": report.whole, "entries": report.entries, "bytes": report.bytes, "head": report.head} | {
        "findings": findings
    }


def _size(folder: str) -> int:
    """Bytes of all files in a folder."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(where, name)).st_size
            except OSError:
                continue
    return total
