"""The tests; each folder mirrors one of `src/holdfast`, or is named after what it shows."""
