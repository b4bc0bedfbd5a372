"""Large files, the same every time: log lines in ASCII, and lines that are mostly not ASCII."""

import os
import random
from collections.abc import Callable

_PIECE = 1_000_000
_MARK = b"@@@@@@"
_WORDS = ("request served", "cache miss", "retry", "worker", "shard", "flush", "commit", "timeout", "upstream", "index")
_PARTS = (
    "数据库连接已关闭",
    "请求超时，正在重试",
    "サーバーが応答しません",
    "Соединение закрыто",
    "완료되었습니다",
    "déjà vu",
    "🚀✅",
)


def ascii_line(chance: random.Random) -> str:
    level = chance.choice(("INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR"))
    words = " ".join(chance.choices(_WORDS, k=chance.randint(2, 12)))
    return f"2026-03-0{chance.randint(1, 9)}T12:00:00.{chance.randint(0, 999_999):06d}Z {level} {words}"


def utf8_line(chance: random.Random) -> str:
    return f"{chance.randint(0, 999_999):06d} " + " ".join(chance.choices(_PARTS, k=chance.randint(1, 5)))


KINDS: dict[str, Callable[[random.Random], str]] = {"ASCII": ascii_line, "UTF-8": utf8_line}


def text_file(kind: str, size: int, folder: str) -> str:
    """The path of a text of at least `size` bytes and less than 1 MB more; written unless it exists."""
    path = os.path.join(folder, f"{kind}-{size}.txt")
    if not os.path.exists(path):
        piece = _piece(KINDS[kind])
        with open(path + ".part", "wb") as file:
            number = 0
            while file.tell() < size:
                file.write(piece.replace(_MARK, b"%06d" % number))
                number += 1
        os.rename(path + ".part", path)
    return path


def _piece(line: Callable[[random.Random], str]) -> bytes:
    """Lines that all differ; the mark makes them differ from those of other pieces too."""
    chance = random.Random(20260301)
    lines: list[bytes] = []
    size = 0
    while size < _PIECE:
        lines.append(_MARK + b" " + line(chance).encode() + b"\n")
        size += len(lines[-1])
    return b"".join(lines)
