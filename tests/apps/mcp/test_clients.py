"""A server's question reaches the client whose call it works on, and a server's notices those they are for."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ResourceUpdated, ToolsListChanged
from mcp_types import LOG_LEVEL_META_KEY

from keepwhole.apps.mcp import clients as module
from keepwhole.apps.mcp.clients import Clients, who_of
from keepwhole.apps.mcp.server_requests import CallEnded

OLD, MODERN = "2025-06-18", "2026-07-28"
ROOTS = types.ListRootsRequest()
SAMPLING = types.CreateMessageRequest.model_validate({"params": {"messages": [], "maxTokens": 5}})
FILES: Any = "files"
GIT: Any = "git"


class Asker:
    """A client's call that answers with its name, or fails."""

    def __init__(self, who: str, error: BaseException | None = None) -> None:
        self.who, self.error = who, error

    async def ask(self, request: Any) -> Any:
        if self.error is not None:
            raise self.error
        return f"{self.who}: {request.method}"


class Session:
    """A connected client's session, with what it was sent."""

    def __init__(self, offers: bool = True) -> None:
        self.sent: list[tuple[Any, Any]] = []
        self.client_capabilities = SimpleNamespace(roots=offers or None, sampling=offers or None, elicitation=None)

    async def send_notification(self, message: Any, related_request_id: Any = None) -> None:
        self.sent.append((message, related_request_id))

    async def send_request(self, request: Any, answer_type: Any, metadata: Any = None) -> Any:
        return f"connected: {request.method}"


def context(session_id: str | None = None, *, version: str = OLD, meta: Any = None, offers: bool = True) -> Any:
    request = None if session_id is None else SimpleNamespace(headers={"mcp-session-id": session_id or None})
    about = {"request": request, "request_id": 7, "protocol_version": version, "meta": meta}
    return SimpleNamespace(session=Session(offers), **about)


def ask(clients: Clients, request: Any = SAMPLING, upstream: Any = FILES) -> Any:
    return anyio.run(clients.ask, upstream, request)


def test_a_client_is_known_by_its_session() -> None:
    assert who_of(context()) == "stdio"
    assert who_of(context("s1")) == "s1"
    one, other = context(""), context("")
    assert who_of(one) == who_of(one) == f"call-{id(one)}" != who_of(other)


def test_a_question_goes_to_the_newest_call_of_the_one_client_at_this_server() -> None:
    clients = Clients()
    with clients.calling(FILES, Asker("a"), context()), clients.calling(GIT, Asker("b"), context()):
        assert ask(clients) == "a: sampling/createMessage"
        assert ask(clients, upstream=GIT) == "b: sampling/createMessage"
        second = Asker("a", MCPError(code=1, message="newest"))
        with clients.calling(FILES, second, context()):
            assert ask(clients).message == "newest"
        assert ask(clients) == "a: sampling/createMessage"
        with clients.calling(FILES, Asker("c"), context()):
            refused = ask(clients)
    assert refused.code == types.INVALID_REQUEST
    assert refused.message == "The gateway cannot tell whom to ask: calls of several clients are under way."


def test_without_a_call_the_one_connected_client_is_asked() -> None:
    clients = Clients()
    assert ask(clients).message == ("The gateway cannot tell whom to ask: no client is connected that can be asked.")
    clients.greet(context("s1"))
    assert ask(clients) == "connected: sampling/createMessage"
    clients.greet(context("s1"))
    assert ask(clients) == "connected: sampling/createMessage"
    clients.greet(context("s2"))
    assert "calls of several clients" in ask(clients).message


def test_a_client_that_gives_no_answer_is_an_error_for_the_server() -> None:
    clients = Clients()
    with clients.calling(FILES, Asker("a", TimeoutError()), context()):
        found = ask(clients)
    assert (found.code, found.message) == (types.REQUEST_TIMEOUT, "The client gave no answer.")


def test_a_client_without_roots_has_none() -> None:
    clients = Clients()
    clients.greet(context("s1", offers=False))
    found = ask(clients, ROOTS)
    assert isinstance(found, types.ListRootsResult)
    assert found.roots == []


