"""Members and elements put into a JSON text and taken out again, every other byte as it was.

Owns: that taking out is the exact reverse of putting in. What is put into something empty begins where that begins;
what is made new begins on a line of its own: by this a container that was there, empty, is told from one we made.
Must not know: what the settings mean, files.
"""

import json
import re
from typing import Any, NamedTuple

from keepwhole.canonical.json_members import members_from
from keepwhole.canonical.json_steps import skip_space
from keepwhole.canonical.json_text import read_value

_INDENT = re.compile(r"[{\[]\r?\n([ \t]+)\S")


class Part(NamedTuple):
    """A member of an object or an element of an array, and where it lies."""

    key: str
    """Empty for an element of an array."""
    value: Any
    start: int
    """Where it begins, with its key."""
    value_start: int
    stop: int


def parse(text: str) -> Any:
    """The value of a whole JSON text; `ValueError` where it is none."""
    try:
        value, stop = read_value(text, skip_space(text, 0))
    except (StopIteration, RecursionError) as error:
        raise ValueError("it is not valid JSON") from error
    if skip_space(text, stop) != len(text):
        raise ValueError(f"something follows its end, at character {stop:,}")
    return value


def parts(text: str, start: int) -> list[Part]:
    """The parts of the object or array that begins at `start`, in a text that `parse` accepts."""
    found: list[Part] = []
    for own in members_from(text, start)[0]:
        key = read_value(text, own.start)[0] if text[start] == "{" else ""
        found.append(Part(key, read_value(text, own.value)[0], own.start, own.value, own.stop))
    return found


def member(text: str, start: int, key: str) -> Part | None:
    """The member of that name in the object at `start`; of several the last, which is the one that counts."""
    return next((part for part in reversed(parts(text, start)) if part.key == key), None)


def added(text: str, start: int, key: str | None, value: Any, depth: int) -> str:
    """The text with a part more at the end of the container at `start`, which is `depth` deep."""
    step, newline = indent(text), "\r\n" if "\r\n" in text else "\n"
    border = newline + step * (depth + 1)
    words = json.dumps(value, ensure_ascii=False, indent=step).replace("\n", border)
    if key is not None:
        words = f"{json.dumps(key, ensure_ascii=False)}: {words}"
    there = parts(text, start)
    at = there[-1].stop if there else start + 1
    return text[:at] + (f",{border}" if there else "") + words + text[at:]


def removed(text: str, start: int, part: Part) -> tuple[str, bool]:
    """The text without a part of the container at `start`, and whether that was made for it alone and is now empty."""
    there = parts(text, start)
    at = there.index(part)
    if at > 0:
        return text[: there[at - 1].stop] + text[part.stop :], False
    if len(there) > 1:
        return text[: part.start] + text[there[1].start :], False
    return text[: start + 1] + text[part.stop :], text[start + 1] in "\r\n"


def indent(text: str) -> str:
    """What one level is set in by."""
    found = _INDENT.search(text)
    return found[1] if found else "  "
