"""Several proxies over one record: whichever answers, the provider gets the same bytes, and the record has it once."""

import http.client
import json
import re
import shutil
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from keepwhole import Session
from keepwhole.recall.names import NAMES
from keepwhole.store.protocol import Store, entry_of
from tests.apps.proxy.agent_model import Model
from tests.apps.proxy.proxy_server import PATHS, Process, ask, request, until
from tests.apps.proxy.screenshots import MODELS, Loop, request_body
from tests.apps.proxy.several_proxies import (
    EAGER,
    WAYS,
    Hedging,
    Place,
    Wandering,
    changed_prefixes,
    check_record,
    place,
    proxies,
    sent,
    unlikeness,
)
from tests.upstream.answer import Answer
from tests.upstream.prompt_cache import TILLS, Clock
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Json, Text

SESSIONS, STEPS = 40, 25
WINDOW = 40_000
ARTIFACT = re.compile(r"art_\d+_[0-9A-Za-z]+")
CHANCE = {
    "at",
    "trace_id",
    "artifact_id",
    "first_ms",
    "total_ms",
    "queue_ms",
    "own_ms",
    "base",
    "same",
    "digest",
    "size",
    "shown_digest",
}
CHANCE |= {"tokens_sent", "tokens_whole", "scale", "predicted"}
"""What two runs need not have alike: times, ids that are drawn, what depends on how long an id is in tokens."""


class Run(NamedTuple):
    """What one conversation came to."""

    answer: str
    asked: list[str]
    """What the provider got, but for the ids that are drawn."""
    entries: list[str]
    """What is on record, but for times and ids."""


@contextmanager
def provider(dialect: Dialect, steps: int) -> Iterator[Upstream]:
    with upstream(Model(steps), TILLS[dialect](Clock(), window=2_000_000)) as served:
        yield served
    assert served.failed == []
    assert served.refused == []


def models(dialect: Dialect) -> dict[str, dict[str, int]]:
    return {"claude-sonnet-5" if dialect == "anthropic" else "gpt-5": {"window": WINDOW}}


def race(dialect: Dialect, kind: str, folder: Path, steps: int, seed: int) -> None:
    """One conversation, every request of which goes to both proxies at once."""
    at = place(kind, folder)
    with (
        provider(dialect, steps) as served,
        proxies(at, served.url, models=models(dialect)) as found,
    ):
        agent = Hedging(dialect, {way: one.url for way, one in found.items()}, "work", seed)
        agent.run()
        for one in found.values():
            one.rest()
        store = at.store("reader")
        kinds = check_record(store)
        store.close()
    asked = sent(served.asked)
    assert all(one.by_way.keys() == set(WAYS) for one in asked)
    unlike = [one.number for one in asked if len(set(one.by_way.values())) > 1]
    assert not unlike, [unlikeness(*one.by_way.values()) for one in asked if one.number in unlike]
    assert kinds["aged"] > 3, kinds
    bodies = [one.by_way["a"] for one in asked]
    changed = changed_prefixes(bodies)
    told = [at for at, headers in enumerate(agent.headers) if "x-keepwhole-decisions" in headers]
    unsaid = sorted(set(changed) - set(told))
    assert not unsaid, [unlikeness(bodies[at - 1], bodies[at]) for at in unsaid]


@pytest.mark.parametrize(("dialect", "kind"), [*zip(TILLS, ("postgres", "sqlite", "postgres"), strict=True)])
def test_one_request_at_two_proxies_at_once_is_one_request(tmp_path: Path, dialect: Dialect, kind: str) -> None:
    for seed in (2, 8):
        race(dialect, kind, tmp_path / str(seed), 14, seed)


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(SESSIONS))
def test_a_thousand_races_have_one_order_and_equal_bytes(tmp_path: Path, seed: int) -> None:
    kind = "sqlite" if seed % 4 == 3 else "postgres"
    race(list(TILLS)[seed % 3], kind, tmp_path, STEPS, seed)


def entries_but_for_chance(store: Store, session: str) -> list[str]:
    """The entries of a session without what is drawn or timed, nor what is estimated of such; in an order of their own,
    since what nobody waits for goes on record a moment sooner or later."""
    found: list[str] = []
    for row in store.rows(session):
        entry = entry_of(row)
        own = {key: value for key, value in entry.header.as_dict().items() if key not in CHANCE}
        found.append(ARTIFACT.sub("art", f"{entry.kind} {sorted(own.items())}"))
    return sorted(found)


