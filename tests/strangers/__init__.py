"""The documentation as a stranger meets it: read from top to bottom, each block done as it is printed."""
