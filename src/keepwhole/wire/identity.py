"""Whose conversation a request belongs to, which branch of it, and what the request is for.

Owns: the order in which a request's names for its session count, the name of one that nobody names, and how a client's
own compaction and its side calls are told apart. Which headers and words clients use is in `clients`.
Must not know: what is done with a request.

Nothing is remembered: a request belongs to the same conversation after a restart and in another process.
"""

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

from keepwhole.canonical.ids import is_session_id
from keepwhole.clients.table import CLIENTS
from keepwhole.wire import dialects
from keepwhole.wire.content import contents, fields_of, parts_of, text_of
from keepwhole.wire.dialects import Endpoint, decode_message
from keepwhole.wire.request_body import RequestBody

SESSION_HEADER = "x-keepwhole-session"
"""The header by which a client names a session to Keepwhole."""
MAIN = "main"
"""The branch of a request that does not say that a sub-agent sends it."""
_HEADERS = tuple(header for client in CLIENTS for header in client.session_headers)
"""Headers in which clients name their session."""
_AGENTS = tuple((client.agent_header, client.session_headers) for client in CLIENTS if client.agent_header)
_SENDER = tuple(dict.fromkeys((SESSION_HEADER, *_HEADERS, *(header for header, _ in _AGENTS))))
By: TypeAlias = Literal["header", "client", "messages", "nobody"]
Purpose: TypeAlias = Literal["turn", "compaction", "side", "count"]

_CLAUDE_SIGN_IN = re.compile(r"(?i)bearer\s+sk-ant-oat")
_CHATGPT_ACCOUNT = "chatgpt-account-id"
_VERSION = re.compile(r"\d{1,9}(?:\.\d{1,9}){0,3}")
_METADATA = tuple(client.metadata_header for client in CLIENTS if client.metadata_header)
_PROMPTS = tuple(words for client in CLIENTS for words in client.compaction_prompts)
_HISTORIES = tuple(words for client in CLIENTS for words in client.compaction_histories)


class Identity(NamedTuple):
    """Whose a request is, and what for."""

    session: str | None = None
    """The session; None where nobody names it and nothing was called yet, so that there is nothing to hide."""
    branch: str = MAIN
    purpose: Purpose = "turn"
    by: By = "nobody"
    """Who names the session: Keepwhole's header, the client in its own way, or else the messages alone."""
    client_compacts: bool = False
    """Whether it comes from a client that is known to compact its conversations by itself."""
    client: str = ""
    """The name of the client that sends it, as far as its headers tell."""
    version: str = ""
    """The version of that client."""
    by_plan: bool = False
    """Whether the client is signed in with a plan, so that it is not billed by the token."""

    @property
    def explicit(self) -> bool:
        """Whether Keepwhole's header names the session."""
        return self.by == "header"


def identity_of(endpoint: Endpoint, headers: Mapping[str, str], request: RequestBody) -> Identity:
    """Whose request this is and what it is for, from the request alone."""
    purpose = purpose_of(endpoint, headers, request)
    branch = _branch(headers)
    client_compacts = any(headers.get(name) for name in _HEADERS)
    client = (*client_of(headers), is_by_plan(headers))
    for by, given in _given_names(headers, request.fields):
        if given:
            return Identity(session_id(given), branch, purpose, by, client_compacts, *client)
    name = None if continues(request) else conversation(request.messages)
    return Identity(name, branch, purpose, "messages" if name else "nobody", client_compacts, *client)


def client_of(headers: Mapping[str, str]) -> tuple[str, str]:
    """The name and the version of the client that sends a request; empty where its headers do not tell.

    >>> client_of({"user-agent": "claude-cli/2.1.325 (external, sdk-cli)"})
    ('claude-code', '2.1.325')
    """
    agent = headers.get("user-agent") or ""
    for client in CLIENTS:
        for begins in client.user_agents:
            if agent.startswith(begins):
                found = _VERSION.match(agent, len(begins))
                return client.name, found[0] if found else ""
    for client in CLIENTS:
        if any(headers.get(name) for name in client.session_headers):
            return client.name, ""
    return "", ""


def is_by_plan(headers: Mapping[str, str]) -> bool:
    """Whether a request is signed in with a plan of Claude or ChatGPT, and not with a key that is billed.

    >>> is_by_plan({"authorization": "Bearer sk-ant-oat01-x"}), is_by_plan({"x-api-key": "sk-ant-api03-x"})
    (True, False)
    """
    return bool(headers.get(_CHATGPT_ACCOUNT)) or _CLAUDE_SIGN_IN.match(headers.get("authorization") or "") is not None


def sender_of(headers: Mapping[str, str]) -> tuple[str | None, ...]:
    """The sender of a request as far as its headers tell: good enough to guess which request came before, no more."""
    return tuple(headers.get(name) for name in _SENDER)


