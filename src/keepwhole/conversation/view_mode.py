"""In what manner a conversation is looked at, beside the policy."""

from typing import NamedTuple


class Manner(NamedTuple):
    """How a view is made this once."""

    recorded: bool = True
    """Whether new results and decisions are put on record; not where somebody only counts what would be sent."""
    restored: bool = False
    """Whether results are shown whole, the newest first, as far as the window allows, and nothing ages: for a client
    that sums up by itself."""
    settles: bool = False
    """Whether results that are sent whole may be put on record by `settle`, once they are on their way."""
    branch: str = "main"
    """Whose conversation it is, of those that a session holds side by side."""
    between: bool = False
    """Whether it is between two rounds of one answer, where nothing ages but what the window forces: what is sent of
    the same request elsewhere must not depend on how far its rounds are here."""


USUAL = Manner()
