"""mini-SWE-agent: PyPI `mini-swe-agent`."""

from keepwhole.clients.facts import ClientFacts, ClientFolder, Mark

MINI_SWE_AGENT = ClientFacts(
    name="mini-swe-agent",
    title="mini-SWE-agent",
    command="mini",
    versions=("2.4.6",),
    cut_marks=(Mark("elided", r"\"elided_chars\""), Mark("output too l", r"output too long\.")),
    settings=ClientFolder("~/.config/mini-swe-agent", "MSWEA_GLOBAL_CONFIG_DIR"),
)
