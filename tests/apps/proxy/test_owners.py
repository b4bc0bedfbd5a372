"""Whose a request is: credentials in any place tell two clients apart, and a refreshed sign-in stays who it was."""

import base64
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole import MemoryStore, config
from keepwhole.apps.proxy import destination
from keepwhole.apps.proxy.credentials import Credential, CredentialMask
from keepwhole.apps.proxy.destination import TenantRouter, Tenants
from keepwhole.exchange.exchange import Exchange
from keepwhole.store.protocol import Store

LONG = "\n".join(f"line {number} " + "x" * 80 for number in range(4_000))


class Client(NamedTuple):
    """What a client shows of itself, and where."""

    headers: Mapping[str, str] = {}
    path: str = "/v1/messages"
    fields: Mapping[str, Any] = {}


def router(home: Path, store: Store | None = None) -> TenantRouter:
    settings = config.load().replace(mode="on")
    store = store or MemoryStore()
    return TenantRouter(settings, store, Tenants(str(home), "key", 0.0, store))


def ask(desk: TenantRouter, client: Client, messages: Sequence[Any] = (), session: str = "shared") -> Exchange:
    said = [{"role": "user", "content": "go"}, *messages]
    tools = [{"name": "work", "input_schema": {"type": "object"}}]
    body = {"model": "m", "max_tokens": 9, "messages": said, "tools": tools, **client.fields}
    headers = {"x-keepwhole-session": session, **client.headers}
    exchange = desk.begin("POST", client.path, headers, json.dumps(body).encode())
    assert isinstance(exchange, Exchange)
    return exchange


def called(result: str, call: str = "toolu_01AbCdEf") -> list[Any]:
    return [
        {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "work", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": result}]},
    ]


HEADERS = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "Ocp-Apim-Subscription-Key",
    "cf-aig-authorization",
    "cf-access-jwt-assertion",
    "cf-access-client-secret",
    "x-amz-security-token",
    "x-functions-key",
    "proxy-authorization",
    "x-auth",
    "x-forwarded-user",
    "x-portkey-api-key",
    "helicone-auth",
    "x_secret",
    "x-password",
    "x-signature",
]
QUERIES = [
    "key",
    "api-key",
    "api_key",
    "apikey",
    "token",
    "access_token",
    "sig",
    "code",
    "subscription-key",
    "anything",
]
COOKIES = ["session", "sid", "auth", "__Secure-next-auth.session-token"]
FIELDS = ["api_key", "key", "token", "access_token"]
secrets = st.text("abcdefghijklmnopqrstuvwxyzABCXYZ0123456789-_", min_size=1, max_size=40)


def _by_header(name: str) -> Callable[[str], Client]:
    return lambda key: Client({name: key})


def _by_query(name: str) -> Callable[[str], Client]:
    return lambda key: Client(path=f"/v1/messages?beta=true&{name}={key}")


def _by_cookie(name: str) -> Callable[[str], Client]:
    return lambda key: Client({"cookie": f"__cf_bm=1; {name}={key}"})


PLACES: list[Callable[[str], Client]] = [
    *map(_by_header, HEADERS),
    *map(_by_query, QUERIES),
    *map(_by_cookie, COOKIES),
    *((lambda key, name=name: Client(fields={name: key})) for name in FIELDS),
    lambda key: Client({"x-anything": f"Bearer {key}"}),
    lambda key: Client({"x-anything": f"sk-ant-api03-{key}"}),
    lambda key: Client({"authorization": "Bearer shared-by-all", "x-team-key": key}),
    lambda key: Client(path=f"/sk-proj-000{key}/v1/messages"),
    lambda key: Client(path=f"/gateway/0a1b2c3d4e5f6a7b8c9d{key}/v1/messages"),
]


def shared_sessions(home: Path, place: Callable[[str], Client], first: str, second: str) -> bool:
    desk = router(home)
    return ask(desk, place(first)).session == ask(desk, place(second)).session