def run_through(dialect: Dialect, kind: str, folder: Path, ways: tuple[str, ...]) -> Run:
    """One conversation, each request of which goes to one of these proxies."""
    at = place(kind, folder)
    with provider(dialect, 24) as served, proxies(at, served.url, ways, models=models(dialect)) as found:
        agent = Wandering(dialect, {way: one.url for way, one in found.items()}, "work", 5)
        agent.between = lambda: [one.rest() for one in found.values()]
        outcome = agent.run()
        for one in found.values():
            one.rest()
        store = at.store("reader")
        check_record(store)
        (info,) = store.sessions()
        entries = entries_but_for_chance(store, info.name)
        store.close()
    return Run(outcome.answer, [ARTIFACT.sub("art_0_", asked.data.decode()) for asked in served.asked], entries)


@pytest.mark.parametrize(("dialect", "kind"), [*zip(TILLS, ("postgres", "sqlite", "postgres"), strict=True)])
def test_a_conversation_through_two_proxies_is_what_it_is_through_one(
    tmp_path: Path, dialect: Dialect, kind: str
) -> None:
    alone = run_through(dialect, kind, tmp_path / "alone", ("a",))
    both = run_through(dialect, kind, tmp_path / "both", WAYS)
    assert both.answer == alone.answer
    assert len(both.asked) == len(alone.asked)
    unlike = [at for at, pair in enumerate(zip(alone.asked, both.asked, strict=True)) if pair[0] != pair[1]]
    assert unlike == [], unlikeness(alone.asked[unlike[0]].encode(), both.asked[unlike[0]].encode())
    assert both.entries == alone.entries


def test_helpers_of_one_session_at_two_proxies_do_not_get_in_each_others_way(tmp_path: Path) -> None:
    at = place("postgres", tmp_path)
    with provider("anthropic", 10) as served, proxies(at, served.url, models=models("anthropic")) as found:
        urls = {way: one.url for way, one in found.items()}
        agents = [Wandering("anthropic", urls, "work", seed) for seed in range(4)]
        with ThreadPoolExecutor(len(agents)) as pool:
            answers = {outcome.answer for outcome in pool.map(lambda one: one.run(), agents)}
        for one in found.values():
            one.rest()
        store = at.store("reader")
        kinds = check_record(store)
        store.close()
    assert len(answers) == 1
    assert kinds["aged"] > 8


@pytest.mark.parametrize(("dialect", "kind"), [*zip(TILLS, ("sqlite", "postgres", "sqlite"), strict=True)])
def test_screenshots_and_scripts_at_two_proxies_at_once_are_on_record_once(
    tmp_path: Path, dialect: Dialect, kind: str
) -> None:
    """Images are left out and arguments cut by whichever is first; the other one sends the same bytes."""
    at, loop = place(kind, tmp_path), Loop(dialect, script=3_000)
    own = {"models": {MODELS[dialect]: {"window": WINDOW}}, "auto": EAGER.replace(arguments="old")}
    with upstream(lambda _: [Text("Done.")]) as served, proxies(at, served.url, **own) as found:
        for step in range(24):
            loop.step(step)
            body = request_body(dialect, loop.messages)
            with ThreadPoolExecutor(len(WAYS)) as pool:
                asked = [
                    pool.submit(ask, found[way].port, PATHS[dialect], body, {"x-keepwhole-session": "s", "x-way": way})
                    for way in WAYS
                ]
                assert [one.result().status for one in asked] == [200, 200]
            first, second = (asked.data for asked in served.asked[-2:])
            assert first == second, unlikeness(first, second)
        for one in found.values():
            one.rest()
        store = at.store("reader")
        kinds = check_record(store)
        store.close()
    assert not served.refused
    assert kinds["result"] == 48
    assert kinds["aged"] > 3, kinds
    last = served.asked[-1].data.decode()
    assert "this view hides them]" in last
    assert "image/png 1280x800" in last


def test_whoever_is_killed_before_it_answers_another_proxy_sends_the_same(tmp_path: Path) -> None:
    at, said = place("postgres", tmp_path), request_with_a_long_result()
    waits = [Answer([Text("never heard")], delay=30.0), Answer([Text("done")])]
    with upstream(waits) as served, ExitStack() as stack:
        a, b = (stack.enter_context(process(at, way, served.url)) for way in WAYS)
        lost = threading.Thread(target=suppressed, args=(a.port, said))
        lost.start()
        until(lambda: len(served.asked) == 1)
        a.send(signal.SIGKILL)
        lost.join(10)
        answered = ask(b.port, "/v1/messages", said, {"x-api-key": "k"})
        assert b"done" in answered.data
        until(lambda: b"complete" in stored_headers(at))
    first, second = (asked.data for asked in served.asked)
    assert first == second
    assert LONG not in json.loads(first)["messages"][-1]["content"][0]["content"]
    store = at.store("reader")
    kinds = check_record(store)
    store.close()
    assert (kinds["result"], kinds["decision"], kinds["request"], kinds["response"]) == (1, 1, 1, 1)


