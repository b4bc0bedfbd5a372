"""Kimi Code, by Moonshot AI: npm `@moonshot-ai/kimi-code`."""

from keepwhole.clients.facts import ClientFacts, ClientFolder

KIMI_CODE = ClientFacts(
    name="kimi-code",
    title="Kimi Code",
    command="kimi",
    versions=("2.1.0",),
    user_agents=("kimi-code-cli/",),
    settings=ClientFolder("~/.kimi-code", "KIMI_CODE_HOME"),
)
