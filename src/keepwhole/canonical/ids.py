"""How ids are spelled. Time and randomness are arguments; an id is drawn once and then stored."""

import re

_BASE62 = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_LETTERS = 22
_ALIKE = str.maketrans("oiljszbgquv", "011152899vv")
_FAIR = 4 * len(_BASE62)
_LETTER_OF = bytes(_BASE62[byte % len(_BASE62)] for byte in range(256))
_UNFAIR = bytes(range(_FAIR, 256))
RANDOM_BYTES = 48
"""Random bytes an id takes: 22 of them become letters, bytes that would favor some letters are skipped."""

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")


def _letters(random: bytes) -> str:
    letters = random.translate(_LETTER_OF, _UNFAIR)[:_LETTERS].decode()
    if len(letters) < _LETTERS:
        raise ValueError("an id needs more random bytes")
    return letters


def artifact_id(at: int, trace_id: str) -> str:
    """The id of an artifact made at `at` (unix seconds) of the result `trace_id`: they end in the same letters.

    A clock that was never set may be before 1970; an id has no sign.
    """
    return f"art_{max(0, at)}_{trace_id[-_LETTERS:]}"


def trace_id(random: bytes) -> str:
    """The id of a result."""
    return f"trace_{_letters(random)}"


def alike(any_id: str) -> str:
    """An id without what is easily read otherwise in an image: letters of either case, and those like digits.

    >>> alike("art_1_O0Il5sB") == alike("art_1_o0I15S8")
    True
    """
    return any_id.casefold().translate(_ALIKE)


def trace_of(any_id: str) -> str:
    """The trace id of the result that a trace id or an artifact id names."""
    return f"trace_{any_id[-_LETTERS:]}" if any_id.startswith("art_") else any_id


def session_id(random: bytes) -> str:
    """The id of a new session."""
    return f"s_{_letters(random)}"


def is_session_id(text: str) -> bool:
    """Whether `text` may name a session: 1 to 128 letters, digits and `._:@-`."""
    return _SESSION.fullmatch(text) is not None
