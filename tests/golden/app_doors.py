"""The doors into the applications: the command line in this process, and the answers of the page over the record.

Owns: a terminal, a clock, chance and a folder of their own for commands. After a rename, edit this file and `doors`.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from unittest.mock import patch

from keepwhole import config
from keepwhole.apps.cli.main import COMMANDS, GROUPS, main
from keepwhole.apps.cli.parser import parser_for
from keepwhole.apps.inspector import services
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.routes import find_route
from keepwhole.apps.inspector.sample import play
from keepwhole.errors import KeepwholeError
from keepwhole.replay.samples.files import write_samples as sample_logs
from keepwhole.version import VERSION
from tests.golden.doors import Clock, drawn, plain, seeded
from tests.golden.doors import folder as doors_folder

__all__ = [
    "COMMANDS",
    "FOLDER",
    "SAMPLE",
    "VERSION",
    "CommandLine",
    "Page",
    "command_line",
    "options_of",
    "page",
    "read_settings",
    "sample_logs",
    "sample_record",
    "setting_names",
    "tombstones",
]
SAMPLE = "sample-harbour"
FOLDER = config.FOLDER


class _Terminal(io.TextIOWrapper):
    """A stream that commands take for a terminal, or not."""

    is_terminal = False

    def isatty(self) -> bool:
        """Whether somebody looks."""
        return self.is_terminal


def _stream(data: Any, is_terminal: bool) -> _Terminal:
    stream = _Terminal(data, encoding="utf-8", newline="", write_through=True)
    stream.is_terminal = is_terminal
    return stream


class CommandLine:
    """`keepwhole` in a folder."""

    def __init__(self, folder: str, clock: Clock) -> None:
        self.folder, self.clock = folder, clock

    def __call__(self, *words: str, given: bytes = b"", is_terminal: bool = False) -> dict[str, Any]:
        """Run a command; gives how it ended and what it printed. Progress, which takes time to be shown, is not."""
        self.clock.tick(1.0)
        out, err = io.BytesIO(), io.BytesIO()
        with tempfile.TemporaryFile() as typed:
            typed.write(given)
            typed.seek(0)
            streams = [_stream(typed, is_terminal), _stream(out, is_terminal), _stream(err, False)]
            with patch.multiple(sys, **dict(zip(("stdin", "stdout", "stderr"), streams, strict=True))):
                code = _exit_code(words)
            for stream in streams[1:]:
                stream.detach()
        printed = [data.getvalue().decode("utf-8", "surrogateescape") for data in (out, err)]
        return {"code": code, "out": printed[0], "err": printed[1]}

    def json(self, *words: str, given: bytes = b"") -> Any:
        """What a command prints for programs."""
        return json.loads(self(*words, "--json", given=given)["out"])


def _home(folder: str) -> str:
    """The record of the folder in which commands run: so its session is not named by the path, which always differs."""
    return os.path.join(folder, "work", config.FOLDER)


def _exit_code(words: Sequence[str]) -> Any:
    try:
        return main(list(words))
    except SystemExit as left:
        return left.code


@contextmanager
def command_line(folder: str, seed: str) -> Iterator[CommandLine]:
    """The command line in a folder, at a fixed time, in a fixed zone and width."""
    clock, work = Clock(), os.path.join(folder, "work")
    os.makedirs(work, exist_ok=True)
    before = os.getcwd()
    environment = {"HOME": folder, "KEEPWHOLE_HOME": _home(folder), "TZ": "UTC", "COLUMNS": "100"}
    with ExitStack() as stack:
        stack.enter_context(patch.dict(os.environ, environment))
        stack.enter_context(drawn(clock, seed))
        for place, name, value in (
            (time, "time", clock),
            (os, "urandom", seeded(f"{seed}/more")),
        ):
            stack.enter_context(patch.object(place, name, value))
        stack.callback(os.chdir, before)
        time.tzset()
        os.chdir(work)
        yield CommandLine(folder, clock)
    time.tzset()


def sample_record(folder: str, clock: Clock, bugs: int = 4) -> None:
    """Play the made-up session into the record of a folder."""
    settings = config.load(home=_home(folder), environ={})
    store = config.open_record(settings)
    try:
        play(settings, store, clock(), bugs)
    finally:
        store.close()


def tombstones(folder: str) -> Any:
    """What is left in the record of a folder of sessions that were purged."""
    store = config.open_record(config.load(home=_home(folder), environ={}))
    try:
        return plain(store.tombstones())
    finally:
        store.close()


class Page:
    """The answers of the page over the record of a folder."""

    def __init__(self, folder: str) -> None:
        settings = config.load(home=_home(folder), environ={})
        self._store = config.open_record(settings)
        self._services = services.InspectorServices(settings, self._store)

    def __call__(
        self, path: str, query: Mapping[str, str] | None = None, given: Mapping[str, Any] | None = None
    ) -> Any:
        """Ask for an address, as the page does."""
        found = find_route("GET" if given is None else "POST", path)
        if isinstance(found, int):
            return found
        route, names = found
        asked = PageRequest(names, query or {}, given or {})
        try:
            if route.answer == "play":
                return plain(self._services.what_if.compare(asked.session, asked.given, lambda share, words: None))
            assert not isinstance(route.answer, str)
            return plain(route.answer(self._services, asked))
        except KeepwholeError as error:
            return plain(error)

    def close(self) -> None:
        """Close the record."""
        self._services.close()
        self._store.close()


@contextmanager
def page(folder: str) -> Iterator[Page]:
    """The page."""
    with closing(Page(folder)) as opened:
        yield opened


def options_of(command: str) -> list[Any]:
    """Every option of a command and of its actions, as the parser has it."""
    return _options(parser_for(command, GROUPS), [])


def _options(parser: argparse.ArgumentParser, path: list[str]) -> list[Any]:
    found: list[Any] = []
    for action in parser._actions:
        if action.dest in ("help", "version"):
            continue  # Python's own
        if isinstance(action, argparse._SubParsersAction):
            for name, own in action.choices.items():
                found += _options(own, [*path, name])
            continue
        kind = getattr(action.type, "__name__", None)
        about = [action.dest, action.option_strings, type(action).__name__, action.nargs, repr(action.const), kind]
        choices = None if action.choices is None else [str(each) for each in action.choices]
        found.append([path, *about, repr(action.default), choices, action.required, str(action.metavar)])
    acts = parser.get_default("act")
    return [*found, [path, getattr(acts, "__name__", None)]]


def setting_names() -> list[str]:
    """The settings, but for those that name places."""
    names = [name for name, _, _ in config.flattened(config.load(home="/golden/home", environ={}))]
    return [name for name in names if name not in ("home", "store", "blobs")]


def read_settings(text: str, name: str = "", environment: Mapping[str, str] | None = None) -> Any:
    """All settings that a file gives, or one of them with its source; or why it is refused."""
    with doors_folder() as place:
        path = os.path.join(place, "settings.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        try:
            found = config.load(path, environ={"HOME": place, **(environment or {})}, folder=place, home="/golden/home")
        except KeepwholeError as error:
            return str(error).replace(place, "/golden/folder")
        rows = [(key, plain(value), source) for key, value, source in config.flattened(found)]
        chosen = [row for row in rows if not name or row[0] == name]
        return json.loads(json.dumps(chosen).replace(place, "/golden/folder"))
