"""How one result is shortened: a file a strategy, one renderer, limits, processor. No I/O."""
