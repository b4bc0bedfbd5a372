"""One file a framework: `agent(session, tool, outputs)` gives a function that runs its agent once, through all outputs.

With `session` None the same agent runs bare. A file that needs a framework raises `ImportError` where it is not there.
"""
