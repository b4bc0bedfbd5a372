"""Short texts with one peculiarity each, for which every character of room counts. Must not know: the package."""

import json
from random import Random

_WORDS = ["berth", "cargo", "crane", "customs", "ferry", "invoice", "pilot", "quay", "tide", "tug", "yard", "buoy"]


def _lines(count: int, form: str = "{n}: {a} {b} {c}") -> list[str]:
    chance = Random(form)
    return [
        form.format(n=n, a=chance.choice(_WORDS), b=chance.choice(_WORDS), c=chance.choice(_WORDS), m=n % 60)
        for n in range(1, count + 1)
    ]


_ROWS = [
    {"id": n, "name": a, "tags": [a, str(n)], "note": f"{a} {n}" * (n % 4), "in": {"x": n / 4, "y": None}}
    for n, a in enumerate(_WORDS * 3)
]
_DEEP = {"a": {"b": {"c": {"d": {"e": [1, [2, [3, [4, {"f": "g" * 90}]]]]}}}}, "wide": {f"k{n}": n for n in range(60)}}
_TRACE = [
    "Traceback (most recent call last):",
    '  File "/srv/quay.py", line 12, in load',
    "    crane.lift(cargo)",
    "ValueError: cargo is too heavy",
]
_LOG = _lines(40, "2026-11-02 09:00:{m:02d} INFO {a}: {b} {c} done")

