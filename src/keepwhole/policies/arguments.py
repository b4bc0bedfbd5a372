"""Which arguments of old calls a policy may cut: what the model wrote into a call is sent again with every request.

Owns: which calls these are, and what is shown of a result whose call's arguments are cut.
Must not know: batches and when one pays (`auto.py`), how a request spells a call (`wire`).

Arguments are cut only together with their result, by the same choice, since it is the result that says how they are
read back. Never cut are the arguments of a call

- of the newest steps, also where the window forces results to age;
- that failed: the next try is written from them;
- whose arguments are not on record as the messages have them, or stand beside signed reasoning of the turn that goes
  on (`Item.changes_arguments`);
- whose result was cut by the client itself, or is an image.
"""

from keepwhole.models.tokens import estimate
from keepwhole.policies.policy import Choice, shown_text
from keepwhole.policies.transcript import Item, LongArguments, Transcript
from keepwhole.truncation import notice
from keepwhole.truncation.arguments import cut_arguments, hidden_text, long_arguments
from keepwhole.truncation.cut import ArgumentCut, whole

RULE = "arguments"
NOTE = 25
"""Tokens of the words that say how arguments are read back, about."""
_NOTHING = LongArguments((), 0)


class OldArguments:
    """The arguments of the calls of one transcript that may be cut: not in the `newest` steps, nor under `least` tokens
    of a call."""

    def __init__(self, transcript: Transcript, newest: int, least: int) -> None:
        self._transcript, self.least = transcript, least
        self._upto = transcript.steps - newest

    def of(self, item: Item) -> LongArguments:
        """What may be cut of the arguments of a result's call."""
        if item.call is None or item.step > self._upto or not may_change(self._transcript, item):
            return _NOTHING
        if item.arguments is None:
            item.arguments = self._find(item)
        return item.arguments

    def _find(self, item: Item) -> LongArguments:
        """The same, as far as it does not change."""
        assert item.call is not None
        cuts = long_arguments(item.call.arguments)
        if not cuts or item.original is not None or item.media is not None:
            return _NOTHING
        if item.name is None:
            return _NOTHING
        if item.has_failed or not self._transcript.leads_its_call(item):
            return _NOTHING
        freed = freed_tokens(item, cuts)
        return LongArguments(cuts, freed) if freed >= self.least + NOTE else _NOTHING


def may_change(transcript: Transcript, item: Item) -> bool:
    """Whether the arguments of a result's call may be shown otherwise now."""
    if item.changes_arguments == "after the turn":
        return transcript.next_user_turn(item) is not None
    return item.changes_arguments == "always"


def freed_tokens(item: Item, cuts: tuple[ArgumentCut, ...]) -> int:
    """Return the tokens that are not sent where the arguments of a result's call are cut."""
    if item.call is None or not cuts:
        return 0
    arguments = item.call.arguments
    return max(0, estimate(arguments) - estimate(cut_arguments(arguments, cuts)))


def arguments_choice(item: Item, before: Choice | None, arguments: LongArguments) -> Choice:
    """Return the choice to show a result as before, and to cut the arguments of its call."""
    assert item.name is not None, "a result is named before something of its call is cut"
    shown = before.cut if before is not None else whole(len(item.text))
    note = f"\n[{notice.arguments_hidden(item.name.way)}]"
    cut = shown.replace(below=shown.below + note, arguments=arguments.cuts)
    choice = Choice(item.number, RULE, cut, 0)
    return choice._replace(tokens=estimate(shown_text(item, choice)) - arguments.freed)


def hidden_arguments(item: Item, arguments: LongArguments) -> tuple[str, str]:
    """Return what is hidden of the arguments of a result's call, and what of them is still shown."""
    if item.call is None or not arguments.cuts:
        return "", ""
    given = item.call.arguments
    return hidden_text(given, arguments.cuts), cut_arguments(given, arguments.cuts)
