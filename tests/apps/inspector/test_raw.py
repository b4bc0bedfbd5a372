"""The bytes of a result that a request asks for."""

import pytest

from keepwhole.apps.inspector.raw import parse_range


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("bytes=0-", (0, 100)),
        (" bytes=0-0 ", (0, 1)),
        ("bytes=10-19", (10, 20)),
        ("bytes=10-99", (10, 100)),
        ("bytes=10-1000", (10, 100)),
        ("bytes=99-", (99, 100)),
        ("bytes=100-", (100, 100)),
        ("bytes=-1", (99, 100)),
        ("bytes=-100", (0, 100)),
        ("bytes=-101", (0, 100)),
        ("bytes=-0", (100, 100)),
        (f"bytes={'9' * 18}-", (int("9" * 18), 100)),
        (f"bytes={'9' * 19}-", None),
    ],
)
def test_a_range_is_that_of_its_header(header: str, found: tuple[int, int] | None) -> None:
    assert parse_range(header, 100) == found
