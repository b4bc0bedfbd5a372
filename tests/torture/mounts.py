"""File systems of our own, as root: a small tmpfs to fill up, a disk image whose power can be cut.

Whatever the machine does not allow skips the test with the reason.
"""

import fcntl
import os
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

_SHUTDOWN = 0x8004587D
_WITHOUT_THE_LOG = 2
_IMAGE_BYTES = 320 << 20


def need_root() -> None:
    """Skip where we are not root."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")


def command(*words: str) -> None:
    """Run a command; skip the test where it cannot do what it should."""
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"`{' '.join(words)}`: {done.stderr.strip()}")


def unmount(path: str) -> None:
    """Unmount, with patience for processes that are just ending."""
    for _ in range(40):
        if subprocess.run(["umount", path], capture_output=True, check=False).returncode == 0:
            return
        time.sleep(0.05)
    subprocess.run(["umount", "-l", path], check=True)


class Tmpfs:
    """A mounted tmpfs whose size and mode can be changed while it is in use."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.store = os.path.join(path, "store")
        self._filler = os.path.join(path, "filler")

    def remount(self, options: str) -> None:
        """Change a mount option."""
        subprocess.run(["mount", "-o", f"remount,{options}", self.path], check=True)

    def fill(self, leave: int = 0) -> None:
        """Use up all space but `leave` bytes."""
        with open(self._filler, "ab", buffering=0) as file:
            while (room := self.free() - leave) > 0:
                try:
                    file.write(b"\xaa" * min(room, 1 << 20))
                except OSError:
                    return

    def empty(self) -> None:
        """Give the space back."""
        os.unlink(self._filler)

    def free(self) -> int:
        """Bytes left."""
        status = os.statvfs(self.path)
        return status.f_bavail * status.f_frsize


@contextmanager
def tmpfs(path: str, options: str) -> Iterator[Tmpfs]:
    """A tmpfs mounted on `path`, gone afterwards."""
    need_root()
    os.makedirs(path)
    command("mount", "-t", "tmpfs", "-o", options, "keepwhole", path)
    try:
        yield Tmpfs(path)
    finally:
        unmount(path)


class Disk:
    """A disk image with a file system, mounted; `cut` loses everything that was not synced."""

    def __init__(self, image: str, path: str) -> None:
        self._image = image
        self.path = path

    def mount(self) -> None:
        """Mount it, which replays the journal."""
        command("mount", "-o", "loop", self._image, self.path)

    def cut(self) -> None:
        """Cut the power: nothing that is not on the disk yet gets there any more."""
        fd = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.ioctl(fd, _SHUTDOWN, struct.pack("I", _WITHOUT_THE_LOG))
        except OSError as error:
            pytest.skip(f"this file system cannot be shut down: {error}")
        finally:
            os.close(fd)

    def restart(self) -> None:
        """Power is back."""
        unmount(self.path)
        self.mount()


@contextmanager
def disk(folder: str, kind: str) -> Iterator[Disk]:
    """A fresh disk with an `ext4` or `xfs` file system."""
    need_root()
    image, path = os.path.join(folder, "image"), os.path.join(folder, "disk")
    os.makedirs(path)
    with open(image, "wb") as file:
        file.truncate(_IMAGE_BYTES)
    command(f"mkfs.{kind}", "-q", "-F" if kind == "ext4" else "-f", image)
    made = Disk(image, path)
    try:
        made.mount()
        try:
            yield made
        finally:
            unmount(path)
    finally:
        os.unlink(image)
