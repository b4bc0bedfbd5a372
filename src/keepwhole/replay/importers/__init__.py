"""Importers: logs that people already have, read as runs. `read.read_runs` is the way in; each format is one file."""
