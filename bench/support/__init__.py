"""What the benchmarks share: setup, timing, rows, references, servers, and the processes they start."""
