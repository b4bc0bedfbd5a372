"""The output of real tools in `tests/outputs`, on which the promises are shown."""

from pathlib import Path
from typing import Any

from keepwhole import Session
from keepwhole.record.kept_result import KeptResult
from keepwhole.store.protocol import Store
from tests.build import fixed_clock, seeded

FOLDER = Path(__file__).parents[1] / "outputs"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.name not in ("README.md", ".gitattributes"))


def read_output(name: str) -> bytes:
    """The bytes of one recorded output."""
    return (FOLDER / name).read_bytes()


def keep_all(store: Store, **options: Any) -> tuple[Session, list[KeptResult]]:
    """Keep every recorded output in a session whose clock and ids are always the same."""
    session = Session("s", **{"store": store, "clock": fixed_clock, "random": seeded("work"), **options})
    return session, [session.keep(name, {"name": name}, read_output(name), call_id=name) for name in NAMES]
