"""Hooks of coding agents: one file per client says what its hooks mean; one place keeps and replaces results."""
