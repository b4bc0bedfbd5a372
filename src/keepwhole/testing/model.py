"""A model that plays a script, with Anthropic's messages, and the calls that a text prints."""

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

from keepwhole.recall.names import NAMES

_CALL = re.compile(rf"\b({'|'.join((*NAMES, 'Read', 'read', 'read_file'))})\(")


class PrintedCall(NamedTuple):
    """A call as a notice or an answer prints it."""

    name: str
    arguments: dict[str, Any]


def printed_calls(text: str) -> list[PrintedCall]:
    """Every call of a recall tool that a text prints, in order, its arguments exactly as printed.

    >>> printed_calls('left out: get_artifact(id="art_1_x", lines="3-9")')
    [PrintedCall(name='get_artifact', arguments={'id': 'art_1_x', 'lines': '3-9'})]
    """
    found = (_parse_call(text, match.start()) for match in _CALL.finditer(text))
    return [call for call in found if call is not None]


def _parse_call(text: str, start: int) -> PrintedCall | None:
    """The call that begins at `start`; it ends at the first bracket that makes it valid."""
    end = text.find(")", start)
    while 0 <= end < start + 4_000:
        try:
            call = ast.parse(text[start : end + 1], mode="eval").body
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and not call.args:
                given = {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
                return PrintedCall(call.func.id, given)
            return None
        except (SyntaxError, ValueError):
            end = text.find(")", end + 1)
    return None


Reply: TypeAlias = PrintedCall | tuple[str, Mapping[str, Any]] | str
"""A call of a tool, or words."""


class FakeModel:
    """A model that plays a script: each line is a reply, or a function that makes one from the newest result's text.

    >>> model = FakeModel(["done"])
    >>> model([{"role": "user", "content": "hello"}])
    {'role': 'assistant', 'content': [{'type': 'text', 'text': 'done'}]}
    """

    def __init__(self, script: Iterable[Reply | Callable[[str], Reply]]) -> None:
        self.play(script)
        self.calls = 0

    def play(self, script: Iterable[Reply | Callable[[str], Reply]]) -> None:
        """Continue with another script and the next number for calls."""
        self._script = iter(script)

    def __call__(self, messages: Iterable[Mapping[str, Any]], tools: object = ()) -> dict[str, Any]:
        """The next message of the assistant, in Anthropic's form."""
        line = next(self._script, "done")
        reply = line(newest_text(list(messages))) if callable(line) else line
        if isinstance(reply, str):
            return {"role": "assistant", "content": [{"type": "text", "text": reply}]}
        self.calls += 1
        name, arguments = reply
        block = {"type": "tool_use", "id": f"toolu_{self.calls}", "name": name, "input": dict(arguments)}
        return {"role": "assistant", "content": [block]}


def newest_text(messages: list[Mapping[str, Any]]) -> str:
    """The text of the newest tool result; empty where there is none."""
    for message in reversed(messages):
        content = message.get("content")
        if isinstance(content, list):
            blocks = cast("list[Mapping[str, Any]]", content)
            texts = [str(block.get("content")) for block in blocks if block.get("type") == "tool_result"]
            if texts:
                return texts[-1]
    return ""
