"""pi, by Earendil Works: npm `@earendil-works/pi-coding-agent`."""

from keepwhole.clients.facts import ClientFacts, ClientFolder

PI = ClientFacts(
    name="pi",
    title="pi",
    command="pi",
    versions=("0.87.1",),
    user_agents=("pi (",),
    settings=ClientFolder("~/.pi/agent", "PI_CODING_AGENT_DIR"),
)
