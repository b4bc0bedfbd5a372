"""How likely a result is to be needed again, from how it has been used so far.

Owns: the formula, and its reasons in words. Must not know: what leaving a result out saves.

Theory of operation
-------------------
*Need* is the number of strings that the next ten turns are expected to take from a result, at most five. It is a
product, so each fact makes it larger or smaller by a factor that does not depend on the others:

    need = base · (1 + unsaid)^unsaid · (turns since it was referred to)^turns · (1 + messages of the user since)^user
           · again, if the same call was made again · written, if a file that its call names was written to

    a file read 40 turns ago, 60 names of it unsaid      .13 · 61^.51 · 40^-.48                      = 0.18
    the same, written to since                           0.18 · .53                                  = 0.10
    the same, and read again since                       0.18 · .045                                 = 0.01

The weights (`NeedWeights`) are fitted by `python -m bench.need`, which also says how they do on a source that they were
not fitted to. None belongs to a tool or to a kind of tool: such weights did worse on sources that were left out.
"""

from functools import lru_cache

from keepwhole.policies.settings import NeedWeights
from keepwhole.policies.uses import ResultUse

TURNS = 10
"""Turns ahead for which need is predicted."""


WEIGHTS = NeedWeights()


def need_of(
    use: ResultUse,
    turn: int,
    messages: int = 0,
    shown: float = 1.0,
    is_obsolete: bool = False,
    weights: NeedWeights = WEIGHTS,
) -> float:
    """Return the need of a result in turn `turn`, after so many messages of the user; `shown` is the share of it that
    is shown, and what is obsolete counts as called again.

    >>> use = ResultUse(turn=1)
    >>> use.unsaid = 60
    >>> round(need_of(use, turn=40), 2), round(need_of(use, turn=40, is_obsolete=True), 3)
    (0.18, 0.008)
    """
    need = weights.base * (1 + shown * use.unsaid) ** weights.unsaid * (turn - use.referred + 1) ** weights.turns
    if messages:
        need *= (1 + messages) ** weights.user
    if use.again or is_obsolete:
        need *= weights.again
    return need * weights.written if use.written else need


class NeedTable:
    """The factors of need, worked out once: thousands of results are judged at every request.

    >>> use, table = ResultUse(turn=1), NeedTable(WEIGHTS)
    >>> use.unsaid = 60
    >>> table.told(use) * table.by_turn(40)[use.referred] == need_of(use, turn=40)
    True
    """

    def __init__(self, weights: NeedWeights) -> None:
        self.again, self.written = weights.again, weights.written
        self._weights = weights
        self._powers = [1.0]

    def told(self, use: ResultUse, shown: float = 1.0) -> float:
        """Return the factor by what is unsaid in the share of a result that is shown."""
        return self._weights.base * (1 + shown * use.unsaid) ** self._weights.unsaid

    def by_turn(self, turn: int) -> list[float]:
        """Return the factor in turn `turn` for each turn in which a result may have been referred to last."""
        missing = range(len(self._powers) + 1, turn + 2)
        self._powers = [*self._powers, *(since**self._weights.turns for since in missing)] if missing else self._powers
        return self._powers[turn::-1]

    def by_user(self, messages: int) -> float:
        """Return the factor by the messages of the user since."""
        return (1 + messages) ** self._weights.user


@lru_cache(maxsize=16)
def need_table(weights: NeedWeights) -> NeedTable:
    """Return the table of these weights, which all conversations share."""
    return NeedTable(weights)


def reasons(use: ResultUse, turn: int, messages: int = 0, is_obsolete: bool = False) -> str:
    """Return in words for people what makes a result more or less needed.

    >>> use = ResultUse(turn=3)
    >>> use.again = True
    >>> reasons(use, turn=34, messages=1)
    'last referred to 31 turns ago; the same call was made again since; the user has written since'
    """
    since = turn - use.referred
    found = [f"last referred to {since:,} turn{'s' if since != 1 else ''} ago"]
    if use.again:
        found.append("the same call was made again since")
    elif is_obsolete:
        found.append("a newer image shows the same")
    if use.written:
        found.append("its file was written to since")
    if messages:
        found.append("the user has written since")
    if use.unsaid > 0:
        found.append(f"{use.unsaid:,} of its names not taken up")
    return "; ".join(found)
