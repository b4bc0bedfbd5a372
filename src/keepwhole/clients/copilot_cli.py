"""GitHub Copilot CLI: npm `@github/copilot`."""

from keepwhole.clients.facts import ClientFacts, Mark

COPILOT_CLI = ClientFacts(
    name="copilot-cli",
    title="Copilot CLI",
    command="copilot",
    versions=("1.0.102",),
    cut_marks=(Mark("too large to read at once", r"output too large to read at once \("),),
)
