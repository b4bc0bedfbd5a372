"""The shape of the source: small, documented, named after what it does, and quiet when it is imported."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import keepwhole
from bench import structure

SOURCE = Path(str(keepwhole.__file__)).parent
MODULES = structure.read_modules(SOURCE)
LONGEST_FILE = 600
LONGEST_FUNCTION = 60


def test_every_file_says_what_it_is_for() -> None:
    assert [name for name, module in MODULES.items() if not ast.get_docstring(module.tree)] == []


def test_no_file_is_too_long_to_read() -> None:
    assert [name for name, module in MODULES.items() if len(module.text.splitlines()) > LONGEST_FILE] == []


def test_no_function_has_to_be_scrolled() -> None:
    functions = ((name, function) for name, module in MODULES.items() for function in module.functions)
    long = [f"{name}:{it.name}" for name, it in functions if (it.end_lineno or 0) - it.lineno >= LONGEST_FUNCTION]
    assert long == []


def test_no_file_or_folder_is_a_drawer_for_everything() -> None:
    words = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "base", "v2", "legacy"}
    names = [part for name in MODULES for part in name.split(".")]
    assert [name for name in names if set(name.split("_")) & words] == []


def test_the_tests_open_with_a_docstring_of_one_line_too() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not text or text.startswith(('"""', 'r"""')), path


QUIET = """
import os, sys, threading
seen = []
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
def watch(event, args):
    if event == "open" and isinstance(args[2], int) and args[2] & WRITING:
        seen.append(f"open {args[0]}")
    elif event.startswith(("socket.", "subprocess.", "os.fork", "os.system", "os.mkdir", "os.rename", "os.remove")):
        seen.append(event)
    elif event in ("_thread.start_new_thread", "sqlite3.connect", "urllib.Request"):
        seen.append(event)
