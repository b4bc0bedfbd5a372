"""Where the bodies are that are too large for a row: in the record's own place, or outside it where `blobs` says so.

Owns: that what an entry refers to is never deleted, and that a body is found again whatever the setting is later.
Must not know: rows. Who knows them says which names no entry has, and makes sure that none gets one of those.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Protocol

from keepwhole.canonical.body import BodyFacts
from keepwhole.errors import Damaged, NotStored, StoreError
from keepwhole.store.blobs.folder import NAME, Unread
from keepwhole.store.feed import Feed
from keepwhole.store.protocol import Body, Taken
from keepwhole.store.reader import BodyReader

MARK = "@"
"""What the name of a body outside begins with, in its entry."""
_TOGETHER = 500


class Blobs(Protocol):
    """One place for large bodies. Names are 32 random hex digits, drawn by it."""

    def write(self, feed: Feed, first: bytes, room: int) -> Taken:
        """Store `first` and the rest of `feed`, at most `room` bytes; durable on return.

        Raises `NotStored` with a `rescue` that gives the original back.
        """
        ...

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """A reader of the body `blob`."""
        ...

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these; what cannot be deleted is left for the collection of orphans."""
        ...

    def old(self) -> Iterator[str]:
        """Names of what has been here for more than an hour."""
        ...

    def close(self) -> None:
        """Give back what is held open."""
        ...


class Outside(Blobs, Protocol):
    """A place outside the record."""

    def check(self) -> list[str]:
        """Try all that is asked of it; what it lacks and can be done without. `StoreRefused` if it fails."""
        ...


Condemn = Callable[[list[str]], list[str]]
"""Make sure that no entry ever refers to these; those of them that none refers to."""


class Places:
    """The large bodies of one record."""

    def __init__(self, own: Blobs, make: Callable[[], Outside] | None = None) -> None:
        """`make` gives the place outside, on first use."""
        self.own = own
        self._make = make
        self._made: Outside | None = None

    @property
    def is_outside(self) -> bool:
        """Whether new bodies go outside."""
        return self._make is not None

    def outside(self) -> Outside:
        """The place outside."""
        if self._make is None:
            raise StoreError(
                "This body is not in the record itself but where `blobs` said when it was kept. Set `blobs` to that "
                "place again, or name it with `--from-blobs` to copy from there."
            )
        if self._made is None:  # two at once do no harm, and a lock would have to be looked after in a fork
            self._made = self._make()
        return self._made

    def write(self, feed: Feed, first: bytes, room: int) -> Taken:
        """Store a body; durable on return."""
        if not self.is_outside:
            return self.own.write(feed, first, room)
        try:
            outside = self.outside()
        except StoreError as error:
            raise NotStored(str(error), rescue=Unread(first, feed)) from error
        taken = outside.write(feed, first, room)
        return Taken(Body(taken.body.facts, blob=f"{MARK}{taken.body.blob}"), taken.reader)

    def open(self, blob: str, facts: BodyFacts) -> BodyReader:
        """A reader of the body `blob`."""
        if blob.startswith(MARK):
            return self.outside().open(blob.removeprefix(MARK), facts)
        return self.own.open(blob, facts)

    def remove(self, blobs: Iterable[str]) -> None:
        """Delete these where it can be done; the rest is left for the collection of orphans."""
        blobs = list(blobs)
        outside = [blob.removeprefix(MARK) for blob in blobs if blob.startswith(MARK)]
        if len(outside) < len(blobs):
            self.own.remove([blob for blob in blobs if not blob.startswith(MARK)])
        if outside and self.is_outside:
            try:
                self.outside().remove(outside)
            except StoreError:
                pass

    def reach(self, blobs: Iterable[str]) -> None:
        """`StoreError` where one of these is outside and nobody says where that is."""
        if any(blob.startswith(MARK) for blob in blobs):
            self.outside()

    def collect(self, condemn: Condemn) -> int:
        """Delete what has been there for more than an hour and no entry has; how many."""
        count = _collect(self.own, "", condemn)
        return count + (_collect(self.outside(), MARK, condemn) if self.is_outside else 0)

    def close(self) -> None:
        """Give back what is held open."""
        self.own.close()
        if self._made is not None:
            self._made.close()


def is_away(error: Exception) -> bool:
    """Whether a body is where it was and only cannot be read now."""
    return isinstance(error, StoreError) and not isinstance(error, Damaged)


def _collect(place: Blobs, mark: str, condemn: Condemn) -> int:
    count, names = 0, place.old()
    while some := list(islice(names, _TOGETHER)):
        finished = [mark + name for name in some if NAME.fullmatch(name)]
        gone = [name for name in some if not NAME.fullmatch(name)]
        gone += [blob.removeprefix(mark) for blob in (condemn(finished) if finished else ())]
        place.remove(gone)
        count += len(gone)
    return count
