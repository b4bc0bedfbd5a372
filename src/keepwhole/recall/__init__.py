"""Reading back: the tools that a model calls to read what a view left out, and selection by a question."""
