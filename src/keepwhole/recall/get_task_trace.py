"""`get_task_trace`: one call of a tool (arguments, turn, outcome) and its raw output, paged."""

from collections.abc import Mapping
from typing import Any

from keepwhole.canonical.entry import Result
from keepwhole.canonical.utf8 import showable
from keepwhole.recall.answer import RecallAnswer, RecallCall
from keepwhole.recall.get_artifact import asks_for_arguments, read_arguments, read_artifact
from keepwhole.store.reader import BodyReader
from keepwhole.truncation.notice import size_text

_ARGUMENTS = 300
"""Characters of a call's arguments that are shown with its output."""


def read_trace(
    reader: BodyReader, result: Result, call: RecallCall, arguments: Mapping[str, Any], limit: int
) -> RecallAnswer:
    """The call and the part of its output that `arguments` ask for; with `part="arguments"`, the call's arguments."""
    if asks_for_arguments(arguments):
        return read_arguments(result, call, arguments, limit)
    head = call_heading(result, reader, call)
    answer = read_artifact(reader, result.media_type, call, arguments, limit - len(head) - 1)
    return answer.replace(content=f"{head}\n{answer.content}")


def call_heading(result: Result, reader: BodyReader, call: RecallCall | None = None) -> str:
    """One line about a call: tool, arguments, turn, outcome, size of the output."""
    turn = "" if result.turn is None else f", turn {result.turn}"
    code = "" if result.exit_code is None else f", exit code {result.exit_code}"
    size = f"{size_text(reader.facts.size)}, {reader.lines:,} lines"
    given = _one_line(result.arguments or "")
    if call is not None and len(given) > _ARGUMENTS:
        given = f"{given[:_ARGUMENTS]}… (all of it: {call.text(part='arguments')})"
    status = "error" if result.is_error else "ok"
    return f"[Call: {_one_line(result.tool)[:100]} {given}]\n[Status: {status}{code}{turn}; output {size}]"


def _one_line(text: str) -> str:
    return "".join(char if char.isprintable() else " " for char in showable(text))
