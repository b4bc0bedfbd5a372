"""Parts that other packages bring: strategies, policies, stores and clients, found by their entry points.

A package offers a part under one of the groups below; its name then works wherever a built-in name does: in the
settings file, on the command line, in the proxy and in Python.

    [project.entry-points."keepwhole.strategies"]
    middle = "my_package.strategies:middle"

Owns: finding and importing a part by name, and saying which package is at fault when that fails.
Must not know: what a part does. Installed packages are read only when a name is not a built-in one.
"""

from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from keepwhole.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group: TypeAlias = Literal["strategies", "policies", "stores", "clients"]


@cache
def _offered(group: Group) -> "dict[str, EntryPoint]":
    from importlib.metadata import entry_points  # takes a while, and few commands need it

    return {point.name: point for point in entry_points(group=f"keepwhole.{group}")}


def names(group: Group) -> tuple[str, ...]:
    """Return the names that installed packages offer in a group."""
    return tuple(sorted(_offered(group)))


def load(group: Group, name: str) -> Any | None:
    """Return the part that an installed package offers under this name; None where none does."""
    point = _offered(group).get(name)
    if point is None:
        return None
    try:
        return point.load()
    except Exception as error:
        package = point.dist.name if point.dist is not None else point.value
        raise UsageError(
            f"`{name}` from the package `{package}` cannot be imported: {error}. Update or uninstall that package."
        ) from error
