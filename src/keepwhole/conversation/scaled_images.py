"""Images that are sent smaller from the beginning, where the setting `images.max_edge` asks for it.

Owns: which images of a conversation these are. Must not know: how an image is made smaller (`image_scaler`), how the
choice is recorded: the decision has the bytes of the smaller image, so no later Pillow sends others.

An image is made smaller when it is new, whatever the policy: then nothing is cached that would be sent anew. That is an
image which was never sent, or one of the newest step that a hook has recorded before its message came.
"""

from collections.abc import Iterable
from functools import lru_cache

from keepwhole.canonical.message import MediaPart
from keepwhole.conversation.image_scaler import scaled_down
from keepwhole.conversation.plan import is_recall_answer
from keepwhole.policies.images import scaled_choice
from keepwhole.policies.policy import Choice
from keepwhole.policies.transcript import Item, Transcript

_REMEMBERED = 16


def plan_scaled(transcript: Transcript, items: Iterable[Item], max_edge: int) -> dict[int, Choice]:
    """The choices to send those of these images smaller that are too large; what the model read back stays whole."""
    found: dict[int, Choice] = {}
    for item in items if max_edge else ():
        part = item.returned.media
        if part is None or item.media is None or max(item.media.width, item.media.height) <= max_edge:
            continue
        if item.pinned or not part.has_bytes or item.returned.only_image or is_recall_answer(item):
            continue
        smaller = _smaller(part, max_edge)
        if smaller is not None:
            found[item.number] = scaled_choice(transcript, item, smaller)
    return found


@lru_cache(maxsize=_REMEMBERED)
def _smaller(part: MediaPart, max_edge: int) -> bytes | None:
    """The smaller image; a plan may be made several times."""
    return scaled_down(part.body(), max_edge)
