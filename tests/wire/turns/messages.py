"""Items of the made-up dialect: `say`, `call` and `output`."""

from typing import Any

from keepwhole.canonical.media import MediaBytes
from keepwhole.canonical.message import Call, Message, ResultText
from keepwhole.wire.content import Json, Wire, json_text
from keepwhole.wire.dialect import Names, Reply
from keepwhole.wire.pairs import NO_RESULT, CallGroup, FindLost, Repairs

ROLES = {"human": "user", "model": "assistant"}


def decode(item: Json) -> Message | None:
    kind = item.get("kind")
    if kind == "output":
        return Message("tool", returned=(ResultText(item["for"], ("body",), item["body"]),))
    if kind == "call":
        return Message("assistant", calls=(Call(item["id"], item["tool"], json_text(item["with"])),))
    return Message(ROLES[item["who"]], item["body"]) if kind == "say" else None  # type: ignore[arg-type]


def read_reply(body: Json, names: Names) -> Reply:
    items: list[Json] = body.get("answer", [])
    calls = [item for item in items if item.get("tool") in names]
    shown = [item for item in items if item not in calls]
    return Reply(items, shown, calls, any(item["kind"] == "call" for item in shown), body.get("end") == "done")


def has_broken_pairs(items: Any) -> bool:
    return with_whole_pairs(items)[1].total > 0


def media_part(media: MediaBytes) -> Json:
    """A picture."""
    return {"kind": "picture", "bytes": media.data.hex()}


def with_lost_results(items: Any, find: FindLost) -> Any:
    """An empty output is filled again, and an output that is not there follows its call."""
    answered = {item["for"] for item in items if item["kind"] == "output"}
    whole: list[Wire] = []
    for item in items:
        if item["kind"] == "output" and (found := find(item["for"], item["body"])) is not None:
            item = {**item, "body": found.content(media_part)}
        whole.append(item)
        if item["kind"] == "call" and item["id"] not in answered and (found := find(item["id"])) is not None:
            whole.append({"kind": "output", "for": item["id"], "body": found.content(media_part)})
    return items if whole == items else whole


def with_whole_pairs(items: Any) -> tuple[list[Wire], Repairs]:
    """Outputs follow their calls; a call that ends the conversation waits for its output."""
    group, whole = CallGroup(), list[Wire]()
    for item in items:
        if item["kind"] == "output":
            accepted = group.accepts(item["for"], item["body"])
            notes = [] if accepted else group.note(item["for"], item["body"])
            whole += [item] if accepted else [{"kind": "say", "who": "human", "body": note["text"]} for note in notes]
            continue
        if item["kind"] != "call":
            missing = group.take_missing()
            whole += [{"kind": "output", "for": call_id, "body": NO_RESULT} for call_id in missing]
        else:
            group.waiting[item["id"]] = None
        whole.append(item)
    return whole, group.repairs
