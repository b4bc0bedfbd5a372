"""The documentation is true: every block runs, every generated page is fresh, everything there is has its words."""

import doctest
import os
import re
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from docs import chart, generate, json_outputs, recording, site_hooks
from docs.generate import REFERENCE, pages
from keepwhole import config, errors
from keepwhole.apps.cli.main import COMMANDS
from keepwhole.policies.settings import LEAN, AutoSettings
from keepwhole.truncation.configuration import TruncationConfiguration
from keepwhole.truncation.strategy import STRATEGIES
from tests.strangers.test_pages import ALONE

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
RUNNABLE = {"python", "console", "sh", "yaml", "text", "diff"}
FIRST_CHANGES = ROOT / "docs/contributing"
"""Pages whose Python runs only after their diff is applied."""
FRAMEWORKS = (
    "langchain",
    "langgraph",
    "agents",
    "pydantic_ai",
    "claude_agent_sdk",
    "google.adk",
    "smolagents",
    "strands",
    "agent_framework",
    "litellm",
)
"""What pages may need that not everyone has; their blocks run where it is installed, and in `make adapters`."""


def blocks(page: Path, *kinds: str) -> list[str]:
    return [code for kind, code in BLOCK.findall(page.read_text(encoding="utf-8")) if kind in kinds]


def with_blocks(*kinds: str) -> list[pytest.param]:  # type: ignore[valid-type]
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if blocks(page, *kinds)]


def frameworks_of(page: Path) -> list[str]:
    """The frameworks that the blocks of a page import."""
    imported = re.findall(r"^(?:from|import) ([\w.]+)", "\n".join(blocks(page, "python")), re.M)
    return [name for name in FRAMEWORKS if any(f"{module}.".startswith(f"{name}.") for module in imported)]


def is_installed(name: str) -> bool:
    """Whether a module is there; `google` may be there without `google.adk`."""
    package = name.partition(".")[0]
    return find_spec(package) is not None and find_spec(name) is not None


def runnable() -> list[pytest.param]:  # type: ignore[valid-type]
    """The pages with Python in them; those that need a framework are tests of its adapter."""
    return [
        pytest.param(page, id=str(page.relative_to(ROOT)), marks=pytest.mark.adapters if frameworks_of(page) else ())
        for page in PAGES
        if blocks(page, "python") and page.parent != FIRST_CHANGES
    ]


