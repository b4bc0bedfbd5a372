"""Cline: npm `cline`."""

from keepwhole.clients.facts import ClientFacts

CLINE = ClientFacts(
    name="cline",
    title="Cline",
    command="cline",
    versions=("3.0.65",),
    cleared_marks=(r"\[?\[note\] this file read has been removed to save space in the context window\.[^\n]{0,160}",),
)
