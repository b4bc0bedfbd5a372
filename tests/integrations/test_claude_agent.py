"""Claude's Agent SDK with the client that comes with it, against Anthropic on loopback."""

import asyncio
import base64
import inspect
import json
import re
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import keepwhole
from keepwhole.errors import UsageError
from keepwhole.recall.names import NAMES
from keepwhole.testing import AdapterContract, AgentRun, MemoryStore, Script, printed_calls
from keepwhole.testing.script import Tools
from tests.canonical.pictures import png
from tests.integrations.claude_upstream import upstream

pytest.importorskip("claude_agent_sdk", reason="Claude's Agent SDK is not installed: `pip install '.[claude-agent]'`")

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    ResultMessage,
    SdkMcpTool,
    create_sdk_mcp_server,
    query,
    tool,
)

from keepwhole.integrations.claude_agent import _tool_handler, recall_server, with_keepwhole

pytestmark = pytest.mark.adapters
LOG = "".join(f"{n:05} compiled unit {n}\n" for n in range(1_000))
PICTURE = png(30, 20)
PICTURE_64 = base64.b64encode(PICTURE).decode()
_REMINDER = re.compile(r"(\n\n)?<system-reminder>.*?</system-reminder>", re.S)


def offline(folder: str, port: int, **given: Any) -> ClaudeAgentOptions:
    environ = {
        "ANTHROPIC_BASE_URL": f"http://127.0.0.1:{port}",
        "ANTHROPIC_API_KEY": "sk-ant-fake",
        "HOME": folder,
        "CLAUDE_CONFIG_DIR": folder,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "IS_SANDBOX": "1",
    }
    model = "claude-sonnet-4-5"
    return ClaudeAgentOptions(cwd=folder, env=environ, setting_sources=[], model=model, max_turns=20, **given)


async def asked(options: ClaudeAgentOptions) -> ResultMessage:
    """The last message of one run."""
    messages = [message async for message in query(prompt="go", options=options)]
    assert isinstance(messages[-1], ResultMessage)
    return messages[-1]


