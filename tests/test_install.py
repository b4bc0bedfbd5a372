"""What an extra needs, and how it is installed."""

import importlib.metadata

import pytest

from keepwhole.install import requirements_of


def test_the_requirements_of_an_extra_are_those_that_are_declared() -> None:
    assert any(need.startswith("mcp") for need in requirements_of("mcp"))
    assert requirements_of("nothing") == []


def test_without_an_installed_distribution_nothing_is_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", missing)
    assert requirements_of("mcp") == []
