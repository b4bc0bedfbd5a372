"""mini-SWE-agent: PyPI `mini-swe-agent`."""

from keepwhole.clients.facts import ClientFacts, Mark

MINI_SWE_AGENT = ClientFacts(
    name="mini-swe-agent",
    title="mini-SWE-agent",
    command="mini",
    cut_marks=(Mark("elided", r"\"elided_chars\""), Mark("output too l", r"output too long\.")),
)
