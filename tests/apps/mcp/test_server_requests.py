"""What a server asks during a call reaches the client by the way that the client knows, and its answer comes back."""

from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("mcp_types", reason="needs the extra `mcp`")

import anyio
import mcp_types as types
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from keepwhole.apps.mcp import server_requests
from keepwhole.apps.mcp.server_requests import CallEnded, Direct, Parked, driven, refuse_unoffered

ROOTS = types.ListRootsRequest()
ROOTS_ASKED = {"method": "roots/list"}
ANSWER = {"roots": [{"uri": "file:///work"}]}
SAMPLE = {"messages": [], "maxTokens": 5}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "x"}, "model": "m", "stopReason": "endTurn"}


def client(*offered: str, request_id: object = None) -> Any:
    """The call of a client that offers these."""
    capabilities = SimpleNamespace(**{name: name in offered or None for name in ("sampling", "elicitation", "roots")})
    return SimpleNamespace(session=SimpleNamespace(client_capabilities=capabilities), request_id=request_id)


def uri(answer: BaseModel) -> str:
    assert isinstance(answer, types.ListRootsResult)
    return str(answer.roots[0].uri)


@pytest.mark.parametrize("name", ["sampling", "elicitation", "roots"])
def test_a_client_is_asked_only_for_what_it_offers(name: str) -> None:
    asked: Any = {
        "sampling": types.CreateMessageRequest.model_validate({"params": SAMPLE}),
        "elicitation": types.ElicitRequest.model_validate(
            {"params": {"message": "x", "requestedSchema": {"type": "object", "properties": {}}}}
        ),
        "roots": ROOTS,
    }[name]
    refuse_unoffered(client(name), asked)
    for other in (client(), client(*{"sampling", "elicitation", "roots"} - {name})):
        with pytest.raises(MCPError, match=f"The client does not offer {name}.") as caught:
            refuse_unoffered(other, asked)
        assert caught.value.error.code == types.METHOD_NOT_FOUND
    unknown: Any = SimpleNamespace(session=SimpleNamespace(client_capabilities=None))
    with pytest.raises(MCPError):
        refuse_unoffered(unknown, asked)


def test_a_client_is_asked_by_a_request_that_belongs_to_its_call() -> None:
    sent: list[Any] = []

    async def send_request(request: Any, answer_type: Any, metadata: Any) -> Any:
        sent.append((request, answer_type, metadata))
        return types.ListRootsResult.model_validate(ANSWER)

    async def ask(request_id: object, request: Any, *offered: str) -> Any:
        ctx = client(*offered, request_id=request_id)
        ctx.session.send_request = send_request
        return await Direct(ctx, "who").ask(request)

    assert uri(anyio.run(ask, "r1", ROOTS, "roots")) == "file:///work"
    assert (sent[0][0], sent[0][1], sent[0][2].related_request_id) == (ROOTS, types.ListRootsResult, "r1")
    anyio.run(ask, None, ROOTS, "roots")
    assert sent[1][2] is None
    for tools, answer_type in ((None, types.CreateMessageResult), ([], types.CreateMessageResultWithTools)):
        given = {**SAMPLE, "tools": tools} if tools is not None else SAMPLE
        anyio.run(ask, None, types.CreateMessageRequest.model_validate({"params": given}), "sampling")
        assert sent[-1][1] is answer_type
    with pytest.raises(MCPError):
        anyio.run(ask, None, ROOTS)
    assert len(sent) == 4


def test_a_call_waits_until_the_client_comes_back_with_what_was_asked() -> None:
    async def call() -> None:
        parked = Parked("who", client("roots"))

        async def send() -> dict[str, Any]:
            first = uri(await parked.ask(ROOTS))
            return {"content": [first, uri(await parked.ask(ROOTS))]}

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(parked.work, send)
            for number in (1, 2):
                turn = await parked.turn()
                (key,) = turn["inputRequests"]
                assert turn == {
                    "resultType": "input_required",
                    "inputRequests": {key: ROOTS_ASKED},
                    "requestState": parked.state,
                }
                parked.answer({"another": ANSWER})
                assert (await parked.turn())["inputRequests"].keys() == {key}
                parked.answer({key: {"roots": [{"uri": f"file:///{number}"}]}})
            assert await parked.turn() == {"content": ["file:///1", "file:///2"]}

    anyio.run(call)


def test_a_question_that_the_client_does_not_offer_is_refused_at_once() -> None:
    async def call() -> None:
        with pytest.raises(MCPError, match="does not offer roots"):
            await Parked("who", client()).ask(ROOTS)

    anyio.run(call)


