"""How many tokens a text takes, estimated without a vocabulary."""


def estimate(text: str) -> int:
    """Tokens that `text` takes, about."""
    return -(-len(text) // 4)
