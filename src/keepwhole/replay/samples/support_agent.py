"""A made-up session: an agent answers the customers of a ferry line."""

import json
import random
from typing import Any

from keepwhole.replay.samples.session import PARTS, SampleSession, SampleTurn


def support_session(seed: int, cases: int) -> SampleSession:
    """Return the session of an agent that answers customers with the help of an API."""
    chance = random.Random(seed)
    turns: list[SampleTurn] = []
    others: list[dict[str, Any]] = []
    for case in range(cases):
        booking, customer = f"FB-{chance.randrange(16**6):06X}", f"cust_{chance.randrange(16**8):08x}"
        payment = f"pay_{chance.randrange(16**10):010x}"
        rows = _bookings(chance, booking, customer)
        others.append(rows[0])
        turns += [
            SampleTurn("user", f"Case {case + 1}: my crossing was cancelled and nobody paid me back."),
            _api("search_bookings", {"status": "cancelled", "page": case}, {"bookings": rows, "next_page": None}),
            _api("get_customer", {"customer_id": customer}, _customer(chance, customer, booking)),
            _api("list_payments", {"booking_id": booking}, _payments(chance, payment, booking)),
        ]
        if chance.random() < 0.3:
            turns.append(_api("refund", {"payment_id": payment}, {"error": "timeout", "after_ms": 30_000}, True))
        turns.append(_api("refund", {"payment_id": payment, "booking_id": booking}, {"ok": True, "payment": payment}))
        if case > 9 and case % 3 == 0:  # a customer whose booking was in a much earlier answer
            turns.append(_api("notify", {"customer_id": others[case - 9]["customer_id"]}, {"ok": True}))
        turns.append(SampleTurn("assistant", f"Booking {booking} is refunded by payment {payment}."))
    return SampleSession(f"sample-chat-{seed}", "chat", turns)


def _api(tool: str, arguments: dict[str, Any], answer: object, is_error: bool = False) -> SampleTurn:
    return SampleTurn("assistant", "", tool, arguments, json.dumps(answer, indent=1), is_error)


def _bookings(chance: random.Random, booking: str, customer: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [
        {
            "booking_id": f"FB-{chance.randrange(16**6):06X}",
            "customer_id": f"cust_{chance.randrange(16**8):08x}",
            "route": f"{chance.choice(PARTS)}-{chance.choice(PARTS)}",
            "fare": chance.randrange(2_000, 30_000) / 100,
        }
        for _ in range(chance.randrange(40, 80))
    ]
    rows[chance.randrange(1, len(rows))].update(booking_id=booking, customer_id=customer)
    return rows


def _customer(chance: random.Random, customer: str, booking: str) -> dict[str, Any]:
    past = [{"booking": f"FB-{chance.randrange(16**6):06X}", "paid": True} for _ in range(chance.randrange(10, 40))]
    return {"customer_id": customer, "open": [booking], "past": past}


def _payments(chance: random.Random, payment: str, booking: str) -> list[dict[str, Any]]:
    rows = [{"payment": f"pay_{chance.randrange(16**10):010x}", "state": "void"} for _ in range(20)]
    rows.insert(chance.randrange(20), {"payment": payment, "state": "captured", "booking": booking})
    return rows