def conversation(messages: Sequence[Any]) -> str | None:
    """The name of a conversation that nobody names: a digest of all that was said up to the first call of a tool.

    Ids of calls are drawn at random, so two conversations that begin alike have two names; where a provider numbers
    them, the arguments help to tell. What clients change in place does not count: cache markers, how a text is
    spelled, white space, reasoning, system messages.
    """
    said: list[Any] = []
    for message in messages:
        decoded = decode_message(message)
        if decoded.role not in ("system", "other"):
            said.append((decoded.role, "".join(decoded.said.split()), decoded.calls))
        if decoded.calls:
            return "untold-" + _digest(json.dumps(said))
    return None


def session_id(given: str, scope: Callable[[str], str] = str) -> str:
    """The id of the session that a client calls by a given name; `scope` adds whose it is, and may make it longer.

    >>> session_id("ses_1", "acme:{}".format)
    'acme:ses_1'
    """
    name = scope(given)
    return name if is_session_id(name) else "told-" + _digest(name)


def _given_names(headers: Mapping[str, str], fields: Mapping[str, Any]) -> Iterator[tuple[By, str]]:
    """The names that a request gives its session, the most reliable first."""
    yield "header", headers.get(SESSION_HEADER) or ""
    for name in _HEADERS:
        yield "client", headers.get(name) or ""
    kept = fields.get("conversation")
    yield "client", text_of(kept) or text_of(fields_of(kept).get("id"))
    yield "client", _of_user(text_of(fields_of(fields.get("metadata")).get("user_id")))
    yield "client", text_of(fields.get("prompt_cache_key"))


def _of_user(user: str) -> str:
    """A user's id, or the session's where a client wraps both."""
    try:
        wrapped: object = json.loads(user) if user.startswith("{") else None
    except (ValueError, RecursionError):
        return user
    return text_of(fields_of(wrapped).get("session_id")) or user


def _branch(headers: Mapping[str, str]) -> str:
    """The agent that sends a request; the main one where it goes by the name of its session."""
    for header, session_headers in _AGENTS:
        agent = headers.get(header)
        if agent and agent != next((name for key in session_headers if (name := headers.get(key))), None):
            return agent
    return MAIN


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def purpose_of(endpoint: Endpoint, headers: Mapping[str, str], request: RequestBody) -> Purpose:
    """A turn of the agent, the client's own compaction, a call beside the conversation, or a count of tokens."""
    if endpoint.counts:
        return "count"
    if endpoint.compacts or _asks_for_summary(endpoint, headers, request):
        return "compaction"
    return "side" if not _has_tools(endpoint, request) and not continues(request) and _is_plain(request) else "turn"


def continues(request: RequestBody) -> bool:
    """Whether a request continues one that the provider has, and so contains a part of its conversation."""
    return any(request.fields.get(key) for key in dialects.TABLE.continuation_fields)


def _has_tools(endpoint: Endpoint, request: RequestBody) -> bool:
    """Whether a request offers tools."""
    return any(request.fields.get(name) for name in endpoint.dialect.tools_fields)


def _asks_for_summary(endpoint: Endpoint, headers: Mapping[str, str], request: RequestBody) -> bool:
    """Whether a client names the request a compaction, or else its last words ask for a summary."""
    told = (*map(headers.get, _METADATA), request.fields.get("client_metadata"))
    kind = next((kind for metadata in told if (kind := _kind(metadata))), "")
    if kind:
        return kind == "compaction"
    words = _last_words(request)
    return words.startswith(_PROMPTS) or (words.startswith(_HISTORIES) and not _has_tools(endpoint, request))


def _kind(metadata: object) -> str:
    """The kind of request that a client names: in JSON, or in JSON inside of that."""
    try:
        fields = fields_of(json.loads(metadata) if isinstance(metadata, str) else metadata)
    except (ValueError, RecursionError):
        return ""
    inner = next((fields[header] for header in _METADATA if header in fields), None)
    return text_of(fields.get("request_kind")) or ("" if inner is None else _kind(inner))


def _last_words(request: RequestBody) -> str:
    """The last text in the last message of the user."""
    users = (fields for each in reversed(request.messages) if (fields := fields_of(each)).get("role") == "user")
    newest = next(users, {"content": request.fields.get(request.key)})
    blocks: list[Any] = contents(newest) or parts_of(newest.get("parts"))
    return next((text for block in reversed(blocks) if (text := text_of(fields_of(block).get("text")))), "")


def _is_plain(request: RequestBody) -> bool:
    """Whether no tool was called in a conversation."""
    decoded = map(decode_message, request.messages)
    return not any(message.calls or message.returned for message in decoded)
