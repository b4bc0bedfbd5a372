"""Two owners of keys behind one proxy: whatever one names, sessions and artifacts of the other are not there for it."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from keepwhole.store.protocol import Store
from tests.apps.proxy.proxy_server import DIALECTS, PATHS, Served, ask, offered, proxy
from tests.stores import EACH, place
from tests.upstream.server import Upstream, upstream
from tests.upstream.spelling import Dialect, Json, Part, Text, Tool

pytestmark = pytest.mark.usefixtures("recall_from_start")

SECRET = "the-secret-of-alice"
LONG = "\n".join(f"{SECRET} {number} " + "x" * 80 for number in range(4_000))
ALICE, BOB = {"authorization": "Bearer alice"}, {"authorization": "Bearer bob"}
every_dialect = pytest.mark.parametrize("dialect", DIALECTS)


def conversation(dialect: Dialect, result: str, call: str = "call_a", **more: Any) -> Json:
    """An agent that called its tool once, and tells what came of it."""
    user = {"role": "user", "content": "go"}
    if dialect == "anthropic":
        said = [
            {"role": "assistant", "content": [{"type": "tool_use", "id": call, "name": "work", "input": {"n": 1}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call, "content": result}]},
        ]
        return {"model": "m", "max_tokens": 9, "messages": [user, *said], "tools": offered(dialect), **more}
    if dialect == "openai_chat":
        made = {"id": call, "type": "function", "function": {"name": "work", "arguments": '{"n": 1}'}}
        said = [
            {"role": "assistant", "content": None, "tool_calls": [made]},
            {"role": "tool", "tool_call_id": call, "content": result},
        ]
        return {"model": "m", "messages": [user, *said], "tools": offered(dialect), **more}
    said = [
        {"type": "function_call", "call_id": call, "name": "work", "arguments": '{"n": 1}'},
        {"type": "function_call_output", "call_id": call, "output": result},
    ]
    return {"model": "m", "input": [user, *said], "tools": offered(dialect), "store": False, **more}


class World:
    """A model that reads back what it is told to, and the proxy in front of it."""

    def __init__(self, tenants: str = "key") -> None:
        self.wanted = ""
        self.tool = "get_artifact"
        self.tenants = tenants
        self.upstream: Upstream
        self.proxy: Served
        self.store: Store

    def model(self, body: Json) -> list[Part]:
        if not self.wanted or self.wanted in json.dumps(body.get("messages") or body["input"]).partition("call_b")[0]:
            return [Text("fine")]
        wanted, self.wanted = self.wanted, ""
        arguments = {"get_artifact": "id", "get_task_trace": "trace_id", "search_artifacts": "query"}
        return [Tool(self.tool, {arguments[self.tool]: wanted})]

    def ask(self, dialect: Dialect, owner: Json, result: str = "nothing", session: str = "", **more: Any) -> str:
        """What the provider was sent last."""
        headers = {**owner, **({"x-keepwhole-session": session} if session else {})}
        answer = ask(self.proxy.port, PATHS[dialect], conversation(dialect, result, **more), headers)
        assert answer.status == 200, answer.data
        return self.upstream.asked[-1].data.decode()

    def read_back(self, dialect: Dialect, owner: Json, name: str, tool: str = "get_artifact", session: str = "") -> str:
        """What a model of this owner gets for a name."""
        self.wanted, self.tool = name, tool
        self.upstream.answers = 50  # so that the same ids are drawn
        sent = self.ask(dialect, owner, session=session, call="call_b")
        return sent.partition("call_b")[2].replace(name, "NAME").replace(json.dumps(name)[1:-1], "NAME")


@pytest.fixture(params=EACH)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World()
    made.store = place(request.param, tmp_path / "home").open()
    with upstream(made.model) as made.upstream, proxy(made.upstream.url, store=made.store) as made.proxy:
        yield made
    made.store.close()


def artifact_in(sent: str) -> str:
    found = re.search(r"art_\d+_\w{22}", sent)
    assert found, sent[:2_000]
    return found[0]


@every_dialect
def test_an_artifact_is_read_back_by_its_owner_and_by_nobody_else(world: World, dialect: Dialect) -> None:
    name = artifact_in(world.ask(dialect, ALICE, LONG, "shared"))
    world.proxy.rest()
    assert SECRET in world.read_back(dialect, ALICE, name, session="shared")
    unknown = "art_1700000000_" + "A" * 22
    for session in ("shared", "", "other"):
        theirs = world.read_back(dialect, BOB, name, session=session)
        assert SECRET not in theirs
        assert theirs == world.read_back(dialect, BOB, unknown, session=session), "another answer than for no artifact"


@every_dialect
def test_no_name_of_a_session_leads_into_anothers(world: World, dialect: Dialect) -> None:
    name = artifact_in(world.ask(dialect, ALICE, LONG, "work"))
    world.proxy.rest()
    (full,) = [info.name for info in world.store.sessions() if info.name.startswith("work")]
    owner = full.partition("@")[2]
    unknown = "art_1700000000_" + "A" * 22
    forged = ["work", full, f"work@{owner}", f"{full}@", f"@{owner}", f"work%40{owner}", "work\t", "../work", "w" * 300]
    for session in forged:
        theirs = world.read_back(dialect, BOB, name, session=session)
        assert SECRET not in theirs, session
        assert theirs == world.read_back(dialect, BOB, unknown, session=session)


@pytest.mark.usefixtures("patient_search")
@every_dialect
def test_the_other_tools_find_nothing_of_another_owner(world: World, dialect: Dialect) -> None:
    world.ask(dialect, ALICE, LONG, "shared")
    world.proxy.rest()
    assert SECRET in world.read_back(dialect, ALICE, SECRET, "search_artifacts", "shared").replace("NAME", SECRET)
    theirs = world.read_back(dialect, BOB, SECRET, "search_artifacts", "shared")
    assert "xxxx" not in theirs
    assert theirs == world.read_back(dialect, BOB, "no-such-thing-of-bob", "search_artifacts", "shared")


KEYS: list[Json] = [
    {"x-api-key": "alice"},
    {"api-key": "alice"},
    {"authorization": "bearer alice"},
    {"authorization": "Bearer alice "},
    {"authorization": "Bearer alic"},
    {"authorization": "Bearer alice", "x-api-key": "bob"},
    {"cookie": "authorization=Bearer alice"},
    {"x-keepwhole-authorization": "Bearer alice"},
    {},
]


@pytest.mark.parametrize("key", KEYS, ids=json.dumps)
def test_only_the_very_same_key_is_the_same_owner(world: World, key: Json) -> None:
    name = artifact_in(world.ask("anthropic", ALICE, LONG, "shared"))
    world.proxy.rest()
    theirs = world.read_back("anthropic", key, name, session="shared")
    is_same = key == {"authorization": "Bearer alice "}  # white space around a value is not part of it
    assert (SECRET in theirs) == is_same
