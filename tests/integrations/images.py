"""Images in results of frameworks whose messages are lists of parts: made, and what has to become of them.

Owns: the session in which they age at once, and the pictures. Must not know: any framework.
"""

from collections.abc import Callable, Sequence
from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL
from keepwhole.store.protocol import result_of
from tests.canonical.pictures import png

PICTURES = [png(900, 700, number, 300) for number in range(6)]
_HASTY = CAREFUL.replace(
    start=1_000, keep_steps=1, clear_at_least=1, worth=0, horizon=1_000, max_loss=1_000.0, keep={"image": 2}
)


def check_images(
    viewer: Any,
    step: Callable[[int, bytes], Sequence[Any]],
    images: Callable[[Any], list[bytes]],
    words: Callable[[Any], str] = str,
) -> None:
    """Each of six steps returns a picture: all are kept, old ones are left out, the newest are sent as they came."""
    session = Session("s", store=MemoryStore(), settings=Settings(home="unused", auto=_HASTY))
    messages: list[Any] = []
    shown: list[Any] = []
    for number, data in enumerate(PICTURES):
        messages += step(number, data)
        shown = viewer.view(session, messages, None)
    kept = [result_of(row) for row in session.store.rows("s", kind="result")]
    bodies = [session.recall_bytes(one.trace_id) for one in kept if one.media_type == "image/png"]
    assert bodies == PICTURES
    assert [data for message in messages for data in images(message)] == PICTURES, "the client's own are unchanged"
    sent = [data for message in shown for data in images(message)]
    assert 2 <= len(sent) < len(PICTURES)
    assert sent == PICTURES[-len(sent) :]
    hidden = next(one.artifact_id for one in kept if one.media_type == "image/png")
    told = "".join(map(words, shown))
    assert hidden in told
    assert "Clicked at 0." in told
