"""Addresses inside JSON: `$.items[40:60].name`, `$["a key"][-1]`, `$[*]`.

Owns: reading an address, and finding the values it names without building the rest of the tree.
Must not know: how values are shown.

A list under keys that follow each other is found in one pass by `msgspec`, which skips all other values at memory
speed; JSON that it refuses (NaN, half surrogates) is read by the scanner that cuts JSON.
"""

import json
import re
from functools import lru_cache
from typing import Any, TypeAlias, cast

from keepwhole.canonical.json_members import NotJson, members
from keepwhole.canonical.json_text import read_value
from keepwhole.canonical.value import Value
from keepwhole.errors import UsageError

_STEP = re.compile(
    r"""\.(?P<name>[^\s.\[\]"'*]+)
      |\[\s*(?P<quoted>"(?:[^"\\]|\\.)*"|'[^']*')\s*\]
      |\[\s*(?P<index>-?\d{1,15})\s*\]
      |\[\s*(?P<start>-?\d{1,15})?\s*:\s*(?P<stop>-?\d{1,15})?\s*\]
      |(?P<all>\[\s*\*\s*\]|\.\*)""",
    re.VERBOSE,
)
_LISTED = 20
_LONGEST = 300
_LARGEST_ODD = 4_000_000
_NOT_JSON = "This is not JSON that can be addressed. Leave path out to page through it, or give a pattern."


class KeyStep(Value):
    """The member of an object by its name."""

    name: str


class IndexStep(Value):
    """One element of an array; a negative index counts from the end."""

    number: int


class SliceStep(Value):
    """Elements of an array, as Python slices them."""

    start: int | None = None
    stop: int | None = None


PathStep: TypeAlias = KeyStep | IndexStep | SliceStep


class NoSuchValue(UsageError):
    """An address names nothing; the message says what exists."""


def parse_path(text: str) -> list[PathStep]:
    """The steps of an address.

    >>> parse_path("$.items[40:60].name")
    [KeyStep(name='items'), SliceStep(start=40, stop=60), KeyStep(name='name')]
    """
    text = text.strip()
    rest = text[1:] if text.startswith("$") else text if text.startswith("[") else f".{text}"
    steps: list[PathStep] = []
    at = 0
    while at < len(rest):
        found = _STEP.match(rest, at) if len(text) <= _LONGEST else None
        if found is None:
            message = f'"{text[:60]}" is not an address. Write it as $.items[40:60].name, $["a key"] or $[-1].'
            raise UsageError(message, message)
        steps.append(_step(found))
        at = found.end()
    return steps


def _step(found: "re.Match[str]") -> PathStep:
    if found["all"]:
        return SliceStep()
    if found["index"] is not None:
        return IndexStep(int(found["index"]))
    if found["name"] is not None:
        return KeyStep(found["name"])
    quoted = found["quoted"]
    if quoted is None:
        return SliceStep(*(None if number is None else int(number) for number in (found["start"], found["stop"])))
    try:
        return KeyStep(json.loads(quoted) if quoted[0] == '"' else quoted[1:-1])
    except ValueError:
        return KeyStep(quoted[1:-1])


def path_text(steps: list[PathStep]) -> str:
    """An address in its usual spelling.

    >>> path_text([KeyStep("items"), SliceStep(40, None), KeyStep("a key")])
    '$.items[40:]["a key"]'
    """
    return "$" + "".join(map(_step_text, steps))


def _step_text(step: PathStep) -> str:
    if isinstance(step, KeyStep):
        plain = _STEP.fullmatch(f".{step.name}")
        bare = plain is not None and plain["name"] == step.name
        return f".{step.name}" if bare else f"[{json.dumps(step.name, ensure_ascii=False)}]"
    if isinstance(step, IndexStep):
        return f"[{step.number}]"
    return f"[{'' if step.start is None else step.start}:{'' if step.stop is None else step.stop}]"


def descend(data: bytes, steps: list[PathStep]) -> tuple[bytes, int]:
    """The value that the steps up to the first slice lead to, and the number of these steps."""
    at = 0
    while at < len(steps) and not isinstance(steps[at], SliceStep):
        upto = at
        while upto < len(steps) and isinstance(steps[upto], KeyStep):
            upto += 1
        if upto > at:
            data = _by_keys(data, cast("list[KeyStep]", steps[at:upto]), steps[:at])
        else:
            data = _element(data, cast("IndexStep", steps[at]), steps[:at])
            upto = at + 1
        at = upto
    return data, at


