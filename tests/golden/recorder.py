"""Recordings: a stable name, the digest of what came out, its length; and how they are compared.

Owns: how a value becomes bytes, and the file of digests. Must not know: the package.
"""

import hashlib
import json
import os
import shlex
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

FILE = Path(__file__).parent / "recordings.txt"
_DIGITS = 20
"""Hexadecimal digits of a digest that are written down: enough to tell any two apart."""


class Recording(NamedTuple):
    """What came out, as far as it is remembered."""

    digest: str
    length: int


class Recorder:
    """Takes what scenarios give and remembers its digests."""

    def __init__(self, watch: Callable[[str, bytes], None] | None = None) -> None:
        """`watch` is shown every recording with its bytes, for diagnosis."""
        self.found: dict[str, Recording] = {}
        self._replaced: dict[str, str] = {}
        self._watch = watch

    def replace(self, before: str, after: str) -> None:
        """From now on write `after` where `before` comes out: for paths that differ from run to run."""
        self._replaced |= dict.fromkeys(_spellings(before), after)

    def add(self, name: str, value: Any) -> None:
        """Record a value: bytes as they are, anything else as JSON."""
        if name in self.found or " " in name:
            raise ValueError(f"{name!r} is recorded twice, or is no name")
        data = self.normal(value if isinstance(value, bytes) else written(value))
        self.found[name] = Recording(hashlib.sha256(data).hexdigest()[:_DIGITS], len(data))
        if self._watch is not None:
            self._watch(name, data)

    def normal(self, data: bytes) -> bytes:
        """The bytes that are digested. The only place where something is normalised; names of products are not."""
        for before, after in self._replaced.items():
            data = data.replace(before.encode(), after.encode())
        return data


def _spellings(text: str) -> list[str]:
    """A text as it is, in a shell and in JSON, also in JSON that JSON has; the longest first."""
    found = {text, shlex.quote(text)} if os.path.isabs(text) else {text}
    for _ in range(2):
        found |= {json.dumps(each, ensure_ascii=ascii_)[1:-1] for each in found for ascii_ in (True, False)}
    return sorted(found, key=len, reverse=True)


def written(value: Any) -> bytes:
    """A value as JSON, its keys in their own order."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"), default=_odd).encode()


def _odd(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    if hasattr(value, "__dict__"):
        return vars(value)
    raise TypeError(f"{type(value).__name__} is no JSON")


def read(path: Path = FILE) -> dict[str, Recording]:
    """The recordings in a file; none where there is no file."""
    if not path.is_file():
        return {}
    lines = (line.split(" ") for line in path.read_text(encoding="utf-8").splitlines())
    return {name: Recording(digest, int(length)) for name, digest, length in lines}


def write(found: Mapping[str, Recording], path: Path = FILE) -> None:
    """Write recordings to a file, in the order of their names."""
    lines = [f"{name} {one.digest} {one.length}\n" for name, one in sorted(found.items())]
    path.write_text("".join(lines), encoding="utf-8")


def differences(wanted: Mapping[str, Recording], found: Mapping[str, Recording]) -> list[str]:
    """A line for each recording that is not as it was."""
    lines: list[str] = []
    for name in sorted(wanted.keys() | found.keys()):
        before, after = wanted.get(name), found.get(name)
        if before == after:
            continue
        if before is None or after is None:
            lines.append(f"{name}: {'new' if before is None else 'gone'}")
        else:
            lines.append(f"{name}: changed, {before.length} bytes before, {after.length} now")
    return lines


def grouped(lines: list[str], most: int = 8) -> str:
    """Differences by scenario, the first few of each."""
    counts = Counter(scenario_of(line) for line in lines)
    said: list[str] = []
    for scenario, count in counts.items():
        said.append(f"{scenario}: {count} differ")
        own = [line for line in lines if scenario_of(line) == scenario]
        said += [f"    {line}" for line in own[:most]]
        said += [f"    and {count - most} more"] if count > most else []
    return "\n".join(said)


def scenario_of(name: str) -> str:
    """The scenario of a recording: the first two parts of its name."""
    return "/".join(name.split(":")[0].split("/")[:2])
