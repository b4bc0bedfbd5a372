"""The credentials that a request shows: where they are, whose account they name, and texts without them.

Theory of operation. Whatever could be a credential is taken for one, wherever it is: to tell two owners apart that are
one costs a cache, to take two for one shows the first one's results to the second. What changes from request to request
and is known to be none (an idempotency key, a load balancer's cookie) is left out by name.

Sign-in tokens are replaced every few hours. `account_forms` gives each of them a form that its successor has too: the
`sub` of a JWT, or for Claude Code's opaque tokens the account in `metadata.user_id`. Nobody has checked either, so such
a form names an account and proves nothing (`accounts`).

Owns: the names and shapes of credentials. Must not know: what an owner may see.
"""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, cast
from urllib.parse import quote, unquote

from keepwhole.apps.listener import TOKEN_HEADER
from keepwhole.apps.proxy.stream_mask import SplitMask
from keepwhole.apps.redaction import HIDDEN, has_key_shape
from keepwhole.wire.content import fields_of, text_of

_FIRST = ("authorization", "x-api-key", "api-key", "x-goog-api-key")
_WORDS = re.compile(
    r"(?:^|[-_.])(?:auth[a-z0-9]*|[a-z0-9]*(?:key|token|secret|cookie|jwt|signature|password|passwd|credentials?)"
    r"|sig|sas|pat|pwd|pass|bearer|assertion|user|email|cert|access)(?=$|[-_.])"
)
"""Words in the names of headers. No part can match a separator, so that a long name takes no longer than it is."""
_SCHEME = re.compile(r"(?i)(?:bearer|basic|token|digest|negotiate|apikey|key)\s+\S")
_NO_CREDENTIALS = frozenset(
    (
        TOKEN_HEADER,
        "anthropic-dangerous-direct-browser-access",
        "baggage",
        "cookie",  # its parts are looked at one by one
        "idempotency-key",
        "sec-websocket-key",
        "traceparent",
        "tracestate",
        "user-agent",
    )
)
_NO_QUERIES = frozenset(("alt", "api-version", "api_version", "beta", "client_version", "include", "stream", "version"))
_NO_COOKIES = re.compile(r"__cf_bm|_cfuvid|__cfruid|__cflb|cf_clearance|_ga\w*|_gid|AWSALB\w*")
"""Cookies of load balancers and counters, which change while a client stays the same."""
_FIELDS = re.compile(r"(?i)api_?key|(?:auth|access)_?token|authorization|key|token|secret|password|credentials?")
_SECRET_SEGMENT = re.compile(r"(?=\D*\d)(?=[^a-zA-Z]*[a-zA-Z])[\w.~%-]{20,}")
_JWT = re.compile(r"(?:\S+\s+)?([\w-]+)\.([\w-]+)\.([\w-]*)")
_CLAUDE_SIGN_IN = re.compile(r"(?i)bearer\s+sk-ant-oat")
_CLAUDE_ACCOUNT = re.compile(r"_account_([\w-]+?)(?:_session_|$)")
_CHATGPT_ACCOUNT = "chatgpt-account-id"
_LONGEST_USER = 2_048
_SHORTEST_SECRET, _LONG = 8, 16


class Credential(NamedTuple):
    """A value that a client shows, and where."""

    place: str
    value: str


def credentials_of(path: str, headers: Mapping[str, str], fields: Mapping[str, Any]) -> list[Credential]:
    """All that a request shows of its sender: in headers, cookies, the path, its query, and fields of its body."""
    shown = list(_in_headers(headers))
    first = [Credential(name, value) for name in _FIRST for place, value in shown if place == name]
    others = [each for each in shown if each.place not in _FIRST]
    found = [*others, *_in_cookies(headers), *_in_path(path), *_in_fields(fields)]
    return first + sorted(found)


def _in_headers(headers: Mapping[str, str]) -> Iterator[Credential]:
    for name, value in headers.items():
        name = name.lower()
        if name in _NO_CREDENTIALS:
            continue
        if _names_credential(name) or _SCHEME.match(value) or has_key_shape(value) or _claims(value):
            yield Credential(name, value)


@lru_cache(256)
def _names_credential(name: str) -> bool:
    """Whether the name of a header says that it has a credential; clients send the same few names all the time."""
    return _WORDS.search(name) is not None


def _in_cookies(headers: Mapping[str, str]) -> Iterator[Credential]:
    for header, value in headers.items():
        for each in value.split(";") if header.lower() == "cookie" else ():
            name, _, content = each.strip().partition("=")
            if not _NO_COOKIES.fullmatch(name):
                yield Credential(f"cookie {name}", content)


