"""The estimate is near the exact count for every kind of text a tool prints, and the bound lies above it."""

import base64
import hashlib
import json
import sys
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keepwhole.models import tokens
from keepwhole.models.tokens import RepeatedSizes, estimate, exact_counter, margin, measure, upper_bound

BYTES = b"".join(hashlib.sha256(bytes([number])).digest() for number in range(40))
CODE = '''
def apply_discount(order: Order, rates: dict[str, float]) -> Order:
    """Return the order with the customer's discount taken off every line."""
    rate = rates.get(order.customer.tier, 0.0)
    if not 0 <= rate < 1:
        raise ValueError(f"rate for {order.customer.tier!r} must be between 0 and 1, not {rate}")
    lines = [line.replace(price=round(line.price * (1 - rate), 2)) for line in order.lines]
    total = sum(line.price * line.quantity for line in lines)
    logger.debug("discount %s applied to %d lines, total is %.2f", rate, len(lines), total)
    return order.replace(lines=lines, total=total)
'''
ENGLISH = (
    "The harbour was quiet when the last of the fishing boats came in, and nobody on the quay remembered a colder "
    "morning in March. Two men unloaded the catch without speaking, while the woman who kept the books wrote down "
    "every crate by hand, as her mother had done before her. She had been told that a machine would do this work "
    "better, but the machine had been broken since the autumn and the company had stopped answering her letters.\n"
)
TRACEBACK = """Traceback (most recent call last):
  File "/srv/app/orders/service.py", line 88, in place_order
    receipt = self.gateway.charge(card, total)
  File "/srv/app/payments/gateway.py", line 41, in charge
    response = self.session.post(url, json=payload, timeout=30)
  File "/usr/lib/python3.11/site-packages/requests/sessions.py", line 637, in post
    return self.request("POST", url, data=data, json=json, **kwargs)
requests.exceptions.ConnectionError: HTTPSConnectionPool(host='pay.example.com', port=443): Max retries exceeded
"""
RECORDS: list[dict[str, Any]] = [
    {"id": BYTES[at : at + 6].hex(), "name": f"widget {at}", "price": at * 1.37, "tags": ["new", "sale"], "ok": True}
    for at in range(12)
]
CHINESE = "数据库连接已经关闭，请检查网络设置后再试一次。用户提交的请求超过了服务器允许的最大长度。"
RUSSIAN = "Соединение с базой данных закрыто, проверьте настройки сети. Запрос превышает допустимую длину сообщения. "

SAMPLES: dict[str, tuple[str, int]] = {
    "code": (CODE, 165),
    "English": (ENGLISH * 3, 261),
    "traceback": (TRACEBACK * 2, 270),
    "JSON indented": (json.dumps(RECORDS, indent=2), 689),
    "JSON compact": (json.dumps(RECORDS, separators=(",", ":")), 413),
    "log": (
        "".join(f"2026-03-{d:02} 12:0{d % 10}:17,{d}42 INFO worker-{d} served in {d * 7} ms\n" for d in range(1, 29)),
        691,
    ),
    "ls -l": (
        "".join(f"-rw-r--r-- 1 root root {n * 911:>7} Nov {n:2} 12:{n + 20} part_{n}.txt\n" for n in range(1, 29)),
        736,
    ),
    "hexdump": ("".join(f"{at:08x}  {BYTES[at : at + 16].hex(' ')}\n" for at in range(0, 640, 16)), 1_554),
    "base64": (base64.b64encode(BYTES).decode(), 1_174),
    "digests": ("".join(f"{BYTES[at : at + 32].hex()}  file{at}.bin\n" for at in range(0, 640, 32)), 829),
    "Chinese": (CHINESE * 14, 350),
    "Russian": (RUSSIAN * 8, 217),
}
"""Texts with the tokens that o200k gives them."""
every_sample = pytest.mark.parametrize("kind", SAMPLES)


@every_sample
def test_the_estimate_is_near_and_never_far_below(kind: str) -> None:
    text, exact = SAMPLES[kind]
    assert 0.8 * exact <= estimate(text) <= 1.25 * exact


