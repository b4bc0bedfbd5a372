"""Before a result is shown in full again, it is said what that adds."""

import json
from typing import Any

import pytest

from keepwhole import MemoryStore, Session
from keepwhole.apps.undo_figures import UndoFigures, foresee_undo
from keepwhole.exchange.request_log import RequestFacts, RequestLog
from keepwhole.models.tokens import estimate

LONG = "".join(f"line {number} of a long output\n" for number in range(2_000))


def messages(*texts: str) -> list[Any]:
    made: list[Any] = [{"role": "user", "content": "go"}]
    for number, text in enumerate(texts):
        function = {"name": "bash", "arguments": json.dumps({"command": f"make {number}"})}
        call = {"id": f"c{number}", "type": "function", "function": function}
        made += [{"role": "assistant", "content": None, "tool_calls": [call]}]
        made += [{"role": "tool", "tool_call_id": f"c{number}", "content": text}]
    return made


def figures(*texts: str) -> list[UndoFigures]:
    session = Session("s", store=MemoryStore())
    session.view(messages(*texts), policy="truncation")
    return [foresee_undo(session, row) for row in session.store.rows("s", kind="result")]


def test_a_result_that_is_shown_whole_stays_as_it_is() -> None:
    (short,) = figures("fine")
    assert short._replace(whole=0) == UndoFigures(0, 0, 0, 0.0, False)
    assert 0 < short.whole < 5
    assert short.cost is None


def test_a_result_that_is_cut_adds_what_is_hidden_of_it() -> None:
    (cut,) = figures(LONG)
    assert cut.changed
    assert estimate(LONG) <= cut.whole <= 1.2 * estimate(LONG)
    assert 500 < cut.whole - cut.tokens < 900, "what is shown of it"
    assert cut.reread == 0, "no request is on record whose cache it would break"


@pytest.mark.parametrize(("dollars", "words"), [(0.1392, "≈ $0.139 once"), (0.0, None), (None, None)])
def test_the_cost_is_said_where_there_is_one(dollars: float | None, words: str | None) -> None:
    made = UndoFigures(1, 2, 3, dollars, True)
    assert made.cost == words
    assert made.as_dict()["cost"] == words
    assert made._replace(changed=False).cost is None


def test_what_is_behind_a_result_is_read_anew_unless_its_request_is_unknown_or_damaged() -> None:
    session = Session("s", store=MemoryStore())
    sent = messages(LONG, "short")
    session.view(sent, policy="truncation")
    row, _ = session.store.rows("s", kind="result")
    log = RequestLog(session)
    facts = RequestFacts("openai", "gpt-5", mode="on", tokens_whole=20_000, tokens_sent=10_000)
    log.add(json.dumps({"model": "gpt-5", "messages": sent}).encode(), facts)
    assert 9_000 < foresee_undo(session, row).reread < 10_000
    log.add(json.dumps({"model": "gpt-5", "messages": sent[:1]}).encode(), facts)
    without = foresee_undo(session, row)
    assert without.reread == 0
    assert without.dollars is not None, "the price is known by the request's model"
    assert without.dollars > 0
