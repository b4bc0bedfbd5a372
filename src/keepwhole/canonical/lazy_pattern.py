"""Regular expressions that are compiled when they are first used: a short command uses few of those it imports.

Compiling one of the larger expressions takes as long as importing a module.
"""

import re
from typing import Any, cast

_METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn")


class LazyPattern:
    """Looks like its pattern; the first use of a method puts the pattern's own methods in place."""

    def __init__(self, pattern: str, flags: int) -> None:
        self._given = pattern, flags

    @property
    def compiled(self) -> re.Pattern[str]:
        """The regular expression itself."""
        return re.compile(*self._given)

    def __getattr__(self, name: str) -> Any:
        compiled = self.compiled
        self.__dict__.update({method: getattr(compiled, method) for method in _METHODS})
        return getattr(compiled, name)


def lazy_pattern(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return a regular expression like that of `re.compile`; an error in it shows at its first use."""
    return cast("re.Pattern[str]", LazyPattern(pattern, flags))
