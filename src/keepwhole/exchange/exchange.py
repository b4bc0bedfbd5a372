"""One request of a client and all the rounds it takes, without a socket in sight.

Owns: what goes to the provider and what goes back to the client, round by round: the request is viewed and offered our
tools, calls of ours are answered, the rounds that this takes are put on record before the client's answer ends.
Must not know: how bytes are sent. A transport sends `body`, hands in what comes back, and does so again while it is
told to.
"""

import json
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias

from keepwhole import events
from keepwhole.conversation.view_mode import Manner
from keepwhole.exchange.hidden_rounds import Rounds
from keepwhole.exchange.outgoing import Sending
from keepwhole.exchange.request_log import About, Answer, Outcome, Sent
from keepwhole.exchange.request_log import Usage as Billed
from keepwhole.policies.account import Account
from keepwhole.recall.names import NAMES
from keepwhole.record.billing import Expected, is_about_all
from keepwhole.session import Session
from keepwhole.wire.anthropic_stream import AnthropicStream
from keepwhole.wire.as_dict import fields_of, parts_of, text_of
from keepwhole.wire.calls import parse_call, result_block
from keepwhole.wire.dialect import Dialect
from keepwhole.wire.endpoint import Endpoint
from keepwhole.wire.hidden_rounds import Round, key_of, put_back, renamed
from keepwhole.wire.identity import Identity
from keepwhole.wire.openai_chat_stream import ChatStream
from keepwhole.wire.openai_responses_stream import ResponsesStream
from keepwhole.wire.passthrough import Dozing
from keepwhole.wire.reply import Json, Reply, answers, joined_reply, one_message, only_shown, read_reply
from keepwhole.wire.request_body import RequestBody, read_request
from keepwhole.wire.sse import Event, Events, last_event, written
from keepwhole.wire.usage import Usage, usage_in, usage_of

Took: TypeAlias = tuple[int, int]
"""Milliseconds to the first byte, and in all."""
MOST_ROUNDS = 12
"""Rounds that a client waits for at most."""
_ANYBODY = Identity()
_CONTINUED = "previous_response_id"
_UNNAMED = (None, None)
_ENOUGH = "That was the last read for now. Answer with what you have."


def _nowhere(_: list[Any]) -> None:
    """Nothing is put on record of a conversation that has no name."""


class Stream(Protocol):
    """A dialect's streamed answer."""

    def feed(self, event: Event) -> bytes:
        """What a client is to get of an event."""
        ...

    def reply(self) -> Reply | None:
        """The answer of this round."""
        ...

    def end(self, waits: bool) -> bytes:
        """What ends the answer."""
        ...

    def go_on(self) -> None:
        """Another round follows."""
        ...