sys.addaudithook(watch)
import keepwhole
session = keepwhole.session()
seen.extend(thread.name for thread in threading.enumerate()[1:])
print(seen)
print(sorted(name for name in ("asyncio", "socket", "ssl", "multiprocessing", "http", "yaml") if name in sys.modules))
"""


def test_importing_starts_no_thread_writes_nothing_and_opens_no_socket(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(tmp_path)}
    environ.pop("KEEPWHOLE_HOME")
    command = [sys.executable, "-c", QUIET]
    done = subprocess.run(command, capture_output=True, text=True, env=environ, cwd=tmp_path, check=True)
    assert done.stdout.splitlines() == ["[]", "[]"]
    assert list(tmp_path.iterdir()) == []
    assert done.stderr == ""


CORE = frozenset(
    f"keepwhole.{name}"
    for name in (
        "canonical",
        "conversation",
        "exchange",
        "models",
        "policies",
        "recall",
        "record",
        "session",
        "store",
        "transfer",
        "truncation",
        "wire",
    )
)
MOST_IMPORTS = 20
DIALECTS = frozenset(("anthropic", "openai_chat", "openai_responses"))
DOCUMENTED = ("record", "conversation", "exchange", "policies", "truncation", "store.protocol")
VALUE_BASES = frozenset(("Protocol", "Value", "NamedTuple", "TypedDict", "Struct"))

# Exceptions that existed when each rule was made. A list may only become shorter: remove an entry when you fix it.
GERUNDS: frozenset[str] = frozenset()
MIXINS = frozenset(("keepwhole.store.sql_store:SqlStore",))
SHARED_NAMES = frozenset(
    (
        "SessionLocks",
        "Table",
        "TextIndex",
    )
)
DIALECT_COMPARISONS = frozenset(("keepwhole.apps.wrap.opencode",))
UNDOCUMENTED_NAMES = """
    Added AnswerFacts Appended Arriving Auto AutoSettings BilledRequest Capped Carried Changes
    ChecksBlobs Children ChosenUnits ClearToolUses CollectsOrphans Draft EarlierRequest HalfWatermark
    HasResultFiles Imported Inserted InvalidCut JsonCut LoggedAnswer
    ManifestPieces Masked Match NotXml Numbered Passages Pruned RecordedSummary ReferenceIndex
    RequestPart ResultPointer Retention RetentionSettings Rolling Row SessionInfo SharesSecrets
    ShowsArrivals StoredBody StrategyOptions SummaryDraft Tags Terms TextSource ToolOverride TreeCut
    Truncation Watchable WholePart XmlCut
    """
UNDOCUMENTED = frozenset(UNDOCUMENTED_NAMES.split())


def within(name: str, packages: Iterable[str]) -> bool:
    """Whether a module is one of these packages or in one of them."""
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def gerunds() -> set[str]:
    names = {Path(path).name for path in structure.gerund_files(MODULES.values())}
    return names - {"rolling.py", "testing.py"}


def busy() -> dict[str, int]:
    counts = {name: len(structure.own_imports(module, MODULES)) for name, module in MODULES.items()}
    return {name: count for name, count in counts.items() if count > MOST_IMPORTS}


def mixins() -> set[str]:
    """Classes that declare an attribute which they do not set, by module and name."""
    found: set[str] = set()
    for module in MODULES.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef) and not is_value(node):
                declared = {
                    part.target.id
                    for part in node.body
                    if isinstance(part, ast.AnnAssign) and part.value is None and isinstance(part.target, ast.Name)
                }
                if declared - attributes_set_in(node):
                    found.add(f"{module.name}:{node.name}")
    return found


def is_value(node: ast.ClassDef) -> bool:
    """Whether the annotations of a class are its fields: by its bases, those of its own package's bases included."""
    names = {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
    is_dataclass = any("dataclass" in ast.unparse(decorator) for decorator in node.decorator_list)
    return is_dataclass or bool(names & value_classes())


@cache
def value_classes() -> set[str]:
    """The names of all classes that are values, because a class above them is."""
    bases = {
        node.name: {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        for module in MODULES.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    found = set(VALUE_BASES)
    while more := {name for name, above in bases.items() if above & found and name not in found}:
        found |= more
    return found


def attributes_set_in(node: ast.ClassDef) -> set[str]:
    """The attributes of `self` that any method of a class assigns."""
    return {
        part.attr
        for part in ast.walk(node)
        if isinstance(part, ast.Attribute)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id in ("self", "cls")
    }


def shared_names() -> set[str]:
    return set(structure.repeated_classes(module for name, module in MODULES.items() if within(name, CORE)))


def dialect_comparisons() -> set[str]:
    """Modules outside `wire` that compare something with the name of a dialect."""
    return {
        name
        for name, module in MODULES.items()
        if not within(name, ("keepwhole.wire",))
        and any(
            isinstance(part, ast.Constant) and part.value in DIALECTS
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Compare)
            for part in ast.walk(node)
        )
    }


def undocumented() -> set[str]:
    """Public classes of the middle packages that neither the glossary nor the API reference names."""
    docs = Path(__file__).parent.parent / "docs"
    pages = [*docs.glob("glossary.md"), *docs.glob("reference/glossary.md"), *docs.glob("reference/api*.md")]
    text = "\n".join(page.read_text(encoding="utf-8") for page in pages)
    words = {line.split("|")[1].strip().strip("`").lower() for line in text.splitlines() if line.startswith("| ")}
    packages = [f"keepwhole.{name}" for name in DOCUMENTED]
    classes = {one for name, module in MODULES.items() if within(name, packages) for one in module.public_classes}
    return {one for one in classes if not re.search(rf"\b{one}\b", text) and spoken(one) not in words}


def spoken(name: str) -> str:
    """A class name as words: `RequestLog` is `request log`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()


def test_no_file_is_named_by_what_happens_in_it() -> None:
    assert gerunds() - GERUNDS == set()


def test_no_module_imports_half_of_the_source() -> None:
    assert busy() == {}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: structure.own_imports(module, MODULES, lazy=False) for name, module in MODULES.items()}
    assert structure.knots(graph) == []


def test_no_class_declares_attributes_that_it_does_not_set() -> None:
    assert mixins() - MIXINS == set()


def test_a_public_class_of_the_core_has_its_name_for_itself() -> None:
    assert shared_names() - SHARED_NAMES == set()


def test_only_the_wire_asks_which_dialect_it_is() -> None:
    assert dialect_comparisons() - DIALECT_COMPARISONS == set()


def test_every_public_class_of_the_middle_is_in_the_glossary_or_the_reference() -> None:
    assert undocumented() - UNDOCUMENTED == set()


def test_no_exception_is_listed_that_is_needed_no_longer() -> None:
    """Remove from the lists above what this names."""
    stale = {
        "GERUNDS": GERUNDS - gerunds(),
        "MIXINS": MIXINS - mixins(),
        "SHARED_NAMES": SHARED_NAMES - shared_names(),
        "DIALECT_COMPARISONS": DIALECT_COMPARISONS - dialect_comparisons(),
        "UNDOCUMENTED": UNDOCUMENTED - undocumented(),
    }
    assert {name: sorted(those) for name, those in stale.items() if those} == {}


def test_where_do_i_change_x_is_short_and_names_what_exists() -> None:
    text = Path("ARCHITECTURE.md").read_text(encoding="utf-8")
    rows = [line for line in text.partition("## Where do I change X?")[2].splitlines() if line.startswith("| ")][1:]
    assert 30 < len(rows) <= 40
    named = {name for row in rows for name in re.findall(r"`([\w./-]+)`", row) if "/" in name or name.endswith(".py")}
    places = {name for name in named if (Path("src/keepwhole") / name).exists() or Path(name).exists()}
    assert named - places == {"stream.py"}  # each dialect has one


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before Python 3.11.5 `(?:ab?c)*+` matches wrongly (gh-106052); `(?>(?:ab?c)*)` means the same."""
    possessive = re.compile(r"\)(?:[*+?]|\{[\d,]*\})\+")
    lines = ((name, line) for name, module in MODULES.items() for line in module.text.splitlines())
    assert [f"{name}: {line.strip()}" for name, line in lines if possessive.search(line)] == []
