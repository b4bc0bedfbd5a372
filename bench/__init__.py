"""The figures of `docs/reference/figures.md`, measured: subject and reference side by side in one run.

One benchmark per file: a function that takes a `Setup` and returns rows. Nothing in here is a test: a floor
that is missed is printed as missed.
"""
