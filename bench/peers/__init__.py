"""Comparisons with other projects, each in an environment of its own: none of them is a dependency of ours."""
