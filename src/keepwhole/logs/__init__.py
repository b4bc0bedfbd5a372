"""Logs that agents write, read as runs: `reader.read_runs` is the way in; each client's format is one file.

A format is a module with two functions: `recognizes(value)` says whether a decoded line is written in it, and
`read_log(lines)` yields the runs of one log.
"""
