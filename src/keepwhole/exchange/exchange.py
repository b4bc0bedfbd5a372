"""One request of a client and all the rounds it takes. No I/O: a transport sends and receives.

Theory of operation. A client asks once; the model may call recall tools, which the client does not know. Each such call
is answered here, in a round that the client never sees:

    client ──request──▶ begin() ──body──▶ provider       the request is viewed and offered the recall tools
                          ▲                   │
                 answers  │                   ▼
              of recalls  └── None ◀── read_answer(data) or feed_chunk(chunk)… end_stream()
                                              │
    client ◀──bytes───────────────────────────┘          the answer without the calls of recall tools

A transport sends `body` and hands in what comes back. Where it is told None, it sends the new `body`, and so on, at
most `MOST_ROUNDS` times. The rounds are recorded before the client's answer ends, so that they can be put back into the
history when the client sends its next request.

Example. The model answers `get_artifact(id="art_1")`. `read_answer` answers the call from the record, appends both to
the request and returns None. The next answer is "The port is 8080."; `read_answer` returns it without the recall call.

Invariants
- Bytes that cannot be understood go to the client as the provider sent them.
- A call of a client's own tool ends the exchange: its result can only come from the client.
- Nothing is recorded for a request that only counts tokens, or of a conversation that has no name yet.

Owns: what goes to the provider and what goes back to the client, round by round.
Must not know: how bytes are sent.
"""

import json
import time
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from keepwhole import events
from keepwhole.canonical.entry import HIDDEN_ROUND, RoundTimes
from keepwhole.conversation.context import FindOriginal, ViewMode
from keepwhole.exchange.outgoing_request import HiddenRounds, OutgoingRequest, tokens_of_tools, view_request
from keepwhole.exchange.recall_offer import recall_offer
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, Outcome, RequestFacts, RequestLog
from keepwhole.policies.account import Account
from keepwhole.policies.whole import Whole
from keepwhole.recall.names import NAMES
from keepwhole.record.bills import Expected, is_about_all
from keepwhole.session import Session
from keepwhole.wire.content import Json, fields_of
from keepwhole.wire.dialect import Dialect, Reply
from keepwhole.wire.dialects import Endpoint, parse_call
from keepwhole.wire.hidden_rounds import Round, key_of, provider_id, put_back
from keepwhole.wire.identity import Identity
from keepwhole.wire.request_body import RequestBody, read_request
from keepwhole.wire.sse import Event, Events, StreamPassthrough, last_event
from keepwhole.wire.usage import Usage

