"""The workflows say what the package promises, and run only targets that exist."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


def loaded(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def jobs(path: Path) -> dict[str, Any]:
    return loaded(path)["jobs"]


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in jobs(path).values() for step in job["steps"]]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_every_step_runs_a_target_or_a_module_that_exists(path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for step in steps(path):
        assert ("uses" in step) != ("run" in step)
        for target in re.findall(r"\bmake ([a-z-]+)", step.get("run", "")):
            assert re.search(rf"^{target}:", makefile, re.M), target
        for module in re.findall(r"python -m (release\.\w+|tests\.\w+)", step.get("run", "")):
            assert (ROOT / (module.replace(".", "/") + ".py")).exists(), module


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_only_read_unless_a_job_says_otherwise(path: Path) -> None:
    assert loaded(path)["permissions"] == {"contents": "read"}
    for step in steps(path):
        if str(step.get("uses", "")).startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False
        assert "${{ github.event" not in step.get("run", ""), "text of strangers must not become a command"


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_others_made_is_pinned_by_its_digest(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    used = re.findall(r"uses: (.*)", text)
    assert [
        action for action in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action)
    ] == []
    for step in steps(path):
        if re.search(r"\b(curl|wget|gh release download)\b", step.get("run", "")):
            assert "sha256sum --check --strict" in step["run"]
            assert re.fullmatch(r"[0-9a-f]{64}", step["env"]["SHA256"])


def test_workflows_agree_on_the_version_of_an_action() -> None:
    pins = {action for path in WORKFLOWS for action in re.findall(r"uses: (.*)", path.read_text(encoding="utf-8"))}
    assert len({pin.partition("@")[0] for pin in pins}) == len(pins) >= 7


def test_every_python_of_the_metadata_is_tested_on_linux_and_macos() -> None:
    matrix = jobs(ROOT / ".github/workflows/test.yml")["test"]["strategy"]["matrix"]
    named = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert matrix["python"] == named == ["3.11", "3.12", "3.13", "3.14"]
    assert {name.partition("-")[0] for name in matrix["os"]} == {"ubuntu", "macos"}
    windows = jobs(ROOT / ".github/workflows/test.yml")["windows"]
    assert windows["runs-on"].startswith("windows")
    assert windows["strategy"]["matrix"]["python"] == named


def test_two_releases_are_built_where_the_whole_history_is() -> None:
    production = jobs(ROOT / ".github/workflows/test.yml")["production"]["steps"]
    assert production[0]["with"]["fetch-depth"] == 0
    assert production[-1]["run"] == "make production"


def test_only_the_release_may_prove_who_it_is_and_it_holds_no_password() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text
    publish = jobs(ROOT / ".github/workflows/release.yml")["publish"]
    assert publish["permissions"]["id-token"] == publish["permissions"]["attestations"] == "write"
    assert publish["needs"] == "build"
    attested = [step["with"] for step in publish["steps"] if step.get("uses", "").startswith("actions/attest@")]
    assert attested == [
        {"subject-path": "dist/*.whl\ndist/*.tar.gz\n"},
        {"subject-path": "dist/*.whl", "sbom-path": "dist/sbom.cdx.json"},
    ]
    for path in WORKFLOWS:
        if path.name != "release.yml":
            assert "id-token" not in path.read_text(encoding="utf-8")


def test_the_newest_clients_are_tried_every_week() -> None:
    workflow: dict[Any, Any] = loaded(ROOT / ".github/workflows/clients.yml")
    assert workflow[True]["schedule"][0]["cron"].split()[-1] in "0123456"  # YAML reads `on` as true


@pytest.mark.parametrize("path", [path for path in FORMS if path.name != "config.yml"], ids=lambda path: path.name)
def test_a_form_asks_something(path: Path) -> None:
    form = loaded(path)
    assert form["name"]
    assert form["description"]
    assert [each for each in form["body"] if each.get("validations", {}).get("required")]


def test_the_files_that_a_project_is_expected_to_have_are_there() -> None:
    for name in ("CODE_OF_CONDUCT.md", "SECURITY.md", "CONTRIBUTING.md", ".github/PULL_REQUEST_TEMPLATE.md"):
        assert (ROOT / name).read_text(encoding="utf-8").strip()
    folders = [update["directory"] for update in loaded(ROOT / ".github/dependabot.yml")["updates"]]
    assert all((ROOT / folder.strip("/")).is_dir() for folder in folders)
    hooks = loaded(ROOT / ".pre-commit-config.yaml")["repos"][0]["hooks"]
    assert {hook["id"] for hook in hooks} == {"format", "lint", "docs"}
