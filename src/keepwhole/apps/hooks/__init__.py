"""Coding agents by hook: a file a client says what its hooks mean, one shell keeps and answers."""
