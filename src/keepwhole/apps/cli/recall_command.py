"""How the command line reads a part of a result: the command that shows the next part, and ranges out of range."""

import shlex

from keepwhole.errors import NotFound
from keepwhole.recall.answer import RecallCall
from keepwhole.recall.ranges import CharRange, LineRange
from keepwhole.store.reader import BodyReader


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
