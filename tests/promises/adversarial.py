"""Texts that are built to make a program slow, each of any size: one shape repeated, or one wrapped around another.

`shapes()` and `mixed_shapes()` are all of them by name. Every text is one that a tool could print.
"""

import json
from collections.abc import Callable, Mapping
from itertools import product
from typing import TypeAlias

Shape: TypeAlias = Callable[[int], str]
"""A text of about so many bytes in UTF-8."""


def repeated(unit: str, before: str = "", after: str = "") -> Shape:
    """The same again and again, between a beginning and an end."""
    width = len(unit.encode("utf-8", "surrogatepass"))
    return lambda size: before + unit * max(1, (size - len(before) - len(after)) // width) + after


def numbered(line: str, before: str = "", after: str = "") -> Shape:
    """The same with another number each time."""
    width = len(line.format(1_000_000).encode())
    return lambda size: before + "".join(line.format(n) for n in range(1, 1 + size // width)) + after


def _nested(opening: str, closing: str, middle: str = "1") -> Shape:
    """Brackets in brackets, as deep as the size allows."""
    width = len(opening) + len(closing)
    return lambda size: opening * (size // width) + middle + closing * (size // width)


def _deep_and_wide(levels: int) -> Shape:
    """An object in an object, each with many short members."""

    def made(size: int) -> str:
        members = "".join(f'"k{n}": {n}, ' for n in range(size // levels // 16))
        return ("{" + members + '"in": ') * levels + "0" + "}" * levels

    return made


def _array_in_array(levels: int) -> Shape:
    def made(size: int) -> str:
        members = "".join(f"{n}, " for n in range(size // levels // 7))
        return ("[" + members) * levels + "0" + "]" * levels

    return made


def _large_then_small(size: int) -> str:
    """Two hundred large members, then very many small ones."""
    large = {f"large{n}": "x" * (size // 400) for n in range(200)}
    return json.dumps({**large, **{f"s{n}": n for n in range(size // 28)}})


def _long_string(unit: str) -> Shape:
    return lambda size: json.dumps({"id": 1, "text": unit * (size // max(1, len(json.dumps(unit)) - 2))})


def _keys(names: Callable[[int], str], width: int) -> Shape:
    return lambda size: "{" + ",".join(f'"{names(n)}":{n}' for n in range(1, 2 + size // width)) + "}"


LINES: Mapping[str, str] = {
    "a log": "2026-11-16 12:00:01 INFO worker {} took the job\n",
    "errors": "2026-11-16 12:00:01 ERROR worker {} failed: exit code 1\n",
    "code": "def function_{}(a, b):\n    return a + b\n",
    "typed code": "static int value_{}(char *a, int b) {{\n  return 0;\n}}\n",
    "a diff": "diff --git a/{0} b/{0}\n--- a/{0}\n+++ b/{0}\n@@ -1,2 +1,2 @@\n-a\n+b\n",
    "a search": "src/file_{}.py:12: value = 1\n",
    "a listing": "src/folder/file_{}.py\n",
    "a table": 'id,name,size\n{},"a ""b""",3\n',
    "rows of JSON": '{{"id": {}, "name": "a"}}\n',
    "paragraphs": "Sentence {} of a text. Another one!\n\n",
    "a dump": "INSERT INTO users VALUES ({},'a b','c(d)',NULL);\n",
    "frames": "{} % done\r",
    "colored": "\x1b[31mred {}\x1b[0m plain\n",
}
UNITS: Mapping[str, str] = {
    "letters": "a",
    "words": "word ",
    "numbers": "12:34:56 ",
    "dots": ".",
    "slashes": "a/",
    "colons": "a:1:",
    "dashes": "a-1-",
    "parentheses": "()",
    "open parentheses": "(",
    "calls": "a b() ",
    "values": "(1,'a b',NULL),",
    "stars": "* ",
    "pointers": "a* ",
    "commas": ",",
    "semicolons": "a;",
    "equals": "a=",
    "quotes": '"',
    "quoted": '"a",',
    "doubled quotes": '""a',
    "single quotes": "'",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "escaped": "\\u00e9",
    "spaces": " ",
    "tabs": "\t",
    "empty lines": "\n",
    "spaces and lines": " \n",
    "CRLF": "\r\n",
    "carriage returns": "\r",
    "signs of a hunk": "@@ ",
    "dashes of a file": "--- a\n",
    "tags": "<a>",
    "closing tags": "</a>",
    "empty tags": "<a/>",
    "open tags": "<",
    "attributes": "<a b='",
    "comments": "<!--",
    "sections": "<![CDATA[",
    "instructions": "<?a ",
    "brackets": "[",
    "braces": "{",
    "braces and keys": '{"a":',
    "pairs of brackets": "[]",
    "pairs of braces": "{}",
    "colors": "\x1b[31m",
    "resets": "\x1b[0m\x1b[1;32m",
    "open colors": "\x1b[",
    "device strings": "\x1bP",
    "titles": "\x1b]0;",
    "closed titles": "\x1b]0;a\x07",
    "escape signs": "\x1b",
    "long parameters": "\x1b[" + "0;" * 2_000,
    "combining marks": "\u0301",
    "letters with marks": "e\u0301",
    "flags": "🇨🇭",
    "joiners": "\u200d",
    "families": "👩\u200d👧",
    "viramas": "क्",
    "jamo": "\u1100\u1161",
    "prepended": "\u0600",
    "skin": "\U0001f3fb",
    "tag characters": "\U000e0041",
    "variations": "a\ufe0f",
    "invisible": "A\u200b",
    "ideographs": "漢字",
    "long lower case": "İ",
    "surrogates": "\ud800",
    "bidi": "\u202e\u202c",
    "full width": "Ａｒｔ",
    "Cyrillic": "аrtіfасt ",
    "references": "[Artifact: ",
    "open references": "[Artifact",
    "omissions": "... [1 lines ",
    "dotted": "... ",
    "calls of tools": "get_artifact(",
    "truncated": "truncated ",
    "omitted": "omitted ",
    "errors without lines": "error ",
    "no errors": "0 errors, ",
    "exits": "exit code 0 ",
    "exit words": "exit with with ",
    "times": "12:00 ",
    "decorators": "@a.",
    "modifiers": "public static ",
    "figures": "1,234,",
    "long words": "a_b-c.",
    "humps": "aBcD",
}
"""What is repeated, by name."""
WITHIN: Mapping[str, tuple[str, str]] = {
    "after a log": ("2026-11-16 12:00:01 INFO started\n" * 20, ""),
    "in an array": ('["', '"]'),
    "in XML": ("<r><i>", "</i></r>"),
    "in code": ("int f(", ") {\n"),
    "in a table": ("id,name,size\n1,2,3\n1,2,3\n", "\n1,2,3\n"),
}
"""What a run of one shape may stand between."""


def shapes() -> dict[str, Shape]:
    """The texts of one shape each, and data of every structure, by name."""
    found = {name: repeated(unit) for name, unit in UNITS.items()}
    found |= {f"lines of {name}": numbered(line) for name, line in LINES.items()}
    found |= {f"one line of {name}": numbered(line.replace("\n", " ")) for name, line in LINES.items()}
    return {**found, **_DATA}


def mixed_shapes() -> dict[str, Shape]:
    """The same units between others, in long lines and in strings, by name."""
    found = {
        f"{name} {place}": repeated(unit, *around)
        for (name, unit), (place, around) in product(UNITS.items(), WITHIN.items())
    }
    found |= {f"lines of {name} of 3 KB": repeated(unit * (3_000 // len(unit)) + "\n") for name, unit in UNITS.items()}
    return found | {f"a string of {name}": _long_string(unit) for name, unit in UNITS.items()}


_DATA: Mapping[str, Shape] = {
    "nested arrays": _nested("[", "]"),
    "nested objects": _nested('{"a":', "}"),
    "nested tags": _nested("<a>", "</a>"),
    "40 levels of objects": _deep_and_wide(40),
    "40 levels of arrays": _array_in_array(40),
    "900 levels of objects": _deep_and_wide(900),
    "large members, then small ones": _large_then_small,
    "many keys": _keys(lambda n: f"k{n}", 16),
    "equal keys": _keys(lambda n: "k", 11),
    "dotted keys": _keys(lambda n: "." * (n % 180), 100),
    "keys that are our own": _keys(lambda n: "...", 13),
    "an array of numbers": repeated("1,", "[", "1]"),
    "an array of objects": numbered('{{"id":{},"a":[1]}},', "[", "1]"),
    "an array of strings": repeated('"a\\"",', "[", "1]"),
    "an array with spaces": repeated("1 , ", "[", "1]"),
    "white space in an array": repeated(" ", "[1,", "2]"),
    "XML of items": numbered("<item n='{}'>text</item>", "<root>", "</root>"),
    "XML of empty items": repeated("<i/>", "<root>", "</root>"),
    "XML of attributes": numbered(" a{}='>'", "<root", "/>"),
    "XML of comments": repeated("<!-- > -->", "<root>", "</root>"),
    "a record that does not end": repeated("a,b\n", 'id,name\n1,"', ""),
}
