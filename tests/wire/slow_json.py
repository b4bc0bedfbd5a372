"""A JSON parser that knows where everything is: slow, plain, and nothing of ours in it."""

from typing import Any


class Node:
    """A value with its place: `start` to `stop` in the text; members as pairs, so that none hides another."""

    def __init__(self, start: int, stop: int, value: Any) -> None:
        self.start, self.stop, self.value = start, stop, value

    def at(self, path: tuple[str | int, ...]) -> "Node":
        """The node at a path; raises `LookupError` if a name is there twice or not at all."""
        if not path:
            return self
        key, rest = path[0], path[1:]
        if isinstance(key, int):
            if not isinstance(self.value, list) or not 0 <= key < len(self.value):
                raise LookupError(key)
            return self.value[key].at(rest)
        found = [node for name, node in self.value if name == key] if isinstance(self.value, tuple) else []
        if len(found) != 1:
            raise LookupError(key)
        return found[0].at(rest)


def parse(text: str) -> Node:
    """The value of a whole text; raises `ValueError` for anything that is no JSON."""
    start = 1 if text[:1] == "\ufeff" else 0
    node = _value(text, _space(text, start))
    if _space(text, node.stop) != len(text):
        raise ValueError("something follows")
    return node


def _space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\n\r":
        at += 1
    return at


def _value(text: str, at: int) -> Node:
    first = text[at : at + 1]
    if first == "{":
        return _object(text, at)
    if first == "[":
        return _array(text, at)
    if first == '"':
        return _string(text, at)
    stop = at
    while stop < len(text) and (text[stop].isalnum() or text[stop] in "+-."):
        stop += 1
    if stop == at:
        raise ValueError(f"no value at {at}")
    return Node(at, stop, None)


def _object(text: str, at: int) -> Node:
    members: list[tuple[str, Node]] = []
    stop = _space(text, at + 1)
    while text[stop : stop + 1] != "}":
        if members:
            stop = _space(text, _sign(text, stop, ","))
        name = _string(text, stop)
        node = _value(text, _space(text, _sign(text, _space(text, name.stop), ":")))
        members.append((name.value, node))
        stop = _space(text, node.stop)
    return Node(at, stop + 1, tuple(members))


def _array(text: str, at: int) -> Node:
    elements: list[Node] = []
    stop = _space(text, at + 1)
    while text[stop : stop + 1] != "]":
        if elements:
            stop = _space(text, _sign(text, stop, ","))
        elements.append(_value(text, stop))
        stop = _space(text, elements[-1].stop)
    return Node(at, stop + 1, elements)


def _sign(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise ValueError(f"no {sign} at {at}")
    return at + 1


def _string(text: str, at: int) -> Node:
    found: list[str] = []
    start, at = at, _sign(text, at, '"')
    while text[at : at + 1] != '"':
        char = text[at : at + 1]
        if char == "" or char < " ":
            raise ValueError(f"no string at {start}")
        if char != "\\":
            found.append(char)
            at += 1
        elif text[at + 1] == "u":
            found.append(chr(int(text[at + 2 : at + 6], 16)))
            at += 6
        else:
            found.append({"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}.get(text[at + 1], text[at + 1]))
            at += 2
    return Node(start, at + 1, _paired("".join(found)))


def _paired(text: str) -> str:
    """Two halves of a surrogate pair are one character."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
