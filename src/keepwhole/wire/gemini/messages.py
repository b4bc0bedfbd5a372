"""Contents of Gemini: `functionCall` and `functionResponse` parts in lists of parts.

Owns: decoding them, finding and repairing broken pairs, and reading an answer. What Gemini signs or runs itself
(thoughts, signatures, executable code, searches) is sized and left alone.
Must not know: the other dialects.

A response is any JSON object, so a result is found in it where it can be cut and the object stays one:

    {"output": "…"}                        each text at the top
    {"content": [{"type": "text", …}]}     each part of an MCP result
    {"rows": [{"id": 1}, …]}               anything deeper: the whole object as JSON text, shown cut as {"output": "…"}
    {"result": {"a": "…"}}                 the same
"""

import base64
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Message, Path, ResultText, Role
from keepwhole.models.tokens import estimate
from keepwhole.wire.content import Json, Wire, build, fields_of, json_text, parts_of, results_in, size_of, text_of
from keepwhole.wire.dialect import Names, Reply
from keepwhole.wire.gemini.call_ids import CALL, RESULT, inner, is_made, listed_parts, part_path, with_call_ids
from keepwhole.wire.media import encoded, inline_data, read_media
from keepwhole.wire.pairs import (
    NO_RESULT,
    CallGroup,
    FindLost,
    LostResult,
    Repairs,
    in_order_of_calls,
    not_answered_later,
)

OUTPUT, ERROR = "output", "error"
"""The fields of a response that Google names for what a function returns, and for what went wrong."""
_STOP = ("STOP", 1)
"""Why an answer ended that is whole, as a name or, where a client asks for enums as numbers, as its number."""
_ROLES: Mapping[str, Role] = {"user": "user", "model": "assistant", "function": "user", "system": "system"}
_WRAPPERS = ("result", OUTPUT)
_BETWEEN = "[Messages in between are part of the summary above.]"
_MEDIA = ("inlineData", "inline_data", "fileData", "file_data")
_NAME = ("displayName", "display_name")
_OTHER_CASE = frozenset((CALL[1], RESULT[1]))
_NOTHING_SAID: Wire = {"role": "user", "parts": []}


def parts_in(message: Wire) -> list[Json]:
    """The parts of a message as dicts."""
    return [fields_of(part) for part in listed_parts(message)]


def is_model(message: Wire) -> bool:
    """Whether the model wrote a message."""
    return message.get("role") == "model"


def decode(message: Json) -> Message | None:
    """The meaning of a message that has parts."""
    if "parts" not in message:
        return None
    role = _ROLES.get(text_of(message.get("role")) or "user")
    if role is None:
        return Message("other", other=size_of(message["parts"]))
    words: list[str] = []
    calls: list[Call] = []
    returned: list[ResultText] = []
    other, answered = 0, ""
    for at, part in enumerate(parts_in(message)):
        text = part.get("text")
        if isinstance(text, str) and not part.get("thought"):
            words.append(text)
        elif (called := inner(part, CALL)) is not None:
            calls += _call(fields_of(called[1]), len(calls))
        elif (result := inner(part, RESULT)) is not None:
            place = (*part_path(message, at), result[0])
            answered, size = _add_results(fields_of(result[1]), place, len(returned), returned)
            other += size
        elif answered and (media := _media(answered, part_path(message, at), part)) is not None:
            returned.append(media)
        else:
            other += estimate(text) if isinstance(text, str) else size_of(part)
    if returned and not words:
        role = "tool"
    return build(Message, (role, "\n".join(words), tuple(calls), tuple(returned), other, False))


def _call(fields: Json, place: int) -> list[Call]:
    name = fields.get("name")
    if not isinstance(name, str):
        return []
    return [build(Call, (text_of(fields.get("id")) or f"{name}-{place}", name, json_text(fields.get("args"))))]


def _add_results(fields: Json, path: Path, place: int, returned: list[ResultText]) -> tuple[str, int]:
    """Add what a function returned; return the id of its call, and the tokens of what is no result."""
    call_id = text_of(fields.get("id")) or f"{text_of(fields.get('name'))}-{place}"
    response = fields.get("response")
    is_error = ERROR in fields_of(response) and OUTPUT not in fields_of(response)
    found, other = _texts(call_id, (*path, "response"), response, is_error)
    returned += found
    for at, part in enumerate(parts_of(fields.get("parts"))):
        media = _media(call_id, (*path, "parts", at), fields_of(part))
        if media is None:
            other += size_of(part)
        else:
            returned.append(media._replace(spell=partial(_as_text_file, fields_of(part))))
    return call_id, other


