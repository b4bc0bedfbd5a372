"""aider: PyPI `aider-chat`. It offers its model no tools, so it has no results."""

from keepwhole.clients.facts import ClientFacts

AIDER = ClientFacts(name="aider", title="aider", command="aider", versions=("0.86.2",))
