"""What fills a window: items that add up, the largest first, and the rest as one."""

import json
from typing import Any

import pytest

from keepwhole.apps.window_contents import (
    WindowItem,
    WindowPart,
    WindowUse,
    indicator,
    items_of_request,
    items_of_results,
    largest_items,
    largest_results,
    parts_of,
    parts_of_request,
    parts_of_tools,
    scale_items,
)
from keepwhole.models.profiles import DEFAULT, profile_for
from keepwhole.models.thresholds import Thresholds
from keepwhole.models.tokens import estimate
from tests.build import result


def item(label: str, tokens: int, kind: str = "tool", pieces: int = 1) -> WindowItem:
    return WindowItem(kind, label, tokens, pieces)


def body(**fields: Any) -> bytes:
    return json.dumps({"model": "gpt-5", **fields}).encode()


def call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}],
    }


def test_what_is_no_request_has_no_items() -> None:
    assert items_of_request(b"no", lambda _: None) == []
    assert parts_of_request(b"no") == []


@pytest.mark.parametrize(
    "fields",
    [
        {"system": "be brief " * 9, "messages": []},
        {"instructions": "be brief " * 9, "input": []},
        {"systemInstruction": {"parts": [{"text": "be brief " * 9}]}, "contents": []},
        {"messages": [{"role": "developer", "content": "be brief " * 9}]},
    ],
)
def test_instructions_are_the_systems_in_any_api(fields: dict[str, Any]) -> None:
    (one,) = items_of_request(body(**fields), lambda _: None)
    assert one.kind == "system"
    assert one.tokens >= estimate("be brief " * 9)


def test_every_token_of_a_request_is_counted_to_its_speaker_or_tool() -> None:
    kept = result(tool="grep")
    messages = [
        {"role": "system", "content": "be brief " * 9},
        {"role": "user", "content": "find it " * 5},
        call("c1", "grep", '{"pattern": "needle"}'),
        {"role": "tool", "tool_call_id": "c1", "content": "a long line of words\n" * 40},
        call("c2", "read", '{"path": "a.txt"}'),
        {"role": "tool", "tool_call_id": "c2", "content": "short"},
        {"role": "user", "content": "more"},
    ]
    items = items_of_request(body(messages=messages), lambda call_id: kept if call_id == "c1" else None)
    assert [one.tokens for one in items] == sorted((one.tokens for one in items), reverse=True)
    by_label = {one.label: one for one in items}
    assert list(by_label) == ["grep", "System", "Assistant", "User", "read"] or set(by_label) == {
        "grep",
        "System",
        "Assistant",
        "User",
        "read",
    }
    grep, read = by_label["grep"], by_label["read"]
    assert (grep.argument, grep.artifact_id, grep.trace_id) == ("needle", kept.artifact_id, kept.trace_id)
    assert grep.recall == f'get_artifact(id="{kept.artifact_id}")'
    assert (read.argument, read.artifact_id, read.trace_id, read.recall) == ("a.txt", None, None, None)
    assert (by_label["User"].pieces, by_label["Assistant"].pieces, by_label["System"].pieces) == (2, 2, 1)
    words = estimate("find it " * 5) + estimate("more")
    assert words <= by_label["User"].tokens <= words + 12
    calls = sum(map(estimate, ("grep", '{"pattern": "needle"}', "read", '{"path": "a.txt"}')))
    assert calls <= by_label["Assistant"].tokens <= calls + 12


@pytest.mark.parametrize("key", ["system", "instructions"])
def test_a_system_prompt_beside_the_messages_counts(key: str) -> None:
    fields = {key: "words " * 50, "messages" if key == "system" else "input": [{"role": "user", "content": "hi"}]}
    items = items_of_request(body(**fields), lambda _: None)
    assert items[0] == WindowItem("system", "System", estimate("words " * 50))
    prompt = [{"type": "text", "text": "ü"}]
    (shown, _) = items_of_request(body(**{**fields, key: prompt}), lambda _: None)
    assert shown.tokens == estimate('[{"type": "text", "text": "ü"}]')
    assert not any(one.kind == "system" for one in items_of_request(body(**{**fields, key: ""}), lambda _: None))


def test_a_bare_input_is_the_users_and_declared_tools_are_counted_by_server() -> None:
    tools = [
        {"type": "function", "name": name, "description": "what it does " * 9, "parameters": {"type": "object"}}
        for name in ("mcp__git__log", "mcp__git__show", "read")
    ]
    items = items_of_request(body(input="hello there", tools=tools), lambda _: None)
    found = {one.label: (one.kind, one.pieces) for one in items}
    assert found == {
        "Tool definitions: git": ("overhead", 2),
        "Tool definitions": ("overhead", 1),
        "User": ("user", 1),
    }
    assert next(one.tokens for one in items if one.kind == "user") == estimate("hello there")


