"""The data files of clients: complete, one name each, and every mark is found by its anchor."""

import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import keepwhole.clients
from keepwhole.canonical.guard import is_cleared, truncation_mark
from keepwhole.clients.facts import ClientFacts, ClientFolder
from keepwhole.clients.table import CLIENTS, facts_of

every_client = pytest.mark.parametrize("client", CLIENTS, ids=[client.name for client in CLIENTS])


def test_every_data_file_is_in_the_table() -> None:
    names = [module.name for module in pkgutil.iter_modules(keepwhole.clients.__path__)]
    modules = [importlib.import_module(f"keepwhole.clients.{name}") for name in names]
    found = {value for module in modules for value in vars(module).values() if isinstance(value, ClientFacts)}
    assert found == set(CLIENTS)
    assert len({client.name for client in CLIENTS}) == len(CLIENTS)
    assert [facts_of(client.name) for client in CLIENTS] == list(CLIENTS)


@every_client
def test_headers_are_written_as_requests_are_read_in_lower_case(client: ClientFacts) -> None:
    headers = (*client.session_headers, client.agent_header, client.metadata_header)
    assert [header for header in headers if header != header.lower()] == []


@every_client
def test_the_anchor_of_a_mark_is_in_every_text_that_its_pattern_matches(client: ClientFacts) -> None:
    for mark in client.cut_marks:
        plain = re.sub(r"\\([\W])", r"\1", mark.pattern).replace(r"\d", "7").replace(r"\b", "")
        assert re.fullmatch(mark.pattern, plain) is not None
        assert mark.anchor in plain == plain.lower()
        assert truncation_mark(f"before {plain} after".encode()) is not None


@pytest.mark.parametrize(
    "text",
    [
        "[Old tool result content cleared]",
        "<MASKED>",
        "[[NOTE] This file read has been removed to save space in the context window. Refer to the latest read.]",
        "Old environment output: (120 lines omitted)",
        "[result cleared to save tokens]",
    ],
)
def test_what_clients_write_in_the_place_of_a_result_is_known(text: str) -> None:
    assert is_cleared(text)
    assert not is_cleared(f"The tool says {text}")


@pytest.mark.parametrize(
    ("folder", "path"),
    [
        (ClientFolder("~"), "/home/me"),
        (ClientFolder("~/.toy", "TOY_HOME"), "/home/me/.toy"),
        (ClientFolder("~/.toy", "TOY_SET", "logs"), "/srv/toy/logs"),
        (ClientFolder("runs"), "/project/runs"),
        (ClientFolder("runs", "TOY_SET"), "/srv/toy"),
    ],
)
def test_a_folder_follows_its_variable_the_home_folder_or_the_project(folder: ClientFolder, path: str) -> None:
    assert folder.path("/home/me", {"TOY_SET": "/srv/toy", "TOY_HOME": ""}, "/project") == path
    assert Path(folder.path("/", {}, "/")).is_absolute()


@pytest.mark.parametrize(
    ("version", "is_untried"),
    [
        ("1.10.2", False),
        ("1.10.3", True),
        ("1.10.2.1", True),
        ("1.11", True),
        ("2", True),
        ("1.9.99", False),
        ("1.10", False),
        ("1.999999999", True),
        ("1.1000000000", False),
        ("1.11-beta", False),
        ("v2", False),
        ("2.", False),
        ("", False),
    ],
)
def test_a_version_is_untried_where_its_numbers_are_above_those_of_all_that_were_tried(
    version: str, is_untried: bool
) -> None:
    assert ClientFacts("toy", "Toy", versions=("1.9.0", "1.10.2")).is_untried(version) is is_untried
    assert not ClientFacts("toy", "Toy").is_untried(version), "none was tried"


@pytest.mark.parametrize(
    ("folder", "home", "project", "path"),
    [
        (ClientFolder("~/.toy", below="logs"), "/home/me/", "", "/home/me/.toy/logs"),
        (ClientFolder("~", below="logs"), "/", "", "/logs"),
        (ClientFolder(".toy"), "/home/me", "", ".toy"),
        (ClientFolder("", below="logs"), "/home/me", "/project/", "/project/logs"),
        (ClientFolder(""), "/home/me", "", ""),
    ],
)
def test_the_parts_of_a_path_are_joined_by_one_slash(folder: ClientFolder, home: str, project: str, path: str) -> None:
    assert folder.path(home, {}, project) == path
