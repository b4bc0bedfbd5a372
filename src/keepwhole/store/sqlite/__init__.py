"""The default back end: one SQLite file, a folder of large bodies, and a lock file, on one machine."""
