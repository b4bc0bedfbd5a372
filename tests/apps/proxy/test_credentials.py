"""What in the headers of a request is a credential, and whose it is."""

import base64
import json

import pytest

from keepwhole.apps.proxy.credentials import _claims


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
