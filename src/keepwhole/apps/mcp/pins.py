"""What servers said of their tools when they were first seen, as hashes, so that a later change is noticed.

Owns: the file of pins in the record's folder, and what a change means until a person accepts it.
Must not know: how a server is spoken to.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, cast

from keepwhole.store.durable import make_folder, write_file

_NAME = "mcp-pins.json"


class Pins:
    """The pins of one record. Read and written under a lock, so several gateways may share them."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, _NAME)

    def changed(self, server: str, said: Mapping[str, Any]) -> set[str]:
        """Which of the things a server now says differ from what is pinned; what is new is pinned."""
        hashes = {what: digest(value) for what, value in said.items()}
        known = self._read().get(server, {})
        if all(known.get(what) == {"pinned": own} for what, own in hashes.items()):
            return set()
        with self._locked() as pins:
            known = pins.setdefault(server, {})
            for what, own in hashes.items():
                pinned = known.get(what, {}).get("pinned", own)
                known[what] = {"pinned": pinned} if own == pinned else {"pinned": pinned, "seen": own}
            return {what for what in hashes if "seen" in known[what]}

    def accept(self, server: str | None = None) -> list[tuple[str, str]]:
        """Pin what was last seen of a server, or of all, where it differs; gives what that was."""
        accepted: list[tuple[str, str]] = []
        with self._locked() as pins:
            for name, known in pins.items():
                for what, pin in known.items():
                    if "seen" in pin and server in (None, name.rpartition("@")[0]):
                        known[what] = {"pinned": pin["seen"]}
                        accepted.append((name.rpartition("@")[0], what))
        return accepted

    def _read(self) -> dict[str, dict[str, dict[str, str]]]:
        try:
            with open(self._path, encoding="utf-8") as file:
                found: Any = json.load(file)
        except FileNotFoundError:
            return {}
        return cast("dict[str, dict[str, dict[str, str]]]", found)

    @contextmanager
    def _locked(self) -> Generator[dict[str, dict[str, dict[str, str]]]]:
        make_folder(os.path.dirname(self._path))
        fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            pins = self._read()
            yield pins
            write_file(self._path, [json.dumps(pins, indent=1, sort_keys=True).encode()], 0o600)
        finally:
            os.close(fd)


def digest(said: Any) -> str:
    """One hash for one meaning, however its keys are ordered."""
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
