"""Every promise at once, with images, documents and long arguments in the conversation, in any dialect and any order.

The state machine plays one agent through the router, as the proxy does: its tools return text, images and documents,
its model writes long arguments, which are cut in old calls, and reads results, images and arguments back in rounds that
the client does not see. Processes restart, another one goes on, the user takes steps back. At every request:

- valid: a provider that is strict takes it, in every round;
- prefix-stable: it begins as the one before it, unless a decision was recorded;
- deterministic: another process, which has read nothing yet, sends the same bytes;
- lossless: what is hidden is read back byte for byte, and what is sent can be made whole again.
"""

import json
import re

import pytest
from hypothesis import HealthCheck, Phase, event, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from keepwhole import MemoryStore, Session, config
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from keepwhole.policies.settings import CAREFUL
from keepwhole.store.protocol import result_of
from keepwhole.truncation.arguments import has_mark
from tests.apps.proxy.proxy_server import PATHS
from tests.apps.proxy.screenshots import step_messages, text_part
from tests.conversation.argument_agents import arguments_in, messages_of, script
from tests.promises.conversations import assistant_message, tools_fields, user_message
from tests.promises.dialect_bodies import ALL, NAMED_IN_PATH
from tests.upstream.complaint import complaint
from tests.upstream.media_parts import KINDS, MediaKind, kinds_in, make_media, media_part, without_wishes
from tests.upstream.pictures import pictures_in
from tests.upstream.prompt import readable, strings_in
from tests.upstream.spelling import SPELLINGS, Dialect, Json, Part, Text, Tool

EAGER = CAREFUL.replace(
    arguments="old",
    keep_steps=1,
    max_loss=1_000,
    start=2_000,
    keep=dict.fromkeys(CAREFUL.keep, 1),
    worth=0,
    horizon=10,
    min_tokens=50,
    clear_at_least=300,
)
"""Ages every few steps."""
_ARTIFACT = re.compile(r"art_\d+_[0-9A-Za-z]{22}")
_TOOLS = ("computer", "write", "Read", "bash")
_MODEL = {"anthropic": "claude-sonnet-5", "openai_chat": "gpt-5", "openai_responses": "gpt-5"}
_PATHS: dict[Dialect, str] = {
    **PATHS,
    "gemini": "/v1beta/models/gemini-3-pro:generateContent",
    "converse": "/model/us.anthropic.claude-sonnet-5/converse",
}


