"""Other settings are tried on a recorded session, with the same metrics as `keepwhole replay`."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from keepwhole import config
from keepwhole.apps.inspector import answers, what_if
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.recorded_run import NotEnoughRecorded, run_of_session
from keepwhole.apps.inspector.sample import play
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.errors import ConfigError, UsageError
from keepwhole.policies.settings import AutoSettings
from keepwhole.session import Session
from keepwhole.store.memory import MemoryStore
from tests.apps.cli.cli import Cli
from tests.apps.inspector.inspector_server import Served
from tests.build import NOON, numbered_lines

BUGS = 16


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> InspectorServices:
    """A session that is long enough for results to age, and for that to pay before it ends."""
    settings = config.load(home=str(tmp_path_factory.mktemp("long")), environ={})
    store = MemoryStore()
    play(settings, store, float(NOON), bugs=BUGS)
    return InspectorServices(settings, store)


def test_nothing_changes_where_nothing_is_changed(long: InspectorServices) -> None:
    told = long.what_if.compare("sample-harbour", {})
    assert told["before"] == told["after"]
    assert told["notes"] == []
    assert config.PRESETS["careful"] == long.record.settings.auto


def test_leaner_settings_cost_less_and_say_what_they_kept(long: InspectorServices) -> None:
    told = long.what_if.compare("sample-harbour", {"preset": "lean", "settings": {"auto.worth": 2_000}})
    assert told["after"]["tokens"] < told["before"]["tokens"] <= told["before"]["tokens_whole"]
    assert told["after"]["cost"] < told["before"]["cost"] < 1
    assert told["after"]["rewrites"] > told["before"]["rewrites"]
    assert 0 < told["after"]["evidence"] <= 1
    assert yaml.safe_load(told["yaml"]) == {"policy": "auto", "preset": "lean", "auto": {"worth": 2_000}}


def test_sending_everything_is_what_others_are_measured_by(long: InspectorServices) -> None:
    told = long.what_if.compare("sample-harbour", {"policy": "everything"})
    assert told["after"]["cost"] == 1
    assert told["after"]["tokens"] == told["after"]["tokens_whole"]
    assert told["yaml"] == "mode: off\n"


def test_play_says_what_replay_says_of_the_same_session(long: InspectorServices, tmp_path: Path) -> None:
    told = long.what_if.compare("sample-harbour", {"preset": "lean"})
    run, _ = run_of_session(long.record, long.record.timeline("sample-harbour"))
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps(_record(long)) + "\n", encoding="utf-8")
    (tmp_path / "lean.yaml").write_text(told["yaml"], encoding="utf-8")
    words = ["replay", str(log), "--policy", "auto", "lean.yaml", "--provider", "claude-sonnet-4-5", "--jobs", "1"]
    made = Cli(tmp_path).json(*words)
    rows = {row["name"]: row for row in made["policies"]}
    assert run.meta["model"] == "claude-sonnet-4-5"
    for name, mine in (("auto", told["before"]), ("lean.yaml", told["after"])):
        theirs = rows[name]
        assert mine["cost"] == pytest.approx(theirs["cost"]["value"], abs=1e-6)
        assert mine["evidence"] == pytest.approx(theirs["in_context"]["value"], abs=1e-6)
        assert mine["rewrites"] == theirs["rewrites"]
        assert mine["tokens"] / mine["tokens_whole"] == pytest.approx(theirs["tokens"], abs=1e-6)


def _record(services: InspectorServices) -> dict[str, object]:
    """The session as a log, built without the code that replays it."""
    from keepwhole.replay.samples.coding_agent import coding_session
    from keepwhole.replay.samples.files import anthropic_messages

    script = [part for one in anthropic_messages(coding_session(1, "claude-code", BUGS)) for part in one["content"]]
    whole = [part["content"] for part in script if isinstance(part, dict) and part["type"] == "tool_result"]
    timeline = services.record.timeline("sample-harbour")
    newest = timeline.steps[-1].request
    assert newest is not None
    session = Session("sample-harbour", store=services.record.store, settings=services.record.settings)
    body = json.loads(services.record.request_body("sample-harbour", newest.trace_id))
    messages = session.hydrate(body["messages"])
    found = [part["content"] for one in messages for part in one["content"] if "tool_use_id" in part]
    assert all(text in found for text in whole), "every result is whole in it again"
    messages = [{"role": "system", "content": body["system"]}, *messages, {"role": "assistant", "content": ""}]
    return {"source": "record", "id": "sample-harbour", "messages": messages}


def test_a_session_in_which_summaries_took_the_place_of_old_steps_is_replayed_from_its_beginning() -> None:
    settings = config.load(environ={}).replace(models={"claude-sonnet-4-5": {"window": 46_000}})
    services = InspectorServices(settings, MemoryStore())
    play(settings, services.record.store, float(NOON), bugs=BUGS)
    timeline = services.record.timeline("sample-harbour")
    requests = [step.request.trace_id for step in timeline.steps if step.request]
    bodies = (services.record.request_body("sample-harbour", trace_id) for trace_id in requests)
    shown = [len(json.loads(body)["messages"]) for body in bodies]
    assert sum(after < before for before, after in pairwise(shown)) > 1, "several summaries"
    run, notes = run_of_session(services.record, timeline)
    returned = [one.call_id for message in run.messages for one in message.returned]
    kept = {one.result.call_id for one in timeline.results.values()} - {"toolu_recall"}  # of a hidden round
    assert sorted(returned) == sorted(filter(None, kept)), "each result once"
    assert notes == []
    results = [one.result for one in timeline.results.values() if one.result.tool != "keepwhole_summary"]
    assert len(results) == answers.one_session(services, PageRequest(("sample-harbour",)))["results"]


def test_a_session_without_requests_is_played_by_its_results(services: InspectorServices, session: Session) -> None:
    for number in range(3):
        session.keep("execute_command", {"command": f"make {number}"}, numbered_lines(2_000))
    told = services.what_if.compare("s", {"policy": "truncation"})
    assert told["after"]["tokens"] < told["after"]["tokens_whole"]
    assert "No request was recorded" in told["notes"][0]


def test_too_little_to_replay_is_reported_with_a_reason(page: Served, session: Session) -> None:
    session.keep("t", None, "x")
    answer = page.post("/api/sessions/s/play", {})
    assert answer.status == 409
    assert "fewer than two results" in answer.json["error"]


def test_too_much_to_replay_is_reported_with_what_to_do(
    services: InspectorServices, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keepwhole.apps.inspector.what_if._MOST", 5_000)
    for _ in range(2):
        session.keep("t", None, "x" * 3_000)
    with pytest.raises(NotEnoughRecorded, match="keepwhole replay"):
        services.what_if.compare("s", {})


@pytest.mark.parametrize(
    "asked",
    [
        {"policy": "nonsense"},
        {"policy": 1},
        {"preset": "nonsense"},
        {"settings": []},
        {"settings": {"home": "/etc"}},
        {"settings": {"auto.nonsense": 1}},
        {"settings": {"auto.start": "much"}},
        {"settings": {"auto.start": True}},
        {"settings": {"auto.start": 0}},
        {"settings": {"auto.keep": 3}},
        {"settings": {"auto.start.more": 3}},
        {"settings": {"tools.truncation.overrides": {}}},
    ],
)
def test_impossible_settings_are_refused_with_a_message(page: Served, session: Session, asked: object) -> None:
    for number in range(2):
        session.keep("t", {"n": number}, "x")
    answer = page.post("/api/sessions/s/play", asked)
    assert answer.status == 400, answer.body
    assert "`" in answer.json["error"]


def test_everything_that_is_offered_can_be_tried_and_is_explained(services: InspectorServices) -> None:
    told = answers.policies(services, PageRequest())
    assert len(set(told["policies"])) == len(told["policies"])
    now = services.record.settings
    for row in told["settings"]:
        assert row["explained"].endswith("."), row
        assert what_if.settings_to_try(now, {"settings": {row["key"]: row["default"]}}) == what_if.settings_to_try(
            now, {}
        )
    for name in told["policies"]:
        assert what_if.settings_to_try(now, {"policy": name})
    assert {row["key"].split(".")[1] for row in told["settings"] if row["key"].startswith("auto.")} == set(
        AutoSettings.fields
    )


def test_the_yaml_gives_the_settings_that_were_tried(services: InspectorServices, tmp_path: Path) -> None:
    asked = {"preset": "lean", "settings": {"auto.horizon": 1, "auto.worth": 9_000, "auto.keep.read": 4}}
    asked["settings"] |= {"tools.truncation.inline_limit": 5_000}  # type: ignore[operator]
    tried = what_if.settings_to_try(services.record.settings, asked)
    file = tmp_path / "keepwhole.yaml"
    file.write_text(what_if.as_yaml(tried), encoding="utf-8")
    loaded = config.load(str(file), environ={})
    assert (loaded.policy, loaded.preset, loaded.auto) == (tried.policy, tried.preset, tried.auto)
    assert loaded.truncation == tried.truncation


def test_playing_writes_nothing(long: InspectorServices) -> None:
    before = [row.chain for row in long.record.store.rows("sample-harbour")]
    long.what_if.compare("sample-harbour", {"policy": "rolling"})
    assert [row.chain for row in long.record.store.rows("sample-harbour")] == before


def test_a_setting_out_of_its_bounds_is_a_mistake_of_the_page(services: InspectorServices) -> None:
    with pytest.raises((ConfigError, UsageError)):
        what_if.settings_to_try(services.record.settings, {"settings": {"auto.ceiling": 7}})