@given(place=st.sampled_from(PLACES), first=secrets, second=secrets)
def test_two_clients_with_different_credentials_never_share_a_session(
    tmp_path_factory: pytest.TempPathFactory, place: Callable[[str], Client], first: str, second: str
) -> None:
    home = tmp_path_factory.getbasetemp()
    assert shared_sessions(home, place, first, second) == (first == second)


def test_the_check_notices_owners_that_are_told_apart_by_four_headers_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def by_four(_: str, headers: Mapping[str, str], __: object) -> list[Credential]:
        return [Credential(name, headers[name]) for name in HEADERS[:4] if name in headers]

    monkeypatch.setattr(destination, "credentials_of", by_four)
    found = [shared_sessions(tmp_path, place, "alice", "bob") for place in PLACES]
    assert found.count(True) > len(PLACES) / 2


@given(st.sampled_from(PLACES), st.sampled_from(PLACES))
def test_the_same_credential_in_two_places_is_two_owners(
    tmp_path_factory: pytest.TempPathFactory, one: Callable[[str], Client], other: Callable[[str], Client]
) -> None:
    desk = router(tmp_path_factory.getbasetemp())
    first, second = (ask(desk, place("k3y-of-somebody")).session for place in (one, other))
    assert (first == second) == (one is other)


CHANGING = [
    Client({"authorization": "Bearer a", "x-request-id": "{}"}),
    Client({"authorization": "Bearer a", "idempotency-key": "{}"}),
    Client({"authorization": "Bearer a", "traceparent": "00-{}"}),
    Client({"authorization": "Bearer a", "cookie": "__cf_bm={}; sid=1"}),
    Client({"authorization": "Bearer a", "x-stainless-retry-count": "{}"}),
    Client({"authorization": "Bearer a", "user-agent": "agent/{}"}),
    Client({"authorization": "Bearer a", "x-keepwhole-token": "{}"}),
    Client({"authorization": "Bearer a"}, fields={"prompt_cache_key": "{}"}),
    Client({"authorization": "Bearer a"}, "/v1/messages?beta={}"),
]


@pytest.mark.parametrize("client", CHANGING, ids=repr)
def test_what_changes_with_each_request_does_not_change_the_owner(tmp_path: Path, client: Client) -> None:
    desk, sessions = router(tmp_path), set[str]()
    for number in ("0123456789abcdef0123", "fedcba98765432100123"):
        headers = {name: value.replace("{}", number) for name, value in client.headers.items()}
        fields = {name: value.replace("{}", number) for name, value in client.fields.items()}
        sessions.add(ask(desk, Client(headers, client.path.replace("{}", number), fields)).session)
    assert len(sessions) == 1


def test_who_shows_nothing_shares_one_owner_and_that_is_said_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    desk = router(tmp_path)
    with caplog.at_level(logging.WARNING, "keepwhole.proxy"):
        sessions = {ask(desk, Client()).session for _ in range(3)}
        assert sessions.isdisjoint(ask(desk, place("x")).session for place in PLACES)
    assert len(sessions) == 1
    assert [record.message for record in caplog.records if "without a credential" in record.message] == [
        "requests arrive without a credential: they share one owner and see each other's sessions"
    ]


def jwt(subject: str, drawn: str, issuer: str = "https://auth.openai.com") -> str:
    def part(of: Mapping[str, Any]) -> str:
        return base64.urlsafe_b64encode(json.dumps(of).encode()).decode().rstrip("=")

    return f"{part({'alg': 'RS256'})}.{part({'iss': issuer, 'sub': subject, 'jti': drawn})}.{drawn}"


def codex(drawn: str, subject: str = "alice", account: str = "acc-1") -> Client:
    return Client({"authorization": f"Bearer {jwt(subject, drawn)}", "chatgpt-account-id": account})


def claude(drawn: str, subject: str = "alice") -> Client:
    user = json.dumps({"device_id": "d", "account_uuid": subject, "session_id": "s"})
    return Client({"authorization": f"Bearer sk-ant-oat01-{drawn}"}, fields={"metadata": {"user_id": user}})


