"""Results that are shown whole once more, where a client is about to sum its conversation up itself.

Owns: which ones, within what the window allows. What a summary leaves out is gone for that client, so it is to be
written from the originals.
Must not know: what is recorded; nothing is, since the next turn is sent as the turns before it.
"""

from keepwhole.models.tokens import MARGINS, upper_bound
from keepwhole.policies.policy import Choices, Situation, sent_tokens
from keepwhole.policies.transcript import Transcript

SHARE = 0.9
"""Of the window that may be filled, the answer included."""
_MARGIN = MARGINS["data"]


def restored(transcript: Transcript, decided: Choices, situation: Situation, answer: int) -> frozenset[int]:
    """The numbers of the results that fit if they are shown whole, the newest first; `answer` tokens are left free."""
    sent = sent_tokens(transcript, decided) + situation.overhead
    room = SHARE * situation.profile.window - answer - _MARGIN * sent
    found: set[int] = set()
    for item in reversed(transcript.items):
        choice = decided.get(item.number)
        if choice is None or item.gone or choice.tokens >= item.tokens:
            continue
        more = upper_bound(item.text) - choice.tokens
        if more <= room:
            room -= more
            found.add(item.number)
    return frozenset(found)