def _in_path(path: str) -> Iterator[Credential]:
    before, _, query = path.partition("?")
    for segment in before.split("/"):
        if _SECRET_SEGMENT.fullmatch(segment) or has_key_shape(segment):
            yield Credential("/", segment)
    for each in query.split("&") if query else ():
        name, _, value = each.partition("=")
        if unquote(name).lower() not in _NO_QUERIES:
            yield Credential(f"?{name}", value)


def _in_fields(fields: Mapping[str, Any]) -> Iterator[Credential]:
    for outer, value in fields.items():
        inside = cast("dict[str, Any]", value) if isinstance(value, dict) else {outer: value}
        for name, content in inside.items():
            if isinstance(content, str) and _FIELDS.fullmatch(name):
                yield Credential(f"{outer}.{name}", json.dumps(content))


def account_forms(
    shown: Iterable[Credential], headers: Mapping[str, str], fields: Mapping[str, Any]
) -> list[Credential] | None:
    """The credentials with each sign-in token replaced by the account that it names; None where there is none."""
    account = headers.get(_CHATGPT_ACCOUNT, "")
    forms = [(each, _account_form(each, account, fields)) for each in shown]
    if not any(form for _, form in forms):
        return None
    return [form or each for each, form in forms]


def _account_form(credential: Credential, account: str, fields: Mapping[str, Any]) -> Credential | None:
    claims = _claims(credential.value)
    subject = text_of(claims.get("sub"))
    if subject:
        return Credential(credential.place, json.dumps(["jwt", text_of(claims.get("iss")), subject, account]))
    if _CLAUDE_SIGN_IN.match(credential.value) and (own := _claude_account(fields)):
        return Credential(credential.place, json.dumps(["claude", own]))
    return None


def _claims(value: str) -> Mapping[str, Any]:
    """The claims of a JWT, of which nobody has checked the signature; nothing where it is none."""
    found = _JWT.fullmatch(value.strip()) if value.count(".") >= 2 else None
    if found is None:
        return {}
    try:
        return fields_of(json.loads(base64.urlsafe_b64decode(found[2] + "=" * (-len(found[2]) % 4))))
    except (ValueError, RecursionError):
        return {}


def _claude_account(fields: Mapping[str, Any]) -> str:
    user = text_of(fields_of(fields.get("metadata")).get("user_id"))[:_LONGEST_USER]
    try:
        wrapped: object = json.loads(user) if user.startswith("{") else None
    except (ValueError, RecursionError):
        return ""
    found = _CLAUDE_ACCOUNT.search(user)
    return text_of(fields_of(wrapped).get("account_uuid")) or (found[1] if found else "")


class CredentialMask:
    """Hides the exact credentials of one request in what is written about it."""

    def __init__(self, shown: Iterable[Credential] = ()) -> None:
        texts = {text for each in shown for text in _secret_texts(each)}
        spelled = {form.encode("utf-8", "surrogateescape") for text in texts for form in _spellings(text)}
        self._secrets = sorted(spelled, key=lambda each: (-len(each), each))

    def __call__(self, data: bytes, is_stream: bool = False) -> bytes:
        """The data without the credentials; in a stream of events also without those that are split over events."""
        for secret in self._secrets:
            if secret in data:
                data = data.replace(secret, HIDDEN.encode())
        data = self._without_cut_secret(data)
        if not is_stream or not self._secrets:
            return data
        return SplitMask(self._secrets, _SHORTEST_SECRET)(data)

    def _without_cut_secret(self, data: bytes) -> bytes:
        """Data that breaks off within a credential, without the part of it."""
        for secret in self._secrets:
            for size in range(len(secret) - 1, _SHORTEST_SECRET - 1, -1):
                if data.endswith(secret[:size]):
                    return data[:-size] + HIDDEN.encode()
        return data


def _secret_texts(credential: Credential) -> Iterator[str]:
    """The parts of a credential that must not be written. Short words without a digit are nobody's secret."""
    value = credential.value
    for word in [value, unquote(value), value.partition(" ")[2], *re.split(r"[\s,;]+", value), *_decoded_basic(value)]:
        if len(word) >= _LONG or (len(word) >= _SHORTEST_SECRET and any(map(str.isdigit, word))):
            yield word


def _decoded_basic(value: str) -> list[str]:
    scheme, _, coded = value.partition(" ")
    if scheme.lower() != "basic":
        return []
    try:
        decoded = base64.b64decode(coded.strip()).decode()
    except (binascii.Error, ValueError):
        return []
    return [decoded, decoded.partition(":")[2]]


def _spellings(text: str) -> set[str]:
    """How JSON, JSON in a string of JSON, and URLs spell a text."""
    written = json.dumps(text, ensure_ascii=False)[1:-1]
    coded = {quote(text, safe=safe, errors="surrogateescape") for safe in ("", "/")}
    once = {text, written, written.replace("/", "\\/"), json.dumps(text)[1:-1]}
    return once | coded | {json.dumps(each)[1:-1] for each in once}
