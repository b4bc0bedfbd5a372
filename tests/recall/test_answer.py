"""What answers print: the next call, and what there is where an id is unknown."""

import pytest

from keepwhole.recall.answer import RecallAnswer, RecallCall, StoredArtifact, read_id, unknown


def test_a_call_is_printed_as_it_can_be_made() -> None:
    call = RecallCall("art_1_x", "get_task_trace", "trace_id").with_arguments(path='$.a["ü"]').with_arguments(n=1)
    assert call.text(lines="1-2") == 'get_task_trace(trace_id="art_1_x", path="$.a[\\"ü\\"]", n=1, lines="1-2")'
    assert RecallCall("art_1_x").room(1_000) == 1_000 - 200 - len('get_artifact(id="art_1_x")')


def test_the_words_beside_an_image_leave_out_how_else_to_get_it() -> None:
    assert RecallAnswer("[image]\n[Not text: `keepwhole` gives it]").beside_media == "[image]"
    assert RecallAnswer("[image]").beside_media == "[image]"
    assert RecallAnswer("[image]").is_error is False


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("see art_1_x, please", "art_1_x"),
        ("art_1_x and art_2_y", "art_1_x and art_2_y"),
        ("trace_ab9", "trace_ab9"),
        ("y" * 492 + " art_1_x", "art_1_x"),
        ("y" * 493 + " art_1_x", "art_1_"),
        ("y" * 600 + " art_1_x", "y" * 600 + " art_1_x"),
        (7, "7"),
        (None, ""),
    ],
)
def test_an_id_is_taken_from_the_first_five_hundred_characters(given: object, found: str) -> None:
    if found == "art_1_":  # cut within the id, it is none
        found = str(given)
    assert read_id({"id": given}) == found
    assert read_id({"id": "", "artifactId": given}) == found


def known(count: int) -> list[StoredArtifact]:
    return [StoredArtifact(artifact_id=f"art_{number}_x", summary="s" * 20, size=1_024) for number in range(count)]


@pytest.mark.parametrize(("asked", "shown"), [("a" * 80, "a" * 80), ("a" * 81, "?"), ("a\nb", "?"), ("", "")])
def test_an_unknown_id_is_repeated_where_it_is_short_and_printable(asked: str, shown: str) -> None:
    answer = unknown(asked, [])
    assert answer.content == f'404: there is no artifact "{shown}" in this session. It has none yet.'
    assert answer.is_error
    assert answer.media is None


def test_ten_results_are_listed_newest_last() -> None:
    ten, eleven = (unknown("x", known(count)).content for count in (10, 11))
    assert ten.startswith('404: there is no artifact "x" in this session. It has:\n- [Artifact: art_0_x] ')
    assert ten.endswith(f"- [Artifact: art_9_x] {'s' * 20} (1.0 KB)")
    assert "older" not in ten
    assert unknown("x", known(1)).is_error
    assert "- [Artifact: art_0_x]" not in eleven
    long = [one.replace(summary="s" * 6_000) for one in known(9)]
    assert unknown("x", long).content.count("- [Artifact: ") == (32_000 - 400) // 6_030
    assert eleven.endswith("(1.0 KB)\n(older ones not listed)")


def test_as_many_results_are_listed_as_fit_and_at_least_one() -> None:
    line = len("- [Artifact: art_0_x] " + "s" * 20 + " (1.0 KB)\n")
    for limit in range(0, 400 + 5 * line, 7):
        answer = unknown("x", known(4), limit)
        fit = max(1, min(4, (limit - 400) // line))
        assert answer.content.count("- [Artifact: ") == fit
        assert ("older ones" in answer.content) == (fit < 4)
    assert unknown("x", known(4), 400 + 3 * line).content.count("- [") == 3
    assert unknown("x", known(4), 399 + 3 * line).content.count("- [") == 2
