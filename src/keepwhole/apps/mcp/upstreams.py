"""One server behind the gateway: connected when first needed, connected again after the connection ended.

Owns: the connection, how long an answer may take, and that requests and results cross it unchanged.
Must not know: which client asks, what becomes of a result.
"""

import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, NamedTuple, cast

import anyio
import mcp_types as types
from mcp import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import LOG_LEVEL_META_KEY
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import TypeAdapter, ValidationError

from keepwhole.apps.mcp.guarded_streams import MessageGuard, RateLimit, guarded
from keepwhole.apps.mcp.questions import signed
from keepwhole.apps.mcp.servers_file import ServerSpec
from keepwhole.apps.mcp.transports import transport
from keepwhole.version import VERSION

CONNECT_SECONDS = 30.0
CALL_SECONDS, READ_SECONDS = 1_800.0, 60.0
"""How long a tool, and any other request, may take where the file has no `timeout`."""
MOST_QUESTIONS, QUESTION_SECONDS = 20, 60.0
"""Questions of one server that are passed on within this time."""
WRITE_SECONDS = 10.0
LISTEN_AGAIN_SECONDS = 5.0
_ANY: Any = TypeAdapter(dict[str, Any])
_TERMINATED = "Session terminated"
_log = logging.getLogger("keepwhole.mcp")


class _Raw(types.Request):  # pyright: ignore[reportMissingTypeArgument] - naming them makes a public class here
    """A request of any method, with the parameters as they came."""

    method: str
    params: dict[str, Any]


class Lost(MCPError):
    """A server that cannot be reached, or went away before it answered."""


class Hooks(NamedTuple):
    """The receivers of a server's own messages."""

    ask: Callable[["Upstream", types.InputRequest], Any]
    """Returns a client's answer to a question of the server (sampling, elicitation, roots)."""
    tell: Callable[["Upstream", types.ServerNotification], Any]
    """Passes on a notice of the server: its log, changes of its lists."""


class _Attempt:
    """One try to connect, and how it ended."""

    def __init__(self) -> None:
        self.wanted, self.over = anyio.Event(), anyio.Event()
        self.error: Exception | None = None


