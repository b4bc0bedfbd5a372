"""What a package index and an installer get: complete metadata, complete archives, the same bytes every time."""

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from pathlib import Path
from typing import Any

import pytest

from release import check, repository, vendor
from release.build import LARGEST_WHEEL, build_in, copy_tree, tracked
from release.install_size import LARGEST, measure
from release.sbom import sbom
from release.unpack import unpack

ROOT = Path(__file__).parents[2]
ADDRESS = "https://github.com/somebody/keepwhole"


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the address of a repository."""
    folder = tmp_path_factory.mktemp("release") / "tree"
    folder.mkdir()
    copy_tree(folder)
    repository.write(ADDRESS, folder)
    return folder


@pytest.fixture(scope="module")
def archives(tree: Path) -> list[Path]:
    return build_in(tree, "022", {})


@pytest.fixture(scope="module")
def metadata(archives: list[Path]) -> Message:
    with zipfile.ZipFile(archives[0]) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith("/METADATA"))
        return email.message_from_bytes(wheel.read(name))


def test_the_metadata_says_who_made_it_and_where_it_is(metadata: Message) -> None:
    assert metadata["Author"] == "Keepwhole contributors"
    addresses = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog", "Security"} == set(addresses)
    assert all(address.startswith(ADDRESS) for address in addresses.values())
    assert "Programming Language :: Python :: 3.14" in metadata.get_all("Classifier", [])
    assert metadata["License-Expression"] == "Apache-2.0 AND MIT"
    assert len(metadata.get_all("License-File", [])) == 2


def test_every_link_of_the_index_page_is_absolute(metadata: Message) -> None:
    text = str(metadata.get_payload())
    links = [target for target in re.findall(r"\]\(([^)\s]+)\)", text) if not target.startswith("#")]
    assert len(links) > 10
    assert all(target.startswith("https://") for target in links)
    assert f"({ADDRESS}/raw/v{check.version()}/docs/images/" in text, "pictures lead to the file itself"
    assert "mcp-name: io.github.somebody/keepwhole" in text


def test_the_source_archive_is_complete(archives: list[Path]) -> None:
    inside = set(check.files_of(archives[1]))
    assert inside - {"PKG-INFO"} == set(tracked())
    assert {"Makefile", "SECURITY.md", "requirements/dev.txt", "tests/test_docs.py"} <= inside


def test_the_source_archive_gives_the_same_wheel(archives: list[Path], tmp_path: Path) -> None:
    source = Path(shutil.copy(archives[1], tmp_path))
    assert check.wheel_of(source).read_bytes() == archives[0].read_bytes()


def test_the_files_of_an_unpacked_source_archive_are_those_of_the_repository(
    archives: list[Path], tmp_path: Path
) -> None:
    with tarfile.open(archives[1]) as archive:
        unpack(archive, tmp_path)
    (tree,) = tmp_path.iterdir()
    (tree / "__pycache__").mkdir()
    (tree / "__pycache__/x.pyc").write_bytes(b"")
    assert tracked(tree) == tracked()


def test_two_builds_in_other_surroundings_are_equal(tree: Path, archives: list[Path], tmp_path: Path) -> None:
    first = [file.read_bytes() for file in archives]
    again = tmp_path / "a folder with spaces" / "tree"
    shutil.copytree(tree, again)
    environ = {"TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "LANG": "C"}
    assert [file.read_bytes() for file in build_in(again, "077", environ)] == first


def test_the_wheel_and_an_install_are_small(archives: list[Path]) -> None:
    assert archives[0].stat().st_size <= LARGEST_WHEEL
    assert measure(archives[0]).installed <= LARGEST


def test_the_bill_of_materials_names_what_is_needed_and_what_is_copied() -> None:
    bill = json.loads(sbom("ab" * 32))
    parts = {component["name"]: component for component in bill["components"]}
    assert parts["msgspec"]["scope"] == parts["pyyaml"]["scope"] == "required"
    assert len(parts["preact"]["hashes"][0]["content"]) == 128
    assert {each.split("/")[1].split("@")[0] for each in bill["dependencies"][0]["dependsOn"]} == {
        *("msgspec", "pyyaml", "preact", "htm")
    }
    pinned = {
        name
        for file in ("requirements/run.txt", "requirements/server.txt")
        for name in re.findall(r"(?m)^([\w.-]+)(?:\[[\w,]+\])?==", (ROOT / file).read_text(encoding="utf-8"))
    }
    assert {name for name, part in parts.items() if part["purl"].startswith("pkg:pypi/")} == pinned
    assert sbom("ab" * 32) == sbom("ab" * 32)


def test_a_package_of_another_digest_is_not_copied(tmp_path: Path) -> None:
    (tmp_path / "preact.tgz").write_bytes(b"not what is listed")
    with pytest.raises(SystemExit, match=r"is not what release/vendored\.json lists"):
        vendor.unpack(vendor.parts()[0], tmp_path / "preact.tgz", tmp_path)


def test_the_address_is_written_by_one_command_and_refused_if_it_is_none(tree: Path) -> None:
    assert repository.repository(tree) == ADDRESS
    assert repository.write(ADDRESS + "/", tree) == []
    assert json.loads((tree / "server.json").read_text())["name"] == "io.github.somebody/keepwhole"
    with pytest.raises(SystemExit, match="not the address of a repository"):
        repository.write("keepwhole", tree)


def test_a_release_without_an_address_or_under_another_tag_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(check.Wrong, match=r"The tag is v9\.9\.9"):
        check.check_tag("v9.9.9")
    monkeypatch.setattr(check, "repository", lambda: "")
    with pytest.raises(check.Wrong, match="make repository"):
        check.check_tag(f"v{check.version()}")


def test_version_and_copied_parts_agree_in_this_tree() -> None:
    assert check.run([check.check_versions, check.check_vendored]) == 0


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"description": "x" * 101}, "description"),
        ({"name": "keepwhole"}, "name"),
        ({"version": "latest"}, "version"),
        ({"packages": [{"identifier": "keepwhole", "version": "0.0.1"}]}, "version of keepwhole"),
        ({"packages": [{"version": "", "runtimeArguments": [{"type": "named", "name": "with"}]}]}, "argument"),
        ({"packages": [{"version": "", "runtimeArguments": []}]}, "runtimeHint"),
    ],
)
def test_a_server_json_that_the_registry_refuses_is_refused_before(change: dict[str, Any], named: str) -> None:
    server = json.loads((ROOT / "server.json").read_text(encoding="utf-8"))
    assert server["name"] in check.check_server(server)
    for package in change.get("packages", ()):
        package.update(identifier="keepwhole", version=package["version"] or server["version"])
    with pytest.raises(check.Wrong, match=named):
        check.check_server(server | change)


def test_make_clean_leaves_only_what_is_in_the_repository(tmp_path: Path) -> None:
    copy = tmp_path / "clone"
    copy.mkdir()
    copy_tree(copy)
    git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "tree"]):
        subprocess.run([*git, *words], cwd=copy, check=True, capture_output=True)
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    subprocess.run([sys.executable, "-m", "release.build", "--help"], cwd=copy, env=environ, check=True)
    for junk in ("dist/x.whl", ".venv/bin/python", "site/index.html", "bench/results/a", ".ruff_cache/x", ".coverage"):
        (copy / junk).parent.mkdir(parents=True, exist_ok=True)
        (copy / junk).write_text("x")
    subprocess.run(["make", "-s", "clean"], cwd=copy, check=True)
    left = subprocess.run([*git, "status", "--porcelain", "--ignored"], cwd=copy, capture_output=True, text=True)
    assert left.stdout == ""
