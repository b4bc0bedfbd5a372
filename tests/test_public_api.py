"""The public face: few names, every one of them documented, and errors that are drawn as a tree."""

import ast
import importlib
import importlib.metadata
import inspect
import pkgutil
import re
import shlex
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

import keepwhole
from keepwhole import errors
from keepwhole.errors import KeepwholeError
from keepwhole.install import install_hint

SOURCE = Path(str(keepwhole.__file__)).parent
PROJECT = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
PINNED = [
    "KeepwholeError",
    "MemoryStore",
    "NotFound",
    "NotStored",
    "Session",
    "SqliteStore",
    "async_http_client",
    "http_client",
    "session",
    "truncate",
]
CALLS = [
    "keep",
    "keep_media",
    "recall",
    "recall_bytes",
    "stream",
    "select",
    "tools",
    "answer",
    "call_tool",
    "verify",
    "end",
    "akeep",
    "akeep_media",
    "arecall",
    "arecall_bytes",
    "astream",
    "aselect",
    "aanswer",
    "acall_tool",
    "averify",
    "aend",
]


def modules() -> list[str]:
    found = [module.name for module in pkgutil.walk_packages(keepwhole.__path__, "keepwhole.")]
    return ["keepwhole", *(name for name in found if not name.endswith("__main__"))]


def imported(name: str) -> ModuleType:
    """A module; the test is skipped where it says which framework must be installed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if not any(install_hint(extra) in str(error) for extra in EXTRAS):
            raise
        pytest.skip(str(error))


def own_names(module: ModuleType) -> dict[str, object]:
    """The public classes and functions that a module defines itself."""
    return {
        name: thing
        for name, thing in vars(module).items()
        if not name.startswith("_")
        and (inspect.isclass(thing) or inspect.isfunction(thing))
        and thing.__module__ == module.__name__
    }


def own_members(kind: type) -> dict[str, object]:
    """The public methods and properties that a class defines itself."""
    return {
        name: member
        for name, member in vars(kind).items()
        if not name.startswith("_")
        and (inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod))
    }


@pytest.mark.parametrize("extra", EXTRAS)
def test_the_hint_for_an_extra_names_packages_that_can_be_installed(extra: str) -> None:
    """Keepwhole itself is in no package index, so a hint that names it could not be followed."""
    pip, install, *needed = shlex.split(install_hint(extra).strip("`"))
    assert (pip, install) == ("pip", "install")
    names = {re.split(r"[\[<>=!~ ]", need)[0].lower() for need in needed}
    declared = {re.split(r"[\[<>=!~ ]", need)[0].lower() for need in EXTRAS[extra]}
    assert names == declared if extra != "all" else len(names) >= 7
    assert "keepwhole" not in names
    assert not any(re.search(r"[;'\"`]", need) for need in needed)


def test_the_hint_of_code_that_is_run_from_its_clone_names_the_clone(monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(name: str) -> list[str]:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.requires", not_installed)
    assert install_hint("proxy") == "`pip install '.[proxy]'`"


def test_only_one_module_says_how_to_install_something() -> None:
    hints = [path for path in SOURCE.rglob("*.py") if re.search(r"pip install .{0,5}keepwhole", path.read_text())]
    assert hints == []


def error_classes() -> list[type[KeepwholeError]]:
    return [thing for thing in vars(errors).values() if inspect.isclass(thing) and issubclass(thing, KeepwholeError)]


def test_the_public_names_are_these_and_no_others() -> None:
    assert keepwhole.__all__ == PINNED
    assert len(PINNED) <= 10
    assert all(hasattr(keepwhole, name) for name in PINNED)


@pytest.mark.parametrize("call", CALLS)
def test_a_session_has_the_calls_that_are_promised(call: str) -> None:
    assert callable(getattr(keepwhole.Session, call))


def test_the_version_is_one_that_can_be_compared() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", keepwhole.__version__)


@pytest.mark.parametrize("name", modules())
def test_every_public_name_has_a_docstring(name: str) -> None:
    module = imported(name)
    assert module.__doc__
    for own, thing in own_names(module).items():
        assert inspect.getdoc(thing), f"{name}.{own} has no docstring"
        if inspect.isclass(thing):
            assert thing.__doc__ is not None
            for member, value in own_members(thing).items():
                assert inspect.getdoc(value), f"{name}.{own}.{member} has no docstring"


def drawn_parents() -> dict[str, str]:
    """Every error of the drawing and what it hangs on."""
    parents: dict[str, str] = {}
    above: dict[int, str] = {}
    for line in str(errors.__doc__).splitlines():
        found = re.match(r"^([│├└─ ]*)([A-Z]\w+)(?:  .*)?$", line)
        if found and (found[1] or not parents):
            depth = len(found[1]) // 4
            above[depth] = found[2]
            parents[found[2]] = above.get(depth - 1, "")
    return parents


def test_every_error_is_drawn_where_it_hangs() -> None:
    assert drawn_parents() == {
        error.__name__: "" if error is KeepwholeError else error.__bases__[0].__name__ for error in error_classes()
    }


def test_every_error_tells_the_model_something() -> None:
    for error in error_classes():
        assert error("what happened").for_model.endswith(".")
        assert error("what happened", "say this").for_model == "say this"
        assert str(error("what happened")) == "what happened"


def test_no_error_is_raised_that_nobody_could_tell_apart() -> None:
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
                raised, at = node.exc.func.id, f"{path}:{node.lineno}"
                assert raised not in ("Exception", "BaseException", "RuntimeError"), at
                has_words = raised[0].islower() or node.exc.args or node.exc.keywords  # or it is a function that has
                assert has_words, f"{at} raises without a message"
