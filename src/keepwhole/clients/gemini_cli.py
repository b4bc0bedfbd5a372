"""Gemini CLI, by Google: npm `@google/gemini-cli`."""

from keepwhole.clients.facts import ClientFacts, ClientFiles, ClientFolder, Mark

_CHATS = ClientFolder("~", "GEMINI_CLI_HOME", ".gemini/tmp")

GEMINI_CLI = ClientFacts(
    name="gemini-cli",
    title="Gemini CLI",
    command="gemini",
    versions=("0.61.0",),
    cut_marks=(
        Mark("output too l", r"output too large\. "),
        Mark("full output ", r"for full output see: "),
        Mark("output_masked", r"<tool_output_masked>"),
    ),
    logs=(ClientFiles(_CHATS, ("*/chats/*.jsonl", "*/chats/*.json")),),
    saved_outputs=(ClientFiles(_CHATS, ("*/tool-outputs/*",)),),
    saved_to=r"For full output see: (.+)",
    cut_forms=(
        r"\AOutput too large\. Showing first [\d,]{1,20} and last [\d,]{1,20} characters\. For full output see: ",
    ),
)
