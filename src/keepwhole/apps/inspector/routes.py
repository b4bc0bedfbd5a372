"""Every address that the inspector answers: how it is asked, who may, and what answers.

Owns: the table. A route without a rule cannot be written.
Must not know: sockets; the server does the reading and writing.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.access import Rule
from keepwhole.apps.inspector.answers import Asked
from keepwhole.apps.inspector.services import Desk

Told: TypeAlias = Callable[[Desk, Asked], Mapping[str, Any]]
Kind: TypeAlias = Literal["page", "static", "enter", "raw_result", "raw_request", "live"]
"""What the server answers by itself."""


class Route(NamedTuple):
    """One address."""

    method: Literal["GET", "POST"]
    path: str
    rule: Rule
    tells: Told | Kind
    packed: bool = False
    """Whether it is worth compressing."""
    at_once: Callable[[Desk, Asked], Mapping[str, Any] | None] | None = None
    """Tried first, without another thread; gives None where that might take time."""


_S = "/api/sessions/{name}"
_R = _S + "/results/{id}"
_Q = _S + "/requests/{id}"
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", Rule.OPEN, "page"),
    Route("GET", "/static/{file}", Rule.OPEN, "static"),
    Route("GET", "/static/{folder}/{file}", Rule.OPEN, "static"),
    Route("POST", "/api/enter", Rule.ENTER, "enter"),
    Route("GET", "/api/sessions", Rule.READ, answers.list_sessions, packed=True),
    Route("GET", _S, Rule.READ, answers.one_session, packed=True),
    Route("GET", _S + "/steps", Rule.READ, answers.list_steps, packed=True),
    Route("GET", _S + "/results", Rule.READ, answers.list_results, packed=True),
    Route("GET", _S + "/search", Rule.READ, answers.search),
    Route("GET", _R, Rule.READ, answers.one_result),
    Route("GET", _R + "/lines", Rule.READ, answers.lines, at_once=answers.lines_at_once),
    Route("GET", _R + "/find", Rule.READ, answers.find),
    Route("GET", _R + "/raw", Rule.READ, "raw_result"),
    Route("GET", _Q, Rule.READ, answers.one_request),
    Route("GET", _Q + "/raw", Rule.READ, "raw_request"),
    Route("GET", _Q + "/response", Rule.READ, answers.one_response),
    Route("POST", _S + "/play", Rule.CHANGE, answers.play),
    Route("POST", _S + "/verify", Rule.CHANGE, answers.verify),
    Route("POST", _R + "/pin", Rule.CHANGE, answers.pin),
    Route("POST", _R + "/undo", Rule.CHANGE, answers.undo),
    Route("GET", "/api/policies", Rule.READ, answers.policies, packed=True),
    Route("GET", "/api/live", Rule.READ, "live"),
    Route("GET", "/api/health", Rule.READ, answers.look),
)


def _by_length() -> dict[int, list[tuple[Route, list[str]]]]:
    found: dict[int, list[tuple[Route, list[str]]]] = {}
    for route in ROUTES:
        segments = route.path.split("/")
        found.setdefault(len(segments), []).append((route, segments))
    return found


_BY_LENGTH = _by_length()


def found(method: str, path: str) -> tuple[Route, tuple[str, ...]] | int:
    """The route of a path with what stands in its places; 404 or 405 where there is none."""
    segments = path.split("/")
    status = 404
    for route, wanted in _BY_LENGTH.get(len(segments), ()):
        if _is_at(wanted, segments):
            if route.method == method:
                return route, tuple([unquote(segments[at]) for at, own in enumerate(wanted) if own[:1] == "{"])
            status = 405
    return status


def _is_at(wanted: list[str], segments: list[str]) -> bool:
    """Whether a path is that of a route; what is last differs most often."""
    pairs = zip(reversed(wanted), reversed(segments), strict=True)
    return all(own == given or own[:1] == "{" for own, given in pairs)
