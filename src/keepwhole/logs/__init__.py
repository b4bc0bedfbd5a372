"""Logs that agents write, read as runs: `reader.read_runs` is the way in; each format is one file."""
