"""A provider on no socket: it plays a script in three dialects and refuses what a real one would."""