def test_a_question_for_roots_waits_for_a_client() -> None:
    async def use() -> None:
        clients, found = Clients(), list[Any]()

        async def asked() -> None:
            found.append(await clients.ask(FILES, ROOTS))

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(asked)
            await anyio.wait_all_tasks_blocked()
            (answered,) = clients.waiting_for_roots(FILES)
            assert clients.waiting_for_roots(GIT) == []
            with clients.calling(FILES, Asker("a"), context()):
                await anyio.wait_all_tasks_blocked()
        assert found == ["a: roots/list"]
        assert answered.is_set()
        assert clients.waiting_for_roots(FILES) == []

    anyio.run(use)


def test_a_call_that_ended_first_does_not_end_the_question_for_roots() -> None:
    async def use() -> None:
        clients, asked = Clients(), list[str]()

        class Ending(Asker):
            async def ask(self, request: Any) -> Any:
                asked.append(self.who)
                if len(asked) == 1:
                    raise CallEnded(code=1, message="ended")
                return await super().ask(request)

        with clients.calling(FILES, Ending("a"), context()):
            assert await clients.ask(FILES, ROOTS) == "a: roots/list"
        assert asked == ["a", "a"]

    anyio.run(use)


def test_a_question_for_roots_does_not_wait_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ROOTS_SECONDS", 0.01)
    assert ask(Clients(), ROOTS).roots == []


def test_of_more_than_256_clients_the_oldest_is_forgotten() -> None:
    clients, contexts = Clients(), [context(f"s{number}") for number in range(257)]
    for ctx in contexts:
        clients.greet(ctx)
    tell(clients, types.ToolListChangedNotification())
    assert [len(ctx.session.sent) for ctx in contexts] == [0, *[1] * 256]


def tell(clients: Clients, message: Any, upstream: Any = FILES) -> None:
    anyio.run(clients.tell, upstream, message)


@pytest.mark.parametrize(
    ("message", "event"),
    [
        (types.ToolListChangedNotification(), ToolsListChanged()),
        (types.PromptListChangedNotification(), PromptsListChanged()),
        (types.ResourceListChangedNotification(), ResourcesListChanged()),
        (
            types.ResourceUpdatedNotification(params=types.ResourceUpdatedNotificationParams(uri="file:///x")),
            ResourceUpdated(uri="file:///x"),
        ),
        (
            types.ElicitCompleteNotification.model_validate({"params": {"elicitationId": "e"}}),
            None,
        ),
    ],
)
def test_a_change_is_told_to_all_clients(message: Any, event: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clients, published = Clients(), list[Any]()

    async def publish(one: Any) -> None:
        published.append(one)

    monkeypatch.setattr(clients.bus, "publish", publish)
    one, other = context("s1"), context("s2")
    clients.greet(one)
    clients.greet(other)
    tell(clients, message)
    assert one.session.sent == other.session.sent == [(message, None)]
    assert published == ([] if event is None else [event])


def test_any_other_notice_is_told_to_nobody() -> None:
    clients, one = Clients(), context("s1")
    clients.greet(one)
    tell(clients, types.CancelledNotification.model_validate({"params": {"requestId": 1}}))
    assert one.session.sent == []


LOG = types.LoggingMessageNotification.model_validate({"params": {"level": "info", "data": "x"}})


def test_a_log_is_told_to_the_client_of_the_newest_call_else_to_all() -> None:
    clients, connected, first, newest = Clients(), context("s1"), context("s2"), context("s3")
    clients.greet(connected)
    with clients.calling(FILES, Asker("a"), first), clients.calling(FILES, Asker("b"), newest):
        tell(clients, LOG)
        tell(clients, LOG, GIT)
    assert first.session.sent == []
    assert newest.session.sent == connected.session.sent == [(LOG, 7)]


@pytest.mark.parametrize(
    ("version", "meta", "is_told"),
    [(OLD, None, True), (MODERN, None, False), (MODERN, {}, False), (MODERN, {LOG_LEVEL_META_KEY: "info"}, True)],
)
def test_a_client_of_the_newest_revision_gets_logs_where_it_asks_for_them(
    version: str, meta: Any, is_told: bool
) -> None:
    clients, one = Clients(), context("s1", version=version, meta=meta)
    with clients.calling(FILES, Asker("a"), one):
        tell(clients, LOG)
    assert bool(one.session.sent) is is_told
