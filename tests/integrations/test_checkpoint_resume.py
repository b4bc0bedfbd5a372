"""Cut arguments are never executed: a LangGraph agent that resumes from checkpoints runs every call as it was written.

The agent stops before each call and goes on from its checkpoint, in a graph that is built anew, as another process
would. Its requests go through the proxy, which cuts the long arguments of old calls in what the provider gets.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

# ruff: noqa: E402 the proxy's package may not be there
# Frameworks leave the sockets of their own clients to the collector.
pytestmark = [
    pytest.mark.adapters,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
pytest.importorskip("aiohttp", reason="needs the extra `proxy`")

from keepwhole import Session, SqliteStore
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL
from tests.apps.proxy.proxy_server import proxy
from tests.conversation.argument_agents import arguments_in, messages_of, script
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Json, Part, Text, Tool

FILES = 12
EAGER = CAREFUL.replace(
    arguments="old",
    keep_steps=1,
    start=1_000,
    worth=0,
    horizon=1_000,
    max_loss=100,
)
CONFIG = {"configurable": {"thread_id": "t1"}, "recursion_limit": 100}
HIDDEN = "this view hides them]"


def write_files(body: Json) -> list[Part]:
    """A model that writes one file after the other."""
    done = json.dumps(body["messages"]).count("Written: ")
    if done >= FILES:
        return [Text("All files are written.")]
    return [Tool("write_file", {"path": f"{done}.py", "content": script(done)}, f"call_{done}")]


class Graph:
    """An agent whose graph is built anew whenever it is asked for something; only the checkpoints stay."""

    def __init__(self, provider: str, url: str) -> None:
        self._agents: Any = pytest.importorskip("langchain.agents", reason="langchain is not installed")
        self._clients: Any = pytest.importorskip(f"langchain_{provider}", reason=f"no langchain-{provider}")
        memory: Any = pytest.importorskip("langgraph.checkpoint.memory")
        self._provider, self._url, self._saver = provider, url, memory.InMemorySaver()
        self.ran: list[tuple[str, str]] = []
        """The path and the content of every call of the tool."""

    def build(self) -> Any:
        def write_file(path: str, content: str) -> str:
            """Write a file."""
            self.ran.append((path, content))
            return f"Written: {path}"

        stops = {"checkpointer": self._saver, "interrupt_before": ["tools"]}
        return self._agents.create_agent(self._model(), [write_file], **stops)

    def _model(self) -> Any:
        own = {"api_key": "k", "max_retries": 0, "default_headers": {"x-keepwhole-session": "work"}}
        if self._provider == "openai":
            return self._clients.ChatOpenAI(model="gpt-5", base_url=f"{self._url}/v1", **own)
        return self._clients.ChatAnthropic(model="claude-sonnet-5", base_url=self._url, **own)

    def run(self) -> Any:
        """Write all files, with a stop before each; return the last state."""
        self.build().invoke({"messages": [{"role": "user", "content": "Write the files."}]}, CONFIG)
        while self.build().get_state(CONFIG).next:
            self.build().invoke(None, CONFIG)
        return self.build().get_state(CONFIG)

    def written(self, state: Any) -> list[tuple[str, str]]:
        """The calls in the messages of a checkpoint."""
        calls = [call for message in state.values["messages"] for call in getattr(message, "tool_calls", ())]
        return [(call["args"]["path"], call["args"]["content"]) for call in calls]


WHOLE = [(f"{number}.py", script(number)) for number in range(FILES)]


@pytest.fixture(params=["openai", "anthropic"])
def provider(request: pytest.FixtureRequest) -> Iterator[str]:
    yield request.param
    gc.collect()  # here, so that sockets which frameworks leave open are not counted as the test's


@pytest.fixture
def served() -> Iterator[Upstream]:
    with upstream(write_files) as made:
        yield made
    assert not made.refused
    assert not made.failed


def test_what_is_resumed_runs_with_whole_arguments(provider: str, served: Upstream, tmp_path: Path) -> None:
    with closing(SqliteStore(str(tmp_path))) as store:
        with proxy(served.url, store=store, settings=Settings(home=str(tmp_path), auto=EAGER)) as running:
            graph = Graph(provider, running.url)
            state = graph.run()
            assert HIDDEN in served.asked[-1].data.decode(), "else nothing is tested"
            assert graph.ran == WHOLE, "every call ran from a checkpoint"
            assert graph.written(state) == WHOLE
            old = next(
                each
                for each in graph.build().get_state_history(CONFIG)
                if each.next == ("tools",) and len(graph.written(each)) == 3
            )
            graph.build().invoke(None, old.config)
            assert graph.ran[FILES:] == [WHOLE[2]], "a pending call of long ago runs as it was written"
            running.rest()
        check_sent(served, store, tmp_path)


def check_sent(served: Upstream, store: SqliteStore, home: Path) -> None:
    """What was sent is on record byte for byte, cut arguments too, and `hydrate` makes them whole."""
    (info,) = store.sessions()
    session = Session(info.name, store=store)
    bodies = [asked.data for asked in served.asked]
    cut = next(body for body in reversed(bodies) if HIDDEN in body.decode())
    restored = session.hydrate(messages_of(cut))
    made = arguments_in(json.dumps({"messages": restored}).encode()).values()
    assert [(one["path"], one["content"]) for one in made] == WHOLE[: len(made)]
    listed = json.loads(keepwhole(home, "sent", "--session", info.name, "--json"))
    ids = [each["request"]["trace_id"] for each in listed["requests"]]
    assert cut in [keepwhole(home, "sent", id) for id in ids]


def keepwhole(home: Path, *words: str) -> bytes:
    """What a command prints."""
    env = {**os.environ, "KEEPWHOLE_HOME": str(home)}
    return subprocess.run([sys.executable, "-m", "keepwhole", *words], env=env, capture_output=True, check=True).stdout