def _texts(call_id: str, path: Path, response: object, is_error: bool) -> tuple[Sequence[ResultText], int]:
    """The texts of a response, and the tokens of the rest of it."""
    if isinstance(response, str):
        return [ResultText(call_id, path, response, is_error)], 0
    fields = fields_of(response)
    for at, inside in (((), fields), *(((key,), fields_of(fields.get(key))) for key in _WRAPPERS)):
        parts = parts_of(inside.get("content"))
        if parts and all(isinstance(fields_of(part).get("type"), str) for part in parts):
            return results_in(call_id, (*path, *at, "content"), parts, is_error or inside.get("isError") is True)
    texts = [(key, value) for key, value in fields.items() if isinstance(value, str)]
    is_deep = any(value and isinstance(value, dict | list) for value in fields.values())
    if fields and (is_deep or not any(value for _, value in texts)) and not _is_plain(fields):
        return [ResultText(call_id, path, json_text(fields), is_error, spell=_as_output)], 0
    other = sum(size_of(str(value)) for value in fields.values() if not isinstance(value, str))
    return [ResultText(call_id, (*path, key), value, is_error) for key, value in texts], other


def _is_plain(fields: Json) -> bool:
    """Whether a response is one text, perhaps an empty one."""
    return len(fields) == 1 and isinstance(next(iter(fields.values())), str)


def _as_output(text: str) -> Json:
    return {OUTPUT: text}


def _as_text_file(part: Json, text: str) -> Json:
    """What takes the place of media beside a response, where Gemini takes files alone. Its name stays, since the
    response may refer to it: `{"$ref": "shot.png"}`."""
    media = inner(part, _MEDIA)
    named = None if media is None else inner(fields_of(media[1]), _NAME)
    name = {} if named is None else {"displayName": named[1]}
    data = base64.b64encode(text.encode()).decode("ascii")
    return {"inlineData": {"mimeType": "text/plain", "data": data, **name}}


def _media(call_id: str, path: Path, part: Json) -> ResultText | None:
    media = read_media(part) if inline_data(part) is not None else None
    return None if media is None else ResultText(call_id, path, media.facts.description, media=media)


def media_part(media: MediaBytes) -> Json:
    """The part of an image or a document."""
    place = media.url or media.file_id
    if place is not None:
        return {"fileData": {"mimeType": media.media_type, "fileUri": place}}
    return {"inlineData": {"mimeType": media.media_type, "data": encoded(media.data)}}


def result_part(tool: str, call_id: object, response: Json, media: Sequence[Json] = ()) -> Json:
    """The part that answers a call; a made id is left out."""
    named = {"id": call_id} if isinstance(call_id, str) and not is_made(call_id) else {}
    return {"functionResponse": {**named, "name": tool, "response": response, **({"parts": [*media]} if media else {})}}


def user_message(results: Sequence[Json], others: Sequence[Any] = ()) -> Json:
    """The user's message with results, the media of each behind it: models before Gemini 3 take them nowhere else."""
    parts: list[Any] = []
    for part in results:
        fields = fields_of(part.get("functionResponse"))
        beside = parts_of(fields.get("parts"))
        bare = {key: value for key, value in fields.items() if key != "parts"}
        parts += [{**part, "functionResponse": bare}, *beside] if beside else [part]
    return {"role": "user", "parts": [*parts, *others]}


def read_reply(candidate: Json, names: Names) -> Reply:
    """The reply that a candidate is."""
    content = fields_of(candidate.get("content"))
    parts = parts_of(content.get("parts"))
    shown = [part for part in parts if not calls_recall(part, names)]
    return Reply(
        said=[{"role": "model", "parts": parts}],
        shown=shown,
        calls=[part for part in parts if calls_recall(part, names)],
        waits=any(inner(fields_of(part), CALL) for part in shown),
        whole=candidate.get("finishReason") in _STOP,
    )


