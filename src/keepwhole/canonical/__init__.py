"""What happened: frozen values, canonical bytes, digests, the guard. No I/O, no clock, no randomness."""
