"""Which session and which result a command means, by its options, the environment and the folder."""

import argparse
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole import Session
from keepwhole.apps.cli.command_context import CommandContext, add_options, add_part, refuse_together
from keepwhole.errors import NotFound, UsageError
from tests.build import NOON


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("KEEPWHOLE_")]:
        monkeypatch.delenv(name)
    for folder in ("user", "work/inner", "workshop"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


Opened = Callable[..., CommandContext]


@pytest.fixture
def context(home: Path) -> Iterator[Opened]:
    """Opens contexts as commands do, and closes them."""
    opened: list[CommandContext] = []

    def open_context(session: str | None = None, **options: Any) -> CommandContext:
        opened.append(CommandContext(argparse.Namespace(config=None, session=session), **options))
        return opened[-1]

    yield open_context
    for one in opened:
        one.close()


def keep(home: Path, *names: str, workspace: str | None = None, first: int = 0) -> list[str]:
    """Keep a result in each session, one after the other; return their trace ids."""
    kept: list[str] = []
    for number, name in enumerate(names, first):
        own = None if workspace is None else str(home / workspace)
        store = str(home / "user" / ".keepwhole")
        with Session(name, store=store, workspace=own, clock=lambda number=number: NOON + number) as session:
            kept.append(session.keep("t", {}, "x").trace_id)
    return kept


def test_without_a_session_the_command_says_how_to_begin(home: Path, context: Opened) -> None:
    with pytest.raises(NotFound, match=r"^There is no session in `.*/user/\.keepwhole` yet\. Keep something first"):
        context().current_session()


def test_the_newest_session_of_the_folder_is_meant_else_the_newest(home: Path, context: Opened) -> None:
    keep(home, "old", "elsewhere", workspace="workshop")
    assert context().current_session().name == "elsewhere"
    keep(home, "here", workspace="work", first=-2)
    assert context().current_session().name == "here"
    os.chdir(home / "work" / "inner")
    assert context().current_session().name == "here"
    keep(home, "inner", workspace="work/inner", first=-3)
    assert context().current_session().name == "here"
    os.chdir(home / "workshop")
    assert context().current_session().name == "elsewhere"


def test_an_option_counts_before_the_variable_and_that_before_the_folder(
    home: Path, context: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(home, "one", "two", "three")
    monkeypatch.setenv("KEEPWHOLE_SESSION", "two")
    assert context().current_session().name == "two"
    assert context("one").current_session().name == "one"


@pytest.mark.parametrize(
    ("asked", "name"),
    [("alpha", "alpha"), ("alp", None), ("b", "beta@owner"), ("beta", "beta@owner"), ("gamma", "gamma@x"), ("z", None)],
)
def test_a_session_is_known_by_its_name_or_a_beginning_that_no_other_has(
    home: Path, context: Opened, asked: str, name: str | None
) -> None:
    keep(home, "alpha", "alpha2", "beta@owner", "gamma@x", "gamma2@y")
    if name is not None:
        assert context().find_session(asked).name == name
        return
    words = "Several sessions begin with `alp`." if asked == "alp" else "No session is named `z`."
    with pytest.raises(NotFound, match=words):
        context().find_session(asked)


def test_several_owners_of_one_name_are_told_apart(home: Path, context: Opened) -> None:
    keep(home, "p@one", "p@two", "p")
    assert context().find_session("p").name == "p"
    assert context().find_session("p@t").name == "p@two"
    keep(home, "q@one", "q@two")
    with pytest.raises(NotFound, match="Several sessions begin with `q`"):
        context().find_session("q")


def test_a_result_is_found_in_the_session_asked_for_else_anywhere(home: Path, context: Opened) -> None:
    first, second = keep(home, "one", "two")
    assert context().find_result(first).session == "one"
    assert context().find_result(second).session == "two"
    assert context("two").find_result(second).session == "two"
    for asked, missing in (("two", first), (None, "x" * 81), ("none", first)):
        with pytest.raises(NotFound, match=rf"^No result has the id `{missing[:80]}` here\. List them with"):
            context(asked).find_result(missing)
    assert context().session_with("result", second) == "two"
    assert context("one").session_with("result", second) is None
    assert context().session_with("decision", second) is None


def test_a_shell_session_is_that_of_the_project_or_of_the_folder(home: Path, context: Opened) -> None:
    def name(**options: Any) -> tuple[str, str | None]:
        session = context(**options).shell_session()
        session.keep("t", {}, "x")
        info = session.store.session(session.id)
        assert info is not None
        return info.name, info.workspace

    def of(folder: str) -> str:
        return "shell-" + hashlib.sha256(str(home / folder).encode()).hexdigest()[:10]

    assert name() == (of("work"), str(home / "work"))
    assert name(home=str(home / "work" / ".keepwhole")) == ("shell", str(home / "work"))
    os.chdir(home / "work" / "inner")
    assert name(home=str(home / "work" / ".keepwhole")) == ("shell", str(home / "work"))
    assert name(home=str(home / "workshop" / ".keepwhole")) == (of("work/inner"), str(home / "work" / "inner"))
    assert name(home=str(home / "work" / "record")) == (of("work/inner"), str(home / "work" / "inner"))
    assert name(session="mine", home=str(home / "work" / ".keepwhole"))[0] == "mine"
    os.chdir(home / "user")
    assert name() == (of("user"), str(home / "user"))


def test_options_that_contradict_each_other_are_refused() -> None:
    refuse_together(argparse.Namespace(all=True, dry_run=False), "all", "dry-run")
    refuse_together(argparse.Namespace(all=False, dry_run=True), "all", "dry-run")
    with pytest.raises(UsageError, match=r"^`--all` and `--dry-run` contradict each other\. Leave one of them out\.$"):
        refuse_together(argparse.Namespace(all=True, dry_run=True), "all", "dry-run")


def test_commands_share_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    add_part(parser)
    assert vars(parser.parse_args([])) == {
        **{"config": None, "json": False, "session": None, "lines": None, "chars": None},
    }
    assert parser.parse_args(["--json"]).json is True
    with pytest.raises(SystemExit):
        parser.parse_args(["--lines", "1-2", "--chars", "1-2"])
    assert "not allowed with argument" in capsys.readouterr().err
    bare = argparse.ArgumentParser()
    add_options(bare, session=False)
    assert not hasattr(bare.parse_args([]), "session")
