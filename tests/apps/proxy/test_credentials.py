"""What in the headers of a request is a credential, and whose it is."""

import base64
import json
from typing import Any

import pytest

from keepwhole.apps.proxy.credentials import Credential, CredentialMask, _claims, account_forms, credentials_of


def token(claims: object, between: str = ".") -> str:
    parts = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in ({"alg": "x"}, claims)
    )
    return between.join((*parts, "c2lnbmF0dXJl"))


def test_the_claims_of_a_token_are_read_whatever_padding_they_lack() -> None:
    for name in ("a", "ab", "abc", "abcd"):
        assert _claims(token({"sub": name})) == {"sub": name}
        assert _claims(f" {token({'sub': name})} ") == {"sub": name}


@pytest.mark.parametrize("value", ["", "a.b.c", "e30.e30", "x" * 50, "eyJ.eyJ.eyJ", token([1]), token({"a": 1}, "-")])
def test_what_is_no_token_has_no_claims(value: str) -> None:
    assert _claims(value) == {}


def shown(path: str = "/v1", fields: dict[str, Any] | None = None, **headers: str) -> list[tuple[str, str]]:
    return [tuple(each) for each in credentials_of(path, headers, fields or {})]


@pytest.mark.parametrize(
    ("name", "value", "is_credential"),
    [
        ("Authorization", "x", True),
        ("X-Api-Key", "x", True),
        ("x-my_token", "x", True),
        ("x-user-email", "x", True),
        ("x-keyboard", "x", False),
        ("x-authors", "x", True),
        ("x-passage", "x", False),
        ("x-anything", "Bearer abc", True),
        ("x-anything", "bearer", False),
        ("x-anything", "Bearers abc", False),
        ("x-anything", token({"sub": "a"}), True),
        ("x-anything", "sk-ant-api03-" + "a1" * 20, True),
        ("x-anything", "plain words", False),
        ("user-agent", "Bearer abc", False),
        ("idempotency-key", "abc", False),
        ("traceparent", "Bearer abc", False),
    ],
)
def test_a_header_is_a_credential_by_its_name_or_by_the_shape_of_its_value(
    name: str, value: str, is_credential: bool
) -> None:
    assert shown(**{name: value}) == ([(name.lower(), value)] if is_credential else [])


def test_usual_headers_come_first_in_their_order_and_all_others_sorted() -> None:
    given = {"x-token": "5", "x-goog-api-key": "4", "api-key": "3", "x-api-key": "2", "authorization": "1", "cert": "6"}
    assert [value for _, value in shown(**given)] == ["1", "2", "3", "4", "6", "5"]


def test_cookies_are_credentials_one_by_one_but_for_those_of_load_balancers() -> None:
    cookies = "session=a; __cf_bm=b;lang=c ; _ga_X1=d; _gid=e; AWSALBCORS=f; _gidx=g; bare"
    assert shown(Cookie=cookies) == [
        ("cookie _gidx", "g"),
        ("cookie bare", ""),
        ("cookie lang", "c"),
        ("cookie session", "a"),
    ]


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/v1/chat", []),
        ("/t/abcdefghij0123456789/chat", [("/", "abcdefghij0123456789")]),
        ("/t/abcdefghij012345678/chat", []),
        ("/t/abcdefghijabcdefghij/chat", []),
        ("/t/01234567890123456789/chat", []),
        ("/v1?key=k&alt=sse&API%2Dversion=1&beta=true", [("?key", "k")]),
        ("/v1?stream=true&anything=1&&flag", [("?", ""), ("?anything", "1"), ("?flag", "")]),
    ],
)
def test_long_segments_of_a_path_and_unknown_queries_are_credentials(path: str, found: list[tuple[str, str]]) -> None:
    assert shown(path) == found


def test_fields_of_the_body_are_credentials_by_their_names_one_level_deep() -> None:
    fields = {
        "api_key": "a",
        "metadata": {"AuthToken": "b", "user_id": "c", "secret": 4, "deeper": {"token": "d"}},
        "max_tokens": 5,
        "keys": "e",
        "messages": [{"token": "f"}],
    }
    assert shown(fields=fields) == [("api_key.api_key", '"a"'), ("metadata.AuthToken", '"b"')]


def test_a_sign_in_token_is_replaced_by_the_account_that_it_names() -> None:
    jwt, other = token({"sub": "u1", "iss": "here", "exp": 1}), token({"sub": "u1", "iss": "here", "exp": 2})
    kept = Credential("x-api-key", "k")
    forms = account_forms([Credential("authorization", f"Bearer {jwt}"), kept], {}, {})
    assert forms is not None
    assert forms[1] == kept
    assert json.loads(forms[0].value) == ["jwt", "here", "u1", ""]
    assert account_forms([Credential("authorization", f"Bearer {other}"), kept], {}, {}) == forms
    assert account_forms([Credential("authorization", f"Bearer {jwt}"), kept], {"chatgpt-account-id": "a"}, {}) != forms
    assert account_forms([kept, Credential("authorization", f"Bearer {token({'sub': ''})}")], {}, {}) is None


@pytest.mark.parametrize(
    ("user", "account"),
    [
        ("user_1_account_ab-12_session_9", "ab-12"),
        ("user_1_account_ab-12", "ab-12"),
        ("user_1_account_", ""),
        ('{"account_uuid": "ab-12", "session_id": "9"}', "ab-12"),
        ('{"account_uuid": 12}', ""),
        ("{broken", ""),
        ("[" * 9_000, ""),
        ("u" * 2_040 + "_account_ab", ""),
        ("somebody", ""),
    ],
)
def test_an_opaque_sign_in_token_names_the_account_in_the_metadata(user: str, account: str) -> None:
    signed_in = [Credential("authorization", "Bearer sk-ant-oat01-abc")]
    forms = account_forms(signed_in, {}, {"metadata": {"user_id": user}})
    assert forms == ([Credential("authorization", json.dumps(["claude", account]))] if account else None)
    assert (
        account_forms([Credential("authorization", "Bearer sk-ant-api03")], {}, {"metadata": {"user_id": user}}) is None
    )


def coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_name_and_a_password_that_are_sent_in_base64_are_hidden_together_and_the_password_alone() -> None:
    mask = CredentialMask([Credential("authorization", f"Basic {coded('alice:pa55w0rd')}")])
    for told in ("alice:pa55w0rd", "pa55w0rd", coded("alice:pa55w0rd")):
        assert mask(f"it is {told}.".encode()) == b"it is [redacted]."
    assert mask(b"alice is in") == b"alice is in"


@pytest.mark.parametrize(
    "value", [f"Digest {coded('alice:pa55w0rd')}", "Basic %%%", f"Basic {coded('alice:pa55w0rd')[:-3]}"]
)
def test_what_is_not_sent_in_base64_hides_nothing_but_itself(value: str) -> None:
    mask = CredentialMask([Credential("authorization", value)])
    assert mask(b"it is pa55w0rd.") == b"it is pa55w0rd."


@pytest.mark.parametrize(
    "written", ['pa"55/wörd', 'pa\\"55/wörd', "pa%2255%2Fw%C3%B6rd", "pa%2255/w%C3%B6rd", 'pa\\"55\\/w\\u00f6rd']
)
def test_a_credential_is_hidden_however_json_and_addresses_spell_it(written: str) -> None:
    mask = CredentialMask([Credential("x-api-key", 'pa"55/wörd')])
    if written.endswith("u00f6rd"):
        written = written.replace("\\/", "/")
    assert mask(f"<{written}>".encode()) == b"<[redacted]>"
