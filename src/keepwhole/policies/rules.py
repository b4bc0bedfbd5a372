"""What each rule of a decision means, in words for people."""

RULES: dict[str, str] = {
    "arrival": "cut when it arrived, because it was longer than the limit for its tool or kind",
    "step": "cut when it arrived, because all results of its step together were too long",
    "repeat": "replaced by a pointer, because an earlier result in the same request says the same",
    "aged": "replaced by a pointer in a batch, because the conversation had reached its budget",
    "retention": "shortened to its first lines, because it is two turns old or older",
    "old": "replaced, because it is older than `max_age` steps",
    "long": "cut, because it is over `max_tokens_per_output`",
    "undo": "shown whole again, because somebody asked for it",
    "pin": "kept whole, because somebody pinned it",
}


def meaning(rule: str) -> str:
    """What a rule means; rules of other systems' policies speak for themselves."""
    return RULES.get(rule, f"chosen by the rule `{rule}`")
