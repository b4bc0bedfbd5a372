"""An agent whose results are all cut reads them back with the calls that the notices print.

The model is a script; the session, the record and every answer are real. A tool that runs twice fails the test.
"""

import json
import re
from collections import Counter
from typing import Any

from keepwhole import MemoryStore, Session
from keepwhole.config import Settings
from keepwhole.policies.settings import CAREFUL
from keepwhole.testing import FakeModel, PrintedCall, printed_calls
from tests.build import numbered_lines

LOG = "".join(f"12:00:{n % 60:02d} INFO step {n}\n" for n in range(2_000)).replace("INFO step 1200", "INFO code 7341")
ITEMS = json.dumps({"items": [{"id": n, "name": f"item {n}", "note": "x" * 20} for n in range(800)]})
GIANT = "a" * 30_000 + "SECRET-77" + "b" * 30_000
OUTPUTS = {"bash": LOG, "api": ITEMS, "fetch": GIANT}


def read_file(path: str) -> str:
    return f"file {path}\n" + numbered_lines(300)


EAGER = CAREFUL.replace(max_loss=1_000, keep_steps=1)


class Agent:
    """A typical agent loop: the session answers the recall tools, all others run and are kept."""

    def __init__(self, script: list[Any], **settings: Any) -> None:
        self.model = FakeModel(script)
        self.session = Session("s", store=MemoryStore(), settings=Settings(home="unused", **settings))
        self.ran: Counter[str] = Counter()
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": "find the codes"}]
        self.sent: list[dict[str, Any]] = []

    def run(self, **view: Any) -> None:
        while True:
            self.sent = self.session.view(self.messages, **view)
            reply = self.model(self.sent, self.session.tools("anthropic"))
            self.messages.append(reply)
            (block,) = reply["content"]
            if block["type"] == "text":
                return
            answer = self.session.answer(block)
            self.messages.append({"role": "user", "content": [answer or self._run_tool(block)]})

    def _run_tool(self, block: dict[str, Any]) -> dict[str, Any]:
        self.ran[json.dumps([block["name"], block["input"]])] += 1
        text = OUTPUTS.get(block["name"]) or read_file(**block["input"])
        return {"type": "tool_result", "tool_use_id": block["id"], "content": text}

    def text_of(self, call_id: str) -> str:
        """The text of one result in the newest request."""
        for message in self.sent:
            if isinstance(message["content"], list):
                for block in message["content"]:
                    if block.get("tool_use_id") == call_id:
                        return str(block["content"])
        return ""


def last(text: str) -> PrintedCall:
    """The model makes the call that the last notice prints."""
    return printed_calls(text)[-1]


def listed(text: str) -> PrintedCall:
    """The model reads the last result that an answer lists."""
    return PrintedCall("get_artifact", {"id": re.findall(r"\[Artifact: (\w+)\]", text)[-1]})


def narrowed(text: str, **more: Any) -> PrintedCall:
    """The model uses the id of a notice to search for something."""
    return PrintedCall("get_artifact", {"id": last(text).arguments["id"], **more})


def test_a_cut_log_is_read_through_as_its_notice_says() -> None:
    agent = Agent([("bash", {"command": "make"}), last, *[_next_unless("7341")] * 10], policy="truncation")
    agent.run()
    assert "7341" in newest(agent)
    assert agent.ran.total() == 1


def test_a_cut_log_is_searched_with_the_id_of_its_notice() -> None:
    agent = Agent([("bash", {"command": "make"}), lambda text: narrowed(text, pattern="code ")], policy="truncation")
    agent.run()
    assert "INFO code 7341" in newest(agent)
    assert agent.ran.total() == 1


def test_a_cut_json_is_addressed_with_the_id_of_its_notice() -> None:
    script = [("api", {"q": "items"}), lambda text: narrowed(text, path="$.items[700:702].name")]
    agent = Agent(script, policy="truncation")
    agent.run()
    assert newest(agent).startswith('[\n"item 700",\n"item 701"\n]')
    assert agent.ran.total() == 1


def whole(text: str) -> PrintedCall:
    """The printed call that reads all of a result."""
    return next(call for call in printed_calls(text) if list(call.arguments) == ["id"])


def test_one_giant_line_is_paged_by_characters_as_its_notice_says() -> None:
    agent = Agent([("fetch", {"url": "x"}), whole, *[_next_unless("SECRET-77")] * 10], policy="truncation")
    agent.run()
    assert "SECRET-77" in newest(agent)
    assert agent.ran.total() == 1


def _next_unless(found: str) -> Any:
    """Go on reading until something is found."""
    return lambda text: "done" if found in text else last(text)


def newest(agent: Agent) -> str:
    """The text of the newest tool result."""
    results = [
        block for message in agent.messages if isinstance(message["content"], list) for block in message["content"]
    ]
    return str([block["content"] for block in results if block["type"] == "tool_result"][-1])


def test_an_aged_result_is_read_back_as_its_notice_says() -> None:
    agent = Agent(
        [("read_file", {"path": str(n)}) for n in range(25)], models={"small": {"window": 30_000}}, auto=EAGER
    )
    agent.run(model="small")
    pointer = agent.text_of("toolu_1")
    assert pointer.startswith("[Artifact: art_")
    artifact = pointer.split("[Artifact: ")[1].split("]")[0]
    agent.model.play([("get_artifact", {"id": artifact})])
    agent.run(model="small")
    assert newest(agent) == read_file("0")
    assert max(agent.ran.values()) == 1


def test_a_compacted_step_is_read_back_as_the_summary_says() -> None:
    agent = Agent([("read_file", {"path": str(n)}) for n in range(60)], models={"tiny": {"window": 3_500}})
    agent.run(model="tiny")
    words = "\n".join(str(message["content"]) for message in agent.sent)
    assert agent.session.projection(agent.messages, model="tiny").account.compacted > 0
    calls = printed_calls(words.replace("\\n", "\n"))
    agent.model.play([calls[0], lambda account: printed_calls(account)[0]])
    agent.run(model="tiny")
    assert newest(agent) == read_file("0")
    assert max(agent.ran.values()) == 1


def test_a_read_back_is_whole_until_the_model_has_answered_to_it() -> None:
    agent = Agent(
        [("read_file", {"path": str(n)}) for n in range(25)], models={"small": {"window": 30_000}}, auto=EAGER
    )
    agent.run(model="small")
    artifact = agent.text_of("toolu_1").split("[Artifact: ")[1].split("]")[0]
    seen: list[str] = []
    agent.model.play([("get_artifact", {"id": artifact}), lambda text: (seen.append(text), "done")[1]])
    agent.run(model="small")
    assert seen == [read_file("0")]


def test_an_agent_that_lost_the_id_finds_the_result_by_its_words() -> None:
    agent = Agent(
        [("bash", {"command": "make"}), ("search_artifacts", {"query": "code 7341"}), last], policy="truncation"
    )
    agent.run()
    assert "INFO code 7341" in newest(agent)
    assert agent.ran.total() == 1


def test_a_wrong_id_leads_back_to_what_there_is() -> None:
    agent = Agent(
        [("bash", {"command": "make"}), ("get_artifact", {"id": "art_1_made_up"}), listed], policy="truncation"
    )
    agent.run()
    assert newest(agent).startswith(LOG[:1_000])