MOST_ROUNDS = 12
"""Rounds that a client waits for at most."""
_ANYBODY = Identity()
_ERROR_TYPES = {400: "invalid_request_error", 429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error"}
"""What an error is called whose body does not say it."""
_ENOUGH = "That was the last read for now. Answer with what you have."

NameConversation: TypeAlias = Callable[[list[Any]], HiddenRounds | None]
"""Finds the hidden rounds of a conversation that gets its name only with its first answer."""


class AnsweredRecall(NamedTuple):
    """A call of a recall tool, and when it was answered, in nanoseconds since 1970."""

    tool: str
    call_id: str
    started: int
    ended: int


def _no_name(_: list[Any]) -> None:
    """Nothing is recorded of a conversation that has no name."""


class Exchange:
    """One request, from the client to the provider and back. `begin` it before anything else."""

    def __init__(
        self,
        session: Session,
        rounds: HiddenRounds | None,
        endpoint: Endpoint,
        request: RequestBody,
        identity: Identity = _ANYBODY,
        *,
        may_settle: bool = False,
        name_conversation: NameConversation = _no_name,
        log: RequestLog | None = None,
        find_original: FindOriginal | None = None,
        around: Callable[[bytes], bytes] = bytes,
    ) -> None:
        """Without `rounds` the conversation has no record yet, so nothing of it is kept or cut.

        With `may_settle`, results that are sent in full may be recorded by `settle`, once the request is on its way.
        `log` records requests and answers; `find_original` opens what the client saved of a result that it cut.
        `around` writes a request into the body that it came in.
        """
        self._session, self._rounds, self._endpoint, self._request = session, rounds, endpoint, request
        self._may_settle, self._name_conversation, self._log = may_settle, name_conversation, log
        self._find_original, self._around = find_original, around
        self.identity = identity
        """Whose request it is, and what it is for."""
        self.offers = False
        """Whether the model may call recall tools, so that the answer has to be read."""
        self._tools_tokens = 0
        """Tokens of the recall tools."""
        self.hide: Callable[[bytes], bytes] = bytes
        """Gives what is recorded of answers without what a transport knows to be secret."""
        self.count = 0
        """Hidden rounds so far."""
        self._is_record_read: bool | None = None
        """Whether the record could be read just now; None where it was not tried."""
        self._asked = next(reversed(self.dialect.messages_of(request)), None)
        self._rounds_sent: list[OutgoingRequest] = []
        self._usages: dict[int, Usage] = {}
        """What each round was billed, as far as the provider said."""
        self._finished = 0
        self.recalls: list[AnsweredRecall] = []
        """Calls of recall tools that were answered, in all rounds."""
        self._said: list[Json] = []
        """What the model and the recall tools said in all rounds."""
        self._shown: list[Json] = []
        """What the client gets of it."""
        self._events, self._stream = Events(), self.dialect.stream(NAMES)
        self._passthrough: StreamPassthrough | None = StreamPassthrough(NAMES)
        self._is_parsed = False
        """Whether the client parses all text of the answer: then what the model says before a recall is not shown, and
        a stream is held until it is known that none follows."""
        self._held = bytearray()
        """What came of the stream of such a round."""
        self._frames = endpoint.new_frames()
        """The frames in which the stream comes and goes."""

    def begin(self) -> "Exchange":
        """Offer the recall tools, put hidden rounds back, and view the request: `body` is what to send."""
        may_hide = self._may_hide_rounds()
        offer = recall_offer(self._session, self.dialect, self._request, self.identity.branch, may_hide_rounds=may_hide)
        tools, self._is_record_read = offer.tools, offer.is_record_read
        waits = offer.waits and not self._has_hidden_rounds()
        self._tools_tokens, self.offers = tokens_of_tools(self.dialect.name) if tools else 0, bool(tools) and not waits
        if self.offers:
            self._request = self._with_rounds(self._with_tools(self._request, tools))
        outgoing = self._view(self._request, tools_wait=waits)
        if waits and outgoing.account.hides and (viewed := read_request(outgoing.body)) is not None:
            self.offers = True
            self._request = self._with_tools(self._request, tools)
            outgoing.body = self._with_tools(viewed, tools).data
        self._rounds_sent = [outgoing]
        self._is_parsed = self.offers and self.dialect.has_format(self._request.fields)
        return self

    def _has_hidden_rounds(self) -> bool:
        """Whether the conversation has hidden rounds, and so was offered the tools: the rounds are on record before
        their answer ends, the request that offered the tools a moment later."""
        is_empty = self._rounds is None or self._rounds.is_empty
        return not is_empty and self._with_rounds(self._request) is not self._request

    def _with_tools(self, request: RequestBody, tools: list[Json]) -> RequestBody:
        return request.in_front(self.dialect.tools_path(request.fields), tools)

    # What goes out

    @property
    def body(self) -> bytes:
        """What to send."""
        return self._around(self._rounds_sent[-1].body)

    @property
    def account(self) -> Account:
        """The figures of the view that is sent; decisions are those of all rounds."""
        accounts = [outgoing.account for outgoing in self._rounds_sent]
        return accounts[-1].replace(new_decisions=sum(account.new_decisions for account in accounts))

    @property
    def expected(self) -> Expected | None:
        """What the request will be billed. Finding out takes a while, so ask after it is sent."""
        return self._rounds_sent[-1].expected

    def expected_of(self, number: int) -> Expected | None:
        """The same of one round."""
        return self._rounds_sent[number].expected

    @property
    def dialect(self) -> Dialect:
        """The client's dialect."""
        return self._endpoint.dialect

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
        """The model, as the client calls it."""
        return self._endpoint.model_of(self._request)

    @property
    def trouble(self) -> str:
        """Why aging has stopped by itself; empty where it has not."""
        return self._session.billing.reason

    @property
    def tokens(self) -> dict[str, int]:
        """Tokens of all rounds that are known to be billed so far."""
        usages = self._usages.values()
        return {"input_tokens": sum(one.input for one in usages), "output_tokens": sum(one.output for one in usages)}

    @property
    def is_unsettled(self) -> bool:
        """Whether results were sent in full that are not on record yet."""
        return self._rounds is not None and self._session.is_unsettled

    def settle(self) -> None:
        """Record results that were sent in full before they were on record. Call it once the request is on its way."""
        self._session.settle()

    def _may_hide_rounds(self) -> bool:
        return self.dialect.may_hide_rounds(self._request.fields, self._rounds is not None)

    def _with_rounds(self, offered: RequestBody) -> RequestBody:
        """The request with the rounds that the client does not know of."""
        if self._rounds is None:
            return offered
        rounds, self._is_record_read = self._rounds.read_all()
        if not rounds:
            return offered
        field = self.dialect.previous_answer_field
        continued = offered.fields.get(field)
        own = self.dialect.messages_of(offered)
        messages = put_back(self.dialect, own, rounds, continued)
        found = (read_request(offered.joined(messages)) if messages != own else None) or offered
        name = provider_id(rounds, continued)
        return found if name is None or name == continued else read_request(found.replaced(field, name)) or found

    def _view(self, data: bytes | RequestBody, *, tools_wait: bool = False) -> OutgoingRequest:
        """What is sent of a request; one that counts leaves no trace, one without a record is sent as it came."""
        mode = ViewMode(
            records=not self._endpoint.counts,
            restores=self.identity.purpose == "compaction",
            is_whole=self._cannot_recall(),
            may_settle=self._may_settle,
            client=self.identity.client,
            branch=self.identity.branch,
            client_compacts=self.identity.client_compacts,
            is_between_rounds=self.count > 0,
            tools=self._tools_tokens,
            tools_wait=tools_wait,
            is_record_read=self._is_record_read,
            find_original=self._find_original,
        )
        self._is_record_read = None
        policy = Whole() if self._cannot_recall() else None
        return view_request(self._session, self._endpoint, data, mode if self._rounds is not None else None, policy)

    def _cannot_recall(self) -> bool:
        """Whether a request has no tools, or can be offered none, so that a notice would name one that the model cannot
        call: such a request is sent in full, as far as the window allows. Where it only counts what the conversation
        takes, its tools may be left out, so it is counted as it is sent in the requests that offer them."""
        by_tools = self._session.settings.mode == "on" and self._session.recall_by == "tools"
        names = self.dialect.tool_names(self._request.fields)
        has_tools = self.offers or (bool(names) and (self._may_hide_rounds() or bool(set(names) & set(NAMES))))
        return by_tools and not has_tools and not (self._endpoint.counts and self._was_offered_tools())

    def _was_offered_tools(self) -> bool:
        session = self._session.conversations
        return session.catch_up() and session.has_offered_tools(self.identity.branch)

    # What comes back

    def read_answer(self, data: bytes) -> bytes | None:
        """Return what the client gets of a response that came at once; None: send `body` again."""
        try:
            return self._read_answer(data)
        except Exception as error:  # what a provider wrote is the client's, whatever we make of it
            events.log_passed_on("response", type(error).__name__)
            return data

    def _read_answer(self, data: bytes) -> bytes | None:
        answer: object = json.loads(data) if self.offers and data[:1] in (b"{", b"[") else {}
        body = self.dialect.answer_body(answer)
        reply = self.dialect.read_reply(body, NAMES)
        if not reply.calls and not self.count:
            return data
        self._note_usage(self.count, self.dialect.usage_in(body))
        if self._needs_another_round(reply, (body.get("id"), body.get("id"))):
            return None
        joined = self.dialect.joined_reply(body, self._shown, NAMES)
        return json.dumps([joined] if isinstance(answer, list) else joined).encode()

    def feed_chunk(self, data: bytes) -> bytes:
        """Return what the client gets of a piece of a streamed response."""
        frames = self._frames
        if frames is None or frames.is_broken:
            return self._feed_events(data) if frames is None else data
        shown = frames.encode(self._feed_events(frames.decode(data)))
        return shown + frames.rest() if frames.is_broken else shown

    def _feed_events(self, data: bytes) -> bytes:
        if self._is_parsed:
            self._held += data
            return b""
        if self._passthrough is not None:
            unread = self._passthrough.feed(data)
            if unread is not None:
                return unread
            data = self._begin_reading(self._passthrough)
        return b"".join(map(self._feed_event, self._events.feed(data)))

    def pass_unread(self, data: bytes) -> bytes | None:
        """Return what the client gets of a piece of a stream that is not read any more; None where reading has begun.

        Nothing of the stream is held from then on.
        """
        frames = self._frames
        if frames is None:
            return self._pass_events(data)
        passed = self._pass_events(frames.decode(data))
        return None if passed is None else frames.encode(passed)

    def _pass_events(self, data: bytes) -> bytes | None:
        if self._is_parsed:
            held, self._held, self._is_parsed = bytes(self._held), bytearray(), False
            return held + data
        if self._passthrough is None:
            return None
        rest, self._passthrough = self._passthrough.rest, StreamPassthrough(NAMES)
        return rest + data

    @property
    def is_unread(self) -> bool:
        """Whether a stream has had no recall tool in it so far, so that its end takes no work."""
        return self._passthrough is not None and not self._is_parsed

    def _begin_reading(self, passthrough: StreamPassthrough) -> bytes:
        """Read what was passed on unread; return what is still to be read."""
        self._passthrough = None
        for event in Events().feed(passthrough.seen):
            self._feed_event(event)
        return passthrough.rest

    def _feed_event(self, event: Event) -> bytes:
        try:
            return self._stream.feed(event)
        except Exception as error:
            events.log_passed_on("event", type(error).__name__)
            return event.raw

    def end_stream(self) -> bytes | None:
        """Note that a streamed response ended; return what the client still gets, or None: send `body` again."""
        end, frames = self._end_events(), self._frames
        if frames is None:
            return end
        if end is None:
            self._frames = self._endpoint.new_frames()
            return None
        return frames.encode(end) + frames.rest()

    def _end_events(self) -> bytes | None:
        begun = self._release() if self._is_parsed else b""
        if begun is None:
            return None
        if self._passthrough is not None:
            return begun + self._passthrough.end()
        last = last_event(self._events.rest())
        shown = self._feed_event(last) if last is not None else b""
        try:
            end = self._end_stream()
        except Exception as error:
            events.log_passed_on("end of a stream", type(error).__name__)
            end = self._stream.end(waits=True)
        return None if end is None else begun + shown + end

    def _release(self) -> bytes | None:
        """Return what the client gets of a stream that was held; None where another round follows."""
        held, self._held = bytes(self._held), bytearray()
        reader, read = self.dialect.stream(NAMES), Events()
        try:
            for event in read.feed(held):
                reader.feed(event)
            reply = reader.reply()
            is_followed = reply is not None and self._is_followed(reply)
            if reply is not None and is_followed and self._needs_another_round(reply, reader.ids()):
                return None
        except Exception as error:
            events.log_passed_on("event", type(error).__name__)
        self._is_parsed = False
        return self._feed_events(held)

    def _end_stream(self) -> bytes | None:
        reply = self._stream.reply()
        if reply is None:
            return self._stream.end(waits=True)
        if self._needs_another_round(reply, self._stream.ids()):
            self._stream.go_on()
            return None
        return self._stream.end(reply.waits)

    def error_event(self, status: int, data: bytes) -> bytes:
        """Return what the client gets where a later round of a stream was refused: the error as a streamed event."""
        try:
            body = fields_of(json.loads(data))
        except (ValueError, RecursionError):
            body = {}
        message = body.get("message") or f"The provider answered {status}."  # Bedrock has no more than a message
        error = body.get("error") or {"type": _ERROR_TYPES.get(status, "api_error"), "message": message}
        event = self.dialect.error_event(error)
        return event if self._frames is None else self._frames.encode(event)

    def is_whole(self, data: bytes, is_stream: bool) -> bool:
        """Whether an answer that came to its end is all of it."""
        return self.dialect.is_whole(self.as_events(data), is_stream)

    def as_events(self, data: bytes) -> bytes:
        """An answer as it is read and recorded: what came in Amazon's frames as the events in them."""
        return data if self._frames is None else self._frames.events_in(data)

    def _needs_another_round(self, reply: Reply, names: tuple[object, object]) -> bool:
        """Whether another round is needed; if so `body` is its request, else the hidden rounds are on record."""
        if not (self._is_parsed and self._is_followed(reply)):
            self._shown += reply.shown
        is_enough = self.count >= MOST_ROUNDS
        if not reply.calls or not reply.whole or (is_enough and not reply.waits):
            self._said += self.dialect.shown_messages(reply.shown) if reply.calls else reply.said
            self._record_rounds([], names)
            return False
        self._said += reply.said
        results = [self._answer(call) for call in reply.calls]
        if reply.waits:
            self._record_rounds(results, names)
            return False
        newest = self.dialect.result_messages(results)
        self._said += newest
        self.count += 1
        self._rounds_sent.append(self._view(self._next_request(newest)))
        return True

    def _is_followed(self, reply: Reply) -> bool:
        """Whether another round follows."""
        return bool(reply.calls) and reply.whole and not reply.waits and self.count < MOST_ROUNDS

    def _answer(self, call: Json) -> Json:
        parsed = parse_call(call)
        if self.count + 1 >= MOST_ROUNDS:
            return self.dialect.result_block(parsed.call_id, _ENOUGH, is_error=True, tool=parsed.name)
        started = time.time_ns()
        answer = self._session.answer(call) or {}
        self.recalls.append(AnsweredRecall(parsed.name, parsed.call_id or "", started, time.time_ns()))
        return answer

    def _next_request(self, newest: list[Json]) -> bytes:
        """The request with all that was said since; the newest alone, where the provider keeps the conversation."""
        request = self._request
        if request.fields.get(self.dialect.conversation_field):
            return request.joined(newest)
        return request.joined([*self.dialect.messages_of(request), *self._said])

    def _record_rounds(self, beside: list[Json], names: tuple[object, object]) -> None:
        if not self.count and not beside:
            return
        sent = self.dialect.messages_of(self._request)
        named = self.dialect.with_call_ids([*sent, *self.dialect.shown_messages(self._shown)])
        shown = named[len(sent) :]
        rounds = self._rounds or self._name_conversation([*named])
        response, last = (name if isinstance(name, str) else "" for name in names)
        if rounds is not None:
            said = self._without_secrets(self._said)
            rounds.add(Round(key_of(self.dialect, shown, self._asked), said, beside, response, last))

    def _without_secrets(self, said: list[Json]) -> list[Json]:
        data = json.dumps(said).encode()
        hidden = self.hide(data)
        return said if hidden == data else json.loads(hidden)

    # What is learned and recorded

    def learn_bill(self, status: int, data: bytes, complete: bool) -> Usage | None:
        """Learn from the bill of a round whose answer has gone to the client. Call it once for each answer."""
        try:
            return self._learn_bill(status, data) if complete or data else None
        except Exception as error:  # what was not learned now is learned from the next one
            events.log_passed_on("bill", type(error).__name__)
            return None

    def _learn_bill(self, status: int, data: bytes) -> Usage | None:
        if status != 200 or self._endpoint.counts:
            return None
        number, self._finished = self._finished, self._finished + 1
        data = self.as_events(data)
        usage = self.dialect.usage_of(data, streamed=data.lstrip()[:1] != b"{")
        self._note_usage(number, usage)
        self._rounds_sent[min(number, len(self._rounds_sent) - 1)].learn(usage)
        return usage

    def _note_usage(self, number: int, usage: Usage | None) -> None:
        if usage is not None:
            self._usages[number] = usage

    def record(
        self,
        number: int,
        status: int,
        data: bytes,
        outcome: Outcome,
        usage: Usage | None,
        took: RoundTimes,
        limits: str | None = None,
    ) -> None:
        """Record a round: what was sent and what came. Never raises; a request that counts leaves no trace."""
        if self.identity.purpose == "compaction" and status == 200 and self._log is not None:
            self._session.conversations.record_compaction(self.identity.branch)
        self._log_round(
            number, LoggedAnswer(data, status, outcome, usage=self._answer_facts(usage, took, limits)), usage
        )

    def record_unanswered(self, number: int) -> None:
        """Record a round that got no answer."""
        self._log_round(number, None)

    def _log_round(self, number: int, answer: LoggedAnswer | None, usage: Usage | None = None) -> None:
        if self._log is not None and not self._endpoint.counts:
            outgoing = self._rounds_sent[number]
            # A later round repeats what the provider said before; the first has only what the client sent.
            body = self.hide(outgoing.body) if number else outgoing.body
            self._log.add(body, self._request_facts(outgoing, usage, number), answer)

    def _request_facts(self, outgoing: OutgoingRequest, usage: Usage | None, number: int) -> RequestFacts:
        account, expected = outgoing.account, outgoing.expected
        return RequestFacts(
            dialect=self.dialect.name,
            model=self.model,
            branch=self.identity.branch,
            purpose=HIDDEN_ROUND if number else self.identity.purpose,
            policy=account.policy,
            mode=account.mode,
            tokens_whole=account.tokens_whole,
            tokens_sent=account.as_sent.tokens_sent,
            predicted=expected.cached if expected is not None else None,
            edited=account.as_sent.edited,
            decisions=account.new_decisions,
            recall="tools" if self.offers else "",
            scale=account.scale if expected is not None and is_about_all(usage) else 0.0,
            would_send=account.tokens_sent if account.mode == "shadow" else None,
            would_edit=account.edited if account.mode == "shadow" else None,
            by_plan=self.identity.by_plan or None,
        )

    def _answer_facts(self, usage: Usage | None, took: RoundTimes, limits: str | None) -> AnswerFacts:
        timed = AnswerFacts(None, None, None, None, took.first, took.total, took.queue, took.own, limits)
        if usage is None:
            return timed
        return timed._replace(
            input=usage.input,
            cached=usage.cached if usage.says_cached else None,
            written=usage.written,
            output=usage.output,
            answered_by=(usage.model if usage.model != self.model else "") or None,
            written_hour=usage.written_hour or None,
        )
