"""Texts of many languages and encodings, each with the tokens that it takes by a tokenizer that is not ours.

Owns: the texts, and how dense each is. Must not know: Keepwhole's estimate.
"""

import base64
import random
from collections.abc import Callable

from tests.promises.sentences import SENTENCES

Writer = Callable[[random.Random, int], str]


def prose(language: str) -> Writer:
    """Write sentences of a language in another order every time."""
    sentences = SENTENCES[language]

    def write(chance: random.Random, chars: int) -> str:
        lines: list[str] = []
        while sum(map(len, lines)) + len(lines) < chars:
            lines.append(" ".join(chance.choices(sentences, k=3)))
        return "\n".join(lines)[:chars]

    return write


def drawn_from(ranges: str, words: bool = False) -> Writer:
    """Write characters at random out of ranges such as `az09`; with `words`, in words of three to nine."""
    pool = [
        chr(code)
        for low, high in zip(ranges[::2], ranges[1::2], strict=True)
        for code in range(ord(low), ord(high) + 1)
    ]

    def write(chance: random.Random, chars: int) -> str:
        text = "".join(chance.choices(pool, k=chars))
        if not words:
            return text
        pieces: list[str] = []
        at = 0
        while at < chars:
            size = chance.randint(3, 9)
            pieces.append(text[at : at + size])
            at += size
        return " ".join(pieces)[:chars]

    return write


def encoded(chance: random.Random, chars: int) -> str:
    """Write bytes at random as base64."""
    return base64.b64encode(chance.randbytes(chars)).decode()[:chars]


def wrapped(chance: random.Random, chars: int) -> str:
    """Write base64 in lines, as in a certificate."""
    return base64.encodebytes(chance.randbytes(chars)).decode()[:chars]


def hexadecimal(chance: random.Random, chars: int) -> str:
    """Write bytes at random as hexadecimal digits."""
    return chance.randbytes(chars).hex()[:chars]


def as_text(chance: random.Random, chars: int) -> str:
    """Write bytes at random, read as Latin-1."""
    return chance.randbytes(chars).decode("latin-1")


def undecodable(chance: random.Random, chars: int) -> str:
    """Write bytes at random, read as UTF-8 with replacements."""
    return chance.randbytes(2 * chars).decode("utf-8", "replace")[:chars]


