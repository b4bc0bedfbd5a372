"""How the results of a conversation have been used so far: what of each is unsaid, when it was last referred to.

Owns: the facts from which `need.py` predicts. Must not know: policies, what is shown, weights.

Theory of operation
-------------------
A result is referred to when somebody writes a string of it that has a rare shape, an atom (`atoms.py`): a path, an id,
a name. Each atom has one home, the newest result that contains it. So the whole is one dictionary from atoms to
results and a few numbers for each result, and a new message costs its own atoms alone:

    step 1   result 0   "src/berth.py:212 SlotError"      home of src/berth.py:212 and SlotError        unsaid 2
    step 2   model      read(path="src/berth.py")         src/berth.py has no home: the whole atom counts
    step 3   result 1   "class SlotError(Exception): …"   SlotError moves to result 1                   unsaid 1, 1
    step 4   model      "SlotError is raised when …"      result 1 is referred to in turn 4             unsaid 1, 0

Clients move the marks of their cached prefix with every request, so the newest messages come again, changed, in the
next one. What the newest messages have changed is therefore written down and can be taken back (`take_back`).

Only results that may still be left out are asked for. The facts of a result do not depend on those before it, so what
comes before the first one that is asked for (`start`) costs no more than what was said: in a new process, which finds
most results of a long conversation left out already, that is nearly everything.

Invariants: an atom counts as unsaid in at most one result; what was said before a result came never counts in it; the
same messages give the same facts, however they were added and taken back.
"""

import re
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

from keepwhole.canonical.lazy_pattern import lazy_pattern
from keepwhole.canonical.message import Call, Message
from keepwhole.policies.atoms import argument_text, atoms

if TYPE_CHECKING:
    from keepwhole.policies.transcript import Item

_SCANNED = 100_000
"""Characters of a text whose atoms count."""
_SHORT_CALL = 1_000
"""Arguments longer than this name no single file that is read."""
_PATCHED = lazy_pattern(r"^\*\*\* (?:Update|Add|Delete) File: (\S+)", re.M)
_CONTENT = 20
_TAKEN_BACK = 8
"""The newest messages that can be taken back."""
_Undo = list[Callable[[], Any]]


class ResultUse:
    """What is known of the use of one result."""

    __slots__ = ("again", "referred", "unsaid", "written")

    def __init__(self, turn: int) -> None:
        self.unsaid = 0
        """Atoms that nobody has written and that no newer result contains."""
        self.referred = turn
        """The turn in which it was last referred to; at first the turn in which it came."""
        self.again = False
        """Whether the same call was made again since."""
        self.written = False
        """Whether a file that its call names was written to since."""


class ResultUses:
    """The use of all results of a conversation, kept up message by message."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        """The number of the first result of which something is known."""
        self.messages = 0
        """Messages that were counted."""
        self.of: list[ResultUse] = []
        """By the number of the result."""
        self._changed: set[int] = set()
        self._home: dict[str, int] = {}
        self._said: set[str] = set()
        self._same: dict[tuple[str, str], int] = {}
        self._reads: dict[str, list[int]] = {}
        """By a file's name the results whose calls named it."""
        self._undo: deque[_Undo] = deque(maxlen=_TAKEN_BACK)
        """For each of the newest messages what takes back its changes, in the order in which they were made."""

    def add(self, message: Message, items: Iterable["Item"], turn: int) -> None:
        """Count the next message, with the results in it; `turn` is the number of turns with it."""
        self.messages += 1
        self._undo.append([])
        said = [message.said, *(argument_text(call.arguments) for call in message.calls)]
        self._say("\n".join(said), turn)
        for call in message.calls if self._reads else ():
            self._write(call)
        for item in items:
            self._arrive(item, turn)

    def take_back(self, length: int) -> bool:
        """Forget all messages from `length` on; return False, with nothing changed, where they are too many."""
        if self.messages - length > len(self._undo):
            return False
        while self.messages > length:
            self.messages -= 1
            for undo in reversed(self._undo.pop()):
                undo()
        self._changed = {number for number in self._changed if number < len(self.of)}
        return True

    def take_changed(self) -> set[int]:
        """Return the numbers of the results of which something has changed since the last time."""
        found, self._changed = self._changed, set()
        return found

    def _say(self, text: str, turn: int) -> None:
        referred: set[int] = set()
        new: set[str] = set()
        for atom in atoms(text[:_SCANNED]):
            home = self._home.get(atom)
            is_new = atom not in self._said
            if home is not None:
                referred.add(home)
                if is_new:
                    self._set(home, "unsaid", self.of[home].unsaid - 1)
            if is_new:
                new.add(atom)
        self._said |= new
        self._undo[-1].append(partial(self._said.difference_update, new))
        for number in referred:
            self._set(number, "referred", turn)

    def _write(self, call: Call) -> None:
        for name in written_files(call):
            for number in self._reads.get(name, ()):
                self._set(number, "written", True)

    def _arrive(self, item: "Item", turn: int) -> None:
        use = ResultUse(turn)
        self.of.append(use)
        self._undo[-1].append(self.of.pop)
        if item.number < self.start:
            return
        self._changed.add(item.number)
        moved: dict[str, int | None] = {}
        for atom in atoms(item.text[:_SCANNED]):
            before = moved[atom] = self._home.get(atom)
            if atom not in self._said:
                if before is not None:
                    self._set(before, "unsaid", self.of[before].unsaid - 1)
                use.unsaid += 1
            self._home[atom] = item.number
        self._undo[-1].append(partial(_restore, self._home, moved))
        if item.call is not None:
            self._remember_call(item, item.call)

    def _remember_call(self, item: "Item", call: Call) -> None:
        key = call.tool, call.arguments
        before = self._same.get(key)
        if before is not None:
            self._set(before, "again", True)
        self._same[key] = item.number
        self._undo[-1].append(partial(_restore, self._same, {key: before}))
        for name in _named_files(call.arguments):
            read = self._reads.setdefault(name, [])
            read.append(item.number)
            self._undo[-1].append(read.pop)

    def _set(self, number: int, fact: str, value: int) -> None:
        """Change a fact of a result so that it can be taken back."""
        self._undo[-1].append(partial(self._take_back_fact, number, fact, getattr(self.of[number], fact)))
        setattr(self.of[number], fact, value)
        self._changed.add(number)

    def _take_back_fact(self, number: int, fact: str, value: int) -> None:
        setattr(self.of[number], fact, value)
        self._changed.add(number)


def _restore(table: dict[Any, int], before: dict[Any, int | None]) -> None:
    """Give the keys of `before` the values they had; None for those that had none."""
    for key, value in before.items():
        if value is None:
            del table[key]
        else:
            table[key] = value


def written_files(call: Call) -> list[str]:
    """Return the names of the files that a call writes to, as far as its arguments tell: those of a patch, or the one
    file that is named beside some text of several words."""
    text = argument_text(call.arguments)
    patched = [_file_name(path) for path in _PATCHED.findall(text)]
    if patched:
        return patched
    lines = text.split("\n")
    names = _named_files(lines[0]) if len(lines) > 1 and " " not in lines[0] else []
    return names[:1] if len(text) - len(lines[0]) > _CONTENT else []


def _named_files(text: str) -> list[str]:
    if len(text) > _SHORT_CALL:
        return []
    return list(dict.fromkeys(_file_name(atom) for atom in atoms(text) if "/" in atom or "." in atom))


def _file_name(path: str) -> str:
    """Return the last two parts of a path: agents name a file from here or from the root."""
    return "/".join(path.rsplit("/", 2)[-2:])
