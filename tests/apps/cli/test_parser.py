"""Help has a fixed width, whatever terminal asks."""

import pytest

from keepwhole.apps.cli import inspect
from keepwhole.apps.cli.main import COMMANDS, GROUPS
from keepwhole.apps.cli.parser import parser_for


def test_no_line_of_any_help_is_wider_than_100_characters() -> None:
    widths = [len(line) for name in (None, *COMMANDS) for line in parser_for(name, GROUPS).format_help().splitlines()]
    assert 80 < max(widths) <= 100


@pytest.mark.parametrize(
    ("platform", "environ", "can_see"),
    [
        ("linux", {}, False),
        ("linux", {"DISPLAY": ":0"}, True),
        ("linux", {"WAYLAND_DISPLAY": "wayland-0"}, True),
        ("linux", {"DISPLAY": ""}, False),
        ("darwin", {}, True),
    ],
)
def test_a_browser_is_opened_where_somebody_can_see_it(
    platform: str, environ: dict[str, str], can_see: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.platform", platform)
    assert inspect.has_display() is can_see