def test_two_calls_have_states_of_their_own_that_cannot_be_guessed() -> None:
    async def states() -> set[str]:
        return {Parked("who", client()).state for _ in range(9)}

    found = anyio.run(states)
    assert len(found) == 9
    assert min(map(len, found)) >= 32


def test_what_fails_in_a_call_fails_when_the_client_looks() -> None:
    async def call() -> None:
        parked = Parked("who", client("roots"))

        async def send() -> dict[str, Any]:
            raise MCPError(code=7, message="no such tool")

        await parked.work(send)
        with pytest.raises(MCPError, match="no such tool"):
            await parked.turn()
        with pytest.raises(CallEnded, match=r"^The call ended before the client answered\.$"):
            await parked.ask(ROOTS)

    anyio.run(call)


def test_a_question_ends_with_the_call_it_belongs_to() -> None:
    async def call() -> None:
        parked = Parked("who", client("roots"))
        ended: list[BaseException] = []

        async def ask() -> None:
            try:
                await parked.ask(ROOTS)
            except CallEnded as error:
                ended.append(error)

        async def send() -> dict[str, Any]:
            await anyio.sleep(0)
            return {"content": []}

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            await parked.work(send)
        assert len(ended) == 1
        assert await parked.turn() == {"content": []}

    anyio.run(call)


def test_a_call_that_was_given_up_says_so() -> None:
    async def call() -> None:
        parked = Parked("who", client())
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(parked.work, anyio.sleep_forever)
            await anyio.wait_all_tasks_blocked()
            parked.scope.cancel()
        with pytest.raises(MCPError, match=r"This call was abandoned\. Call the tool again\."):
            await parked.turn()

    anyio.run(call)


def test_a_client_that_never_answers_lets_the_call_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_requests, "PATIENCE_SECONDS", 0.01)

    async def call() -> None:
        with pytest.raises(TimeoutError):
            await Parked("who", client("roots")).ask(ROOTS)

    anyio.run(call)


class Asked:
    """A client that is asked by requests."""

    who = "who"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def ask(self, request: types.InputRequest) -> BaseModel:
        self.asked.append(request.method)
        if isinstance(request, types.CreateMessageRequest):
            return types.CreateMessageResult.model_validate(SAMPLED)
        return types.ListRootsResult.model_validate(ANSWER)


def asking(state: str | None = "s", *keys: str) -> dict[str, Any]:
    more = {} if state is None else {"requestState": state}
    return {"resultType": "input_required", "inputRequests": dict.fromkeys(keys, ROOTS_ASKED), **more}


def drive(first: dict[str, Any], *following: dict[str, Any]) -> tuple[Any, list[str], list[dict[str, Any]]]:
    """The result, what the client was asked, and what the server was sent."""
    sent: list[dict[str, Any]] = []
    client, answers = Asked(), iter(following)

    async def again(more: dict[str, Any]) -> dict[str, Any]:
        sent.append(more)
        return next(answers)

    return anyio.run(driven, first, client, again), client.asked, sent


def test_a_server_that_asks_by_answers_is_called_again_with_what_the_client_says() -> None:
    done = {"content": []}
    assert drive(done) == (done, [], [])
    assert drive(asking("s", "a", "b"), asking(None, "c"), done) == (
        done,
        ["roots/list"] * 3,
        [{"inputResponses": {"a": ANSWER, "b": ANSWER}, "requestState": "s"}, {"inputResponses": {"c": ANSWER}}],
    )
    assert drive(asking("s"), done) == (done, [], [{"requestState": "s"}])


def test_an_answer_of_a_client_goes_to_the_server_under_the_names_of_the_protocol() -> None:
    asked = {"a": {"method": "sampling/createMessage", "params": SAMPLE}}
    done = {"content": []}
    assert drive({"resultType": "input_required", "inputRequests": asked}, done) == (
        done,
        ["sampling/createMessage"],
        [{"inputResponses": {"a": SAMPLED}}],
    )


def test_a_server_may_ask_ten_times_before_its_result() -> None:
    done = {"content": []}
    assert drive(*[asking("s", "a")] * 10, done) == (
        done,
        ["roots/list"] * 10,
        [{"inputResponses": {"a": ANSWER}, "requestState": "s"}] * 10,
    )
    with pytest.raises(MCPError, match=r"The server asked for input more than 10 times\."):
        drive(*[asking("s", "a")] * 11)
