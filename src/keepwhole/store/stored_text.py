"""`StoredText`: the text of a stored body that is opened only while it is read.

Owns: that nothing is held open or in memory between two uses.
Must not know: what the text is for.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager

from keepwhole.canonical.body import BodyFacts
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.cut import Source, TextSource

_READ_AT_ONCE = 1 << 20
"""Characters of a text that is read whole when it is opened; of a longer one only what is needed is read."""


class StoredText:
    """One stored text."""

    def __init__(self, facts: BodyFacts, open_body: Callable[[], BodyReader]) -> None:
        """`open_body` may raise any `StoreError`, and so may everything that reads the text."""
        self._open = open_body
        self.chars, self.size, self.digest = facts.chars, facts.size, facts.digest

    @contextmanager
    def opened(self) -> Generator[Source]:
        """Open the text for as long as it is read."""
        with self._open() as reader:
            yield _source(reader)

    def stream(self) -> Iterator[bytes]:
        """Yield all bytes of the text, block by block."""
        with self._open() as reader:
            yield from reader.stream()


def _source(reader: BodyReader) -> Source:
    is_short = reader.chars <= _READ_AT_ONCE and reader.facts.encoding == "utf-8"
    return TextSource(reader.text(), reader.facts) if is_short else reader