class Upstream:
    """One server. `run` keeps its connection, in a task of its own; everything else may be called from any task."""

    def __init__(self, spec: ServerSpec, hooks: Hooks, connect: Callable[[], Any] | None = None) -> None:
        self.spec, self._hooks, self._connect = spec, hooks, connect
        self.client: Client | None = None
        self.log_level: str | None = None
        self._attempt, self._dropped = _Attempt(), anyio.Event()
        self._watching: set[str] = set()
        self._watch_again = anyio.Event()
        self._questions = RateLimit(MOST_QUESTIONS, QUESTION_SECONDS)

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.spec.name

    @property
    def is_modern(self) -> bool:
        """Whether it speaks a revision without handshake, in which servers ask by answering."""
        return self.client is not None and self.client.protocol_version in MODERN_PROTOCOL_VERSIONS

    async def run(self) -> None:
        """Connect when a connection is wanted, and again after one ended. Never returns."""
        while True:
            attempt = self._attempt
            await attempt.wanted.wait()
            try:
                await self._hold(attempt)
            except Exception as error:
                attempt.error = error
                _log.warning("server %r: %s", self.name, _why(error, self.spec))
            finally:
                self._end(attempt)
                attempt.over.set()

    async def connected(self) -> Client:
        """Return the connection; open one first where there is none."""
        if self.client is None:
            attempt = self._attempt
            attempt.wanted.set()
            with anyio.move_on_after(CONNECT_SECONDS):
                await attempt.over.wait()
            if self.client is None:
                why = _why(attempt.error, self.spec) if attempt.error else f"no answer in {CONNECT_SECONDS:.0f} s"
                raise Lost(types.CONNECTION_CLOSED, f"The MCP server `{self.name}` cannot be reached: {why}")
        return self.client

    async def send(
        self, method: str, params: dict[str, Any], progress: ProgressFnT | None = None, again: bool = True
    ) -> dict[str, Any]:
        """The server's answer, unchanged. A request that only reads may be sent `again` if the connection ended."""
        seconds = self.spec.timeout or (CALL_SECONDS if method == "tools/call" else READ_SECONDS)

        async def sent(client: Client) -> dict[str, Any]:
            given = params
            if self.is_modern and self.log_level is not None:
                given = {**params, "_meta": {LOG_LEVEL_META_KEY: self.log_level, **params.get("_meta", {})}}
            request = _Raw(method=method, params=given)
            # The library's time runs only once the request is written, which a server that does not read prevents.
            with anyio.fail_after(seconds + WRITE_SECONDS):
                return await client.session.send_request(request, _ANY, seconds, progress_callback=progress)

        return await self._over(sent, again)

    async def tools(self, cursor: str | None) -> dict[str, Any]:
        """Return a page of its tools. The library reads them too: some define which arguments go into headers."""
        params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None

        async def listed(client: Client) -> dict[str, Any]:
            page = await client.session.list_tools(params=params)
            return page.model_dump(by_alias=True, mode="json", exclude_none=True)

        return await self._over(listed, again=True)

    async def notify(self, notification: types.ClientNotification) -> None:
        """Send the server a notice, if it is connected."""
        if self.client is not None and not self.is_modern:
            await self.client.session.send_notification(notification)

    async def watch(self, uri: str, on: bool = True) -> None:
        """Ask the server to report changes of a resource, in the way of its revision."""
        await self.connected()
        if not self.is_modern:
            await self.send("resources/subscribe" if on else "resources/unsubscribe", {"uri": uri})
            return
        (self._watching.add if on else self._watching.discard)(uri)
        self._watch_again.set()

    async def _over(self, ask: Callable[[Client], Awaitable[dict[str, Any]]], again: bool) -> dict[str, Any]:
        client = await self.connected()
        try:
            return await ask(client)
        except ValidationError as error:
            words = f"The MCP server `{self.name}` gave an answer that breaks the protocol."
            raise MCPError(code=types.INTERNAL_ERROR, message=words) from error
        except TimeoutError as error:
            raise self._late() from error
        except MCPError as error:
            if not _has_ended(error):
                raise self._named(error) from error
            if self.client is client:
                self._dropped.set()
                self._end(self._attempt)
            if again:
                return await self._over(ask, again=False)
            raise Lost(
                types.CONNECTION_CLOSED,
                f"The MCP server `{self.name}` went away before it answered. It is started again for the next call.",
            ) from error

    def _named(self, error: MCPError) -> MCPError:
        """The error; one that is the library's own with the server's name in it."""
        if error.code == types.REQUEST_TIMEOUT:
            return self._late()
        if error.code == types.PARSE_ERROR and self.name not in error.message:
            return MCPError(
                code=error.code, message=f"The MCP server `{self.name}` gave an answer that cannot be read."
            )
        return error

    def _late(self) -> MCPError:
        words = f"The MCP server `{self.name}` gave no answer in time; `timeout` in its entry says how long to wait."
        return MCPError(code=types.REQUEST_TIMEOUT, message=words)

    async def _hold(self, attempt: _Attempt) -> None:
        self._dropped = anyio.Event()
        guard = MessageGuard(self.name, lambda: self.client and self.client.protocol_version)
        given = self._connect() if self._connect else guarded(transport(self.spec), guard, self._dropped)
        client = Client(
            given,
            sampling_callback=self._asked_to_sample,
            elicitation_callback=self._asked_to_elicit,
            list_roots_callback=self._asked_for_roots,
            message_handler=self._note_change,
            client_info=types.Implementation(name="keepwhole-gateway", version=VERSION),
            cache=None,
            mode=self.spec.mode,
        )
        async with client:
            self.client = client
            attempt.over.set()
            async with anyio.create_task_group() as tasks:
                if self.is_modern:
                    tasks.start_soon(self._listen, client)
                await self._dropped.wait()
                self._end(attempt)
                tasks.cancel_scope.cancel()

    def _end(self, attempt: _Attempt) -> None:
        """Begin a new attempt, for which later calls wait."""
        if self._attempt is attempt:
            self.client, self._attempt = None, _Attempt()

    async def _listen(self, client: Client) -> None:
        """Listen for changes of lists and resources, which this revision reports only to listeners."""
        while True:
            self._watch_again = anyio.Event()
            patience = LISTEN_AGAIN_SECONDS
            try:
                await self._listen_once(client)
            except (SubscriptionLost, TimeoutError):
                pass
            except MCPError:  # it refuses; it may not when there is something else to watch
                patience = math.inf
            with anyio.move_on_after(patience):
                await self._watch_again.wait()

    async def _listen_once(self, client: Client) -> None:
        uris = sorted(self._watching)
        async with (
            client.listen(
                tools_list_changed=True,
                prompts_list_changed=True,
                resources_list_changed=True,
                resource_subscriptions=uris,
            ) as changes,
            anyio.create_task_group() as tasks,
        ):
            tasks.start_soon(self._until_watched_again, tasks)
            with suppress(SubscriptionLost):
                async for _ in changes:  # `_note_change` gets the same events
                    pass
            tasks.cancel_scope.cancel()

    async def _until_watched_again(self, tasks: Any) -> None:
        await self._watch_again.wait()
        tasks.cancel_scope.cancel()

    async def _asked_to_sample(self, context: ClientRequestContext, params: types.CreateMessageRequestParams) -> Any:
        return await self._ask(types.CreateMessageRequest(params=params))

    async def _asked_to_elicit(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> Any:
        return await self._ask(types.ElicitRequest(params=params))

    async def _asked_for_roots(self, context: ClientRequestContext) -> Any:
        return await self._ask(types.ListRootsRequest())

    async def _ask(self, request: types.InputRequest) -> Any:
        if not self._questions.allows():
            words = f"More than {MOST_QUESTIONS} questions in {QUESTION_SECONDS:.0f} s are not passed on."
            return types.ErrorData(code=types.INVALID_REQUEST, message=words)
        return await self._hooks.ask(self, signed(request, self.name))

    async def _note_change(self, message: IncomingMessage) -> None:
        if not isinstance(message, Exception):
            await self._hooks.tell(self, message)


def _has_ended(error: MCPError) -> bool:
    return error.code == types.CONNECTION_CLOSED or error.message == _TERMINATED


def _why(error: BaseException, spec: ServerSpec) -> str:
    """Why there is no connection: the message of an error, or of the first error of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if spec.command and isinstance(error, OSError) and error.filename:
        return f"`{error.filename}` cannot be run ({error.strerror}). Check its `command` in the file of servers."[:300]
    return f"{type(error).__name__}: {error}"[:300]
