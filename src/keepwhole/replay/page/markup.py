"""HTML that is safe by construction: every text that is not `Markup` is escaped when it is put in.

Owns: escaping and elements.
Must not know: what the page says.
"""

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_HARMLESS = frozenset("\n\t\u200c\u200d")
"""Hidden characters that do no harm: line ends, and the joiners that emoji and some scripts need."""
_VOID = frozenset(("input", "line", "path", "rect", "circle", "polyline"))


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


Inside: TypeAlias = "str | Iterable[Inside] | None"


def tag(name: str, /, *inside: Inside, **attributes: str | float | bool | None) -> Markup:
    """Return an element; attributes that are `None` or false are left out, `class_` is `class`, `_` is `-`.

    >>> tag("p", "1 < 2", tag("b", "!"), class_="sum")
    '<p class="sum">1 &lt; 2<b>!</b></p>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not inside:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{join(*inside)}</{name}>")


def join(*inside: Inside) -> Markup:
    """Return all parts in a row, escaped if they are not markup."""
    return Markup("".join(_text(part) for part in inside))


def visible(text: str) -> str:
    r"""Return `text` with visible escapes for characters that hide or reorder text or break lines.

    >>> visible("a\u202eb")
    'a\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(_escape(char) if _hides(char) else char for char in text)


def short(text: str, most: int = 140) -> str:
    """Return `text` on one line of at most `most` characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _text(part: Inside) -> str:
    if part is None:
        return ""
    if isinstance(part, str):
        return part if isinstance(part, Markup) else escape(visible(part))
    return join(*part)


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(visible(_number_text(value)))}"'


def _number_text(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _hides(char: str) -> bool:
    return char not in _HARMLESS and unicodedata.category(char) in _HIDDEN


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"
