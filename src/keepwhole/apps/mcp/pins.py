"""What servers said of their tools when they were first seen, as hashes, so that a later change is noticed.

Owns: the file of pins in the record's folder, and what counts as changed or new until a person accepts it.
Must not know: how a server is spoken to.

A file holds, by server and then by what is described (`tool echo`), the hash that is pinned and, where the server now
says something else, the hash that was seen. What is first seen after a list was complete has only the latter: it is
new. Until a list was complete once, everything in it is pinned as it is seen, page by page.
"""

import fcntl
import hashlib
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias, cast

from keepwhole.store.durable import make_folder, write_file

Difference: TypeAlias = Literal["changed", "new"]
_NAME = "mcp-pins.json"
_COMPLETE = "complete list of "
_File: TypeAlias = dict[str, dict[str, dict[str, str]]]


class Pins:
    """The pins of one record. Read and written under a lock, so several gateways may share them."""

    def __init__(self, home: str) -> None:
        self._path = os.path.join(home, _NAME)

    def compare(
        self, server: str, kind: str, said: Mapping[str, Any], is_last_page: bool = True
    ) -> dict[str, Difference]:
        """What differs from the pins of what a server now says of its things of one kind, by name."""
        hashes = {pin_key(kind, name): digest(value) for name, value in said.items()}
        known = self._read().get(server, {})
        is_complete = _COMPLETE + kind in known
        if (is_complete or not is_last_page) and all(known.get(key) == {"pinned": own} for key, own in hashes.items()):
            return {}
        with self._locked() as pins:
            known = pins.setdefault(server, {})
            is_complete = _COMPLETE + kind in known
            for key, own in hashes.items():
                known[key] = _noted(known.get(key, {}), own, is_complete)
            if is_last_page:
                known[_COMPLETE + kind] = {"pinned": ""}
            return {name: found for name in said if (found := _difference(known[pin_key(kind, name)])) is not None}

    def accept(self, server: str | None = None) -> list[tuple[str, str]]:
        """Pin what was last seen of a server, or of all, where it differs; return what that was."""
        accepted: list[tuple[str, str]] = []
        with self._locked() as pins:
            for name, known in pins.items():
                for what, pin in known.items():
                    if "seen" in pin and server in (None, name.rpartition("@")[0]):
                        known[what] = {"pinned": pin["seen"]}
                        accepted.append((name.rpartition("@")[0], what))
        return accepted

    def _read(self) -> _File:
        try:
            with open(self._path, encoding="utf-8") as file:
                found: Any = json.load(file)
        except FileNotFoundError:
            return {}
        except RecursionError as error:
            raise ValueError("it is nested too deep") from error
        if not _is_file_of_pins(found):
            raise ValueError(f"`{self._path}` is not a file of pins")
        return cast("_File", found)

    @contextmanager
    def _locked(self) -> Generator[_File]:
        make_folder(os.path.dirname(self._path))
        fd = os.open(f"{self._path}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX)
            pins = self._read()
            yield pins
            write_file(self._path, [json.dumps(pins, indent=1, sort_keys=True).encode()], 0o600)
        finally:
            os.close(fd)


def pin_key(kind: str, name: str) -> str:
    """What a thing is called in the file; a kind of which a server has one needs no name."""
    return f"{kind} {name}" if name else kind


def _noted(pin: dict[str, str], own: str, is_complete: bool) -> dict[str, str]:
    """A pin after a hash was seen."""
    if "pinned" in pin:
        return {"pinned": own} if pin["pinned"] == own else {"pinned": pin["pinned"], "seen": own}
    return {"seen": own} if is_complete else {"pinned": own}


def _difference(pin: dict[str, str]) -> Difference | None:
    if "seen" not in pin:
        return None
    return "changed" if "pinned" in pin else "new"


def _is_file_of_pins(found: Any) -> bool:
    """Whether it has the form of such a file: texts, two levels deep."""
    if not isinstance(found, dict):
        return False
    servers = cast("dict[str, Any]", found).values()
    pins = [pin for known in servers if isinstance(known, dict) for pin in cast("dict[str, Any]", known).values()]
    return all(isinstance(known, dict) for known in servers) and all(
        isinstance(pin, dict) and all(isinstance(word, str) for word in cast("dict[str, Any]", pin).values())
        for pin in pins
    )


def digest(said: Any) -> str:
    """One hash for one meaning, however its keys are ordered."""
    text = json.dumps(said, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