class Exchange:
    """One request, from the client to the provider and back."""

    def __init__(
        self,
        session: Session,
        rounds: Rounds | None,
        endpoint: Endpoint,
        request: RequestBody,
        identity: Identity = _ANYBODY,
        settles: bool = False,
        named: Callable[[list[Any]], Rounds | None] = _nowhere,
        sent: Sent | None = None,
    ) -> None:
        """Without `rounds` the conversation has no record yet: nothing is kept of it, and nothing cut. Once it is
        answered it may be `named`, so that what was hidden of the answer is found again.

        With `settles`, what is sent whole may be put on record by `settle`; with `sent`, requests and answers too.
        """
        self._session, self._rounds, self._endpoint, self._settles = session, rounds, endpoint, settles
        self._named, self._sent = named, sent
        self.identity = identity
        """Whose request it is, and what for."""
        self._asked = _messages_of(request)[-1]
        self._tools = session.tools_to_offer(endpoint.dialect) if self._may(request) else []
        self.offers = bool(self._tools)
        """Whether the model may call our tools, so that the answer has to be looked at."""
        self._request = self._with_rounds(request) if self.offers else request
        self.count = 0
        """Rounds that the client does not see, so far."""
        self._sendings = [self._sending(self._request)]
        self._usages: dict[int, Usage] = {}
        """What each round was billed, as far as that was said."""
        self._finished = 0
        self._said: list[Json] = []
        self._shown: list[Json] = []
        self._events = Events()
        self._stream = _STREAMS[endpoint.dialect](NAMES)
        self._dozing: Dozing | None = Dozing(NAMES)

    def whole(self, data: bytes) -> bytes | None:
        """What the client gets of a response that came at once: the same bytes, or others; None: send `body` again."""
        try:
            return self._whole(data)
        except Exception as error:  # what a provider wrote is the client's, whatever we make of it
            events.log_passed_on("response", type(error).__name__)
            return data

    def _whole(self, data: bytes) -> bytes | None:
        body = fields_of(json.loads(data)) if self.offers and data[:1] == b"{" else {}
        reply = read_reply(self.dialect, body, NAMES)
        if not reply.calls and not self.count:
            return data
        self._bill(self.count, usage_in(self.dialect, body))
        if self._goes_on(reply, (body.get("id"), body.get("id"))):
            return None
        return json.dumps(joined_reply(self.dialect, body, self._shown, NAMES)).encode()

    def feed(self, data: bytes) -> bytes:
        """What the client gets of a piece of a streamed response."""
        if self._dozing is not None:
            unread = self._dozing.feed(data)
            if unread is not None:
                return unread
            data = self._wake(self._dozing)
        return b"".join(map(self._fed, self._events.feed(data)))

    @property
    def is_unread(self) -> bool:
        """Whether a stream has nothing of ours in it so far, so that its end takes no work."""
        return self._dozing is not None

    def _wake(self, dozing: Dozing) -> bytes:
        """Catch up with what was passed on unread; gives what is still to be read."""
        self._dozing = None
        for event in Events().feed(dozing.seen):
            self._fed(event)
        return dozing.rest

    def _fed(self, event: Event) -> bytes:
        try:
            return self._stream.feed(event)
        except Exception as error:
            events.log_passed_on("event", type(error).__name__)
            return event.raw

    def ended(self) -> bytes | None:
        """A streamed response ended: what the client still gets; None: send `body` again."""
        if self._dozing is not None:
            return self._dozing.end()
        last = last_event(self._events.rest())
        shown = self._fed(last) if last is not None else b""
        try:
            end = self._ended()
        except Exception as error:
            events.log_passed_on("end of a stream", type(error).__name__)
            end = self._stream.end(waits=True)
        return None if end is None else shown + end

    def _ended(self) -> bytes | None:
        reply = self._stream.reply()
        if reply is None:
            return self._stream.end(waits=True)
        is_named = isinstance(self._stream, ResponsesStream)
        if self._goes_on(reply, (self._stream.id, self._stream.body.get("id")) if is_named else _UNNAMED):
            self._stream.go_on()
            return None
        return self._stream.end(reply.waits)

    def failed(self, status: int, data: bytes) -> bytes:
        """What the client gets where a later round of a stream was refused: the error, as this dialect streams it."""
        try:
            body = fields_of(json.loads(data))
        except (ValueError, RecursionError):
            body = {}
        error = body.get("error") or {"type": "api_error", "message": f"The provider answered {status}."}
        if self.dialect == "openai_chat":
            return written("", {"error": error})
        plain: Json = {"type": "error", "error": error}
        return written("error", plain | (fields_of(error) | {"type": "error"} if self.dialect != "anthropic" else {}))

    def finish(self, status: int, data: bytes, complete: bool) -> Usage | None:
        """A round's answer has ended, and has gone to the client: learn from its bill. Once for each answer."""
        try:
            return self._finish(status, data) if complete or data else None
        except Exception as error:  # what was not learned now is learned from the next one
            events.log_passed_on("bill", type(error).__name__)
            return None

    def _finish(self, status: int, data: bytes) -> Usage | None:
        if status != 200 or self._endpoint.counts:
            return None
        number, self._finished = self._finished, self._finished + 1
        usage = usage_of(self.dialect, data, streamed=data.lstrip()[:1] != b"{")
        self._bill(number, usage)
        self._sendings[min(number, len(self._sendings) - 1)].learn(usage)
        return usage

    def record(self, number: int, status: int, data: bytes, outcome: Outcome, usage: Usage | None, ms: Took) -> None:
        """Put a round on record: what was sent and what came. Never raises; a counting one leaves no trace."""
        self._put(number, Answer(data, status, outcome, usage=_billed(usage, ms)), usage)

    def record_unanswered(self, number: int) -> None:
        """Put a round on record of which no answer came."""
        self._put(number, None)

    def _put(self, number: int, answer: Answer | None, usage: Usage | None = None) -> None:
        if self._sent is not None and not self._endpoint.counts:
            sending = self._sendings[number]
            self._sent.add(sending.body, self._about(sending, usage), answer)

    def _about(self, sending: Sending, usage: Usage | None) -> About:
        account, expected = sending.account, sending.expected
        return About(
            dialect=self.dialect,
            model=self.model,
            branch=self.identity.branch,
            purpose=self.identity.purpose,
            policy=account.policy,
            mode=account.mode,
            tokens_whole=account.tokens_whole,
            tokens_sent=account.as_sent.tokens_sent,
            predicted=expected.cached if expected is not None else None,
            edited=account.as_sent.edited,
            decisions=account.new_decisions,
            recall="tools" if self.offers else "",
            scale=account.scale if expected is not None and is_about_all(usage) else 0.0,
        )

    @property
    def session(self) -> str:
        """The session's id."""
        return self._session.id

    @property
    def has_record(self) -> bool:
        """Whether its conversation has a name, and so a record."""
        return self._rounds is not None

    @property
    def model(self) -> str:
        """Who is asked, as the client calls it."""
        return text_of(self._request.fields.get("model"))

    @property
    def trouble(self) -> str:
        """Why ageing has stopped by itself; empty where it has not."""
        return self._session.billing.reason

    def _bill(self, number: int, usage: Usage | None) -> None:
        if usage is not None:
            self._usages[number] = usage

    @property
    def tokens(self) -> dict[str, int]:
        """Of all rounds that are known to be billed so far."""
        usages = self._usages.values()
        return {"input_tokens": sum(one.input for one in usages), "output_tokens": sum(one.output for one in usages)}

    @property
    def body(self) -> bytes:
        """What to send."""
        return self._sendings[-1].body

    @property
    def account(self) -> Account:
        """The figures of the view that is sent."""
        return self._sendings[-1].account

    @property
    def expected(self) -> Expected | None:
        """What the request that is sent will be billed; finding out takes a while, so do so after it is sent."""
        return self._sendings[-1].expected

    @property
    def dialect(self) -> Dialect:
        """How the client spells."""
        return self._endpoint.dialect

    def _goes_on(self, reply: Reply, names: tuple[object, object]) -> bool:
        """Whether another round is needed; if so `body` is its request, else what was hidden is on record."""
        self._shown += reply.shown
        is_enough = self.count >= MOST_ROUNDS
        if not reply.calls or not reply.whole or (is_enough and not reply.waits):
            self._said += only_shown(self.dialect, reply) if reply.calls else reply.said
            self._record([], names)
            return False
        self._said += reply.said
        results = [self._answer(call) for call in reply.calls]
        if reply.waits:
            self._record(results, names)
            return False
        self._said += answers(self.dialect, results)
        self.count += 1
        self._sendings.append(self._sending(self._again(answers(self.dialect, results))))
        return True

    def _answer(self, call: Json) -> Json:
        if self.count + 1 >= MOST_ROUNDS:
            return result_block(self.dialect, parse_call(call).call_id, _ENOUGH, is_error=True)
        return self._session.answer(call) or {}

    def _again(self, newest: list[Json]) -> bytes:
        """The request with what was said since; one whose conversation the provider has needs the newest alone."""
        request = self._request
        if request.fields.get("conversation"):
            return request.joined(newest)
        return request.joined([*_messages_of(request), *self._said])

    def _record(self, beside: list[Json], names: tuple[object, object]) -> None:
        if not self.count and not beside:
            return
        shown = [one_message(self._shown)] if self.dialect == "openai_chat" else self._shown
        rounds = self._rounds or self._named([*_messages_of(self._request), *_as_messages(self.dialect, shown)])
        response, last = (name if isinstance(name, str) else "" for name in names)
        if rounds is not None:
            rounds.add(Round(key_of(shown, self._asked), self._said, beside, response, last))

    def _may(self, request: RequestBody) -> bool:
        """Whether our tools may be offered: to who has tools and wants one answer, and not where an answer that nobody
        could put back as it was may be gone on with by its name."""
        is_kept = self.dialect == "openai_responses" and request.fields.get("store") is not False
        is_one = request.fields.get("n") in (None, 1)
        return _has_tools(request) and is_one and (self._rounds is not None or not is_kept)

    def _sending(self, data: bytes | RequestBody) -> Sending:
        """What is sent of a request; a counting one leaves no trace, one without a record goes as it came."""
        is_summed_up = self.identity.purpose == "compaction"
        counts, branch = self._endpoint.counts, self.identity.branch
        manner = Manner(not counts, is_summed_up, self._settles, branch, between=self.count > 0)
        return Sending(self._session, self._endpoint, data, manner if self._rounds is not None else None)

    @property
    def is_unsettled(self) -> bool:
        """Whether something was sent whole that is not on record yet."""
        return self._rounds is not None and self._session.is_unsettled

    def settle(self) -> None:
        """Put on record what was sent whole before it was; to be called once the request is on its way."""
        self._session.settle()

    def _with_rounds(self, request: RequestBody) -> RequestBody:
        """The request with our tools, and with the rounds that the client does not know of."""
        offered = request.in_front("tools", self._tools)
        rounds = self._rounds.all() if self._rounds is not None else None
        if not rounds:
            return offered
        continued = offered.fields.get(_CONTINUED)
        own = _messages_of(offered)
        messages = put_back(self.dialect, own, rounds, continued)
        found = (read_request(offered.joined(messages)) if messages != own else None) or offered
        name = renamed(rounds, continued)
        return found if name is None or name == continued else read_request(found.replaced(_CONTINUED, name)) or found


def _billed(usage: Usage | None, ms: Took) -> Billed:
    if usage is None:
        return Billed(first_ms=ms[0], total_ms=ms[1])
    cached = usage.cached if usage.says_cached else None
    return Billed(usage.input, cached, usage.written, usage.output, *ms)


def _as_messages(dialect: Dialect, shown: list[Json]) -> list[Json]:
    """What a client adds to its messages, given what it was shown of an answer."""
    return [{"role": "assistant", "content": shown}] if dialect == "anthropic" else shown


def _has_tools(request: RequestBody) -> bool:
    """Whether a request offers tools, none of which goes by a name of ours: those a client answers itself."""
    tools = [fields_of(tool) for tool in parts_of(request.fields.get("tools"))]
    names = {fields_of(tool.get("function")).get("name", tool.get("name")) for tool in tools}
    return bool(tools) and not names & set(NAMES)


def _messages_of(request: RequestBody) -> list[Any]:
    """The messages of a request; an input that is one string is what a user says."""
    return request.messages or [{"role": "user", "content": request.fields.get("input", "")}]


_STREAMS: dict[str, Any] = {
    "anthropic": AnthropicStream,
    "openai_chat": ChatStream,
    "openai_responses": ResponsesStream,
}
