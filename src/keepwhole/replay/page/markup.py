"""HTML that is safe by how it is made: whatever is not `Markup` is escaped on its way in.

Owns: escaping and elements.
Must not know: what the page says.
"""

import unicodedata
from collections.abc import Iterable
from html import escape
from typing import TypeAlias

_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_WELCOME = frozenset("\n\t\u200c\u200d")
"""Hidden characters that do no harm: line ends, and the joiners that emoji and some scripts need."""
_VOID = frozenset(("input", "line", "path", "rect", "circle", "polyline"))


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


Inside: TypeAlias = "str | Iterable[Inside] | None"


def tag(name: str, /, *inside: Inside, **attributes: str | float | bool | None) -> Markup:
    """An element; attributes that are `None` or false are left out, `class_` is `class`, `_` is `-`.

    >>> tag("p", "1 < 2", tag("b", "!"), class_="sum")
    '<p class="sum">1 &lt; 2<b>!</b></p>'
    """
    opening = name + "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID and not inside:
        return Markup(f"<{opening}/>")
    return Markup(f"<{opening}>{joined(*inside)}</{name}>")


def joined(*inside: Inside) -> Markup:
    """All of it in a row, escaped where it is not markup."""
    return Markup("".join(_text(part) for part in inside))


def visible(text: str) -> str:
    r"""`text` with the characters that hide, reorder or break lines made visible.

    >>> visible("a\u202eb")
    'a\\u202eb'
    """
    if text.isprintable():
        return text
    return "".join(_escaped(char) if _hides(char) else char for char in text)


def short(text: str, most: int = 140) -> str:
    """`text` on one line of at most so many characters."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def _text(part: Inside) -> str:
    if part is None:
        return ""
    if isinstance(part, str):
        return part if isinstance(part, Markup) else escape(visible(part))
    return joined(*part)


def _attribute(key: str, value: str | float | bool | None) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    return f" {name}" if value is True else f' {name}="{escape(visible(_spelled(value)))}"'


def _spelled(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def _hides(char: str) -> bool:
    return char not in _WELCOME and unicodedata.category(char) in _HIDDEN


def _escaped(char: str) -> str:
    code = ord(char)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65_536 else f"\\U{code:08x}"
