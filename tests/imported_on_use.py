"""SDKs that take long to import: when a test first uses one, rather than in every process that collects tests."""

from typing import Any

import pytest


class ImportedOnUse:
    """Stands for a module; a test that uses it is skipped where it is not installed."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith(("_", "pytest")):  # what pytest looks for in everything that it collects
            raise AttributeError(attribute)
        return getattr(pytest.importorskip(self._name, reason=f"`{self._name}` is not installed"), attribute)
