"""Sessions of agents that never were, for a first look without logs of one's own, and for tests.

The same sessions every time. They have what makes real ones hard: names, lines and ids that are read once and used much
later, files that are read again, commands that fail, long outputs of which one line matters.
"""
