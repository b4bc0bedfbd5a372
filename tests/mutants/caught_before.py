"""Which tests caught other mutants of the same file: they are tried first, which changes nothing but the time."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

_MOST = 8


class CaughtBefore:
    """What has been caught so far, kept in a file."""

    def __init__(self, file: Path) -> None:
        self._file = file
        stored = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
        self._tests: dict[str, Counter[str]] = {name: Counter(tests) for name, tests in stored.items()}

    def first(self, name: str, tests: Sequence[str]) -> list[str]:
        """Return tests with those first that caught most in a file of this name."""
        caught = self._tests.get(name, Counter[str]())
        ahead = [test for test, _ in caught.most_common() if test in set(tests)][:_MOST]
        return [*ahead, *(test for test in tests if test not in set(ahead))]

    def add(self, name: str, test: str | None) -> None:
        """Remember that a test caught a mutant."""
        if test and "::" in test:
            self._tests.setdefault(name, Counter())[test] += 1
            self._file.parent.mkdir(exist_ok=True)
            self._file.write_text(json.dumps(self._tests), encoding="utf-8")
