"""How agents of each dialect write requests and read answers: one file each, and a line in the table.

A new dialect is a file with a class like the others and a line in `WIRES`. The oracles need its spelling in
`tests/upstream`; they read Gemini's requests as Chat Completions (`gemini_as_chat.py`).
"""

from bench.live.wires.anthropic import AnthropicWire
from bench.live.wires.gemini import GeminiWire
from bench.live.wires.openai_chat import ChatWire
from bench.live.wires.openai_responses import ResponsesWire
from bench.live.wires.wire import Wire

WIRES: dict[str, type[Wire]] = {
    "anthropic": AnthropicWire,
    "openai_chat": ChatWire,
    "openai_responses": ResponsesWire,
    "gemini": GeminiWire,
}
_BY_NAME = {"claude": "anthropic", "gpt": "openai_responses", "gemini": "gemini"}


def dialect_for(model: str) -> str:
    """Return the dialect in which a model is asked, by its name.

    >>> [dialect_for(model) for model in ("claude-haiku-4-5", "gpt-5", "gemini-2.5-flash", "deepseek-chat")]
    ['anthropic', 'openai_responses', 'gemini', 'openai_chat']
    """
    name = model.rpartition("/")[2]
    return next((dialect for begin, dialect in _BY_NAME.items() if name.startswith(begin)), "openai_chat")
