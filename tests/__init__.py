"""The tests; each folder mirrors one of `src/keepwhole`, or is named after what it shows."""
