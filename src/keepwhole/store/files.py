"""`ResultFiles`: copies of results, and of what their calls were given, as read-only files, for agents that read files
on the same machine.

Owns: 0400 files in 0700 folders, durable before a notice names one, deleted with their session.
Must not know: rows and blobs. A copy that is changed or deleted does not affect the record. No id becomes a path: names
are digests.
"""

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress

from keepwhole.canonical.media import TEXT
from keepwhole.errors import NotStored
from keepwhole.store.durable import make_folder, sync_folder, write_file

_PIECE = 1_048_576
_EXTENSIONS = {
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "application/pdf": ".pdf",
    "audio/wav": ".wav",
    "audio/mpeg": ".mp3",
    "audio/ogg": ".ogg",
}
"""How the names of files end that agents open by their ending; anything else is read as text."""
_PLAIN = ".txt"
_ARGUMENTS = ".arguments.json"


class ResultFiles:
    """The folder of these files, with one folder for each session."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._there: set[str] = set()

    def path_of(self, session: str, trace_id: str, media_type: str = TEXT) -> str:
        """Return the path of a result's file, whether it exists or not."""
        return os.path.join(self._folder(session), _digest(trace_id) + _EXTENSIONS.get(media_type, _PLAIN))

    def arguments_path_of(self, session: str, trace_id: str) -> str:
        """Return the path of the file of what a result's own call was given, whether it exists or not."""
        return os.path.join(self._folder(session), _digest(trace_id) + _ARGUMENTS)

    def lay_out(self, session: str, trace_id: str, chunks: Iterable[bytes], media_type: str = TEXT) -> None:
        """Write a result to its file; durable on return. Raises `NotStored` if that fails.

        A file that exists is compared the first time, and written anew if it was changed.
        """
        self._lay_out(self.path_of(session, trace_id, media_type), chunks)

    def lay_out_arguments(self, session: str, trace_id: str, arguments: bytes) -> None:
        """Write what a result's own call was given to its file, in the same way."""
        self._lay_out(self.arguments_path_of(session, trace_id), (arguments,))

    def _lay_out(self, path: str, chunks: Iterable[bytes]) -> None:
        if path in self._there and _is_file(path):
            return
        folder = os.path.dirname(path)
        try:
            make_folder(folder)
            if os.path.islink(folder):
                raise OSError(errno.ELOOP, "there is a link in place of its folder", folder)
            if not _is_file(path):
                write_file(path, chunks, 0o400)
            elif (wanted := _unless_same(path, chunks)) is not None:
                write_file(path, wanted, 0o400)
            else:
                sync_folder(folder)  # its writer may have been killed before the name was on the disk
        except OSError as error:
            raise NotStored(
                f"`{path}` could not be written ({error.strerror}), so nothing is left out. Free space, or set "
                "`recall` to `tools`."
            ) from error
        self._there.add(path)

    def changed_file(
        self, session: str, trace_id: str, chunks: Iterable[bytes], media_type: str, arguments: bytes
    ) -> str | None:
        """Return the path of a file of a result that has other bytes than these; None where there is none."""
        wanted = (
            (self.path_of(session, trace_id, media_type), chunks),
            (self.arguments_path_of(session, trace_id), (arguments,)),
        )
        return next((path for path, bytes_of_it in wanted if _is_changed(path, bytes_of_it)), None)

    def remove_one(self, session: str, trace_id: str) -> None:
        """Delete the files of a result, if there are any, whatever they are."""
        for ending in (_PLAIN, _ARGUMENTS, *_EXTENSIONS.values()):
            with suppress(FileNotFoundError):
                os.unlink(os.path.join(self._folder(session), _digest(trace_id) + ending))

    def remove(self, session: str) -> None:
        """Delete the files of a session; what cannot be deleted is left, and a link is not followed."""
        folder = self._folder(session)
        with suppress(OSError):
            if os.path.islink(folder):
                os.unlink(folder)
                return
            for name in os.listdir(folder):
                with suppress(OSError):  # another user's; the rest can be deleted
                    os.unlink(os.path.join(folder, name))
            os.rmdir(folder)

    def _folder(self, session: str) -> str:
        return os.path.join(self.path, _digest(session))


def remove_files(folders: Iterable[str], is_wanted: Callable[[bytes], bool]) -> int:
    """Delete the files in these folders whose bytes are wanted gone; return how many."""
    paths = [os.path.join(at, name) for folder in folders for at, _, names in os.walk(folder) for name in names]
    return sum(remove_file(path, is_wanted) for path in paths)


def remove_file(path: str, is_wanted: Callable[[bytes], bool]) -> bool:
    """Delete a file if its bytes are wanted gone; return whether they are."""
    with open(path, "rb") as file:
        if not is_wanted(file.read()):
            return False
    os.unlink(path)
    return True


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _is_changed(path: str, chunks: Iterable[bytes]) -> bool:
    """Return whether there is something else at a path than a file with these bytes."""
    return _unless_same(path, chunks) is not None if _is_file(path) else os.path.lexists(path)


def _unless_same(path: str, chunks: Iterable[bytes]) -> Iterator[bytes] | None:
    """Return all the bytes of `chunks`, to be read once, if the file has others; None if it has the same."""
    same, rest = 0, iter(chunks)
    with open(path, "rb") as file:
        for chunk in rest:
            if file.read(len(chunk)) != chunk:
                return _continued(path, same, chunk, rest)
            same += len(chunk)
        return _continued(path, same, b"", rest) if file.read(1) else None


def _continued(path: str, same: int, chunk: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the beginning of a file, then what follows instead of the rest of it."""
    with open(path, "rb") as file:
        while same > 0 and (piece := file.read(min(same, _PIECE))):
            same -= len(piece)
            yield piece
    yield chunk
    yield from rest


def _is_file(path: str) -> bool:
    """Return whether there is a regular file; a link in its place will be replaced."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:
        return False
