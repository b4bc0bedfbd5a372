"""The shape of the source: small, documented, named after what it does, and quiet when it is imported."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import keepwhole

SOURCE = Path(str(keepwhole.__file__)).parent
FILES = sorted(SOURCE.rglob("*.py"))
LONGEST_FILE = 450
LONGEST_FUNCTION = 60
TEXTS = {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in FILES}


def test_every_file_says_what_it_is_for() -> None:
    assert [name for name, text in TEXTS.items() if not ast.get_docstring(ast.parse(text))] == []


def test_no_file_is_too_long_to_read() -> None:
    assert [name for name, text in TEXTS.items() if len(text.splitlines()) > LONGEST_FILE] == []


def test_no_function_has_to_be_scrolled() -> None:
    functions = (
        (name, node)
        for name, text in TEXTS.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    long = [f"{name}:{it.name}" for name, it in functions if (it.end_lineno or 0) - it.lineno >= LONGEST_FUNCTION]
    assert long == []


def test_no_file_or_folder_is_a_drawer_for_everything() -> None:
    words = {"util", "utils", "helper", "helpers", "common", "misc", "manager", "base", "v2", "legacy"}
    names = [part for path in FILES for part in path.relative_to(SOURCE).with_suffix("").parts]
    assert [name for name in names if set(name.split("_")) & words] == []


def test_the_tests_open_with_a_docstring_of_one_line_too() -> None:
    for path in Path(__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if text:
            assert ast.get_docstring(ast.parse(text)), path


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
