"""Golden recordings: what every public entry point gives for made-up sessions, as digests that a refactoring must keep.

`python -m tests.golden` compares, `python -m tests.golden --write` records anew. `doors` is the only module that knows
where things are in the package; the scenarios know the doors alone.
"""