class AnyContent(RuleBasedStateMachine):
    """One agent and its conversation."""

    @initialize(dialect=st.sampled_from(ALL))
    def begin(self, dialect: Dialect) -> None:
        self.dialect, self.store, self.calls = dialect, MemoryStore(), 0
        self.messages: list[Json] = [user_message("Go.", dialect)]
        self.sent: list[Json] = []
        self.returned: set[bytes] = set()
        """The bodies of all images and documents."""
        self.written: dict[str, Json] = {}
        """The arguments of all calls."""
        self.seen: set[str] = set()
        """What has happened so far, for the statistics."""
        self.said: list[str] = []
        """The words of the model after it has read something back, never the same twice."""
        self.restart()

    @rule()
    def restart(self) -> None:
        self.router = self.process()

    def process(self) -> SessionRouter:
        own = config.load().replace(mode="on", policy="auto", auto=EAGER, recall_from="start")
        return SessionRouter(each=True, settles=True, store=self.store, settings=own)

    @rule(
        kind=st.sampled_from([*KINDS, "screenshot", "screenshot"]),
        tool=st.sampled_from(_TOOLS),
        lines=st.sampled_from([0, 1, 200]),
        count=st.integers(1, 5),
        is_again=st.booleans(),
    )
    def an_image_is_returned(self, kind: MediaKind, tool: str, lines: int, count: int, is_again: bool) -> None:
        for _ in range(count):
            media = kind if kind in (kinds_in(self.dialect) or KINDS[:5]) else "document"
            if media == "document" and is_again and self.dialect == "converse":
                media = "icon"  # no two documents may have one name
            seed = 7 if is_again else self.calls
            text = [text_part(self.dialect, script(self.calls, lines))] if lines else []
            self.returned.add(make_media(media, seed).body)
            self.step(tool, {"action": f"look {self.calls}"}, [*text, media_part(self.dialect, media, seed)])

    @rule(lines=st.sampled_from([20, 60, 200]), tool=st.sampled_from(_TOOLS), count=st.integers(1, 6))
    def a_file_is_written(self, lines: int, tool: str, count: int) -> None:
        for _ in range(count):
            given = {"path": f"src/{self.calls}.py", "content": script(self.calls, lines), "mode": 420}
            self.step(tool, given, [text_part(self.dialect, "File written.")])

    @rule(lines=st.sampled_from([1, 40, 400]), tool=st.sampled_from(_TOOLS))
    def a_file_is_read(self, lines: int, tool: str) -> None:
        self.step(tool, {"path": f"{self.calls}.txt"}, [text_part(self.dialect, script(self.calls, lines))])

    @rule()
    def the_user_writes(self) -> None:
        self.talk("Well.", "Go on.")
        self.send()

    @rule(which=st.integers(0), is_streamed=st.booleans(), part=st.sampled_from(["result", "arguments"]))
    def the_model_reads_back(self, which: int, is_streamed: bool, part: str) -> None:
        """The answer to it is an image where an image was hidden, and whole arguments where these were."""
        hidden = list(dict.fromkeys(_ARTIFACT.findall(readable(self.sent))))
        if not hidden:
            return
        exchange = self.send()
        artifact = hidden[which % len(hidden)]
        call = Tool("get_artifact", {"id": artifact, "part": part}, f"recall_{len(self.messages)}_{which}")
        assert self.answer(exchange, [call], is_streamed) is None
        self.check_valid(exchange.body)
        self.check_read_back(exchange, artifact, part)
        self.said.append(f"I have read it, the {len(self.said)}th time.")
        answer = self.answer(exchange, [Text(self.said[-1])], is_streamed)
        assert answer is not None
        assert b"get_artifact" not in answer
        self.talk(self.said[-1], "And?")
        self.sent = messages_of(exchange.body)
        self.send()

    @rule(steps=st.integers(1, 6))
    def the_user_goes_back(self, steps: int) -> None:
        spoken = [at for at, message in enumerate(self.messages) if message.get("role") == "user" and words_of(message)]
        self.messages = self.messages[: spoken[max(0, len(spoken) - steps)] + 1]
        self.sent = []
        self.send()

    def talk(self, said: str, asked: str) -> None:
        """The model answers in words, and the user goes on."""
        self.messages += [assistant_message(said, self.dialect), user_message(asked, self.dialect)]

    def step(self, tool: str, arguments: Json, parts: list[Json]) -> None:
        call_id = f"call_{self.calls}"
        self.written[call_id] = arguments
        self.messages += step_messages(self.dialect, call_id, tool, arguments, parts)
        self.calls += 1
        self.send()

    def send(self) -> Exchange:
        exchange = self.exchange(self.router)
        body, sent = exchange.body, messages_of(exchange.body)
        self.check_valid(body)
        if not exchange.account.new_decisions:
            assert sent[: len(self.sent)] == self.sent, "what was sent has changed without a decision"
        assert self.exchange(self.process()).body == body, "another process sends something else"
        self.check_hidden(sent)
        self.sent = sent
        return exchange

    def exchange(self, router: SessionRouter) -> Exchange:
        fields = {"openai_responses": "input", "gemini": "contents"}
        own = {} if self.dialect in NAMED_IN_PATH else {"model": _MODEL[self.dialect], "max_tokens": 100}
        messages = {fields.get(self.dialect, "messages"): self.messages}
        data = json.dumps({**own, **messages, **tools_fields(self.dialect, _TOOLS)}, ensure_ascii=False).encode()
        exchange = router.begin("POST", _PATHS[self.dialect], {"x-keepwhole-session": "s"}, data)
        assert isinstance(exchange, Exchange)
        if exchange.is_unsettled:
            exchange.settle()
        return exchange

    def answer(self, exchange: Exchange, said: list[Part], is_streamed: bool) -> bytes | None:
        spelling = SPELLINGS[self.dialect]
        if not is_streamed:
            return exchange.read_answer(json.dumps(spelling.whole(said, len(self.messages), None)).encode())
        shown = b"".join(exchange.feed_chunk(chunk) for chunk in spelling.events(said, len(self.messages), None))
        end = exchange.end_stream()
        return None if end is None else shown + end

    def teardown(self) -> None:
        for what in getattr(self, "seen", ()):
            event(what)

    def check_valid(self, body: bytes) -> None:
        assert complaint(json.loads(body), self.dialect) == ""
        came = {data for _, data in pictures_in(self.messages)}
        assert {data for _, data in pictures_in(messages_of(body))} <= came, "an image is not as it came"

    def check_hidden(self, sent: list[Json]) -> None:
        session = Session("s", store=self.store)
        whole = without_wishes(session.hydrate(sent))
        # What the model said after it has read something back is put back as the provider said it.
        own = [message for message in without_wishes(self.messages) if words_of(message) not in self.said]
        assert [message for message in whole if message in own] == own
        for artifact in set(_ARTIFACT.findall(readable(sent))):
            assert session.recall_bytes(artifact)
        given = arguments_in(json.dumps({"contents" if self.dialect == "gemini" else "messages": sent}).encode())
        if any(has_mark(json.dumps(arguments)) for arguments in given.values()):
            self.seen.add("arguments are cut")
        if len(list(pictures_in(sent))) < len(list(pictures_in(self.messages))):
            self.seen.add("images are left out")

    def check_read_back(self, exchange: Exchange, artifact: str, part: str) -> None:
        session = Session("s", store=self.store)
        found = next(row for row in self.store.rows("s", kind="result") if result_of(row).artifact_id == artifact)
        result, newest = result_of(found), messages_of(exchange.body)[-1]
        self.seen.add(f"{'arguments' if part == 'arguments' else result.media_type} read back")
        if part == "arguments":
            given = json.loads(result.arguments or "{}")
            assert self.written.get(result.call_id or "", given) == given
            if given not in self.written.values():
                return  # what the model read back before may be hidden too
            assert any((result.arguments or "")[:80] in text for text in strings_in(newest))
        elif result.media_type in ("image/png", "image/jpeg"):
            assert session.recall_bytes(artifact) in self.returned
            shown = len(list(pictures_in([newest])))
            assert shown == (0 if self.dialect == "openai_chat" else 1)


