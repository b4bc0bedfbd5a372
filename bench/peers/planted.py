"""Texts that are hard to shorten: facts in places where only the question says to look.

In each case headroom was seen to lose the fact or to return the text uncut; the question always names the fact.
"""

import random

from bench.texts.planted_results import Sample, plant

_WORDS = ("request", "cache", "worker", "shard", "flush", "commit", "upstream", "index", "queue", "replica", "lease")
_CITIES = ("Amsterdam", "Bergen", "Cork", "Dresden", "Espoo", "Faro", "Ghent", "Hamburg", "Inverness", "Jena")
_HAN = "天地玄黄宇宙洪荒日月盈昃辰宿列张寒来暑往秋收冬藏闰余成岁律吕调阳云腾致雨露结为霜金生丽水玉出昆冈"


def info_log(size: int, seed: int) -> Sample:
    """The fact is on an INFO line among INFO lines."""
    fact = f"one-time deploy token for release 9.4.1 is kestrel-{seed}"

    def line(chance: random.Random, number: int) -> str:
        words = " ".join(chance.choices(_WORDS, k=5))
        return f"{_time(number)} INFO {words} id={chance.randint(0, 10**9)}\n"

    planted = f"{_time(7)} INFO {fact}\n"
    return plant(size, seed, line, planted, fact, "What is the one-time deploy token for release 9.4.1?")


def dates_first(size: int, seed: int) -> Sample:
    """CSV whose first column is an ISO date, so that a row looks like a line of a log."""
    fact = f"2026-05-05,Wolverhampton,{seed % 90000 + 10000}.25"

    def row(chance: random.Random, number: int) -> str:
        return f"{_date(chance)},{chance.choice(_CITIES)},{chance.randint(1, 10**6)}.{chance.randint(10, 99)}\n"

    sample = plant(size, seed, row, fact + "\n", fact, "What was the amount of the order from Wolverhampton?")
    return Sample("date,city,amount\n" + sample.text, fact, sample.question)


def dates_last(size: int, seed: int) -> Sample:
    """CSV whose last column is an ISO date, so that a row looks like a match of a search."""
    fact = f"Wolverhampton,{seed % 90000 + 10000}.25,2026-05-05"

    def row(chance: random.Random, number: int) -> str:
        return (
            f"{number},{chance.choice(_CITIES)},{chance.randint(1, 10**6)}.{chance.randint(10, 99)},{_date(chance)}\n"
        )

    sample = plant(size, seed, row, f"0,{fact}\n", fact, "When was the order from Wolverhampton placed?")
    return Sample("id,city,amount,date\n" + sample.text, fact, sample.question)


def one_line_html(size: int, seed: int) -> Sample:
    """A table without a single line end."""
    fact = f"<td>Ptarmigan Ridge</td><td>{seed % 9000 + 1000} m</td>"

    def row(chance: random.Random, number: int) -> str:
        return f"<tr><td>{chance.choice(_CITIES)} {number}</td><td>{chance.randint(300, 4000)} m</td></tr>"

    sample = plant(size, seed, row, f"<tr>{fact}</tr>", fact, "How high is Ptarmigan Ridge?")
    page = f"<!DOCTYPE html><html><body><table>{sample.text}</table></body></html>"
    return Sample(page, fact, sample.question)


def chinese(size: int, seed: int) -> Sample:
    """Paragraphs of Chinese, about three bytes per character."""
    fact = f"港务长把第{seed % 9000 + 1000}号泊位交给了翠鸟号"

    def paragraph(chance: random.Random, number: int) -> str:
        return "".join(chance.choices(_HAN, k=120)) + "。\n\n"

    return plant(size // 3, seed, paragraph, fact + "。\n\n", fact, "哪个泊位交给了翠鸟号?")


def _time(number: int) -> str:
    return f"2026-03-04T{number // 3600 % 24:02d}:{number // 60 % 60:02d}:{number % 60:02d}Z"


def _date(chance: random.Random) -> str:
    return f"2026-0{chance.randint(1, 9)}-{chance.randint(10, 28)}"
