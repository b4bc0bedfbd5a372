"""All clients that facts are known of.

Owns: the table, and its order: where two clients could be meant, the first one counts.
"""

from keepwhole.clients.aider import AIDER
from keepwhole.clients.claude_code import CLAUDE_CODE
from keepwhole.clients.cline import CLINE
from keepwhole.clients.codex import CODEX
from keepwhole.clients.continue_cli import CONTINUE_CLI
from keepwhole.clients.copilot_cli import COPILOT_CLI
from keepwhole.clients.facts import ClientFacts
from keepwhole.clients.gemini_cli import GEMINI_CLI
from keepwhole.clients.goose import GOOSE
from keepwhole.clients.kimi_code import KIMI_CODE
from keepwhole.clients.mini_swe_agent import MINI_SWE_AGENT
from keepwhole.clients.opencode import OPENCODE
from keepwhole.clients.openhands import OPENHANDS
from keepwhole.clients.pi import PI
from keepwhole.clients.qwen_code import QWEN_CODE
from keepwhole.clients.swe_agent import SWE_AGENT

CLIENTS: tuple[ClientFacts, ...] = (
    *(CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE, QWEN_CODE),
    *(AIDER, CLINE, SWE_AGENT, MINI_SWE_AGENT, OPENHANDS),
    *(CONTINUE_CLI, COPILOT_CLI, GOOSE, KIMI_CODE, PI),
)


def facts_of(name: str) -> ClientFacts:
    """The facts of a client by its name; nothing is known of other names.

    >>> facts_of("codex").reader, facts_of("toy").reader
    ('sed', '')
    """
    return next((client for client in CLIENTS if client.name == name), ClientFacts(name, name))
