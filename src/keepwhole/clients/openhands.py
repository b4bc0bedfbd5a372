"""OpenHands: PyPI `openhands`, and `openhands-ai` before version 1.0."""

from keepwhole.clients.facts import ClientFacts, ClientFolder, Mark

OPENHANDS = ClientFacts(
    name="openhands",
    title="OpenHands",
    command="openhands",
    versions=("1.16.0",),
    cut_marks=(Mark("clipped>", r"<response clipped>"),),
    cleared_marks=(r"<masked>",),
    settings=ClientFolder("~/.openhands", "OPENHANDS_PERSISTENCE_DIR"),
)
