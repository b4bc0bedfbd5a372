"""Every address of the inspector: its method, its access rule and its answer.

Owns: the table. A route cannot be written without a rule.
Must not know: sockets; the server does the reading and writing.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias
from urllib.parse import unquote

from keepwhole.apps.inspector import answers
from keepwhole.apps.inspector.access import Rule
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.services import InspectorServices

Answer: TypeAlias = Callable[[InspectorServices, PageRequest], Mapping[str, Any]]
Kind: TypeAlias = Literal["page", "static", "enter", "raw_result", "image", "raw_request", "export", "play", "live"]
"""Answers that the server writes itself: they are not JSON."""


class Route(NamedTuple):
    """One address."""

    method: Literal["GET", "POST"]
    path: str
    rule: Rule
    answer: Answer | Kind
    is_compressed: bool = False
    """Whether the answer is large enough to be worth compressing."""
    if_ready: Callable[[InspectorServices, PageRequest], Mapping[str, Any] | None] | None = None
    """Tried first on the server's own thread; returns None where it might take longer."""


_S = "/api/sessions/{name}"
_R = _S + "/results/{id}"
_Q = _S + "/requests/{id}"
ROUTES: tuple[Route, ...] = (
    Route("GET", "/", Rule.OPEN, "page"),
    Route("GET", "/static/{file}", Rule.OPEN, "static"),
    Route("GET", "/static/{folder}/{file}", Rule.OPEN, "static"),
    Route("POST", "/api/enter", Rule.ENTER, "enter"),
    Route("GET", "/api/sessions", Rule.READ, answers.list_sessions, is_compressed=True),
    Route("GET", _S, Rule.READ, answers.one_session, is_compressed=True),
    Route("GET", _S + "/steps", Rule.READ, answers.list_steps, is_compressed=True),
    Route("GET", _S + "/steps/{index}/window", Rule.READ, answers.window_of_step, is_compressed=True),
    Route("GET", _S + "/results", Rule.READ, answers.list_results, is_compressed=True),
    Route("GET", _S + "/export", Rule.READ, "export"),
    Route("GET", _S + "/search", Rule.READ, answers.search),
    Route("GET", _R, Rule.READ, answers.one_result),
    Route("GET", _R + "/lines", Rule.READ, answers.lines, if_ready=answers.lines_if_ready),
    Route("GET", _R + "/find", Rule.READ, answers.find),
    Route("GET", _R + "/raw", Rule.READ, "raw_result"),
    Route("GET", _R + "/image", Rule.READ, "image"),
    Route("GET", _Q, Rule.READ, answers.one_request),
    Route("GET", _Q + "/raw", Rule.READ, "raw_request"),
    Route("GET", _Q + "/response", Rule.READ, answers.one_response),
    Route("GET", _Q + "/messages", Rule.READ, answers.request_messages, is_compressed=True),
    Route("GET", _Q + "/answer", Rule.READ, answers.answer_messages, is_compressed=True),
    Route("GET", _Q + "/story", Rule.READ, answers.story, is_compressed=True),
    Route("POST", _S + "/play", Rule.CHANGE, "play"),
    Route("POST", _S + "/verify", Rule.CHANGE, answers.verify),
    Route("POST", _R + "/pin", Rule.CHANGE, answers.pin),
    Route("GET", _R + "/undo", Rule.READ, answers.foresee),
    Route("POST", _R + "/undo", Rule.CHANGE, answers.undo),
    Route("GET", "/api/policies", Rule.READ, answers.policies, is_compressed=True),
    Route("GET", "/api/live", Rule.READ, "live"),
    Route("GET", "/api/health", Rule.READ, answers.health_report),
)


def _by_length() -> dict[int, list[tuple[Route, list[str]]]]:
    found: dict[int, list[tuple[Route, list[str]]]] = {}
    for route in ROUTES:
        segments = route.path.split("/")
        found.setdefault(len(segments), []).append((route, segments))
    return found


_BY_LENGTH = _by_length()


@lru_cache(maxsize=256)
def find_route(method: str, path: str) -> tuple[Route, tuple[str, ...]] | int:
    """The route of a path with its variable segments; the status 404 or 405 where there is none."""
    segments = path.split("/")
    status = 404
    for route, wanted in _BY_LENGTH.get(len(segments), ()):
        if _is_at(wanted, segments):
            if route.method == method:
                return route, tuple([unquote(segments[at]) for at, own in enumerate(wanted) if own[:1] == "{"])
            status = 405
    return status


def _is_at(wanted: list[str], segments: list[str]) -> bool:
    """Whether a path matches a route, compared from its end, where paths differ most often."""
    pairs = zip(reversed(wanted), reversed(segments), strict=True)
    return all(own == given or own[:1] == "{" for own, given in pairs)