def test_the_median_error_is_small() -> None:
    errors = sorted(abs(estimate(text) / exact - 1) for text, exact in SAMPLES.values())
    assert errors[len(errors) // 2] <= 0.08


@every_sample
def test_the_bound_lies_above_the_exact_count(kind: str) -> None:
    text, exact = SAMPLES[kind]
    assert exact <= upper_bound(text) <= 2 * exact


@every_sample
def test_a_text_many_times_as_long_takes_as_many_times_the_tokens(kind: str) -> None:
    text, exact = SAMPLES[kind]
    assert 0.75 * exact <= estimate(text * 40) / 40 <= 1.3 * exact


@pytest.mark.parametrize("width", [3, 4, 50, 79, 100, 112, 223, 224, 500])
def test_no_width_of_lines_hides_from_the_sample(width: int) -> None:
    line = ("a1 " * width)[: width - 1] + "\n"
    few, many = estimate(line * 4), estimate(line * 4_000)
    assert 0.6 * few <= many / 1_000 <= 1.5 * few


def test_nothing_takes_no_tokens_and_anything_at_least_one() -> None:
    assert estimate("") == upper_bound("") == 0
    assert estimate("a") == 1


@pytest.mark.parametrize("text", ["x" * 4_000, "qwxzkj" * 300, "Z" * 999, "\x00" * 999, "é" * 999, "\ud800" * 999])
def test_texts_without_words_are_not_taken_for_nothing(text: str) -> None:
    assert estimate(text) >= len(text) / 8


@given(st.text())
def test_any_text_has_an_estimate_under_its_bound(text: str) -> None:
    assert 0 <= estimate(text) <= upper_bound(text)
    assert estimate(text) == estimate(text)


def test_each_content_has_a_margin() -> None:
    contents = {tokens.content_of(text) for text, _ in SAMPLES.values()}
    assert contents == {"plain", "data", "foreign"}
    assert all(margin(content) > 1 for content in contents)


def test_without_a_vocabulary_there_is_no_exact_counter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "splintr", None)
    assert exact_counter() is None


def test_the_exact_counter_asks_the_tokenizer_for_o200k(monkeypatch: pytest.MonkeyPatch) -> None:
    class Tokenizer:
        @staticmethod
        def from_pretrained(name: str) -> "Tokenizer":
            assert name == "o200k_base"
            return Tokenizer()

        def encode(self, text: str) -> list[str]:
            text.encode()
            return text.split()

    module = types.ModuleType("splintr")
    monkeypatch.setattr(module, "Tokenizer", Tokenizer, raising=False)
    monkeypatch.setitem(sys.modules, "splintr", module)
    count = exact_counter()
    assert count is not None
    assert count("one two \ud800") == 3


class Tool:
    """A value that counts how often it is written."""

    def __init__(self, words: str) -> None:
        self.words, self.written = words, 0

    def __repr__(self) -> str:
        self.written += 1
        return self.words


def test_what_comes_again_with_every_request_is_measured_once() -> None:
    sizes, tools = RepeatedSizes(), [Tool(ENGLISH), Tool(CODE)]
    for _ in range(3):  # each request has a list of its own
        assert sizes.sum({"tools": [*tools], "other": "x"}, ("system", "tools")) == measure(str(tools))
    assert [tool.written for tool in tools] == [4, 4], "three times by this test"


def test_what_has_changed_beside_the_messages_is_measured_again() -> None:
    sizes, old, new = RepeatedSizes(), Tool(ENGLISH), Tool(CODE)
    for tools in ([old], [old, new], [new], [new, old], [], "a text", ["a text"], [old]):
        fields = {"tools": tools, "system": ENGLISH}
        wanted = [measure(str(value)) for value in fields.values() if value]
        assert sizes.sum(fields, ("tools", "system")) == tuple(map(sum, zip(*wanted, strict=True)))
    assert sizes.sum({}, ("tools", "system")) == (0, 0)
