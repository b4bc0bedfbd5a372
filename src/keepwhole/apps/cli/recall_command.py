"""How the command line reads a part of a result: the command that shows the next part, and ranges out of range."""

import shlex

from keepwhole.errors import NotFound
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.ranges import CharRange, LineRange
from keepwhole.store.reader import BodyReader

_OPTIONS = {
    "Give the first and the last, counted from 1, and a dash.": "Give it as `--lines 100-200`, counted from 1.",
    'chars="0-5000"': "`--chars 0-5000`",
    "leave regex out": "leave `--regex` out",
    "path leads into": "`--path` leads into",
    "or give a pattern": "or give `--pattern`",
}
"""Parameters of a recall tool in messages for models, and the options that they are in a shell."""


def in_options(message: str) -> str:
    """A message of a recall tool, with options of the command line in place of its parameters."""
    for parameter, option in _OPTIONS.items():
        message = message.replace(parameter, option)
    return message


class RecallCommand(RecallCall):
    """The command that shows the next part, in place of a model's call; `tool` is the command without the id."""

    def text(self, **more: object) -> str:
        """The command in full."""
        given = {**dict(self.given), **more}
        start, length = given.pop("start_char", None), given.pop("length", None)
        if isinstance(start, int):
            given["chars"] = f"{start}-{start + length}" if isinstance(length, int) else f"{start}-"
        named = ((key.replace("_", "-"), value) for key, value in given.items())
        words = [f"--{key}" if value is True else f"--{key} {shlex.quote(str(value))}" for key, value in named]
        return " ".join([self.tool, self.id, *words])


def check_range(reader: BodyReader, asked: LineRange | CharRange | None) -> None:
    """Raise `NotFound` for lines or characters that begin after the end of a result."""
    if isinstance(asked, LineRange) and asked.first > max(1, reader.lines):
        raise NotFound(
            f"There is no line {asked.first:,}: the result has {reader.lines:,}. Ask for `--lines 1-{reader.lines}`."
        )
    if isinstance(asked, CharRange) and asked.start > reader.chars:
        raise NotFound(
            f"There is no character {asked.start:,}: the result has {reader.chars:,}. "
            f"Ask for `--chars 0-{reader.chars}`."
        )
