"""The report of a replay as one HTML document that needs nothing but a browser.

Owns: the document, its security policy and the data in it.
Must not know: how the figures were computed. Text from transcripts is hostile: all of it passes through `markup` or
JSON.
"""

import json
import math
from base64 import b64encode
from collections.abc import Callable, Mapping
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any, NamedTuple, cast

from keepwhole.replay.page.appendix import method, settings, unread
from keepwhole.replay.page.charts import runs, tools
from keepwhole.replay.page.figures import Part, words
from keepwhole.replay.page.frontier import frontier
from keepwhole.replay.page.headline import facts, headline, title
from keepwhole.replay.page.markup import Markup, join, tag
from keepwhole.replay.page.policies import table
from keepwhole.replay.page.results import list_missed, results
from keepwhole.replay.page.sources import sources

_NO_MARKUP = {ord(char): f"\\u{ord(char):04x}" for char in "<>&"}
"""JSON decodes these escapes to the characters; HTML sees no tag, comment or entity in them."""


def page(report: Mapping[str, Any]) -> str:
    """Return the report as HTML without other files or network, in which no text of a transcript is active."""
    style, script = _asset("page.css"), _asset("page.js")
    sections = _sections(report)
    slots = {
        "policy": f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        "title": join(title(report)),
        "style": style,
        "script": script,
        "headline": headline(report),
        "facts": facts(report),
        "links": join(tag("a", each.link, href=f"#{each.key}") for each in sections),
        "sections": join(_section(each) for each in sections),
        "version": join(words(report, "keepwhole")),
        "made": _made(report),
        "data": data(report),
    }
    return Template(_asset("page.html")).substitute(slots)


def _made(report: Part) -> Markup:
    """Return when and with which command a report was made."""
    at, command = words(report, "made_at"), words(report, "command")
    return join(f", {at}," if at else "", " with " if command else "", tag("code", command) if command else "")


def data(report: Mapping[str, Any]) -> str:
    """Return the report as JSON that cannot end the HTML element around it."""
    return json.dumps(_finite(report), separators=(",", ":")).translate(_NO_MARKUP)


class _Section(NamedTuple):
    """A part of the page: its anchor, its names in the list of links and above it, and what it shows."""

    key: str
    link: str
    name: str
    said: str
    content: Markup | None


def _sections(report: Part) -> list[_Section]:
    """Return the sections that have content."""
    found = [_Section(key, link, name, said, content(report)) for key, link, name, said, content in _CONTENTS]
    return [section for section in found if section.content is not None]


_CONTENTS: tuple[tuple[str, str, str, str, Callable[[Part], Markup | None]], ...] = (
    (
        "frontier",
        "Frontier",
        "Cost and evidence",
        "Higher keeps more of what later steps needed; further left costs less. The band joins the policies that no "
        "other beats in both. Thin lines are 95% intervals.",
        frontier,
    ),
    (
        "policies",
        "Policies",
        "Policy by policy",
        "Sending everything is 100%. Below each share is its 95% interval.",
        table,
    ),
    (
        "runs",
        "A run",
        "A run, step by step",
        "Tokens of each request. A ring marks a request that changed something already sent.",
        runs,
    ),
    ("tools", "Tools", "Where tokens go", "Tokens of tool results, and how much of them no later step used.", tools),
    (
        "sent",
        "Sources",
        "What requests consist of",
        "Tokens of all requests under each policy, as shares of all that is sent with everything. Arguments kept: the "
        "share of what later steps could know only from the arguments of earlier calls that was still shown.",
        sources,
    ),
    ("biggest", "Results", "The biggest results", "What each policy would have made of them.", results),
    ("hidden", "Hidden", "Hidden, but needed", "", list_missed),
    ("settings", "Settings", "Settings to copy", "Put this in keepwhole.yaml where the agent works.", settings),
    ("read", "Read", "What was read, and what was not", "", unread),
    ("method", "Method", "How it was measured", "", method),
)


def _section(section: _Section) -> Markup:
    name = f"{section.key}-name"
    said = tag("p", section.said, class_="said") if section.said else None
    return tag("section", tag("h2", section.name, id=name), said, section.content, id=section.key, aria_labelledby=name)


def _asset(name: str) -> str:
    return (files(__name__) / name).read_text(encoding="utf-8").strip()


def _hash(text: str) -> str:
    """Return the hash by which a browser accepts a script or a style of this page."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _finite(value: Any) -> Any:
    """Return the value with null instead of the numbers that JSON cannot express."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _finite(each) for key, each in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in cast(list[Any], value)]
    return value
