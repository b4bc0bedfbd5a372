"""How one view of a conversation is made, besides its policy."""

from typing import NamedTuple


class ViewMode(NamedTuple):
    """What a view may write, and what it is for."""

    records: bool = True
    """Whether new results and decisions are recorded; not where a client only counts what would be sent."""
    restores: bool = False
    """Whether results are shown whole once, the newest first, as far as the window allows, and nothing ages: for a
    client that is about to summarize the conversation by itself."""
    may_settle: bool = False
    """Whether results that are sent whole may be recorded later, by `settle`, once the request is on its way."""
    branch: str = "main"
    """Which of the conversations that a session holds side by side this is."""
    is_between_rounds: bool = False
    """Whether the request is another hidden round of one answer. Nothing ages there but what the window forces:
    another process that sends the same request must not depend on how many rounds this one has made."""


TURN = ViewMode()
COUNT = ViewMode(records=False)
