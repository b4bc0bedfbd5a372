"""The ephemeral sessions that this process holds open: locked files, which the kernel releases with the process."""

import fcntl
import os

from keepwhole.errors import NotStored

_FLAGS = os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW


class SessionLocks:
    """Locks on files beside the record; several processes may hold one session."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._held: dict[str, tuple[int, str]] = {}

    def hold(self, session: str, number: int) -> None:
        """Hold a session until `close`; holding it twice is harmless."""
        if session in self._held:
            return
        path = self._path(number)
        try:
            fd = os.open(path, _FLAGS | os.O_CREAT, 0o600)
            fcntl.flock(fd, fcntl.LOCK_SH)
        except OSError as error:
            raise NotStored(f"The session cannot be held open ({error.strerror}). See `keepwhole doctor`.") from error
        self._held[session] = fd, path

    def release(self, session: str) -> None:
        """Release a session; the last holder deletes its file."""
        if session in self._held:
            fd, path = self._held.pop(session)
            os.close(fd)
            if not _is_locked(path) and os.path.exists(path):
                os.unlink(path)

    def is_held(self, number: int) -> bool:
        """Return whether any process holds the session with this number."""
        return _is_locked(self._path(number))

    def close(self) -> None:
        """Release all sessions."""
        for session in list(self._held):
            self.release(session)

    def leave(self) -> None:
        """Forget the locks in a forked child; the parent still holds them."""
        for fd, _ in self._held.values():
            os.close(fd)
        self._held.clear()

    def _path(self, number: int) -> str:
        return os.path.join(self._folder, f"session-{number}.lock")


def _is_locked(path: str) -> bool:
    try:
        fd = os.open(path, _FLAGS)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
