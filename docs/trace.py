"""Writes `docs/reference/trace.md`: every numbered sentence of the truncation document, and the tests that check it.

A test checks an id if its name contains the id. `make docs` runs this after `docs/generate.py`.
"""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE = Path(__file__).parent / "reference" / "trace.md"
_NOTE = "<!-- Written by docs/trace.py; name the tests after the ids, then run `make docs`. -->\n\n"

CRITERIA = {
    "Processor": (
        "there is one; takes result and limits; returns the cut result; creates an artifact; adds metadata; is injected"
    ),
    "Limits": "8,000 inline; 50,000 threshold; 10 MB; for one tool; for all tools; positive whole numbers",
    "Detection": "over the inline limit; over the threshold; over the largest size; in characters; tokens by quarter",
    "Strategies": "head; tail; head and tail; lines; elements; the default; for one tool",
    "Head and tail": "first characters; last characters; marker between; 60 to 40; lines counted; characters counted",
    "Lines": "complete; never split; first or last; any ending",
    "Elements": "JSON parses; first and last; some keys; counted; depth",
    "Markers": "says it is cut; original size; amount omitted; form; distinct",
    "Artifact creation": "over the limit; unique id; id's form; stored whole; size, type, source; reference returned",
    "Storage": "local to the session; where it lies; cleaned up; concurrent; paths",
    "Reference": "id; summary; size; form; at most 100 characters",
    "Retrieval": "by id; whole; 404; lines; by tool call",
    "Metadata": "original size; truncated size; strategy; artifact id; flag",
}
TOOLS = {
    "fr_071": "files are read by both ends",
    "fr_072": "commands show their end",
    "fr_073": "listings by element",
    "fr_074": "searches by element",
    "fr_075": "diffs by both ends",
}
QUALITIES = {
    "nfr_001": "100 KB in under 10 ms",
    "nfr_002": "memory at most twice the input",
    "nfr_003": "inputs larger than memory",
    "nfr_004": "writes that can be awaited",
    "nfr_005": "no crash on malformed input",
    "nfr_006": "no invalid output",
    "nfr_007": "a full disk",
    "nfr_008": "Unicode preserved",
    "nfr_009": "paths validated",
    "nfr_010": "nothing outside the record",
    "nfr_011": "ids that cannot be guessed",
    "nfr_012": "content not logged",
    "nfr_013": "truncation logged",
    "nfr_014": "creation logged",
    "nfr_015": "size metrics",
    "nfr_016": "truncation rate",
    "nfr_017": "strategies of one's own",
    "nfr_018": "settings documented",
    "nfr_019": "docstrings",
}
LISTS = {
    "processor": ("not_truncate_under_limit", "truncate_over_limit", "create_artifact_over_threshold", "add_metadata"),
    "head_tail": ("keep_head_and_tail", "insert_marker", "respect_split_ratio", "handle_small_content"),
    "tail": ("keep_only_tail", "preserve_complete_lines", "insert_head_marker"),
    "element": ("preserve_valid_json", "keep_first_last_elements", "show_omitted_count"),
    "storage": ("create_artifact", "retrieve_artifact", "cleanup_on_session_end", "handle_concurrent_access"),
    "integration": ("truncate_file_content", "truncate_command_output", "create_and_retrieve_artifact"),
}
SCENARIOS = (
    "small content, shown whole",
    "medium content, cut",
    "large content, a reference",
    "the end of a command's output",
    "JSON with many results",
    "part of an artifact",
)


def ids() -> Iterator[tuple[str, str, str]]:
    """Yield every id as tests spell it, as the document spells it, and in a few words."""
    number = 0
    for group, sentences in CRITERIA.items():
        for words in sentences.split("; "):
            number += 1
            yield f"ac_{number:03d}", f"AC-{number:03d}", f"{group}: {words}"
    for id_in_tests, words in (TOOLS | QUALITIES).items():
        yield id_in_tests, id_in_tests.upper().replace("_", "-"), words
    for group, entries in LISTS.items():
        for entry in entries:
            yield f"list_{group}_should_{entry}", "test list", f"{group}: {entry.replace('_', ' ')}"
    for number, words in enumerate(SCENARIOS, 1):
        yield f"scenario_{number}", f"scenario {number}", words


@cache
def tests() -> dict[str, str]:
    """Return every test by its name, with its file."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_"):
                found[node.name] = str(path.relative_to(ROOT))
    return found


def checking_tests(id_in_tests: str, known: dict[str, str]) -> list[str]:
    """Return the tests whose names contain an id."""
    return sorted(name for name in known if f"_{id_in_tests}_" in f"{name}_")


def untested() -> list[str]:
    """Return the ids that no test is named after."""
    known = tests()
    return [id_in_tests for id_in_tests, _, _ in ids() if not checking_tests(id_in_tests, known)]


def page() -> str:
    """Return the page; raise a `LookupError` if an id has no test."""
    missing = untested()
    if missing:
        raise LookupError(f"No test is named after {', '.join(missing)}.")
    known = tests()
    lines = [
        "# What the truncation document asks, and the tests that show it\n",
        "| id | in short | shown by |",
        "|---|---|---|",
    ]
    for id_in_tests, label, words in ids():
        shown = "<br>".join(f"[`{name}`](../../{known[name]})" for name in checking_tests(id_in_tests, known))
        lines.append(f"| {label} | {words} | {shown} |")
    return _NOTE + "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