def minified(chance: random.Random, chars: int) -> str:
    """Write code without spaces, as a bundler leaves it."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ$_"
    shapes = (
        "function {0}({1},{2}){{return {1}.{3}({2})||{0}.{4}[{5}]}}",
        "var {0}={1}?{2}({3}):!{4}&&{5};",
        "{0}.{1}=({2},{3})=>{{if(!{2})throw Error({5});{3}.{4}+={5}}};",
        "for(let {0}=0;{0}<{1}.length;{0}++){2}({1}[{0}],{5},{3});",
        "n.d(t,{{{0}:()=>{1},{2}:()=>{3}}});",
    )
    lines: list[str] = []
    while sum(map(len, lines)) < chars:
        names = ["".join(chance.choices(letters, k=chance.choice((1, 1, 2, 2, 3)))) for _ in range(5)]
        lines.append(chance.choice(shapes).format(*names, chance.randint(0, 9999)))
    return "".join(lines)[:chars]


def spaces(chance: random.Random, chars: int) -> str:
    """Write little but white space."""
    return "".join(chance.choices((" ", "  ", "\t", "\n", "\n\n", " \n", "    ", "x"), k=chars))[:chars]


WRITERS: dict[str, Writer] = {
    **{language: prose(language) for language in SENTENCES},
    "emoji": drawn_from("😀🙏🌀🗿🚀🛅🤐🧿"),
    "emoji in words": drawn_from("😀🙏az", words=True),
    "base64": encoded,
    "base64 in lines": wrapped,
    "base32": drawn_from("AZ27"),
    "hexadecimal": hexadecimal,
    "genes": lambda chance, chars: "".join(chance.choices("ACGT", k=chars)),
    "digits": drawn_from("09"),
    "capitals": drawn_from("AZ"),
    "letters": drawn_from("az"),
    "letters in words": drawn_from("az", words=True),
    "signs": drawn_from("!/:@[`{~"),
    "minified code": minified,
    "white space": spaces,
    "bytes as Latin-1": as_text,
    "bytes as UTF-8": undecodable,
    "control characters": drawn_from("\x01\x08\x0e\x1f"),
    "Latin with accents at random": drawn_from("àÿĀſaz", words=True),
    "combining marks": drawn_from("\u0300\u036faz"),
    "Cyrillic at random": drawn_from("аяЀџ", words=True),
    "Greek at random": drawn_from("αωἀῼ", words=True),
    "Hebrew with points": drawn_from("\u05b0\u05bcאת", words=True),
    "Arabic at random": drawn_from("\u0621\u064a\u064b\u0652", words=True),
    "Devanagari at random": drawn_from("\u0905\u094d", words=True),
    "Thai at random": drawn_from("\u0e01\u0e4e"),
    "kana at random": drawn_from("ぁゖァヺ"),
    "Han at random": drawn_from("\u4e00\u9fff"),
    "Han, rare": drawn_from("\U00020000\U0002a6d6"),
    "Hangul at random": drawn_from("가힣"),
    "box drawing": drawn_from("\u2500\u257f"),
    "braille": drawn_from("\u2800\u28ff"),
    "arrows and mathematics": drawn_from("\u2190\u22ff"),
    "mathematical letters": drawn_from("\U0001d400\U0001d4ff"),
    "private use": drawn_from("\ue000\uf8ff"),
    "full width": drawn_from("\uff01\uff5e"),
    "hieroglyphs": drawn_from("\U00013000\U0001342e"),
}
TOKENS_PER_CHAR: dict[str, float] = {
    "English": 0.199,
    "Polish": 0.340,
    "Czech": 0.381,
    "Hungarian": 0.367,
    "Finnish": 0.314,
    "Turkish": 0.266,
    "Vietnamese": 0.280,
    "German": 0.214,
    "French": 0.222,
    "Icelandic": 0.316,
    "Swahili": 0.304,
    "Indonesian": 0.242,
    "Tagalog": 0.301,
    "Zulu": 0.260,
    "Yoruba": 0.485,
    "Russian": 0.262,
    "Ukrainian": 0.343,
    "Kazakh": 0.320,
    "Mongolian": 0.379,
    "Greek": 0.368,
    "Hebrew": 0.391,
    "Arabic": 0.341,
    "Persian": 0.296,
    "Hindi": 0.291,
    "Bengali": 0.325,
    "Tamil": 0.307,
    "Thai": 0.432,
    "Burmese": 0.514,
    "Khmer": 0.592,
    "Georgian": 0.292,
    "Armenian": 0.303,
    "Amharic": 1.806,
    "Chinese": 0.700,
    "Chinese, traditional": 0.900,
    "Japanese": 0.763,
    "Korean": 0.537,
    "emoji": 2.271,
    "emoji in words": 1.398,
    "base64": 0.677,
    "base64 in lines": 0.696,
    "base32": 0.636,
    "hexadecimal": 0.571,
    "genes": 0.517,
    "digits": 0.333,
    "capitals": 0.568,
    "letters": 0.520,
    "letters in words": 0.476,
    "signs": 0.663,
    "minified code": 0.494,
    "white space": 0.281,
    "bytes as Latin-1": 1.065,
    "bytes as UTF-8": 0.804,
    "control characters": 1.000,
    "Latin with accents at random": 1.098,
    "combining marks": 1.694,
    "Cyrillic at random": 0.874,
    "Greek at random": 1.925,
    "Hebrew with points": 0.900,
    "Arabic at random": 0.862,
    "Devanagari at random": 0.979,
    "Thai at random": 1.114,
    "kana at random": 1.134,
    "Han at random": 1.921,
    "Han, rare": 3.962,
    "Hangul at random": 2.243,
    "box drawing": 1.928,
    "braille": 2.971,
    "arrows and mathematics": 1.959,
    "mathematical letters": 2.716,
    "private use": 2.913,
    "full width": 1.417,
    "hieroglyphs": 3.988,
}
"""What o200k counts of 12,000 characters of each, exactly; `test_the_densities_are_exact` counts again."""
