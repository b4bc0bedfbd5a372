"""Goose, by the Agentic AI Foundation: npm `@aaif/goose-binary-linux-x64`."""

from keepwhole.clients.facts import ClientFacts, ClientFolder

GOOSE = ClientFacts(
    name="goose",
    title="Goose",
    command="goose",
    versions=("1.52.0",),
    session_headers=("agent-session-id",),
    settings=ClientFolder("~/.config", "XDG_CONFIG_HOME", "goose"),
)
