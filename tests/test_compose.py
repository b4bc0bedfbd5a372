"""What `compose.yaml` says is what the commands take, nothing secret is in it, and the image has what it builds."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from keepwhole.apps.cli.main import GROUPS
from keepwhole.apps.cli.parser import parser_for
from requirements import pin_images

ROOT = Path(__file__).parents[1]
FILE = ROOT / "compose.yaml"
IMAGE = ROOT / "deploy/Dockerfile"
EXTRAS = ("proxy", "postgres", "s3")
SERVICES: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
OURS = [name for name, service in SERVICES.items() if "build" in service]
SECRET = re.compile(r"PASSWORD|KEY|SECRET|TOKEN")
NAMED = (Path(__file__).parents[1] / "docs").rglob("*.md")


@pytest.mark.parametrize("name", OURS)
def test_a_container_runs_a_command_there_is(name: str) -> None:
    words = SERVICES[name]["command"].split()
    assert parser_for(words[0], GROUPS).parse_args(words).act is not None


@pytest.mark.parametrize("name", SERVICES)
def test_a_secret_comes_from_outside_and_has_no_default(name: str) -> None:
    environment = SERVICES[name].get("environment", {})
    for variable, value in environment.items():
        assert bool(SECRET.search(variable)) == bool(re.fullmatch(r"\$\{\w+:\?\}", value)), variable


def files_with_images() -> list[Path]:
    """Every file of the repository that may name an image of a container."""
    folders = [path for path in ROOT.iterdir() if not path.name.startswith(".")]
    files = [file for folder in folders for file in ([folder] if folder.is_file() else folder.rglob("*"))]
    return [file for file in files if re.fullmatch(r"(?i).*dockerfile.*|.*compose.*\.ya?ml", file.name)]


def test_every_image_is_pinned_by_its_digest() -> None:
    assert {FILE, IMAGE} <= set(files_with_images())
    for file in files_with_images():
        assert pin_images.unpinned(file.read_text(encoding="utf-8")) == [], file
    images = [service["image"] for service in SERVICES.values() if "image" in service]
    assert len(images) == 3
    assert len(pin_images.IMAGE.findall(IMAGE.read_text(encoding="utf-8"))) == 1, "ours is built from one"


@pytest.mark.parametrize(
    "line", ["FROM python:3.13-slim", "  image: nginx", "image: postgres:18@sha256:12", f"FROM x@sha256:{'0' * 64}"]
)
def test_an_image_that_is_not_pinned_is_found(line: str) -> None:
    assert pin_images.unpinned(f"services:\n{line}\n") == [line.strip()]


def fake_docker(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    (folder / "docker").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "docker").chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def test_digests_are_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, monkeypatch, f'echo "$*" >> {tmp_path}/asked; echo sha256:{"ab" * 32}')
    copies = [Path(shutil.copy(file, tmp_path)) for file in (FILE, IMAGE)]
    pin_images.main(*map(str, copies))
    before, after = ("".join(file.read_text(encoding="utf-8") for file in files) for files in ((FILE, IMAGE), copies))
    assert pin_images.PINNED.sub("", after) == pin_images.PINNED.sub("", before)
    assert after.count(f"@sha256:{'ab' * 32}") == 4
    asked = (tmp_path / "asked").read_text().splitlines()
    assert all(line.startswith("buildx imagetools inspect ") and "@" not in line for line in asked)
    assert len(asked) == 4


@pytest.mark.parametrize("script", ["echo no such host >&2; exit 1", "echo", "echo sha256:12"])
def test_without_a_registry_nothing_is_written(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake_docker(tmp_path, monkeypatch, script)
    copy = tmp_path / "compose.yaml"
    copy.write_text("image: nginx:1.29\n")
    with pytest.raises(SystemExit, match="nothing was written"):
        pin_images.main(str(copy))
    assert copy.read_text() == "image: nginx:1.29\n"


def test_the_proxies_add_and_read_and_only_the_owner_migrates() -> None:
    assert "//agents@" in SERVICES["proxy"]["environment"]["KEEPWHOLE_STORE"]
    assert "//owner@" in SERVICES["migrate"]["environment"]["KEEPWHOLE_STORE"]
    assert SERVICES["migrate"]["command"].endswith("--grant agents")


def test_each_of_our_variables_is_in_the_docs() -> None:
    told = "\n".join(path.read_text(encoding="utf-8") for path in NAMED)
    ours = {name for service in SERVICES.values() for name in service.get("environment", {}) if "KEEPWHOLE" in name}
    assert ours
    assert all(f"`{name}`" in told for name in ours), sorted(ours)


def test_every_package_is_pinned_by_a_hash_and_covers_what_the_proxy_needs() -> None:
    assert (
        SERVICES["proxy"]["build"]
        == SERVICES["migrate"]["build"]
        == {"context": ".", "dockerfile": "deploy/Dockerfile"}
    )
    build = IMAGE.read_text(encoding="utf-8")
    installs = [line for line in build.splitlines() if "pip install" in line]
    assert all("--require-hashes" in line or "--no-deps --no-build-isolation" in line for line in installs)
    files = re.findall(r"-r /src/(requirements/\S+)", build)
    pinned = "\n".join((ROOT / name).read_text(encoding="utf-8") for name in files)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*extras["dependencies"], *(each for name in EXTRAS for each in extras["optional-dependencies"][name])]
    for name in (re.split(r"[\[>=<]", each)[0].lower() for each in [*wanted, "hatchling", "psycopg-pool"]):
        assert re.search(rf"(?m)^{name}==.*\\\n +--hash=sha256:", pinned), name


def test_what_is_copied_into_the_image_is_enough_to_build_the_package(tmp_path: Path) -> None:
    """As the Dockerfile does it, with the packages that are installed here."""
    for names in re.findall(r"(?m)^COPY (.*) /src/\S*$", IMAGE.read_text(encoding="utf-8")):
        for name in names.split():
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
            copy(ROOT / name, tmp_path / name)
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "out"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(next((tmp_path / "out").glob("*.whl"))) as wheel:
        assert "keepwhole/store/postgres/sql/0001_record.sql" in wheel.namelist()


def test_the_http_library_has_no_known_holes() -> None:
    """Releases before 3.13.3 unpack a request without a limit, and more."""
    said = [(ROOT / name).read_text(encoding="utf-8") for name in ("pyproject.toml", "requirements/run.in")]
    assert all("aiohttp>=3.13.3" in text for text in said)
