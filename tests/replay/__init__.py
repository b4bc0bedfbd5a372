"""Replay: the metrics on runs that can be checked by hand."""
