"""The one-call front door: `keepwhole.truncate`."""

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import keepwhole


def test_a_text_that_fits_is_returned_as_it_is() -> None:
    assert keepwhole.truncate("short") == "short"
    assert keepwhole.truncate("x" * 8_000) == "x" * 8_000


def test_of_a_shell_the_end_is_kept_and_of_a_file_both_ends() -> None:
    text = "".join(f"line {n} of some plain words\n" for n in range(5_000))
    of_shell, of_file = (keepwhole.truncate(text, 1_000, tool=tool) for tool in ("bash", "read_file"))
    assert "line 4999" in of_shell
    assert "line 0 " not in of_shell
    assert of_file.startswith("line 0 ")
    assert "line 4999" in of_file


def test_what_the_question_names_is_kept_in_json_that_still_parses() -> None:
    people = [{"name": f"person-{n}", "city": "x" * 60} for n in range(1_000)]
    cut = keepwhole.truncate(json.dumps(people), 2_000, tool="http_get", question="Where does person-613 live?")
    assert "person-613" in cut
    assert len(json.loads(cut)) > 1


def test_no_way_back_is_named_that_does_not_exist() -> None:
    for text in ("word " * 30_000, json.dumps([["x" * 90] * 90] * 90), "a,b\n" + "1,2\n" * 90_000):
        cut = keepwhole.truncate(text, 3_000)
        assert "get_artifact" not in cut
        assert "Artifact" not in cut


@given(st.text(max_size=3_000), st.integers(256, 2_000), st.sampled_from(["bash", "read_file", "grep", "tool"]))
def test_it_is_never_longer_than_the_limit(text: str, limit: int, tool: str) -> None:
    assert len(keepwhole.truncate(text, limit, tool=tool)) <= limit


def test_a_limit_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(keepwhole.KeepwholeError, match="at least 256"):
        keepwhole.truncate("text", 10)


def test_the_pure_packages_work_where_there_is_no_posix() -> None:
    done = subprocess.run([sys.executable, "-m", "tests.pure_packages"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 100
    assert "WSL" in done.stderr
