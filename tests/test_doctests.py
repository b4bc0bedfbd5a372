"""The examples in docstrings are true."""

import doctest
import importlib
import inspect
import pkgutil

import keepwhole

OPTIONAL = ("keepwhole.integrations", "keepwhole.apps", "keepwhole.store.postgres", "keepwhole.store.blobs")
"""Packages whose modules may need an extra that is not installed."""


def test_every_example_in_a_docstring_is_true() -> None:
    examples, failed = 0, list[str]()
    for found in pkgutil.walk_packages(keepwhole.__path__, "keepwhole."):
        if found.name.endswith("__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            assert found.name.startswith(OPTIONAL), found.name
            continue
        if ">>> " not in inspect.getsource(module):  # looking through a module takes longer than running its examples
            continue
        results = doctest.testmod(module)
        examples += results.attempted
        failed += [found.name] * bool(results.failed)
    assert failed == []
    assert examples > 80
