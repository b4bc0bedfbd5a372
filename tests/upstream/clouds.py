"""What the clouds refuse that sell other people's models: Azure OpenAI and Vertex AI.

Owns: their rules about paths, queries, headers and the fields around a conversation.
Must not know: HTTP, the rules of the conversation itself (`complaint`).
"""

import re
from collections.abc import Mapping
from urllib.parse import parse_qs

from tests.upstream.spelling import Json

_AZURE = re.compile(
    r"^/openai/(?:deployments/(?P<deployment>[^/]+)/chat/completions|v1/(?:chat/completions|responses))$"
)
_VERTEX = re.compile(r"^/v1/projects/[^/]+/locations/[^/]+/publishers/anthropic/models/[^/:]+:(?P<verb>\w+)$")


def cloud_complaint(path: str, headers: Mapping[str, str], body: Json) -> str:
    """What a cloud would refuse of a request; nothing if it would take it, or the path is not a cloud's."""
    bare, _, query = path.partition("?")
    if found := _AZURE.match(bare):
        return _azure(found["deployment"], parse_qs(query), headers)
    if "/openai/deployments/" in bare:
        return f"there is nothing at {bare}"
    if "/publishers/anthropic/" in bare:
        found = _VERTEX.match(bare)
        return _vertex(found["verb"], headers, body) if found else f"there is nothing at {bare}"
    return ""


def _azure(deployment: str | None, query: Mapping[str, list[str]], headers: Mapping[str, str]) -> str:
    if "api-key" not in headers and "authorization" not in headers:
        return "Access denied due to missing subscription key."
    if deployment is not None and not re.fullmatch(r"\d{4}-\d\d-\d\d(-preview)?", query.get("api-version", [""])[0]):
        return "The api-version query parameter is missing."
    return ""


def _vertex(verb: str, headers: Mapping[str, str], body: Json) -> str:
    if not headers.get("authorization", "").startswith("Bearer "):
        return "Request is missing required authentication credential."
    if "model" in body:
        return "model: Extra inputs are not permitted"
    if not re.fullmatch(r"(?:vertex-)?\d{4}-\d\d-\d\d", body.get("anthropic_version", "")):
        return "anthropic_version: Field required"
    if bool(body.get("stream")) != (verb == "streamRawPredict"):
        return f"{verb} is not the method for this value of `stream`"
    return ""