def use(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def plain(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a request without the parts that the client adds and moves."""
    return [{"role": m["role"], "content": list(_blocks(m["content"]))} for m in body["messages"]]


def _blocks(content: Any) -> Iterator[dict[str, Any]]:
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        block = {key: value for key, value in block.items() if key != "cache_control"}
        if block["type"] == "text" and not (text := _REMINDER.sub("", block["text"]).strip()):
            continue
        if block["type"] == "tool_result":
            block["content"] = _said(block["content"])
        yield {**block, "text": text} if block["type"] == "text" else block


def _said(content: Any) -> str:
    """The text of a result; the client puts what it adds after two line ends, or into a block after one."""
    if isinstance(content, str):
        return _REMINDER.sub("", content)
    texts = [str(part.get("text", "")) for part in content]
    if texts[-1].startswith("<system-reminder>"):
        texts = [*texts[:-2], texts[-2].removesuffix("\n")]
    return "".join(texts)


def results(body: dict[str, Any]) -> dict[str, str]:
    blocks = [block for message in plain(body) for block in message["content"]]
    return {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}


@tool("build", "Build a target.", {"target": str})
async def build(arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments["target"] == "broken":
        raise ValueError("no such target")
    picture = {"type": "image", "data": base64.b64encode(b"\x89PNG").decode(), "mimeType": "image/png"}
    blocks = [{"type": "text", "text": LOG}, {"type": "text", "text": "short"}]
    return {"content": [*blocks, picture] if arguments["target"] == "picture" else blocks}


@pytest.mark.clients
def test_the_client_sends_what_fits_reads_back_and_the_record_has_the_whole(tmp_path: Path) -> None:
    s = keepwhole.session(store=MemoryStore())
    bodies: list[dict[str, Any]] = []

    def respond(body: dict[str, Any]) -> list[dict[str, Any]]:
        bodies.append(body)
        if len(bodies) == 1:
            long, longer = "seq 1 3000", "seq 1 20000"
            return [
                use("t1", "mcp__own__build", target="all"),
                use("t2", "Bash", command=long, description="count"),
                use("t3", "Bash", command=longer, description="count"),
                use("t4", "Bash", command="echo five; exit 5", description="fail"),
                use("t5", "mcp__own__build", target="broken"),
            ]
        if len(bodies) == 2:
            name, arguments = printed_calls(results(body)["t1"])[-1]
            return [use("t6", f"mcp__keepwhole__{name}", **arguments)]
        return [{"type": "text", "text": "done"}]

    with upstream(respond) as port:
        server = {"own": create_sdk_mcp_server("own", tools=[build])}
        allowed = ["mcp__own__build", "Bash"]
        given: Any = {"mcp_servers": server, "allowed_tools": allowed, "tools": ["Bash"]}
        done = asyncio.run(asked(with_keepwhole(offline(str(tmp_path), port, **given), s)))

    assert done.result == "done"
    sent = results(bodies[-1])
    assert "get_artifact(" in sent["t1"]
    assert sent["t1"].endswith("short")
    assert "get_artifact(" in sent["t2"]
    assert len(sent["t2"]) < 9_000
    assert "get_artifact(" in sent["t3"]
    assert "<persisted-output>" not in sent["t3"]
    assert "00500 compiled unit 500" in sent["t6"]
    kept = {s.recall(row.trace_id) for row in s.store.rows(s.id, kind="result")}
    numbers = ["\n".join(map(str, range(1, last + 1))) for last in (3_000, 20_000)]
    assert {LOG, "short", "no such target"} <= kept
    assert all(any(text.rstrip("\n") == number for text in kept) for number in numbers)
    assert any("five" in text for text in kept)
    assert s.verify().whole


@tool("shot", "Take a screenshot.", {})
async def shot(arguments: dict[str, Any]) -> dict[str, Any]:
    return {"content": [{"type": "image", "data": PICTURE_64, "mimeType": "image/png"}]}


@pytest.mark.clients
def test_an_image_of_a_tool_is_read_back_by_the_client_as_an_image(tmp_path: Path) -> None:
    s = keepwhole.session(store=MemoryStore())
    bodies: list[dict[str, Any]] = []

    def respond(body: dict[str, Any]) -> list[dict[str, Any]]:
        bodies.append(body)
        if len(bodies) == 1:
            return [use("t1", "mcp__own__shot")]
        if len(bodies) == 2:
            image, *_ = s.store.rows(s.id, kind="result")  # the client may say in words where it saved it
            return [use("t2", "mcp__keepwhole__get_artifact", id=image.trace_id)]
        return [{"type": "text", "text": "done"}]

    with upstream(respond) as port:
        server = {"own": create_sdk_mcp_server("own", tools=[shot])}
        given: Any = {"mcp_servers": server, "allowed_tools": ["mcp__own__shot"], "tools": []}
        asyncio.run(asked(with_keepwhole(offline(str(tmp_path), port, **given), s)))

    blocks = [block for message in bodies[-1]["messages"] for block in message["content"] if isinstance(block, dict)]
    sent = {block["tool_use_id"]: block["content"] for block in blocks if block["type"] == "tool_result"}
    for call_id in ("t1", "t2"):
        (image,) = [part for part in sent[call_id] if part["type"] == "image"]
        assert base64.b64decode(image["source"]["data"]) == PICTURE


class Client:
    """Runs with the real client; a second run resumes the client's own session."""

    def __init__(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.resume: str | None = None

    def run(self, script: Script, tools: Tools, session: keepwhole.Session) -> AgentRun:
        def respond(body: dict[str, Any]) -> list[dict[str, Any]]:
            offered = [str(each["name"]).rpartition("__")[2] for each in body["tools"]]
            said = script.reply(plain(body), offered)
            named = [(each, "keepwhole" if each.name in NAMES else "own") for each in said.calls]
            calls = [use(each.call_id, f"mcp__{server}__{each.name}", **each.arguments) for each, server in named]
            return calls or [{"type": "text", "text": said.text}]

        own = create_sdk_mcp_server("own", tools=[_as_tool(name, each) for name, each in tools.items()])
        with upstream(respond) as port:
            given: Any = {"mcp_servers": {"own": own}, "allowed_tools": ["mcp__own"], "tools": []}
            options = offline(self.folder, port, resume=self.resume, **given)
            done = asyncio.run(asyncio.wait_for(asked(with_keepwhole(options, session)), 40))
        self.resume = done.session_id
        return AgentRun(done.result or "", script.requests, script.requests[-1])


def _as_tool(name: str, function: Callable[..., str]) -> SdkMcpTool[Any]:
    async def handler(arguments: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": function(**arguments)}]}

    given: Any = {word: str for word in inspect.signature(function).parameters}
    return tool(name, str(function.__doc__), given)(handler)


@pytest.mark.clients
class TestContract(AdapterContract):
    sees_requests = False
    holds_truth = False

    def harness(self) -> Client:
        return Client()


def hooked(session: keepwhole.Session, **event: Any) -> Any:
    """The answer of Keepwhole's hook to an event."""
    name = event.setdefault("hook_event_name", "PostToolUse")
    hooks = with_keepwhole(ClaudeAgentOptions(), session).hooks or {}
    (matcher,) = hooks[name]
    return asyncio.run(matcher.hooks[0](event, event.get("tool_use_id"), {"signal": None}))  # type: ignore[arg-type]


class TestHook:
    def test_what_the_options_say_stays(self) -> None:
        async def theirs(*_: object) -> Any:
            return {}

        options = ClaudeAgentOptions(
            allowed_tools=["Read"], hooks={"PostToolUse": [HookMatcher(hooks=[theirs])]}, mcp_servers={"x": {}}
        )  # type: ignore[dict-item]
        with_ours = with_keepwhole(options, keepwhole.session(store=MemoryStore()))
        assert with_ours.allowed_tools == ["Read", *(f"mcp__keepwhole__{name}" for name in NAMES)]
        assert [len(matchers) for matchers in (with_ours.hooks or {}).values()] == [2, 1]
        assert list(with_ours.mcp_servers) == ["x", "keepwhole"]
        assert options.allowed_tools == ["Read"]

    def test_where_files_are_read_back_no_tools_are_offered(self, tmp_path: Path) -> None:
        s = keepwhole.session(store=tmp_path, recall="path")
        options = with_keepwhole(ClaudeAgentOptions(), s)
        assert options.allowed_tools == []
        assert options.mcp_servers == {}

    def test_servers_from_a_file_are_refused_with_what_to_do(self) -> None:
        with pytest.raises(UsageError, match="is a dict"):
            with_keepwhole(ClaudeAgentOptions(mcp_servers="servers.json"), keepwhole.session(store=MemoryStore()))

    def test_an_image_beside_a_text_stays_where_it_is(self) -> None:
        s = keepwhole.session(store=MemoryStore())
        image = {"type": "image", "source": {"type": "base64", "data": "", "media_type": "image/png"}}
        response = [image, {"type": "text", "text": LOG}]
        answer = hooked(s, tool_name="mcp__x__y", tool_input={}, tool_use_id="t", tool_response=response)
        first, second = answer["hookSpecificOutput"]["updatedToolOutput"]
        assert first == image
        assert "get_artifact(" in second["text"]

    @pytest.mark.parametrize(
        ("name", "response"),
        [
            ("Read", {"type": "image", "file": {"base64": PICTURE_64, "type": "image/png"}}),
            ("Bash", {"stdout": f"data:image/png;base64,{PICTURE_64}", "stderr": "", "isImage": True}),
            ("mcp__x__y", [{"type": "image", "source": {"type": "base64", "data": PICTURE_64}}]),
        ],
    )
    def test_an_image_is_kept_as_its_bytes_and_read_back_as_an_image(self, name: str, response: Any) -> None:
        s = keepwhole.session(store=MemoryStore())
        assert hooked(s, tool_name=name, tool_input={}, tool_use_id="t", tool_response=response) == {}
        (row,) = s.store.rows(s.id, kind="result")
        assert s.recall_bytes(row.trace_id) == PICTURE
        answer = asyncio.run(_tool_handler(s, "get_artifact")({"id": row.trace_id}))
        words, image = answer["content"]
        assert "image/png" in words["text"]
        assert image == {"type": "image", "data": PICTURE_64, "mimeType": "image/png"}

    def test_the_images_beside_a_text_are_kept(self) -> None:
        s = keepwhole.session(store=MemoryStore())
        image = {"type": "image", "source": {"type": "base64", "data": PICTURE_64, "media_type": "image/png"}}
        response = [image, {"type": "text", "text": "a shot"}]
        assert hooked(s, tool_name="mcp__x__y", tool_input={}, tool_use_id="t", tool_response=response) == {}
        picture, text = s.store.rows(s.id, kind="result")
        assert (s.recall_bytes(picture.trace_id), s.recall(text.trace_id)) == (PICTURE, "a shot")

    def test_the_figures_of_a_notebook_are_kept_and_the_cells_as_json(self) -> None:
        s = keepwhole.session(store=MemoryStore())
        output = {"output_type": "display_data", "image": {"image_data": PICTURE_64, "media_type": "image/png"}}
        response = {"type": "notebook", "file": {"cells": [{"source": "plot()", "outputs": [output]}]}}
        assert hooked(s, tool_name="Read", tool_input={}, tool_use_id="t", tool_response=response) == {}
        figure, cells = s.store.rows(s.id, kind="result")
        assert s.recall_bytes(figure.trace_id) == PICTURE
        assert json.loads(s.recall(cells.trace_id))["file"]["cells"][0]["source"] == "plot()"
        assert PICTURE_64 not in s.recall(cells.trace_id)

    def test_what_fits_is_not_replaced(self) -> None:
        s = keepwhole.session(store=MemoryStore())
        response = {"stdout": "a\n", "stderr": "b\n", "interrupted": False}
        assert hooked(s, tool_name="Bash", tool_input={}, tool_use_id="t", tool_response=response) == {}
        assert [s.recall(row.trace_id) for row in s.store.rows(s.id, kind="result")] == ["a\n", "b\n"]

    @pytest.mark.parametrize("name", ["Read", "WebFetch", "Agent"])
    def test_shapes_that_were_not_tried_are_kept_and_left_alone(self, name: str) -> None:
        s = keepwhole.session(store=MemoryStore())
        response = {"type": "text", "file": {"content": LOG}}
        assert hooked(s, tool_name=name, tool_input={}, tool_use_id="t", tool_response=response) == {}
        (row,) = s.store.rows(s.id, kind="result")
        assert json.loads(s.recall(row.trace_id)) == response
        assert s.artifacts() == []

    def test_the_clients_own_file_is_kept_where_the_hook_gets_the_beginning(self, tmp_path: Path) -> None:
        (tmp_path / "out.txt").write_text(LOG)
        response = {"stdout": LOG[:300], "stderr": "", "interrupted": False, "isImage": False}
        spilled = {**response, "persistedOutputPath": str(tmp_path / "out.txt"), "persistedOutputSize": len(LOG)}
        s = keepwhole.session(store=MemoryStore())
        answer = hooked(s, tool_name="Bash", tool_input={}, tool_use_id="t", tool_response=spilled)
        shown = answer["hookSpecificOutput"]["updatedToolOutput"]
        assert "get_artifact(" in shown["stdout"]
        assert shown.keys() == response.keys()
        (row,) = s.store.rows(s.id, kind="result")
        assert s.recall(row.trace_id) == LOG

    def test_where_that_file_is_gone_nothing_is_replaced(self, tmp_path: Path) -> None:
        gone = {"stdout": LOG, "stderr": "", "persistedOutputPath": str(tmp_path / "gone.txt")}
        s = keepwhole.session(store=MemoryStore())
        assert hooked(s, tool_name="Bash", tool_input={}, tool_use_id="t", tool_response=gone) == {}

    def test_in_the_shadow_results_are_kept_and_nothing_is_replaced(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KEEPWHOLE_MODE", "shadow")
        s = keepwhole.session(store=MemoryStore())
        assert hooked(s, tool_name="mcp__x__y", tool_input={}, tool_use_id="t", tool_response=LOG) == {}
        assert len(list(s.store.rows(s.id))) == 1

    def test_a_failure_is_kept_as_one(self) -> None:
        s = keepwhole.session(store=MemoryStore())
        failed = {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "tool_use_id": "t"}
        assert hooked(s, **failed, tool_input={"command": "false"}, error="Exit code 1") == {}
        (row,) = s.store.rows(s.id, kind="result")
        assert s.shown(row.trace_id).is_error
        assert s.recall(row.trace_id) == "Exit code 1"

    def test_the_server_has_the_recall_tools(self) -> None:
        assert recall_server(keepwhole.session(store=MemoryStore()))["name"] == "keepwhole"
