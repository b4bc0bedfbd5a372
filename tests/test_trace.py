"""Every numbered sentence of the truncation document has a test, and the page that says so is fresh."""

from docs.trace import PAGE, checking_tests, ids, page, untested


def test_every_id_of_the_document_has_a_test() -> None:
    assert untested() == []


def test_the_trace_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "trace.md is stale: run `make docs`"


def test_the_trace_has_every_id_of_the_document_once() -> None:
    spelt = [one for one, _, _ in ids()]
    assert len(set(spelt)) == len(spelt)
    assert [one for one in spelt if one.startswith("ac_")] == [f"ac_{number:03d}" for number in range(1, 71)]
    assert {one for one in spelt if one.startswith("nfr_")} == {f"nfr_{number:03d}" for number in range(1, 20)}
    assert len([one for one in spelt if one.startswith("list_")]) == 21
    assert len([one for one in spelt if one.startswith("scenario_")]) == 6


def test_an_id_that_only_begins_alike_is_not_taken_for_another() -> None:
    assert checking_tests("scenario_1", {"test_scenario_10_of_others": "x.py"}) == []
    assert checking_tests("ac_001", {"test_ac_001_holds": "x.py"}) == ["test_ac_001_holds"]