def calls_recall(part: object, names: Names) -> bool:
    """Whether a part calls a recall tool."""
    called = inner(fields_of(part), CALL)
    return called is not None and fields_of(called[1]).get("name") in names


def alternating(messages: Sequence[Wire], places: Sequence[int | None], summary: Wire) -> list[Wire]:
    """The messages around a summary: roles must alternate, so where two messages of a role meet anew, users' are joined
    and the model's held apart."""
    joined: list[Wire] = []
    before: int | None = None
    for place in places:
        message = summary if place is None else messages[place]
        meets_anew = joined and (place is None or before is None or place != before + 1)
        before = place
        last, fields = fields_of(joined[-1]) if joined else {}, fields_of(message)
        if meets_anew and is_model(last) == is_model(fields):
            if not is_model(fields):
                joined[-1] = {**last, "parts": [*listed_parts(last), *listed_parts(fields)]}
                continue
            joined.append({"role": "user", "parts": [{"text": _BETWEEN}]})
        joined.append(message)
    return joined


def calls_of(message: Wire) -> dict[str, str]:
    """The ids of the calls in a message, with the names of their tools."""
    calls = (fields_of(found[1]) for part in parts_in(message) if (found := inner(part, CALL)) is not None)
    return {text_of(call.get("id")): text_of(call.get("name")) for call in calls}


def result_of(part: Wire) -> Json | None:
    """The result that a part is; None for any other part."""
    found = inner(part, RESULT)
    return None if found is None else fields_of(found[1])


def has_broken_pairs(messages: Sequence[Wire]) -> bool:
    """Results must come after their calls, before the model speaks again."""
    try:
        if _are_seen_whole(messages):
            return False
    except (AttributeError, KeyError, TypeError):
        pass  # calls without ids, or another spelling, which take longer to read
    waiting: set[str] = set()
    named = with_call_ids(messages)
    for before, message in zip((_NOTHING_SAID, *named), named, strict=False):
        if is_model(message):
            if waiting and not is_model(before):
                return True
            waiting |= calls_of(message).keys()
            continue
        for part in parts_in(message):
            result = result_of(part)
            if result is not None:
                if result.get("id") not in waiting:
                    return True
                waiting.discard(text_of(result.get("id")))
    return bool(waiting) and not is_model(named[-1])


def _are_seen_whole(messages: Sequence[Wire]) -> bool:
    """Whether every pair is seen to be whole at a glance, which runs for every request; raises for anything unusual."""
    waiting: set[str] = set()
    was_model = False
    for message in messages:
        by_model = message["role"] == "model"
        if waiting and by_model and not was_model:
            return False
        was_model = by_model
        for part in message["parts"]:
            if "functionCall" in part:
                call_id = part["functionCall"]["id"]
                if not call_id:
                    return False
                waiting.add(call_id)
            elif "functionResponse" in part:
                waiting.remove(part["functionResponse"]["id"])
            elif not _OTHER_CASE.isdisjoint(part):
                return False
    return not waiting or was_model


def with_whole_pairs(messages: Sequence[Wire]) -> tuple[list[Wire], Repairs]:
    """The messages with every pair whole: results open the user's message after the one that called."""
    group, tools = CallGroup(), dict[str, str]()
    whole: list[Wire] = []
    first = 0
    for message in with_call_ids(messages):
        if is_model(message):
            if not whole or not is_model(whole[-1]):
                _add_missing(group, tools, whole, first)
                tools = {}
            whole.append(message)
            tools |= calls_of(message)
            group.begin(list(tools))
            first = len(whole)
        else:
            whole.append(_without_strays(group, message))
    if not is_model(messages[-1]):
        _add_missing(group, tools, whole, first)
    return whole, group.repairs


def _without_strays(group: CallGroup, message: Wire) -> Wire:
    """A user's message in which results that answer nothing have become text; itself where there are none."""
    kept: list[Any] = []
    notes: list[Json] = []
    for part in parts_in(message):
        result = result_of(part)
        content = None if result is None else _plain_content(result.get("response"))
        if result is None or group.accepts(result.get("id"), content):
            kept.append(part)
        else:
            notes += [{"text": note["text"]} for note in group.note(result.get("id"), content)]
    return {**message, "parts": [*kept, *notes]} if notes else message


