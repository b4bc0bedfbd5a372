"""Makes the page's copy of Preact and htm: `python -m docs.vendor FOLDER`, where `npm pack preact htm` was unpacked.

One file instead of three spares two requests before the first content. Two things differ from the packages: the
imports between them are calls, and the one sink of markup is taken out, so that a page of ours cannot reach it.
"""

import json
import re
import sys
from pathlib import Path

PAGE = Path(__file__).parents[1] / "src" / "keepwhole" / "apps" / "inspector" / "page"
TARGET = PAGE / "vendor"
_SINK = re.compile(
    r"\(\w+\|\|\w+&&\(\w+\.__html==\w+\.__html\|\|\w+\.__html==\w+\.innerHTML\)\|\|\(\w+\.innerHTML=\w+\.__html\),"
)
_EXPORTS = re.compile(r"export\{([^}]*)\};?\s*(//# sourceMappingURL=.*)?\s*$")


def vendored(folder: Path) -> str:
    """The three packages as one module."""
    preact = inert((folder / "preact/dist/preact.mjs").read_text(encoding="utf-8"))
    hooks = (folder / "preact/hooks/dist/hooks.mjs").read_text(encoding="utf-8")
    htm = (folder / "htm/dist/htm.mjs").read_text(encoding="utf-8")
    hooks = hooks.replace('import{options as n}from"preact";', "const n=preact.options;", 1)
    htm, found = re.subn(r"export default ?", "return ", htm)
    if found != 1 or "import" in hooks:
        raise SystemExit("The packages are not what they were. Look at them, then fix docs/vendor.py.")
    names = ["h", "render", "Component", "Fragment"]
    used = ["useState", "useEffect", "useLayoutEffect", "useMemo", "useRef", "useCallback", "useErrorBoundary"]
    return (
        f"// {title(folder, 'preact')} and {title(folder, 'htm')}. Made by docs/vendor.py; licences in LICENSES.\n"
        f"const preact = (() => {{ {scoped(preact)} }})();\n"
        f"const hooks = (() => {{ {scoped(hooks)} }})();\n"
        f"const htm = (() => {{ {htm.strip()} }})();\n"
        f"export const {{ {', '.join(names)} }} = preact;\n"
        f"export const {{ {', '.join(used)} }} = hooks;\n"
        "export const html = htm.bind(preact.h);\n"
    )


def inert(preact: str) -> str:
    """Without the branch that sets markup; what asked for it is left empty."""
    text, found = _SINK.subn("(", preact)
    if found != 1 or "innerHTML" in text:
        raise SystemExit("Preact sets markup in another way than it did. Look at it, then fix docs/vendor.py.")
    return text


def scoped(module: str) -> str:
    """A module's text that returns its exports."""
    exports = _EXPORTS.search(module)
    if exports is None:
        raise SystemExit("A module of Preact has no list of exports at its end.")
    pairs = [each.split(" as ") for each in exports.group(1).split(",")]
    return f"{module[: exports.start()]} return {{ {', '.join(f'{pair[-1]}: {pair[0]}' for pair in pairs)} }};"


def title(folder: Path, package: str) -> str:
    """Its name, version and licence."""
    about = json.loads((folder / package / "package.json").read_text(encoding="utf-8"))
    return f"{about['name']} {about['version']} ({about['license']})"


def licences(folder: Path) -> str:
    """Both, as they are in the packages."""
    each = [
        (title(folder, name), (folder / name / "LICENSE").read_text(encoding="utf-8")) for name in ("preact", "htm")
    ]
    return "\n\n".join(f"{name}\n{'=' * len(name)}\n\n{text.strip()}" for name, text in each) + "\n"


if __name__ == "__main__":
    source = Path(sys.argv[1])
    (TARGET / "preact.js").write_text(vendored(source), encoding="utf-8")
    (TARGET / "LICENSES").write_text(licences(source), encoding="utf-8")
