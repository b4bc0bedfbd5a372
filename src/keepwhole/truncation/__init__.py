"""How one result is shortened: one file per strategy, one renderer, limits and notices. No I/O."""
