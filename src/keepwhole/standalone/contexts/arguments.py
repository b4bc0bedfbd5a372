"""The types of callers' arguments, checked at the entrance: a wrong one is a `UsageError` that names the argument."""

import os
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, cast

from keepwhole.errors import UsageError


def check_text(name: str, value: object) -> str:
    """Return the value where it is a text, else `UsageError`."""
    if not isinstance(value, str):
        raise _wrong(name, "a string", value)
    return value


def check_mapping(name: str, value: object) -> Mapping[Any, Any]:
    """Return the value where it is a mapping, an empty one for None, else `UsageError`."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise _wrong(name, "a mapping of names to values", value)
    return cast("Mapping[Any, Any]", value)


def check_id(name: str, value: object, kinds: tuple[type, ...] = (str,)) -> None:
    """`UsageError` where the value is neither None nor of these types."""
    if value is not None and (not isinstance(value, kinds) or not isinstance(value, Hashable)):
        raise _wrong(name, " or ".join({str: "a string", int: "a number"}[kind] for kind in kinds), value)


def check_limit(name: str, value: object) -> None:
    """`UsageError` where the value is neither None nor a number of at least 0."""
    if value is not None and (not isinstance(value, int) or value < 0):
        raise UsageError(f"`{name}` is the largest number of files to give, 0 or more.")


def check_paths(name: str, values: object) -> list[str]:
    """Return the paths of a list; `UsageError` for a single path, since its characters would be taken for paths."""
    if isinstance(values, str | bytes | os.PathLike) or not isinstance(values, Iterable):
        raise _wrong(name, "a list of paths", cast("object", values))
    return [_path(f"{name}[{at}]", value) for at, value in enumerate(cast("Iterable[object]", values))]


def check_size(name: str, value: object) -> None:
    """`UsageError` where the value is not a number of bytes; NaN is not."""
    if not isinstance(value, int | float) or not value >= 0:
        raise UsageError(f"`{name}` is a number of bytes, 0 or more; 0 keeps nothing in memory.")


def _path(name: str, value: object) -> str:
    return check_text(name, os.fspath(cast("os.PathLike[str]", value)) if isinstance(value, os.PathLike) else value)


def _wrong(name: str, wanted: str, value: object) -> UsageError:
    return UsageError(f"`{name}` must be {wanted}; this is of type `{type(value).__name__}`.")
