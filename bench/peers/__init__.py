"""Comparisons with other projects, each in its own environment: none of them is a dependency."""
