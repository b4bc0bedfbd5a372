"""A client that sums up by itself reads the originals, as far as they fit, and nothing is different afterwards."""

import json
from typing import Any

import pytest

from keepwhole.config import Settings
from keepwhole.conversation.plan import plan_restored
from keepwhole.models.profiles import DEFAULT
from keepwhole.models.tokens import upper_bound
from keepwhole.policies.policy import Choice, Situation, TrackedChoices, replacement_cut
from keepwhole.policies.settings import AutoSettings
from keepwhole.policies.transcript import Transcript
from keepwhole.wire.dialects import decode_message
from tests.exchange.checked_proxy import CheckedProxy, extends, long_log, result_texts
from tests.wire.clients import ClaudeCode, Codex, Json, Opencode

WITH_IDS = pytest.mark.parametrize("kind", [ClaudeCode, Codex])
WINDOW = 100_000


EAGER: dict[str, Any] = {
    "keep_steps": 1,
    "max_loss": 1_000,
    "start": 10,
    "keep": {},
    "clear_at_least": 1,
    "min_tokens": 1,
    "recent_steps": 0,
    "worth": 0,
    "horizon": 1_000,
}
"""Ages whatever it may."""


def settings(window: int = WINDOW, **auto: Any) -> Settings:
    models = {name: {"window": window} for name in ("claude", "gpt")}
    return Settings(home="unused", models=models, auto=AutoSettings(**{"max_loss": 1_000, **auto}))


def more(client: Any, call: str, text: str | None = None) -> list[Json]:
    return [*client.calls(call), *client.results(**{call: text or long_log(call)})]


def begun(client: Any, steps: int = 8, text: str | None = None) -> list[Json]:
    history = [client.prompt("go")]
    for number in range(1, steps + 1):
        history += more(client, f"c{number}", text)
    return history


def whole(messages: list[Json]) -> list[str]:
    return [call for call, text in result_texts(messages).items() if text == long_log(call)]


