"""Modules for which a document asks for a floor of coverage are measured, and one below it is found."""

from pathlib import Path

from tests import coverage_floors


def test_every_module_with_a_floor_is_measured() -> None:
    found = coverage_floors.modules()
    assert {"src/keepwhole/policies/retention.py", "src/keepwhole/standalone/retention.py"} <= set(found)
    assert any(name.endswith("contexts/persistence.py") for name in found)
    runs = (Path(__file__).parent.parent / ".ci" / "run").read_text(encoding="utf-8")
    assert "make coverage" in runs


def test_a_module_below_its_floor_or_never_run_is_found() -> None:
    whole = dict.fromkeys(coverage_floors.modules(), 100.0)
    assert coverage_floors.too_low(whole) == {}
    first, second, *_ = whole
    assert coverage_floors.too_low({**whole, first: 94.9}) == {first: 94.9}
    del whole[second]
    assert coverage_floors.too_low(whole) == {second: 0.0}
