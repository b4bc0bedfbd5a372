"""The lines that a server writes to its standard output, as messages.

A line that the library refuses is repaired where only characters are wrong, else the call that it answers gets an
error: a call is never left waiting because its answer cannot be read.
Must not know: processes.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from mcp.shared.message import SessionMessage
from mcp_types import PARSE_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter

from keepwhole.logs.lines import repaired_characters

LONGEST_LINE = 64 * 1_048_576
"""Bytes of one message; a longer one is not read, and its call is answered with an error."""
_KEPT = 4_096
_TOKEN = re.compile(rb'"[^"\\]*+(?>(?:\\.[^"\\]*+)*)"|[{}\[\]]', re.DOTALL)
_VALUE = re.compile(rb'\s{0,99}:\s{0,99}(?:(-?\d{1,18})|"([^"\\]{1,200})")')
_LAST_ID = re.compile(rb',\s*"id"\s*:\s*(?:(\d{1,18})|"([^"\\]{1,200})")\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$')


class LongLine(NamedTuple):
    """A line over the limit: only its two ends."""

    head: bytes
    tail: bytes


class LineSplitter:
    """Splits chunks into lines, in time that grows with their length and memory that does not exceed the limit."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0
        self._tail = b""

    def feed(self, chunk: bytes) -> Iterator[bytes | LongLine]:
        """Yield the lines that end in this chunk."""
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            self._add(part)
            yield self._take()
        self._add(rest)

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size <= self._longest:
            self._parts.append(part)
            return
        whole = b"".join(self._parts)
        self._tail = ((self._tail or whole[-_KEPT:]) + part)[-_KEPT:]
        self._parts = [whole[:_KEPT] or part[:_KEPT]]

    def _take(self) -> bytes | LongLine:
        line = b"".join(self._parts)
        found = LongLine(line, self._tail) if self._size > self._longest else line
        self._parts, self._size, self._tail = [], 0, b""
        return found


def read_line(line: bytes | LongLine, server: str) -> SessionMessage | None:
    """The message in a line, or the error with which the call it answers fails; None where it is no answer."""
    if isinstance(line, LongLine):
        return _failure(_id_of_long(line), server, f"an answer of more than {LONGEST_LINE // 1_048_576} MB")
    for readable in (line, repaired_characters(line)):
        try:
            if readable is not None:
                return SessionMessage(jsonrpc_message_adapter.validate_json(readable, by_name=False))
        except ValueError:
            continue
    return _failure(answered_id(line), server, "an answer that is not valid JSON-RPC")


def answered_id(line: bytes) -> int | str | None:
    """The id of the call that a line answers, however its content is broken; None where it is not an answer."""
    depth, found = 0, None
    for token in _TOKEN.finditer(line):
        word = token[0]
        if word in b"{[":
            depth += 1
        elif word in b"}]":
            depth -= 1
        elif depth == 1 and word == b'"method"' and _VALUE.match(line, token.end()):
            return None
        elif depth == 1 and word == b'"id"' and (value := _VALUE.match(line, token.end())):
            found = _id(value)
    return found


def _id_of_long(line: LongLine) -> int | str | None:
    at_the_end = _LAST_ID.search(line.tail)
    return _id(at_the_end) if at_the_end else answered_id(line.head)


def _id(match: re.Match[bytes]) -> int | str:
    return int(match[1]) if match[1] is not None else match[2].decode("utf-8", "replace")


def _failure(request_id: int | str | None, server: str, what: str) -> SessionMessage | None:
    if request_id is None:
        return None
    error = ErrorData(code=PARSE_ERROR, message=f"The MCP server `{server}` gave {what}, which cannot be passed on.")
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request_id, error=error))