@pytest.mark.parametrize("page", runnable())
def test_every_python_block_runs(page: Path, tmp_path: Path) -> None:
    for name in frameworks_of(page):
        if not is_installed(name):
            pytest.skip(f"{name} is not installed; `make adapters` installs it")
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    environ = {**os.environ, "KEEPWHOLE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, str(script)], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


# Those of README and of the goals run in the test that follows these pages from top to bottom.
@pytest.mark.parametrize("page", [page for page in with_blocks("console") if page.id not in ALONE])
def test_every_command_in_a_console_block_succeeds(page: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environ = {**os.environ, "KEEPWHOLE_HOME": str(tmp_path / "home"), "HOME": str(tmp_path), "PATH": path}
    for code in blocks(page, "console"):
        for line in code.splitlines():
            if line.startswith("$ "):
                done = subprocess.run(line[2:], shell=True, env=environ, cwd=tmp_path, capture_output=True, check=False)
                assert done.returncode == 0, (line, done.stderr)


@pytest.mark.parametrize("page", with_blocks("yaml"))
def test_every_settings_block_is_accepted(page: Path, tmp_path: Path) -> None:
    for code in blocks(page, "yaml"):
        (tmp_path / "keepwhole.yaml").write_text(code)
        config.load(str(tmp_path / "keepwhole.yaml"), environ={}, folder=str(tmp_path))
        assert yaml.safe_load(code)


@pytest.mark.parametrize("page", with_blocks("sh"))
def test_every_set_up_line_names_a_target_or_an_extra_that_exists(page: Path) -> None:
    makefile = (ROOT / "Makefile").read_text()
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    for line in "".join(blocks(page, "sh")).splitlines():
        words = line.split("#")[0].split()
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), line
        else:
            assert words[:2] == ["pip", "install"], line
            for extra in re.findall(r"\[([\w-]+)\]", line):
                assert extra in extras


def test_no_block_is_of_a_kind_that_no_test_looks_at() -> None:
    for page in PAGES:
        kinds = {kind for kind, _ in BLOCK.findall(page.read_text(encoding="utf-8"))}
        assert kinds <= RUNNABLE, page
        assert "\n```\n" not in BLOCK.sub("", page.read_text(encoding="utf-8")), f"{page} has a block without a kind"


def test_the_generated_pages_are_fresh() -> None:
    for name, text in pages().items():
        assert (REFERENCE / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `make docs`"


def test_every_command_strategy_setting_and_error_is_documented() -> None:
    words = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    names = {f"keepwhole {name}" for name in COMMANDS} | set(STRATEGIES)
    names |= {name for name in TruncationConfiguration.fields if name != "overrides"}
    names |= {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    missing = {name for name in names if f"`{name}`" not in words and f".{name}`" not in words}
    assert not missing


def test_no_page_has_a_place_that_was_to_be_filled_in() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md")]
    left = [
        (page.name, *found) for page in pages if (found := re.findall(r"@@\w+@@|\bTODO\b|\bTBD\b", page.read_text()))
    ]
    assert left == []


def test_no_page_names_a_folder_outside_the_repository() -> None:
    """`CORPUS` stands for logs that only the developers have; a path beside the clone would be nobody's."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").rglob("*.md")]
    found = [
        (page.name, *more) for page in pages if (more := re.findall(r"`[^`\n]*\.\./shared[^`\n]*`", page.read_text()))
    ]
    assert found == []


def test_every_link_between_pages_leads_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_a_recording_does_not_depend_on_how_many_results_were_kept_before_the_crash() -> None:
    few = ["killed after 114 acknowledged results: 0 lost", "verify: 163 entries, 4.5 MB, every byte"]
    many = ["killed after 1,014 acknowledged results: 0 lost", "verify: 1,042 entries, 25.4 MB, every byte"]
    assert recording.comparable(few) == recording.comparable(many)


def test_the_recording_in_the_readme_is_what_the_demo_prints() -> None:
    recorded = recording.recorded_lines(recording.RECORDING.read_text(encoding="utf-8"))
    assert recording.comparable(recorded) == recording.comparable(recording.run_demo()), (
        "run `python -m docs.recording`"
    )


def test_the_chart_in_the_readme_has_the_figures_of_the_decision() -> None:
    points = chart.points(chart.TABLE.read_text(encoding="utf-8"))
    assert len(points) == 5
    assert chart.CHART.read_text(encoding="utf-8") == chart.draw(points), "run `python -m docs.chart`"
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for point in points[1:4]:
        if "lean" not in point.name:
            assert f"{point.kept:.1%}".replace("%", " %") in readme
            assert f"{point.cost:.0%}".replace("%", " %") in readme


@pytest.mark.parametrize("page", [pytest.param(page, id=page.stem) for page in PAGES if blocks(page, "diff")])
def test_a_first_change_can_be_applied_and_does_what_it_says(page: Path, tmp_path: Path) -> None:
    (change,), (proof,) = blocks(page, "diff"), blocks(page, "python")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    environ = {**os.environ, "PYTHONPATH": str(tmp_path / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", proof]
    before = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "AssertionError" in before.stderr
    subprocess.run(["git", "apply", "-"], input=change, cwd=tmp_path, text=True, check=True)
    after = subprocess.run(command, env=environ, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert after.returncode == 0, after.stderr


@pytest.mark.parametrize("module", [generate, json_outputs, site_hooks])
def test_the_examples_of_what_makes_the_pages_are_true(module: ModuleType) -> None:
    found = doctest.testmod(module)
    assert found.attempted
    assert not found.failed


def test_every_variable_that_is_documented_is_read() -> None:
    pages = [*PAGES, ROOT / "compose.yaml", ROOT / "Makefile"]
    documented = {name for page in pages for name in re.findall(r"KEEPWHOLE(?:_[A-Z]+)+", page.read_text("utf-8"))}
    source = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r'"(KEEPWHOLE_[A-Z_]+)"', source))
    read |= {setting.variable for setting in config.all_settings() if setting.variable}
    assert documented <= read


def test_the_figures_of_settings_in_the_concepts_are_the_defaults() -> None:
    cuts, auto = TruncationConfiguration(), AutoSettings()
    quoted = {
        "views.md": [
            f"`inline_limit` ({cuts.inline_limit:,})",
            f"`artifact_threshold` ({cuts.artifact_threshold:,})",
            f"`preview_limit` ({cuts.preview_limit:,})",
            f"{cuts.head_ratio * 100:.0f} to {100 - cuts.head_ratio * 100:.0f}",
            f"shown in full up to {auto.outsized:,} characters",
            f"at least {auto.arrival_least['shell']:,}, and more where it has many different names",
        ],
        "auto.md": [
            f"at least {auto.arrival_least['shell']:,} characters are shown",
            f"worth {auto.worth:,} tokens (`worth`)",
            f"{auto.horizon} of the turns it has had",
            f"evidence worth {LEAN.worth:,}",
            f"free fewer than {auto.clear_at_least:,}",
            f"shown in full up to {auto.outsized:,} characters",
            f"of one step together:* at most {auto.step_cap:,} characters",
            f"results under {auto.min_tokens} tokens",
            f"below {auto.start:,} tokens",
            f"Above {auto.ceiling} of the window",
            f"`max_loss` ({auto.max_loss})",
            f"the last {auto.keep_steps} steps",
        ],
    }
    for page, phrases in quoted.items():
        text = " ".join((ROOT / "docs/concepts" / page).read_text(encoding="utf-8").split())
        for phrase in phrases:
            assert phrase in text, f"{page} does not say: {phrase}"


def test_the_life_of_a_result_under_retention_is_documented() -> None:
    said = " ".join((ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").split())
    assert "| `retention` | in full for two turns | three lines and `get_task_trace` |" in said
    page = " ".join((ROOT / "docs/howto/retention.md").read_text(encoding="utf-8").split())
    assert "shown in full in the turn that made it and in the next" in page
    assert "first three lines and the call that reads it back" in page


@pytest.mark.parametrize("section", ["Tool Result Retention Policy", "Rolling context"])
def test_the_readme_has_the_sections_that_the_documents_name(section: str) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"\n## {section}\n" in text