def find_elements(data: bytes, steps: list[PathStep]) -> tuple[bytes | None, "list[Any] | None", int]:
    """The elements at the first slice of an address, found in the same pass as the keys before it.

    Returns `(value, None, steps)` where there is no slice, else `(None, elements, steps)`.
    """
    upto = next((number for number, step in enumerate(steps) if not isinstance(step, KeyStep)), len(steps))
    if upto < len(steps) and isinstance(steps[upto], SliceStep):
        found = _list_at_keys(data, tuple(cast("KeyStep", step).name for step in steps[:upto]))
        if found is not None:
            return None, found, upto
    value, at = descend(data, steps)
    return (value, None, at) if at == len(steps) else (None, elements(value, steps[:at]), at)


def elements(data: bytes, at: list[PathStep]) -> list[Any]:
    """The elements of an array, or the values of an object."""
    inside = children(data)
    if inside is None:
        raise _no_such_value(f"What is at {path_text(at)} is neither array nor object.")
    return list(inside.values()) if isinstance(inside, dict) else inside


def children(data: bytes) -> "dict[str, Any] | list[Any] | None":
    """The members of a value, each as its own bytes; None for a value that is not a container."""
    first = data.lstrip(b" \t\r\n\xef\xbb\xbf")[:1]
    if first not in (b"{", b"["):
        return None
    kind = dict[str, _raw()] if first == b"{" else list[_raw()]
    found = _decode(data, kind)
    return found if found is not None else _scan_children(data)


def _by_keys(data: bytes, keys: list[KeyStep], before: list[PathStep]) -> bytes:
    at = list(before)
    for key in keys:
        inside = children(data)
        if not isinstance(inside, dict):
            raise _no_such_value(_about_no_key(path_text(at), inside, key))
        if key.name not in inside:
            names = ", ".join(_quote(name) for name in list(inside)[:_LISTED])
            more = f" and {len(inside) - _LISTED:,} more" if len(inside) > _LISTED else ""
            raise _no_such_value(f"There is no key {_quote(key.name)} at {path_text(at)}. There are: {names}{more}.")
        data = bytes(inside[key.name])
        at.append(key)
    return data


def _about_no_key(at: str, inside: list[Any] | None, key: KeyStep) -> str:
    if inside:
        return f"What is at {at} is an array, so it has no key {_quote(key.name)}. Give an element, such as {at}[0]."
    return f"What is at {at} is not an object, so it has no key {_quote(key.name)}."


def _element(data: bytes, step: IndexStep, before: list[PathStep]) -> bytes:
    inside = children(data)
    if not isinstance(inside, list):
        raise _no_such_value(f"What is at {path_text(before)} is not an array, so it has no element {step.number}.")
    if not -len(inside) <= step.number < len(inside):
        last = f", the last at {path_text(before)}[{len(inside) - 1}]" if inside else ""
        raise _no_such_value(f"There is no element {step.number} at {path_text(before)}: it has {len(inside):,}{last}.")
    return bytes(inside[step.number])


def _quote(name: str) -> str:
    return json.dumps(name[:60])


def _no_such_value(message: str) -> NoSuchValue:
    return NoSuchValue(message, message)


def _raw() -> Any:
    import msgspec

    return msgspec.Raw


@lru_cache(maxsize=32)
def _nested_type(names: tuple[str, ...]) -> Any:
    """A type with only these nested keys, and a list inside; None where a key cannot be the name of a field."""
    import msgspec

    kind: Any = list[msgspec.Raw]
    try:
        for name in reversed(names):
            fields: list[Any] = [("inner", kind | None, None)]
            kind = msgspec.defstruct("At", fields, rename={"inner": name})
    except ValueError:
        return None
    return kind


def _list_at_keys(data: bytes, names: tuple[str, ...]) -> list[Any] | None:
    """The elements of the list under nested keys, found in one pass; None where the slow search is needed."""
    nested = _nested_type(names)
    found = None if nested is None else _decode(data, nested)
    for _ in names:
        found = getattr(found, "inner", None)
    return found


def _decode(data: bytes, kind: Any) -> Any:
    """`data` decoded as this type; None for a value of another type and for non-standard JSON."""
    import msgspec

    try:
        return msgspec.json.decode(data, type=kind)
    except (msgspec.MsgspecError, ValueError, TypeError, RecursionError):
        return None


def _scan_children(data: bytes) -> "dict[str, Any] | list[Any]":
    """The members, read by the scanner that accepts what Python's `json` accepts; slow, so large values are refused."""
    if len(data) > _LARGEST_ODD:
        raise UsageError(_NOT_JSON, _NOT_JSON)
    text = data.decode("utf-8", "surrogateescape").lstrip("\ufeff").strip(" \t\r\n")
    try:
        spans = members(text, 0, len(text))
        values = [text[span.value : span.stop].encode("utf-8", "surrogateescape") for span in spans]
        if text[0] == "[":
            return values
        return {read_value(text, span.start)[0]: value for span, value in zip(spans, values, strict=True)}
    except (NotJson, ValueError, RecursionError):
        raise UsageError(_NOT_JSON, _NOT_JSON) from None