def old_claude(drawn: str, subject: str = "alice") -> Client:
    user = f"user_0123_account_{subject}_session_s"
    return Client({"authorization": f"Bearer sk-ant-oat01-{drawn}"}, fields={"metadata": {"user_id": user}})


sign_ins = pytest.mark.parametrize("signed_in", [codex, claude, old_claude])


@sign_ins
def test_a_refreshed_sign_in_stays_the_same_owner_and_sends_the_same_bytes(
    tmp_path: Path, signed_in: Callable[..., Client]
) -> None:
    store = MemoryStore()
    desk = router(tmp_path, store)
    first = ask(desk, signed_in("token1"), called(LONG))
    assert "art_" in first.body.decode()
    for each in (desk, router(tmp_path, store)):  # the same process, and another one
        again = ask(each, signed_in("token2"), called(LONG))
        assert (again.session, again.body) == (first.session, first.body)
    # Once it is let in it stays, also with nothing of the conversation in its request: after the client's compaction.
    assert ask(router(tmp_path, store), signed_in("token2")).session == first.session
    assert ask(router(tmp_path, store), signed_in("token1")).session == first.session


@sign_ins
def test_naming_an_account_opens_nothing(tmp_path: Path, signed_in: Callable[..., Client]) -> None:
    store = MemoryStore()
    first = ask(router(tmp_path, store), signed_in("token1"), called(LONG))
    forged = [[], called("a guess " * 100), called(LONG, "toolu_other"), called(LONG[:-1]), called("ok")]
    for number, messages in enumerate(forged):
        theirs = ask(router(tmp_path, store), signed_in(f"forged{number}"), messages)
        assert theirs.session != first.session
    ours = ask(router(tmp_path, store), signed_in("token1", "bob"), called(LONG))
    assert ours.session != first.session, "another account"


def test_counting_tokens_writes_nothing_about_a_token(tmp_path: Path) -> None:
    store = MemoryStore()
    first = ask(router(tmp_path, store), codex("token1"), called(LONG))
    before = len(list(store.rows(first.session)))
    counting = codex("token2")._replace(path="/v1/messages/count_tokens")
    assert ask(router(tmp_path, store), counting, called(LONG)).session == first.session
    assert len(list(store.rows(first.session))) == before


secret_values = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16, max_size=60)


@given(secret_values, st.sampled_from(["", "Bearer "]))
def test_no_spelling_of_a_credential_is_left_in_what_is_written(secret: str, scheme: str) -> None:
    mask = CredentialMask([Credential("authorization", scheme + secret)])
    said = [secret, json.dumps(secret), json.dumps({"error": f"bad key {secret}!"}), f"a{secret}b"]
    for text in said:
        assert secret.encode() not in mask(text.encode())
        assert json.dumps(secret)[1:-1].encode() not in mask(text.encode())
    assert secret[:12].encode() not in mask(f"the key {secret[:12]}".encode())
    assert CredentialMask()(said[0].encode()) == said[0].encode()
    assert CredentialMask([Credential("x-api-key", "ollama")])(b"ollama runs") == b"ollama runs"


def test_a_session_has_its_owner_in_its_name_however_long_the_name_is(tmp_path: Path) -> None:
    apart, one = Tenants(str(tmp_path), "credential"), Tenants(str(tmp_path), "one")
    assert one.of([Credential("x-api-key", "a")]) == one.of([])
    assert apart.of([Credential("x-api-key", "a")]) != apart.of([])
    assert apart.scoped("", "s" * 101) == "s" * 101
    assert apart.scoped("me", "s" * 100) == "s" * 100 + "@me"
    long = apart.scoped("me", "s" * 101)
    assert (len(long), long[:5], long[-3:]) == (5 + 32 + 3, "told-", "@me")
    assert long != apart.scoped("me", "s" * 102)
