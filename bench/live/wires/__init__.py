"""How agents of each dialect write requests and read answers: one file each, and a line in the table.

A new dialect (Gemini, once `keepwhole.wire` has it) is a file with a class like the others and a line in `WIRES`; the
oracles need its spelling in `tests/upstream` too.
"""

from bench.live.wires.anthropic import AnthropicWire
from bench.live.wires.openai_chat import ChatWire
from bench.live.wires.openai_responses import ResponsesWire
from bench.live.wires.wire import Wire

WIRES: dict[str, type[Wire]] = {
    "anthropic": AnthropicWire,
    "openai_chat": ChatWire,
    "openai_responses": ResponsesWire,
}


def dialect_for(model: str) -> str:
    """Return the dialect in which a model is asked, by its name.

    >>> dialect_for("claude-haiku-4-5"), dialect_for("gpt-5"), dialect_for("deepseek-chat")
    ('anthropic', 'openai_responses', 'openai_chat')
    """
    name = model.rpartition("/")[2]
    return "anthropic" if name.startswith("claude") else "openai_responses" if name.startswith("gpt") else "openai_chat"
