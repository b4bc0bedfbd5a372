"""Questions that a server asks a client while it works on a call: sampling, elicitation, roots.

Owns: the two ways of asking: by a request of its own (revisions with a handshake), or by an answer that lists what is
missing (revisions without). Client and server may use different ways.
Must not know: what is asked.
"""

import secrets
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple, Protocol, cast

import anyio
import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import BaseModel, TypeAdapter

PATIENCE_SECONDS = 600.0
"""How long a call waits for a client's answer before it fails."""
_ROUNDS = 10
_REQUESTS: TypeAdapter[Any] = TypeAdapter(dict[str, types.InputRequest])
_CAPABILITY = {"sampling/createMessage": "sampling", "elicitation/create": "elicitation", "roots/list": "roots"}


class CallEnded(MCPError):
    """The call through which a client was asked ended before the client answered."""


class Asker(Protocol):
    """A client's call, through which the client can be asked."""

    @property
    def who(self) -> str:
        """Which client it is."""
        ...

    async def ask(self, request: types.InputRequest) -> BaseModel:
        """The client's answer."""
        ...


class Direct(NamedTuple):
    """Asks the client by a request."""

    ctx: ServerRequestContext[Any, Any]
    who: str

    async def ask(self, request: types.InputRequest) -> BaseModel:
        """The client's answer; `MCPError` where it cannot be asked that."""
        refuse_unoffered(self.ctx, request)
        related = ServerMessageMetadata(related_request_id=self.ctx.request_id) if self.ctx.request_id else None
        return await self.ctx.session.send_request(request, _answer_type(request), metadata=related)


class Parked:
    """Asks the client by an answer: the call waits here until the client calls again with the missing input."""

    def __init__(self, who: str, capable: ServerRequestContext[Any, Any]) -> None:
        self.who, self.state = who, secrets.token_urlsafe(24)
        self._capable = capable
        self._turn = anyio.Event()
        self._asked: dict[str, tuple[types.InputRequest, anyio.Event]] = {}
        self._answers: dict[str, Any] = {}
        self._outcome: dict[str, Any] | BaseException | None = None
        self.scope = anyio.CancelScope()

    async def work(self, send: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Run the call, in a task of its own."""
        with self.scope:
            try:
                self._outcome = await send()
            except Exception as error:
                self._outcome = error
        self._turn.set()
        for _, answered in self._asked.values():
            answered.set()

    async def ask(self, request: types.InputRequest) -> BaseModel:
        """The client's answer, when it calls again."""
        refuse_unoffered(self._capable, request)
        key, answered = secrets.token_hex(4), anyio.Event()
        if self._outcome is None:
            self._asked[key] = (request, answered)
            self._turn.set()
            with anyio.fail_after(PATIENCE_SECONDS):
                await answered.wait()
        if key not in self._answers:
            raise CallEnded(code=types.INVALID_REQUEST, message="The call ended before the client answered.")
        return _answer_type(request).model_validate(self._answers.pop(key), by_name=False)

    def answer(self, responses: dict[str, Any]) -> None:
        """Take the input that the client sent with its next call."""
        for key in list(self._asked):
            if key in responses:
                self._answers[key] = responses[key]
                self._asked.pop(key)[1].set()

    async def turn(self) -> dict[str, Any]:
        """Return the call's result, or the questions that the server asked meanwhile."""
        if not self._asked:
            await self._turn.wait()
        self._turn = anyio.Event()
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        if self._outcome is not None:
            return self._outcome
        if self.scope.cancelled_caught:
            raise MCPError(code=types.INVALID_REQUEST, message="This call was abandoned. Call the tool again.")
        asked = {
            key: request.model_dump(by_alias=True, mode="json", exclude_none=True)
            for key, (request, _) in self._asked.items()
        }
        return {"resultType": "input_required", "inputRequests": asked, "requestState": self.state}


async def driven(
    first: dict[str, Any], asker: Asker, again: Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]
) -> dict[str, Any]:
    """Return the result of a server that asks by answers, for a client that is asked by requests."""
    result = first
    for _ in range(_ROUNDS):
        if result.get("resultType") != "input_required":
            return result
        asked: dict[str, Any] = _REQUESTS.validate_python(result.get("inputRequests") or {}, by_name=False)
        responses: dict[str, Any] = {}
        for key, request in asked.items():
            answer = await asker.ask(request)
            responses[key] = answer.model_dump(by_alias=True, mode="json", exclude_none=True)
        if not asked:
            await anyio.sleep(0.1)
        more = {"inputResponses": responses} if responses else {}
        state = {"requestState": result["requestState"]} if "requestState" in result else {}
        result = await again({**more, **state})
    if result.get("resultType") != "input_required":
        return result
    raise MCPError(code=types.INTERNAL_ERROR, message=f"The server asked for input more than {_ROUNDS} times.")


def refuse_unoffered(ctx: ServerRequestContext[Any, Any], request: types.InputRequest) -> None:
    """`MCPError` where the client does not offer what a server asks of it."""
    wanted, offered = _CAPABILITY[request.method], ctx.session.client_capabilities
    if offered is None or getattr(offered, wanted) is None:
        raise MCPError(code=types.METHOD_NOT_FOUND, message=f"The client does not offer {wanted}.")


def _answer_type(request: types.InputRequest) -> type[BaseModel]:
    if isinstance(request, types.CreateMessageRequest):
        with_tools = request.params.tools is not None
        return cast("type[BaseModel]", types.CreateMessageResultWithTools if with_tools else types.CreateMessageResult)
    return types.ElicitResult if isinstance(request, types.ElicitRequest) else types.ListRootsResult
