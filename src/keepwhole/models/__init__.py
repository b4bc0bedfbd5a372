"""Facts about providers: prices and windows, tokens of a text, what a prompt cache will serve. No I/O."""
