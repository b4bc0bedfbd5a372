"""Every shape of Claude Code's results: what is read of it, and how its replacement looks."""

import base64
import json
from typing import Any

import pytest

from keepwhole.apps.hooks.claude_code import parse
from keepwhole.apps.hooks.payload import ToolReturn
from tests.canonical.pictures import png

PICTURE = base64.b64encode(png(3, 2)).decode()
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PICTURE}}


def returned(tool: str, response: Any, **given: Any) -> ToolReturn:
    event = {"hook_event_name": "PostToolUse", "tool_name": tool, "tool_response": response, "tool_input": given}
    found = parse(event)
    assert isinstance(found, ToolReturn)
    assert found.tool == tool
    return found


def replaced(found: ToolReturn, words: str = "new") -> Any:
    assert found.replace is not None
    answer = found.replace(words)["hookSpecificOutput"]
    assert answer["hookEventName"] == "PostToolUse"
    return answer["updatedToolOutput"]


@pytest.mark.parametrize(
    ("stdout", "stderr", "output"), [("a", "b", "a\nb"), ("a", "", "a"), ("", "b", "b"), ("", "", "")]
)
def test_a_shell_has_two_outputs_and_its_replacement_one(stdout: str, stderr: str, output: str) -> None:
    given = {
        "stdout": stdout,
        "stderr": stderr,
        "interrupted": False,
        "persistedOutputPath": "/f",
        "persistedOutputSize": 7,
    }
    found = returned("Bash", given)
    assert (found.output, found.file, found.most, found.numbered, found.media) == (output, "/f", 29_000, False, ())
    assert replaced(found) == {"stdout": "new", "stderr": "", "interrupted": False}
    assert returned("Bash", {**given, "persistedOutputPath": ""}).file is None


def test_an_image_of_a_shell_is_kept_as_bytes() -> None:
    url = f"data:image/png;base64,{PICTURE}"
    found = returned("Bash", {"stdout": url, "stderr": "warned", "isImage": True})
    assert (found.output, found.replace) == ("warned", None)
    assert [part.body() for part in found.media] == [png(3, 2)]
    odd = returned("Bash", {"stdout": "no url", "stderr": "", "isImage": True})
    assert (json.loads(odd.output)["stdout"], odd.media, odd.replace) == ("no url", (), None)


@pytest.mark.parametrize("response", [{"stdout": "x"}, {"stderr": "x"}, {"stdout": 1, "stderr": "x"}, ["x"], None])
def test_a_shell_of_another_shape_is_only_kept(response: Any) -> None:
    found = returned("Bash", response)
    assert (json.loads(found.output), found.replace, found.most) == (response, None, None)


def test_a_page_of_a_file_keeps_its_place() -> None:
    file = {"filePath": "/w/a", "content": "a\nb", "numLines": 2, "startLine": 5, "totalLines": 90}
    found = returned("Read", {"type": "text", "file": file})
    assert (found.output, found.numbered, found.unchanged, found.most) == ("a\nb", True, False, None)
    page = {"filePath": "/w/a", "startLine": 5, "totalLines": 90}
    assert replaced(found, "x\ny\nz") == {"type": "text", "file": {**page, "content": "x\ny\nz", "numLines": 3}}


@pytest.mark.parametrize(("asked", "first"), [({"offset": 7}, 7), ({"offset": "7"}, 1), ({}, 1)])
def test_a_file_that_is_unchanged_is_answered_with_a_page_from_where_it_was_asked_for(
    asked: dict[str, Any], first: int
) -> None:
    response = {"type": "file_unchanged", "file": {"filePath": "/w/a"}}
    found = returned("Read", response, **asked)
    assert (json.loads(found.output), found.numbered, found.unchanged) == (response, True, True)
    page = {"filePath": "/w/a", "startLine": first, "totalLines": 1, "content": "new", "numLines": 1}
    assert replaced(found) == {"type": "text", "file": page}
    without = returned("Read", {"type": "file_unchanged"})
    assert replaced(without)["file"]["filePath"] == ""


@pytest.mark.parametrize("kind", ["image", "pdf", "parts"])
def test_an_image_or_pages_of_a_file_are_kept_as_bytes(kind: str) -> None:
    found = returned("Read", {"type": kind, "file": {"base64": PICTURE, "type": "image/png"}, "more": [IMAGE]})
    assert (found.output, found.replace) == ("", None)
    assert png(3, 2) in [part.body() for part in found.media]
    other = returned("Read", {"type": "notebook", "more": [IMAGE]})
    assert '"notebook"' in other.output
    assert [part.body() for part in other.media] == [png(3, 2)]
    none = returned("Read", {"type": kind, "file": {}})
    assert (json.loads(none.output), none.media) == ({"type": kind, "file": {}}, ())


def test_lines_and_names_that_were_found_are_replaced_in_their_shapes() -> None:
    content = {"mode": "content", "content": "a:1:x", "numFiles": 1, "filenames": []}
    found = returned("Grep", content)
    assert (found.output, found.most) == ("a:1:x", 19_000)
    assert replaced(found) == {**content, "content": "new"}
    files = returned("Grep", {"mode": "files_with_matches", "filenames": ["a", "b"], "numFiles": 2})
    assert (files.output, files.most) == ("a\nb", 19_000)
    assert replaced(files) == {"mode": "content", "numFiles": 0, "filenames": [], "content": "new"}
    globbed = returned("Glob", {"filenames": ["a", "b"], "truncated": False})
    assert (globbed.output, globbed.most) == ("a\nb", None)
    assert replaced(globbed, "a\nc") == {"filenames": ["a", "c"], "truncated": False}


@pytest.mark.parametrize(
    ("tool", "response"),
    [
        ("Grep", {"mode": "files_with_matches", "filenames": ["a", 1]}),
        ("Grep", {"mode": "count"}),
        ("Grep", {"mode": "content", "content": 7}),
        ("Glob", {"filenames": "a"}),
        ("Glob", {"filenames": [None]}),
        ("Other", {"x": 1}),
    ],
)
def test_any_other_shape_is_only_kept(tool: str, response: Any) -> None:
    found = returned(tool, response)
    assert (json.loads(found.output), found.replace) == (response, None)


def test_a_result_of_an_mcp_server_is_a_text_or_blocks() -> None:
    text = returned("mcp__git__log", "words")
    assert (text.output, text.most, replaced(text)) == ("words", 39_000, "new")
    blocks = returned("mcp__see__page", [{"type": "text", "text": "a"}, IMAGE, {"type": "text", "text": "b"}])
    assert (blocks.output, blocks.most) == ("a\nb", 39_000)
    assert replaced(blocks) == [{"type": "text", "text": "new"}, IMAGE]
    assert [part.body() for part in blocks.media] == [png(3, 2)]
    odd = returned("mcp__see__page", [{"type": "resource_link", "uri": "x"}])
    assert odd.replace is None
    assert returned("mcp_", "words").replace is None


def test_a_call_that_failed_is_an_error_with_its_words() -> None:
    found = parse({"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "error": "no"})
    assert isinstance(found, ToolReturn)
    assert (found.output, found.is_error, found.replace) == ("no", True, None)
    bare = parse({"hook_event_name": "PostToolUseFailure"})
    assert isinstance(bare, ToolReturn)
    assert (bare.output, bare.tool) == ("", "")