def test_results_alone_are_listed_largest_first_and_sixty_with_their_argument() -> None:
    several = [(result(arguments='{"path": "a"}'), tokens) for tokens in (*range(60), 999)]
    items = items_of_results(several)
    assert [one.tokens for one in items] == [999, *reversed(range(60))]
    assert [one.argument for one in items] == ["a"] * 60 + [None]
    assert all(one.pieces == 1 and one.kind == "tool" for one in items)


@pytest.mark.parametrize(("count", "listed"), [(1, 1), (60, 60), (61, 59), (90, 59)])
def test_of_many_results_the_largest_are_listed_and_the_rest_is_one(count: int, listed: int) -> None:
    several = [(result(), tokens) for tokens in range(1, count + 1)]
    total = sum(range(1, count + 1))
    items = largest_results(several, count, total)
    assert sum(one.tokens for one in items) == total
    assert len(items) == min(count, 60)
    assert (items[-1].kind == "rest") == (count > listed)
    if count > listed:
        assert items[-1] == WindowItem(
            "rest", f"{count - listed} more", total - sum(range(count - listed + 1, count + 1)), count - listed
        )


def test_speakers_come_first_then_twelve_tools_then_the_others() -> None:
    items = [item("read", 5), item("Assistant", 1, "assistant"), item("read", 7), item("System", 2, "system")]
    items += [item("Tool definitions: a", 3, "overhead"), item("grep", 13), item("User", 4, "user")]
    assert [(part.label, part.tokens) for part in parts_of(items)] == [
        ("System", 2),
        ("User", 4),
        ("Assistant", 1),
        ("Tool definitions: a", 3),
        ("grep", 13),
        ("read", 12),
    ]
    twelve = parts_of_tools({f"t{number}": 20 - number for number in range(12)})
    assert len(twelve) == 12
    more = parts_of_tools({f"t{number}": 20 - number for number in range(14)})
    assert [part.label for part in more] == [f"t{number}" for number in range(12)] + ["other tools"]
    assert more[-1] == WindowPart("tool", "other tools", 8 + 7)
    assert parts_of_tools({"a": 0}) == [WindowPart("tool", "a", 0)]


@pytest.mark.parametrize("used", [0, 1, 7, 100, 101, 12_345])
def test_scaled_items_add_up_exactly(used: int) -> None:
    items = [item("2 more", 50, "rest", 2), item("a", 30), item("b", 0), item("c", 20)]
    scaled = scale_items(items, used)
    assert sum(one.tokens for one in scaled) == used
    assert scaled[-1].kind == "rest"
    assert [one.tokens for one in scaled[:-1]] == sorted((one.tokens for one in scaled[:-1]), reverse=True)
    assert scaled[-1].tokens == round(used / 2)
    assert scale_items([item("a", 0)], used) == scale_items([], used) == []


def test_of_many_items_the_largest_are_kept() -> None:
    items = [item(str(number), 10, pieces=2) for number in range(61)]
    assert largest_items(items[:60]) == items[:60]
    assert largest_items(items) == [*items[:59], WindowItem("rest", "4 more", 20, 4)]
    assert largest_items(items[:3], 2) == [items[0], WindowItem("rest", "4 more", 20, 4)]


def test_the_size_of_a_window_is_a_guess_for_an_unknown_model_alone() -> None:
    known = [WindowUse(1, 1, "bill", "m", profile).is_known for profile in (DEFAULT, profile_for("gpt-5"))]
    assert known == [False, True]
    assert WindowUse(1, 1, "bill", "m", DEFAULT.replace(assumed=())).is_known


@pytest.mark.parametrize(("share", "state"), [(0.0, "ok"), (0.699, "ok"), (0.81, "warning"), (0.999, "hard")])
def test_an_indicator_says_how_full_a_window_is(share: float, state: str) -> None:
    profile = profile_for("gpt-5")
    used = int(share * profile.window)
    found = indicator(
        WindowUse(used, used + 9, "estimate", "gpt\x07", profile, [item("a", 3), item("b", 1)]), Thresholds()
    )
    assert (found["used"], found["whole"], found["window"]) == (used, used + 9, profile.window)
    assert found["state"] == state
    assert found["share"] == pytest.approx(share, abs=1e-5)
    assert sum(one["tokens"] for one in found["items"]) == sum(one["tokens"] for one in found["parts"]) == used
    assert [one["share"] for one in found["items"]] == [one["tokens"] / profile.window for one in found["items"]]
    assert [line["reached"] for line in found["thresholds"]] == [used >= line["tokens"] for line in found["thresholds"]]
    assert all(line["tokens"] == round(line["share"] * profile.window) for line in found["thresholds"])
    given = WindowUse(4, 4, "bill", "m", profile, [item("a", 4)], [WindowPart("tool", "other", 4)])
    assert indicator(given, Thresholds())["parts"] == [{"kind": "tool", "label": "other", "tokens": 4}]
