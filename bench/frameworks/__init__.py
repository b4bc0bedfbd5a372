"""One file per framework: `agent(session, tool, outputs)` returns a function that runs its agent once over all outputs.

With `session` None the same agent runs bare. A file raises `ImportError` where its framework is not installed.
"""