TEXTS: dict[str, str] = {
    "empty": "",
    "one": "x",
    "one-line": " ".join(_WORDS * 20),
    "no-end": "\n".join(_lines(60)),
    "ended": "\n".join(_lines(60)) + "\n",
    "crlf": "\r\n".join(_lines(60)) + "\r\n",
    "cr": "\r".join(_lines(60)),
    "mixed-ends": "a\r\nb\nc\rd\n" * 60,
    "blank-lines": "\n\n\n".join(_lines(40)),
    "spaces": "   \t  \n" * 90 + "end",
    "paragraphs": "\n\n".join(" ".join(_lines(4, "{a} {b} {c}.")) for _ in range(14)),
    "long-first": "x" * 900 + "\n" + "\n".join(_lines(20)),
    "long-last": "\n".join(_lines(20)) + "\n" + "y" * 900,
    "long-middle": "\n".join([*_lines(10), "z" * 700 + " customs " + "z" * 700, *_lines(10)]),
    "wide-lines": "\n".join(line * 12 for line in _lines(12)),
    "combining": "e\u0301a\u0308" * 300,
    "emoji": "👩\u200d👧\u200d👦👍🏽🇨🇭🇩🇪🇫🇷" * 40,
    "flags": "🇨🇭" * 300,
    "hangul": "\u1112\u1161\u11ab\u1100\u1173\u11af" * 120,
    "conjunct": "क्षत्रिय " * 120,
    "rtl": "\u202bשלום עולם\u202c " * 80,
    "wide-cjk": "漢字かな交じり文。" * 90,
    "surrogates": "a\ud800b\udfffc " * 120,
    "controls": "\x00\x01\x07\x1b\x7f\x85" * 150,
    "ansi": "".join(f"\x1b[3{n % 8};1mline {n}\x1b[0m of many\n" for n in range(60)),
    "open-ansi": "text \x1b[38;5;" * 90,
    "progress": "".join(f"\rdone {n}%" for n in range(101)) + "\nfinished\n" + "\n".join(_lines(30)),
    "backspaces": "abc\b\b\bxyz\n" * 80,
    "json-small": json.dumps(_ROWS[0]),
    "json-rows": json.dumps(_ROWS),
    "json-indented": json.dumps({"total": 36, "items": _ROWS}, indent=2),
    "json-tabs": json.dumps(_ROWS, indent="\t"),
    "json-deep": json.dumps(_DEEP),
    "json-strings": json.dumps(["\n".join(_lines(30)), '\u00e9\ud83d\ude00\\"' * 60, "", " "]),
    "json-escapes": json.dumps({'a"b': "\\" * 99, "\u2028": "\x00" * 40, "": {}}),
    "json-numbers": json.dumps([n * 1.5e10 for n in range(200)]),
    "json-object": json.dumps({word * n: n for n, word in enumerate(_WORDS * 4)}),
    "json-empty-parts": json.dumps([[], {}, "", None, True, [[]], {"a": []}] * 30),
    "json-broken": json.dumps(_ROWS)[:-20],
    "json-twice": '{"a": 1, "a": 2, "b": [1, 2, 3]}' * 40,
    "json-string": json.dumps("\n".join(_lines(60))),
    "json-after-shell": "Exit code: 0\nWall time: 0.1 seconds\nOutput:\n" + json.dumps(_ROWS, indent=1),
    "ndjson": "".join(json.dumps(row) + "\n" for row in _ROWS),
    "ndjson-odd": "".join(json.dumps(row) + "\n" for row in _ROWS[:20]) + "oops\n{}\n",
    "csv": "id,name,weight\n" + "".join(f"{n},{a},{n * 3}\n" for n, a in enumerate(_WORDS * 6)),
    "csv-quoted": 'id,"na ""me""",note\r\n' + "".join(f'{n},"{a},\n{a}",x\r\n' for n, a in enumerate(_WORDS * 4)),
    "csv-two": "name;count\n" + "".join(f"{a};{n}\n" for n, a in enumerate(_WORDS * 8)),
    "tsv": "name\tcount\tplace\n" + "".join(f"{a}\t{n}\tquay\n" for n, a in enumerate(_WORDS * 8)),
    "xml": "<?xml version='1.0'?>\n<items>\n"
    + "".join(f"  <i id='{n}'><n>{a}</n><e/></i>\n" for n, a in enumerate(_WORDS * 4))
    + "</items>",
    "xml-mixed": "<a><!-- note --><![CDATA[x < y]]>text &amp; more" + '<b k=">">bold</b> tail' * 40 + "<?pi x?></a>",
    "xml-deep": "".join(f"<l{n}>" for n in range(40)) + "core" * 60 + "".join(f"</l{n}>" for n in reversed(range(40))),
    "xml-names": "<r xmlns:x='u'>" + "<x:c a='1' b=\"2\">t</x:c>" * 50 + "</r>",
    "xml-broken": "<items>" + "<i>x</i>" * 60,
    "html": "<!DOCTYPE html><html><head><title>t</title></head><body>" + "<p>one<br>two" * 50 + "</body></html>",
    "log": "\n".join(_LOG) + "\n",
    "log-errors": "\n".join(
        [*_LOG[:20], "09:01:00 ERROR crane: stuck", *_LOG[20:], "WARN low tide", "FATAL quay gone"]
    ),
    "log-traces": "\n".join([*_LOG[:12], *_TRACE, *_LOG[12:24], *_TRACE, *_LOG[24:]]) + "\n",
    "log-alike": "\n".join(f"2026-11-02 09:00:{n % 60:02d} DEBUG poll {n} ok" for n in range(120)),
    "log-only-errors": "\n".join(f"ERROR {n} failed: {a}" for n, a in enumerate(_WORDS * 6)),
    "tests": "\n".join(
        ["== test session starts =="]
        + [f"tests/test_{a}.py::test_{n} PASSED" for n, a in enumerate(_WORDS * 5)]
        + ["E   assert 1 == 2", "tests/test_tug.py:9: AssertionError", "1 failed, 59 passed in 2.1s"]
    ),
    "python": '"""Doc."""\nimport os\n\n\n'
    + "".join(
        f'@wrap\ndef {a}_{n}(x: int) -> int:\n    """{a}."""\n    return x + {n}\n\n\n'
        for n, a in enumerate(_WORDS * 2)
    ),
    "python-classes": "".join(
        f'class {a.title()}{n}:\n    """{a}."""\n\n    def go(self):\n        pass\n\n'
        "    async def stay(self):\n        return 1\n\n"
        for n, a in enumerate(_WORDS)
    ),
    "javascript": "".join(
        f"export async function {a}{n}(x) {{\n  // {a}\n  return x;\n}}\n\nconst {a}_{n} = () => 1;\n"
        for n, a in enumerate(_WORDS)
    ),
    "java": "package q;\npublic class Q {\n"
    + "".join(f"    private static int {a}{n}(int x) {{\n        return x;\n    }}\n" for n, a in enumerate(_WORDS * 2))
    + "}\n",
    "go": "package q\n\n"
    + "".join(
        f"// {a}.\nfunc (q *Q) {a.title()}{n}(x int) (int, error) {{\n\treturn x, nil\n}}\n\n"
        for n, a in enumerate(_WORDS)
    ),
    "rust": "".join(
        f"/// {a}\npub fn {a}_{n}(x: u8) -> u8 {{\n    x\n}}\n\nimpl {a.title()} {{}}\n" for n, a in enumerate(_WORDS)
    ),
    "numbered": "".join(f"{n:6d}\tdef {a}_{n}(): pass\n" for n, a in enumerate(_WORDS * 6, 1)),
    "diff": "".join(
        f"diff --git a/{a}.py b/{a}.py\nindex 1..2 100644\n--- a/{a}.py\n+++ b/{a}.py\n"
        f"@@ -{n},3 +{n},4 @@ def {a}\n a\n-b\n+c\n+d\n e\n"
        for n, a in enumerate(_WORDS, 1)
    ),
    "diff-plain": "--- a\n+++ b\n" + "".join(f"@@ -{n},2 +{n},2 @@\n-x{n}\n+y{n}\n" for n in range(1, 60, 3)),
    "grep": "".join(f"src/{a}.py:{n}:    return {a}({n})\n" for n, a in enumerate(_WORDS * 5, 1)),
    "grep-files": "".join(f"src/{a}.py\n{n}:def {a}():\n{n + 3}:    {a}()\n\n" for n, a in enumerate(_WORDS * 2, 1)),
    "listing": "total 99\n"
    + "".join(f"-rw-r--r-- 1 me me {n * 37} Nov  2 09:00 {a}_{n}.py\n" for n, a in enumerate(_WORDS * 4)),
    "paths": "".join(
        f"./src/{a}/{b}/file_{n}.py\n" for n, (a, b) in enumerate(zip(_WORDS * 5, _WORDS[::-1] * 5, strict=True))
    ),
    "markdown": "".join(f"# {a}\n\nSome *text* about {a} {n}.\n\n- one\n- two\n\n" for n, a in enumerate(_WORDS * 2)),
    "notices": "\n".join(
        [*_lines(20), "... [3 lines omitted] ...", "[Artifact: art_1700000000_" + "x" * 22 + "]", *_lines(20)]
    ),
    "notice-like": "[12 lines omitted]\n[4 items omitted]\n... and 3 more\n" * 30,
}
