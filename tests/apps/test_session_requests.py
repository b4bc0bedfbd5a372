"""Hidden rounds are told apart on record, in whichever order their requests were recorded."""

import pytest

from keepwhole.apps.session_requests import RoundFinder
from keepwhole.canonical.entry import Header, Request, Result


def result(tool: str, turn: int) -> Result:
    return Result(at=0, trace_id="t", artifact_id="a", tool=tool, turn=turn)


def request(branch: str = "main", recall: str = "tools") -> Request:
    return Request(at=0, trace_id="r", size=0, digest="", branch=branch, recall=recall)


def rounds(*headers: Header) -> set[int]:
    finder = RoundFinder()
    for seq, header in enumerate(headers):
        finder.add(seq, header)
    return finder.found


RECALLS = [result("get_artifact", 2), result("search_artifacts", 3)]


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ((result("Bash", 1), *RECALLS, request(), request(), request(), request()), {4, 5}),
        ((result("Bash", 1), RECALLS[0], request(), RECALLS[1], request(), request(), request()), {4, 5}),
    ],
    ids=["after the client has its answer", "as each round was answered"],
)
def test_each_turn_of_recalls_is_one_hidden_round(headers: tuple[Header, ...], expected: set[int]) -> None:
    assert rounds(*headers) == expected


def test_two_recalls_of_one_turn_are_one_hidden_round() -> None:
    assert rounds(result("get_artifact", 2), result("get_artifact", 2), request(), request(), request()) == {3}


def test_a_recall_beside_a_call_of_the_client_takes_no_round() -> None:
    assert rounds(result("get_artifact", 2), result("Bash", 2), request(), request()) == set()


def test_a_client_that_answers_recalls_itself_has_no_hidden_round() -> None:
    assert rounds(result("get_artifact", 2), request(recall=""), request(recall="")) == set()


def test_a_request_of_another_branch_is_no_round_of_this_one() -> None:
    assert rounds(result("get_artifact", 2), request(), request("helper"), request()) == {3}
