"""The page as one file that needs no server: its style, its code and the answers it would ask for, in one HTML text.

Owns: how the page's modules become one script, and the policy that lets a browser run that script and nothing else.
Must not know: what the answers say.

A module becomes a function that returns its exports and runs when it is first needed; the page's code uses only these
forms: `import { a } from "./b.js";`, `export const a = …`, `export class A`, `export default …`, `export { a } from …`
and `import("./b.js")`. The script and the style are named in the policy by their hashes, so text of a tool that came
into the file cannot run, whatever it contains.
"""

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

import msgspec

_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./([^"]+)";$', re.M)
_FORWARD = re.compile(r'^export \{([^}]*)\} from "\./([^"]+)";$', re.M)
_NAMED = re.compile(r"^export (const|class|function) (\w+)", re.M)
_SEVERAL = re.compile(r"^export const \{([^}]*)\}", re.M)
_DEFAULT = re.compile(r"^export default ", re.M)
_LATER = re.compile(r'\bimport\("\./([^"]+)"\)')
_START = "app.js"
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<div id="app"><p class="waiting">Opening …</p></div>
<p id="said" class="aside" role="status" aria-live="polite"></p>
<script type="application/json" id="record">{record}</script>
<script>{script}</script>
</body>
</html>
"""


def page_of(record: Mapping[str, Any], title: str) -> bytes:
    """The page with a record in it."""
    folder = files("keepwhole.apps.inspector") / "page"
    style = (folder / "style.css").read_text(encoding="utf-8")
    script = _script(dict(_modules(folder)))
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; img-src data:; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    data = msgspec.json.encode(record).decode().replace("<", "\\u003c")
    plain = re.sub(r"[^\w .,:-]", " ", title)[:120]
    return _PAGE.format(policy=policy, title=plain, style=style, record=data, script=script).encode("utf-8", "replace")


def _modules(folder: Traversable, before: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _modules(entry, f"{before}{entry.name}/")
        elif entry.name.endswith(".js"):
            yield before + entry.name, entry.read_text(encoding="utf-8")


def _script(modules: Mapping[str, str]) -> str:
    made = "\n".join(
        f"define[{name!r}] = () => {{\n{_as_function(text)}\n}};" for name, text in sorted(modules.items())
    )
    start = "const load = (name) => (loaded[name] ??= define[name]());"
    return f'"use strict";\n{{\nconst define = {{}}, loaded = {{}};\n{start}\n{made}\nload({_START!r});\n}}\n'


def _as_function(text: str) -> str:
    """The body of the function that a module becomes."""
    names: list[str] = []
    for found in (*_SEVERAL.finditer(text), *_FORWARD.finditer(text)):
        names += [name.strip() for name in found[1].split(",")]
    names += [found[2] for found in _NAMED.finditer(text)]
    text = _IMPORT.sub(r'const {\1} = load("\2");', _FORWARD.sub(r'const {\1} = load("\2");', text))
    text = _NAMED.sub(r"\1 \2", _SEVERAL.sub(r"const {\1}", text))
    if _DEFAULT.search(text):
        text = _DEFAULT.sub("const _default = ", text)
        names.append("default: _default")
    text = _LATER.sub(r'Promise.resolve().then(() => load("\1"))', text)
    return f"{text}\nreturn {{ {', '.join(names)} }};"


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
