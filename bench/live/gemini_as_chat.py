"""Requests of Gemini as Chat Completions, which the oracles read."""

import json

from bench.live.wires.wire import Json


def as_chat(body: Json) -> Json:
    """Return a request of Gemini as one of Chat Completions; `ValueError` where a result answers no call."""
    system = "".join(part["text"] for part in body.get("systemInstruction", {}).get("parts", ()))
    messages: list[Json] = [{"role": "system", "content": system}]
    open_calls: list[str] = []
    for number, content in enumerate(body["contents"]):
        if content["role"] == "model":
            messages.append(_said(content["parts"], number, open_calls))
        else:
            messages += _given(content["parts"], open_calls)
    declared: list[Json] = [one for tool in body["tools"] for one in tool["functionDeclarations"]]
    tools = [{"type": "function", "function": one} for one in declared]
    return {"model": "gemini", "messages": messages, "tools": tools}


def _said(parts: list[Json], number: int, open_calls: list[str]) -> Json:
    text = "".join(part.get("text", "") for part in parts)
    calls: list[Json] = []
    for at, part in enumerate(parts):
        if "functionCall" in part:
            one = part["functionCall"]
            open_calls.append(f"call_{number}_{at}")
            function = {"name": one["name"], "arguments": json.dumps(one.get("args", {}))}
            calls.append({"id": open_calls[-1], "type": "function", "function": function})
    return {"role": "assistant", "content": text or None} | ({"tool_calls": calls} if calls else {})


def _given(parts: list[Json], open_calls: list[str]) -> list[Json]:
    """Return results and words of the user as messages; results come in the order of their calls."""
    messages: list[Json] = []
    beside: list[Json] = []
    for part in parts:
        if "functionResponse" in part:
            if not open_calls:
                raise ValueError("a functionResponse without a functionCall")
            text = str(next(iter(part["functionResponse"]["response"].values()), ""))
            messages.append({"role": "tool", "tool_call_id": open_calls.pop(0), "content": text})
        elif "inlineData" in part:
            data = part["inlineData"]
            beside.append({"type": "image_url", "image_url": {"url": f"data:{data['mimeType']};base64,{data['data']}"}})
        else:
            beside.append({"type": "text", "text": part["text"]})
    return messages + ([{"role": "user", "content": beside}] if beside else [])
