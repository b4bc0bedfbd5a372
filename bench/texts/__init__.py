"""Made-up texts that are measured: the same every time, or new for every seed."""
