"""`ToolResultRetentionPolicy`: retention by turns over a caller's own context window, without a session.

Owns: the rule exactly as written: two turns whole, then three lines and a notice, whether or not that is shorter.
Must not know: sessions; `policies.retention` is the same rule as a policy.
"""

from keepwhole.policies.retention import FULL_TURNS, KEPT_LINES, end_of_lines, notice
from keepwhole.standalone.context_window import ContextMessage, ContextWindow, ToolResultMessage


class ToolResultRetentionPolicy:
    """The rule for the results in a context window. It has no state and does no I/O."""

    def is_fully_retained(self, message: ContextMessage, current_turn: int) -> bool:
        """Return whether a message is shown in full: always, unless it is a tool result of two or more turns ago."""
        return not isinstance(message, ToolResultMessage) or current_turn - message.turn < FULL_TURNS

    def truncate(self, full_output: str, trace_id: str) -> str:
        """Return the first three lines, and the notice that says where the rest is."""
        return full_output[: end_of_lines(full_output)] + notice(trace_id)

    def apply(self, window: ContextWindow, current_turn: int) -> ContextWindow:
        """Return another window in which old results are cut; all other messages are the same objects."""
        return ContextWindow(self._aged(message, current_turn) for message in window.get_messages())

    def _aged(self, message: ContextMessage, current_turn: int) -> ContextMessage:
        if not isinstance(message, ToolResultMessage) or self.is_fully_retained(message, current_turn):
            return message
        if _is_cut(message):
            return message
        return message.replace(content=self.truncate(message.content, message.trace_id))


def _is_cut(message: ToolResultMessage) -> bool:
    """Return whether `truncate` has cut a message already, so that cutting it again would only repeat the notice."""
    return message.content.endswith(notice(message.trace_id)) and message.content.count("\n") <= KEPT_LINES
