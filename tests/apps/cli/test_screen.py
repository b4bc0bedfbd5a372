"""What commands print: tables in columns, lines of a bounded width, colors and bars only on a terminal."""

import io
import os
import sys

import pytest

from keepwhole.apps.cli import screen


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", write_through=True)

    def isatty(self) -> bool:
        return True

    @property
    def written(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def test_a_line_has_at_most_its_width_and_says_that_it_goes_on() -> None:
    assert screen.line("x" * 200) == "x" * 200
    assert screen.line("x" * 201) == "x" * 199 + "…"
    assert screen.line("one\ntwo\tthree", 11) == "one two th…"


def test_columns_are_as_wide_as_their_widest_cell_and_numbers_end_alike(capsys: pytest.CaptureFixture[str]) -> None:
    screen.print_table(("Name", "Size", "Last"), [("a", 5, "x"), ("longer", 12_000, "y")], right=(1,))
    assert capsys.readouterr().out.splitlines() == [
        "Name     Size  Last",
        "─" * 19,
        "a           5  x",
        "longer  12000  y",
    ]


def test_only_a_terminal_gets_colors_and_only_if_the_user_wants_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert screen.bold("text") == "text"
    monkeypatch.setattr(sys, "stdout", Terminal())
    assert screen.bold("text") == "\x1b[1mtext\x1b[0m"
    assert screen.dim("text") == "\x1b[2mtext\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert screen.bold("text") == "text"


def test_a_bar_shows_how_far_it_is_and_goes_at_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with screen.Progress("reading", 4) as progress:
        progress.step()
    assert terminal.written == f"\r\x1b[Kreading: {'█' * 6}{'·' * 18} 1 of 4\r\x1b[K"


def test_a_bar_never_shows_more_than_all_and_without_a_whole_only_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    screen.Progress("reading", 4).set_done(9)
    screen.Progress("counting", 0).set_done(1_200)
    assert terminal.written == f"\r\x1b[Kreading: {'█' * 24} 4 of 4\r\x1b[Kcounting: 1,200"


@pytest.mark.parametrize("columns", [12, 20, 40, 45, 80])
def test_a_bar_stays_within_one_line_of_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of a longer line would stay on the screen each time the bar is drawn again."""
    terminal = Terminal()
    monkeypatch.setattr(terminal, "fileno", lambda: 2)
    monkeypatch.setattr(os, "get_terminal_size", lambda *_: os.terminal_size((columns, 24)))
    monkeypatch.setattr(sys, "stderr", terminal)
    screen.Progress("importing", 400_000_000, in_bytes=True).set_done(123_456_789)
    drawn = terminal.written.removeprefix("\r\x1b[K")
    assert len(drawn) < columns
    assert drawn.startswith("importing: "[: columns - 1])
    assert ("117.7 MB of 381.5 MB" in drawn) == (columns >= 40)


def test_without_a_terminal_there_is_no_bar(capsys: pytest.CaptureFixture[str]) -> None:
    with screen.Progress("reading", 4) as progress:
        progress.step()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(("answer", "is_yes"), [("y\n", True), (" YES \n", True), ("n\n", False), ("\n", False)])
def test_a_person_is_asked_before_what_cannot_be_undone(
    answer: str, is_yes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    terminal.write(answer)
    terminal.seek(0)
    monkeypatch.setattr(sys, "stdin", terminal)
    assert screen.confirm("Sure?", yes=False) == is_yes


def test_a_script_has_to_say_yes_beforehand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert screen.confirm("Sure?", yes=True)
    assert not screen.confirm("Sure?", yes=False)
    assert "`--yes`" in capsys.readouterr().err
