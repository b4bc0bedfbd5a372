"""`python -m tests.apps.proxy.recorded`: write down what providers stream in each case and what a client gets of it.

A file a case and dialect in `streams/`: the provider's events round by round, then the client's. The test beside it
plays the provider's part again and compares the client's byte for byte.
"""

import json
from pathlib import Path

from keepwhole import MemoryStore
from keepwhole.exchange.exchange import Exchange
from keepwhole.exchange.router import SessionRouter
from tests.apps.proxy.proxy_server import DIALECTS, PATHS, request
from tests.apps.proxy.test_rounds import CASES
from tests.upstream.spelling import SPELLINGS, Dialect

FOLDER = Path(__file__).parent / "streams"
_PROVIDER, _CLIENT = "==== the provider, round {}\n", "==== the client\n"
RECORDED = [(dialect, case) for dialect in DIALECTS for case in CASES if len(CASES[case]) < 12]


def path_of(dialect: Dialect, case: str) -> Path:
    return FOLDER / dialect / f"{case.replace(' ', '-')}.txt"


def spelled(dialect: Dialect, case: str) -> list[bytes]:
    """What the provider streams, round by round."""
    return [b"".join(SPELLINGS[dialect][1](said, at + 1)) for at, said in enumerate(CASES[case])]


def heard(dialect: Dialect, rounds: list[bytes]) -> bytes:
    """What a client gets of it, piece by piece as a network would bring it."""
    desk = SessionRouter(each=True, store=MemoryStore())
    begun = desk.begin(
        "POST", PATHS[dialect], {"x-keepwhole-session": "s"}, json.dumps(request(dialect, True)).encode()
    )
    assert isinstance(begun, Exchange)
    out = b""
    for data in rounds:
        for at in range(0, len(data), 97):
            out += begun.feed_chunk(data[at : at + 97])
        rest = begun.end_stream()
        out += rest or b""
    assert rest is not None, "one more round was asked for"
    return out


def written(rounds: list[bytes], client: bytes) -> bytes:
    told = [_PROVIDER.format(at + 1).encode() + data for at, data in enumerate(rounds)]
    return b"".join(told) + _CLIENT.encode() + client


def read(data: bytes) -> tuple[list[bytes], bytes]:
    """The provider's rounds, and the client's part."""
    provider, _, client = data.partition(_CLIENT.encode())
    parts = provider.split(b"==== the provider, round ")[1:]
    return [part.partition(b"\n")[2] for part in parts], client


def main() -> None:
    for dialect, case in RECORDED:
        rounds = spelled(dialect, case)
        path = path_of(dialect, case)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(written(rounds, heard(dialect, rounds)))


if __name__ == "__main__":
    main()
