"""What is said of the results on record: how many, how many were cut, and their tokens."""

import pytest

from keepwhole.apps.kept_words import KeptCounts, chars_as_sent, count_kept, recall_folder, shown_tokens, tokens_as_sent
from keepwhole.canonical.body import measure
from keepwhole.canonical.entry import Decision
from keepwhole.canonical.media import Media
from keepwhole.metrics import MARKER
from keepwhole.models.media_tokens import media_tokens
from keepwhole.models.tokens import estimate_from_length
from keepwhole.policies.policy import CLIENT
from keepwhole.record.arrival import CLIENT_CUT
from tests.build import result


def decided(rule: str, chars: int, width: int | None = None, height: int | None = None) -> Decision:
    return Decision(
        at=0,
        trace_id="t",
        rule=rule,
        strategy="head",
        version="0",
        shown_digest="",
        shown_chars=chars,
        width=width,
        height=height,
    )


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (KeptCounts(), "0 results in full"),
        (KeptCounts(1), "1 result in full"),
        (KeptCounts(1_234), "1,234 results in full"),
        (KeptCounts(2, cut=1), "2 results, 1 of them as the client had cut them"),
        (KeptCounts(1, marked=1), "1 result, with a mark of truncation in it"),
        (KeptCounts(7, recalls=1), "7 results in full, read back once"),
        (KeptCounts(7, cut=1, recalls=2_000), "7 results, 1 of them as the client had cut them, read back 2,000 times"),
        (
            KeptCounts(9_000, 2_000, 3_000),
            "9,000 results, 2,000 of them as the client had cut them, 3,000 of them with a mark of truncation in them",
        ),
    ],
)
def test_counts_are_told_in_words(counts: KeptCounts, words: str) -> None:
    assert counts.words == words
    assert KeptCounts(1, 2, 3).plus(KeptCounts(10, 20, 30)) == (11, 22, 33, 0)


def test_a_result_that_the_client_cut_is_not_counted_as_marked_too() -> None:
    flags = [(), (CLIENT_CUT,), (MARKER,), (MARKER, CLIENT_CUT), (MARKER,)]
    assert count_kept(result(flags=flag) for flag in flags) == KeptCounts(5, 2, 2)


def test_what_is_read_back_is_no_result_of_a_tool_and_a_file_of_the_record_is_both() -> None:
    """A client reads a file of the record with its own tool, whose result it sends."""
    tools = [
        result(tool="mcp__keepwhole__get_artifact"),
        result(tool="cat", arguments='{"path": "/home/results/s/a.txt"}'),
        result(tool="cat", arguments='{"path": "/home/a.txt"}'),
        result(tool="keepwhole_round"),
    ]
    assert count_kept(tools, recall_folder("/home")) == KeptCounts(2, recalls=2)
    assert count_kept(tools) == KeptCounts(2, recalls=1)


def test_what_the_client_had_cut_counts_as_it_sent_it() -> None:
    assert chars_as_sent(900, []) == 900
    assert chars_as_sent(900, [decided("arrival", 100)]) == 900
    assert chars_as_sent(900, [decided(CLIENT, 100), decided("old", 10)]) == 100


def test_tokens_of_what_is_shown_and_sent() -> None:
    assert shown_tokens(decided("old", 4_000)) == estimate_from_length(4_000)
    assert shown_tokens(decided("old", 4_000, 800)) == estimate_from_length(4_000)
    assert shown_tokens(decided("old", 4_000, None, 600)) == estimate_from_length(4_000)
    image = media_tokens(Media("image/unknown", 0, b"", 800, 600))
    assert shown_tokens(decided("old", 4_000, 800, 600)) == image != estimate_from_length(4_000)
    facts, cut = measure(b"x" * 4_000), [decided(CLIENT, 1_000)]
    assert tokens_as_sent(result(), facts, []) == estimate_from_length(4_000)
    assert tokens_as_sent(result(), facts, cut) == estimate_from_length(1_000)
    other = result(media_type="application/octet-stream")
    assert tokens_as_sent(other, facts, cut) == estimate_from_length(1_000)
    sized = result(media_type="image/png", width=800, height=600)
    assert tokens_as_sent(sized, facts, cut) == media_tokens(Media("image/png", 4_000, b"", 800, 600))
    narrow = result(media_type="image/png", width=0, height=600), result(media_type="image/png", width=800, height=0)
    unknown = media_tokens(Media("image/png", 4_000, b""))
    assert [tokens_as_sent(one, facts, []) for one in narrow] == [unknown, unknown]
    pdf = result(media_type="application/pdf", pages=3)
    assert tokens_as_sent(pdf.replace(pages=None), facts, []) == media_tokens(Media("application/pdf", 4_000, b""))
    assert tokens_as_sent(pdf, facts, []) == media_tokens(Media("application/pdf", 4_000, b"", 0, 0, 3))
    assert tokens_as_sent(pdf, facts, []) != tokens_as_sent(pdf.replace(pages=0), facts, [])
