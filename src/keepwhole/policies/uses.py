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

Invariants: an atom counts as unsaid in at most one result; what was said before a result came never counts in it; the
same messages give the same facts, however they were added.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from keepwhole.canonical.message import Call, Message
from keepwhole.policies.atoms import argument_text, atoms

if TYPE_CHECKING:
    from keepwhole.policies.transcript import Item

_SCANNED = 100_000
"""Characters of a text whose atoms count."""
_SHORT_CALL = 1_000
"""Arguments longer than this name no single file that is read."""
_PATCHED = re.compile(r"^\*\*\* (?:Update|Add|Delete) File: (\S+)", re.M)
_CONTENT = 20


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

    def __init__(self) -> None:
        self.messages = 0
        """Messages that were counted."""
        self.of: list[ResultUse] = []
        """By the number of the result."""
        self.kept: object = None
        """What a policy keeps of these facts from one request to the next."""
        self._changed: set[int] = set()
        self._home: dict[str, int] = {}
        self._said: set[str] = set()
        self._same: dict[tuple[str, str], int] = {}
        self._reads: dict[str, list[int]] = {}
        """By a file's name the results whose calls named it."""

    def add(self, message: Message, items: Iterable["Item"], turn: int) -> None:
        """Count the next message, with the results in it; `turn` is the number of turns with it."""
        self.messages += 1
        said = [message.said, *(argument_text(call.arguments) for call in message.calls)]
        self._say("\n".join(said), turn)
        for call in message.calls:
            self._write(call)
        for item in items:
            self._arrive(item, turn)

    def take_changed(self) -> set[int]:
        """Return the numbers of the results of which something has changed since the last time."""
        found, self._changed = self._changed, set()
        return found

    def _say(self, text: str, turn: int) -> None:
        referred: set[int] = set()
        for atom in atoms(text[:_SCANNED]):
            home = self._home.get(atom)
            if home is not None:
                referred.add(home)
                self.of[home].unsaid -= atom not in self._said
            self._said.add(atom)
        self._changed |= referred
        for number in referred:
            self.of[number].referred = turn

    def _write(self, call: Call) -> None:
        for name in written_files(call):
            numbers = self._reads.get(name, ())
            self._changed.update(numbers)
            for number in numbers:
                self.of[number].written = True

    def _arrive(self, item: "Item", turn: int) -> None:
        use = ResultUse(turn)
        self.of.append(use)
        for atom in atoms(item.text[:_SCANNED]):
            if atom not in self._said:
                before = self._home.get(atom)
                if before is not None:
                    self.of[before].unsaid -= 1
                    self._changed.add(before)
                use.unsaid += 1
            self._home[atom] = item.number
        if item.call is None:
            return
        key = item.call.tool, item.call.arguments
        if key in self._same:
            self.of[self._same[key]].again = True
            self._changed.add(self._same[key])
        self._same[key] = item.number
        for name in _named_files(item.call.arguments):
            self._reads.setdefault(name, []).append(item.number)


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
