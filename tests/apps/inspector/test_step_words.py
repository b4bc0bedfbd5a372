"""What users said is on every row, step and list that begins with it, in the page, live and in an exported file."""

import json
from typing import Any

import pytest

from keepwhole.apps.inspector import answers, export
from keepwhole.apps.inspector.answers import PageRequest
from keepwhole.apps.inspector.export import ExportRequest
from keepwhole.apps.inspector.services import InspectorServices
from keepwhole.apps.session_title import newest_words_of_request, split_by_tags
from keepwhole.exchange.request_log import AnswerFacts, LoggedAnswer, RequestFacts, RequestLog
from keepwhole.session import Session
from tests.apps.inspector.test_live import listen, steps_of

REMINDER = "<system-reminder>Today is Monday.</system-reminder>"


def log(session: Session, said: list[dict[str, Any]], **facts: Any) -> None:
    about = RequestFacts("anthropic", "claude-sonnet-4-5", tokens_whole=9_000, tokens_sent=9_000, **facts)
    usage = AnswerFacts(input=9_000, cached=0, written=0)
    RequestLog(session).add(json.dumps({"messages": said}).encode(), about, LoggedAnswer(b"{}", 200, usage=usage))


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": text}]}


def answer(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def test_a_step_that_no_result_begins_has_the_users_words(services: InspectorServices, session: Session) -> None:
    said = [user("Mend the crane.")]
    log(session, said)
    session.keep("bash", {"command": "cat crane.log"}, "the brake closed")
    said += [answer("Done."), user("And the tug?")]
    log(session, said)
    log(session, [*said, answer("It is whole."), user("Thanks.")])
    steps = answers.list_steps(services, PageRequest(("s",)))["steps"]
    told = [[each["text"] for each in step["said"]] for step in steps]
    assert told == [["Mend the crane."], [], ["Thanks."]], "a step with a result is told apart by its call"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        ([user("Go on.")], "Go on."),
        ([user("Go on."), answer("Yes.")], None),
        ([user("Go on."), answer("Yes."), {"role": "user", "content": REMINDER}], None),
    ],
)
def test_the_newest_words_are_those_behind_the_last_answer(messages: list[Any], words: str | None) -> None:
    assert newest_words_of_request(json.dumps({"messages": messages}).encode()) == words


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("Fix <b>it</b>.", [("", "Fix <b>it</b>.")]),
        (f"{REMINDER}\n{REMINDER}\nGo on.", [("system-reminder", f"{REMINDER}\n{REMINDER}"), ("", "\nGo on.")]),
        (f"Go {REMINDER}on.", [("", "Go "), ("system-reminder", REMINDER), ("", "on.")]),
        ("<user_query>", [("", "<user_query>")]),
        ("", []),
    ],
)
def test_what_a_client_put_into_the_users_words_is_apart_from_them(text: str, pieces: list[tuple[str, str]]) -> None:
    found = list(split_by_tags(text))
    assert [(each.tag, each.text) for each in found] == pieces
    assert "".join("".join(each.text.split()) for each in found) == "".join(text.split()), "nothing is left out"


def test_the_story_has_the_users_words_apart_from_the_clients(services: InspectorServices, session: Session) -> None:
    log(session, [user("Mend the crane.")])
    (step,) = answers.list_steps(services, PageRequest(("s",)))["steps"]
    (message,) = answers.story(services, PageRequest(("s", step["id"])))["messages"]
    assert [(part["kind"], part.get("tag"), part["text"]) for part in message["parts"]] == [
        ("tagged", "system-reminder", REMINDER),
        ("text", None, "Mend the crane."),
    ]


def test_a_step_has_its_words_and_its_cost_live_and_in_an_exported_file_too(
    services: InspectorServices, session: Session
) -> None:
    session.keep("bash", {"command": "ls"}, "crane.log", turn=0)
    found = listen(services, "s", None, lambda told: len(steps_of(told)) >= 1, lambda: log(session, [user("Mend it.")]))
    (live,) = [event.data["step"] for event in found if event.name == "step"][-1:]
    (listed,) = answers.list_steps(services, PageRequest(("s",)))["steps"]
    (saved,) = json.loads(export.as_json(services, "s", ExportRequest()))["steps"]
    assert listed["cost"]["figures"]["paid"] == 0.027
    assert live["cost"] == listed["cost"] == saved["cost"]
    assert live["said"] == listed["said"] == saved["said"]


def test_a_sub_agent_is_listed_by_what_it_was_told(services: InspectorServices, session: Session) -> None:
    log(session, [user("Mend the crane.")])
    log(session, [user("Mend the crane."), answer("I ask."), user("Well?")])
    log(session, [user("Read the log of the brake.")], branch="agent-1")
    (agent,) = answers.one_session(services, PageRequest(("s",)))["tree"]["agents"]
    assert agent == {"branch": "agent-1", "steps": 1, "title": "Read the log of the brake."}


def test_a_text_that_begins_like_the_address_of_an_image_is_masked_too(
    services: InspectorServices, session: Session
) -> None:
    key = "sk-ant-api03-AAAABBBBCCCCDDDD"
    session.keep("curl", {"url": "x"}, f"data: {key}\n")
    assert key.encode() not in export.as_json(services, "s", ExportRequest())