@WITH_IDS
def test_the_newest_results_are_whole_again_within_the_window(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy(settings=settings())
    history = begun(client)
    turn = proxy.send(client.request(history))
    summed = proxy.send(client.compaction(history))
    back = whole(summed)
    assert whole(turn) == []
    assert back == [f"c{number}" for number in range(9 - len(back), 9)], "the newest, without a gap"
    assert 1 <= len(back) < 8
    others = {call: text for call, text in result_texts(turn).items() if call not in back}
    assert others.items() <= result_texts(summed).items(), "the rest is shown as it was"
    answer, most = 32_000 if kind is ClaudeCode else 0, sum(map(upper_bound, result_texts(summed).values()))
    assert most + answer <= WINDOW, "whatever the tokens really are"
    assert most + upper_bound(long_log("c1")) + answer > 0.9 * WINDOW, "as much as the window allows"


@WITH_IDS
def test_it_leaves_no_trace(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy(settings=settings())
    history = begun(client)
    before, entries = proxy.forward(client.request(history)), proxy.count_entries()
    first = proxy.forward(client.compaction(history))
    assert first != before
    assert proxy.count_entries() == entries
    assert proxy.forward(client.compaction(history)) == first
    assert proxy.forward(client.request(history)) == before
    turn = proxy.send(client.request(history))
    assert extends(turn, proxy.send(client.request([*history, *more(client, "c9")])))
    assert CheckedProxy(proxy.store, settings=settings()).forward(client.compaction(history)) == first, (
        "after a restart too"
    )


@WITH_IDS
def test_where_nothing_more_fits_what_was_decided_holds(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy(settings=settings(40_000))
    history = begun(client, 2)
    turn = proxy.send(client.request(history, **({"max_tokens": 20_000} if kind is ClaudeCode else {})))
    asked = client.compaction(history)
    asked.body["max_tokens" if kind is ClaudeCode else "max_output_tokens"] = 20_000
    assert result_texts(proxy.send(asked)) == result_texts(turn)


def test_room_is_left_for_the_answer() -> None:
    client, proxy = ClaudeCode(), CheckedProxy(settings=settings())
    history = begun(client)
    proxy.send(client.request(history))
    asked = client.compaction(history)
    counts = [len(whole(proxy.send(asked._replace(body={**asked.body, "max_tokens": n})))) for n in (0, 32_000, 64_000)]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[1] > counts[2]


@WITH_IDS
def test_what_is_whole_again_is_counted_and_teaches_nothing_wrong(kind: Any) -> None:
    """A bill for the originals, held against an estimate of what is usually sent, would say that there is no room."""
    client, proxy = kind(), CheckedProxy(settings=settings())
    history = begun(client, 3)
    for asked, is_whole in ((client.request(history), False), (client.compaction(history), True)):
        exchange = proxy.router.begin("POST", asked.path, asked.headers, asked.data)
        account = exchange.account
        assert (account.tokens_sent == account.tokens_whole, account.edited == 0) == (is_whole, is_whole)
        usage = {"input_tokens": len(exchange.body) // 4, "output_tokens": 1}
        exchange.learn_bill(200, json.dumps({"usage": usage}).encode(), complete=True)
    assert exchange._session.billing.scale(exchange.model) < 1.3


def test_one_result_that_does_not_fit_keeps_no_other_out() -> None:
    client, proxy = ClaudeCode(), CheckedProxy(settings=settings())
    history = [*begun(client, 1), *more(client, "huge", long_log("huge", 20_000))]
    proxy.send(client.request(history))
    summed = result_texts(proxy.send(client.compaction(history)))
    assert summed["c1"] == long_log("c1")
    assert len(summed["huge"]) < 20_000


@WITH_IDS
def test_what_has_aged_comes_back_too_and_nothing_ages_meanwhile(kind: Any) -> None:
    client, proxy = kind(), CheckedProxy(settings=settings(**EAGER))
    texts = {f"c{n}": f"{n}: a short result that says enough to be worth ageing\n" * 60 for n in range(1, 5)}
    steps = [more(client, call, text) for call, text in texts.items()]
    history = [client.prompt("go"), *steps[0], *steps[1], *steps[2]]
    turn = proxy.send(client.request(history))
    assert result_texts(turn) != {call: texts[call] for call in result_texts(turn)}, "some have aged"
    entries = proxy.count_entries()
    summed = proxy.send(client.compaction([*history, *steps[3]]))
    assert result_texts(summed) == texts
    assert proxy.count_entries() == entries + 1, "the new result, and no decision"
    proxy.send(client.request([*history, *steps[3], *more(client, "c5", "done")]))
    assert proxy.count_entries() > entries + 2, "a turn makes the decisions that a compaction does not"


@WITH_IDS
def test_a_result_that_first_comes_with_a_compaction_is_kept(kind: Any) -> None:
    """It may never come again, and what the client makes of it is no longer the original."""
    client, proxy = kind(), CheckedProxy(settings=settings())
    proxy.send(client.request(begun(client, 1)))
    summed = proxy.send(client.compaction(begun(client, 2)))
    assert whole(summed) == ["c1", "c2"]
    assert proxy.kept_calls(client.session) == ["c1", "c2"]
    turn = result_texts(proxy.send(client.request(begun(client, 2))))
    assert "get_artifact" in turn["c2"], "and is shown as any other afterwards"


def test_a_summary_of_ours_stands_as_it_stood() -> None:
    client, proxy = ClaudeCode(), CheckedProxy(settings=settings(30_000))
    words = "Say all that there is to be said about it, and say it at length, please. " * 60
    history = [client.prompt("go")]
    for number in range(1, 40):
        history += [*more(client, f"c{number}", f"{number} it is"), client.said(words), client.prompt(words)]
    turn = proxy.send(client.request(history, max_tokens=100))
    assert "keepwhole-summary" in json.dumps(turn)
    asked = client.compaction(history)
    asked.body["max_tokens"] = 100
    summed = proxy.send(asked)
    assert summed[: len(turn) - 1] == turn[:-1]


def test_what_a_summary_of_ours_stands_for_takes_no_room_from_the_others() -> None:
    transcript, decided = Transcript(), TrackedChoices()
    transcript.extend(decode_message(message) for message in begun(ClaudeCode(), 3))
    for item in transcript.items:
        decided.hold(item, Choice(item.number, "cap", replacement_cut(item, "gone"), 1))
    room = int((upper_bound(long_log("c1")) + 1.3 * transcript.tokens) / 0.9)
    assert plan_restored(transcript, decided, Situation(DEFAULT.replace(window=room)), 0, 0.0) >= {2}
    transcript.items[2].gone = True
    assert 2 not in plan_restored(transcript, decided, Situation(DEFAULT.replace(window=10 * room)), 0, 0.0)


def test_a_result_that_is_whole_again_keeps_the_clients_own_spelling() -> None:
    client, proxy = ClaudeCode(), CheckedProxy(settings=settings())
    asked = client.compaction(begun(client, 1))
    spelled = asked.data.replace(b"c1: line 7 of", rb"c1: \u006cine 7 of")
    assert spelled != asked.data
    proxy.forward(client.request(begun(client, 1)))
    exchange = proxy.router.begin("POST", asked.path, asked.headers, spelled)
    assert exchange.body.endswith(spelled[spelled.index(b'"metadata"') :])
    assert rb"c1: \u006cine 7 of" in exchange.body


def test_what_is_sealed_goes_as_it_came() -> None:
    client, proxy = Codex(), CheckedProxy(settings=settings())
    sealed: Json = {"type": "compaction", "encrypted_content": "s3cr3t=="}
    thought: Json = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "th0ught=="}
    history = [client.prompt("go"), sealed, thought, *more(client, "c1")]
    for sent in (client.request(history), client.compaction(history)):
        assert proxy.send(sent)[1:4] == [{**client.prompt("go")}, sealed, thought]
    claude = ClaudeCode()
    signed: Json = {"type": "thinking", "thinking": "hm", "signature": "s1gned=="}
    history = [claude.prompt("go"), *more(claude, "c1")]
    history[1]["content"].insert(0, signed)
    for asked in (claude.request(history), claude.compaction(history)):
        body = json.loads(proxy.forward(asked))
        assert body["messages"][1]["content"][0] == signed
        assert body["context_management"] == asked.body["context_management"]


def test_the_endpoint_that_compacts_gets_the_originals() -> None:
    client, proxy = Codex(), CheckedProxy(settings=settings())
    history = begun(client, 2)
    proxy.send(client.request(history))
    assert whole(proxy.send(client.request(history, path="/v1/responses/compact"))) == ["c1", "c2"]


def test_one_text_without_ids_passes_as_it_came() -> None:
    client, proxy = Opencode(), CheckedProxy()
    history = begun(client, 2)
    proxy.send(client.request(history))
    entries, asked = proxy.count_entries(), client.compaction(history)
    assert proxy.forward(asked) == asked.data
    assert proxy.count_entries() == entries


def test_a_list_of_messages_is_restored_as_a_request_is() -> None:
    from keepwhole import MemoryStore, Session

    client, session = ClaudeCode(), Session("s", store=MemoryStore(), settings=settings())
    history = begun(client, 2)
    assert whole(session.view(history, model="claude-sonnet-4-5")) == []
    assert whole(session.view(history, model="claude-sonnet-4-5", restored=True)) == ["c1", "c2"]
    assert whole(session.view(history, model="claude-sonnet-4-5")) == []
    cut = session.view(history, model="claude-sonnet-4-5")
    assert whole(session.view(cut, model="claude-sonnet-4-5", restored=True)) == ["c1", "c2"], "also of our own views"