LONG = "".join(f"line {number} of a log\n" for number in range(4_000))


def request_with_a_long_result() -> Json:
    call = {"type": "tool_use", "id": "toolu_1", "name": "work", "input": {"n": 1}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": LONG}
    said = [{"role": "user", "content": "go"}, {"role": "assistant", "content": [call]}]
    return request("anthropic", messages=[*said, {"role": "user", "content": [result]}])


def process(at: Place, way: str, url: str) -> Process:
    home = at.folder / way
    home.mkdir(parents=True, exist_ok=True)
    there = ("--upstream", f"openai={url}", "--upstream", f"anthropic={url}")
    return Process("--no-token", *there, home=str(home), KEEPWHOLE_STORE=at.url)


def suppressed(port: int, said: Json) -> None:
    with suppress(http.client.HTTPException, OSError):
        ask(port, "/v1/messages", said, {"x-api-key": "k"})


def stored_headers(at: Place) -> bytes:
    store = at.store("reader")
    try:
        return b"".join(row.header for info in store.sessions() for row in store.rows(info.name, kind="response"))
    finally:
        store.close()


def test_tools_that_one_proxy_has_offered_another_one_does_not_withdraw(tmp_path: Path) -> None:
    at, script = place("postgres", tmp_path), [Answer([Text("one")]), Answer([Text("two")]), Answer([Text("three")])]
    with upstream(script) as served, ExitStack() as stack:
        a = stack.enter_context(proxies(at, served.url, ("a",)))["a"]
        b = stack.enter_context(proxies(at, served.url, ("b",), recall="off"))["b"]
        c = stack.enter_context(proxies(at, served.url, ("c",), mode="shadow"))["c"]
        for one in (a, b, c):
            assert ask(one.port, "/v1/messages", request_with_a_long_result(), {"x-api-key": "k"}).status == 200
            one.rest()
    first, second, third = (asked.body["tools"] for asked in served.asked)
    assert first == second == third
    assert {tool["name"] for tool in first} > set(NAMES)


def test_a_file_that_a_notice_names_is_there_on_another_machine_too(tmp_path: Path) -> None:
    at, script = place("postgres", tmp_path), [Answer([Text("one")]), Answer([Text("two")])]
    with upstream(script) as served, ExitStack() as stack:
        own = {"home": str(tmp_path / "same"), "recall": "path"}
        a, b = (stack.enter_context(proxies(at, served.url, ("same",), **own))["same"] for _ in range(2))
        for one in (a, b):
            shutil.rmtree(tmp_path / "same" / "results", ignore_errors=True)
            assert ask(one.port, "/v1/messages", request_with_a_long_result(), {"x-api-key": "k"}).status == 200
        shown = json.loads(served.asked[-1].data)["messages"][-1]["content"][0]["content"]
        named = re.search(rf'{re.escape(str(tmp_path))}[^"\s]+\.txt', shown)
        assert named, shown
        assert Path(named[0]).read_text() == LONG
    assert served.asked[0].data == served.asked[1].data


def test_what_bills_have_taught_one_proxy_every_other_one_knows(tmp_path: Path) -> None:
    at = place("sqlite", tmp_path)
    with provider("openai_chat", 12) as served, proxies(at, served.url, ("a",), models=models("openai_chat")) as found:
        Wandering("openai_chat", {"a": found["a"].url}, "work", 5).run()
        found["a"].rest()
        router: Any = found["a"].proxy.setup.router
        ((name, (session, *_)),) = router._router._sessions.items()
        other = Session(name, store=at.store("b"), settings=session.settings)
        other.view([{"role": "user", "content": "go on"}])
        known, learned = session.billing, other.billing
        assert known.scale("gpt-5") != 1.0
        assert learned.scale("gpt-5") == pytest.approx(known.scale("gpt-5"), rel=0.001)
        assert (learned.requests, learned.predicted, learned.billed) == (known.requests, known.predicted, known.billed)
        other.store.close()
