"""The sample has everything that the page can show."""

from pathlib import Path

import pytest

from keepwhole import config
from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.sample import NAME, play
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.store.memory import MemoryStore
from keepwhole.store.verify import verify
from tests.build import NOON


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> InspectorServices:
    """The whole sample."""
    settings = config.load(home=str(tmp_path_factory.mktemp("sample")), environ={})
    store = MemoryStore()
    play(settings, store, float(NOON))
    return InspectorServices(settings, store)


def all_steps(services: InspectorServices) -> list[dict[str, object]]:
    pages = (
        answers.list_steps(services, PageRequest((NAME,), {"from": start, "count": "100"})) for start in ("0", "100")
    )
    return [step for page in pages for step in page["steps"]]


def test_it_has_cuts_repeats_aged_results_and_a_rewritten_prefix(services: InspectorServices) -> None:
    steps = all_steps(services)
    rules = {decision["rule"] for step in steps for decision in step["decisions"]}  # type: ignore[attr-defined]
    assert {"arrival", "aged", "repeat"} <= rules
    aged = [step for step in steps if any(one["rule"] == "aged" for one in step["decisions"])]  # type: ignore[attr-defined]
    assert [step for step in steps if step["rewritten"]] == aged != []


def test_the_lines_that_are_left_out_and_those_that_are_shown_are_all_lines(services: InspectorServices) -> None:
    looked = 0
    for kept in services.record.timeline(NAME).results.values():
        told = answers.one_result(services, PageRequest((NAME, kept.result.trace_id)))
        segments = told["canonical"].get("segments") or ()
        if [each["part"] for each in segments] == ["gap"]:
            looked += 1
            assert segments[0]["lines"] == told["canonical"]["lines"] == told["result"]["lines"]
    assert looked > 5, "results that are a pointer now"


def test_the_model_reads_something_back_in_a_round_that_the_client_does_not_see(services: InspectorServices) -> None:
    steps = all_steps(services)
    (hidden,) = [step for step in steps if step["rounds"]]
    before = steps[int(str(hidden["index"])) - 1]
    assert "get_artifact" in answers.one_response(services, PageRequest((NAME, str(before["id"]))))["text"]
    assert (
        "toolu_recall" in answers.one_request(services, PageRequest((NAME, str(hidden["id"])), {"from": "0"}))["text"]
    )


def test_everything_in_it_is_as_it_was_written(services: InspectorServices) -> None:
    assert verify(services.record.store, NAME).whole


def test_every_prediction_of_the_cache_comes_true(services: InspectorServices) -> None:
    for step in all_steps(services):
        assert step["usage"]["cached"] == step["predicted"]  # type: ignore[index]


def test_it_ends_just_now_and_costs_less_than_everything(services: InspectorServices) -> None:
    summary = answers.one_session(services, PageRequest((NAME,)))
    assert NOON * 1000 - 10_000 < summary["last_at"] <= NOON * 1000
    assert summary["cost"]["words"].endswith("% less")
    assert summary["indicator"]["used"] < summary["indicator"]["whole"]
    assert any(summary["course"]["rewritten"])
    assert summary["health"] == "ok"


def test_it_can_be_stopped_in_the_middle(services: InspectorServices) -> None:
    store = MemoryStore()
    left = iter([True] * 10)
    play(services.record.settings, store, float(NOON), keeps_going=lambda: next(left, False))
    assert 0 < store.sessions()[0].entries < 40


def test_it_is_known_whether_it_still_plays(tmp_path: Path) -> None:
    settings, store = config.load(home=str(tmp_path), environ={}), MemoryStore()
    services, seen = InspectorServices(settings, store), list[bool]()

    def keeps_going() -> bool:
        if store.session(NAME) is not None:
            seen.append(answers.one_session(services, PageRequest((NAME,)))["playing"])
        return True

    play(settings, store, float(NOON), 1, keeps_going)
    assert seen
    assert all(seen)
    assert not answers.one_session(services, PageRequest((NAME,)))["playing"]


def test_it_is_billed_as_a_provider_does_what_is_not_found_in_the_cache_is_written(services: InspectorServices) -> None:
    bills = [step["usage"] for step in all_steps(services) if step["usage"]]
    rewritten = [bill for bill in bills if bill["input"] >= 1_024 and not bill["cached"]]  # type: ignore[index]
    assert rewritten
    for bill in bills:
        plain = bill["input"] - bill["cached"] - bill["written"]  # type: ignore[index]
        assert plain == (0 if bill["input"] >= 1_024 else bill["input"])  # type: ignore[index]
