"""Made-up agent sessions, for a first look without logs, and for tests.

They are the same every time, and have what makes real sessions hard: names, lines and ids that are read once and used
much later, files that are read again, commands that fail, long outputs of which one line matters.
"""
