"""The setup of a benchmark: the folder it writes to, how long it takes, and a clean environment."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PYTHON = sys.executable
USER_HOME = os.path.expanduser("~")
KEEPWHOLE = (PYTHON, "-m", "keepwhole")


@dataclass(frozen=True)
class Setup:
    """The folder to work in, on a real disk; shorter runs where `quick`."""

    folder: str
    quick: bool

    @property
    def rounds(self) -> int:
        return 3 if self.quick else 9

    @property
    def large(self) -> int:
        """Bytes of a large artifact."""
        return 200_000_000 if self.quick else 1_000_000_000

    @property
    def parent(self) -> str:
        """A folder on the same disk that other users may enter."""
        return os.path.dirname(self.folder)

    def path(self, *names: str) -> str:
        return os.path.join(self.folder, *names)

    def environment(self, home: str, *, speed: bool = True) -> Mapping[str, str]:
        """The environment of a Keepwhole process: this store, no settings of the user, with or without the extra."""
        hidden = {} if speed else {"PYTHONPATH": self._without_stringzilla()}
        return {**plain_environment(), "HOME": self.folder, "KEEPWHOLE_HOME": home, **hidden}

    def _without_stringzilla(self) -> str:
        """A folder in front of the installed packages that makes `import stringzilla` fail."""
        folder = self.path("without-speed")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "stringzilla.py"), "w", encoding="utf-8") as file:
            file.write('raise ImportError("hidden by the benchmark")\n')
        return folder


def plain_environment() -> dict[str, str]:
    """The user's environment without anything that would change what Keepwhole or Python does."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("KEEPWHOLE_", "PYTHON"))}
    return {**kept, "HOME": USER_HOME}


def say(words: str) -> None:
    """Print progress to the error stream."""
    print(words, file=sys.stderr, flush=True)
