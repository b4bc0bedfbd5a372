"""Bedrock on loopback: who may ask, what it takes around a conversation, and its frames.

Owns: checking a signature and framing events, with nothing but the standard library.
Must not know: HTTP, the rules of the conversation itself (`complaint`).
"""

import base64
import binascii
import hashlib
import hmac
import json
import re
import struct
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import quote

from tests.upstream.answer import Answer
from tests.upstream.spelling import Dialect, Json

ACCESS_KEY, SECRET_KEY, REGION = "AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", "us-east-1"
BEARER = "ABSKQmVkcm9ja0FQSUtleS1leGFtcGxlLXdpdGhvdXQtYW55LXVzZQ=="
_KIND = {":content-type": "application/json"}
_PATH = re.compile(r"^/model/[^/]+/(?:invoke(?:-with-response-stream)?|converse(?:-stream)?|count-tokens)$")
_COUNTED = {"messages", "system", "toolConfig", "additionalModelRequestFields"}
"""What a request of Converse may have that is only counted."""
_SIGNED = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/(?P<scope>[^,]+), SignedHeaders=(?P<names>[^,]+), "
    r"Signature=(?P<signature>[0-9a-f]{64})"
)


def is_bedrock(path: str) -> bool:
    """Whether a path is one of Bedrock's."""
    return path.startswith("/model/")


def streams(path: str) -> bool:
    """Whether the answer to a path comes in frames."""
    return path.endswith(("/invoke-with-response-stream", "/converse-stream"))


def bedrock_complaint(method: str, path: str, headers: Mapping[str, str], data: bytes) -> str:
    """What Bedrock would refuse; nothing if it would take it."""
    if not _PATH.match(path):
        return f"there is nothing at {path}"
    if path.rpartition("/")[2].startswith("converse"):
        return _wrong_sender(method, path, headers, data)
    body: Json = json.loads(data)
    if counts(path):
        return _wrong_count(body) or _wrong_sender(method, path, headers, data)
    return _wrong_body(body) or _wrong_sender(method, path, headers, data)


def counts(path: str) -> bool:
    """Whether a path counts the tokens of a request that is inside of its body."""
    return is_bedrock(path) and path.endswith("/count-tokens")


def counted(body: Json) -> tuple[Dialect, Json]:
    """The request inside of a body that is counted, and its dialect."""
    inside = body["input"]
    if "converse" in inside:
        return "converse", inside["converse"]
    return "anthropic", json.loads(base64.b64decode(inside["invokeModel"]["body"], validate=True))


def _wrong_count(body: Json) -> str:
    """What is wrong around a request that is counted; the request itself is for `complaint`."""
    inside = body.get("input", {})
    if body.keys() != {"input"} or len(inside) != 1 or not inside.keys() <= {"converse", "invokeModel"}:
        return "Malformed input request: input must have one of converse, invokeModel"
    try:
        dialect, request = counted(body)
    except (binascii.Error, ValueError):
        return "Malformed input request: body is no JSON in base64"
    if dialect == "converse":
        extra = sorted(request.keys() - _COUNTED)
        return f"#: extraneous key {extra} is not permitted" if extra else ""
    return _wrong_body(request)


def _wrong_body(body: Json) -> str:
    if not re.fullmatch(r"(?:bedrock-)?\d{4}-\d\d-\d\d", body.get("anthropic_version", "")):
        return "anthropic_version: Field required"
    if unknown := {"model", "stream"} & body.keys():
        return f"{sorted(unknown)}: Extra inputs are not permitted"
    return ""


def _wrong_sender(method: str, path: str, headers: Mapping[str, str], data: bytes) -> str:
    shown = headers.get("authorization", "")
    if shown == f"Bearer {BEARER}":
        return ""
    found = _SIGNED.fullmatch(shown)
    if found is None or found["key"] != ACCESS_KEY:
        return "The security token included in the request is invalid."
    names = found["names"].split(";")
    if not {"host", "x-amz-date"} <= set(names):
        return "The signature must cover the host and the date."
    told = "".join(f"{name}:{' '.join(headers.get(name, '').split())}\n" for name in names)
    canonical = "\n".join(
        [method, quote(path, safe="/-_.~"), "", told, found["names"], hashlib.sha256(data).hexdigest()]
    )
    to_sign = "\n".join(
        ["AWS4-HMAC-SHA256", headers["x-amz-date"], found["scope"], hashlib.sha256(canonical.encode()).hexdigest()]
    )
    key = b"AWS4" + SECRET_KEY.encode()
    for part in found["scope"].split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    is_own = hmac.compare_digest(hmac.digest(key, to_sign.encode(), "sha256").hex(), found["signature"])
    return "" if is_own else "The request signature we calculated does not match the signature you provided."


def refusal(message: str) -> Answer:
    """An error as Bedrock writes it."""
    headers = (("content-type", "application/json"), ("x-amzn-errortype", "ValidationException"))
    return Answer(status=400, body=json.dumps({"message": message}).encode(), headers=headers)


def framed(events: Iterable[bytes], *, in_chunks: bool) -> Iterator[bytes]:
    """Events in Bedrock's frames, each with padding of its own: Anthropic's in chunks, Converse's as they are."""
    for number, event in enumerate(events):
        head, _, text = event.decode().strip().rpartition("data: ")
        name = head.partition("event: ")[2].strip()
        padding = "abcdefgh"[: number % 8]
        if "error" in (name, json.loads(text).get("type")):
            yield frame(
                {":exception-type": "throttlingException", **_KIND, ":message-type": "exception"},
                '{"message":"Overloaded"}',
            )
        elif in_chunks:
            chunk = {"bytes": base64.b64encode(text.encode()).decode(), "p": padding}
            yield frame({":event-type": "chunk", **_KIND, ":message-type": "event"}, json.dumps(chunk))
        else:
            payload = json.dumps({**json.loads(text), "p": padding})
            yield frame({":event-type": name, **_KIND, ":message-type": "event"}, payload)


def frame(headers: Mapping[str, str], payload: str) -> bytes:
    """One frame."""
    told = b"".join(
        struct.pack("B", len(name)) + name.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
        for name, value in headers.items()
    )
    lengths = struct.pack(">II", len(told) + len(payload.encode()) + 16, len(told))
    body = lengths + struct.pack(">I", binascii.crc32(lengths)) + told + payload.encode()
    return body + struct.pack(">I", binascii.crc32(body))
