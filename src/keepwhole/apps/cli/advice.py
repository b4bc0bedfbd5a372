"""What an error advises where the command that it advises is the one that failed."""

from collections.abc import Sequence

_RESTORE = "Restore a backup with `keepwhole store restore`, or move the folder away to begin a new record."
_NEXT_STEPS = {"doctor": _RESTORE, "sessions verify": _RESTORE}
"""The step after each command that errors of the record advise."""
_WAYS = ("Run `keepwhole {}`.", "See `keepwhole {}`.", "Check the folder with `keepwhole {}`.")


def without_own_advice(message: str, words: Sequence[str]) -> str:
    """A message in which the advice to run the very command that failed gives way to the step after it.

    >>> without_own_advice("It is damaged. Run `keepwhole doctor`.", ["doctor", "--full"])[:57]
    'It is damaged. Restore a backup with `keepwhole store res'
    """
    for command, next_step in _NEXT_STEPS.items():
        if list(words[: len(command.split())]) == command.split():
            for way in _WAYS:
                message = message.replace(way.format(command), next_step)
    return message