def words_of(message: Json) -> str:
    """What a message says that is words alone; empty for any other."""
    content = message.get("content", message.get("parts"))
    if isinstance(content, str):
        return content
    parts = content or [{}]
    return "".join(part["text"] for part in parts) if all(part.keys() == {"text"} for part in parts) else ""


@pytest.mark.parametrize("dialect", ALL)
def test_images_and_arguments_are_read_back_in_rounds_that_the_client_does_not_see(dialect: Dialect) -> None:
    played = AnyContent()
    played.begin(dialect)
    played.an_image_is_returned(kind="screenshot", tool="computer", lines=0, count=5, is_again=False)
    played.a_file_is_written(lines=200, tool="write", count=6)
    for which in range(12):
        part = "arguments" if which % 3 == 0 else "result"
        played.the_model_reads_back(which=which, is_streamed=which % 2 == 0, part=part)
    assert {"arguments are cut", "images are left out"} <= played.seen
    assert {"image/png read back", "arguments read back"} <= played.seen


def test_every_promise_holds_with_any_content() -> None:
    some = settings(max_examples=15, stateful_step_count=12, suppress_health_check=list(HealthCheck), deadline=None)
    run_state_machine_as_test(AnyContent, settings=settings(some, derandomize=True, phases=[Phase.generate]))


@pytest.mark.torture
@pytest.mark.timeout(0)
def test_every_promise_holds_in_many_conversations_with_any_content() -> None:
    some = settings(max_examples=300, stateful_step_count=20, suppress_health_check=list(HealthCheck), deadline=None)
    run_state_machine_as_test(AnyContent, settings=some)
