"""The real tool output that the promises are shown on."""

from pathlib import Path
from typing import Any

from keepwhole import Session
from keepwhole.record.kept_result import KeptResult
from keepwhole.store.protocol import Store
from tests.build import fixed_clock, seeded

FOLDER = Path(__file__).parents[1] / "outputs"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.name not in ("README.md", ".gitattributes"))


def real(name: str) -> bytes:
    """The bytes of one recorded output."""
    return (FOLDER / name).read_bytes()


def work(store: Store, **options: Any) -> tuple[Session, list[KeptResult]]:
    """A session over all real output, with the same clock and the same chance every time."""
    session = Session("s", **{"store": store, "clock": fixed_clock, "random": seeded("work"), **options})
    return session, [session.keep(name, {"name": name}, real(name), call_id=name) for name in NAMES]
