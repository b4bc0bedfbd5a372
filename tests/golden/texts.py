"""Results that tools might print, made of a seed: the same in every run. Must not know: the package."""

import csv
import io
import json
from collections.abc import Callable
from random import Random

_NOUNS = ("berth", "cargo", "crane", "customs", "ferry", "invoice", "pilot", "quay", "tide", "tug", "yard", "buoy")
_VERBS = ("assign", "check", "close", "find", "load", "merge", "move", "open", "plan", "release", "split", "weigh")


def _words(rng: Random, count: int) -> str:
    return " ".join(rng.choice(_NOUNS if rng.random() < 0.6 else _VERBS) for _ in range(count))


def _until(chars: int, line: Callable[[int], str]) -> str:
    parts: list[str] = []
    size = number = 0
    while size < chars:
        parts.append(line(number))
        size += len(parts[-1])
        number += 1
    return "".join(parts)


def _plain(rng: Random, chars: int) -> str:
    return _until(chars, lambda n: f"{n}: {_words(rng, rng.randint(3, 14))}.\n" + ("\n" if n % 9 == 8 else ""))


def _log(rng: Random, chars: int) -> str:
    def line(number: int) -> str:
        level = rng.choices(("INFO", "DEBUG", "WARN", "ERROR"), (80, 12, 5, 3))[0]
        said = f"2026-11-02 09:{number // 60 % 60:02d}:{number % 60:02d} {level} {rng.choice(_NOUNS)}: {_words(rng, 5)}"
        if level == "ERROR":
            place = f'  File "/srv/{rng.choice(_NOUNS)}.py", line {rng.randint(1, 900)}, in {rng.choice(_VERBS)}'
            return f"{said}\nTraceback (most recent call last):\n{place}\nValueError: {_words(rng, 3)}\n"
        return said + "\n"

    return _until(chars, line)


def _row(rng: Random, number: int) -> dict[str, object]:
    return {
        "id": f"{rng.choice(_NOUNS)}-{number:04d}",
        "name": _words(rng, 2),
        "weight": round(rng.random() * 900, 2),
        "open": rng.random() < 0.5,
        "tags": [rng.choice(_VERBS) for _ in range(rng.randint(0, 3))],
    }


def _json(rng: Random, chars: int) -> str:
    items = [_row(rng, number) for number in range(max(1, chars // 120))]
    return json.dumps({"total": len(items), "next": None, "items": items}, indent=rng.choice((None, 2)))


def _ndjson(rng: Random, chars: int) -> str:
    return _until(chars, lambda number: json.dumps(_row(rng, number)) + "\n")


def _csv(rng: Random, chars: int) -> str:
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(("id", "name", "weight", "note"))
    number = 0
    while out.tell() < chars:
        row = _row(rng, number)
        writer.writerow(
            (row["id"], row["name"], row["weight"], _words(rng, 4) + (', "quoted"' if number % 7 == 3 else ""))
        )
        number += 1
    return out.getvalue()


def _xml(rng: Random, chars: int) -> str:
    body = _until(
        chars, lambda n: f'  <item id="{n}" kind="{rng.choice(_NOUNS)}"><name>{_words(rng, 3)}</name><empty/></item>\n'
    )
    return f"<?xml version='1.0'?>\n<items>\n{body}</items>\n"


def _html(rng: Random, chars: int) -> str:
    body = _until(chars, lambda n: f"<li class='x'><a href='/p/{n}'>{_words(rng, 4)}</a></li>\n")
    return f"<!DOCTYPE html>\n<html><head><title>Harbour</title></head><body><ul>\n{body}</ul></body></html>\n"


def _code(rng: Random, chars: int) -> str:
    def function(number: int) -> str:
        name = f"{rng.choice(_VERBS)}_{rng.choice(_NOUNS)}_{number}"
        lines = "".join(f"    {rng.choice(_NOUNS)} = {rng.randint(1, 99)}  # {_words(rng, 3)}\n" for _ in range(6))
        return f'def {name}(value: int) -> int:\n    """{_words(rng, 5)}."""\n{lines}    return value\n\n\n'

    return '"""A module."""\n\nimport os\n\n\n' + _until(chars, function)


def _diff(rng: Random, chars: int) -> str:
    def hunk(number: int) -> str:
        name = f"{rng.choice(_NOUNS)}_{number}.py"
        lines = "".join(f"{rng.choice((' ', ' ', '+', '-'))}{_words(rng, 6)}\n" for _ in range(12))
        head = f"diff --git a/{name} b/{name}\nindex 12ab..34cd 100644\n--- a/{name}\n+++ b/{name}\n"
        return f"{head}@@ -{number},9 +{number},9 @@\n{lines}"

    return _until(chars, hunk)


def _ansi(rng: Random, chars: int) -> str:
    return _until(
        chars,
        lambda n: f"\x1b[3{n % 8}m{_words(rng, 5)}\x1b[0m\r\n" if n % 3 else f"\rprogress {n}%\rprogress {n + 1}%\n",
    )


def _unicode(rng: Random, chars: int) -> str:
    odd = ("漢字かな交じり文", "👩\u200d👧 🇨🇭", "e\u0301a\u0308", "Ελληνικά", "क्षत्रिय", "\u2028", "עברית", "naïve café")
    return _until(chars, lambda n: f"{n} {rng.choice(odd)} {_words(rng, 2)} {rng.choice(odd)}\n")


def _surrogates(rng: Random, chars: int) -> str:
    return _until(chars, lambda n: f"{n} \ud800 {_words(rng, 3)} \udfff\x00\n")


def _huge_lines(rng: Random, chars: int) -> str:
    return _until(chars, lambda n: _words(rng, 3) + ("x" if n % 2 else "é") * rng.choice((10, 2_500, 9_000)) + "\n")


def _grep(rng: Random, chars: int) -> str:
    return _until(chars, lambda n: f"src/{rng.choice(_NOUNS)}.py:{n * 3 + 1}:    {_words(rng, 7)}\n")


def _notices(rng: Random, chars: int) -> str:
    fake = "... [3 lines omitted] ...\n[Artifact: art_1700000000_xxxxxxxxxxxxxxxxxxxxxx]\n"
    return _until(chars, lambda n: fake if n % 11 == 5 else f"{_words(rng, 8)}\n")


KINDS: dict[str, Callable[[Random, int], str]] = {
    "plain": _plain,
    "log": _log,
    "json": _json,
    "ndjson": _ndjson,
    "csv": _csv,
    "xml": _xml,
    "html": _html,
    "code": _code,
    "diff": _diff,
    "ansi": _ansi,
    "unicode": _unicode,
    "surrogates": _surrogates,
    "huge_lines": _huge_lines,
    "grep": _grep,
    "notices": _notices,
}


def text(kind: str, chars: int, seed: object = "") -> str:
    """A result of this kind with about so many characters."""
    return KINDS[kind](Random(f"{kind}/{chars}/{seed}"), chars) if chars else ""


def binary(chars: int, seed: object = "") -> bytes:
    """Bytes that are no text."""
    return b"\x89PNG\r\n\x1a\n" + Random(f"binary/{seed}").randbytes(chars)