def _plain_content(response: object) -> object:
    """The one text of a response, or its JSON."""
    fields = fields_of(response)
    return next(iter(fields.values())) if _is_plain(fields) else json_text(response)


def _add_missing(group: CallGroup, tools: Mapping[str, str], whole: list[Wire], first: int) -> None:
    """Add notices for the results that are missing after the turn which ends before the message `first`."""
    missing = group.take_missing()
    parts = [result_part(tools[call_id], call_id, {ERROR: NO_RESULT}) for call_id in missing]
    if not parts:
        return
    if first == len(whole):
        whole.append({"role": "user", "parts": parts})
        return
    given = parts_in(whole[first])
    lead = next((place for place, part in enumerate(given) if result_of(part) is None), len(given))
    whole[first] = {**whole[first], "parts": [*given[:lead], *parts, *given[lead:]]}


def with_lost_results(messages: Sequence[Wire], find: FindLost) -> Sequence[Wire]:
    """The messages with lost results put back: they open the user's message after the one that called."""
    named = with_call_ids(messages)
    whole: list[Wire] = []
    calls: dict[str, str] = {}
    is_changed = False
    for at, message in enumerate(named):
        if is_model(message):
            made = calls_of(message)
            found = _with_lost_parts(_NOTHING_SAID, calls, find) if _is_later_turn(calls, made, find) else None
            if found is not None:
                whole.append(found)
                is_changed, calls = True, {}
            whole.append(messages[at])
            calls |= made
            continue
        own = not_answered_later(list(calls), named, at, is_model, _result_ids)
        found = _with_lost_parts(message, {call_id: calls[call_id] for call_id in own}, find)
        whole.append(messages[at] if found is None else found)
        is_changed, calls = is_changed or found is not None, {}
    found = _with_lost_parts(_NOTHING_SAID, calls, find) if calls else None
    whole += [] if found is None else [found]
    return whole if is_changed or found is not None else messages


def _result_ids(message: Wire) -> list[str]:
    """The ids of the calls that the results in a message answer."""
    return [text_of(result.get("id")) for part in parts_in(message) if (result := result_of(part)) is not None]


def _is_later_turn(calls: dict[str, str], made: dict[str, str], find: FindLost) -> bool:
    """Whether the message between two of the model is lost: its calls in the second are of a later turn."""
    before = next(reversed(calls), None) if made else None
    lost = None if before is None else find(before)
    return lost is not None and not lost.is_beside(next(iter(made)))


def _with_lost_parts(message: Wire, calls: Mapping[str, str], find: FindLost) -> Wire | None:
    """A user's message after these calls with the results that it lacks; None where nothing was found."""
    results: list[tuple[Any, Json]] = []
    others: list[Any] = []
    is_changed = False
    for part in listed_parts(message):
        result = result_of(fields_of(part))
        if result is None:
            others.append(part)
            continue
        found = _find_in_place(result, find)
        is_changed = is_changed or found is not None
        name, call_id = text_of(result.get("name")), text_of(result.get("id"))
        results.append((call_id, part if found is None else _found_part(name, call_id, found)))
    there = {call_id for call_id, _ in results}
    lost = {call_id: one for call_id in calls if call_id not in there and (one := find(call_id)) is not None}
    if not is_changed and not lost:
        return None
    built = {call_id: _found_part(calls[call_id], call_id, one) for call_id, one in lost.items()}
    return {**message, "parts": [*in_order_of_calls(list(calls), results, built), *others]}


def _find_in_place(result: Json, find: FindLost) -> LostResult | None:
    """What is lost of a result that is there; None where it has media, or several fields that are not all texts."""
    values = list(fields_of(result.get("response")).values())
    if result.get("parts") or (len(values) > 1 and not all(isinstance(value, str) for value in values)):
        return None
    return find(text_of(result.get("id")), values if len(values) > 1 else next(iter(values), None))


def _found_part(tool: str, call_id: str, found: LostResult) -> Json:
    texts = [part for part in found.parts if isinstance(part, str)]
    media = [media_part(part) for part in found.parts if not isinstance(part, str)]
    response = {ERROR if found.is_error else OUTPUT: "\n".join(texts)}
    return result_part(tool, call_id, response, media)
