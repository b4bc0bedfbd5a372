"""How a result is read back, as a call that the reader of a notice can run exactly as printed.

Owns: the spelling of a call of `get_artifact`, of an agent's own file tools, and of a command for people.
Must not know: whether the tool is offered or the file exists; the code that makes a `RecallLink` ensures that.
"""

import json
import re
import shlex
from typing import Literal, TypeAlias

from keepwhole.canonical.value import Value
from keepwhole.truncation.cut import Source

_SPECIAL, _ESCAPED = re.compile(r"[][.\\*^$()+?{}|]"), r"\\\g<0>"
"""What `grep -E` does not take literally."""

Reader: TypeAlias = Literal["get_artifact", "Read", "read", "read_file", "sed", "keepwhole"]


class RecallLink(Value):
    """How one result is read back: by its id, or from its file."""

    artifact_id: str
    file: str = ""
    reader: Reader = "get_artifact"
    """`get_artifact`; `Read`, `read` and `read_file` as coding agents have them; a shell; or the command line."""
    arguments_file: str = ""
    """The file of what the result's own call was given, where results are read from files."""

    def whole(self) -> str:
        """The call that reads all of it.

        >>> RecallLink("art_1_x").whole()
        'get_artifact(id="art_1_x")'
        """
        if self.reader == "sed":  # a shell prints text; what opens an image or a document is the agent's to choose
            return f"cat {shlex.quote(self.file)}" if self.file.endswith(".txt") else shlex.quote(self.file)
        return self._call()

    def lines(self, first: int, last: int) -> str:
        """The call that reads these lines, counted from 1.

        >>> RecallLink("art_1_x", "/f.txt", "Read").lines(11, 20)
        'Read(file_path="/f.txt", offset=11, limit=10)'
        """
        if self.reader == "sed":
            return f"sed -n '{first},{last}p' {shlex.quote(self.file)}"
        if self.file:
            return self._call(offset=first, limit=last - first + 1)
        return self._call(lines=f"{first}-{last}")

    def chars(self, start: int, stop: int, source: Source) -> str:
        """The call that reads these characters, counted from 0. File tools read lines only, so a shell reads bytes."""
        if not self.file:
            if self.reader == "keepwhole":
                return self._call(chars=f"{start}-{stop}")
            return self._call(start_char=start, length=stop - start)
        first, last = source.byte_at(start), source.byte_at(stop)
        return self._bytes(first + 1, last - first)

    def onward(self, first_line: int | None = None, start: int | None = None) -> str:
        """The call of `get_artifact` that reads on from a line, counted from 1, or from a character, counted from 0.

        >>> RecallLink("art_1_x").onward(first_line=94)
        'get_artifact(id="art_1_x", lines="94-")'
        """
        return self._call(start_char=start) if first_line is None else self._call(lines=f"{first_line}-")

    def pattern(self, text: str, around: int = 0, in_long_lines: bool = False) -> str:
        """The call that finds a text in it; empty where the reader cannot search.

        `get_artifact` brings the unit by itself. A shell brings `around` lines on each side, or a part of long lines.

        >>> RecallLink("art_1_x").pattern("parse_config")
        'get_artifact(id="art_1_x", pattern="parse_config")'
        >>> RecallLink("art_1_x", "/f.txt", "sed").pattern("parse_config")
        'grep -nF -- parse_config /f.txt'
        >>> RecallLink("art_1_x", "/f.txt", "sed").pattern("a.b", in_long_lines=True)
        "grep -oE '.{0,150}a\\\\.b.{0,400}' /f.txt"
        """
        if self.reader == "sed":
            file = shlex.quote(self.file)
            if in_long_lines:
                return f"grep -oE {shlex.quote(f'.{{0,150}}{_SPECIAL.sub(_ESCAPED, text)}.{{0,400}}')} {file}"
            return f"grep -nF {f'-C {around} ' if around else ''}-- {shlex.quote(text)} {file}"
        return self._call(pattern=text) if self.reader == "get_artifact" else ""

    def arguments(self) -> str:
        """The call that reads what the result's own call was given. Of files a shell reads it, whatever the reader:
        arguments are mostly one line of JSON, and file tools cut long lines.

        >>> RecallLink("art_1_x").arguments()
        'get_artifact(id="art_1_x", part="arguments")'
        >>> RecallLink("art_1_x", "/f.txt", "Read", "/f.arguments.json").arguments()
        'cat /f.arguments.json'
        """
        return f"cat {shlex.quote(self.arguments_file)}" if self.file else self._call(part="arguments")

    def longest(self, chars: int) -> str:
        """A call at least as long as any for a text of `chars` characters."""
        if not self.file:
            given = (
                {"chars": f"{chars}-{chars}"} if self.reader == "keepwhole" else {"start_char": chars, "length": chars}
            )
            return self._call(**given)
        return max(self.lines(chars, 2 * chars), self._bytes(4 * chars, 4 * chars), key=len)

    def _bytes(self, first: int, count: int) -> str:
        return f"tail -c +{first} {shlex.quote(self.file)} | head -c {count}"

    def _call(self, **more: object) -> str:
        if self.reader == "keepwhole":
            words = "".join(f" --{key} {value}" for key, value in more.items())
            return f"`keepwhole artifacts show {self.artifact_id}{words}`"
        key, value = ("id", self.artifact_id) if not self.file else (_FILE[self.reader], self.file)
        given = {key: value, **more}
        words = ", ".join(f"{key}={_literal(value)}" for key, value in given.items())
        return f"{self.reader}({words})"


_FILE = {"Read": "file_path", "read": "filePath", "read_file": "path"}


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else str(value)
