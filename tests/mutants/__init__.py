"""Breaks one line of the source at a time and looks whether a test notices: `make mutants`."""
