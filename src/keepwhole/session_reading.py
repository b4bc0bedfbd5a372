"""The calls of a session that read one result back: whole, by lines or characters, as bytes, as a stream."""

from collections.abc import Iterator

from keepwhole.errors import NotFound, TooLargeToRecall
from keepwhole.recall.ranges import LineRange, parse_lines
from keepwhole.recall.tools import RecallTools
from keepwhole.record import arrival
from keepwhole.record.shown import Shown
from keepwhole.store.protocol import Row, Store, body_of
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.notice import size_text


class Reading:
    """Results of one session, read back."""

    id: str
    store: Store
    configuration: TruncationConfiguration
    _answering: RecallTools

    def recall(
        self,
        id: str,
        *,
        lines: str | tuple[int, int] | None = None,
        chars: tuple[int, int] | None = None,
    ) -> str:
        """The text of a result, by trace id or artifact id: all of it, `lines` from 1, or `chars` from 0."""
        with self.open(id) as reader:
            if lines is not None:
                asked = parse_lines(lines) if isinstance(lines, str) else LineRange(*lines)
                return reader.line_range(asked.first, reader.lines if asked.last is None else asked.last)
            if chars is not None:
                return reader.text(*chars)
            self._refuse_huge(id, reader)
            return reader.text()

    def recall_bytes(self, id: str) -> bytes:
        """The bytes of a result as they came."""
        with self.open(id) as reader:
            self._refuse_huge(id, reader)
            return reader.read()

    def stream(self, id: str) -> Iterator[bytes]:
        """The bytes of a result of any size, checked piece by piece."""
        reader = self.open(id)

        def chunks() -> Iterator[bytes]:
            with reader:
                yield from reader.stream()

        return chunks()

    def open(self, id: str) -> BodyReader:
        """A result open for reading: ranges of lines and characters, each checked, without loading the rest."""
        return self.store.open(body_of(self._row(id)))

    def shown(self, id: str) -> Shown:
        """What was shown of a result, as recorded."""
        return arrival.shown_again(self.store, self._row(id))

    def _row(self, id: str) -> Row:
        row = self.store.find(self.id, id)
        if row is None:
            raise NotFound(
                f"Session `{self.id}` has no result `{id[:80]}`. `keepwhole artifacts list` shows what it has.",
                self._answering.unknown(id).content,
            )
        return row

    def _refuse_huge(self, id: str, reader: BodyReader) -> None:
        if reader.facts.size > self.configuration.max_artifact_size:
            raise TooLargeToRecall(
                f"`{id}` is {size_text(reader.facts.size)}, more than `max_artifact_size`. Ask for `lines` or "
                "`chars`, or use `stream`.",
                f'It is too large for one answer. Next: get_artifact(id="{id}", lines="1-100")',
            )
