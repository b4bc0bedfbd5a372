"""The doors into `wire`: what a dialect says of one message, conversation, request, answer or stream."""

import copy
import json
from collections.abc import Callable, Mapping
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.standalone import chat
from keepwhole.wire import content, dialects, embedded_media, identity, media
from keepwhole.wire.fields import kind_of_part
from keepwhole.wire.pairs import LostResult
from keepwhole.wire.request_body import read_request
from keepwhole.wire.sse import Events
from tests.golden.doors import plain

DIALECTS = tuple(one.name for one in dialects.TABLE.dialects)
_NAMES = frozenset(("get_artifact", "search_artifacts"))
_PICTURE = MediaBytes("image/png", b"\x89PNG")


def _asked(*questions: Callable[[], Any]) -> list[Any]:
    """The answers, or the names of the errors that are raised instead."""
    found: list[Any] = []
    for question in questions:
        try:
            found.append(plain(question()))
        except Exception as error:
            found.append(type(error).__name__)
    return found


def about_message(name: str, message: Any) -> list[Any]:
    """What a dialect says of a message."""
    own = dialects.conversation_dialect(name)
    kinds = {kind_of_part(content.fields_of(part)) for part in content.parts_of(message.get("content"))}
    return _asked(
        lambda: own.decode(message),
        lambda: own.is_own(message, kinds),
        lambda: own.ties(message),
        lambda: own.words(message),
        lambda: own.is_answer(message),
        lambda: own.is_opaque(message),
        lambda: [own.arguments_path(message, call_id) for call_id in ("c1", "c2", "c3", "c6")],
        lambda: own.is_signed(message),
        lambda: own.read_call(message),
        lambda: own.shown_messages([message]),
        lambda: own.result_messages([message]),
    )


def about_any_message(message: Any) -> list[Any]:
    """What is said of a message whatever its dialect."""
    return _asked(
        lambda: dialects.decode_message(message),
        lambda: dialects.dialect_of((message,)),
        lambda: content.contents(message),
        lambda: content.words_in(message),
        lambda: content.role_of(message),
        lambda: chat.decoded(message),
        lambda: chat.calls_tools(message),
        lambda: identity.conversation([message]),
    )


def about_part(part: Any) -> list[Any]:
    """What is said of a part of a message."""
    return _asked(
        lambda: media.read_media(part),
        lambda: media.glance(part),
        lambda: embedded_media.take_out(part),
        lambda: content.spoken([part]),
        lambda: content.size_of(part),
        lambda: content.results_in("c", ("content",), [part]),
        lambda: content.json_text(part),
    )


def _lost(call_id: Any, given: Any = "") -> LostResult | None:
    """Every second result is on record; one of them with a picture."""
    if call_id not in ("c1", "c3", "c5") or given not in ("", None, "out c3"):
        return None
    parts = ("whole", _PICTURE) if call_id == "c3" else ("whole",)
    return LostResult(parts, call_id == "c5", lambda other: other in ("c1", "c2"))


def about_conversation(name: str, items: list[Any]) -> list[Any]:
    """What a dialect mends of a conversation, and how it goes around a summary."""
    own, places = dialects.conversation_dialect(name), [0, None, *range(len(items) // 2, len(items))]
    return _asked(
        lambda: own.is_broken(items),
        lambda: own.repair(copy.deepcopy(items)),
        lambda: own.put_back(copy.deepcopy(items), _lost),
        lambda: own.joined_around(items, places, own.summary_message("earlier")),
        lambda: own.with_results(items[:4], [own.result_block("c9", "recalled", True)]),
    )


def about_request(name: str, request: dict[str, Any]) -> list[Any]:
    """What a dialect says of the fields of a request."""
    own = dialects.conversation_dialect(name)
    data = json.dumps(request).encode()
    return _asked(
        lambda: own.tool_names(request),
        lambda: [own.may_hide_rounds(request, is_recorded) for is_recorded in (False, True)],
        lambda: own.has_format(request),
        lambda: own.refusal(request),
        lambda: _marked(own, data),
        lambda: own.is_logged(request, {}),
        lambda: own.logged_messages(request),
    )


def _marked(own: Any, data: bytes) -> list[Any]:
    body = read_request(data)
    if body is None:
        return []
    return [own.messages_of(body), *(own.with_cache_marker(body, at, most) for at in (0, 1, 2) for most in (1, 4))]


def identities(headers: Mapping[str, str], request: dict[str, Any]) -> list[Any]:
    """Whose a request is with these headers, at every endpoint; its tools and its metadata may be missing."""
    found: list[Any] = [plain(identity.client_of(headers)), plain(identity.sender_of(headers))]
    for left_out in ("", "tools", "metadata", "conversation", "previous_response_id", "client_metadata"):
        fields = {key: value for key, value in request.items() if key != left_out}
        body = read_request(json.dumps(fields).encode())
        for endpoint in dialects.TABLE.endpoints.values():
            found += _asked(lambda body=body, endpoint=endpoint: identity.identity_of(endpoint, headers, body))
    return found


def about_answer(name: str, answer: dict[str, Any]) -> list[Any]:
    """What a dialect reads in the body of an answer."""
    own = dialects.conversation_dialect(name)
    return _asked(
        lambda: own.read_reply(answer, _NAMES),
        lambda: own.joined_reply(copy.deepcopy(answer), own.read_reply(answer, _NAMES).shown, _NAMES),
        lambda: own.usage_in(answer),
        lambda: own.is_logged({}, answer),
        lambda: own.logged_answer(answer),
    )


def about_stream(name: str, events: list[bytes]) -> list[Any]:
    """What a client gets of a stream, the reply in it, its end, and a second round of it."""
    own, data = dialects.conversation_dialect(name), b"".join(events)
    stream = own.stream(_NAMES)

    def rounds() -> list[Any]:
        found: list[Any] = []
        for waits in (True, False):
            found.append(b"".join(stream.feed(event) for event in Events().feed(data)))
            found.append(stream.reply())
            found.append(stream.ids())
            if waits:
                stream.go_on()
            else:
                found.append(stream.end(waits))
        return found

    return _asked(
        rounds,
        lambda: own.stream(_NAMES).end(True),
        lambda: own.is_stream_whole(data),
        lambda: own.usage_of(data, True),
        lambda: own.usage_in_stream(data),
    )


def media_parts(name: str) -> list[Any]:
    """How a dialect spells images and documents that it is given back as bytes, by their URL or by the id of a file."""
    own = dialects.conversation_dialect(name)
    kinds = ("image/png", "application/pdf", "application/zip")
    references = ("text/uri-list", "text/x-file-id", "text/uri-list; kind=image", "text/x-file-id; kind=document")
    given = [MediaBytes(kind, b"data") for kind in kinds] + [MediaBytes(kind, b"https://x/a") for kind in references]
    return [
        _asked(lambda one=one: own.media_part(one), lambda one=one: [one.kind, one.url, one.file_id]) for one in given
    ]
