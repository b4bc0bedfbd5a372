"""OpenHands: PyPI `openhands-ai`."""

from keepwhole.clients.facts import ClientFacts, Mark

OPENHANDS = ClientFacts(
    name="openhands",
    title="OpenHands",
    cut_marks=(Mark("clipped>", r"<response clipped>"),),
    cleared_marks=(r"<masked>",),
)
