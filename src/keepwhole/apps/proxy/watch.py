"""A line for each request, for people: how large it was, how much of it was sent, how long it took. Never content."""

import sys
import time

from keepwhole.apps.proxy.turn import Turn


def line(turn: Turn) -> str:
    """What there is to see of a request."""
    words = [time.strftime("%H:%M:%S"), str(turn.status or "–"), f"{turn.outcome:<10}"]
    exchange = turn.exchange if turn.exchange is not None and turn.exchange.has_record else None
    if exchange is not None:
        would, account = exchange.account, exchange.account.as_sent
        words.append(f"{_short(account.tokens_whole)} → {_short(account.tokens_sent)} tokens")
        words += [f"{_short(would.tokens_sent)} if it were not the shadow"] * (would.tokens_sent < account.tokens_sent)
        words += [f"{_results(account.edited)} shown otherwise"] * bool(account.edited)
        words += [f"{account.new_decisions} of them from now on"] * bool(account.new_decisions)
        words += [f"{account.unstored} not stored"] * bool(account.unstored)
        words += [f"{exchange.count} rounds of recall"] * bool(exchange.count)
    if turn.usage is not None:
        foreseen = "" if turn.predicted is None else f" (foreseen {_short(turn.predicted)})"
        words.append(f"cached {_short(turn.usage.cached)} of {_short(turn.usage.input)}{foreseen}")
    words.append(f"{turn.first:.2f} s to the first byte, {turn.seconds:.1f} s")
    if exchange is not None:
        words.append(f"{ascii(exchange.session[:60])[1:-1]} {ascii(exchange.identity.branch[:20])[1:-1]}")
    words += [turn.note] * bool(turn.note)
    return " · ".join(words)


def watch(turn: Turn) -> None:
    """Print the line."""
    print(line(turn), file=sys.stderr, flush=True)


def _results(count: int) -> str:
    return f"{count} result{'s' * (count != 1)}"


def _short(tokens: int) -> str:
    return f"{tokens / 1000:.1f}k" if tokens >= 1000 else str(tokens)
