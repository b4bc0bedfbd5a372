"""Where tests put their files: in memory where there is room, since they kill processes and never cut the power.

Syncing to a disk would take a third of the default run's time. What is tested about syncs is seen from the calls
(`tests/faults/test_fsync.py`), and power cuts and full disks have file systems of their own (`tests/torture`).
"""

import os
from functools import cache

_PLACE = "/dev/shm"
_ROOM = 2 << 30
"""The default run needs less than a tenth of it at a time; a container often has 64 MB."""


@cache
def memory_folder() -> str | None:
    """A folder in memory; None where there is none, too little room in it, or programs in it may not be run."""
    if not os.access(_PLACE, os.W_OK):
        return None
    found = os.statvfs(_PLACE)
    is_of_use = found.f_bavail * found.f_frsize >= _ROOM and not found.f_flag & os.ST_NOEXEC
    return _PLACE if is_of_use else None
